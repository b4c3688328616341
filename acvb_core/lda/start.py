"""Where the variational methods begin: random responsibilities."""

from __future__ import annotations

import numpy as np

from acvb_core.lda.kernels import Singles
from acvb_core.lda.state import Counts, Tokens
from acvb_core.protocols import Checkpoint, no_checkpoint

_ROWS = 1 << 16  # drawn at a time


def random_responsibilities(n_pairs: int, n_topics: int, rng: np.random.Generator) -> Singles:
    """Return uniform random numbers, rows divided by their sum (the start of ACVB17 and TNW07).

    Returns
    -------
    ndarray of float32, shape (n_pairs, K)
    """
    q = np.empty((n_pairs, n_topics), np.float32)
    for begin in range(0, n_pairs, _ROWS):
        part = q[begin : begin + _ROWS]
        rng.random(out=part, dtype=np.float32)
        part += np.float32(1e-6)  # no row is all zero
        part /= part.sum(axis=1, keepdims=True)
    return q


def random_counts(
    tokens: Tokens, n_topics: int, rng: np.random.Generator, checkpoint: Checkpoint = no_checkpoint
) -> Counts:
    """Return the counts of random responsibilities, in double precision, without holding them all."""
    by_document = np.zeros((tokens.n_documents, n_topics))
    by_word = np.zeros((tokens.n_words, n_topics))
    documents = np.repeat(np.arange(tokens.n_documents), np.diff(tokens.pointers))
    for begin in range(0, len(tokens.words), _ROWS):
        checkpoint()
        part = slice(begin, begin + _ROWS)
        words = tokens.words[part]
        q = random_responsibilities(len(words), n_topics, rng).astype(np.float64)
        q *= tokens.counts[part, None]
        np.add.at(by_document, documents[part], q)
        np.add.at(by_word, words, q)
    return Counts(by_document, by_word, by_word.sum(axis=0))
