"""Runs in one file: to another store and back, and files that are damaged or made to do harm."""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import math
import time
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acvb_core.data.corpus import Corpus
from acvb_core.data.relation import Relation
from acvb_core.engine.executor import Executor
from acvb_core.engine.job import Job
from acvb_core.engine.prepared import PreparedRun, RunLabel, prepare_run
from acvb_core.engine.run import StopRun
from acvb_core.store import index, results
from acvb_core.store.archives import MANIFEST, ImportReport, read_archive, write_archive
from acvb_core.store.files import StoreError
from acvb_core.store.jobs import JobManager
from acvb_core.store.part_names import PartNames
from acvb_core.store.runs import RunStore
from benchmarks.kill_runs import end_of
from tests.loops import for_each

SECONDS = 300
LABEL = RunLabel("Figure 2", "a note", ("paper", "<b>"), True)


def small_run(seed: int = 0, sweeps: int = 10) -> PreparedRun:
    relation = Relation.build(np.random.default_rng(5).random((30, 20)) < 0.3, name="links")
    values = {
        "k_rows": 4,
        "k_cols": 4,
        "max_sweeps": sweeps,
        "tol": 1e-12,
        "hyper": "fixed",
        "init": "random",
    }
    return prepare_run(relation, "acvb0", values, heldout=0.1, seed=seed)


def topics_run() -> PreparedRun:
    corpus = Corpus.build(np.random.default_rng(5).poisson(0.4, (30, 20)), name="texts")
    return prepare_run(corpus, "cvb0", {"k": 3, "max_sweeps": 4, "tol": 1e-12})


class Home:
    """A store, and the jobs of one workspace in it."""

    def __init__(self, folder: Path, workspace: str = "mine") -> None:
        self.store, self.workspace = RunStore(folder), workspace
        self.book = JobManager(Executor(1), self.store)

    @property
    def jobs(self) -> list[Job]:
        return self.book.jobs(self.workspace)

    def finish(self, *prepared_runs: PreparedRun) -> None:
        for prepared in prepared_runs:
            assert self.book.add(self.workspace, prepared).wait(SECONDS)
        assert self.book.close(SECONDS)

    def write(self) -> bytes:
        file = io.BytesIO()
        labels = {job.id: job.label for job in self.jobs}
        assert write_archive(self.store, labels, file, "1.0") == {}
        return file.getvalue()

    def read(self, archive: bytes) -> ImportReport:
        return read_archive(self.book, self.store, self.workspace, io.BytesIO(archive), "runs.acvb.zip")


