"""The latent feature model as the engine sees it: bound, predictions, result tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from acvb_core.core.protocols import Array, Poll, Posterior, Responsibilities, no_poll
from acvb_core.core.spec import Values, WarmUp
from acvb_core.data.table import Table
from acvb_core.evaluate.heldout import CellScore, score_cells
from acvb_core.evaluate.split import HeldOut
from acvb_core.models.lfm.features import Reconstruction, measure_spread, reconstruct, result_tables
from acvb_core.models.lfm.kernels import LOG_2PI, Floats, cell_moments
from acvb_core.models.lfm.state import FEATURES

#: Products of a feature and a held-out cell that one kernel call takes.
_PIECE = 4_000_000
#: Cells of the training data whose moments are worked out at a time: there are several arrays of them.
_CELLS = 100_000


@dataclass(frozen=True, eq=False)
class LfmModel:
    """Bound, predictions and tables of any posterior of latent features on one table (a `Model`).

    Likelihoods are of cells on the standardised scale, whether the methods worked on it or not, so that those of all
    columns, methods and settings can be compared.
    """

    table: Table
    domains: tuple[str, ...] = (FEATURES,)

    def lower_bound(
        self, posterior: Posterior, responsibilities: Responsibilities | None = None
    ) -> float | None:
        """Return the method's own bound, in nats; None if it has none.

        Each method bounds something else (FAB the factorised information criterion, EM the likelihood, VB the
        evidence), so that only bounds of one method, at one number of features, can be compared.
        """
        return float(posterior["bound"][0]) if "bound" in posterior.arrays else None

    def pseudo_loo(
        self,
        posterior: Posterior,
        poll: Poll = no_poll,
        responsibilities: Responsibilities | None = None,
    ) -> float | None:
        """Return None: the model has no closed form of it."""
        return None

    def extras(
        self,
        posterior: Posterior,
        responsibilities: Responsibilities | None = None,
        pseudo_loo: float | None = None,
        lower_bound: float | None = None,
    ) -> dict[str, float]:
        """Return the mean log likelihood of a known training cell, in nats, by the formula of held-out ones."""
        return {"train_log_likelihood": self.train_log_likelihood(posterior)}

    def train_log_likelihood(self, posterior: Posterior) -> float:
        """Return the mean over known cells of log N(x; E[W z] + b, 1 / lambda + Var[W z]), in nats."""
        table, total = self.table, 0.0
        rows = max(1, _CELLS // max(table.n_columns, len(posterior["weights"])))
        for begin in range(0, table.n_rows, rows):
            some = slice(begin, begin + rows)
            truth = table.moments.apply(table.values[some])
            mean, variance = self._standardise(*self.moments(posterior, some), self._unit)
            density = np.log(variance)
            density += (truth - mean) ** 2 / variance
            total -= 0.5 * float(density[~np.isnan(truth)].sum())
        return total / table.n_observed - 0.5 * LOG_2PI

    def moments(self, posterior: Posterior, rows: slice | Array = slice(None)) -> tuple[Floats, Floats]:
        """Return mean and variance of all cells of some rows, shape (n, D), on the scale that the method worked on.

        E[W z] + b, and 1 / lambda + sum_k (mu - mu^2) w^2 + mu Var w: the moments of the predictive mixture.
        """
        mu, w = posterior["objects"][rows], posterior["weights"]
        mean = mu @ w + posterior["bias"]
        variance = (mu - mu * mu) @ (w * w) + 1.0 / posterior["precision"]
        if "weight_variance" in posterior.arrays:
            variance += mu @ posterior["weight_variance"]
        return mean, variance

    @property
    def _unit(self) -> Floats | None:
        """Standard deviation of the columns on the scale that methods work on; None if it is 1."""
        return None if self.table.standardise else self.table.moments.sd

    def predict(self, posterior: Posterior, heldout: HeldOut) -> Array:
        """Return density and mean of each held-out cell on the standardised scale, shape (n, 2).

        The predictive distribution is taken as normal with the mixture's mean and variance. Densities of cells far
        off are tiny, so they are of the widest floating type there is.
        """
        rows, columns = heldout.rows, heldout.columns
        w, bias, precision = posterior["weights"], posterior["bias"], posterior["precision"]
        spread = posterior.arrays.get("weight_variance", np.zeros_like(w))
        mean, variance = bias[columns], 1.0 / precision[columns]
        step = max(1, _PIECE // max(len(w), 1))
        objects = np.ascontiguousarray(posterior["objects"], dtype=np.float64)
        by_column = np.ascontiguousarray(w.T), np.ascontiguousarray(spread.T)
        for begin in range(0, len(rows), step):
            some = slice(begin, begin + step)
            cell_moments(rows[some], columns[some], objects, *by_column, mean[some], variance[some])
        unit = None if self._unit is None else self._unit[columns]
        mean, variance = self._standardise(mean, variance, unit)
        squares = (self._truth(heldout) - mean) ** 2
        log_density = -0.5 * (LOG_2PI + np.log(variance) + squares / variance)
        return np.stack([np.exp(log_density.astype(np.longdouble)), mean.astype(np.longdouble)], axis=1)

    @staticmethod
    def _standardise(mean: Floats, variance: Floats, unit: Floats | None) -> tuple[Floats, Floats]:
        """Return moments of the method's scale on the standardised scale."""
        return (mean, variance) if unit is None else (mean / unit, variance / unit**2)

    def _truth(self, heldout: HeldOut) -> Floats:
        """Return the held-out cells on the standardised scale, shape (n,)."""
        moments = self.table.moments
        return np.asarray((heldout.values - moments.mean[heldout.columns]) / moments.sd[heldout.columns])

    def score(self, probability: Array, heldout: HeldOut) -> CellScore:
        """Return the scores of predictions."""
        return score_cells(probability, self._truth(heldout))

    def take_excerpt(self, posterior: Posterior) -> dict[str, Array]:
        """Return which objects have which features (probability of 1/2 or more), eight objects a byte."""
        return {"objects": np.packbits(posterior["objects"] >= 0.5, axis=0)}

    def complete_posterior(self, posterior: Posterior) -> Posterior:
        """Return the posterior: there is all of it."""
        return posterior

    def tables(self, posterior: Posterior) -> dict[str, Any]:
        """Return the frames `features`, `objects`, `columns` (see `answer.result_tables`)."""
        return result_tables(self.table, posterior)

    def spread(self, posteriors: Sequence[Posterior]) -> dict[str, Any]:
        """Return how far the features of the first run depend on the run (see `measure_spread`)."""
        return measure_spread(posteriors, self.table)

    def reconstruction(self, posterior: Posterior, row: int | str) -> Reconstruction:
        """Return what the features make of one object, given by position or name (see `reconstruct`)."""
        return reconstruct(self.table, posterior, row)


def tiny_table() -> tuple[Table, Values]:
    """Return two features in four columns with some noise, and the settings of a run."""
    values = np.random.default_rng(0).normal(size=(24, 4))
    values[::2, :2] += 4.0
    values[::3, 2:] += 4.0
    return Table.build(values, name="tiny"), {"k_max": 3}


#: Features are merged and dropped within these sweeps.
CASES = {"lfm": WarmUp(tiny_table, 16)}
