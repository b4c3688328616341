"""Parts of several answers: the same numbers for alike ones; pairs of topics, their change, stability over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from acvb_core.core.clusters import pair_clusters, place_columns
from acvb_core.core.errors import DataError, ParameterError
from acvb_core.evaluate.ranking import distributions, jensen_shannon, top_words

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def number_alike(one: ArrayLike, other: ArrayLike, shape: tuple[int, int]) -> Integers:
    """Return the number (from 1) of each cluster of another clustering of the same objects.

    It is that of its partner in the first clustering, in the pairs that share most objects in all. A cluster without a
    partner gets a new number, above those of the first.

    `one`, `other`: shape (n,); clusters from 0.
    `shape`: how many clusters there are in each clustering.
    """
    first, second = np.asarray(one, dtype=np.int64), np.asarray(other, dtype=np.int64)
    shared = np.bincount(first * shape[1] + second, minlength=shape[0] * shape[1]).reshape(shape)
    return place_columns(shared, shared > 0)[0] + 1


def number_partners(one: ArrayLike, other: ArrayLike, shape: tuple[int, ...]) -> list[int]:
    """Return the number (from 1) of each part of another run: that of its partner, or a new one without a partner.

    `one`, `other`: shape (n_pairs,); the pairs (0-based). `shape`: how many parts each run has.
    """
    numbers = np.zeros(shape[1], dtype=np.int64)
    numbers[np.asarray(other, dtype=np.int64)] = np.asarray(one, dtype=np.int64) + 1
    new = numbers == 0
    numbers[new] = shape[0] + 1 + np.arange(new.sum())
    return [int(number) for number in numbers]


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
        columns: dict[str, Any] = {"topic": self.one + 1, "other_topic": self.other + 1}
        columns |= {"distance": self.distance, "overlap": self.overlap}
        if self.change is not None:
            columns |= {"share": self.share_one, "other_share": self.share_other, "change": self.change}
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


@dataclass(frozen=True, eq=False)
class Stability:
    """How alike the topics of one run are to their partners in other runs."""

    #: Shape (n_other_runs, K); 1 - Jensen-Shannon distance (base 2) of each topic from its partner: 1 the same, 0 no
    #: word in common, and 0 for a topic without a partner in a run of fewer topics.
    similarity: NDArray[np.float64]
    partner: NDArray[np.int64]  #: shape (n_other_runs, K); the partners (0-based), -1 if there is none

    @property
    def mean(self) -> NDArray[np.float64]:
        """Mean similarity of each topic over the other runs, shape (K,)."""
        return np.asarray(self.similarity.mean(axis=0))

    @property
    def minimum(self) -> NDArray[np.float64]:
        """Least similarity of each topic over the other runs, shape (K,)."""
        return np.asarray(self.similarity.min(axis=0))

    @property
    def overall(self) -> float:
        """Mean over topics and runs."""
        return float(self.similarity.mean())


def stability(runs: Sequence[ArrayLike], reference: int = 0) -> Stability:
    """Compare the topics of one run with those of others that differ in the seed.

    `runs`: shapes (K_r, V); distributions of each run's topics over the same vocabulary; at least two runs.
    `reference`: the run whose topics are judged.
    Raises ParameterError: there are fewer than two runs, or no run `reference`.
    """
    if len(runs) < 2:
        raise ParameterError(f"Stability needs at least two runs, not {len(runs)}.")
    if not 0 <= reference < len(runs):
        raise ParameterError(f"The reference must be a run from 0 to {len(runs) - 1}, not {reference}.")
    similarity, partner = [], []
    for number, run in enumerate(runs):
        if number == reference:
            continue
        pairs = align_topics(runs[reference], run)
        row = np.zeros(len(pairs.distances))
        row[pairs.one] = 1.0 - pairs.distance
        mate = np.full(len(row), -1, dtype=np.int64)
        mate[pairs.one] = pairs.other
        similarity.append(row)
        partner.append(mate)
    return Stability(np.array(similarity), np.array(partner))
