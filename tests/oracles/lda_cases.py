"""Small random corpora for checking LDA against its oracles, and their pairs taken apart and put together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from acvb_core.data.corpus import Corpus
from tests.oracles.cases import hard_rows, soft_rows
from tests.oracles.dense_irm import Array
from tests.oracles.dense_lda import Triplets

#: Lengths of documents. Each corpus has an empty document and one of a single token; 8 tokens can be enumerated.
TINY = (4, 0, 1, 3)
SMALL = (12, 0, 1, 7, 20, 1, 9)


class LdaCase(NamedTuple):
    """A small corpus, responsibilities of its pairs and hyper-parameters."""

    triplets: Triplets
    gamma: Array
    alpha: Array
    beta: float

    @property
    def size(self) -> int:
        """K."""
        return self.gamma.shape[1]

    @property
    def corpus(self) -> Corpus:
        """The corpus; its stored counts stand in the order of ``gamma``, if no pair has several entries."""
        return corpus_of(self.triplets)

    @property
    def unclumped(self) -> LdaCase:
        """The same with an entry for each token."""
        return LdaCase(*unclump(self.triplets, self.gamma), self.alpha, self.beta)


def corpus_of(triplets: Triplets) -> Corpus:
    """The corpus of some triplets; the entries of a pair are added up."""
    entries = (triplets.counts, (triplets.documents, triplets.words))
    return Corpus.build(sparse.coo_array(entries, shape=triplets.shape), name="case")


def triplets_of(corpus: Corpus) -> Triplets:
    """One entry for each stored count, in stored order: documents in order, words in order within each."""
    documents = np.repeat(np.arange(corpus.n_documents), np.diff(corpus.counts.indptr))
    words, counts = corpus.counts.indices.astype(np.int64), corpus.counts.data.astype(np.int64)
    return Triplets(documents, words, counts, corpus.shape)


def unclump(triplets: Triplets, gamma: Array) -> tuple[Triplets, Array]:
    """An entry of count c becomes c entries of count 1 with the same gamma."""
    entry = np.repeat(np.arange(len(triplets.counts)), triplets.counts)
    ones = np.ones(len(entry), dtype=np.int64)
    return Triplets(triplets.documents[entry], triplets.words[entry], ones, triplets.shape), gamma[entry]


def random_triplets(rng: np.random.Generator, lengths: tuple[int, ...], n_words: int) -> Triplets:
    """Documents of given lengths; low words are frequent, the last of several never occurs.

    The first document with two tokens begins with one word twice, so that some count is above 1.
    """
    used = max(n_words - 1, 1)
    frequencies = 1 / np.arange(1, used + 1)
    counts = np.zeros((len(lengths), n_words), dtype=np.int64)
    repeats = True
    for d, length in enumerate(lengths):
        words = rng.choice(used, length, p=frequencies / frequencies.sum())
        if repeats and length >= 2:
            words[1], repeats = words[0], False
        counts[d] = np.bincount(words, minlength=n_words)
    documents, words = np.nonzero(counts)
    return Triplets(documents, words, counts[documents, words], counts.shape)


def random_case(
    seed: int,
    lengths: tuple[int, ...] = TINY,
    n_words: int = 4,
    size: int = 2,
    concentration: float = 1.0,
    hard: bool = False,
) -> LdaCase:
    """A case drawn from ``seed``; the concentration is that of the rows of gamma, small ones are nearly hard."""
    rng = np.random.default_rng(seed)
    triplets = random_triplets(rng, lengths, n_words)
    n = len(triplets.counts)
    gamma = hard_rows(rng, n, size) if hard else soft_rows(rng, n, size, concentration)
    return LdaCase(triplets, gamma, rng.uniform(0.05, 1.5, size), float(rng.uniform(0.05, 1.0)))


def small_case(seed: int, concentration: float = 1.0, hard: bool = False) -> LdaCase:
    """A case of 50 tokens, 11 words, 7 documents and 3 topics: too large to enumerate, large enough to sweep."""
    return random_case(seed, SMALL, 11, 3, concentration, hard)


def edge_cases() -> dict[str, LdaCase]:
    """Cases at the edges of what is allowed, by name."""
    return {
        "one topic": random_case(101, SMALL, 11, 1),
        "one document": random_case(102, (15,), 6, 3),
        "one word": random_case(103, (3, 0, 1, 5), 1, 2),
        "one token": random_case(104, (0, 1, 0), 3, 2),
        "documents of one token": random_case(105, (1,) * 8, 5, 3),
        "more topics than tokens": random_case(106, (2, 0, 1), 4, 6),
        "hard": random_case(107, SMALL, 11, 3, hard=True),
        "nearly hard": random_case(108, SMALL, 11, 3, 0.01),
        "tiny concentrations": small_case(109)._replace(alpha=np.array([1e-3, 0.01, 1e-4]), beta=1e-3),
        "large concentrations": small_case(110)._replace(alpha=np.array([50.0, 5.0, 20.0]), beta=10.0),
    }


def scaled(case: LdaCase, factor: int) -> LdaCase:
    """Every count ``factor`` times as large, gamma as it is."""
    return case._replace(triplets=case.triplets._replace(counts=case.triplets.counts * factor))
