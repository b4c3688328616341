"""Bounds of cluster weights of counts lie above the weights and near them, and leave the answers as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln

from acvb_core.models.irm.kernels import (
    Bounds,
    Limits,
    bound_weights,
    make_scratch,
    zeroth_order,
)
from acvb_core.models.irm.sweep import CoordinateSweep, make_bounds, place_nodes
from tests.loops import for_each
from tests.models.poisson.adapters import method_of, state_of
from tests.oracles.dense_poisson import sweep, update_cvb0
from tests.oracles.poisson_cases import CountCase, random_count_case

CASES = {
    "complete": {"shape": (60, 50), "sizes": (8, 6), "missing": 0.0},
    "mostly missing": {"shape": (60, 60), "sizes": (7, 7), "missing": 0.9},
    "large counts": {"shape": (60, 50), "sizes": (8, 6), "mean": 80.0, "hard": True},
    "hubs": {"shape": (80, 90), "sizes": (6, 6), "missing": 0.1, "hard": True, "hubs": 2.0},
    "few links": {"shape": (80, 200), "sizes": (6, 6), "missing": 0.0, "mean": 0.02, "hard": True},
    "spread": {"shape": (60, 90), "sizes": (8, 7), "missing": 0.4, "hard": True, "spread": 0.2},
}


def case_of(hubs: float = 0.0, spread: float = 0.0, **options: Any) -> CountCase:
    """Return a case in which a share of every column object is spread over all clusters, as a start does.

    `hubs`: the standard deviation of a factor of the logarithm of the activity of each row object.
    """
    case = random_count_case(5, "two domains", **options)
    factors = np.exp(hubs * np.random.default_rng(1).normal(size=len(case.data.x)))
    data = case.data._replace(x=np.floor(case.data.x * factors[:, None]), t=case.data.t * factors)
    rows, columns = case.q
    return case._replace(data=data, q=(rows, (1.0 - spread) * columns + spread / case.sizes[1]))


def pass_of(case: CountCase) -> tuple[CoordinateSweep, Bounds]:
    """Return a pass over the rows of a case, and the tables for its blocks."""
    state = state_of(case)
    rows = CoordinateSweep.of_state(method_of(case, "zeroth").relation, state, 0)
    return rows, make_bounds(rows.blocks, rows.sizes, place_nodes(rows.sums, rows.sizes, rows.blocks, 99))


def excess(rows: CoordinateSweep, bounds: Bounds) -> np.ndarray:
    """Return how far the bounds lie above the log probabilities that the clusters give to the objects."""
    ones, exposures, mass, _ = rows.blocks
    out, above = np.empty(len(mass), np.float32), []
    for plus, minus in zip(*rows.sums, strict=True):
        bound_weights(plus, minus, bounds, out)
        exact = gammaln(ones + plus) - gammaln(ones) + ones * np.log(exposures)
        exact -= (ones + plus) * np.log(exposures + minus)
        above.append(out - exact.sum(axis=1))
    return np.array(above)


@for_each("options", CASES)
def test_a_bound_lies_above_the_weight_and_near_it(options: dict[str, Any]) -> None:
    rows, bounds = pass_of(case_of(**options))
    above = excess(rows, bounds)
    assert above.min() > -1e-4
    per_count = above / (1.0 + rows.sums.links.sum(axis=1)[:, None])
    assert np.median(per_count) < 0.5


@for_each("seed", range(4))
def test_bounds_stay_above_while_objects_move_and_tables_are_not_made_again(seed: int) -> None:
    """The counts are nodes and all activities are the same, so the bounds begin at the weights."""
    rng = np.random.default_rng(seed)
    links = rng.choice([0.0, 1.0, 4.0, 16.0], (60, 3), p=[0.5, 0.3, 0.15, 0.05])
    own, prior = np.eye(6)[rng.integers(0, 6, 60)], np.full((6, 3), 0.3)
    rows = CoordinateSweep.of_sums(own.copy(), links, np.full((60, 3), 2.0), prior, prior, 1.0, True)
    rows.sizes = np.full(3, 2.0)
    bounds = make_bounds(rows.blocks, rows.sizes, place_nodes(rows.sums, rows.sizes, rows.blocks, 60))
    assert excess(rows, bounds).min() < 0.1
    scratch, limits = make_scratch(*rows.blocks.ones.shape), Limits(tolerance=np.inf)
    zeroth_order(np.arange(60), rows.own, rows.sums, rows.blocks, bounds, scratch, 1.0, True, limits)
    assert np.abs(rows.own - own).sum() > 12
    assert excess(rows, bounds).min() > -1e-4


@for_each("options", CASES)
def test_sweeps_with_bounds_equal_the_dense_ones(options: dict[str, Any]) -> None:
    case = case_of(**options)
    rng = np.random.default_rng(3)
    orders = [rng.permutation(len(part)) for part in case.q]
    q, pseudo_loo = sweep(update_cvb0, case.data, case.q, orders, *case.hyper)
    state, info = method_of(case, "zeroth").sweep(state_of(case), np.random.default_rng(3))
    for found, wanted in zip(state.q.values(), q, strict=True):
        by_size = np.argsort(-wanted.sum(axis=0), kind="stable")
        np.testing.assert_allclose(found, wanted[:, by_size], atol=1e-9)
    assert info.pseudo_loo == pytest.approx(pseudo_loo, rel=1e-9)
