"""Runs and data sets that outlive the process: an SQLite list, and npz files in the same folder."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from acvb_core.core.errors import AcvbError, hide_places
from acvb_core.engine.executor import ExecutorChoice
from acvb_core.engine.job import Job, RunOutline
from acvb_core.engine.prepared import PreparedRun, RunLabel
from acvb_core.engine.result import Result
from acvb_core.store.datasets import (
    KINDS,
    ORIGINALS,
    STREAMS,
    DataFiles,
    Original,
    OriginalFiles,
    dataset_key,
    find_kind,
    find_unused_folders,
    kind_of,
)
from acvb_core.store.files import DAMAGE, StoreError, file_bytes, remove_file, sync_folder
from acvb_core.store.index import (
    SAVE,
    SELECT,
    UNKNOWN,
    Note,
    Row,
    RunIndex,
    choose_id,
    find_run,
    identity_of,
    note_data,
    outline_run,
    read_label,
    read_mapping,
    save_label,
    save_row,
)
from acvb_core.store.part_names import PartNames
from acvb_core.store.results import (
    RUNS,
    TRASH,
    RunIdentity,
    add_identity,
    read_about,
    read_array,
    read_identity,
    read_result,
    read_state,
    run_path,
    swap_error,
    trash_path,
    write_result,
)

DAY = 24 * 3600.0  # seconds
_DATA_OF = "SELECT kind, dataset, report, settings FROM datasets WHERE workspace = ?"


class TakenRun(NamedTuple):
    """A run that is taken over from elsewhere, with what it has there."""

    job_id: str
    created: float  #: seconds since the epoch
    run: Result | PreparedRun
    label: RunLabel
    part_names: Any  #: as `PartNames.entries` gives them; not checked


class RunStore:
    """A folder of runs and loaded data, safe to use from several threads and processes.

    Every call opens a connection of its own. Files are replaced whole; a data set is stored once however
    many runs were made of it, and goes with the last of them. Run files say whose they are, so that the list of
    runs can be made again from them. From a folder that cannot be written to, runs can be read; what would change it
    raises a StoreError.

    `folder`: made when it is not there.
    Raises StoreError: the folder cannot be used, or was written by a newer version of the program.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        self._list = RunIndex(self.folder, (RUNS, TRASH, ORIGINALS, *(kind.folder for kind in KINDS)))
        self._data, self._trash = DataFiles(self.folder), Trash(self.folder)
        self._originals = OriginalFiles(self.folder)
        if self.unwritable is None:
            with suppress(OSError, StoreError):  # it is tried again with the next start
                # So that nobody keeps what is about to be removed.
                with self._list.writing() as connection:
                    remove_cut_off_writes(self.folder)
                    for path in filter(is_stale, self._originals.find_unused(connection)):
                        path.unlink(missing_ok=True)
                self._purge()

    @property
    def notices(self) -> list[str]:
        """Sentences for the user about a list of runs that was damaged or missing."""
        return list(dict.fromkeys(map(hide_places, self._list.notices)))

    @property
    def unwritable(self) -> str | None:
        """The reason why nothing can be kept at the moment, None where it can; what is kept can be read."""
        return self._list.unwritable

    def save(
        self, workspace: str, job_id: str, created: float, run: Result | PreparedRun, *, state: bool = True
    ) -> None:
        """Keep a run of a workspace, created so many seconds after the epoch; its own one of the same id is replaced.

        An id is made of letters, digits, - and _. The run is over or not; a `PreparedRun` is one that did no sweep yet.

        `state`: with what the run continues from, where it is at hand.
        Raises StoreError: it cannot be kept, or the run is another workspace's.
        """
        identity = _identify(workspace, job_id, created, run)
        with self._list.writing() as connection:
            self._check_owner(connection, workspace, job_id)
            self._write(connection, identity, run, state)

    def take(self, workspace: str, taken: TakenRun) -> str | None:
        """Keep a run of an archive with its label, and return its id; None if the workspace has it already.

        If another workspace has a run of this id, it gets another id (`choose_id`). The id is chosen in the same
        transaction in which the run is written: nobody else can take it meanwhile.

        Raises StoreError: it cannot be kept.
        """
        identity = _identify(workspace, taken.job_id, taken.created, taken.run)
        with self._list.writing() as connection:
            chosen = choose_id(partial(self._find_owner, connection), workspace, taken.job_id)
            if chosen is None:
                return None
            save_label(connection, chosen, taken.label)
            names = PartNames(self.folder)
            try:
                names.take_entries(chosen, taken.part_names)
                self._write(connection, replace(identity, job_id=chosen), taken.run, state=True)
            except BaseException:
                names.forget(chosen)
                raise
        return chosen

    def _write(
        self, connection: sqlite3.Connection, identity: RunIdentity, run: Result | PreparedRun, state: bool
    ) -> None:
        """Write the files of a run and its row; what interrupts that leaves nothing of a run that is new."""
        prepared = run.prepared if isinstance(run, Result) else run
        path, kind = run_path(self.folder, identity.job_id), find_kind(identity.kind)
        before, was_there = find_run(connection, identity.job_id), path.exists()
        connection.execute("SAVEPOINT before_run")
        try:
            self._data.keep(kind, identity.dataset, prepared.data)
            write_result(path, run, identity, state=state)
            save_row(connection, identity)
            self._trash.remove(identity.job_id)
        except BaseException:
            connection.execute("ROLLBACK TO before_run")
            if not was_there:
                remove_file(path)
            self._data.drop(connection, kind.name, identity.dataset)
            raise
        if before is not None:
            self._data.drop(connection, before.kind, before.dataset)

    def _find_owner(self, connection: sqlite3.Connection, job_id: str) -> str | None:
        """Return whose a run is, by the list or else by its file; None where there is no such run."""
        listed = find_run(connection, job_id)
        if listed is not None and listed.workspace != UNKNOWN:
            return listed.workspace
        for path in (run_path(self.folder, job_id), trash_path(self.folder, job_id)):
            if path.exists():
                with suppress(StoreError):
                    run = read_identity(path)
                    return UNKNOWN if run is None else run.workspace
                return UNKNOWN
        return None if listed is None else UNKNOWN

    def _check_owner(self, connection: sqlite3.Connection, workspace: str, job_id: str) -> None:
        """Raise a StoreError where a run is another workspace's; one without a known owner is everybody's."""
        if self._find_owner(connection, job_id) not in (None, UNKNOWN, workspace):
            raise StoreError(f"run {job_id} belongs to another workspace. Nothing was changed.")

    def runs(self, workspace: str) -> list[RunIdentity]:
        """Return the runs of a workspace, oldest first; no file of theirs is opened."""
        deleted = self._trash.job_ids()
        return [run for run in self._read_list(workspace) if run.job_id not in deleted]

    def outlines(self, runs: Sequence[RunIdentity]) -> dict[str, RunOutline]:
        """Return the outlines of runs by id; no file that was read before is opened.

        Those that are left out are to be loaded: they were changed meanwhile, or cannot be read.
        """
        known, new, found = self._list.find_notes(), dict[str, Note](), dict[str, RunOutline]()
        data: dict[tuple[str, str], tuple[Note, bool]] = {}
        for name, key in {(run.kind, run.dataset) for run in runs if run.workspace != UNKNOWN}:
            with suppress(StoreError):
                kind = find_kind(name)
                path = f"{kind.folder}/{key}.npz"
                # A file that only says where the data lie does not say whether they are there.
                note = None if kind.elsewhere else known.get(path)
                if note is None and (note := note_data(self.folder / path, self._data.read(name, key))):
                    new[path] = note
                if note is not None:
                    data[name, key] = note, kind.elsewhere
        for run in runs:
            note = known.get(f"{RUNS}/{run.job_id}.npz")
            if note is not None and (run.kind, run.dataset) in data:
                about, on_disk = data[run.kind, run.dataset]
                with suppress(AcvbError, *DAMAGE):
                    found[run.job_id] = outline_run(run, note, about, on_disk=on_disk)
        self._list.keep_notes(new)
        return found

    def find_owner(self, job_id: str) -> str | None:
        """Return the workspace of a run, deleted or not; None where there is no such run."""
        return self._list.read(self._find_owner, job_id)

    def trash(self, workspace: str) -> list[RunIdentity]:
        """Return the deleted runs of a workspace that can be brought back, oldest first."""
        deleted = self._trash.job_ids()
        return [run for run in self._read_list(workspace) if run.job_id in deleted] if deleted else []

    def workspaces(self) -> set[str]:
        """Return the names of all that keep runs or data here."""
        rows = self._list.select("SELECT workspace FROM runs UNION SELECT workspace FROM datasets")
        return {str(workspace) for (workspace,) in rows}

    def used_bytes(self, *owners: str) -> int:
        """Return the bytes of the files that some owners keep.

        These are runs, deleted ones too, each data set once, and the files that data were read from.
        """
        runs: list[Row] = []
        data: list[Row] = []
        for owner in owners:
            runs += self._list.select("SELECT job_id, kind, dataset FROM runs WHERE workspace = ?", owner)
            data += self._list.select(
                "SELECT settings, kind, dataset FROM datasets WHERE workspace = ?", owner
            )
        files = [place(self.folder, job_id) for job_id, *_ in runs for place in (run_path, trash_path)]
        kept = {(kind, key) for *_, kind, key in [*runs, *data] if key}
        own = sum(self._originals.size(settings) for settings, *_ in data)
        return sum(map(file_bytes, files)) + sum(self._data.size(*one) for one in kept) + own

    def _read_list(self, workspace: str) -> list[RunIdentity]:
        """Return what the list says of a workspace's runs, oldest first, and of runs that may be any workspace's."""
        statement = f"{SELECT['runs']} WHERE workspace IN (?, ?) ORDER BY created, job_id"
        return [identity_of(row) for row in self._list.select(statement, workspace, UNKNOWN)]

    def load(self, job_id: str, executor: ExecutorChoice, workspace: str | None = None) -> Job:
        """Return the handle of a stored run, which is over or was interrupted.

        `workspace`: whose run it must be; by default anybody's.
        Raises StoreError: there is no such run, one of its files is gone or damaged, its file holds another run, or it
          is another workspace's.
        """
        path = run_path(self.folder, job_id)
        listed = self._list.read(find_run, job_id)
        if listed is None:
            raise StoreError(f"no run {job_id!r} is stored in {self.folder}.")
        run = read_identity(path)
        if run is None:  # an older version wrote the file, and only the list knows more
            if listed.workspace == UNKNOWN:
                raise StoreError(
                    f"{path} is of an older version and does not say which data it is of, and the list of runs that "
                    "said so is gone. Put a copy of runs.sqlite3 back, and start the program again."
                )
            add_identity(path, listed)
            run = listed
        elif run.job_id != job_id:
            raise swap_error(path, job_id)
        # It was listed without an owner while its file was damaged.
        if workspace not in (None, run.workspace):
            raise StoreError("this run belongs to another workspace.")
        stored = read_result(path, self._data.read(run.kind, run.dataset))
        read_state = partial(self.read_state, job_id) if "state" in read_about(path) else None
        job = Job.restore(
            stored, executor, job_id=job_id, created=run.created, owner=workspace or "", read_state=read_state
        )
        job.release_answer(partial(self.read_array, job_id), is_new=True)
        return job

    def read_array(self, job_id: str, name: str) -> Any:
        """Return one array of a stored run, deleted or not.

        Raises StoreError: the file is gone or damaged.
        """
        path, aside = run_path(self.folder, job_id), trash_path(self.folder, job_id)
        for place in (path, aside, path):  # it may be deleted, or brought back, at this moment
            if place.exists():
                try:
                    return read_array(place, name)
                except StoreError:
                    if place.exists():
                        raise
        return read_array(path, name)

    def read_state(self, job_id: str) -> tuple[Any, Any] | None:
        """Return what a stored run continues from, and what the engine keeps; None if they were not stored.

        Raises StoreError: the file is gone or damaged, or of a version with other states.
        """
        return read_state(run_path(self.folder, job_id))

    def label(self, job_id: str) -> RunLabel | None:
        """Return the name and notes of a run, None where it has none yet."""
        rows = self._list.select(f"{SELECT['labels']} WHERE job_id = ?", job_id)
        return read_label(rows[0]) if rows else None

    def labels(self, workspace: str) -> dict[str, RunLabel]:
        """Return the names and notes of a workspace's runs by id, of those that have any."""
        rows = self._list.select(
            "SELECT job_id, name, note, tags, pinned FROM labels JOIN runs USING (job_id) WHERE workspace IN (?, ?)",
            workspace,
            UNKNOWN,
        )
        return {str(row[0]): label for row in rows if (label := read_label(row)) is not None}

    def save_label(self, workspace: str, job_id: str, label: RunLabel) -> None:
        """Keep the name and notes of a workspace's run, which need not be stored yet.

        Raises StoreError: they cannot be kept, or the run is another workspace's.
        """
        with self._list.writing() as connection:
            self._check_owner(connection, workspace, job_id)
            save_label(connection, job_id, label)

    def move_to_trash(self, workspace: str, job_id: str) -> bool:
        """Delete a workspace's run so that it can be brought back for a day; return whether it can.

        One that is not stored is no error, and one whose file is gone is forgotten at once.

        Raises StoreError: it cannot be moved, or the run is another workspace's.
        """
        if self._list.read(find_run, job_id) is None:
            return False
        with self._list.writing() as connection:
            self._check_owner(connection, workspace, job_id)
            there = self._trash.put(job_id)
            if not there:
                self._forget(connection, job_id)
        self._purge()
        return there

    def is_in_trash(self, job_id: str) -> bool:
        """Return whether a run was deleted and can be brought back."""
        return trash_path(self.folder, job_id).exists() and not run_path(self.folder, job_id).exists()

    def take_from_trash(self, workspace: str, job_id: str) -> bool:
        """Bring a workspace's deleted run back, with its topics' names; return whether it is there again.

        Raises StoreError: it cannot be moved, or the run is another workspace's.
        """
        with self._list.writing() as connection:
            self._check_owner(connection, workspace, job_id)
            return self._trash.take(job_id)

    def _purge(self) -> None:
        """Delete for good what was deleted more than a day ago."""
        if self._trash.outdated_ids():
            with self._list.writing() as connection:
                for job_id in self._trash.outdated_ids():  # one may just have been brought back
                    self._forget(connection, job_id)

    def delete(self, workspace: str, job_id: str) -> None:
        """Forget a workspace's run for good, its name and notes, and its data if nothing else refers to them.

        An unknown one is no error.

        Raises StoreError: it cannot be deleted, or the run is another workspace's.
        """
        with self._list.writing() as connection:
            self._check_owner(connection, workspace, job_id)
            self._forget(connection, job_id)

    def _forget(self, connection: sqlite3.Connection, job_id: str) -> None:
        connection.execute("DELETE FROM labels WHERE job_id = ?", (job_id,))
        listed = find_run(connection, job_id)
        if listed is None:
            return
        connection.execute("DELETE FROM runs WHERE job_id = ?", (job_id,))
        PartNames(self.folder).forget(job_id)
        remove_file(run_path(self.folder, job_id))
        self._trash.remove(job_id)
        self._data.drop(connection, listed.kind, listed.dataset)

    def save_dataset(
        self, workspace: str, data: Any, report_lines: Sequence[str], settings: Mapping[str, Any]
    ) -> None:
        """Keep a workspace's data and the report of reading them, in place of what it had before.

        The settings are whatever else is to be kept, as JSON allows it: how the data were read, for instance, and the
        file that they were read from (`Original.to_settings`).
        """
        kind, key = kind_of(data), dataset_key(data)
        row = (workspace, kind.name, key, json.dumps(list(report_lines)), json.dumps(dict(settings)))
        with self._list.writing() as connection:
            before = connection.execute(_DATA_OF, (workspace,)).fetchone()
            self._data.keep(kind, key, data)
            connection.execute(SAVE["datasets"], row)
            if before is not None:
                self._data.drop(connection, *before[:2])
                self._originals.drop(connection, before[3])

    def forget_dataset(self, workspace: str) -> None:
        """Forget a workspace's data, and the file that they were read from; they go with the last run that has them."""
        with self._list.writing() as connection:
            row = connection.execute(
                "DELETE FROM datasets WHERE workspace = ? RETURNING kind, dataset, settings", (workspace,)
            ).fetchone()
            if row is not None:
                self._data.drop(connection, *row[:2])
                self._originals.drop(connection, row[2])

    def keep_original(self, name: str, content: bytes) -> Original:
        """Keep a file that data are read from, for `save_dataset`; without it, it is removed a day later.

        Raises StoreError: it cannot be kept.
        """
        return self._originals.write(name, content)

    def has_original(self, original: Original) -> bool:
        """Return whether a file that data were read from is there."""
        return self._originals.path(original).is_file()

    def read_original(self, original: Original) -> bytes:
        """Return a file that data were read from, as it was.

        Raises StoreError: it is gone or damaged.
        """
        return self._originals.read(original)

    def load_dataset(self, workspace: str) -> tuple[Any, list[str], dict[str, Any]] | None:
        """Return a workspace's data, report lines and settings; None when it has no data.

        Raises StoreError: the file of the data is gone or damaged, or what the list says of them.
        """
        rows = self._list.select(_DATA_OF, workspace)
        if not rows:
            return None
        ((kind, key, report, settings),) = rows
        try:
            lines, how = list(json.loads(report)), dict(json.loads(settings))
        except (ValueError, TypeError) as error:
            raise StoreError(
                "what the list of runs says of your data is damaged. Load the data again."
            ) from error
        return self._data.read(kind, key), lines, how

    def find_settings(self, beginning: str) -> dict[str, dict[str, Any]]:
        """Return the settings of the data of all whose names begin so, by name; no data are read."""
        rows = self._list.select(
            "SELECT workspace, settings FROM datasets WHERE substr(workspace, 1, length(?1)) = ?1 ORDER BY rowid",
            beginning,
        )
        return {str(owner): read_mapping(settings) for owner, settings in rows}

    def new_stream_folder(self) -> Path:
        """Return a folder that a corpus can be read to; once it is kept, it goes with the last that refers to it.

        It does not exist yet. One that is never kept is removed a day later.
        """
        return self.folder / STREAMS / uuid.uuid4().hex