MARKS, LATER = {"topics": [[0, 1], [2, 3], [4, 5]]}, {"topics": [[4, 5], [2, 3]]}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Two runs on a relation, one of them interrupted before its first sweep, and one on texts."""
    home = Home(tmp_path_factory.mktemp("one"))
    home.finish(small_run(), topics_run())
    home.store.save("mine", "waiting", 1.0, small_run(seed=7))
    home = Home(home.store.folder)
    home.book.relabel("mine", home.jobs[-1].id, **vars(LABEL))
    PartNames(home.store.folder).rename(home.jobs[-1].id, MARKS, "topics", 2, "Sport")
    return home


@pytest.fixture
def other(tmp_path: Path) -> Home:
    return Home(tmp_path / "two")


def rewrite(archive: bytes, change: Callable[[dict[str, bytes], dict[str, Any]], None]) -> bytes:
    """The archive after a change of its files and its manifest, with checksums that are right."""
    with zipfile.ZipFile(io.BytesIO(archive)) as old:
        files = {name: old.read(name) for name in old.namelist()}
    manifest = json.loads(files.pop(MANIFEST))
    change(files, manifest)
    for file in manifest["files"]:
        stored = files.get(file["name"], b"")
        file |= {"bytes": len(stored), "sha256": hashlib.sha256(stored).hexdigest()}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as new:
        for name, stored in {**files, MANIFEST: json.dumps(manifest).encode()}.items():
            new.writestr(name, stored)
    return out.getvalue()


def test_runs_come_back_to_the_bit_in_another_store(filled: Home, other: Home) -> None:
    report = other.read(filled.write())
    assert (len(report.imported), report.known, report.refused) == (3, [], {})
    for home in (other, Home(other.store.folder)):  # at once, and after a restart
        assert [end_of(job) for job in home.jobs[1:]] == [end_of(job) for job in filled.jobs[1:]]
        assert [job.label for job in home.jobs] == [job.label for job in filled.jobs]
        assert [job.created for job in home.jobs] == [job.created for job in filled.jobs]
    assert other.jobs[-1].label == LABEL
    assert PartNames(other.store.folder).names(other.jobs[-1].id, LATER) == {"topics": (None, "Sport")}
    first, second, third = (job.prepared.data for job in other.jobs)
    assert first is second
    assert type(third) is Corpus


def test_an_archive_does_not_contain_the_key_of_its_workspace(tmp_path: Path, other: Home) -> None:
    """Who has a view-only link may download it; whoever has the key may change the workspace."""
    home = Home(tmp_path / "one", "0123456789abcdef" * 2)
    home.finish(small_run())
    archive = home.write()
    assert home.workspace.encode() in (home.store.folder / "runs" / f"{home.jobs[0].id}.npz").read_bytes()
    assert home.workspace.encode() not in archive
    assert len(other.read(archive).imported) == 1
    assert end_of(other.jobs[0]) == end_of(home.jobs[0])


def test_another_workspace_of_the_same_store_has_copies_of_its_own(filled: Home, other: Home) -> None:
    archive = filled.write()
    other.read(archive)
    guest = Home(other.store.folder, "guest")
    report = guest.read(archive)
    assert len(report.imported) == 3
    assert not {job.id for job in guest.jobs} & {job.id for job in other.jobs}
    assert guest.read(archive).imported == []
    guest.book.remove("guest", guest.jobs[-1].id)
    assert end_of(other.jobs[-1]) == end_of(filled.jobs[-1])


def interrupted(function: Callable[..., Any], step: Callable[[], None]) -> Callable[..., Any]:
    """The function, with a step before and after."""

    def apply(*arguments: Any, **named: Any) -> Any:
        step()
        answer = function(*arguments, **named)
        step()
        return answer

    return apply


@for_each("error", [KeyboardInterrupt, StopRun])
@for_each("moment", range(6))
def test_an_import_that_is_stopped_leaves_nothing_half_imported(
    filled: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException], moment: int
) -> None:
    """Each run is there with its name and its topics' names, or not at all, and the rest can be imported later."""
    other = Home(tmp_path / "two")
    archive, steps = filled.write(), itertools.count()

    def step(*_: Any) -> None:
        if next(steps) == 2 * moment + 1:
            raise error

    if error is StopRun:
        book, store = other.book, other.store
        report = read_archive(book, store, "mine", io.BytesIO(archive), "a.zip", progress=step)
        assert report.was_stopped == (len(report.imported) < 3)
    else:
        for place, name in ((results, "write_arrays"), (index, "row_of"), (JobManager, "relabel")):
            real = getattr(place, name)
            monkeypatch.setattr(place, name, interrupted(real, step))
        with suppress(KeyboardInterrupt):
            other.read(archive)
        monkeypatch.undo()
    here = {run.job_id for run in other.store.runs("mine")}
    assert {path.stem for path in other.store.folder.glob("runs/*.npz")} == here
    assert {job.id for job in other.jobs} == here
    assert {path.stem for path in other.store.folder.glob("topic_names/*")} <= here
    assert len(list(other.store.folder.glob("*/*.part"))) == 0
    assert bool(here) == any(
        any(other.store.folder.glob(f"{kind}/*.npz")) for kind in ("relations", "corpora")
    )
    labels = {job.id: job.label for job in filled.jobs}
    assert all(job.label == labels[job.id] for job in other.jobs)
    assert len(other.read(archive).imported) == 3 - len(here)
    assert PartNames(other.store.folder).names(other.jobs[-1].id, LATER) == {"topics": (None, "Sport")}


def list_runs(change: Callable[[list[Any]], list[Any]], part: str = "runs") -> Callable[..., None]:
    """A change of the list of runs, or of files."""
    return lambda _, manifest: manifest.update({part: change(manifest[part])})


@for_each(
    "change, why",
    [
        (list_runs(lambda runs: runs[:1] * 100_000), "it lists 100,000 runs and data sets, and has 6 files"),
        (
            list_runs(lambda runs: [runs[0] | {"id": f"run-{i}"} for i in range(5_000)]),
            "it lists 5,000 runs and data sets, and has 6 files",
        ),
        (list_runs(lambda listed: [*listed, listed[0]], "files"), "it lists .*npz 2 times"),
        (list_runs(lambda runs: [runs[1], *runs[1:]]), "it lists run .* 2 times"),
    ],
)
def test_an_archive_that_lists_more_than_it_has_is_refused_at_once(
    filled: Home, tmp_path: Path, change: Callable[..., None], why: str
) -> None:
    other = Home(tmp_path / "two")
    archive = rewrite(filled.write(), change)
    began = time.process_time()
    with pytest.raises(StoreError, match=why):
        other.read(archive)
    assert time.process_time() - began < 10
    assert other.jobs == []


