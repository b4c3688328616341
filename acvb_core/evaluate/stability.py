"""The stability of topics over runs from different seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acvb_core.core.errors import ParameterError
from acvb_core.evaluate.alignment import align_topics


@dataclass(frozen=True, eq=False)
class Stability:
    """How alike the topics of one run are to their partners in other runs."""

    #: Shape (n_other_runs, K); 1 - Jensen-Shannon distance (base 2) of each topic from its partner: 1 the same, 0 no
    #: word in common, and 0 for a topic without a partner in a run of fewer topics.
    similarity: NDArray[np.float64]
    partner: NDArray[np.int64]  #: shape (n_other_runs, K); the partners (0-based), -1 where there is none

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
