"""Runs in one file: to another store and back, and files that are damaged or made to do harm."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acvb_core.data.corpus import Corpus
from acvb_core.data.relation import Relation
from acvb_core.engine.executor import Executor
from acvb_core.engine.handle import Status
from acvb_core.engine.job import Job
from acvb_core.engine.problem import Problem, build_problem
from acvb_core.engine.run_label import RunLabel
from acvb_core.store.archives.form import MANIFEST
from acvb_core.store.archives.reading import ImportReport, read_archive
from acvb_core.store.archives.writing import write_archive
from acvb_core.store.files import StoreError
from acvb_core.store.jobbook import JobBook
from acvb_core.store.runs import RunStore
from acvb_core.store.topics.names import TopicNames
from benchmarks.kill_runs import end_of

SECONDS = 300
LABEL = RunLabel("Figure 2", "a note", ("paper", "<b>"), True)


def small_problem(seed: int = 0, sweeps: int = 10) -> Problem:
    relation = Relation.build(np.random.default_rng(5).random((30, 20)) < 0.3, name="links")
    values = {
        "k_rows": 4,
        "k_cols": 4,
        "max_sweeps": sweeps,
        "tol": 1e-12,
        "hyper": "fixed",
        "init": "random",
    }
    return build_problem(relation, "acvb0", values, heldout=0.1, seed=seed)


def topics_problem() -> Problem:
    corpus = Corpus.build(np.random.default_rng(5).poisson(0.4, (30, 20)), name="texts")
    return build_problem(corpus, "cvb0", {"k": 3, "max_sweeps": 4, "tol": 1e-12})


class Home:
    """A store, and the jobs of one workspace in it."""

    def __init__(self, folder: Path, workspace: str = "mine") -> None:
        self.store, self.workspace = RunStore(folder), workspace
        self.book = JobBook(Executor(1), self.store)

    @property
    def jobs(self) -> list[Job]:
        return self.book.jobs(self.workspace)

    def finish(self, *problems: Problem) -> None:
        for problem in problems:
            assert self.book.add(self.workspace, problem).wait(SECONDS)
        assert self.book.close(SECONDS)

    def write(self) -> bytes:
        file = io.BytesIO()
        labels = {job.id: job.label for job in self.jobs}
        assert write_archive(self.store, labels, file, "1.0") == {}
        return file.getvalue()

    def read(self, archive: bytes) -> ImportReport:
        return read_archive(self.book, self.store, self.workspace, io.BytesIO(archive), "runs.acvb.zip")


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Two runs on a relation, one of them interrupted before its first sweep, and one on texts."""
    home = Home(tmp_path_factory.mktemp("one"))
    home.finish(small_problem(), topics_problem())
    home.store.save("mine", "waiting", 1.0, small_problem(seed=7))
    home = Home(home.store.folder)
    home.book.relabel("mine", home.jobs[-1].id, **vars(LABEL))
    TopicNames(home.store.folder).rename(home.jobs[-1].id, [[0, 1], [2, 3], [4, 5]], 2, "Sport")
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
    assert TopicNames(other.store.folder).names(other.jobs[-1].id, [[4, 5], [2, 3]]) == (None, "Sport")
    first, second, third = (job.problem.data for job in other.jobs)
    assert first is second
    assert type(third) is Corpus


def test_an_archive_does_not_tell_the_key_of_its_workspace(tmp_path: Path, other: Home) -> None:
    """Who has a view-only link may download it; whoever has the key may change the workspace."""
    home = Home(tmp_path / "one", "0123456789abcdef" * 2)
    home.finish(small_problem())
    archive = home.write()
    assert home.workspace.encode() in (home.store.folder / "runs" / f"{home.jobs[0].id}.npz").read_bytes()
    assert home.workspace.encode() not in archive
    assert len(other.read(archive).imported) == 1
    assert end_of(other.jobs[0]) == end_of(home.jobs[0])


def test_an_archive_of_runs_alone_can_be_read_by_older_programs(filled: Home) -> None:
    with zipfile.ZipFile(io.BytesIO(filled.write())) as archive:
        assert json.loads(archive.read(MANIFEST))["version"] == 1


def test_imported_runs_go_on_as_they_would_have_at_home(filled: Home, other: Home) -> None:
    other.read(filled.write())
    waiting, short, _ = other.jobs
    assert waiting.inspect().status is Status.INTERRUPTED
    waiting.continue_run()
    short.extend(10)
    for job, wanted in ((waiting, small_problem(7)), (short, small_problem(0, 20))):
        straight = Job(wanted, Executor(1)).start()
        assert straight.wait(SECONDS)
        assert job.wait(SECONDS)
        assert end_of(job)[3:] == end_of(straight)[3:]


def test_a_run_is_imported_once(filled: Home, other: Home) -> None:
    archive = filled.write()
    other.read(archive)
    before = {path: path.read_bytes() for path in other.store.folder.glob("*/*.npz")}
    report = other.read(archive)
    assert (report.imported, len(report.known), report.refused) == ([], 3, {})
    assert filled.read(archive).imported == []
    assert before == {path: path.read_bytes() for path in other.store.folder.glob("*/*.npz")}


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


