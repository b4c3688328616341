"""How well the words of a topic go together, and how much the topics differ in their words.

c_v (Röder, Both and Hinneburg 2015) is left out on purpose. It compares the words of a topic by the direction of their
associations, so that rare words that are never together are alike in that, and score higher than good topics; and its
window of 110 words needs the order of the words, which counts do not have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from acvb_core.core.errors import DataError, ParameterError

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Coherence:
    """How often the top words of each topic stand in the same documents."""

    #: Shape (K,); mean normalised pointwise mutual information of the pairs of top words, from -1 (never in the same
    #: document) over 0 (independent) to 1 (always together). NaN where there is no pair.
    npmi: Floats
    #: Shape (K,); mean over the pairs of log((D(v, u) + 1) / D(u)), u the word that ranks higher; nats. NaN where
    #: there is no pair.
    u_mass: Floats
    #: Shape (K,); number of top words that stand in no document; they are in no pair.
    unused: NDArray[np.int64]


def coherence(
    counts: Any, words: ArrayLike, *, npmi_smoothing: float = 0.0, u_mass_smoothing: float = 1.0
) -> Coherence:
    """Measure the coherence of topics over a corpus: two words go together when documents use both.

    `counts`: shape (D, V); word counts of documents; only whether a word is there counts. All D documents are the
      population, empty ones included.
    `words`: shape (K, n); top words of each topic, best first (`ranking.top_words`).
    `npmi_smoothing`: added to the probability that a document has both words. With 0 a pair that is never together has
      the limit, -1; with the 1e-12 of Röder, Both and Hinneburg 2015 -1 + log(p1 p2) / log(1e-12), some -0.5: the
      rarer the words, the less it costs them.
    `u_mass_smoothing`: number of documents added to those that have both words.
    Returns: means over the pairs, so that figures for different n can be compared (Mimno et al. take the sum).
    Reference: Bouma 2009; Lau, Newman and Baldwin 2014 (NPMI). Mimno et al. 2011, eq. 1 (u_mass).
    """
    top = _check_words(counts, words)
    used, place = np.unique(top, return_inverse=True)
    # Only the columns of top words; column by column, since each topic needs a few of them.
    columns = sparse.csc_array(sparse.csr_array(counts)[:, used])
    columns.eliminate_zeros()
    npmi, u_mass, unused = [], [], []
    for at in place.reshape(top.shape):
        # Dense: top words stand in many documents, and single precision counts these exactly up to 2^24.
        chosen = np.zeros((columns.shape[0], len(at)), dtype=np.float32)
        for position, word in enumerate(at):
            chosen[columns.indices[columns.indptr[word] : columns.indptr[word + 1]], position] = 1.0
        together = (chosen.T @ chosen).astype(np.float64)
        alone = together.diagonal()
        # Pairs (higher, lower) of words that the corpus uses.
        higher, lower = np.triu_indices(len(at), 1)
        there = (alone[higher] > 0) & (alone[lower] > 0)
        higher, lower = higher[there], lower[there]
        both = together[higher, lower]
        share = np.array([alone[higher], alone[lower], both]) / columns.shape[0]
        npmi.append(_mean(_npmi(share[0], share[1], share[2], npmi_smoothing)))
        u_mass.append(_mean(_log(both + u_mass_smoothing) - np.log(alone[higher])))
        unused.append(int((alone == 0).sum()))
    return Coherence(np.array(npmi), np.array(u_mass), np.array(unused, dtype=np.int64))


def _npmi(one: Floats, other: Floats, both: Floats, smoothing: float) -> Floats:
    """Return log(p12 / (p1 p2)) / -log p12 of each pair."""
    joint = both + smoothing
    out = np.full(len(joint), -1.0)
    # Two words that every document has are together by necessity: that says nothing, like independence.
    out[joint >= 1.0] = 0.0
    inside = (joint > 0.0) & (joint < 1.0)
    log_joint = np.log(joint[inside])
    out[inside] = (log_joint - np.log(one[inside]) - np.log(other[inside])) / -log_joint
    return out


def _log(x: Floats) -> Floats:
    """Return log x, minus infinity at 0."""
    return np.log(x, out=np.full_like(x, -np.inf), where=x > 0.0)


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _check_words(counts: Any, words: ArrayLike) -> NDArray[np.int64]:
    top = np.asarray(words, dtype=np.int64)
    n_words = counts.shape[1]
    if top.ndim != 2 or 0 in top.shape:
        raise ParameterError(f"Top words must be an array (topics, words), not one of the shape {top.shape}.")
    if top.min() < 0 or top.max() >= n_words:
        raise DataError(
            "a top word is not in the vocabulary of the corpus",
            value=str(int(top.min() if top.min() < 0 else top.max())),
            remedy=f"Give numbers of words from 0 to {n_words - 1:,}.",
        )
    return top


def topic_diversity(words: ArrayLike) -> float:
    """Return the share of different words among the top words of all topics (Dieng, Ruiz and Blei 2020).

    `words`: shape (K, n).
    Returns: 1 when no word is among the top words of two topics, 1 / K when all topics have the same ones.
    """
    top = np.asarray(words)
    return len(np.unique(top)) / top.size


def uniqueness(words: ArrayLike) -> Floats:
    """Return for each topic the mean over its top words of 1 / number of topics that have it among theirs, shape (K,).

    `words`: shape (K, n); no word twice in a topic.
    Reference: Nan et al. 2019 ("topic uniqueness"). Its mean over the topics is `topic_diversity`.
    """
    top = np.asarray(words)
    _, place, times = np.unique(top, return_inverse=True, return_counts=True)
    out: Floats = (1.0 / times)[place].reshape(top.shape).mean(axis=1)
    return out


def mean_exclusivity(word_probability: ArrayLike, words: ArrayLike) -> Floats:
    """Return for each topic the mean over its top words of phi over the sum of phi of all topics, shape (K,).

    `word_probability`: shape (K, V).
    `words`: shape (K, n).
    """
    phi, top = np.asarray(word_probability, dtype=np.float64), np.asarray(words)
    own, total = np.take_along_axis(phi, top, axis=1), phi.sum(axis=0)[top]
    out: Floats = np.divide(own, total, out=np.zeros_like(own), where=total > 0.0).mean(axis=1)
    return out
