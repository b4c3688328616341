"""Moves on trial: what only pays after some sweeps is found, and what does not pay is rejected and not tried again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from acvb_core.core.protocols import no_poll
from acvb_core.engine.history import SweepRecord
from acvb_core.engine.prepared import PreparedRun, prepare_run
from acvb_core.engine.run import StopRun, run
from acvb_core.models.irm import moves, split
from acvb_core.models.irm.moves import MoveMemory, Moves, _Trials, merge_clusters
from acvb_core.models.irm.spec import MOVES_FROM_AFTER_CHAIN
from acvb_core.models.irm.split import RejectedMoves, split_clusters
from acvb_core.models.irm.state import IrmState, lower_bound
from acvb_core.samples.planted_relations import sparse_relation
from tests.loops import for_each
from tests.models.irm.moves.adapters import check_counts, mixed_network


def sparse_case(seed: int, **values: Any) -> PreparedRun:
    """A sparse relation of 250 x 250 objects in 10 groups, two domains, from twice as many clusters."""
    return prepare_run(
        sparse_relation(seed, 250, 10, 0.04).relation,
        "cvb0",
        {"k_rows": 20, "k_cols": 20, "init": "spectral"} | values,
    )


def last_of(prepared: PreparedRun) -> SweepRecord:
    *_, last = run(prepared)
    return last


def settled(seed: int) -> tuple[Any, IrmState]:
    """Return a method and the state in which its run ends when nothing is tried that does not pay at once."""
    prepared = sparse_case(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(moves, "TRIALS", 0)
        state = last_of(prepared).state
    return prepared.algorithm, replace(state, moves=MoveMemory(due=0))


@pytest.mark.parametrize(("kind", "seed"), [("merge", 1), ("split", 4)])
def test_a_trial_pays_where_nothing_pays_at_once(kind: str, seed: int) -> None:
    method, state = settled(seed)
    allowed = Moves(merge=kind == "merge", split=kind == "split")
    # Nothing pays at once.
    assert merge_clusters(state)[1] == 0
    assert split_clusters(state, method.relation, {}, RejectedMoves(), np.random.default_rng(seed))[1] == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(moves, "TRIALS", 0)
        assert not allowed.after(state, method, np.random.default_rng(seed), no_poll)[1]
    found, made = allowed.after(state, method, np.random.default_rng(seed), no_poll)
    assert made == {"merged" if kind == "merge" else "split": 1}
    assert found.age == state.age  # its sweeps are no sweeps of the run
    swept = state
    for _ in range(5):
        swept, _, _ = method.plain_sweep(swept, np.random.default_rng(9), no_poll)
    assert lower_bound(found) > max(lower_bound(swept), lower_bound(state) + moves._TRIAL_GAIN)
    check_counts(found, method.relation)
    assert all((np.diff(mass) <= 0).all() for mass in found.masses.values())


@for_each("kind", ["merge", "split"])
def test_trials_without_success_leave_the_state_and_are_not_made_again(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    method, state = settled(3)
    sweeps: list[None] = []
    real = type(method).plain_sweep
    monkeypatch.setattr(type(method), "plain_sweep", lambda *args: sweeps.append(None) or real(*args))
    allowed = Moves(merge=kind == "merge", split=kind == "split")
    found, made = allowed.after(state, method, np.random.default_rng(0), no_poll)
    assert not made
    assert found.q is state.q
    assert found.hyper is state.hyper
    assert len(sweeps) > 5  # those of the state itself, and of something tried
    again = replace(found, moves=replace(found.moves, due=0))
    sweeps.clear()
    after, made = allowed.after(again, method, np.random.default_rng(0), no_poll)
    assert not made
    assert not sweeps or kind == "split"  # other splits may come up in another's place
    assert after.moves is None  # the second time without success


@for_each("owner, name", [(split._Side, "best_split"), (_Trials, "_run_sweeps")])
def test_a_run_stopped_inside_a_move_keeps_the_last_whole_sweep(
    owner: type, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = prepare_run(mixed_network(0)[0], "cvb0", {"k_rows": 5})
    whole = list(run(prepared, max_sweeps=60))
    entered: list[bool] = []
    real = getattr(owner, name)

    def poll() -> None:
        if entered:
            raise StopRun

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, lambda *args: entered.append(True) or real(*args))
        *_, last = run(prepared, poll=poll)
    assert str(last.verdict) == "STOPPED"
    assert MOVES_FROM_AFTER_CHAIN - 1 <= last.sweep < len(whole)
    *_, end = run(prepared, resume=last)
    assert end.sweep == len(whole)
    for found in (last, end):
        same = whole[found.sweep - 1]
        assert found.state.q["rows"].tobytes() == same.state.q["rows"].tobytes()
        assert found.state.ones.tobytes() == same.state.ones.tobytes()
        assert found.lower_bound == same.lower_bound
