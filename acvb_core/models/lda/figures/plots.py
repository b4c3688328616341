"""The figures of a result by name, as the Topics page draws them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pandas as pd

from acvb_core.data.corpora.metadata import list_columns
from acvb_core.engine.result import Result
from acvb_core.evaluate.ranking import ranked_words
from acvb_core.models.lda.answer.document_map import map_documents
from acvb_core.models.lda.answer.effects import measure_effects
from acvb_core.models.lda.answer.tree import TopicTree
from acvb_core.models.lda.figures.documents import document_map_figure
from acvb_core.models.lda.figures.effects import MOST_TOPICS, topics_over_time
from acvb_core.models.lda.figures.topics import (
    quality_figure,
    topic_bars,
    topic_map_figure,
    topic_shares_figure,
)
from acvb_core.models.lda.figures.tree import topic_tree_figure
from acvb_core.models.lda.topics import TopicAnswer
from acvb_core.views.parts import plain_name
from acvb_core.views.theme import Figure, ReportFigure

_WORDS = 20
#: Name of the figure of all topics over time, which only texts with dates have.
OVER_TIME = "over_time"

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
    if OVER_TIME in plots:
        about = "The share of each topic in each period, on a scale of its own, with 95 % intervals."
        found.append(ReportFigure("Topics over time", about, plots[OVER_TIME]))
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

    def draw_tree() -> Figure:
        tree = TopicTree(topics.word_probability)
        return topic_tree_figure(tree.steps, tree.order, names)

    def draw_documents() -> Figure:
        shown = map_documents(topics.document_share, answer.corpus.lengths)
        return document_map_figure(shown, answer.corpus.documents, topics.document_share, names)

    plots: dict[str, Callable[[], Figure]] = {
        "map": draw_map,
        "tree": draw_tree,
        "documents": draw_documents,
        "shares": lambda: topic_shares_figure(share, names),
        "quality": lambda: quality_figure(answer.quality.npmi, names),
    }
    columns = list_columns(answer.corpus)
    dated = next((name for name, column in columns.items() if column.kind == "date"), None)
    if dated is not None:
        largest = range(1, min(answer.n_topics, MOST_TOPICS) + 1)
        plots[OVER_TIME] = lambda: topics_over_time(
            measure_effects(result.posterior, answer.corpus, dated).table, largest, names
        )
    return plots | {f"topic_{topic}": draw_words(topic) for topic in range(1, answer.n_topics + 1)}