def _identify(workspace: str, job_id: str, created: float, run: Result | PreparedRun) -> RunIdentity:
    """Return all that the list says of a run."""
    prepared = run.prepared if isinstance(run, Result) else run
    # As they come back from JSON, so that the list and the file say the same.
    summary, settings = json.loads(
        json.dumps([run.summary() if isinstance(run, Result) else {}, prepared.spec.to_dict()])
    )
    kind, key = kind_of(prepared.data).name, dataset_key(prepared.data)
    return RunIdentity(job_id, workspace, float(created), kind, key, summary, settings)


class Trash:
    """The deleted runs of a store. Where a run's file lies says whether it is deleted, and nothing else does.

    `folder`: of the store.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def job_ids(self) -> set[str]:
        """Return the ids of the deleted runs."""
        trash, runs = ({file.stem for file in (self.folder / name).glob("*.npz")} for name in (TRASH, RUNS))
        return trash - runs

    def outdated_ids(self) -> list[str]:
        """Return the ids of the runs that were deleted more than a day ago."""
        return [job_id for job_id in self.job_ids() if is_stale(trash_path(self.folder, job_id))]

    def put(self, job_id: str) -> bool:
        """Move a run's file here; False where there is none."""
        path, aside = run_path(self.folder, job_id), trash_path(self.folder, job_id)
        if not path.exists():
            return aside.exists()
        os.utime(path)  # the day begins now
        _move(path, aside)
        return True

    def take(self, job_id: str) -> bool:
        """Move a run's file back; return whether the run has one."""
        path, aside = run_path(self.folder, job_id), trash_path(self.folder, job_id)
        if aside.exists() and not path.exists():
            _move(aside, path)
        return path.exists()

    def remove(self, job_id: str) -> None:
        """Remove a run's file for good; one that is not here is no error."""
        remove_file(trash_path(self.folder, job_id))


def is_stale(path: Path) -> bool:
    """Return whether a file or folder was last changed more than a day ago; one that is gone is not."""
    try:
        return time.time() - path.stat().st_mtime > DAY
    except FileNotFoundError:
        return False


def remove_cut_off_writes(folder: Path) -> None:
    """Remove what writes to a store that were cut off long ago left behind."""
    (folder / "outlines.sqlite3").unlink(missing_ok=True)  # notes of an earlier version
    for path in folder.glob("*/*.part"):
        if is_stale(path):
            path.unlink(missing_ok=True)
    for streamed in find_unused_folders(folder / STREAMS):
        if is_stale(streamed):
            shutil.rmtree(streamed, ignore_errors=True)


def _move(path: Path, to: Path) -> None:
    os.replace(path, to)
    sync_folder(to.parent)
    sync_folder(path.parent)
