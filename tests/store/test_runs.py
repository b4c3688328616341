"""Runs and data come back from disk as they were."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from acvb_core.data.relation import Relation
from acvb_core.engine.executor import Executor
from acvb_core.engine.fitting import fit
from acvb_core.engine.history import History, Verdict
from acvb_core.engine.job import Job, Status
from acvb_core.engine.prepared import Binding, prepare_run
from acvb_core.engine.result import Result
from acvb_core.evaluate.split import HeldOut
from acvb_core.registry import methods_of
from acvb_core.samples.planted_mixtures import block_images
from acvb_core.store.files import StoreError
from acvb_core.store.jobs import JobManager
from acvb_core.store.runs import RunStore
from tests.loops import for_each
from tests.store.support import (
    SMALL,
    SURVEY,
    WOMEN,
    assert_same_relation,
    assert_same_result,
    assert_same_table,
)


@for_each("method", ["acvb0", "acvb", "cvb0", "cvb", "vb", "gibbs"])
@for_each("relation", [WOMEN, SURVEY])
def test_a_run_comes_back_as_it_was(
    store: RunStore, executor: Executor, method: str, relation: Relation
) -> None:
    values = SMALL | ({"burn_in": 2} if method == "gibbs" else {})
    result = fit(relation, method, heldout=0.1, heldout_seed=5, seed=7, **values)
    store.save("mine", "run-1", 12.5, result)
    job = RunStore(store.folder).load("run-1", executor)
    assert (job.id, job.created) == ("run-1", 12.5)
    assert job.inspect().status is Status.FINISHED
    assert_same_result(result, job.result())
    again = job.prepared
    assert again.heldout is not None
    assert result.prepared.heldout is not None
    assert np.array_equal(again.heldout.rows, result.prepared.heldout.rows)
    assert np.array_equal(again.heldout.values, result.prepared.heldout.values)
    assert again.train.fingerprint == result.prepared.train.fingerprint


@for_each("shards", [0, 4])
def test_a_run_with_a_setting_that_this_version_does_not_have_opens_and_says_so(
    store: RunStore, executor: Executor, women: Result, shards: int
) -> None:
    prepared = women.prepared
    settings = replace(prepared.spec, values={**prepared.spec.values, "shards": shards})
    store.save("mine", "old", 1.0, women.with_state(prepared=replace(prepared, spec=settings)))
    for job in (store.load("old", executor), *JobManager(executor, RunStore(store.folder)).jobs("mine")):
        assert job.prepared.spec == job.outline.spec == prepared.spec
        lost = f"Computed with shards {shards}, which this version does not have"
        assert (job.prepared.note or "").startswith(lost) == bool(shards)


def test_a_run_that_was_stored_without_its_state_cannot_be_extended(
    store: RunStore, executor: Executor, women: Result
) -> None:
    assert women.verdict is Verdict.MAX_SWEEPS
    store.save("mine", "run", 0.0, women, state=False)
    job = store.load("run", executor)
    assert not job.can_extend


def test_an_extended_run_replaces_what_was_stored(store: RunStore) -> None:
    job = Job(prepare_run(WOMEN, "acvb0", SMALL), Executor(1)).start()
    assert job.wait(180)
    store.save("mine", job.id, job.created, job.result())
    job.extend(4)
    assert job.wait(180)
    store.save("mine", job.id, job.created, job.result())
    assert len(store.runs("mine")) == 1
    loaded = store.load(job.id, Executor(1)).result()
    assert loaded.snapshot.sweep == 12
    assert loaded.max_sweeps == 12
    assert_same_result(job.result(), loaded)


def test_the_list_is_by_workspace_and_age(store: RunStore, women: Result) -> None:
    for workspace, job_id, created in (("b", "late", 3.0), ("a", "else", 2.0), ("b", "early", 1.0)):
        store.save(workspace, job_id, created, women)
    listed = store.runs("b")
    assert [(run.job_id, run.created) for run in listed] == [("early", 1.0), ("late", 3.0)]
    assert listed[0].summary == women.summary()
    assert listed[0].settings == women.prepared.spec.to_dict()
    assert store.runs("nobody") == []


def test_the_bytes_that_a_workspace_keeps_are_those_of_its_files(
    store: RunStore, women: Result, survey: Result
) -> None:
    def on_disk(*folders: str) -> int:
        files = [path for folder in folders for path in (store.folder / folder).rglob("*") if path.is_file()]
        return sum(path.stat().st_size for path in files)

    assert store.used_bytes("mine") == 0
    for number in range(2):
        store.save("mine", f"run-{number}", float(number), women)
    store.save_dataset("mine", women.prepared.data, [], {})
    assert store.used_bytes("mine") == on_disk("runs", "relations") > 0, "the data are there once"
    before = store.used_bytes("mine")
    store.move_to_trash("mine", "run-0")
    assert store.used_bytes("mine") == before, "a deleted run takes room until it is deleted for good"
    store.delete("mine", "run-0")
    assert store.used_bytes("mine") == on_disk("runs", "relations") < before
    store.save("yours", "other", 0.0, survey)
    assert store.used_bytes("mine", "yours") == on_disk("runs", "relations")


def test_a_new_folder_is_read_by_its_owner_alone(tmp_path: Path) -> None:
    assert RunStore(tmp_path / "new").folder.stat().st_mode & 0o077 == 0
    (tmp_path / "old").mkdir()
    (tmp_path / "old").chmod(0o755)
    assert RunStore(tmp_path / "old").folder.stat().st_mode & 0o777 == 0o755, (
        "a folder that is there stays as it is"
    )


def test_numbers_that_are_not_finite_come_back(store: RunStore, executor: Executor) -> None:
    # All entries are ones: ranking scores are not defined.
    result = fit(Relation.build(np.ones((6, 5))), "vb", heldout=0.3, **SMALL)
    assert result.snapshot.heldout is not None
    assert np.isnan(result.snapshot.heldout.roc_auc)
    store.save("mine", "run", 0.0, result)
    loaded = store.load("run", executor).result()
    assert loaded.snapshot.heldout is not None
    assert np.isnan(loaded.snapshot.heldout.roc_auc)
    assert np.isnan(store.runs("mine")[0].summary["heldout"]["roc_auc"])


def test_a_relation_is_stored_once_and_goes_with_its_last_user(store: RunStore, women: Result) -> None:
    folder = store.folder / "relations"
    store.save("a", "one", 0.0, women)
    store.save("b", "two", 0.0, women)
    store.save_dataset("c", WOMEN, ["a line"], {})
    assert len(list(folder.iterdir())) == 1
    store.delete("a", "one")
    store.delete("b", "two")
    assert len(list(folder.iterdir())) == 1
    store.save_dataset("c", SURVEY, [], {})
    assert len(list(folder.iterdir())) == 1
    loaded = store.load_dataset("c")
    assert loaded is not None
    assert_same_relation(loaded[0], SURVEY)
    assert list((store.folder / "runs").iterdir()) == []
    store.delete("b", "two")  # is no error


def test_a_relation_of_a_run_that_cannot_be_written_does_not_stay(
    store: RunStore, women: Result, survey: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.save("mine", "run", 0.0, women)
    before = sorted((store.folder / "relations").iterdir())

    def full(*_: object, **__: object) -> None:
        raise StoreError("no space left")

    monkeypatch.setattr("acvb_core.store.runs.write_result", full)
    for result in (women, survey):  # the first one's data are still in use
        with pytest.raises(StoreError, match="no space left"):
            store.save("mine", "other", 1.0, result)
    assert sorted((store.folder / "relations").iterdir()) == before
    assert [run.job_id for run in store.runs("mine")] == ["run"]


def test_many_threads_at_once(store: RunStore, executor: Executor, women: Result) -> None:
    """Saving and deleting the only user of a relation, over and over, never leaves a run without its relation."""
    failures: list[BaseException] = []
    comparison = threading.Lock()  # it changes which warnings are errors, for all threads

    def work(name: str) -> None:
        try:
            other = RunStore(store.folder)
            for i in range(6):
                job_id = f"{name}-{i}"
                other.save(name, job_id, float(i), women)
                result = other.load(job_id, executor).result()
                with comparison:
                    assert_same_result(women, result)
                other.delete(name, job_id)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(f"t{i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    assert list((store.folder / "relations").iterdir()) == []


def test_a_run_that_won_a_race_comes_back_with_it(store: RunStore, executor: Executor) -> None:
    result = fit(
        WOMEN,
        "cvb0",
        seed=5,
        restarts=4,
        init="random",
        k_rows=6,
        k_cols=6,
        max_sweeps=50,
        tol=1e-12,
        heldout=0.1,
    )
    store.save("mine", "run", 0.0, result)
    (listed,) = store.runs("mine")
    assert listed.settings["seed"] == listed.summary["race"]["winner"] == result.prepared.spec.seed
    job = store.load("run", executor)
    loaded = job.result()
    assert_same_result(result, loaded)
    assert loaded.race_report == result.race_report == job.race_report
    assert result.race is not None
    pd.testing.assert_frame_equal(result.race, loaded.race)
    assert np.isfinite(loaded.race["heldout"]).all()


def test_moves_come_back(store: RunStore, executor: Executor, women: Result) -> None:
    history = women.history.assign(merged=np.nan)
    history.loc[2, "merged"] = 2.0
    last = replace(women.snapshot, moves={"merged": 1})
    moved = women.with_state(history=History.from_frame(history), snapshot=last)
    store.save("mine", "run", 0.0, moved)
    loaded = store.load("run", executor).result()
    assert_same_result(moved, loaded)
    assert loaded.snapshot.moves == {"merged": 1}


def test_a_stored_run_is_opened_without_its_split_method_and_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are built when something asks for them: a figure, or a longer run."""
    store = RunStore(tmp_path)
    jobs = JobManager(Executor(1), store)
    prepared = prepare_run(WOMEN, "cvb0", {"k_rows": 3, "k_cols": 2, "max_sweeps": 5}, heldout=0.1)
    job = jobs.add("mine", prepared)
    assert job.wait(300)
    assert jobs.close(300)
    built: list[str] = []
    find = Binding.find

    def note(binding: Binding, name: str) -> Any:
        built.append(name)
        return find(binding, name)

    monkeypatch.setattr(Binding, "find", note)
    opened = store.load(job.id, Executor(1), "mine")
    seen = opened.inspect()
    assert (seen.verdict, seen.last.sweep) == (job.inspect().verdict, job.inspect().last.sweep)
    assert len(seen.last.posterior.arrays)
    assert len(opened.history)
    assert not built
    assert opened.result().tables
    assert "model" in built


