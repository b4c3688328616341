"""Runs that are over are in the store, and their arrays in memory only while someone looks at them."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acvb_core.data.relation import Relation
from acvb_core.engine import history
from acvb_core.engine.executor import Executor
from acvb_core.engine.prepared import PreparedRun, prepare_run
from acvb_core.engine.result import Result
from acvb_core.store import results
from acvb_core.store.jobs import JobManager
from acvb_core.store.runs import RunStore

SECONDS = 300
RUNS = 30


def some_runs(count: int) -> list[PreparedRun]:
    data = Relation.build(np.random.default_rng(5).random((12, 8)) < 0.3)
    values = {"k_rows": 2, "k_cols": 2, "max_sweeps": 2, "init": "random"}
    return [prepare_run(data, "vb", values, seed=seed) for seed in range(count)]


def finish(book: JobManager, prepared_runs: list[PreparedRun]) -> None:
    for prepared in prepared_runs:
        assert book.add("mine", prepared).wait(SECONDS)
    assert book.close(SECONDS)


def answer(result: Result) -> list[bytes]:
    history = result.history.drop(columns=["cpu_seconds", "wall_seconds", "diagnostics_seconds"])
    return [array.tobytes() for array in result.posterior.arrays.values()] + [history.to_csv().encode()]


def test_runs_that_are_over_hold_no_arrays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known: list[weakref.ref[Any]] = []
    save, decode = RunStore.save, results.decode_posterior

    def save_and_note(this: RunStore, *arguments: Any, **options: Any) -> None:
        run = arguments[-1]
        if isinstance(run, Result):
            known.extend(map(weakref.ref, run.snapshot.posterior.arrays.values()))
            known.append(weakref.ref(run.state.history._published[1]))
        save(this, *arguments, **options)

    def decode_and_note(*arguments: Any) -> Any:
        posterior = decode(*arguments)
        known.extend(map(weakref.ref, posterior.arrays.values()))
        return posterior

    monkeypatch.setattr(RunStore, "save", save_and_note)
    monkeypatch.setattr(results, "decode_posterior", decode_and_note)
    book = JobManager(Executor(1), RunStore(tmp_path))
    finish(book, some_runs(RUNS))
    again = JobManager(Executor(1), RunStore(tmp_path))
    assert len(again.jobs("mine")) == RUNS
    gc.collect()
    assert len(known) >= 2 * 2 * RUNS
    assert not [ref for ref in known if ref() is not None]
    looked_at = [answer(job.result()) for job in book.jobs("mine")]
    assert looked_at == [answer(job.result()) for job in again.jobs("mine")]
    assert len(history._recent) <= 16


def test_an_answer_stays_as_it_was_when_its_run_goes_on(tmp_path: Path) -> None:
    book = JobManager(Executor(1), RunStore(tmp_path))
    finish(book, some_runs(1))
    (job,) = book.jobs("mine")
    before = job.result()
    job.extend(3)
    assert job.wait(SECONDS)
    assert book.close(SECONDS)
    assert (before.snapshot.sweep, job.result().snapshot.sweep) == (2, 5)
    (straight,) = some_runs(1)
    other = JobManager(Executor(1), RunStore(tmp_path / "other"))
    finish(other, [straight])
    assert answer(before)[:-1] == answer(other.jobs("mine")[0].result())[:-1]


def test_a_deleted_run_can_still_be_looked_at(tmp_path: Path) -> None:
    book = JobManager(Executor(1), RunStore(tmp_path))
    finish(book, some_runs(1))
    (job,) = book.jobs("mine")
    wanted = answer(job.result())
    history._recent.clear()
    book.remove("mine", job.id)
    assert answer(job.result()) == wanted
    book.restore("mine", job.id)
    assert answer(book.jobs("mine")[0].result()) == wanted
