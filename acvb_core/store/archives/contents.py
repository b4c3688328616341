"""The files of an archive, checked and copied one by one. It may be damaged, or made to do harm."""

from __future__ import annotations

import hashlib
import math
import os
import re
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from acvb_core.core.errors import AcvbError
from acvb_core.core.protocols import Posterior
from acvb_core.engine.problem import Problem
from acvb_core.engine.result import Result
from acvb_core.engine.snapshot import Snapshot
from acvb_core.store.archives.form import Manifest, PlanEntry
from acvb_core.store.datasets import KINDS, DataFiles, find_kind
from acvb_core.store.files import DAMAGE, StoreError
from acvb_core.store.listing.run_rows import RUNS, run_path
from acvb_core.store.plans.folder import JobT, PlanFolder, PlanT
from acvb_core.store.results import read_identity, read_result, read_state
from acvb_core.store.shelf import explain_error

_CHUNK = 1 << 20
#: What reading a damaged zip, or a run that holds something else than runs do, can raise beside what the store raises.
FAULTS = (*DAMAGE, AcvbError, OSError)


class OpenArchive:
    """An open archive, the files of which are checked and copied to a folder one by one.

    No name in the archive becomes a path: files are looked up by the name that the store would give them.
    """

    def __init__(self, archive: zipfile.ZipFile, manifest: Manifest, folder: Path) -> None:
        self._archive, self._manifest, self._folder = archive, manifest, folder
        self._members = {member.filename: member for member in archive.infolist()}
        self._data = DataFiles(folder)
        self._faults: dict[str, str] = {}
        for place in (RUNS, *(kind.folder for kind in KINDS)):
            (folder / place).mkdir()

    def read_run(self, job_id: str) -> tuple[Result | Problem, float]:
        """Return a run with its state, and when it was created.

        Raises StoreError, or another of `FAULTS`: one of its files is missing, damaged, or not what it should be.
        """
        path = run_path(self._folder, job_id)
        try:
            self._copy(path)
            _refuse_compressed(path, self._name(path))
            run = read_identity(path)
            if run is None or run.job_id != job_id or not math.isfinite(run.created):
                raise StoreError("Its file does not say which run it holds.")
            record = read_result(path, self.read_data(run.kind, run.dataset))
            if not isinstance(record, Result):
                return record, run.created
            _check_numbers(record.snapshot)
            _check_sizes(record.snapshot.posterior)
            state = read_state(path)
        finally:
            path.unlink(missing_ok=True)
        if state is not None:
            record = replace(record, snapshot=replace(record.snapshot, state=state[0], memory=state[1]))
        return record, run.created

    def read_plan(self, kind: type[PlanFolder[PlanT, JobT]], entry: PlanEntry) -> PlanFolder[PlanT, JobT]:
        """Return the folder of a plan, the plan and the lines of which were read without a fault.

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
        """Copy a file out of the archive, to the place that it would have in a store.

        Raises StoreError: it is not there, or not as it was written.
        """
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


def _check_numbers(snapshot: Snapshot) -> None:
    """Raise ValueError or TypeError where a snapshot has something else than numbers."""
    for value in snapshot.row().values():
        if not isinstance(value, float):
            raise ValueError(f"{value!r} is not a number")
    for number in (snapshot.sweep, *snapshot.effective_k.values(), *(snapshot.moves or {}).values()):
        if not isinstance(number, int) or number < 0:
            raise ValueError(f"{number!r} cannot count sweeps or clusters")
    if snapshot.sweep > 2**53 or not isinstance(snapshot.cpu_seconds + snapshot.wall_seconds, float | int):
        raise ValueError("its sweeps or its times are not numbers")


def _check_sizes(posterior: Posterior) -> None:
    """Raise ValueError where arrays have different numbers of the same clusters: compiled loops rely on them."""
    sizes: dict[str, int] = {}
    for name, axes in posterior.axes.items():
        array = posterior[name]
        if array.dtype.kind not in "fiub" or array.ndim != len(axes):
            raise ValueError(f"{name} is not an array of numbers as it should be")
        for domain, size in zip(axes, array.shape, strict=True):
            if domain is not None and sizes.setdefault(domain, size) != size:
                raise ValueError(f"{name} has {size} of {domain}, and another array {sizes[domain]}")
