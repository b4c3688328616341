"""Topic shares of new documents, with the topics fixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numba as nb
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.core.parallel import map_together
from acvb_core.core.protocols import Array, Poll, no_poll
from acvb_core.data.corpora.readers import LISTS_OF_WORDS, plain_documents
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus, Shard
from acvb_core.data.report import take_apart
from acvb_core.evaluate.heldout import Completion, document_completion
from acvb_core.models.lda.kernels import OPTIONS, Floats, Singles, workspace
from acvb_core.models.lda.state import Tokens, padded_copy, padded_zeros
from acvb_core.models.lda.topics import document_table

#: A document has converged when its responsibilities change less than this (mean L1 norm over tokens) …
SETTLED = 1e-4
#: … or after this number of passes.
MOST_PASSES = 200


@dataclass(frozen=True, eq=False)
class MappedCounts:
    """Counts of documents over the vocabulary of a model."""

    counts: sparse.csr_array  #: shape (n_documents, V)
    #: Shape (n_documents,); tokens of words that the model does not know.
    unknown: NDArray[np.int64]


def map_onto_vocabulary(corpus: Corpus, vocabulary: NDArray[Any]) -> MappedCounts:
    """Return a corpus's counts with the columns of another vocabulary."""
    place = {word: w for w, word in enumerate(vocabulary)}
    there = np.array([place.get(word, -1) for word in corpus.vocabulary], dtype=np.int64)
    pairs = corpus.counts.tocoo()
    known = there[pairs.col] >= 0
    unknown = np.bincount(pairs.row[~known], weights=pairs.data[~known], minlength=corpus.n_documents)
    places, shape = (pairs.row[known], there[pairs.col[known]]), (corpus.n_documents, len(vocabulary))
    counts = sparse.csr_array((pairs.data[known], places), shape=shape)
    counts.sort_indices()
    return MappedCounts(counts, unknown.astype(np.int64))


def fold_in(counts: sparse.csr_array, word_probability: Array, alpha: Array) -> Floats:
    """Return the topic shares of documents whose topics are given.

    CVB0 with fixed topics: q ∝ (alpha_k + n_dk - q_k) phi_kw for each token in turn until convergence; then
    theta_dk = (alpha_k + n_dk) / (sum alpha + n_d). A document without known words has the shares of the prior.

    `counts`: shape (D, V).
    `word_probability`: shape (K, V).
    `alpha`: shape (K,).
    Returns: shape (D, K); rows sum to one.
    """
    theta = infer_topic_counts(counts, word_probability, alpha).astype(np.float64) + alpha
    return np.asarray(theta / theta.sum(axis=1, keepdims=True))


def infer_topic_counts(counts: sparse.csr_array, word_probability: Array, alpha: Array) -> Singles:
    """Return the expected topic counts n_dk of documents whose topics are given (see `fold_in`), shape (D, K)."""
    by_word = padded_copy(np.ascontiguousarray(word_probability.T, dtype=np.float32))
    tokens = Tokens.of(Corpus(counts, np.empty(0), np.empty(0)))
    return fold_in_tokens(tokens, by_word, padded_copy(alpha.astype(np.float32)))


def fold_in_tokens(tokens: Tokens, by_word: Singles, alpha: Singles, poll: Poll = no_poll) -> Singles:
    """Return `infer_topic_counts`; `by_word`: probabilities of the topics, shape (V, K)."""
    by_document = padded_zeros((tokens.n_documents, len(alpha)), np.float32)

    def read(chunk: tuple[int, int]) -> None:
        fold_in_documents(*chunk, tokens.documents, by_word, alpha, by_document)

    map_together(read, tokens.chunks(len(alpha), 20.0), poll)
    return by_document


