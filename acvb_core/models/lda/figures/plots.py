"""The figures of a result by name, as the Topics page draws them."""

from __future__ import annotations

from collections.abc import Callable

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
    words = ranked_words(
        topics.word_probability,
        answer.data.frequencies,
        answer.corpus.vocabulary,
        by="relevance",
        lambda_=0.6,
        n=_WORDS,
    )
    first = words[words["rank"] == 1]["word"].tolist()

    def draw_words(topic: int) -> Callable[[], Figure]:
        return lambda: topic_bars(words, topic, tokens=float(answer.tokens[topic - 1]), n=_WORDS)

    plots: dict[str, Callable[[], Figure]] = {
        "map": lambda: topic_map_figure(answer.map.positions, share, words=first),
        "shares": lambda: topic_shares_figure(share),
        "quality": lambda: quality_figure(answer.quality.npmi),
    }
    return plots | {f"topic_{topic}": draw_words(topic) for topic in range(1, answer.n_topics + 1)}
