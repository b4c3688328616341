"""Start values of the variational methods."""

from __future__ import annotations

import numba as nb
import numpy as np

from acvb_core.core.protocols import Poll, no_poll
from acvb_core.data.disk import Shard
from acvb_core.models.lda.hyper import Concentrations
from acvb_core.models.lda.kernels import OPTIONS, Counts, Floats, Singles
from acvb_core.models.lda.state import BlockPartition, Tokens, padded_copy, padded_zeros
from acvb_core.models.lda.transform import fold_in_tokens

_NUMBERS = 1 << 22  # drawn between two polls


def random_responsibilities(
    n_pairs: int, n_topics: int, rng: np.random.Generator, poll: Poll = no_poll
) -> Singles:
    """Return uniform random numbers, rows divided by their sum (the start of ACVB17 and TNW07).

    Returns: shape (n_pairs, K).
    """
    q = padded_zeros((n_pairs, n_topics), np.float32)
    rows = max(1, _NUMBERS // n_topics)
    for begin in range(0, n_pairs, rows):
        poll()
        draw_rows(q[begin : begin + rows], rng)
    return q


def draw_rows(rows: Singles, rng: np.random.Generator) -> None:
    """Write uniform random numbers in single precision, rows divided by their sum."""
    rng.random(out=rows, dtype=np.float32)
    rows += np.float32(1e-6)  # no row is all zero
    rows /= rows.sum(axis=1, keepdims=True)


def warm_responsibilities(
    tokens: Tokens,
    by_word: Singles,
    given: Concentrations,
    poll: Poll = no_poll,
    cells: BlockPartition | None = None,
) -> Singles:
    """Return the responsibilities that trained topics imply, after the documents' own topics have converged.

    `by_word`: shape (V, K); expected counts; words without counts have the probability of the prior in each topic.
    `cells`: the order of the pairs; by default that of the tokens.
    """
    n_topics = by_word.shape[1]
    phi = by_word.astype(np.float64) + given.beta
    weights = padded_copy((phi / phi.sum(axis=0)).astype(np.float32))
    alpha = padded_copy(given.alpha.astype(np.float32))
    by_document = fold_in_tokens(tokens, weights, alpha, poll)
    q = padded_zeros((len(tokens.words), n_topics), np.float32)
    for begin, end, pairs in (cells or BlockPartition.cut(tokens)).pieces(n_topics):
        poll()
        write_responsibilities(begin, end, pairs, weights, alpha, by_document, q)
    return q


@nb.njit(**OPTIONS)
def write_responsibilities(
    begin: int, end: int, documents: Shard, by_word: Singles, alpha: Singles, by_document: Singles, q: Singles
) -> None:
    """Write q ∝ (alpha_k + n_dk) phi_wk of the pairs of documents `begin` to `end`."""
    pointers, words, _ = documents
    n_topics = alpha.shape[0]
    for d in range(begin, end):
        own = by_document[d]
        for e in range(pointers[d], pointers[d + 1]):
            row, word = q[e], by_word[words[e]]
            s = np.float32(0)
            for k in range(n_topics):
                x = (own[k] + alpha[k]) * word[k]
                row[k] = x
                s += x
            inverse = np.float32(1) / s
            for k in range(n_topics):
                row[k] *= inverse


def draw_noisy_counts(tokens: Tokens, n_topics: int, rng: np.random.Generator) -> Counts:
    """Return equal counts of all topics in each document, and almost equal topics, in double precision."""
    by_word = draw_noisy_topics(tokens.n_words, n_topics, rng)
    return Counts(even_counts(tokens, n_topics), by_word, by_word.sum(axis=0))


def draw_noisy_topics(n_words: int, n_topics: int, rng: np.random.Generator) -> Floats:
    """Return almost equal topics, shape (V, K): counts Gamma(100, 1/100), 1 with a standard deviation of 0.1.

    As Hoffman, Blei and Bach, NIPS 23 (2010). From random responsibilities, VB ends with a far lower bound and worse
    predictions of held-out words.
    """
    return rng.gamma(100.0, 0.01, (n_words, n_topics))


def even_counts(tokens: Tokens, n_topics: int) -> Floats:
    """Return equal counts of all topics in each document, shape (D, K)."""
    documents = np.repeat(np.arange(tokens.n_documents), np.diff(tokens.pointers))
    lengths = np.bincount(documents, weights=tokens.counts, minlength=tokens.n_documents)
    return np.repeat(lengths[:, None] / n_topics, n_topics, axis=1)


def draw_random_counts(tokens: Tokens, n_topics: int, rng: np.random.Generator) -> Counts:
    """Return the expected counts of uniform random responsibilities, in double precision (TNW07, ACVB17 §5.1)."""
    q = rng.random((len(tokens.words), n_topics))
    q *= (tokens.counts / q.sum(axis=1))[:, None]
    documents = np.repeat(np.arange(tokens.n_documents), np.diff(tokens.pointers))
    by_document = np.zeros((tokens.n_documents, n_topics))
    by_word = np.zeros((tokens.n_words, n_topics))
    np.add.at(by_document, documents, q)
    np.add.at(by_word, tokens.words, q)
    return Counts(by_document, by_word, by_word.sum(axis=0))