BLOCKS = block_images(60, noise=0.3, seed=0).table


def restored(store: RunStore, result: Result, executor: Executor) -> Result:
    store.save("mine", "run", 1.0, result)
    found = RunStore(store.folder).load("run", executor).result()
    assert_same_table(found.prepared.data, result.prepared.data)
    return found


@for_each("method", [row.name for row in methods_of("lfm")])
def test_runs_come_back_bit_by_bit(store: RunStore, executor: Executor, method: str) -> None:
    result = fit(BLOCKS, method, heldout=0.2, heldout_seed=4, seed=2, max_sweeps=12, k_max=6)
    found = restored(store, result, executor)
    assert_same_result(result, found)
    assert found.snapshot.heldout == result.snapshot.heldout
    cells: HeldOut = found.prepared.heldout
    np.testing.assert_array_equal(cells.values, result.prepared.heldout.values)
    assert found.snapshot.lower_bound == result.snapshot.lower_bound
    np.testing.assert_array_equal(found.reconstruction(3)["total"], result.reconstruction(3)["total"])


def test_a_race_comes_back(store: RunStore, executor: Executor) -> None:
    result = fit(BLOCKS, "em", heldout=0.2, max_sweeps=30, k_max=3, restarts=3, tol=1e-9)
    found = restored(store, result, executor)
    assert_same_result(result, found)
    assert found.summary()["race"]["judged_by"] == "heldout"
    assert len(found.summary()["race"]["entrants"]) == 3
