"""Where the variational methods begin."""

from __future__ import annotations

import numpy as np

from acvb_core.lda.kernels import Singles
from acvb_core.lda.state import Counts, Tokens, apart

_ROWS = 1 << 16  # drawn at a time


def random_responsibilities(n_pairs: int, n_topics: int, rng: np.random.Generator) -> Singles:
    """Return uniform random numbers, rows divided by their sum (the start of ACVB17 and TNW07).

    Returns
    -------
    ndarray of float32, shape (n_pairs, K)
    """
    q = apart((n_pairs, n_topics), np.float32)
    for begin in range(0, n_pairs, _ROWS):
        part = q[begin : begin + _ROWS]
        rng.random(out=part, dtype=np.float32)
        part += np.float32(1e-6)  # no row is all zero
        part /= part.sum(axis=1, keepdims=True)
    return q


def noisy_counts(tokens: Tokens, n_topics: int, rng: np.random.Generator) -> Counts:
    """Return counts of documents that are even over topics that all but agree, in double precision.

    Every word counts Gamma(100, 1/100), 1 give or take a tenth, in every topic (Hoffman, Blei and Bach, NIPS 23,
    2010). From random responsibilities VB ends far lower, in its bound and in how it predicts held-out words.
    """
    by_word = rng.gamma(100.0, 0.01, (tokens.n_words, n_topics))
    documents = np.repeat(np.arange(tokens.n_documents), np.diff(tokens.pointers))
    lengths = np.bincount(documents, weights=tokens.counts, minlength=tokens.n_documents)
    by_document = np.repeat(lengths[:, None] / n_topics, n_topics, axis=1)
    return Counts(by_document, by_word, by_word.sum(axis=0))
