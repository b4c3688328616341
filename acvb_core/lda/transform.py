"""Documents that the topics were not learned from: their shares of the topics, with the topics as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numba as nb
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.data.corpus import Corpus
from acvb_core.errors import ParameterError
from acvb_core.lda.kernels import OPTIONS, Floats, Integers, Singles, workspace
from acvb_core.lda.state import Tokens, apart
from acvb_core.protocols import Array

#: A document is done when its tokens' topics move less than this (mean over tokens of the L1 norm) …
SETTLED = 1e-4
#: … or after this many passes over it.
MOST_PASSES = 200


@dataclass(frozen=True, eq=False)
class Mapped:
    """Counts of documents over the vocabulary of a model.

    Attributes
    ----------
    counts : csr_array of int32, shape (n_documents, V)
    unknown : ndarray of int64, shape (n_documents,)
        Tokens of words that the model does not know; they say nothing of its topics.
    """

    counts: sparse.csr_array
    unknown: NDArray[np.int64]


def onto_vocabulary(corpus: Corpus, vocabulary: NDArray[Any]) -> Mapped:
    """Return a corpus's counts with the columns of another vocabulary."""
    place = {word: w for w, word in enumerate(vocabulary)}
    there = np.array([place.get(word, -1) for word in corpus.vocabulary], dtype=np.int64)
    pairs = corpus.counts.tocoo()
    known = there[pairs.col] >= 0
    unknown = np.bincount(pairs.row[~known], weights=pairs.data[~known], minlength=corpus.n_documents)
    counts = sparse.csr_array(
        (pairs.data[known], (pairs.row[known], there[pairs.col[known]])),
        shape=(corpus.n_documents, len(vocabulary)),
    )
    counts.sort_indices()
    return Mapped(counts, unknown.astype(np.int64))


def fold_in(counts: sparse.csr_array, word_probability: Array, alpha: Array) -> Floats:
    """Return the topic shares of documents whose topics are given.

    CVB0 with the topics frozen: q ∝ (alpha_k + n_dk - q_k) phi_kw for each token in turn until they settle; then
    theta_dk = (alpha_k + n_dk) / (sum alpha + n_d). A document without known words has the prior's shares.

    Parameters
    ----------
    counts : csr_array, shape (D, V)
    word_probability : ndarray, shape (K, V)
    alpha : ndarray, shape (K,)

    Returns
    -------
    ndarray, shape (D, K)
        Rows sum to one.
    """
    tokens = Tokens.of(Corpus(counts, np.empty(0), np.empty(0)))
    by_word = apart((len(word_probability[0]), len(alpha)), np.float32)
    by_word[...] = word_probability.T
    concentration = apart(alpha.shape, np.float32)
    concentration[...] = alpha
    by_document = apart((tokens.n_documents, len(alpha)), np.float32)
    for begin, end in tokens.chunks(len(alpha), 20.0):
        settle(begin, end, tokens.pointers, tokens.words, tokens.counts, by_word, concentration, by_document)
    theta = by_document.astype(np.float64) + alpha
    return np.asarray(theta / theta.sum(axis=1, keepdims=True))


def shares_table(mapped: Mapped, documents: NDArray[Any], theta: Floats) -> pd.DataFrame:
    """Return one row a document: document, tokens, unknown, topic_1 … topic_K."""
    frame = pd.DataFrame(theta, columns=[f"topic_{k + 1}" for k in range(theta.shape[1])])
    frame.insert(0, "unknown", mapped.unknown)
    frame.insert(0, "tokens", np.asarray(mapped.counts.sum(axis=1, dtype=np.int64)).ravel())
    frame.insert(0, "document", documents)
    return frame


def corpus_like(given: Corpus | Sequence[str], model: Corpus) -> Corpus:
    """Return documents as a corpus; texts are cut as those that the topics were learned from.

    Raises
    ------
    ParameterError
        Texts were given, and it is not known how the corpus of the model was cut.
    DataError
        No word is left of the texts.
    """
    if isinstance(given, Corpus):
        return given
    if model.tokeniser is None:
        raise ParameterError(
            f"{model.name} was read as counts, so it is not known how to cut texts into its words; give a Corpus."
        )
    place = {word: w for w, word in enumerate(model.vocabulary)}
    rows, columns = [], []
    for d, text in enumerate(given):
        found = [w for _, _, w in model.tokeniser.spans(text, place)]
        rows += [d] * len(found)
        columns += found
    counts = sparse.csr_array(
        (np.ones(len(rows), np.int32), (rows, columns)), shape=(len(given), model.n_words)
    )
    return Corpus.build(counts, vocabulary=model.vocabulary, name="texts", texts=given)


@nb.njit(**OPTIONS)
def settle(
    begin: int,
    end: int,
    pointers: Integers,
    words: Integers,
    counts: Singles,
    by_word: Singles,
    alpha: Singles,
    by_document: Singles,
) -> None:
    """Write the expected topic counts of documents `begin` to `end`; `by_word` has the topics' probabilities."""
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
            by_document[d, k] = own[k]
