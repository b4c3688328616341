"""The answer that the Topics page shows, computed once and kept while it is looked at."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import pandas as pd
import streamlit as st

from acvb_core.data.corpora.metadata import list_groups
from acvb_core.engine.job import Job
from acvb_core.engine.result import Result
from acvb_core.evaluate.ranking import Ranking, ranked_words
from acvb_core.models.lda.answer.describe import describe_found
from acvb_core.models.lda.answer.document_map import DocumentMap, map_documents
from acvb_core.models.lda.topics import TopicAnswer, search_pattern
from pages.ui.shared.charts import PartChoice
from pages.ui.shared.picking import Key, answer_key

Names = Sequence[str]
#: The chosen topic.
TOPIC = PartChoice("topics", "topic")
_START = 90  # characters of a text in a list
_BEFORE = 30  # of these, before what is searched for
_START_WORDS = 12  # words in a list if there is no text


class WordOrder(NamedTuple):
    """The order of words."""

    by: Ranking
    lambda_: float  #: for relevance
    n: int  #: words that are shown


@dataclass(frozen=True, eq=False)
class TopicView(TopicAnswer):
    """One run's answer."""

    key: Key  #: of the run, and how far it is
    result: Result
    own: Result  #: the answer with the run's own topics, however the reader has arranged them
    whole: Result  #: the answer with the same topics, of all documents

    @property
    def run(self) -> str:
        """Id of the run."""
        return self.key[0]

    @property
    def is_inferred(self) -> bool:
        """The documents' topics follow from the topics of the words, and were no part of the run."""
        return "documents" not in self.own.snapshot.posterior.arrays

    @property
    def is_partial(self) -> bool:
        """True if some documents of the run cannot be shown; those of other groups could be."""
        return not self.result.groups and self.corpus.n_documents < self.data.n_documents

    @property
    def of_documents(self) -> str:
        """Key of the documents that are shown: of the run, and of the group."""
        return f"{self.run}{self.result.of_groups}"

    @cached_property
    def groups(self) -> dict[str, tuple[str, str]]:
        """Column and name of each group of the documents, by their text: "product: kettle"."""
        known = list_groups(self.corpus)
        return {f"{column}: {group}": (column, group) for column, groups in known.items() for group in groups}

    @cached_property
    def summary(self) -> str:
        """The answer in plain sentences."""
        return describe_found(self.result)

    @cached_property
    def document_map(self) -> DocumentMap:
        """The documents as points on a plane."""
        return map_documents(self.topics.document_share, self.corpus.lengths)

    def rank_words(self, order: WordOrder, topics: list[int]) -> pd.DataFrame:
        """Return the words that describe some topics, as `ranked_words` does."""
        return _rank_words(self.key, order, tuple(topics), self)

    def document_start(self, document: int, wanted: str = "") -> str:
        """Return the first words of a document, or those around a text; without its text, the most frequent ones."""
        if self.corpus.texts is not None:
            text = self.corpus.texts[document]
            hit = search_pattern(wanted).search(text) if wanted else None
            at = 0 if hit is None else max(hit.start() - _BEFORE, 0)
            start = " ".join(text[at : at + 4 * _START].split())
            return ("…" if at else "") + (start if len(start) <= _START else f"{start[:_START]}…")
        words, _ = self.document_words(document)
        return ", ".join(self.corpus.vocabulary[words[:_START_WORDS]].tolist())

    def describe_quality(self, topic: int) -> str:
        """Return the coherence and exclusivity of a topic."""
        npmi, exclusivity = self.quality.npmi[topic - 1], self.quality.exclusivity[topic - 1]
        return f"{format_measure(npmi)} · exclusivity {format_measure(exclusivity)}"

    def describe_shown(self) -> str:
        """Return how many documents can be looked at: "2,000 of the 1,000,000 documents"."""
        return f"{self.corpus.n_documents:,} of the {self.data.n_documents:,} documents"


def format_measure(value: float) -> str:
    """Return a measure with two decimals, a dash if it is unknown."""
    return f"{value:z.2f}" if math.isfinite(value) else "–"  # z: no minus before nought


def build_view(job: Job, result: Result, own: Result | None = None, whole: Result | None = None) -> TopicView:
    """Return the answer of a run; the same object until the run continues.

    `own`: the answer with the run's own topics, if `result` has them as the reader arranged them.
    `whole`: the answer of all documents, if `result` is of those of a group.
    """
    return _build_view(answer_key(job, result), result, own or result, whole or result)


@st.cache_resource(show_spinner=False, max_entries=8)
def _build_view(key: Key, _result: Result, _own: Result, _whole: Result) -> TopicView:
    return TopicView.of_result(_result, key=key, result=_result, own=_own, whole=_whole)


@st.cache_resource(show_spinner=False, max_entries=64)
def _rank_words(key: Key, order: WordOrder, topics: tuple[int, ...], _view: TopicView) -> pd.DataFrame:
    words = _view.topics.word_probability, _view.data.frequencies, _view.corpus.vocabulary
    numbers = [topic - 1 for topic in topics]
    return ranked_words(*words, by=order.by, lambda_=order.lambda_, n=order.n, topics=numbers)


def read_names(view: TopicView) -> Names:
    """Return the names of the topics: the user's, or those made of their words."""
    return view.result.names["topics"]
