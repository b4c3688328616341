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
from acvb_core.views.parts import plain_name
from acvb_core.views.theme import Figure, ReportFigure

_WORDS = 20


#: Topics whose words a report draws, at most: those of most words.
_REPORTED = 30


def list_reported(result: Result) -> list[ReportFigure]:
    """Return the figures of a report."""
    plots, names = list_plots(result), result.names["topics"]
    found = [
        ReportFigure(
            "Map of the topics", "Topics close together use similar words; areas are shares.", plots["map"]
        ),
        ReportFigure("Shares", "The share of each topic in all words.", plots["shares"]),
    ]
    for topic in range(1, len(names[:_REPORTED]) + 1):
        title = plain_name(topic, names)
        found.append(ReportFigure(title, "Its most relevant words.", plots[f"topic_{topic}"], half=True))
    return found


def list_plots(result: Result) -> dict[str, Callable[[], Figure]]:
    """Return what draws each figure, by name; "topic_1" and so on are the words of one topic."""
    answer = TopicAnswer.of_result(result)
    topics, share, names = answer.topics, answer.topics.share, result.names["topics"]

    @cache
    def rank_words() -> pd.DataFrame:
        vocabulary, frequencies = answer.corpus.vocabulary, answer.data.frequencies
        probability = topics.word_probability
        return ranked_words(probability, frequencies, vocabulary, by="relevance", lambda_=0.6, n=_WORDS)

    def draw_map() -> Figure:
        words = rank_words()
        first = words[words["rank"] == 1]["word"].tolist()
        return topic_map_figure(answer.map.positions, share, names, words=first)

    def draw_words(topic: int) -> Callable[[], Figure]:
        tokens = float(answer.tokens[topic - 1])
        return lambda: topic_bars(rank_words(), topic, tokens=tokens, labels=names, n=_WORDS)

    plots: dict[str, Callable[[], Figure]] = {
        "map": draw_map,
        "shares": lambda: topic_shares_figure(share, names),
        "quality": lambda: quality_figure(answer.quality.npmi, names),
    }
    return plots | {f"topic_{topic}": draw_words(topic) for topic in range(1, answer.n_topics + 1)}
