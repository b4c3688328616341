"""Ordering, dropping and merging clusters, and what they do to the lower bound."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from acvb_core.data.synthetic import planted
from acvb_core.engine.fitting import fit
from acvb_core.evaluate.agreement import agreement
from acvb_core.irm.merge import merge_clusters
from acvb_core.irm.moves import MOVES_UNTIL
from acvb_core.irm.state import IrmState, block_counts, lower_bound, tidy
from tests.irm.adapters import counted, hyper_of, relation_of, state_of
from tests.reference.cases import random_case


def split_state(seed: int) -> tuple[IrmState, object]:
    """Return a state with true clusters cut in two, and its relation."""
    truth = planted(60, 50, 2, 2, seed, beta=(0.3, 0.3))
    rng = np.random.default_rng(seed)
    rows = 2 * truth.row_clusters + rng.integers(2, size=60)
    cols = 2 * truth.column_clusters + rng.integers(2, size=50)
    q1, q2 = np.eye(4)[rows] * 0.9 + 0.025, np.eye(4)[cols] * 0.9 + 0.025
    return counted(truth.relation, {"rows": q1, "cols": q2}, hyper_of(random_case(seed))), truth.relation


@pytest.mark.parametrize("seed", range(5))
def test_merging_raises_the_bound_and_leaves_no_gain_behind(seed: int) -> None:
    state, relation = split_state(seed)
    tidied, _ = tidy(state, relation, 0.0)
    merged, count = merge_clusters(tidied)
    assert count >= 1
    assert merged.ones.shape[0] + merged.ones.shape[1] == 8 - count
    sorted_again, _ = tidy(merged, relation, 0.0)
    assert lower_bound(sorted_again) > lower_bound(tidied)
    # The counts of the merged state are those of its responsibilities.
    ones, entries = block_counts(relation, merged.q)
    np.testing.assert_allclose(merged.ones, ones, atol=1e-9)
    np.testing.assert_allclose(merged.entries, entries, atol=1e-9)
    np.testing.assert_allclose(merged.q["rows"].sum(axis=1), 1.0)
    # No pair is left whose merge would gain, by trying each.
    for domain in ("rows", "cols"):
        width = sorted_again.q[domain].shape[1]
        for k in range(width):
            for other in range(k + 1, width):
                q = sorted_again.q[domain].copy()
                q[:, k] += q[:, other]
                joined = {**sorted_again.q, domain: np.delete(q, other, axis=1)}
                tried, _ = tidy(counted(relation, joined, sorted_again.hyper), relation, 0.0)
                assert lower_bound(tried) <= lower_bound(sorted_again) + 2e-6


def test_merging_per_block_keeps_a_prior_for_each_block() -> None:
    case = random_case(3, (14, 12), (3, 3), 0.1, per_block=True)
    state = state_of(case)
    twin = np.repeat(state.q["cols"] / 2, 2, axis=1)
    a, b = (np.repeat(values, 2, axis=1) for values in (state.hyper.a, state.hyper.b))
    doubled = counted(relation_of(case.data), {**state.q, "cols": twin}, replace(state.hyper, a=a, b=b))
    merged, count = merge_clusters(doubled)
    assert count >= 3
    assert merged.hyper.a.shape == merged.ones.shape == merged.hyper.b.shape


def test_tidy_sorts_and_drops_in_every_array() -> None:
    case = random_case(4, (20, 18), (4, 3), 0.1, per_block=True)
    state = state_of(case)
    thin = state.q["rows"] * np.array([1.0, 1e-9, 1.0, 1.0])
    rows = thin / thin.sum(axis=1, keepdims=True)
    relation = relation_of(case.data)
    tidied, order = tidy(counted(relation, {**state.q, "rows": rows}, state.hyper), relation, 1e-5)
    assert order is not None
    assert 1 not in order["rows"]
    assert tidied.q["rows"].shape[1] == tidied.ones.shape[0] == tidied.hyper.a.shape[0] == 3
    assert (np.diff(tidied.q["rows"].sum(axis=0)) <= 0).all()
    np.testing.assert_allclose(tidied.ones, block_counts(relation, tidied.q)[0], atol=1e-9)
    np.testing.assert_allclose(tidied.hyper.a, state.hyper.a[order["rows"]][:, order["cols"]])


def test_tidy_with_keep_bound_never_lowers_it() -> None:
    lowered = 0
    for seed in range(40):
        case = random_case(seed, (20, 18), (4, 4), 0.1)
        state, relation = state_of(case), relation_of(case.data)
        before = lower_bound(state)
        lowered += lower_bound(tidy(state, relation, 0.0)[0]) < before - 1e-9
        assert lower_bound(tidy(state, relation, 0.0, keep_bound=True)[0]) >= before - 1e-9
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
    fit(truth.relation, "cvb0", k_rows=9, k_cols=9, tol=1e-12, max_sweeps=MOVES_UNTIL + 5,
        watch=lambda _, snapshot: flags.append(snapshot.state.moves is None))  # fmt: skip
    assert not flags[0]
    assert flags[-1]
    assert sorted(flags) == flags
