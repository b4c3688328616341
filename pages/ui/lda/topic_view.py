"""What the Topics page shows of one answer, worked out once and kept while it is looked at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from acvb_core.data.corpus import Corpus
from acvb_core.engine.job import Job
from acvb_core.engine.result import Result
from acvb_core.evaluate.ranking import Ranking, ranked_words, top_words
from acvb_core.models.lda.evaluate.coherence import coherence, mean_exclusivity, topic_diversity, uniqueness
from acvb_core.models.lda.evaluate.topic_map import TopicMap, topic_map
from acvb_core.models.lda.topics import Topics
from acvb_core.store.files import StoreError
from acvb_core.store.topic_names import Names, TopicNames
from pages.ui.shared import services
from pages.ui.shared.picking import Key, answer_key

#: Top words that the measures of a topic look at, and those that a topic is known by when it has a name.
MEASURED, KNOWN_BY = 10, 20
_FIRST = 90  # characters of a text in a list
_FEW_WORDS = 12  # … and of its words where there is no text


class WordOrder(NamedTuple):
    """How words are put in order.

    Attributes
    ----------
    by : "probability", "relevance" or "frex"
    lambda_ : float
        For relevance.
    n : int
        How many words are shown.
    """

    by: Ranking
    lambda_: float
    n: int


@dataclass(frozen=True, eq=False)
class Quality:
    """How good each topic is, shape (K,) each, and how different all of them are."""

    npmi: NDArray[np.float64]
    u_mass: NDArray[np.float64]
    uniqueness: NDArray[np.float64]
    exclusivity: NDArray[np.float64]
    diversity: float


@dataclass(frozen=True, eq=False)
class TopicView:
    """One answer, and what follows from it.

    Attributes
    ----------
    run : str
        Id of the run.
    result : Result
    corpus : Corpus
        The documents that can be looked at: all, with the words that were held out, unless whole documents were held
        out or the data are on disk.
    topics : Topics
    """

    run: str
    result: Result
    corpus: Corpus
    topics: Topics

    @property
    def n_topics(self) -> int:
        """Number of topics."""
        return len(self.topics.share)

    @property
    def tokens(self) -> NDArray[np.float64]:
        """Expected number of words of each topic in the corpus."""
        expected: NDArray[np.float64] = self.topics.share * self.result.problem.data.n_tokens
        return expected

    @property
    def frequencies(self) -> NDArray[np.int64]:
        """How often each word stands in all documents, shape (V,)."""
        found: NDArray[np.int64] = self.result.problem.data.frequencies
        return found

    @property
    def partly(self) -> bool:
        """Whether there are more documents than are looked at here."""
        return self.corpus.n_documents < self.result.problem.data.n_documents

    @property
    def inferred(self) -> bool:
        """Whether the documents' topics follow from the topics of the words, and were no part of the run."""
        return "documents" not in self.result.snapshot.posterior.arrays

    @cached_property
    def known_by(self) -> NDArray[np.int64]:
        """Words that a topic's name goes with, shape (K, n)."""
        return top_words(self.topics.word_probability, KNOWN_BY)

    @cached_property
    def index(self) -> dict[str, int]:
        """Number (0-based) of each word."""
        return {word: number for number, word in enumerate(self.corpus.vocabulary)}

    @cached_property
    def map(self) -> TopicMap:
        """Where the topics lie."""
        return topic_map(self.topics.word_probability)

    @cached_property
    def quality(self) -> Quality:
        """Coherence over the documents that can be looked at, and how the topics differ."""
        words = self.known_by[:, :MEASURED]
        coherent = coherence(self.corpus.counts, words)
        return Quality(
            coherent.npmi,
            coherent.u_mass,
            uniqueness(words),
            mean_exclusivity(self.topics.word_probability, words),
            topic_diversity(words),
        )

    def words(self, order: WordOrder, topics: list[int] | None = None) -> pd.DataFrame:
        """Return the words that describe topics (0-based; all by default), as `ranked_words` does."""
        return ranked_words(
            self.topics.word_probability,
            self.frequencies,
            self.corpus.vocabulary,
            by=order.by,
            lambda_=order.lambda_,
            n=order.n,
            topics=topics,
        )

    def beginning(self, document: int) -> str:
        """Return the first words of a document; the most frequent ones where its text is not known."""
        if self.corpus.texts is not None:
            start = " ".join(self.corpus.texts[document][: 4 * _FIRST].split())
            return start if len(start) <= _FIRST else f"{start[:_FIRST]}…"
        words, _ = self.words_of(document)
        return ", ".join(str(word) for word in self.corpus.vocabulary[words[:_FEW_WORDS]])

    def words_of(self, document: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the words (0-based) of a document, the most frequent first, and how often each stands there."""
        counts = self.corpus.counts
        begin, end = counts.indptr[document], counts.indptr[document + 1]
        words, times = counts.indices[begin:end], counts.data[begin:end]
        order = np.argsort(-times, kind="stable")
        return words[order].astype(np.int64), times[order].astype(np.int64)

    @cached_property
    def by_label(self) -> pd.DataFrame:
        """Share of each topic in the words of each label's documents: topics by labels, the largest label first."""
        labels: Any = self.corpus.labels
        shares = pd.DataFrame(self.topics.document_share * self.corpus.lengths[:, None])
        shares.columns = np.arange(1, self.n_topics + 1)
        sums = shares.groupby(np.asarray(labels, dtype=object), sort=False).sum()
        totals = sums.sum(axis=1)
        order = np.argsort(-totals.to_numpy(), kind="stable")
        kept = sums.iloc[order]
        return kept.div(totals.iloc[order].where(lambda total: total > 0, np.nan), axis=0).T


def describe_shown(view: TopicView) -> str:
    """Return how many documents are looked at: "2,000 of the 1,000,000 documents"."""
    return f"{view.corpus.n_documents:,} of the {view.result.problem.data.n_documents:,} documents"


def format_measure(value: float) -> str:
    """Return a measure with two decimals; a dash where it is not known."""
    return f"{value:z.2f}" if np.isfinite(value) else "–"  # z: no minus before nought


def build_view(job: Job, result: Result) -> TopicView:
    """Return what is shown of an answer; the same object until the run goes on."""
    return _build_view(answer_key(job, result), result)


@st.cache_resource(show_spinner=False, max_entries=8)
def _build_view(key: Key, _result: Result) -> TopicView:
    problem = _result.problem
    model: Any = problem.model
    whole = isinstance(problem.data, Corpus) and not problem.settings.heldout_documents
    corpus = problem.data if whole else model.shown_documents
    return TopicView(key[0], _result, corpus, model.topics(_result.posterior))


@st.cache_resource(show_spinner=False)
def _open_topic_names(folder: str) -> TopicNames:
    return TopicNames(services.home())


def open_topic_names() -> TopicNames:
    """Return the names of the topics of all runs."""
    return _open_topic_names(str(services.home()))


def read_names(view: TopicView) -> Names:
    """Return what the topics are called; without names, and a warning, where these cannot be read."""
    try:
        return open_topic_names().names(view.run, view.known_by)
    except StoreError as error:
        st.warning("The names of the topics could not be read:", icon=":material/warning:")
        st.text(str(error))
        return (None,) * view.n_topics
