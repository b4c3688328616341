"""Topics as probabilities: what a posterior's counts say of words and documents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from acvb_core.core.clusters import Order, order_by_size
from acvb_core.core.protocols import Array, Posterior
from acvb_core.data.corpus import Corpus

#: Words of each topic in the table of topics.
TABLE_WORDS = 50
#: A topic that is expected to hold fewer words of the data is empty: what it says of words comes from the prior alone.
LEAST_TOKENS = 1.0


@dataclass(frozen=True, eq=False)
class Topics:
    """Posterior means."""

    word_probability: Array  #: shape (K, V); phi: rows sum to one
    document_share: Array  #: shape (D, K); theta: rows sum to one; of an empty document the prior's mean
    share: Array  #: shape (K,); of all tokens


def build_topics(posterior: Posterior) -> Topics:
    """Return the topics of a posterior (TNW07 eq. 19)."""
    return Topics(word_probability(posterior), document_share(posterior), topic_share(posterior))


def topics_in_use(posterior: Posterior) -> Order:
    """Return the topics (0-based) that are expected to hold a word of the data, largest first; at least the largest."""
    masses = posterior.masses()["topics"]
    # The counts of a stream may add up to another number than the words that they stand for.
    tokens = float(posterior["sizes"].sum() if "sizes" in posterior.arrays else masses.sum())
    # A topic of one word may have lost a little of it by rounding.
    return order_by_size(masses, (LEAST_TOKENS - 1e-4) / max(tokens, LEAST_TOKENS))


def topic_share(posterior: Posterior) -> Array:
    """Return the share of each topic in all tokens, shape (K,)."""
    totals = posterior.masses()["topics"]
    # A stream may have no counts: of words that all stand once there are none but the one left out.
    return np.asarray(totals / totals.sum() if totals.any() else np.full(len(totals), 1.0 / len(totals)))


def word_probability(posterior: Posterior) -> Array:
    """Return phi_kw = (beta + n_wk) / (V beta + n_k), shape (K, V) (TNW07 eq. 19)."""
    return _shares(np.maximum(posterior["words"], 0.0).T + posterior.hyper["beta"])


def document_share(posterior: Posterior) -> Array:
    """Return theta_dk = (alpha_k + n_dk) / (sum alpha + n_d), shape (D, K) (TNW07 eq. 19)."""
    return _shares(np.maximum(posterior["documents"], 0.0) + posterior["alpha"])


def _shares(weights: Array) -> Array:
    """Return weights divided by the sums of their rows, in the weights' own precision.

    The sums are in double precision: in single precision, adding up a large vocabulary loses parts in a thousand.
    """
    return np.asarray(weights / weights.sum(axis=1, keepdims=True, dtype=np.float64), dtype=weights.dtype)


def word_table(
    probability: Array, vocabulary: NDArray[np.object_], n_words: int = TABLE_WORDS
) -> pd.DataFrame:
    """Return the most probable words of each topic.

    `probability`: shape (K, V).
    `vocabulary`: shape (V,).
    `n_words`: most words of a topic.
    Returns: topic (from 1, largest first), rank (from 1), word, probability.
    """
    n_topics, size = probability.shape
    shown = min(n_words, size)
    order = np.argsort(-probability, axis=1, kind="stable")[:, :shown]
    return pd.DataFrame(
        {
            "topic": np.repeat(np.arange(1, n_topics + 1), shown),
            "rank": np.tile(np.arange(1, shown + 1), n_topics),
            "word": vocabulary[order.ravel()],
            "probability": np.take_along_axis(probability, order, axis=1).ravel(),
        }
    )


def document_table(document_share: Array, corpus: Corpus) -> pd.DataFrame:
    """Return the share of each topic in each document: columns document, tokens, topic_1 … topic_K.

    A document without words has no shares (NaN): they would be those of the prior.
    """
    frame = pd.DataFrame(document_share, columns=[f"topic_{k + 1}" for k in range(document_share.shape[1])])
    frame[corpus.lengths == 0] = np.nan
    frame.insert(0, "tokens", corpus.lengths)
    frame.insert(0, "document", corpus.documents)
    return frame
