"""Ordering, dropping, merging and splitting clusters, and what that does to the lower bound and to runs."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.special import xlogy

from acvb_core.core.protocols import no_poll
from acvb_core.data.relation import Relation
from acvb_core.engine.fitting import fit
from acvb_core.engine.history import SweepRecord
from acvb_core.engine.prepared import PreparedRun, prepare_run
from acvb_core.models.irm import moves
from acvb_core.models.irm.moves import MOVES, MoveMemory, Moves, merge_clusters
from acvb_core.models.irm.spec import MOVES_EVERY, MOVES_FROM, MOVES_UNTIL
from acvb_core.models.irm.state import IrmState, lower_bound, tidy
from tests.loops import for_each
from tests.models.irm.adapters import counted
from tests.models.irm.moves.adapters import (
    RELATIONS,
    check_counts,
    small_relation,
    state_with,
    two_domains,
    with_prior_per_block,
)
from tests.oracles.dense_network import merged as merge_densely


@for_each("seed", range(2))
def test_merging_raises_the_bound_and_leaves_no_gain_behind(seed: int) -> None:
    """From true clusters that are cut in two."""
    relation, truth = two_domains(seed, 60, 50, 2, beta=(0.3, 0.3))
    rng = np.random.default_rng(seed)
    state = state_with(
        relation, {d: 2 * labels + rng.integers(2, size=len(labels)) for d, labels in truth.items()}
    )
    merged, count = merge_clusters(state)
    assert count >= 1
    assert merged.ones.shape[0] + merged.ones.shape[1] == 8 - count
    sorted_again, _ = tidy(merged, relation, 0.0)
    assert lower_bound(sorted_again) > lower_bound(state)
    check_counts(merged, relation)
    # No pair is left whose merge would gain, by trying each.
    for domain, own in sorted_again.q.items():
        for k, other in combinations(range(own.shape[1]), 2):
            joined = counted(relation, sorted_again.q | {domain: merge_densely(own, k, other)}, state.hyper)
            assert lower_bound(tidy(joined, relation, 0.0)[0]) <= lower_bound(sorted_again) + 2e-6


@pytest.mark.parametrize("kind", RELATIONS)
@pytest.mark.parametrize(("per_block", "largest_first"), [(False, True), (True, False)])
def test_gain_of_a_merge_is_what_the_bound_gains(
    kind: str, per_block: bool, largest_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of every pair, whether the kernels are called for some clusters at a time or for all."""
    relation, truth = small_relation(kind, 0, missing=0.1)
    state = state_with(relation, truth, sure=0.8)
    if per_block:
        state = with_prior_per_block(state)
    for domain, q in state.q.items():
        gains = moves.weigh_merges(state, domain, largest_first, no_poll)
        for k, other in combinations(range(q.shape[1]), 2):
            after = moves._merge_pair(state, domain, k, other)
            if largest_first:
                after, _ = tidy(after, relation, 0.0)
            lost = xlogy(after.q[domain], after.q[domain]).sum() - xlogy(q, q).sum()
            gained = lower_bound(after) - lower_bound(state) + lost
            assert gains[k, other] == pytest.approx(gained, abs=1e-6)
        monkeypatch.setattr(moves, "_TERMS", 1)
        one_by_one = moves.weigh_merges(state, domain, largest_first, no_poll)
        np.testing.assert_array_equal(one_by_one, gains)


