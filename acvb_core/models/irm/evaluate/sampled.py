"""Link probabilities as the mean of what the samples of a chain predict (`chain`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.protocols import Posterior
from acvb_core.core.special import OPTIONS
from acvb_core.evaluate.heldout import LinkScore
from acvb_core.models.irm.evaluate.sides import sides
from acvb_core.models.irm.gibbs.chain import LABELS, STRENGTHS
from acvb_core.models.irm.kernels import Floats

_AT_ONCE = 20_000_000  # probabilities of single samples that one call of a kernel adds up: some 20 ms


def count_samples(posterior: Posterior) -> int:
    """Return how many samples a posterior has."""
    return len(posterior[STRENGTHS]) if STRENGTHS in posterior.arrays else 0


def prefer_average(posterior: Posterior, score: LinkScore | None) -> bool:
    """Return whether to predict links by the mean of the samples: if there are some, and they predict no worse.

    `score`: held-out scores of the run; without any the samples are taken, as they predict better on most data.
    """
    if not count_samples(posterior):
        return False
    return score is None or not score.averaged_log_likelihood < score.log_likelihood


@dataclass(frozen=True)
class SampledPairs:
    """The mean over samples of the probability of any pair to be linked."""

    rows: NDArray[Any]  #: shape (S, N1); cluster of each row object in each sample
    columns: NDArray[Any]  #: shape (S, N2)
    strengths: NDArray[np.float32]  #: shape (S, K, L); link probability of each block in each sample

    @classmethod
    def of_posterior(cls, posterior: Posterior) -> SampledPairs:
        """Return the samples of a posterior that has some."""
        rows, columns = (posterior[LABELS.format(domain)] for domain in sides(posterior))
        return cls(rows, columns, posterior[STRENGTHS])

    def of(self, rows: NDArray[Any], columns: NDArray[Any]) -> Floats:
        """Return the probability of single pairs, shape (n,)."""
        # One type of places, for which the kernel is compiled once.
        rows, columns = rows.astype(np.int64), columns.astype(np.int64)
        out = np.zeros(len(rows))
        step = max(1, _AT_ONCE // len(self.strengths))
        for begin in range(0, len(out), step):
            part = slice(begin, begin + step)
            _add_pairs(self.rows, self.columns, self.strengths, rows[part], columns[part], out[part])
        return out / len(self.strengths)

    def band(self, begin: int, end: int, first_column: int) -> Floats:
        """Return the probabilities of rows begin … end - 1 with the columns from `first_column` on."""
        columns = np.ascontiguousarray(self.columns[:, first_column:])
        out = np.zeros((end - begin, columns.shape[1]))
        step = max(1, _AT_ONCE // max(len(self.strengths) * columns.shape[1], 1))
        for at in range(begin, end, step):
            rows = np.ascontiguousarray(self.rows[:, at : min(at + step, end)])
            _add_band(rows, columns, self.strengths, out[at - begin : at - begin + rows.shape[1]])
        return out / len(self.strengths)


@nb.njit(**OPTIONS)
def _add_pairs(
    row_labels: Any, column_labels: Any, strengths: Any, rows: Any, columns: Any, out: Floats
) -> None:
    for s in range(strengths.shape[0]):
        for e in range(rows.shape[0]):
            out[e] += strengths[s, row_labels[s, rows[e]], column_labels[s, columns[e]]]


@nb.njit(**OPTIONS)
def _add_band(row_labels: Any, column_labels: Any, strengths: Any, out: Floats) -> None:
    for s in range(strengths.shape[0]):
        for i in range(out.shape[0]):
            block = strengths[s, row_labels[s, i]]
            for j in range(out.shape[1]):
                out[i, j] += block[column_labels[s, j]]
