"""Pairs of the closest topics of two runs, and the change within each pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from acvb_core.core.clusters import pair_clusters
from acvb_core.core.errors import DataError
from acvb_core.evaluate.distributions import distributions, jensen_shannon
from acvb_core.evaluate.ranking import top_words

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Alignment:
    """The topics of two runs in pairs, in the order of the first run's topics; all numbers are 0-based."""

    #: `one`, `other`: shape (n_pairs,); topics of the first run and their partners in the other.
    one: Integers
    other: Integers
    distance: Floats  #: shape (n_pairs,); Jensen-Shannon distance (base 2, 0 to 1) of each pair
    overlap: Floats  #: shape (n_pairs,); top words in common over top words of either (Jaccard index)
    #: `share_one`, `share_other`: shape (n_pairs,), or None; shares of all tokens, where they were given.
    share_one: Floats | None
    share_other: Floats | None
    #: `unmatched_one`, `unmatched_other`: topics without a partner: one of these is empty.
    unmatched_one: Integers
    unmatched_other: Integers
    distances: Floats  #: shape (K, L); of all topics of the first run from all of the other

    @property
    def change(self) -> Floats | None:
        """Share in the other run less share in the first, for each pair."""
        if self.share_one is None or self.share_other is None:
            return None
        return self.share_other - self.share_one

    def table(self) -> pd.DataFrame:
        """Return the pairs as a table: topic and other_topic numbered from 1, distance, overlap, shares, change.

        The pairs that moved most come first.
        """
        columns: dict[str, Any] = {
            "topic": self.one + 1,
            "other_topic": self.other + 1,
            "distance": self.distance,
            "overlap": self.overlap,
        }
        change = self.change
        if change is not None:
            columns |= {"share": self.share_one, "other_share": self.share_other, "change": change}
        order = np.argsort(-self.distance, kind="stable")
        return pd.DataFrame(columns).iloc[order].reset_index(drop=True)


def align_topics(
    word_probability: ArrayLike,
    other_word_probability: ArrayLike,
    *,
    share: ArrayLike | None = None,
    other_share: ArrayLike | None = None,
    n_words: int = 20,
) -> Alignment:
    """Pair the topics of two runs so that the distances within pairs are smallest in all.

    `word_probability`, `other_word_probability`: shapes (K, V) and (L, V); distributions of the topics over the same
      vocabulary. K and L may differ: min(K, L) pairs are made.
    `share`, `other_share`: shapes (K,) and (L,); shares of all tokens.
    `n_words`: top words whose overlap is measured.
    Raises DataError: the vocabularies differ in size, or shares in number from the topics.
    """
    one = distributions(word_probability, "the topics of the first run")
    other = distributions(other_word_probability, "the topics of the other run", n_words=one.shape[1])
    distances = jensen_shannon(one, other)
    pairs = pair_clusters(-distances)
    first, second = pairs.rows, pairs.columns
    return Alignment(
        first,
        second,
        distances[first, second],
        _jaccard(top_words(one[first], n_words), top_words(other[second], n_words)),
        _shares(share, len(one), first),
        _shares(other_share, len(other), second),
        pairs.lone_rows,
        pairs.lone_columns,
        distances,
    )


def _jaccard(one: Integers, other: Integers) -> Floats:
    """Return for each row the numbers in both over the numbers in either."""
    common = np.array([len(np.intersect1d(a, b)) for a, b in zip(one, other, strict=True)], dtype=np.float64)
    return common / (one.shape[1] + other.shape[1] - common)


def _shares(given: ArrayLike | None, n_topics: int, chosen: Integers) -> Floats | None:
    if given is None:
        return None
    shares = np.asarray(given, dtype=np.float64)
    if shares.shape != (n_topics,):
        raise DataError(
            f"shares of the shape {shares.shape} were given for {n_topics:,} topics",
            remedy="Give one share for each topic.",
        )
    return shares[chosen]
