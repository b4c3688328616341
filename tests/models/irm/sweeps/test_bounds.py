"""Bounds of cluster weights lie above the weights and near them, and leave the answers of a sweep as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import betaln

from acvb_core.core.parallel import use_threads
from acvb_core.models.irm import sweep as domain
from acvb_core.models.irm.kernels import (
    Bounds,
    Floats,
    Limits,
    bound_weights,
    make_scratch,
    zeroth_order,
)
from acvb_core.models.irm.state import block_counts
from acvb_core.models.irm.sweep import CoordinateSweep, make_bounds, place_nodes
from tests.loops import for_each
from tests.models.irm.adapters import method_of, oracle_sweep, relation_of, state_of
from tests.models.irm.test_against_dense import in_state_order
from tests.oracles.cases import Case, random_case

CASES = {
    "complete": {"seed": 1, "shape": (60, 50), "sizes": (8, 6), "missing": 0.0},
    "mostly missing": {"seed": 3, "shape": (60, 400), "sizes": (7, 3), "missing": 0.9},
    "hard": {"seed": 4, "shape": (60, 50), "sizes": (8, 6), "missing": 0.2, "hard": True},
    "decided": {"seed": 5, "shape": (80, 90), "sizes": (6, 6), "missing": 0.1, "decided": True},
    "empty": {"seed": 5, "shape": (80, 200), "sizes": (6, 6), "missing": 0.0, "decided": True, "empty": True},
    "spread": {"seed": 7, "shape": (60, 90), "sizes": (8, 7), "missing": 0.4, "hard": True, "spread": 0.2},
}


def case_of(spread: float = 0.0, empty: bool = False, **options: Any) -> Case:
    """Return a case in which a share of every column object is spread over all clusters, as a start does.

    `empty`: the first cluster of rows has one object alone, which returns to its own.
    """
    case = random_case(**options)
    if empty:
        q1 = np.hstack([np.zeros((len(case.q1), 1)), case.q1])
        q1[np.argmax(case.q1[:, 0] == 1.0)] = np.eye(q1.shape[1])[0]
        case = case._replace(q1=q1, a=20.0, b=20.0)  # it then expects links for half of all entries
    return case._replace(q2=(1.0 - spread) * case.q2 + spread / case.sizes[1])


def pass_of(case: Case) -> CoordinateSweep:
    """Return a pass over the rows of a case."""
    state = state_of(case)
    rows, cols = (state.q[side].copy() for side in ("rows", "cols"))
    a, b = state.hyper.blocks(state.ones.shape)
    return CoordinateSweep(relation_of(case.data), rows, cols, a, b, state.hyper.alpha["rows"])


def tables_of(rows: CoordinateSweep) -> Bounds:
    """Return the tables for the blocks of a pass."""
    nodes = place_nodes(rows.sums, rows.sizes, rows.blocks, len(rows.own))
    return make_bounds(rows.blocks, rows.sizes, nodes)


def sweep_of(own: Floats, links: Floats, size: float) -> CoordinateSweep:
    """Return a sweep over objects with these links; their other entries up to `size` are zeros."""
    prior = np.full((own.shape[1], links.shape[1]), 0.3)
    return CoordinateSweep.of_sums(own.copy(), links, size - links, prior, prior, 1.0, False)


def excess(rows: CoordinateSweep, bounds: Bounds) -> Floats:
    """Return how far bounds lie above the log probabilities that the clusters give to objects, at most 100 of them."""
    ones, zeros, mass, _ = rows.blocks
    out, above = np.empty(len(mass), np.float32), []
    for plus, minus in zip(*(each[:100] for each in rows.sums), strict=True):
        bound_weights(plus, minus, bounds, out)
        above.append(out - (betaln(ones + plus, zeros + minus) - betaln(ones, zeros)).sum(axis=1))
    return np.array(above)


@for_each("options", CASES)
def test_a_bound_lies_above_the_weight_and_near_it(options: dict[str, Any]) -> None:
    rows = pass_of(case_of(**options))
    above = excess(rows, tables_of(rows))
    assert above.min() > -1e-4
    assert np.median(above) < 3.0


@for_each("n_objects", [60, 1800])
def test_bounds_stay_above_while_objects_move_and_tables_are_not_made_again(n_objects: int) -> None:
    """The numbers of links are nodes, and nothing is missing, so the bounds begin near the weights."""
    rng = np.random.default_rng(0)
    links = rng.choice([0.0, 1.0, 4.0, 16.0], (n_objects, 3), p=[0.4, 0.2, 0.2, 0.2])
    own = np.eye(6)[rng.integers(0, 6, n_objects)]
    rows = sweep_of(own, links, 16.0)
    bounds = tables_of(rows)
    assert excess(rows, bounds).min() < 0.2
    scratch, limits = make_scratch(*rows.blocks.ones.shape), Limits(tolerance=np.inf)
    for some in np.array_split(np.arange(n_objects), 60):
        zeroth_order(some, rows.own, rows.sums, rows.blocks, bounds, scratch, 1.0, True, limits)
        assert excess(rows, bounds).min() > -1e-4
    assert np.abs(rows.own - own).sum() > n_objects / 5


@for_each("seed", range(10))
def test_a_sweep_in_which_most_objects_move_equals_one_without_bounds(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(seed)
    links = rng.binomial(1000, rng.beta(0.3, 0.3, (6, 3))[rng.integers(0, 6, 60)]).astype(float)
    own = np.eye(6)[rng.integers(0, 6, 60)]
    bounded, every = sweep_of(own, links, 1000.0), sweep_of(own, links, 1000.0)
    bounded.run("zeroth", np.arange(60))
    monkeypatch.setattr(domain, "_FEWEST_OBJECTS", 61)
    every.run("zeroth", np.arange(60))
    np.testing.assert_allclose(bounded.own, every.own, atol=1e-9)


@for_each("options", CASES)
def test_sweeps_with_bounds_equal_the_dense_ones(options: dict[str, Any]) -> None:
    case = case_of(**options)
    q1, q2, pseudo_loo = oracle_sweep(case, "zeroth", seed=3)
    assert tables_of(pass_of(case)).whole.size
    state, info = method_of(case, "zeroth").sweep(state_of(case), np.random.default_rng(3))
    np.testing.assert_allclose(state.q["rows"], in_state_order(q1), atol=1e-9)
    np.testing.assert_allclose(state.q["cols"], in_state_order(q2), atol=1e-9)
    assert info.pseudo_loo == pytest.approx(pseudo_loo, rel=1e-10)


def test_clusters_out_of_reach_get_nothing_and_the_others_share_the_object() -> None:
    case = random_case(4, (60, 50), (8, 6), 0.2, hard=True)
    n_left_out = 0
    for i in range(12):
        held, every, near = pass_of(case).own[i], pass_of(case), pass_of(case)
        for rows, limits in ((every, Limits()), (near, Limits(reach=0.5))):
            rows.run("zeroth", np.roll(np.arange(60), -i), limits=limits)
        got, whole = near.own[i] > 0, every.own[i]
        n_left_out += int((~got).sum())
        assert (got >= ((held > 0) | (whole > whole.max() * np.exp(-0.5)))).all()
        np.testing.assert_allclose(near.own[i][got], (whole / whole[got].sum())[got], rtol=1e-9)
    assert n_left_out > 12


@for_each("n_parts", [1, 4])
def test_parts_see_the_blocks_before_the_pass_and_their_changes_are_added(
    n_parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the number of threads, to the last bit."""
    case = random_case(2, (50, 60), (6, 9), 0.3)
    objects = np.random.default_rng(1).permutation(50)
    total, expected = 0.0, pass_of(case).own
    for some in np.array_split(objects, n_parts):
        alone = pass_of(case)
        total += alone.run("zeroth", some)
        expected[some] = alone.own[some]
    monkeypatch.setattr(domain, "LARGE", 0)
    monkeypatch.setattr(domain, "_PARTS_FROM", 1)
    monkeypatch.setattr(domain, "PARTS", n_parts)
    monkeypatch.setattr(domain, "chunk_length", lambda *_: 5)
    ends = []
    for threads in (1, 3):
        together = pass_of(case)
        with use_threads(threads):
            loo = together.run("zeroth", objects)
        ends.append(together.own)
        assert loo == pytest.approx(total, rel=1e-12)
        np.testing.assert_allclose(together.own, expected, atol=1e-12)
        counts = block_counts(relation_of(case.data), {"rows": together.own, "cols": case.q2})
        for kept, counted in zip(together.counts(), counts, strict=True):
            np.testing.assert_allclose(kept, counted, atol=1e-9)
    assert all(np.array_equal(ends[0], other) for other in ends[1:])


def test_the_smoothing_of_the_start_leaves_the_counts_with_the_first_sweep() -> None:
    case = random_case(1, (60, 50), (8, 6), 0.1)
    method = method_of(case, "zeroth")
    state = method.init(np.random.default_rng(0))
    assert state.smoothing_mass == method.start.smoothing
    after, _ = method.sweep(state, np.random.default_rng(0))
    assert after.smoothing_mass == 0.0
    counts = block_counts(method.relation, after.q)
    np.testing.assert_allclose(after.ones, counts[0], atol=1e-9)
    np.testing.assert_allclose(after.entries, counts[1], atol=1e-9)
