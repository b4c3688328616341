"""Runs and data sets that outlive the process: an SQLite list, and npz files beside it."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acvb_core.engine.executor import Executor
from acvb_core.engine.job import Job
from acvb_core.engine.result import Result
from acvb_core.store.datasets import KINDS, STREAMS, Kind, dataset_key, kind_called, kind_of
from acvb_core.store.files import StoreError, damaged, remove_file
from acvb_core.store.results import read_result, write_result
from acvb_core.store.schema import connected, prepare
from acvb_core.store.streams import forgotten, new_folder
from acvb_core.store.topic_names import TopicNames

_STALE = 24 * 3600.0  # seconds; no write takes that long


@dataclass(frozen=True)
class StoredRun:
    """One line of the list of runs.

    Attributes
    ----------
    job_id : str
    created : float
        Seconds since the epoch.
    summary : dict
        As `Result.summary` gives it.
    settings : dict
        As `Settings.to_dict` gives it.
    """

    job_id: str
    created: float
    summary: dict[str, Any]
    settings: dict[str, Any]


class RunStore:
    """A folder of finished runs and loaded data, safe to use from several threads and processes.

    Every call opens a connection of its own. Files are replaced whole; a data set is stored once however
    many runs were made of it, and goes with the last of them.

    Parameters
    ----------
    folder : Path
        Made when it is not there.

    Raises
    ------
    StoreError
        The folder cannot be used, or was written by a newer version of the program.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        self._database = self.folder / "runs.sqlite3"
        # Runs of the same data share one copy of them in memory.
        self._datasets: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
        try:
            for name in ("runs", *(kind.folder for kind in KINDS)):
                (self.folder / name).mkdir(parents=True, exist_ok=True)
            self._sweep_up()
        except OSError as error:
            raise StoreError(
                f"{self.folder} cannot be used to keep runs: {error.strerror or error}."
            ) from error
        prepare(self._database)

    def save(self, workspace: str, job_id: str, created: float, result: Result) -> None:
        """Keep a run; one of the same id is replaced.

        Parameters
        ----------
        workspace : str
            Whose it is.
        job_id : str
            Letters, digits, - and _.
        created : float
            Seconds since the epoch.
        result : Result

        Raises
        ------
        StoreError
            It cannot be written.
        """
        path = self._run_file(job_id)
        data = result.problem.data
        kind, key = kind_of(data), dataset_key(data)
        summary, settings = result.summary(), result.problem.settings.to_dict()
        with connected(self._database, write=True) as connection:
            before = connection.execute(
                "SELECT kind, dataset FROM runs WHERE job_id = ?", (job_id,)
            ).fetchone()
            self._keep_dataset(kind, key, data)
            try:
                write_result(path, result)
            except StoreError:
                self._drop_dataset(connection, kind.name, key)
                raise
            connection.execute(
                "INSERT OR REPLACE INTO runs (job_id, workspace, created, kind, dataset, summary, settings) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (job_id, workspace, created, kind.name, key, json.dumps(summary), json.dumps(settings)),
            )
            if before is not None:
                self._drop_dataset(connection, *before)

    def runs(self, workspace: str) -> list[StoredRun]:
        """Return the runs of a workspace, oldest first; no file of theirs is opened."""
        with connected(self._database) as connection:
            found = connection.execute(
                "SELECT job_id, created, summary, settings FROM runs WHERE workspace = ? "
                "ORDER BY created, job_id",
                (workspace,),
            ).fetchall()
        return [
            StoredRun(job_id, created, json.loads(summary), json.loads(settings))
            for job_id, created, summary, settings in found
        ]

    def load(self, job_id: str, executor: Executor) -> Job:
        """Return the handle of a stored run, which is over and cannot be extended.

        Raises
        ------
        StoreError
            There is no such run, or one of its files is gone or damaged.
        """
        with connected(self._database) as connection:
            found = connection.execute(
                "SELECT created, kind, dataset FROM runs WHERE job_id = ?", (job_id,)
            ).fetchone()
        if found is None:
            raise StoreError(f"no run {job_id!r} is stored in {self.folder}.")
        created, kind, key = found
        result = read_result(self._run_file(job_id), self._read_dataset(kind, key))
        return Job.restored(result, executor, job_id=job_id, created=created)

    def delete(self, job_id: str) -> None:
        """Forget a run, its topics' names, and its data if nothing else refers to them; an unknown one is no error."""
        with connected(self._database, write=True) as connection:
            found = connection.execute(
                "SELECT kind, dataset FROM runs WHERE job_id = ?", (job_id,)
            ).fetchone()
            if found is None:
                return
            connection.execute("DELETE FROM runs WHERE job_id = ?", (job_id,))
            remove_file(self._run_file(job_id))
            self._drop_dataset(connection, *found)
        TopicNames(self.folder).forget(job_id)

    def save_dataset(
        self, workspace: str, data: Any, report_lines: Sequence[str], settings: Mapping[str, Any]
    ) -> None:
        """Keep a workspace's data, in place of what it had before.

        Parameters
        ----------
        workspace : str
        data : Relation, Corpus, DiskCorpus or Table
        report_lines : sequence of str
            What reading it found.
        settings : mapping
            JSON-able: how it was read, for instance.

        Raises
        ------
        StoreError
            It cannot be written.
        """
        kind, key = kind_of(data), dataset_key(data)
        row = (workspace, kind.name, key, json.dumps(list(report_lines)), json.dumps(dict(settings)))
        with connected(self._database, write=True) as connection:
            before = connection.execute(
                "SELECT kind, dataset FROM datasets WHERE workspace = ?", (workspace,)
            ).fetchone()
            self._keep_dataset(kind, key, data)
            connection.execute(
                "INSERT OR REPLACE INTO datasets (workspace, kind, dataset, report, settings) "
                "VALUES (?, ?, ?, ?, ?)",
                row,
            )
            if before is not None:
                self._drop_dataset(connection, *before)

    def load_dataset(self, workspace: str) -> tuple[Any, list[str], dict[str, Any]] | None:
        """Return a workspace's data, report lines and settings; None when it has no data.

        Raises
        ------
        StoreError
            The file of the data is gone or damaged.
        """
        with connected(self._database) as connection:
            found = connection.execute(
                "SELECT kind, dataset, report, settings FROM datasets WHERE workspace = ?", (workspace,)
            ).fetchone()
        if found is None:
            return None
        kind, key, report, settings = found
        return self._read_dataset(kind, key), json.loads(report), json.loads(settings)

    def new_stream_folder(self) -> Path:
        """Return a folder that a corpus can be read to; once it is kept, it goes with the last that refers to it.

        It does not exist yet. One that is never kept is removed a day later.
        """
        return new_folder(self.folder / STREAMS)

    def _run_file(self, job_id: str) -> Path:
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,100}", job_id):
            raise StoreError(f"{job_id!r} is no name of a run; letters, digits, - and _ make one.")
        return self.folder / "runs" / f"{job_id}.npz"

    def _dataset_file(self, kind: Kind, key: str) -> Path:
        return self.folder / kind.folder / f"{key}.npz"

    def _keep_dataset(self, kind: Kind, key: str, data: Any) -> None:
        # Only called by the one writer, so that nobody deletes it before the row that refers to it is there.
        if kind.elsewhere or not self._dataset_file(kind, key).exists():
            kind.write(self._dataset_file(kind, key), data)

    def _drop_dataset(self, connection: sqlite3.Connection, kind: str, key: str) -> None:
        (used,) = connection.execute(
            "SELECT (SELECT COUNT(*) FROM runs WHERE dataset = ?1) "
            "+ (SELECT COUNT(*) FROM datasets WHERE dataset = ?1)",
            (key,),
        ).fetchone()
        if not used:
            found = kind_called(kind)
            found.remove(self._dataset_file(found, key))

    def _read_dataset(self, name: str, key: str) -> Any:
        known = self._datasets.get(key)
        if known is not None:
            return known
        kind = kind_called(name)
        path = self._dataset_file(kind, key)
        data = kind.read(path)
        if dataset_key(data) != key:
            raise damaged(path, f"it is not the {kind.name} it was stored as")
        self._datasets[key] = data
        return data

    def _sweep_up(self) -> None:
        """Remove what writes that were cut off long ago left behind."""
        for path in self.folder.glob("*/*.part"):
            with suppress(FileNotFoundError):  # another process has just finished writing it
                if _is_stale(path):
                    path.unlink()
        for folder in forgotten(self.folder / STREAMS):
            if _is_stale(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_stale(path: Path) -> bool:
    return time.time() - path.stat().st_mtime > _STALE
