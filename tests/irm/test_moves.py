"""Ordering, dropping and merging clusters, and what they do to the lower bound."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from acvb_core.data.synthetic import planted
from acvb_core.engine.fitting import fit
from acvb_core.evaluate.agreement import agreement
from acvb_core.irm.merge import merge_clusters
from acvb_core.irm.model import lower_bound
from acvb_core.irm.state import IrmState, block_counts, tidy
from acvb_core.irm.sweeping import MERGE_UNTIL
from tests.irm.adapters import relation_of, state_of
from tests.reference.cases import random_case


def bound_of(state: IrmState) -> float:
    return lower_bound(state.ones, state.entries, state.rows, state.cols, state.hyper)


def split_state(seed: int) -> tuple[IrmState, object]:
    """Return a state with true clusters cut in two, and its relation."""
    truth = planted(60, 50, 2, 2, seed, beta=(0.3, 0.3))
    rng = np.random.default_rng(seed)
    rows = 2 * truth.row_clusters + rng.integers(2, size=60)
    cols = 2 * truth.column_clusters + rng.integers(2, size=50)
    q1, q2 = np.eye(4)[rows] * 0.9 + 0.025, np.eye(4)[cols] * 0.9 + 0.025
    ones, entries = block_counts(truth.relation, q1, q2)
    case = random_case(seed)
    return replace(state_of(case), rows=q1, cols=q2, ones=ones, entries=entries), truth.relation


@pytest.mark.parametrize("seed", range(5))
def test_merging_raises_the_bound_and_leaves_no_gain_behind(seed: int) -> None:
    state, relation = split_state(seed)
    tidied, _ = tidy(state, relation, 0.0)
    merged, count = merge_clusters(tidied)
    assert count >= 1
    assert merged.ones.shape[0] + merged.ones.shape[1] == 8 - count
    sorted_again, _ = tidy(merged, relation, 0.0)
    assert bound_of(sorted_again) > bound_of(tidied)
    # The counts of the merged state are those of its responsibilities.
    ones, entries = block_counts(relation, merged.rows, merged.cols)
    np.testing.assert_allclose(merged.ones, ones, atol=1e-9)
    np.testing.assert_allclose(merged.entries, entries, atol=1e-9)
    np.testing.assert_allclose(merged.rows.sum(axis=1), 1.0)
    # No pair is left whose merge would gain, by trying each.
    for domain in ("rows", "cols"):
        width = getattr(sorted_again, domain).shape[1]
        for k in range(width):
            for other in range(k + 1, width):
                q = getattr(sorted_again, domain).copy()
                q[:, k] += q[:, other]
                tried = replace(sorted_again, **{domain: np.delete(q, other, axis=1)})
                ones, entries = block_counts(relation, tried.rows, tried.cols)
                tried, _ = tidy(replace(tried, ones=ones, entries=entries), relation, 0.0)
                assert bound_of(tried) <= bound_of(sorted_again) + 2e-6


def test_merging_per_block_keeps_a_prior_for_each_block() -> None:
    case = random_case(3, (14, 12), (3, 3), 0.1, per_block=True)
    state = state_of(case)
    twin = np.repeat(state.cols / 2, 2, axis=1)
    a, b = (np.repeat(values, 2, axis=1) for values in (state.hyper.a, state.hyper.b))
    ones, entries = block_counts(relation_of(case.data), state.rows, twin)
    doubled = replace(state, cols=twin, ones=ones, entries=entries, hyper=replace(state.hyper, a=a, b=b))
    merged, count = merge_clusters(doubled)
    assert count >= 3
    assert merged.hyper.a.shape == merged.ones.shape == merged.hyper.b.shape


def test_tidy_sorts_and_drops_in_every_array() -> None:
    case = random_case(4, (20, 18), (4, 3), 0.1, per_block=True)
    state = state_of(case)
    thin = state.rows * np.array([1.0, 1e-9, 1.0, 1.0])
    rows = thin / thin.sum(axis=1, keepdims=True)
    relation = relation_of(case.data)
    ones, entries = block_counts(relation, rows, state.cols)
    tidied, order = tidy(replace(state, rows=rows, ones=ones, entries=entries), relation, 1e-5)
    assert order is not None
    assert 1 not in order["rows"]
    assert tidied.rows.shape[1] == tidied.ones.shape[0] == tidied.hyper.a.shape[0] == 3
    assert (np.diff(tidied.rows.sum(axis=0)) <= 0).all()
    np.testing.assert_allclose(tidied.ones, block_counts(relation, tidied.rows, tidied.cols)[0], atol=1e-9)
    np.testing.assert_allclose(tidied.hyper.a, state.hyper.a[order["rows"]][:, order["cols"]])


def test_tidy_with_keep_bound_never_lowers_it() -> None:
    lowered = 0
    for seed in range(40):
        case = random_case(seed, (20, 18), (4, 4), 0.1)
        state, relation = state_of(case), relation_of(case.data)
        before = bound_of(state)
        lowered += bound_of(tidy(state, relation, 0.0)[0]) < before - 1e-9
        assert bound_of(tidy(state, relation, 0.0, keep_bound=True)[0]) >= before - 1e-9
    assert lowered  # sorting alone does lower it now and then: the option has something to do


@pytest.mark.parametrize("method", ["cvb0", "acvb0", "vb", "cvb"])
def test_merging_finds_the_planted_blocks(method: str) -> None:
    truth = planted(300, 400, 4, 5, 1)
    found = fit(truth.relation, method, k_rows=15, k_cols=15)
    assert found.snapshot.effective_k == {"rows": 4, "cols": 5}
    assert agreement(truth.row_clusters, found.labels("rows"))["ari"] == 1.0
    assert agreement(truth.column_clusters, found.labels("cols"))["ari"] == 1.0


def test_merges_end() -> None:
    """After the last attempt nothing but sweeps happens, so a run can settle."""
    truth = planted(80, 70, 3, 3, 2)
    flags = []
    fit(truth.relation, "cvb0", k_rows=9, k_cols=9, tol=1e-12, max_sweeps=MERGE_UNTIL + 5,
        watch=lambda _, snapshot: flags.append(snapshot.state.moves_over))  # fmt: skip
    assert not flags[0]
    assert flags[-1]
    assert sorted(flags) == flags