@dataclass(frozen=True, eq=False)
class FixedTopics:
    """Topics for reading new documents."""

    word_probability: Array  #: shape (K, V); phi: rows sum to one
    alpha: Array  #: shape (K,); concentrations
    vocabulary: NDArray[Any]  #: shape (V,)
    tokeniser: Tokeniser | None  #: the tokeniser of the topics' texts; None if word counts were read
    name: str  #: the user's name of the topics' corpus

    def transform(self, documents: Corpus | Sequence[str]) -> pd.DataFrame:
        """Return one row a document: document, tokens (of known words), unknown, topic_1 … topic_K (see `fold_in`).

        A document without known words has no shares (NaN).

        `documents`: over any vocabulary; texts are split by the tokeniser of the topics.
        """
        corpus = as_corpus(documents, self.tokeniser, self.name)
        mapped = map_onto_vocabulary(corpus, self.vocabulary)
        theta = fold_in(mapped.counts, self.word_probability, self.alpha)
        frame = document_table(theta, Corpus(mapped.counts, self.vocabulary, corpus.documents))
        frame.insert(2, "unknown", mapped.unknown)
        return frame

    def completion(
        self, documents: Corpus | Sequence[str], observed: float = 0.8, seed: int = 0
    ) -> Completion:
        """Return how well the topics predict the rest of documents when a share of their tokens is seen.

        `documents`: as for `transform`; words that are not in the vocabulary are left out.
        `observed`: share of each document's tokens that is seen.
        `seed`: of the choice of these tokens.
        Raises DataError: no word of the documents is in the vocabulary.
        """
        corpus, phi = as_corpus(documents, self.tokeniser, self.name), self.word_probability
        counts = map_onto_vocabulary(corpus, self.vocabulary).counts
        if not counts.nnz:
            raise no_known_word_error(corpus.name)
        known = Corpus.build(counts, vocabulary=self.vocabulary, documents=corpus.documents, name=corpus.name)
        return document_completion(
            known, phi, lambda seen: fold_in(seen, phi, self.alpha), observed=observed, seed=seed
        )


def no_known_word_error(source: str) -> DataError:
    """Return the error for documents that share no word with the topics."""
    return DataError(
        "no word of these documents is one of the topics' words",
        source=source,
        remedy="Give documents in the same language with words written the same way; word numbers need their "
        "vocabulary.",
    )


def as_corpus(given: Corpus | Sequence[str], tokeniser: Tokeniser | None, name: str) -> Corpus:
    """Return documents as a corpus; texts are split by the tokeniser of the topics.

    `tokeniser`: its limits on word frequencies are ignored for other texts.
    `name`: the user's name of the topics' corpus.
    Raises ParameterError: texts without a known tokeniser, a single text, or a corpus on disk.
    Raises DataError: the texts have no word.
    """
    given = take_apart(given)[0]
    if isinstance(given, Corpus):
        return given
    if isinstance(given, str):
        raise ParameterError("documents is a str; put a single text into a list.")
    if isinstance(given, DiskCorpus):
        raise ParameterError(
            f"{given.name} is kept on disk; give what fits into memory: its in_memory(), or a sample of it."
        )
    found, kind, _ = plain_documents(given, "the documents")
    documents, lists = list(found), kind is list
    free = require_tokeniser(LISTS_OF_WORDS if lists and tokeniser is None else tokeniser, name)
    selection = free.select(documents)
    texts = None if lists else documents
    return Corpus.build(
        selection.counts, vocabulary=selection.vocabulary, name="texts", texts=texts, tokeniser=free
    )


def require_tokeniser(tokeniser: Tokeniser | None, name: str) -> Tokeniser:
    """Return the tokeniser for texts that are not in the corpus; arguments and errors as of `as_corpus`."""
    if tokeniser is None:
        raise ParameterError(
            f"{name} was read as counts, so it is not known how to cut texts into its words; give word counts, or "
            "lists of words."
        )
    return tokeniser.without_limits()


@nb.njit(**OPTIONS)
def fold_in_documents(
    begin: int, end: int, documents: Shard, by_word: Singles, alpha: Singles, by_document: Singles
) -> None:
    """Write the expected topic counts of documents `begin` to `end`; `by_word` has the topics' probabilities."""
    pointers, words, counts = documents
    n_topics = alpha.shape[0]
    zero, one = np.float32(0), np.float32(1)
    rows = workspace(2, n_topics, np.float32)
    p, own = rows[1], rows[2]
    for d in range(begin, end):
        first, last = pointers[d], pointers[d + 1]
        q = workspace(last - first, n_topics, np.float32)
        length = zero
        for e in range(first, last):
            length += counts[e]
        for k in range(n_topics):
            own[k] = zero
        for e in range(first, last):
            for k in range(n_topics):
                q[e - first + 1, k] = one / np.float32(n_topics)
                own[k] += counts[e] / np.float32(n_topics)
        for _ in range(MOST_PASSES):
            moved = zero
            for e in range(first, last):
                row, word, c = q[e - first + 1], by_word[words[e]], counts[e]
                s = zero
                for k in range(n_topics):
                    rest = own[k] - row[k]
                    value = ((rest if rest > zero else zero) + alpha[k]) * word[k]
                    p[k] = value
                    s += value
                if s <= zero:  # a word that no topic has
                    continue
                for k in range(n_topics):
                    new = p[k] / s
                    step = c * (new - row[k])
                    row[k] = new
                    own[k] += step
                    moved += abs(step)
            if moved <= np.float32(SETTLED) * length:
                break
        for k in range(n_topics):
            # Rounding may leave a little less than zero.
            by_document[d, k] = own[k] if own[k] > zero else zero
