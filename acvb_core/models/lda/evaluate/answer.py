"""The topics that a run found, with documents to look at: words, quality, documents and known labels of each topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus
from acvb_core.evaluate.ranking import top_words
from acvb_core.models.lda.evaluate.coherence import coherence, mean_exclusivity, topic_diversity, uniqueness
from acvb_core.models.lda.evaluate.topic_documents import DocumentOrder, top_documents
from acvb_core.models.lda.evaluate.topic_map import TopicMap, topic_map
from acvb_core.models.lda.topics import Topics

#: Top words that the measures of a topic look at, and those that identify a topic which the user has named.
MEASURED, IDENTIFYING = 10, 20


@dataclass(frozen=True, eq=False)
class TopicQuality:
    """The quality of each topic, shape (K,) each, and the share of different words among all top words."""

    npmi: NDArray[np.float64]
    u_mass: NDArray[np.float64]
    uniqueness: NDArray[np.float64]
    exclusivity: NDArray[np.float64]
    diversity: float


@dataclass(frozen=True, eq=False)
class TopicAnswer:
    """The topics of one posterior; topics are numbered from 1, words and documents from 0."""

    topics: Topics
    corpus: Corpus  #: the documents that can be looked at: all, or some of those on disk or held out
    data: Corpus | DiskCorpus  #: all documents of the run

    @property
    def n_topics(self) -> int:
        """Number of topics."""
        return len(self.topics.share)

    @property
    def tokens(self) -> NDArray[np.float64]:
        """Expected number of words of each topic in all documents, shape (K,)."""
        return np.asarray(self.topics.share * self.data.n_tokens)

    @property
    def is_partial(self) -> bool:
        """The run has more documents than can be looked at."""
        return self.corpus.n_documents < self.data.n_documents

    @cached_property
    def identifying_words(self) -> NDArray[np.int64]:
        """Words that a topic's name goes with, shape (K, n)."""
        return top_words(self.topics.word_probability, IDENTIFYING)

    @cached_property
    def index(self) -> dict[str, int]:
        """Number of each word."""
        return {word: number for number, word in enumerate(self.corpus.vocabulary)}

    @cached_property
    def map(self) -> TopicMap:
        """Positions of the topics on a plane."""
        return topic_map(self.topics.word_probability)

    @cached_property
    def quality(self) -> TopicQuality:
        """Coherence over the documents that can be looked at, and how the topics differ."""
        words = self.identifying_words[:, :MEASURED]
        coherent = coherence(self.corpus.counts, words)
        return TopicQuality(
            coherent.npmi,
            coherent.u_mass,
            uniqueness(words),
            mean_exclusivity(self.topics.word_probability, words),
            topic_diversity(words),
        )

    def mean_quality(self, name: str) -> float:
        """Return the mean over the topics of a measure of `TopicQuality`, NaN if no topic has a finite value."""
        values = getattr(self.quality, name)
        finite = values[np.isfinite(values)]
        return float(finite.mean()) if len(finite) else float("nan")

    def list_top_words(self, n: int) -> list[list[str]]:
        """Return the `n` most probable words of each topic."""
        vocabulary = self.corpus.vocabulary
        return [vocabulary[words].tolist() for words in top_words(self.topics.word_probability, n)]

    def find_words(self, text: str, most: int) -> list[int]:
        """Return at most `most` words that contain a text: the word itself first, then the most frequent ones."""
        low = text.lower()
        words = (
            [number for number, word in enumerate(self.corpus.vocabulary) if low in word.lower()]
            if low
            else []
        )
        other = [self.corpus.vocabulary[number].lower() != low for number in words]
        if not words:
            return []
        order = np.lexsort((-self.data.frequencies[words], other))
        return [words[at] for at in order[:most]]

    def topics_of_word(self, word: int, least: float) -> list[tuple[int, float, float]]:
        """Return the topics with at least a share `least` of a word's tokens, largest share first.

        Returns: topic, its share of the word's tokens, and the word's probability in it.
        """
        probability = self.topics.word_probability[:, word]
        share = self.topics.share * probability
        share = share / share.sum()
        order = np.argsort(-share, kind="stable")
        return [(int(k) + 1, float(share[k]), float(probability[k])) for k in order if share[k] >= least]

    def document_words(self, document: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the words of a document, the most frequent first, and how often each stands there."""
        return frequent_words(self.corpus, document)

    def find_documents(self, topic: int, n: int, by: DocumentOrder, text: str = "") -> pd.DataFrame:
        """Return the `n` documents with most of a topic, among those whose name contains a text.

        Returns: as `top_documents` gives it; the document with that very name comes first.
        """
        shares, lengths = self.topics.document_share, self.corpus.lengths
        if not text:
            return top_documents(shares, lengths, topic - 1, n, by=by)
        low, names = text.lower(), [str(name).lower() for name in self.corpus.documents]
        matching = np.array([number for number, name in enumerate(names) if low in name], dtype=np.int64)
        if not len(matching):
            return pd.DataFrame({"document": matching, "share": [], "tokens": [], "length": matching})
        best = top_documents(shares[matching], lengths[matching], topic - 1, n, by=by, min_length=0)
        best = best.assign(document=matching[best["document"]])
        other = [names[number] != low for number in best["document"]]
        return best.iloc[np.argsort(other, kind="stable")].reset_index(drop=True)

    @cached_property
    def label_shares(self) -> pd.DataFrame:
        """Share of each topic in the words of each known label's documents: topics by labels, largest label first."""
        labels: Any = self.corpus.labels
        shares = pd.DataFrame(self.topics.document_share * self.corpus.lengths[:, None])
        shares.columns = np.arange(1, self.n_topics + 1)
        sums = shares.groupby(np.asarray(labels, dtype=object), sort=False).sum()
        totals = sums.sum(axis=1)
        order = np.argsort(-totals.to_numpy(), kind="stable")
        positive = totals.iloc[order].where(lambda total: total > 0, np.nan)
        return sums.iloc[order].div(positive, axis=0).T


def frequent_words(corpus: Corpus, document: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the words (0-based) of a document, the most frequent first, and how often each stands there."""
    counts = corpus.counts
    begin, end = counts.indptr[document], counts.indptr[document + 1]
    words, times = counts.indices[begin:end], counts.data[begin:end]
    order = np.argsort(-times, kind="stable")
    return words[order].astype(np.int64), times[order].astype(np.int64)


def share_vocabulary(answers: Sequence[TopicAnswer]) -> bool:
    """Return whether the topics of several answers are distributions over the same words."""
    first = answers[0].corpus.vocabulary
    return all(np.array_equal(answer.corpus.vocabulary, first) for answer in answers[1:])
