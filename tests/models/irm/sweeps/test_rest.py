"""Objects at rest are passed over, the counts follow all the same, and only a whole sweep ends a run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from acvb_core.engine.problem import build_problem
from acvb_core.engine.run import run
from acvb_core.models.irm.state import IrmState, block_counts, lower_bound
from acvb_core.models.irm.sweeps.rest import AT_REST
from tests.models.irm.moves.adapters import RELATIONS, small_relation

CALM = {"merge": False, "split": False, "init": "spectral"}


def problem_of(kind: str, method: str = "cvb0", **values: Any) -> Any:
    relation, truth = small_relation(kind, 1, missing=0.1)
    return build_problem(relation, method, CALM | {f"k_{domain}": 6 for domain in truth} | values)


def sweeps_of(inference: Any, n: int, **changes: Any) -> list[IrmState]:
    states = [replace(inference.init(np.random.default_rng(0)), **changes)]
    for sweep in range(n):
        states.append(inference.sweep(states[-1], np.random.default_rng(sweep))[0])
    return states


@pytest.mark.parametrize("order", ["cvb0", "cvb"])
@pytest.mark.parametrize("kind", RELATIONS)
def test_only_restless_objects_are_updated_between_whole_sweeps(kind: str, order: str) -> None:
    problem = problem_of(kind, order)
    states = sweeps_of(problem.inference, 12)
    passed_over = 0
    for sweep, (before, after) in enumerate(zip(states, states[1:], strict=False)):
        assert after.rest is not None
        assert after.rest.is_whole == (sweep % 4 == 0)
        ones, entries = block_counts(problem.train, after.q, after.layout)
        np.testing.assert_allclose(after.ones, ones, atol=1e-8)
        np.testing.assert_allclose(after.entries, entries, atol=1e-8)
        for domain, q in after.q.items():
            width = before.q[domain].shape[1]
            if q.shape[1] != width or (np.diff(before.masses[domain]) > 0).any():
                continue
            kept = np.array_equal(q.sum(axis=0), np.sort(q.sum(axis=0))[::-1])
            same = (np.sort(q, axis=1) == np.sort(before.q[domain], axis=1)).all(axis=1)
            if after.rest.is_whole or not kept:
                continue
            calm = before.rest.moved[domain] < AT_REST
            assert same[calm].all()
            passed_over += int(calm.sum())
            assert not same[~calm].all() or not (~calm).any()
        if not after.rest.is_whole:
            assert after.rest.pseudo_loo == states[sweep].rest.pseudo_loo
    assert passed_over > 0


@pytest.mark.parametrize("kind", RELATIONS)
def test_passing_over_ends_where_updating_everybody_does(kind: str) -> None:
    inference = problem_of(kind).inference
    every = sweeps_of(inference, 40, at_rest=0.0)
    assert all(state.rest is not None and state.rest.is_whole for state in every[1:])
    some = sweeps_of(inference, 40)
    assert lower_bound(some[-1]) == pytest.approx(lower_bound(every[-1]), abs=0.5)
    assert lower_bound(some[-1]) > lower_bound(some[1]) + 1.0


@pytest.mark.parametrize("method", ["cvb0", "acvb0"])
def test_a_run_ends_in_a_whole_sweep(method: str) -> None:
    *snapshots, last = run(problem_of("undirected", method))
    assert str(last.verdict) == "CONVERGED"
    states = [getattr(snapshot.state, "inner", snapshot.state) for snapshot in (*snapshots, last)]
    assert states[-1].rest.is_whole
    assert not all(state.rest.is_whole for state in states)
