"""Runs that were not over when the process ended: found again, continued, and extended."""

from __future__ import annotations

import shutil
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acvb_core.core.errors import AcvbError
from acvb_core.data.relation import Relation
from acvb_core.engine.executor import Executor, Status
from acvb_core.engine.history import History
from acvb_core.engine.job import Job
from acvb_core.engine.prepared import PreparedRun, prepare_run
from acvb_core.engine.result import Result
from acvb_core.engine.run import CheckpointWriter, RunState, run
from acvb_core.store.files import StoreError
from acvb_core.store.jobs import JobManager
from acvb_core.store.results import UnfinishedRun
from acvb_core.store.runs import RunStore
from acvb_core.store.states import decode_state, encode_state
from benchmarks.kill_runs import end_of, kill_and_continue, uninterrupted
from tests.contract.cases import through_a_file
from tests.loops import for_each

SECONDS = 300


@pytest.fixture
def prepared() -> PreparedRun:
    relation = Relation.build(np.random.default_rng(5).random((30, 20)) < 0.3)
    values = {"k_rows": 4, "k_cols": 4, "max_sweeps": 60, "tol": 1e-12, "hyper": "fixed", "init": "random"}
    return prepare_run(relation, "acvb0", values, heldout=0.1)


def shortened(prepared: PreparedRun, sweeps: int) -> PreparedRun:
    values = {**prepared.spec.values, "max_sweeps": sweeps}
    return replace(prepared, spec=replace(prepared.spec, values=values))


def finish(job: Job) -> Any:
    assert job.wait(SECONDS)
    return end_of(job)