def test_a_damaged_run_is_named_and_the_others_are_imported(filled: Home, other: Home) -> None:
    archive = bytearray(filled.write())
    job = filled.jobs[1]
    with zipfile.ZipFile(io.BytesIO(archive)) as whole:
        place = whole.getinfo(f"runs/{job.id}.npz").header_offset
    archive[place + 2000] ^= 1
    report = other.read(bytes(archive))
    assert len(report.imported) == 2
    assert list(report.refused) == [job.label.name]
    assert (
        report.refused[job.label.name] == f"runs/{job.id}.npz is not as it was written: its checksum differs."
    )
    assert len(other.jobs) == 2
    # The whole file brings the missing one.
    assert len(other.read(filled.write()).imported) == 1


def test_a_file_that_the_archive_lacks_is_named(filled: Home, other: Home) -> None:
    job = filled.jobs[1]
    name = f"runs/{job.id}.npz"

    def lose(files: dict[str, bytes], _: dict[str, Any]) -> None:
        del files[name]

    report = other.read(rewrite(filled.write(), lose))
    assert report.refused == {job.label.name: f"{name} is missing in the archive."}
    assert len(report.imported) == 2


def test_damaged_data_cost_the_runs_on_them_alone(filled: Home, other: Home) -> None:
    def damage(files: dict[str, bytes], _: dict[str, Any]) -> None:
        name = next(name for name in files if name.startswith("relations/"))
        files[name] = files[name][: len(files[name]) // 2]

    report = other.read(rewrite(filled.write(), damage))
    assert len(report.refused) == 2
    assert all("relations/" in why for why in report.refused.values())
    assert [type(job.problem.data) for job in other.jobs] == [Corpus]


@pytest.mark.parametrize("share", [0.0, 0.3, 0.999])
def test_an_archive_that_is_cut_short_is_refused(filled: Home, other: Home, share: float) -> None:
    archive = filled.write()
    with pytest.raises(StoreError, match=r"runs\.acvb\.zip cannot be read as an archive of runs"):
        other.read(archive[: int(share * len(archive))])
    assert other.jobs == []


def test_an_archive_of_a_newer_version_is_refused(filled: Home, other: Home) -> None:
    def renew(_: dict[str, bytes], manifest: dict[str, Any]) -> None:
        manifest["version"] = 3

    with pytest.raises(StoreError, match=r"newer version of the program .format 3.*Update the program"):
        other.read(rewrite(filled.write(), renew))


@pytest.mark.parametrize("name", ["../../escaped", "/escaped", "a/b", "", "x" * 101])
def test_no_name_in_an_archive_becomes_a_path(filled: Home, other: Home, tmp_path: Path, name: str) -> None:
    def escape(files: dict[str, bytes], manifest: dict[str, Any]) -> None:
        run = manifest["runs"][1]
        files[f"runs/{name}.npz"] = files.pop(f"runs/{run['id']}.npz")
        manifest["files"].append({"name": f"runs/{name}.npz"})
        run["id"] = name

    with pytest.raises(StoreError, match="list of files is damaged"):
        other.read(rewrite(filled.write(), escape))
    assert not list(tmp_path.rglob("*escaped*"))
    assert other.jobs == []


def test_files_that_no_run_asks_for_are_not_unpacked(filled: Home, other: Home, tmp_path: Path) -> None:
    def add(files: dict[str, bytes], manifest: dict[str, Any]) -> None:
        files["../../escaped.npz"] = b"x"
        manifest["files"].append({"name": "../../escaped.npz"})

    assert len(other.read(rewrite(filled.write(), add)).imported) == 3
    assert not list(tmp_path.rglob("*escaped*"))


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


def change_about(**changes: Any) -> Callable[[dict[str, Any]], None]:
    """A change of the last snapshot of a run."""

    def apply(arrays: dict[str, Any]) -> None:
        about = json.loads(arrays["about"].tobytes())
        about["snapshot"] |= changes
        arrays["about"] = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)

    return apply


def shorten_counts(arrays: dict[str, Any]) -> None:
    arrays["posterior_ones"] = arrays["posterior_ones"][:, :-1]


@pytest.mark.parametrize(
    "change",
    [
        lambda arrays: True,
        shorten_counts,
        change_about(sweep="6"),
        change_about(cpu_seconds="<b>"),
        change_about(effective_k={"rows": -1, "columns": 3}),
        change_about(extras=[1]),
        change_about(lower_bound={}),
    ],
    ids=["compressed", "sizes", "sweep", "seconds", "clusters", "extras", "bound"],
)
def test_a_run_that_holds_something_else_is_refused(
    filled: Home, other: Home, change: Callable[[dict[str, Any]], Any]
) -> None:
    job = filled.jobs[1]
    report = other.read(rewrite(filled.write(), change_run(job, change)))
    assert (len(report.imported), list(report.refused)) == (2, [job.label.name])


def test_runs_that_cannot_be_written_are_named(filled: Home, tmp_path: Path) -> None:
    file = io.BytesIO()
    left_out = write_archive(filled.store, {"gone": LABEL, filled.jobs[1].id: LABEL}, file, "1.0")
    assert list(left_out) == ["gone"]
    assert len(Home(tmp_path / "two").read(file.getvalue()).imported) == 1


def test_a_full_disk_is_named(filled: Home, other: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = filled.write()

    def refuse(*_: Any, **__: Any) -> None:
        raise StoreError("no space left")

    monkeypatch.setattr(RunStore, "save", refuse)
    report = other.read(archive)
    assert report.imported == []
    assert set(report.refused.values()) == {"no space left"}