@pytest.mark.parametrize(
    ("kind", "method", "hyper"),
    [
        *zip(
            RELATIONS,
            ["cvb0", "vb", "cvb", "cvb0", "vb"],
            ["tied", "fixed", "per-block", "tied", "tied"],
            strict=True,
        ),
        (RELATIONS[-1], "acvb0", "per-block"),
    ],
)
def test_no_move_of_a_whole_run_lowers_the_bound(
    kind: str, method: str, hyper: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From few clusters and from many; and what is left is whole: counts, rows, order."""
    record: list[tuple[IrmState, IrmState, dict[str, int], Relation]] = []
    real = Moves.after

    def after(self: Moves, state: IrmState, algorithm: Any, *rest: Any) -> tuple[IrmState, dict[str, int]]:
        new, made = real(self, state, algorithm, *rest)
        if made:
            record.append((state, new, made, algorithm.relation))
        return new, made

    monkeypatch.setattr(Moves, "after", after)
    for seed, k, alpha in ((2, 2, 1.0), (4, 12, 5.0), (5, 12, 1.0)):
        relation, truth = small_relation(kind, seed, missing=0.15 * (seed % 2))
        sizes = {f"k_{domain}": k for domain in truth}
        fit(relation, method, **sizes, alpha=alpha, hyper=hyper, init="spectral", max_sweeps=35)
    assert record
    for before, new, made, relation in record:
        assert lower_bound(new) - lower_bound(before) > -1e-8
        assert set(made) <= {"merged", "split"}
        assert min(made.values()) >= 1
        check_counts(new, relation)
        assert method == "vb" or all((np.diff(q.sum(axis=0)) <= 1e-9).all() for q in new.q.values())


def small_run(method: str, kind: str = "undirected", **values: Any) -> PreparedRun:
    relation, truth = small_relation(kind, 1)
    return prepare_run(
        relation, method, {f"k_{domain}": 12 for domain in truth} | {"init": "spectral"} | values
    )


def inner(snapshot: SweepRecord) -> IrmState:
    return getattr(snapshot.state, "inner", snapshot.state)


@pytest.mark.parametrize(("method", "kind"), [("acvb0", "undirected"), ("vb", "two domains")])
def test_what_sweeps_tell_of_moves(method: str, kind: str) -> None:
    """When they are tried, what was made, that the order says nothing then, and that a run waits for them."""
    algorithm: Any = small_run(method, kind, **({"burn_in": 3} if method[0] == "a" else {})).algorithm
    state = algorithm.init(np.random.default_rng([0, 0]))
    tried, since, samples = [], 0, 0
    for sweep in range(1, 60):
        before = getattr(state, "inner", state)
        state, info = algorithm.sweep(state, np.random.default_rng([0, sweep]))
        now = getattr(state, "inner", state)
        passed_over = now.active is not None and not now.active.is_whole
        assert info.not_stationary == (now.moves is not None or passed_over)
        if now.moves is None or before.moves is None or now.moves.due != before.moves.due:
            tried.append(sweep)
        widths = [sum(q.shape[1] for q in s.q.values()) for s in (before, now)]
        if info.moves is not None:
            assert info.cluster_permutation is None
            assert sweep == tried[-1]
            assert sum(info.moves.values()) > 0
            assert widths[0] != widths[1] or "split" in info.moves
        if method[0] == "a":
            # An average begins again after a move, and with the first sweep that has fewer clusters.
            since = 0 if info.moves else since + 1
            samples = 0 if since <= 3 else 1 if widths[0] != widths[1] else samples + 1
            assert (state.sweeps, state.samples) == (since, samples)
        if now.moves is None:
            break
    assert tried == list(range(MOVES_FROM, tried[-1] + 1, MOVES_EVERY))
    assert len(tried) >= 3  # some that made moves, and two without success


def test_moves_are_over_after_two_attempts_without_success_one_after_a_chain_or_many_sweeps() -> None:
    relation, truth = small_relation("undirected", 0)
    method: Any = prepare_run(relation, "cvb0", {"k_rows": 6}).algorithm
    state = replace(state_with(relation, truth, sure=1.0), age=15, moves=MoveMemory())
    rng = np.random.default_rng(0)
    early, made = MOVES.after(replace(state, age=14), method, rng, no_poll)
    assert early.moves == state.moves
    once, made = MOVES.after(state, method, rng, no_poll)
    assert not made
    assert once.moves.last_look
    assert once.moves.due == 20
    assert len(once.moves.rejected) > 0
    twice, made = MOVES.after(replace(once, age=20), method, rng, no_poll)
    assert not made
    assert twice.moves is None
    assert MOVES.after(replace(state, samples={}), method, rng, no_poll)[0].moves is None  # after a chain
    assert MOVES.after(replace(state, age=MOVES_UNTIL), method, rng, no_poll)[0].moves is None
    assert MOVES.after(replace(twice, age=25), method, rng, no_poll) == (replace(twice, age=25), {})
