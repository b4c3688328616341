"""Runs, experiments, searches and data in one file, for another installation to take over.

An archive is a zip without compression, and a manifest that lists every file. It may be damaged, or made to do harm:
nothing in it is trusted.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, cast

import numpy as np

from acvb_core.core.errors import AcvbError, shorten
from acvb_core.core.files import scratch_prefix
from acvb_core.core.versions import describe_process
from acvb_core.data.report import ReadReport
from acvb_core.engine.executor import BackgroundTask
from acvb_core.engine.fitting import Comparison
from acvb_core.engine.prepared import MOST_CHARACTERS, RunLabel, clean_name
from acvb_core.engine.result import Result
from acvb_core.engine.run import StopRun
from acvb_core.store.codecs import DataKind, is_moment
from acvb_core.store.datasets import (
    KINDS,
    DataFiles,
    dataset_key,
    find_kind,
    kind_of,
    without_original,
)
from acvb_core.store.files import (
    DAMAGE,
    ID,
    StoreError,
    as_store_error,
    damage_error,
    explain_error,
    from_text_bytes,
    read_npz,
    replace_file,
    text_bytes,
)
from acvb_core.store.index import choose_id
from acvb_core.store.jobs import JobManager
from acvb_core.store.part_names import PartNames
from acvb_core.store.plausible import check_run
from acvb_core.store.results import RUNS, read_identity, read_result, run_path
from acvb_core.store.runs import RunStore, TakenRun

if TYPE_CHECKING:
    from acvb_core.engine.study import StudyT
    from acvb_core.store.studies import PlanT, StudyFolder, StudyStore

#: Version 2 may have plans: experiments, and searches. One without them says 1, as older programs can read it. They
#: pass over data without runs.
FORMAT, VERSION = "acvb archive of runs", 2
MANIFEST = "manifest.json"
#: Most files of an archive: runs, plans, and data.
MOST_FILES = 100_000
#: Most bytes of a manifest that is read.
MOST_MANIFEST = 64 << 20
_MOST_NOTE, _MOST_TAGS, _MOST_LINES = 100_000, 100, 1_000
_CHUNK = 1 << 20
#: Errors of reading a damaged zip, or a run with wrong content, in addition to those of the store.
FAULTS = (*DAMAGE, AcvbError, OSError)
#: What data without runs are called in a report.
DATA = "data set"
#: Keeps data, report lines and settings (see `RunStore.save_dataset`); False: they are there already.
KeepData = Callable[[Any, list[str], dict[str, Any]], bool]
#: A plan to write: the store that has it, and its job.
Chosen: TypeAlias = "tuple[StudyStore[Any, Any], BackgroundTask[Any]]"


@dataclass(frozen=True)
class Entry:
    """A run in an archive."""

    job_id: str
    label: RunLabel
    part_names: Any  #: as `PartNames.entries` gives them; not checked
    reading: Any = None  #: as `ReadReport.to_dict` gives it; not checked


@dataclass(frozen=True)
class PlanEntry:
    """An experiment or a search in an archive."""

    noun: str  #: which of them
    job_id: str
    name: str  #: of its data
    created: float  #: seconds since the epoch
    #: `kind`, `dataset`: of its data, and their key.
    kind: str
    dataset: str


@dataclass(frozen=True)
class DataEntry:
    """Data without runs in an archive."""

    #: `kind`, `dataset`: of the data, and their key.
    kind: str
    dataset: str
    report: list[str]  #: what reading them found
    settings: dict[str, Any]  #: as `RunStore.save_dataset` was given them; not checked


@dataclass
class Manifest:
    """All that is in an archive."""

    runs: list[Entry] = field(default_factory=list)
    plans: list[PlanEntry] = field(default_factory=list)
    data: list[DataEntry] = field(default_factory=list)
    #: Bytes and SHA-256 (hex) of each, by the name in the zip.
    files: dict[str, tuple[int, str]] = field(default_factory=dict)

    def to_bytes(self, program: str) -> bytes:
        """Return the manifest as it is written; `program` is the version of the package."""
        about = {
            "format": FORMAT,
            "version": VERSION if self.plans else 1,
            "program": program,
            "runs": [{"id": run.job_id, "label": asdict(run.label), "part_names": run.part_names,
                      "reading": run.reading} for run in self.runs],
            "plans": [asdict(plan) for plan in self.plans],
            "data": [asdict(data) for data in self.data],
            "files": [{"name": name, "bytes": n, "sha256": digest} for name, (n, digest) in self.files.items()],
        }  # fmt: skip
        return json.dumps(about, indent=1).encode()


def read_manifest(archive: zipfile.ZipFile, name: str) -> Manifest:
    """Return what is in an archive, which errors call `name`.

    Raises StoreError: it is of a newer version, damaged, or no archive of runs; or it lists more than it has, or
      something twice.
    """
    members = {member.filename: member for member in archive.infolist()}
    n_files = len(archive.infolist())
    if n_files > MOST_FILES:
        raise _no_archive(name, f"it holds {n_files:,} files, more than {MOST_FILES:,}")
    if MANIFEST not in members or members[MANIFEST].file_size > MOST_MANIFEST:
        raise _no_archive(name, f"it has no {MANIFEST}, or one that is too long")
    try:
        with archive.open(members[MANIFEST]) as file:
            about = json.loads(file.read(MOST_MANIFEST))
        if about["format"] != FORMAT:
            raise ValueError("another format")
        version = int(about["version"])
        if version > VERSION:
            raise StoreError(
                f"{name} was written by a newer version of the program (format {version}, this one reads up to "
                f"{VERSION}). Update the program."
            )
        lists = [list(about.get(part, [])) for part in ("runs", "plans", "data")]
        if (entries := sum(map(len, lists))) > n_files:
            raise _no_archive(name, f"it lists {entries:,} runs and data sets, and has {n_files:,} files")
        listed = list(about["files"])
        if len(listed) > MOST_FILES:
            raise _no_archive(name, f"it lists {len(listed):,} files, more than {MOST_FILES:,}")
        files = {str(file["name"]): (int(file["bytes"]), str(file["sha256"])) for file in listed}
        runs, plans, data = map(_read_entry, lists[0]), map(_read_plan, lists[1]), map(_read_data, lists[2])
        manifest = Manifest(list(runs), list(plans), list(data), files)
    except (*DAMAGE, OSError) as error:
        raise _no_archive(name, "its list of files is damaged") from error
    things = [str(file["name"]) for file in listed] + [f"run {run.job_id}" for run in manifest.runs]
    things += [f"{plan.noun} {plan.job_id}" for plan in manifest.plans]
    things += [f"data set {one.dataset}" for one in manifest.data]
    for thing, number in Counter(things).items():
        if number > 1:
            raise _no_archive(name, f"it lists {shorten(thing, 120)} {number:,} times")
    return manifest


def _read_entry(run: dict[str, Any]) -> Entry:
    """Return a run as a manifest has it, its texts cut to their usual lengths."""
    job_id, label = _check_id(run["id"]), run["label"]
    tags = tuple(str(tag)[:MOST_CHARACTERS] for tag in list(label["tags"])[:_MOST_TAGS])
    note = str(label["note"])[:_MOST_NOTE]
    name = clean_name(str(label["name"]))
    names = run.get("part_names", run.get("topic_names"))  # the second is of earlier versions
    return Entry(job_id, RunLabel(name, note, tags, label["pinned"] is True), names, run.get("reading"))


def _read_plan(plan: dict[str, Any]) -> PlanEntry:
    """Return a plan as a manifest has it."""
    entry = PlanEntry(**plan)
    texts = (entry.noun, entry.name, entry.kind, entry.dataset)
    if not all(isinstance(text, str) for text in texts) or not is_moment(entry.created):
        raise ValueError("no plan")
    return replace(entry, job_id=_check_id(entry.job_id), name=clean_name(entry.name))


def _read_data(data: dict[str, Any]) -> DataEntry:
    """Return data as a manifest has them, the report cut to its usual length."""
    lines = [str(line)[:_MOST_NOTE] for line in list(data["report"])[:_MOST_LINES]]
    return DataEntry(str(data["kind"]), str(data["dataset"]), lines, dict(data["settings"]))


def _check_id(job_id: Any) -> str:
    """Return the id of a run or plan; raise ValueError where it may not be part of a path."""
    if not ID.fullmatch(str(job_id)):
        raise ValueError(f"no name of a run: {job_id!r}")
    return str(job_id)


def _no_archive(name: str, why: str) -> StoreError:
    """Return the error for a file that cannot be read as an archive at all."""
    return StoreError(
        f"{name} cannot be read as an archive of runs: {why}. Nothing was imported. Give the whole file, as the "
        "Runs page gave it."
    )


def write_archive(
    store: RunStore,
    labels: Mapping[str, RunLabel],
    file: BinaryIO,
    version: str,
    plans: Sequence[Chosen] = (),
    owners: Sequence[str] = (),
    reports: Mapping[str, ReadReport] | None = None,
) -> dict[str, str]:
    """Write stored runs, their labels, plans and the data of each, once; return why others were left out, by id.

    The files are those of the store, without the key of the workspace: whoever has that may change the workspace. A
    run under way is taken as it was last kept, and a plan with the runs that are over.

    `labels`: of the runs to write, by id.
    `version`: of the package.
    `owners`: names under which data without runs are stored.
    `reports`: what reading the data of runs found, by id, as far as it is known.
    Raises StoreError: the archive cannot be written.
    """
    left_out: dict[str, str] = {}
    with (
        as_store_error("The archive cannot be written"),
        zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive,
    ):
        writer, reports = _Writer(archive, store), reports or {}
        parts: list[tuple[str, Callable[[], None]]] = [
            *(
                (job_id, partial(writer.add_run, job_id, label, reports.get(job_id)))
                for job_id, label in labels.items()
            ),
            *((job.id, partial(writer.add_plan, studies, job)) for studies, job in plans),
            *((owner, partial(writer.add_data, owner)) for owner in owners),
        ]
        for name, add in parts:
            try:
                add()
            except StoreError as error:
                left_out[name] = str(error)
        archive.writestr(MANIFEST, writer.manifest.to_bytes(version))
    return left_out


class _Writer:
    """An archive that is being written, and what is in it so far."""

    def __init__(self, archive: zipfile.ZipFile, store: RunStore) -> None:
        self._archive, self._store, self._folder = archive, store, store.folder
        self._names = PartNames(store.folder)
        self.manifest = Manifest()

    def add_run(self, job_id: str, label: RunLabel, report: ReadReport | None = None) -> None:
        """Add a run and its data.

        Raises StoreError: it cannot be put into an archive.
        """
        path = run_path(self._folder, job_id)
        run = read_identity(path)
        if run is None:
            raise StoreError(f"{path} is of an older version. Open the run once, and save the archive again.")
        self._add_file(find_kind(run.kind), run.dataset)
        with _open_without_workspace(path) as source:
            self._add(path, source)
        named = []
        with suppress(StoreError):  # names of topics are no part of a run
            named = self._names.entries(job_id)
        self.manifest.runs.append(Entry(job_id, label, named, None if report is None else report.to_dict()))

    def add_plan(self, studies: StudyStore[Any, Any], job: BackgroundTask[Any]) -> None:
        """Add the plan of a job, the runs of it that are over, and its data.

        Raises StoreError: it cannot be put into an archive.
        """
        kept = studies.folder(job.id)
        kind, key = kind_of(kept.plan.data), dataset_key(kept.plan.data)
        self._add_file(kind, key)
        for name in (kept.plan_file, kept.lines_file):
            path = kept.folder / name
            if name == kept.plan_file or path.exists():
                with _open(path) as source:
                    self._add(path, source)
        entry = PlanEntry(kept.noun, job.id, studies.name(job.id), job.created, kind.name, key)
        self.manifest.plans.append(entry)

    def add_data(self, owner: str) -> None:
        """Add the data that are stored under a name.

        Raises StoreError: they cannot be put into an archive.
        """
        stored = self._store.load_dataset(owner)
        if stored is None:
            return
        data, report, settings = stored
        kind, key = kind_of(data), dataset_key(data)
        self._add_file(kind, key)
        self.manifest.data.append(DataEntry(kind.name, key, report, without_original(settings)))

    def _add_file(self, kind: DataKind, key: str) -> None:
        if kind.elsewhere:
            raise StoreError("Its documents are kept on disk, and are too many for an archive.")
        path = kind.file(self._folder, key)
        with _open(path) as source:
            self._add(path, source)

    def _add(self, path: Path, source: BinaryIO) -> None:
        """Add a file of the store, unless it is there; one that is replaced meanwhile is read as it was."""
        name = path.relative_to(self._folder).as_posix()
        if name in self.manifest.files:
            return
        digest, size = hashlib.sha256(), 0
        with self._archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as target:
            while chunk := source.read(_CHUNK):
                digest.update(chunk)
                target.write(chunk)
                size += len(chunk)
        self.manifest.files[name] = size, digest.hexdigest()


def _open(path: Path) -> BinaryIO:
    with as_store_error(f"{path} cannot be read"):
        return path.open("rb")


def _open_without_workspace(path: Path) -> BinaryIO:
    """Return the file of a run that does not say whose it is, as a file that is gone when it is closed."""
    about = from_text_bytes(read_npz(path, ("about",))["about"])
    about["run"]["workspace"] = ""
    array = io.BytesIO()
    np.lib.format.write_array(array, text_bytes(about), allow_pickle=False)
    with _open(path) as stored:
        file = cast(BinaryIO, TemporaryFile(prefix=scratch_prefix()))  # noqa: SIM115 - the caller closes it
        try:
            with zipfile.ZipFile(stored) as old, zipfile.ZipFile(file, "w") as new:
                for member in old.infolist():
                    with new.open(member.filename, "w", force_zip64=True) as target:
                        if member.filename == "about.npy":
                            target.write(array.getvalue())
                        else:
                            with old.open(member) as source:
                                shutil.copyfileobj(source, target, _CHUNK)
        except DAMAGE as error:
            file.close()
            raise damage_error(path) from error
    file.seek(0)
    return file


class OpenArchive:
    """An open archive, whose files are checked and copied to a folder one by one.

    No name in the archive becomes a path: files are looked up by the name that the store would give them.

    `poll`: called often; what it raises ends the copying.
    """

    def __init__(
        self, archive: zipfile.ZipFile, manifest: Manifest, folder: Path, poll: Callable[[], object]
    ) -> None:
        self._archive, self._manifest, self._folder = archive, manifest, folder
        self._poll = poll
        self._members = {member.filename: member for member in archive.infolist()}
        self._data = DataFiles(folder)
        self._faults: dict[str, str] = {}
        for place in (RUNS, *(kind.folder for kind in KINDS)):
            (folder / place).mkdir()

    def read_run(self, entry: Entry) -> TakenRun:
        """Return a run with its state.

        Raises StoreError, or another of `FAULTS`: one of its files is missing, damaged, or not what it should be.
        """
        path = run_path(self._folder, entry.job_id)
        try:
            self._copy(path)
            _refuse_compressed(path, self._name(path))
            run = read_identity(path)
            if run is None or run.job_id != entry.job_id:
                raise StoreError("Its file does not say which run it holds.")
            if not is_moment(run.created):
                raise StoreError(f"It was made {run.created!r} s after 1970, which cannot be.")
            record = read_result(path, self.read_data(run.kind, run.dataset), state=True)
            if isinstance(record, Result):
                check_run(record)
        finally:
            path.unlink(missing_ok=True)
        return TakenRun(entry.job_id, run.created, record, entry.label, entry.part_names)

    def read_plan(
        self, kind: type[StudyFolder[PlanT, StudyT]], entry: PlanEntry
    ) -> StudyFolder[PlanT, StudyT]:
        """Return the folder of a plan whose plan and lines were read without a fault.

        Raises StoreError, or another of `FAULTS`: one of its files is missing, damaged, or not what it should be.
        """
        place = self._folder / kind.place / entry.job_id
        place.mkdir(parents=True, exist_ok=True)
        self._copy(place / kind.plan_file)
        lines = place / kind.lines_file
        if self._name(lines) in self._manifest.files:
            self._copy(lines)
        folder = kind.reopen(place, self.read_data(entry.kind, entry.dataset))
        folder.read()
        return folder

    def read_data(self, name: str, key: str) -> Any:
        """Return data of a kind and a key.

        Raises StoreError, or another of `FAULTS`: their file is missing, damaged, or not what it should be.
        """
        kind = find_kind(name)
        if kind.elsewhere or not re.fullmatch("[0-9a-f]{64}", key):
            raise StoreError("Its data cannot be in an archive.")
        if key in self._faults:
            raise StoreError(self._faults[key])
        path = kind.file(self._folder, key)
        try:
            if not path.exists():
                self._copy(path)
                _refuse_compressed(path, self._name(path))
            return self._data.read(name, key)
        except FAULTS as error:
            self._faults[key] = self.explain(error)
            raise

    def explain(self, error: Exception) -> str:
        """Return why a run could not be read, with files called as they are in the archive."""
        if isinstance(error, AcvbError | OSError):
            return explain_error(error).replace(f"{self._folder}{os.sep}", "")
        return f"Its file holds something else than a run ({error})."

    def _copy(self, path: Path) -> None:
        """Copy a file out of the archive, to the place that it would have in a store."""
        name = self._name(path)
        member, listed = self._members.get(name), self._manifest.files.get(name)
        if member is None or listed is None:
            raise StoreError(f"{name} is missing in the archive.")
        # Without compression no file is larger than the archive.
        size, wanted = listed
        if member.compress_type != zipfile.ZIP_STORED or member.file_size != size:
            raise StoreError(f"{name} is not as it was written: its size differs.")
        digest = hashlib.sha256()
        try:
            with self._archive.open(member) as source, path.open("xb") as target:
                while chunk := source.read(_CHUNK):
                    self._poll()
                    digest.update(chunk)
                    target.write(chunk)
        except DAMAGE:
            digest = hashlib.sha256()  # its own checksum differs, too
        if digest.hexdigest() != wanted:
            raise StoreError(f"{name} is not as it was written: its checksum differs.")

    def _name(self, path: Path) -> str:
        """Return what a file is called in the archive."""
        return path.relative_to(self._folder).as_posix()


def _refuse_compressed(path: Path, name: str) -> None:
    """Raise a StoreError where arrays would be longer in memory than their file is."""
    try:
        with zipfile.ZipFile(path) as arrays:
            members = arrays.infolist()
    except DAMAGE as error:
        raise StoreError(f"{name} is damaged ({error}).") from error
    if any(member.compress_type != zipfile.ZIP_STORED for member in members) or (
        sum(member.file_size for member in members) > path.stat().st_size
    ):
        raise StoreError(f"{name} is compressed, as no file of a run is.")


@dataclass
class ImportReport:
    """Report of an import: what became of the runs of an archive."""

    imported: list[str] = field(default_factory=list)  #: ids that the runs have here
    known: list[str] = field(default_factory=list)  #: names of runs that were here already
    refused: dict[str, str] = field(default_factory=dict)  #: why others were not imported, by their names
    #: The same of experiments, searches and data without runs, by what one is called.
    others: dict[str, ImportReport] = field(default_factory=dict)
    was_stopped: bool = False  #: before the end of the archive

    def note(self, title: str, take: Callable[[], str | None], explain: Callable[[Exception], str]) -> None:
        """Take a run, plan or data set unless it is there already or damaged, and note what became of it.

        `take`: returns its id here, None where it is there already.
        """
        try:
            here = take()
        except FAULTS as error:
            self.refused[title] = explain(error)
            return
        if here is None:
            self.known.append(title)
        else:
            self.imported.append(here)


def read_archive(
    jobs: JobManager,
    store: RunStore,
    workspace: str,
    file: BinaryIO,
    name: str = "The file",
    plans: Sequence[StudyStore[Any, Any]] = (),
    keep_data: KeepData | None = None,
    progress: Callable[[float], object] = float,
) -> ImportReport:
    """Take the runs, plans and data of an archive into a workspace; what is there already stays as it is.

    What is damaged is named in the report, and the others are taken. Each is read as the store reads its own, and
    written again: no file of the archive lies in the store afterwards. An import can be ended at any moment, by
    `progress` or by Ctrl-C: each run, plan and data set is then there as a whole or not at all, and another import of
    the same archive takes the others.

    `jobs`: of the runs in `store`.
    `name`: of the file, for errors.
    `plans`: the experiments and searches in `store`; those of other kinds are not taken.
    `keep_data`: keeps data without runs, and returns False where the workspace has them; None: they are not taken.
    `progress`: called often with the share that is done, 0 to 1; what it raises ends the import. After StopRun the
      report says what was imported before.
    Raises StoreError: the file is no archive, is cut short, or was written by a newer version of the program.
    """
    report = ImportReport()
    stores = {studies.kind.noun: studies for studies in plans}
    try:
        archive = zipfile.ZipFile(file)
    except (OSError, *DAMAGE) as error:
        raise _no_archive(name, f"it is no zip file, or is cut short ({error})") from error
    with archive, TemporaryDirectory(prefix=scratch_prefix()) as place:
        manifest = read_manifest(archive, name)
        listed: list[Entry | PlanEntry | DataEntry] = [*manifest.runs, *manifest.plans, *manifest.data]
        done = 0
        opened = OpenArchive(archive, manifest, Path(place), lambda: progress(done / len(listed)))
        jobs.jobs(workspace)  # what is stored so far

        def take_run(entry: Entry) -> str | None:
            # Asked first to save the reading; whoever writes the run asks again.
            is_known = choose_id(store.find_owner, workspace, entry.job_id) is None
            return None if is_known else jobs.adopt(workspace, opened.read_run(entry))

        def take_plan(entry: PlanEntry) -> str | None:
            studies = stores[entry.noun]
            if choose_id(studies.find_owner, workspace, entry.job_id) is None:
                return None
            kept = opened.read_plan(studies.kind, entry)
            return studies.adopt(workspace, entry.job_id, kept, entry.created, entry.name)

        def take_data(keep: KeepData, entry: DataEntry) -> str | None:
            is_new = keep(opened.read_data(entry.kind, entry.dataset), entry.report, entry.settings)
            return entry.dataset if is_new else None

        try:
            for done, entry in enumerate(listed):
                progress(done / len(listed))
                if isinstance(entry, Entry):
                    report.note(entry.label.name or entry.job_id, partial(take_run, entry), opened.explain)
                elif isinstance(entry, DataEntry):
                    if keep_data is not None:
                        title = str(entry.settings.get("name", DATA))
                        part = report.others.setdefault(DATA, ImportReport())
                        part.note(title, partial(take_data, keep_data, entry), opened.explain)
                elif entry.noun in stores:
                    part = report.others.setdefault(entry.noun, ImportReport())
                    title = f"{entry.noun} on {entry.name or 'data'}"
                    part.note(title, partial(take_plan, entry), opened.explain)
        except StopRun:
            report.was_stopped = True
    return report


def save_results(path: str | Path, results: Sequence[Result]) -> None:
    """Write results and their data, each data set once; what is at `path` is replaced once all is written.

    Raises StoreError: the file cannot be written, or the data are kept on disk and are too many for it.
    """
    with TemporaryDirectory(prefix=scratch_prefix()) as place:
        store = RunStore(Path(place) / "store")
        labels: dict[str, RunLabel] = {}
        reports: dict[str, ReadReport] = {}
        for number, result in enumerate(results):
            run = f"run{number}"
            store.save("file", run, time.time(), result)
            labels[run] = RunLabel(clean_name(result.label))
            if result.given_names:
                PartNames(store.folder).keep(run, result.marks, result.given_names)
            if result.report is not None:
                reports[run] = result.report
        with replace_file(Path(path)) as file:
            version = describe_process()["acvb_core"]
            left_out = write_archive(store, labels, file, version, reports=reports)
            if left_out:
                raise StoreError(f"{path} was not written. {next(iter(left_out.values()))}")


def load_results(path: str | Path) -> list[Result]:
    """Return all results of a file, in the order in which they were saved.

    Raises StoreError: the file is missing, damaged, no archive of runs, or of a newer version; or it has a run that did
      no sweep.
    """
    try:
        with zipfile.ZipFile(path) as archive, TemporaryDirectory(prefix=scratch_prefix()) as place:
            manifest = read_manifest(archive, str(path))
            opened = OpenArchive(archive, manifest, Path(place), lambda: None)
            names, found = PartNames(Path(place)), []
            for entry in manifest.runs:
                try:
                    run = opened.read_run(entry).run
                except FAULTS as error:
                    raise StoreError(f"{path}: {opened.explain(error)}") from error
                if not isinstance(run, Result):
                    raise StoreError(
                        f"{path}: the run {entry.label.name!r} did no sweep, so it has no result."
                    )
                names.take_entries(entry.job_id, entry.part_names)
                given = names.names(entry.job_id, run.marks) if entry.part_names else {}
                report = ReadReport.from_dict(entry.reading)
                found.append(replace(run, name=entry.label.name, given_names=given, report=report))
            return found
    except FileNotFoundError:
        raise StoreError(
            f"{path} does not exist. Give a file that Result.save or the Runs page wrote."
        ) from None
    except (OSError, *DAMAGE) as error:
        raise _no_archive(str(path), f"it is no zip file, or is cut short ({error})") from error


def load_result(path: str | Path) -> Result:
    """Return the result that `Result.save` wrote to a file.

    Parameters
    ----------
    path : str or Path
        Of the file; an archive of one run, as the Runs page gives it, is one too.

    Returns
    -------
    Result
        With its data, diagnostics and answer, bit for bit as it was saved.

    Raises
    ------
    StoreError
        The file is missing, damaged or no archive of runs, or it has several runs (`load_comparison`).

    Examples
    --------
    >>> import acvb_core
    >>> result = acvb_core.fit(acvb_core.load_sample("karate").relation, k_rows=4)
    >>> result.save("karate.acvb")  # doctest: +SKIP
    >>> acvb_core.load_result("karate.acvb").to_dict() == result.to_dict()  # doctest: +SKIP
    True
    """
    results = load_results(path)
    if len(results) != 1:
        raise StoreError(
            f"{path} has {len(results):,} runs, not one. Read them with load_comparison, or import the file on the "
            "Runs page."
        )
    return results[0]


def load_comparison(path: str | Path) -> Comparison:
    """Return the comparison that `Comparison.save` wrote to a file, or the runs of any archive; errors as above."""
    return Comparison(load_results(path))
