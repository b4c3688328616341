"""Objects at rest are skipped, the counts follow all the same, and only a whole sweep ends a run."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from acvb_core.core.protocols import no_poll
from acvb_core.engine.prepared import prepare_run
from acvb_core.models.irm.kernels import Limits
from acvb_core.models.irm.moves import MOVES, MoveMemory
from acvb_core.models.irm.network import NetworkPass
from acvb_core.models.irm.state import ACTIVE_CHANGE, IrmState
from acvb_core.models.irm.sweep import CoordinateSweep
from tests.loops import for_each
from tests.models.irm.adapters import counted
from tests.models.irm.moves.adapters import RELATIONS, check_counts, small_relation

CALM = {"merge": False, "split": False, "init": "spectral"}


def run_of(kind: str, method: str = "cvb0", **values: Any) -> Any:
    relation, truth = small_relation(kind, 1, missing=0.1)
    return prepare_run(relation, method, CALM | {f"k_{domain}": 6 for domain in truth} | values)


def sweeps_of(algorithm: Any, n: int, **changes: Any) -> list[IrmState]:
    states = [replace(algorithm.init(np.random.default_rng(0)), **changes)]
    for sweep in range(n):
        states.append(algorithm.sweep(states[-1], np.random.default_rng(sweep))[0])
    return states


@for_each("kind, order", list(product(RELATIONS, ["cvb0", "cvb"])))
def test_only_active_objects_are_updated_between_whole_sweeps(kind: str, order: str) -> None:
    prepared = run_of(kind, order)
    states = sweeps_of(prepared.algorithm, 12)
    skipped = 0
    for sweep, (before, after) in enumerate(zip(states, states[1:], strict=False)):
        assert after.active is not None
        assert after.active.is_whole == (sweep % 4 == 0)
        check_counts(after, prepared.train)
        for domain, q in after.q.items():
            width = before.q[domain].shape[1]
            if q.shape[1] != width or (np.diff(before.masses[domain]) > 0).any():
                continue
            kept = np.array_equal(q.sum(axis=0), np.sort(q.sum(axis=0))[::-1])
            same = (np.sort(q, axis=1) == np.sort(before.q[domain], axis=1)).all(axis=1)
            if after.active.is_whole or not kept:
                continue
            calm = before.active.moved[domain] < ACTIVE_CHANGE
            assert same[calm].all()
            skipped += int(calm.sum())
            assert not same[~calm].all() or not (~calm).any()
        if not after.active.is_whole:
            assert after.active.pseudo_loo == states[sweep].active.pseudo_loo
    assert skipped > 0


@for_each("kind", RELATIONS)
def test_partial_sweeps_keep_an_object_within_its_clusters(kind: str) -> None:
    """Its share of them is divided as all of it would be; an object of a single cluster is left alone."""
    state = sweeps_of(run_of(kind).algorithm, 3)[-1]
    relation = run_of(kind).train
    domain = state.layout.domains[0]
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.full(state.q[domain].shape[1], 0.3), len(state.q[domain]))
    q[0] = np.eye(q.shape[1])[1]
    state = counted(relation, {**state.q, domain: q}, state.hyper)
    for i in range(8):
        found = {}
        for least in (-1.0, 0.05):
            part = sweep_of(relation, state)
            limits = {"least": least} if state.layout.one_domain else {"limits": Limits(least)}
            part.run("zeroth", np.array([i]), **limits)
            found[least] = part.own if hasattr(part, "own") else part.q
        plausible = q[i] > 0.05
        expected = np.where(plausible, found[-1.0][i], q[i])
        expected[plausible] *= q[i][plausible].sum() / found[-1.0][i][plausible].sum()
        np.testing.assert_allclose(found[0.05][i], q[i] if plausible.sum() == 1 else expected, atol=1e-12)
        np.testing.assert_array_equal(np.delete(found[0.05], i, axis=0), np.delete(q, i, axis=0))


@for_each("kind, when", list(product(RELATIONS, ["moves over", "moves to come", "no moves"])))
def test_objects_stay_within_their_clusters_only_after_the_moves(kind: str, when: str) -> None:
    algorithm = run_of(kind).algorithm
    state = sweeps_of(algorithm, 5)[-1]
    if when != "no moves":
        algorithm = replace(algorithm, moves=MOVES)
    domain = state.layout.domains[-1]
    q = state.q[domain].copy()
    q[:, 0] += q[:, -1] - 1e-7
    q[:, -1] = 1e-7
    moved = {name: np.ones(len(values)) for name, values in state.active.moved.items()}
    state = replace(
        counted(algorithm.relation, {**state.q, domain: q}, state.hyper),
        moves=MoveMemory() if when == "moves to come" else None,
        active=replace(state.active, moved=moved, sweeps=0),
    )
    after, _ = algorithm.update(state, np.random.default_rng(0), no_poll)
    assert (after.q[domain][:, -1] == 1e-7).all() == (when == "moves over")


def sweep_of(relation: Any, state: IrmState) -> CoordinateSweep | NetworkPass:
    """Return a sweep over the first domain's objects."""
    if state.layout.one_domain:
        return NetworkPass(relation, state)
    rows, cols = (state.q[domain].copy() for domain in state.layout.axes)
    return CoordinateSweep(
        relation, rows, cols, *state.hyper.blocks(state.ones.shape), state.hyper.alpha["rows"]
    )
