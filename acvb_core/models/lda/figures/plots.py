"""The figures of a result by name, as the Topics page draws them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pandas as pd

from acvb_core.engine.result import Result
from acvb_core.evaluate.ranking import ranked_words
from acvb_core.models.lda.figures.topics import (
    quality_figure,
    topic_bars,
    topic_map_figure,
    topic_shares_figure,
)
from acvb_core.models.lda.topics import TopicAnswer
from acvb_core.views.theme import Figure

_WORDS = 20


def list_plots(result: Result) -> dict[str, Callable[[], Figure]]:
    """Return what draws each figure, by name; "topic_1" and so on are the words of one topic."""
    answer = TopicAnswer.of_result(result)
    topics, share = answer.topics, answer.topics.share

    @cache
    def rank_words() -> pd.DataFrame:
        vocabulary, frequencies = answer.corpus.vocabulary, answer.data.frequencies
        probability = topics.word_probability
        return ranked_words(probability, frequencies, vocabulary, by="relevance", lambda_=0.6, n=_WORDS)

    def draw_map() -> Figure:
        words = rank_words()
        first = words[words["rank"] == 1]["word"].tolist()
        return topic_map_figure(answer.map.positions, share, words=first)

    def draw_words(topic: int) -> Callable[[], Figure]:
        tokens = float(answer.tokens[topic - 1])
        return lambda: topic_bars(rank_words(), topic, tokens=tokens, n=_WORDS)

    plots: dict[str, Callable[[], Figure]] = {
        "map": draw_map,
        "shares": lambda: topic_shares_figure(share),
        "quality": lambda: quality_figure(answer.quality.npmi),
    }
    return plots | {f"topic_{topic}": draw_words(topic) for topic in range(1, answer.n_topics + 1)}