def test_a_damaged_run_is_named_and_the_others_are_imported(filled: Home, other: Home) -> None:
    archive = bytearray(filled.write())
    job = filled.jobs[1]
    with zipfile.ZipFile(io.BytesIO(archive)) as whole:
        place = whole.getinfo(f"runs/{job.id}.npz").header_offset
    archive[place + 2000] ^= 1
    report = other.read(bytes(archive))
    assert len(report.imported) == 2
    assert list(report.refused) == [job.label.name]
    assert "its checksum differs" in report.refused[job.label.name]
    assert len(other.jobs) == 2
    # The whole file brings the missing one.
    assert len(other.read(filled.write()).imported) == 1


def test_an_archive_of_a_newer_version_is_refused(filled: Home, other: Home) -> None:
    with pytest.raises(StoreError, match=r"newer version of the program .format 3.*Update the program"):
        other.read(rewrite(filled.write(), lambda _, manifest: manifest.update(version=3)))


@for_each("name", ["../../escaped", "/escaped", "a/b", "", "x" * 101])
def test_no_name_in_an_archive_becomes_a_path(filled: Home, tmp_path: Path, name: str) -> None:
    other = Home(tmp_path / "two")

    def escape(files: dict[str, bytes], manifest: dict[str, Any]) -> None:
        run = manifest["runs"][1]
        files[f"runs/{name}.npz"] = files.pop(f"runs/{run['id']}.npz")
        manifest["files"].append({"name": f"runs/{name}.npz"})
        run["id"] = name

    with pytest.raises(StoreError, match="list of files is damaged"):
        other.read(rewrite(filled.write(), escape))
    assert not list(tmp_path.rglob("*escaped*"))
    assert other.jobs == []


def test_a_run_under_the_name_of_another_is_refused(filled: Home, other: Home) -> None:
    def swap(files: dict[str, bytes], manifest: dict[str, Any]) -> None:
        one, two = (f"runs/{run['id']}.npz" for run in manifest["runs"][1:])
        files[one], files[two] = files[two], files[one]

    report = other.read(rewrite(filled.write(), swap))
    assert (len(report.imported), len(report.refused)) == (1, 2)


def change_run(job: Job, change: Callable[[dict[str, Any]], None]) -> Callable[..., None]:
    """A change of the arrays of one run's file."""

    def apply(files: dict[str, bytes], _: dict[str, Any]) -> None:
        name = f"runs/{job.id}.npz"
        arrays = dict(np.load(io.BytesIO(files[name])))
        compress = change(arrays)
        out = io.BytesIO()
        (np.savez_compressed if compress else np.savez)(out, **arrays)
        files[name] = out.getvalue()

    return apply


def change_about(part: str = "snapshot", **changes: Any) -> Callable[[dict[str, Any]], None]:
    """A change of a part of what a file says of its run."""

    def apply(arrays: dict[str, Any]) -> None:
        about = json.loads(arrays["about"].tobytes())
        about[part] |= changes
        arrays["about"] = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)

    return apply


def change_history(column: str, value: float) -> Callable[[dict[str, Any]], None]:
    """A change of the last sweep but one."""

    def apply(arrays: dict[str, Any]) -> None:
        columns = json.loads(arrays["about"].tobytes())["history"]
        arrays["history"] = arrays["history"].copy()
        arrays["history"][-2, columns.index(column)] = value

    return apply


def lengthen_history(arrays: dict[str, Any]) -> None:
    arrays["history"] = np.repeat(arrays["history"], 1_000, axis=0)


def shorten_counts(arrays: dict[str, Any]) -> None:
    arrays["posterior_ones"] = arrays["posterior_ones"][:, :-1]


@for_each(
    "change",
    [
        lambda arrays: True,
        shorten_counts,
        change_about(sweep="6"),
        change_about(extras=[1]),
        *(
            change_about(**{name: value})
            for name in ("cpu_seconds", "wall_seconds", "diagnostics_seconds", "passes", "lower_bound")
            for value in (math.inf, math.nan, 10**400)
        ),
        *(change_about(cpu_seconds=value) for value in (-1.0, 1e300, True)),
        change_about(sweep=10**15),
        change_about(lower_bound="5"),
        change_about(burn_in="no"),
        *(
            change_about(effective_k=k)
            for k in ({"rows": 10**9, "cols": 3}, {"rows": 3}, {"rows": 2.5, "cols": 3})
        ),
        change_about(hyper={"a": math.inf}),
        change_about(moves={"merged": 1e300}),
        *(change_history("effective_k_rows", value) for value in (-1.0, 1e300)),
        change_history("cpu_seconds", math.inf),
        change_history("lower_bound", -math.inf),
        lengthen_history,
        *(change_about("run", created=value) for value in (math.inf, -1e300, 1e300)),
    ],
)
def test_a_changed_run_is_refused(
    filled: Home, tmp_path: Path, change: Callable[[dict[str, Any]], Any]
) -> None:
    other = Home(tmp_path / "two")
    job = filled.jobs[1]
    report = other.read(rewrite(filled.write(), change_run(job, change)))
    assert (len(report.imported), list(report.refused)) == (2, [job.label.name])
