"""Draws of the objects' activity, for a chain that does not take it as known."""

from __future__ import annotations

from dataclasses import dataclass

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.special import OPTIONS
from acvb_core.data.relation import CountRelation
from acvb_core.models.irm.gibbs import GibbsState
from acvb_core.models.irm.gibbs_kernels import Labels
from acvb_core.models.irm.kernels import Floats, Layout, sum_weights
from acvb_core.models.poisson.gibbs_kernels import add_exposures

#: Shape of the activities' Gamma prior. Larger and smaller ones give much the same clusters.
_SHAPE = 1.0


@dataclass(frozen=True)
class CountState(GibbsState):
    """A sample after its first sweep. The exposures of its blocks have the activities by the degrees."""

    #: The activities of row and column objects that the next clusters are drawn with, shapes (N1,), (N2,).
    activity: tuple[Floats, Floats]


def draw_activity(
    known: CountRelation,
    drawn: CountRelation,
    labels: dict[str, Labels],
    rates: Floats,
    layout: Layout,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Draw the activities of row objects, then those of column objects, given the clusters and the blocks' rates.

    `known`: the activities by degrees; the prior has their mean. `drawn`: the last draw.
    `rates`: shape (K1, K2); of an undirected network symmetric.
    """
    rows, columns = drawn.row_activity.copy(), drawn.column_activity.copy()
    first, second = (labels[domain] for domain in layout.axes)
    if layout.symmetric:
        _draw_side(known, first, first, rates, rows, rows, rng)
        return rows, rows
    _draw_side(known, first, second, rates, rows, columns, rng)
    _draw_side(known.transposed, second, first, np.ascontiguousarray(rates.T), columns, rows, rng)
    return rows, columns


def _draw_side(
    known: CountRelation,
    labels: Labels,
    others: Labels,
    rates: Floats,
    own: Floats,
    across: Floats,
    rng: np.random.Generator,
) -> None:
    """Draw the activities of row objects in place; `own` and `across` are one array for an undirected network."""
    degrees = sum_weights(known.ones, known.counts)
    is_shared = own is across
    if is_shared:
        degrees = degrees - known.self_links[:, 0]
    gammas = rng.standard_gamma(_SHAPE + degrees)
    unknown = known.missing.indptr, known.missing.indices
    _divide_gammas(
        labels, others, *unknown, rates, _SHAPE / known.row_activity.mean(), gammas, own, across, is_shared
    )


@nb.njit(**OPTIONS)
def _divide_gammas(
    labels: Labels,
    others: Labels,
    first: NDArray[np.int32],
    unknown: NDArray[np.int32],
    rates: Floats,
    prior_rate: float,
    gammas: Floats,
    own: Floats,
    across: Floats,
    is_shared: bool,
) -> None:
    """Divide each object's draw by the rate of its posterior: what it would be linked by if its activity were 1.

    The link of an object to itself is left out in an undirected network: its rate has the activity's square.
    """
    n_across = rates.shape[1]
    reach, exposures, ones = np.zeros(n_across), np.zeros(n_across), np.ones(own.shape[0])
    for j in range(others.shape[0]):
        reach[others[j]] += across[j]
    for i in range(own.shape[0]):
        if is_shared:
            reach[others[i]] -= own[i]
        add_exposures(i, i if is_shared else -1, first, unknown, ones, across, others, reach, exposures)
        rate = prior_rate
        for m in range(n_across):
            rate += rates[labels[i], m] * exposures[m]
        own[i] = gammas[i] / rate
        if is_shared:
            reach[others[i]] += own[i]
