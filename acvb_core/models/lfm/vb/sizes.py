"""Variational Bayes from every number of features, the best of which answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from acvb_core.core.protocols import Poll, Posterior, SweepInfo, UnaveragedMethod, no_poll
from acvb_core.core.rows import Values
from acvb_core.models.lfm.cells import Cells
from acvb_core.models.lfm.vb.state import VbState
from acvb_core.models.lfm.vb.vb import WARM, VariationalLfm

#: The smallest number of features that is tried.
FEWEST = 2


@dataclass(frozen=True, eq=False)
class SizesState:
    """The run under way, and the best of those that are over."""

    size: int  #: features that the run under way began with
    inner: VbState
    best: VbState | None = None


@dataclass(frozen=True)
class EverySize(UnaveragedMethod):
    """VB from K = 2, ..., the largest number of features, one run after the other (an `Algorithm`).

    A run is over when its bound rises by less than `tolerance` for each object; the one with the highest bound answers
    (HF13 §4).
    """

    largest: VariationalLfm
    tolerance: float = 1e-4

    def of_size(self, size: int) -> VariationalLfm:
        """Return VB with a number of features."""
        return replace(self.largest, k_max=size)

    def init(self, rng: np.random.Generator, poll: Poll = no_poll) -> SizesState:
        """Return the start of the first run."""
        size = min(FEWEST, self.largest.prior.size)
        return SizesState(size, self.of_size(size).init(rng, poll))

    def sweep(
        self, state: SizesState, rng: np.random.Generator, poll: Poll = no_poll
    ) -> tuple[SizesState, SweepInfo]:
        """Sweep the run under way; begin the next one where it is over."""
        swept, info = self.of_size(state.size).sweep(state.inner, rng, poll)
        rise = swept.bound - state.inner.bound
        over = swept.age > WARM and not info.moves and rise < self.tolerance * self.largest.cells.n_objects
        last = state.size >= self.largest.prior.size
        info = info._replace(cluster_permutation=None, not_stationary=not (over and last))
        if not over or last:
            return replace(state, inner=swept), info
        best = swept if state.best is None or swept.bound > state.best.bound else state.best
        size = state.size + 1
        return SizesState(size, self.of_size(size).init(rng, poll), best), info._replace(moves=None)

    def posterior(self, state: SizesState) -> Posterior:
        """Return the answer of the best run so far, or of the one under way where it is better."""
        best = state.inner
        if state.best is not None and (state.inner.age <= WARM or state.best.bound > state.inner.bound):
            best = state.best
        return self.largest.posterior(best)

    def current(self, state: SizesState) -> Posterior:
        """Return the answer of the run under way."""
        return self.largest.posterior(state.inner)


def build_vb(data: Any, values: Values) -> VariationalLfm | EverySize:
    """Return VB on data, with the values of its parameters."""
    largest = VariationalLfm(Cells.of(data), values["k_max"], values["alpha"], values["noise_weight"])
    return EverySize(largest, values["tol"]) if values["sizes"] == "each" else largest
