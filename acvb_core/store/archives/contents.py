"""The files of an archive, checked and copied one by one. It may be damaged, or made to do harm."""

from __future__ import annotations

import hashlib
import math
import os
import re
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from acvb_core.core.errors import AcvbError
from acvb_core.core.protocols import Posterior
from acvb_core.engine.history import History
from acvb_core.engine.prepared import PreparedRun
from acvb_core.engine.race_report import RACE_CRITERIA, RaceReport
from acvb_core.engine.result import Result
from acvb_core.engine.snapshot import Verdict
from acvb_core.engine.study import StudyT
from acvb_core.store.archives.form import Manifest, PlanEntry
from acvb_core.store.codecs import MOST_COUNT, MOST_SECONDS, is_moment, is_number
from acvb_core.store.datasets import KINDS, DataFiles, find_kind
from acvb_core.store.files import DAMAGE, StoreError, explain_error
from acvb_core.store.results import RUNS, read_identity, read_result, read_state, run_path
from acvb_core.store.studies.study_folder import PlanT, StudyFolder

_CHUNK = 1 << 20
#: Fields of a snapshot, and columns of a history.
_SECONDS = ("cpu_seconds", "wall_seconds", "diagnostics_seconds")
_COUNTED = ("sweep", "samples", "burn_in", "passes")
_MEASURED = ("lower_bound", "pseudo_loo", "change", "mean_change", "scaled_change")
#: What reading a damaged zip, or a run that holds something else than runs do, can raise beside what the store raises.
FAULTS = (*DAMAGE, AcvbError, OSError)


class OpenArchive:
    """An open archive, the files of which are checked and copied to a folder one by one.

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

    def read_run(self, job_id: str) -> tuple[Result | PreparedRun, float]:
        """Return a run with its state, and when it was created.

        Raises StoreError, or another of `FAULTS`: one of its files is missing, damaged, or not what it should be.
        """
        path = run_path(self._folder, job_id)
        try:
            self._copy(path)
            _refuse_compressed(path, self._name(path))
            run = read_identity(path)
            if run is None or run.job_id != job_id:
                raise StoreError("Its file does not say which run it holds.")
            if not is_moment(run.created):
                raise StoreError(f"It was made {run.created!r} s after 1970, which cannot be.")
            record = read_result(path, self.read_data(run.kind, run.dataset))
            if not isinstance(record, Result):
                return record, run.created
            _check_numbers(record)
            _check_sizes(record.snapshot.posterior)
            state = read_state(path)
        finally:
            path.unlink(missing_ok=True)
        if state is not None:
            record = record.with_state(snapshot=replace(record.snapshot, state=state[0], memory=state[1]))
        return record, run.created

    def read_plan(
        self, kind: type[StudyFolder[PlanT, StudyT]], entry: PlanEntry
    ) -> StudyFolder[PlanT, StudyT]:
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


def _check_numbers(run: Result) -> None:
    """Raise ValueError if a run has something else than numbers, or numbers that no run can have."""
    last, may_diverge = run.snapshot, run.snapshot.verdict is Verdict.DIVERGED
    for name in _SECONDS:
        _require(name, getattr(last, name), MOST_SECONDS)
    for name, value in (
        ("sweep", last.sweep),
        ("samples", last.samples),
        ("max_sweeps", run.max_sweeps),
        *last.effective_k.items(),
        *(last.moves or {}).items(),
    ):
        _require(name, value, MOST_COUNT)
        if not isinstance(value, int):
            raise ValueError(f"{name} is {value!r}, and no whole number")
    _require("passes", last.passes, MOST_COUNT)
    if not isinstance(last.burn_in, bool):
        raise ValueError(f"burn_in is {last.burn_in!r}")
    sizes = last.posterior.n_clusters()
    if list(last.effective_k) != list(sizes) or any(k > sizes[name] for name, k in last.effective_k.items()):
        raise ValueError(f"{dict(last.effective_k)} cannot be in use of {sizes}")
    scores = {} if last.heldout is None else last.heldout._asdict()
    measured = {name: getattr(last, name) for name in _MEASURED}
    for name, value in (measured | dict(last.hyper) | dict(last.extras) | scores).items():
        # A score or a diagnostic that was evaluated and has no value is NaN.
        may_be_nan = name in scores or name in last.extras
        if isinstance(value, float) and (may_diverge or (may_be_nan and math.isnan(value))):
            continue
        if value is not None and not is_number(value):
            raise ValueError(f"{name} is {value!r}, and no number that a run can have")
    if run.race_report is not None:
        _check_race(run.race_report)
    _check_history(run.state.history, last.sweep, may_diverge)


def _require(name: str, value: Any, most: float) -> None:
    if not is_number(value, most):
        raise ValueError(f"{name} is {value!r}, and no number from 0 to {most:,.0f}")


def _check_race(race: RaceReport) -> None:
    """Raise ValueError if a race has numbers that no race can have."""
    for one in race.candidates:
        _require("cpu_seconds", one.cpu_seconds, MOST_SECONDS)
        for name, value in (("sweeps", one.sweeps), ("seed", one.seed), ("out_after", one.out_after or 0)):
            _require(name, value, MOST_COUNT)
        if not all(isinstance(getattr(one, name), int | float | None) for name in RACE_CRITERIA):
            raise ValueError("a run in its race has something else than numbers")
    if race.judged_by not in RACE_CRITERIA or race.leader not in [one.seed for one in race.candidates]:
        raise ValueError("its race has no winner")
    for size in race.sizes:
        _require("the size of the race", size, len(race.candidates))


def _check_history(history: History, sweeps: int, may_diverge: bool) -> None:
    """Raise ValueError if the sweeps of a run have numbers that no sweep can have, or are others than it did."""
    columns = history.columns
    if columns[:1] != ("sweep",) or len(set(columns)) < len(columns):
        raise ValueError("its history is not that of sweeps")
    done = history.column("sweep")
    if not 0 < len(done) <= sweeps + 1 or not (np.diff(done) > 0).all() or done[-1] != sweeps:
        raise ValueError(f"its history does not have {sweeps:,} sweeps")
    for name in columns:
        values = history.column(name)
        if name in _SECONDS or name in _COUNTED or name.startswith("effective_k_"):
            most = MOST_SECONDS if name in _SECONDS else MOST_COUNT
            fits = bool(((values >= 0) & (values <= most)).all())
        else:  # NaN where it was not evaluated
            fits = may_diverge or not np.isinf(values).any()
        if not fits:
            raise ValueError(f"{name[:100]} has a value in its history that no sweep can have")


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
