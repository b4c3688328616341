"""Runs come back from disk as they were, outlive the session as copies and files, and hold no arrays in memory."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest

import acvb_core
from acvb_core.data.relation import Relation
from acvb_core.engine import history
from acvb_core.engine.executor import Executor
from acvb_core.engine.prepared import Binding, PreparedRun, prepare_run
from acvb_core.engine.result import Result
from acvb_core.store import results
from acvb_core.store.archives import load_comparison, load_result
from acvb_core.store.files import StoreError
from acvb_core.store.jobs import JobManager
from acvb_core.store.runs import RunStore
from tests.loops import for_each
from tests.store.support import (
    SMALL,
    SURVEY,
    WOMEN,
    assert_same_data,
    assert_same_result,
    network,
    odd_corpus,
    odd_relation,
)


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


def test_a_relation_is_stored_once_and_removed_with_its_last_user(store: RunStore, women: Result) -> None:
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
    assert_same_data(loaded[0], SURVEY)
    assert list((store.folder / "runs").iterdir()) == []
    store.delete("b", "two")  # is no error


def test_a_stored_run_is_opened_without_its_split_method_and_model(
    store: RunStore, women: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are built when something asks for them: a figure, or a longer run."""
    store.save("mine", "run", 1.0, women)
    built: list[str] = []
    find = Binding.find
    monkeypatch.setattr(Binding, "find", lambda this, name: built.append(name) or find(this, name))
    opened = store.load("run", Executor(1), "mine")
    seen = opened.inspect()
    assert (seen.verdict, seen.last.sweep) == (women.verdict, women.snapshot.sweep)
    assert len(seen.last.posterior.arrays)
    assert len(opened.history)
    assert not built
    assert opened.result().tables
    assert "model" in built


BARS = acvb_core.load_sample("bars").corpus
IMAGES = acvb_core.load_sample("block_images").table
RUNS: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "relation": (WOMEN, "acvb0", SMALL),
    "network": (network(directed=True, self_links=False), "gibbs", {"k_rows": 3, "max_sweeps": 4, "burn_in": 1}),
    "race": (WOMEN, "cvb0", {**SMALL, "restarts": 2}),
    "topics": (BARS, "acvb0", {"k": 4, "max_sweeps": 4, "heldout_documents": 0.1}),
    "topics over shards": (BARS, "cvb0", {"k": 4, "max_sweeps": 4, "shards": 2}),
    "stream": (BARS, "sdm", {"k": 4, "epochs": 0.2}),
    "table": (IMAGES, "fab", {"k_max": 4, "max_sweeps": 4}),
    "odd labels": (odd_relation(), "vb", {"k_rows": 2, "k_cols": 2, "max_sweeps": 2}),
    "odd texts": (odd_corpus(), "vb", {"k": 2, "max_sweeps": 2}),
}  # fmt: skip
MOST_LINES, MOST_HTML = 6, 20_000


def joblib_copy(result: Result) -> Any:
    file = io.BytesIO()
    joblib.dump(result, file)
    file.seek(0)
    return joblib.load(file)


COPIES: list[Callable[[Any], Any]] = [
    lambda result: pickle.loads(pickle.dumps(result)), joblib_copy, copy.copy, copy.deepcopy,
]  # fmt: skip


@for_each("name", list(RUNS))
def test_a_result_outlives_the_session_and_prints_short(name: str, tmp_path: Path) -> None:
    data, method, values = RUNS[name]
    share = {} if name.startswith("odd") or "heldout_documents" in values else {"heldout": 0.1}
    result = acvb_core.fit(data, method, seed=3, **share, **values)
    for copied in COPIES:
        other = copied(result)
        assert_same_result(result, other)
        assert other.prepared.spec == result.prepared.spec
        assert other.prepared.row is result.prepared.row
        assert other.prepared.model_row is result.prepared.model_row
    result.save(tmp_path / "result.acvb")
    assert_same_result(result, load_result(tmp_path / "result.acvb"))
    assert len(repr(result).splitlines()) <= MOST_LINES
    assert len(result._repr_html_()) <= MOST_HTML
    assert len(repr(result.prepared.data)) < 200
    assert str(result.verdict) in repr(result)


def test_a_name_in_html_is_text() -> None:
    relation = acvb_core.Relation.build([[1, 0], [0, 1]], row_labels=["<b>", "x"], name="<script>")
    html = acvb_core.fit(relation, "vb", k_rows=2, k_cols=2, max_sweeps=2)._repr_html_()
    assert "<script>" not in html
    assert "<td><b>" not in html


def test_a_comparison_is_saved_with_all_its_runs(tmp_path: Path) -> None:
    comparison = acvb_core.compare(WOMEN, ["cvb0", "vb"], seeds=4, **SMALL)
    comparison.save(tmp_path / "runs.acvb")
    pd.testing.assert_frame_equal(
        load_comparison(tmp_path / "runs.acvb").table(), comparison.table(), check_exact=True
    )
    pd.testing.assert_frame_equal(pickle.loads(pickle.dumps(comparison)).table(), comparison.table())
    assert len(repr(comparison).splitlines()) <= MOST_LINES
    assert len(comparison._repr_html_()) <= MOST_HTML
    assert len(repr(acvb_core.combine(comparison.results)).splitlines()) <= MOST_LINES
    with pytest.raises(StoreError, match=r"has 8 runs, not one\. Read them with load_comparison"):
        load_result(tmp_path / "runs.acvb")


def test_files_that_cannot_be_read_or_written_are_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"none\.acvb does not exist"):
        load_result(tmp_path / "none.acvb")
    (tmp_path / "text").write_text("no zip")
    with pytest.raises(StoreError, match="cannot be read as an archive of runs"):
        load_result(tmp_path / "text")
    result = acvb_core.fit(WOMEN, "vb", **SMALL)
    result.save(tmp_path / "whole")
    (tmp_path / "half").write_bytes((tmp_path / "whole").read_bytes()[:2000])
    with pytest.raises(StoreError, match="half cannot be read as an archive"):
        load_result(tmp_path / "half")
    before = (tmp_path / "whole").read_bytes()
    with pytest.raises(StoreError, match="cannot be written"):
        result.save(tmp_path / "no folder" / "x")
    kept = acvb_core.read_to_disk(["river lake", "bank loan", "river bank"], tmp_path / "disk").data
    with pytest.raises(StoreError, match="kept on disk, and are too many"):
        acvb_core.fit(kept, "sdm", k=2, epochs=1.0).save(tmp_path / "whole")
    assert (tmp_path / "whole").read_bytes() == before


SECONDS = 300
SOME_RUNS = 30


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


def test_finished_runs_keep_no_arrays_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    finish(book, some_runs(SOME_RUNS))
    again = JobManager(Executor(1), RunStore(tmp_path))
    assert len(again.jobs("mine")) == SOME_RUNS
    gc.collect()
    assert len(known) >= 2 * 2 * SOME_RUNS
    assert not [ref for ref in known if ref() is not None]
    looked_at = [answer(job.result()) for job in book.jobs("mine")]
    assert looked_at == [answer(job.result()) for job in again.jobs("mine")]
    assert len(history._recent) <= 16
