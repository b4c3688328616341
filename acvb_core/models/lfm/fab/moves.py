"""Moves of FAB outside its fixed point: features put together, left out, or turned round."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.protocols import Checkpoint, no_checkpoint
from acvb_core.models.lfm.activations import update_activations
from acvb_core.models.lfm.cells import Cells, Floats
from acvb_core.models.lfm.state import FabState, Penalty

#: Pairs that are tried to be put together, those of the most similar weights first; features to be left out.
TRIES = 10
#: Nats for each object below the bound at which a move is given up before its E step, which gains less.
HOPELESS = 1.0
#: Nats by which one side of a feature must be better than the other to be taken for it (a Bayes factor of 20).
INDIFFERENT = 3.0


@dataclass(frozen=True, eq=False)
class Move:
    """A state with fewer features and a higher bound.

    Attributes
    ----------
    state : FabState
    kept : int array
        Old index of each feature.
    kind : "merged" or "dropped"
    """

    state: FabState
    kept: NDArray[np.int64]
    kind: str


def find_move(
    cells: Cells, state: FabState, penalty: Penalty, checkpoint: Checkpoint = no_checkpoint
) -> Move | None:
    """Return the first move found that raises the bound after one sweep at the new number of features."""
    for mu, kept, kind in _candidates(state):
        begun = replace(state, fit=replace(state.fit, weights=state.fit.weights[kept]))
        found = try_activations(cells, begun, mu, penalty, checkpoint)
        if found is not None:
            return Move(found, kept, kind)
    return None


def try_activations(
    cells: Cells, state: FabState, mu: Floats, penalty: Penalty, checkpoint: Checkpoint = no_checkpoint
) -> FabState | None:
    """Return the state one sweep after other E[z]; None where the bound does not rise, or a feature dies of it."""
    tried = state.with_activations(cells, mu, penalty, checkpoint)
    if tried.bound < state.bound - HOPELESS * cells.n_objects:
        return None
    swept, _ = update_activations(
        cells, tried.mu, tried.fit, tried.shares, penalty.slope(cells), checkpoint=checkpoint
    )
    totals = swept.sum(axis=1)
    if (totals < 1.0).any() or (totals > cells.n_objects - 1.0).any():
        return None
    tried = tried.with_activations(cells, swept, penalty, checkpoint)
    return tried if tried.bound > state.bound else None


def _candidates(state: FabState) -> Iterator[tuple[Floats, NDArray[np.int64], str]]:
    """Yield E[z] with one feature less, which features are in it, and what was done."""
    names = np.arange(state.n_features)
    for k, other, turned in _pairs(state):
        kept = names[names != other]
        at = int(np.flatnonzero(kept == k)[0])
        second = 1.0 - state.mu[other] if turned else state.mu[other]
        for joint in (np.clip(state.mu[k] + second, 0.0, 1.0), 0.5 * (state.mu[k] + second)):
            mu = state.mu[kept]
            mu[at] = joint
            yield mu, kept, "merged"
    for k in _slightest(state):
        kept = names[names != k]
        yield state.mu[kept], kept, "dropped"


def _slightest(state: FabState) -> NDArray[np.int64]:
    """Return the features that explain least: by the variance they make, in units of the noise's."""
    share = state.shares
    made = (state.fit.weights**2 * state.fit.precision).sum(axis=1) * share * (1.0 - share)
    return np.argsort(made, kind="stable")[:TRIES]


def _pairs(state: FabState) -> list[tuple[int, int, bool]]:
    """Return pairs of features, the larger first, by how alike their weights are, and whether one is turned round."""
    if state.n_features < 2:
        return []
    scaled = state.fit.weights * np.sqrt(state.fit.precision)
    inner = scaled @ scaled.T
    size = np.diag(inner)
    first, second = np.triu_indices(state.n_features, 1)
    gap = (size[first] + size[second]) - 2.0 * np.abs(inner[first, second])
    order = np.argsort(gap, kind="stable")[:TRIES]
    return [(int(first[i]), int(second[i]), bool(inner[first[i], second[i]] < 0)) for i in order]


def flip_features(
    cells: Cells, state: FabState, penalty: Penalty, checkpoint: Checkpoint = no_checkpoint
) -> tuple[FabState, int] | None:
    """Return the state with features turned round that say the same more readably, and their number; None without any.

    Objects with a feature are as well described by its absence: 1 - z, with the weights' sign changed and the weights
    in the baseline. The bound prefers the rarer side. Where that is worth less than `INDIFFERENT` nats,
    the side is taken whose weights add up to something positive.
    """
    shares = np.clip(state.shares, 1e-12, 1.0 - 1e-12)
    gain = penalty.slope(cells) * np.log(shares / (1.0 - shares))
    turned = (gain > INDIFFERENT) | ((np.abs(gain) <= INDIFFERENT) & (state.fit.weights.sum(axis=1) < 0))
    if not turned.any():
        return None
    mu = np.where(turned[:, None], 1.0 - state.mu, state.mu)
    return state.with_activations(cells, mu, penalty, checkpoint), int(turned.sum())