class Held:
    """Lets a run continue to a sweep and holds it there until the block is over."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, sweep: int) -> None:
        self.reached, self.release = threading.Event(), threading.Event()
        first = CheckpointWriter.on_state
        held = self

        def keep_and_hold(this: CheckpointWriter, update: RunState) -> None:
            held.sweeps += 1
            if held.sweeps == sweep:
                this.on_hold()
                held.reached.set()
                assert held.release.wait(SECONDS)
            else:
                first(this, update)

        self.sweeps = 0
        monkeypatch.setattr(CheckpointWriter, "on_state", keep_and_hold)


@pytest.mark.whole_chain
def test_runs_survive_a_kill_and_end_with_the_same_bits(tmp_path: Path) -> None:
    """Killed when the last has been added: the first are over by then, others are under way or wait."""
    wanted = uninterrupted()
    found = kill_and_continue(tmp_path, 0.0, wanted)
    assert found.lost == []
    assert found.different == []
    assert found.finished + found.interrupted == len(wanted)
    assert found.interrupted


def test_an_interrupted_run_shows_its_last_state_and_continues(
    prepared: PreparedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = finish(Job(prepared, Executor(1)).start())
    with monkeypatch.context() as patch:
        held = Held(patch, 17)
        book = JobManager(Executor(1), RunStore(tmp_path))
        job, queued = book.add("mine", prepared), book.add("mine", prepared)
        assert held.reached.wait(SECONDS)
        found, waiting = JobManager(Executor(1), RunStore(tmp_path)).jobs("mine")
        assert (found.outline.sweep, waiting.outline.sweep) == (17, None)
        seen = found.inspect()
        assert waiting.inspect().snapshot is None
        held.release.set()
        assert job.wait(SECONDS)
        assert queued.wait(SECONDS)
    assert (seen.status, seen.verdict) == (Status.INTERRUPTED, None)
    assert seen.snapshot is not None
    assert seen.snapshot.sweep == len(seen.history) == 17
    assert not found.can_extend
    found.continue_run()
    waiting.continue_run()
    assert finish(found) == finish(waiting) == finish(job) == wanted
    with pytest.raises(ValueError, match="interrupted"):
        found.continue_run()


def test_a_stored_run_is_extended_as_if_it_had_never_left(prepared: PreparedRun, tmp_path: Path) -> None:
    short, own, other = shortened(prepared, 20), tmp_path / "own", tmp_path / "other"
    book = JobManager(Executor(1), RunStore(own))
    job = book.add("mine", short)
    assert job.wait(SECONDS)
    assert book.close(SECONDS)
    assert job.inspect().snapshot.state is None  # type: ignore[union-attr] - it is in the store
    shutil.copytree(own, other)  # both run at once, and each writes what it has to its own store
    (again,) = JobManager(Executor(1), RunStore(other)).jobs("mine")
    for one in (job, again):
        assert one.can_extend
        one.extend(40)
    whole = Job(prepared, Executor(1)).start()
    assert finish(again)[3:] == finish(job)[3:] == finish(whole)[3:]
    assert excerpts_of(again) == excerpts_of(job) == excerpts_of(whole)


def excerpts_of(job: Job) -> dict[int, dict[str, list[int]]]:
    kept = job.history.excerpts.items()
    return {sweep: {name: array.tolist() for name, array in one.items()} for sweep, one in kept}


def test_a_run_that_failed_or_was_stopped_before_a_sweep_leaves_nothing(
    prepared: PreparedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = RunStore(tmp_path)
    book = JobManager(Executor(1), store)

    def fail(*_: Any, **__: Any) -> None:
        assert len(store.runs("mine")) == 1
        raise AcvbError("no")

    monkeypatch.setattr("acvb_core.engine.executor.run", fail)
    job = book.add("mine", prepared)
    assert job.wait(SECONDS)
    assert job.inspect().status is Status.FAILED
    assert book.close(SECONDS)
    assert store.runs("mine") == []


def damage_state(path: Path) -> None:
    whole = bytearray(path.read_bytes())
    whole[whole.rindex(b"state_0.npy", 0, len(whole) // 2) + 300] ^= 255
    path.write_bytes(whole)


def test_an_interrupted_run_with_a_damaged_state_starts_again_on_request(
    prepared: PreparedRun, tmp_path: Path
) -> None:
    store = RunStore(tmp_path)
    *_, last = run(prepared, max_sweeps=3)
    history = History()
    history.append(last)
    state = RunState(prepared=prepared, history=history, max_sweeps=60, snapshot=replace(last, verdict=None))
    store.save("mine", "a", 1.0, Result(state))
    damage_state(tmp_path / "runs" / "a.npz")
    (job,) = JobManager(Executor(1), store).jobs("mine")
    with pytest.raises(AcvbError, match=r"a\.npz is damaged.*Continue it again to start from the beginning"):
        job.continue_run()
    assert job.inspect().snapshot.sweep == 3  # type: ignore[union-attr]
    job.continue_run()
    assert finish(job) == finish(Job(prepared, Executor(1)).start())


def test_a_full_disk_costs_the_state_and_not_the_answer(
    prepared: PreparedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = RunStore.save

    def save_little(this: RunStore, *arguments: Any, state: bool = True) -> None:
        record = arguments[-1]
        if state and isinstance(record, Result) and record.snapshot.state is not None:
            raise StoreError("no space left")
        save(this, *arguments, state=state)

    monkeypatch.setattr(RunStore, "save", save_little)
    book = JobManager(Executor(1), RunStore(tmp_path))
    job = book.add("mine", shortened(prepared, 5))
    assert job.wait(SECONDS)
    assert book.close(SECONDS)
    assert book.unsaved_runs("mine") == {}
    assert job.can_extend  # its state stays in memory
    (again,) = JobManager(Executor(1), RunStore(tmp_path)).jobs("mine")
    assert end_of(again) == end_of(job)
    assert not again.can_extend


@dataclass(frozen=True)
class Odd:
    """A state with everything that a state may have."""

    one: np.ndarray
    same: np.ndarray
    scalar: np.float32
    words: dict[str, Any]
    missing: None = None


def test_a_state_comes_back_with_its_kinds_and_what_it_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acvb_core.store.states._PACKAGE", "tests.")
    array = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    words = {"nan": float("nan"), "pair": (1, [2.5, None]), "set": frozenset({(1, 2)}), "text": "\ud83d"}
    back = through_a_file(Odd(array, array, np.float32(0.1), words))
    assert type(back) is Odd
    assert back.one is back.same
    assert back.one.flags.f_contiguous
    assert np.array_equal(back.one, array)
    assert (type(back.scalar), back.scalar) == (np.float32, np.float32(0.1))
    assert np.isnan(back.words.pop("nan"))
    assert back.words == {name: value for name, value in words.items() if name != "nan"}


@dataclass
class Grown:
    first: int
    later: float = 2.5
    last: int = 3


def test_a_part_that_came_after_a_state_was_stored_has_its_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acvb_core.store.states._PACKAGE", "tests.")
    (kind, name, parts), arrays = encode_state(Grown(1, 7.0, 4))
    before = [part for part in parts if part[0] != "later"]
    assert decode_state([kind, name, before], arrays) == Grown(1, 2.5, 4)
    with pytest.raises(ValueError, match="this version has first, later, last"):
        decode_state([kind, name, [*parts, ["gone", 1]]], arrays)
    with pytest.raises(ValueError, match="this version has first, later, last"):
        decode_state([kind, name, parts[1:]], arrays)


@for_each(
    "tree, fault",
    [
        (["object", "os:_wrap_close", []], "no class of a state"),
        (["object", "acvb_core.store.states:import_module", []], "no class of a state"),
        (
            ["object", "acvb_core.models.irm.gibbs:GibbsState", [["labels", 1]]],
            "this version has labels, hyper",
        ),
        ({"a": 1}, "no value of a state"),
    ],
)
def test_a_state_makes_only_what_a_state_has(tree: Any, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        decode_state(tree, {})


def test_the_run_of_a_folder_is_not_taken_for_another(prepared: PreparedRun, tmp_path: Path) -> None:
    UnfinishedRun(tmp_path, prepared, "1").keep(next(Executor().compute(RunState.begin(prepared))))
    other_data = prepare_run(
        Relation.build(np.eye(30, 20, dtype=bool)), "acvb0", dict(prepared.spec.values), heldout=0.1
    )
    for other, version in ((prepared, "2"), (shortened(prepared, 9), "1"), (other_data, "1")):
        assert UnfinishedRun(tmp_path, other, version).read() is None
    assert UnfinishedRun(tmp_path, prepared, "1").read() is not None
