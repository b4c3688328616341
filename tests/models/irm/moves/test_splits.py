"""Splits of clusters: where a cluster is cut, what is reckoned with, and which clusters are left alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acvb_core.core.protocols import no_poll
from acvb_core.data.relation import Relation
from acvb_core.evaluate.agreement import agreement
from acvb_core.models.irm.split import (
    RejectedMoves,
    SplitTrial,
    _Side,
    cut_in_two,
    promising_splits,
    split_clusters,
)
from acvb_core.models.irm.state import IrmState, lower_bound, tidy
from tests.loops import for_each
from tests.models.irm.adapters import counted
from tests.models.irm.moves.adapters import (
    RELATIONS,
    check_counts,
    small_relation,
    state_with,
    with_prior_per_block,
)


def pairs_joined(truth: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return labels in which groups 2 n and 2 n + 1 are one."""
    return {domain: labels // 2 for domain, labels in truth.items()}


def within(values: np.ndarray, upper: np.ndarray) -> float:
    """Return the squared distances to the means of the two groups."""
    return float(sum(((part - part.mean()) ** 2).sum() for part in (values[upper], values[~upper])))


VALUES = st.lists(st.integers(-4, 4), min_size=2, max_size=9)


@given(VALUES, st.sampled_from([1.0, 0.37, 1e-3]))
def test_cut_in_two_is_the_best_of_all_cuts(numbers: list[int], scale: float) -> None:
    """Of every division of the values in two, tried one by one; many values are the same."""
    values = np.array(numbers) * scale
    upper = cut_in_two(values)
    assert 0 < upper.sum() < len(values)
    assert values[upper].min() >= values[~upper].max()
    every = (np.arange(1, 2 ** len(values) - 1)[:, None] >> np.arange(len(values))) & 1 > 0
    best = min(within(values, tried) for tried in every)
    assert within(values, upper) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize(("kind", "seed"), [("directed", 0), ("undirected", 1), ("two domains", 1)])
def test_groups_that_were_joined_are_cut_where_they_belong(kind: str, seed: int) -> None:
    relation, truth = small_relation(kind, seed, missing=0.1 * (seed % 2))
    state = state_with(relation, pairs_joined(truth), sure=1.0)
    found, count, rejected = split_clusters(state, relation, {}, RejectedMoves(), np.random.default_rng(seed))
    check_counts(found, relation)
    assert count > 0
    assert sum(q.shape[1] for q in found.q.values()) == sum(q.shape[1] for q in state.q.values()) + count
    for domain, labels in truth.items():
        assert agreement(labels, found.q[domain].argmax(axis=1))["ari"] > 0.94
    assert lower_bound(tidy(found, relation, 0.0)[0]) > lower_bound(state)
    # Nothing is left to split except what was rejected, and that is not looked at again.
    assert split_clusters(found, relation, {}, rejected, np.random.default_rng(9))[1] == 0


@pytest.mark.parametrize("kind", RELATIONS)
@pytest.mark.parametrize(
    ("per_block", "largest_first", "alpha"), [(False, True, 4.0), (True, False, 4.0), (True, True, 0.3)]
)
def test_gain_of_a_split_is_what_the_bound_gains(
    kind: str, per_block: bool, largest_first: bool, alpha: float
) -> None:
    """Of soft states and of paying and losing splits alike; and the counts are those of the responsibilities."""
    rng = np.random.default_rng(2)
    relation, truth = small_relation(kind, 2, missing=0.15)
    state = state_with(relation, pairs_joined(truth), alpha=alpha, noise=rng)
    if per_block:
        state = with_prior_per_block(state)
    if not largest_first:
        state = tidy(state, relation, 0.0, keep_bound=True)[0]
    gains = []
    for domain in state.q:
        side = _Side(state, relation, domain, largest_first, no_poll)
        for k in range(state.q[domain].shape[1]):
            found = side.best_split(state, k, rng, no_poll)
            assert found is not None
            check_counts(found.state, relation)
            after = tidy(found.state, relation, 0.0, keep_bound=not largest_first)[0]
            gains.append(found.gain)
            assert lower_bound(after) - lower_bound(state) == pytest.approx(found.gain, abs=1e-6)
    assert max(gains) > 1.0


@for_each("kind", ["undirected", "two domains"])
def test_splits_keep_to_the_most_there_may_be(kind: str) -> None:
    relation, truth = small_relation(kind, 0)
    state = state_with(relation, {domain: 0 * labels for domain, labels in truth.items()})

    def split_thrice(limits: dict[str, int]) -> IrmState:
        found, rejected = state, RejectedMoves()
        for _ in range(3):
            found, _, rejected = split_clusters(found, relation, limits, rejected, np.random.default_rng(0))
        return found

    freely = split_thrice({})
    for most in (1, 2, 3):
        limits = dict.fromkeys(state.q, most)
        found = split_thrice(limits)
        rest = (9, -1e9, RejectedMoves(), np.random.default_rng(0))
        for tried, _, _ in promising_splits(found, relation, limits, *rest):
            assert all(q.shape[1] <= most for q in tried.q.values())
        for domain, q in found.q.items():
            assert q.shape[1] == min(most, freely.q[domain].shape[1])


@for_each("size, is_tried", [(2, True), (3, False), (5, False), (6, True)])
def test_clusters_of_three_to_five_members_are_left_alone(size: int, is_tried: bool) -> None:
    rng = np.random.default_rng(0)
    relation = Relation.build(rng.random((40 + size, 30)) < 0.5)
    labels = {"rows": np.repeat([0, 1], [40, size]), "cols": np.zeros(30, int)}
    state = state_with(relation, labels, sure=1.0)
    side = _Side(state, relation, "rows", True, no_poll)
    assert (side.best_split(state, 1, rng, no_poll) is not None) == is_tried


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Record which clusters are looked at."""
    record: list[tuple[str, int]] = []
    real = _Side.best_split

    def best_split(self: _Side, state: IrmState, k: int, *rest: Any) -> Any:
        record.append((self.domain, k))
        return real(self, state, k, *rest)

    monkeypatch.setattr(_Side, "best_split", best_split)
    return record


def test_a_rejected_cluster_is_tried_again_only_when_its_members_have_changed(
    tried: list[tuple[str, int]],
) -> None:
    relation, truth = small_relation("directed", 1)
    state = state_with(relation, truth, sure=1.0)
    width, rng = state.q["rows"].shape[1], np.random.default_rng
    _, count, rejected = split_clusters(state, relation, {}, RejectedMoves(), rng(0))
    assert count == 0
    assert len(tried) == len(rejected) == width
    largest, smallest = np.flatnonzero(state.q["rows"][:, 0] > 0.5), width - 1

    def split_after(moving: np.ndarray, target: int) -> int:
        tried.clear()
        q = state.q["rows"].copy()
        q[moving] = np.eye(width)[target]
        return split_clusters(counted(relation, {"rows": q}, state.hyper), relation, {}, rejected, rng(0))[1]

    split_after(largest[:1], 1)  # about the same members: one object of some thirty has left
    assert ("rows", 0) not in tried
    # Half of the largest cluster has left for the smallest: those two are looked at again, and no other.
    again = split_after(largest[::2], smallest)
    assert {("rows", 0), ("rows", smallest)} <= set(tried) <= {("rows", k) for k in (0, smallest, width)}
    assert again >= 1  # … and what had been joined by mistake is split


def test_splits_on_trial_are_the_least_losses_and_each_comes_once(tried: list[tuple[str, int]]) -> None:
    relation, truth = small_relation("two domains", 1)
    state = state_with(relation, truth, sure=1.0)

    def losses(n: int, worst: float) -> list[float]:
        candidates = promising_splits(
            state, relation, {}, n, worst, RejectedMoves(), np.random.default_rng(0)
        )
        return [lower_bound(tidy(one, relation, 0.0)[0]) - lower_bound(state) for one, _, _ in candidates]

    every = losses(99, -1e9)
    assert len(every) == len(tried) == sum(q.shape[1] for q in state.q.values())
    assert every == sorted(every, reverse=True)
    np.testing.assert_allclose(losses(3, -1e9), every[:3])
    np.testing.assert_allclose(losses(99, (every[2] + every[3]) / 2.0), every[:3])
    # What is rejected does not take a place.
    _, what, members = next(
        promising_splits(state, relation, {}, 1, -1e9, RejectedMoves(), np.random.default_rng(0))
    )
    known = RejectedMoves().add(what, members)
    left = [m for _, _, m in promising_splits(state, relation, {}, 3, -1e9, known, np.random.default_rng(0))]
    assert len(left) == 3
    assert not any(np.array_equal(m, members) for m in left)


def test_splits_with_equal_losses_are_tried_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    relation, truth = small_relation("two domains", 1)
    state = state_with(relation, truth, sure=1.0)
    monkeypatch.setattr(_Side, "best_split", lambda _, state, *rest: SplitTrial(-1.0, state))
    candidates = promising_splits(state, relation, {}, 2, -9.0, RejectedMoves(), np.random.default_rng(0))
    members = [members for _, _, members in candidates]
    np.testing.assert_array_equal(members, (state.q["rows"] > 0.5).T[:2])
