"""Runs, experiments, searches and data in one file, for another installation to take over."""

from __future__ import annotations

import hashlib
import io
import shutil
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO, cast

import numpy as np

from acvb_core.core.scratch import scratch_prefix
from acvb_core.engine.background import BackgroundTask
from acvb_core.engine.prepared import RunLabel
from acvb_core.store.archives.form import MANIFEST, DataEntry, Entry, Manifest, PlanEntry
from acvb_core.store.datasets import DataKind, dataset_key, find_kind, kind_of
from acvb_core.store.files import DAMAGE, StoreError, damage_error, from_text_bytes, read_npz, text_bytes
from acvb_core.store.results import read_identity, run_path
from acvb_core.store.runs import RunStore
from acvb_core.store.studies.study_store import StudyStore
from acvb_core.store.topics.names import TopicNames

_CHUNK = 1 << 20
#: A plan to write: the book that has it, and its job.
Chosen = tuple[StudyStore[Any, Any], BackgroundTask[Any]]


def write_archive(
    store: RunStore,
    labels: Mapping[str, RunLabel],
    file: BinaryIO,
    version: str,
    plans: Sequence[Chosen] = (),
    owners: Sequence[str] = (),
) -> dict[str, str]:
    """Write stored runs, their labels, plans and the data of each, once; return why others were left out, by id.

    The files are those of the store, without the key of the workspace: whoever has that may change the workspace. A
    run under way is taken as it was last kept, and a plan with the runs that are over.

    `labels`: of the runs to write, by id.
    `version`: of the package.
    `owners`: names under which data without runs are stored.
    Raises StoreError: the archive cannot be written.
    """
    left_out: dict[str, str] = {}
    try:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            writer = _Writer(archive, store)
            parts: list[tuple[str, Callable[[], None]]] = [
                *((job_id, partial(writer.add_run, job_id, label)) for job_id, label in labels.items()),
                *((job.id, partial(writer.add_plan, book, job)) for book, job in plans),
                *((owner, partial(writer.add_data, owner)) for owner in owners),
            ]
            for name, add in parts:
                try:
                    add()
                except StoreError as error:
                    left_out[name] = str(error)
            archive.writestr(MANIFEST, writer.manifest.to_bytes(version))
    except OSError as error:
        raise StoreError(f"The archive cannot be written: {error.strerror or error}.") from error
    return left_out


class _Writer:
    """An archive that is being written, and what is in it so far."""

    def __init__(self, archive: zipfile.ZipFile, store: RunStore) -> None:
        self._archive, self._store, self._folder = archive, store, store.folder
        self._names = TopicNames(store.folder)
        self._runs: list[Entry] = []
        self._plans: list[PlanEntry] = []
        self._data: list[DataEntry] = []
        self._files: dict[str, tuple[int, str]] = {}

    @property
    def manifest(self) -> Manifest:
        """The list of all that was added."""
        return Manifest(tuple(self._runs), tuple(self._plans), tuple(self._data), self._files)

    def add_run(self, job_id: str, label: RunLabel) -> None:
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
        self._runs.append(Entry(job_id, label, named))

    def add_plan(self, book: StudyStore[Any, Any], job: BackgroundTask[Any]) -> None:
        """Add the plan of a job, the runs of it that are over, and its data.

        Raises StoreError: it cannot be put into an archive.
        """
        kept = book.folder(job.id)
        kind, key = kind_of(kept.data), dataset_key(kept.data)
        self._add_file(kind, key)
        for name in (kept.plan_file, kept.lines_file):
            path = kept.folder / name
            if name == kept.plan_file or path.exists():
                with _open(path) as source:
                    self._add(path, source)
        entry = PlanEntry(kept.noun, job.id, book.name(job.id), job.created, kind.name, key)
        self._plans.append(entry)

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
        self._data.append(DataEntry(kind.name, key, report, settings))

    def _add_file(self, kind: DataKind, key: str) -> None:
        if kind.elsewhere:
            raise StoreError("Its documents are kept on disk, and are too many for an archive.")
        path = kind.file(self._folder, key)
        with _open(path) as source:
            self._add(path, source)

    def _add(self, path: Path, source: BinaryIO) -> None:
        """Add a file of the store, unless it is there; one that is replaced meanwhile is read as it was."""
        name = path.relative_to(self._folder).as_posix()
        if name in self._files:
            return
        digest, size = hashlib.sha256(), 0
        with self._archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as target:
            while chunk := source.read(_CHUNK):
                digest.update(chunk)
                target.write(chunk)
                size += len(chunk)
        self._files[name] = size, digest.hexdigest()


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}.") from error


def _open_without_workspace(path: Path) -> BinaryIO:
    """Return the file of a run that does not say whose it is, as a file that is gone when it is closed.

    Raises StoreError: the file is gone or damaged.
    """
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
