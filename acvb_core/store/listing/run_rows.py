"""Places of the files of runs, and their rows in the list of runs."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from acvb_core.engine.prepared import RunLabel, clean_name
from acvb_core.store.files import StoreError
from acvb_core.store.results import RunIdentity

LIST = "runs.sqlite3"
#: Where the files of runs lie, and those of deleted runs until they go for good.
RUNS, TRASH = "runs", "deleted"
#: In place of the workspace of a run that nothing tells of any more: such a run is shown in all of them.
UNKNOWN = ""

#: By table; the names of columns that `SAVE` takes in the same order.
SELECT = {
    "runs": "SELECT job_id, workspace, created, kind, dataset, summary, settings FROM runs NOT INDEXED",
    "datasets": "SELECT workspace, kind, dataset, report, settings FROM datasets NOT INDEXED",
    "labels": "SELECT job_id, name, note, tags, pinned FROM labels NOT INDEXED",
}
SAVE = {
    "runs": "INSERT OR REPLACE INTO runs (job_id, workspace, created, kind, dataset, summary, settings) "
    "VALUES (?, ?, ?, ?, ?, ?, ?)",
    "datasets": "INSERT OR REPLACE INTO datasets (workspace, kind, dataset, report, settings) "
    "VALUES (?, ?, ?, ?, ?)",
    "labels": "INSERT OR REPLACE INTO labels (job_id, name, note, tags, pinned) VALUES (?, ?, ?, ?, ?)",
}

Row = tuple[Any, ...]


def run_path(folder: Path, job_id: str) -> Path:
    """Return the file of a run, below the store's folder.

    Raises StoreError: this is no id of a run.
    """
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,100}", job_id):
        raise StoreError(f"{job_id!r} is no name of a run; letters, digits, - and _ make one.")
    return folder / RUNS / f"{job_id}.npz"


def trash_path(folder: Path, job_id: str) -> Path:
    """Return where the file of a run lies after the run was deleted."""
    return folder / TRASH / run_path(folder, job_id).name


def choose_id(find_owner: Callable[[str], str | None], workspace: str, job_id: str) -> str | None:
    """Return the id that a run or plan from elsewhere is to have; None if the workspace has it already.

    If another workspace has one of its id, it gets another one, the same each time. The answer holds only as long as
    nobody else writes: ask in the transaction, or under the lock, in which the run or plan is written.

    Raises StoreError: both ids are taken by others.
    """
    other = hashlib.sha256(f"{workspace} {job_id}".encode()).hexdigest()[:12]
    for candidate in (job_id, other):
        owner = find_owner(candidate)
        if owner is None:
            return candidate
        if owner == workspace:
            return None
    raise StoreError(f"the names {job_id} and {other} are taken by others here.")


def save_row(connection: sqlite3.Connection, run: RunIdentity) -> None:
    """Put a run into the list, in place of what the list said of it."""
    connection.execute(SAVE["runs"], row_of(run))


def save_dataset_row(connection: sqlite3.Connection, row: Row) -> None:
    """Put a workspace's data (workspace, kind, key, report, settings) into the list."""
    connection.execute(SAVE["datasets"], row)


def find_run(connection: sqlite3.Connection, job_id: str) -> RunIdentity | None:
    """Return what the list says of a run; None where it is not in it."""
    row = connection.execute(f"{SELECT['runs']} WHERE job_id = ?", (job_id,)).fetchone()
    return None if row is None else identity_of(row)


def find_runs(connection: sqlite3.Connection, workspace: str) -> list[RunIdentity]:
    """Return what the list says of a workspace's runs, oldest first, and of runs that may be any workspace's."""
    rows = connection.execute(
        f"{SELECT['runs']} WHERE workspace IN (?, ?) ORDER BY created, job_id", (workspace, UNKNOWN)
    )
    return [identity_of(row) for row in rows]


def find_workspaces(connection: sqlite3.Connection) -> set[str]:
    """Return the workspaces that have runs or data; among them are the owners of other data."""
    rows = connection.execute("SELECT workspace FROM runs UNION SELECT workspace FROM datasets")
    return {str(workspace) for (workspace,) in rows}


def find_dataset(connection: sqlite3.Connection, owner: str) -> Row | None:
    """Return the kind, key, report and settings of an owner's data; None where it has none."""
    row: Row | None = connection.execute(
        "SELECT kind, dataset, report, settings FROM datasets WHERE workspace = ?", (owner,)
    ).fetchone()
    return row


def find_settings(connection: sqlite3.Connection, beginning: str) -> dict[str, dict[str, Any]]:
    """Return the settings of the data of each owner whose name begins so, in the order they were kept."""
    rows = connection.execute(
        "SELECT workspace, settings FROM datasets WHERE substr(workspace, 1, length(?1)) = ?1 ORDER BY rowid",
        (beginning,),
    )
    return {str(owner): _mapping(settings) for owner, settings in rows}


def find_kept(connection: sqlite3.Connection, owner: str) -> tuple[list[str], set[tuple[str, str]]]:
    """Return the ids of a workspace's runs, deleted ones too, and the kinds and keys of all its data."""
    runs = connection.execute(
        "SELECT job_id, kind, dataset FROM runs WHERE workspace = ?", (owner,)
    ).fetchall()
    used = connection.execute("SELECT kind, dataset FROM datasets WHERE workspace = ?", (owner,)).fetchall()
    return [job_id for job_id, _, _ in runs], {(kind, key) for *_, kind, key in [*runs, *used] if key}


def save_label(connection: sqlite3.Connection, job_id: str, label: RunLabel) -> None:
    """Put the label of a run into the list; the run itself may come later."""
    row = (job_id, label.name, label.note, json.dumps(label.tags), int(label.pinned))
    connection.execute(SAVE["labels"], row)


def find_label(connection: sqlite3.Connection, job_id: str) -> RunLabel | None:
    """Return the label of a run; None where it has none yet, or one that cannot be read."""
    row = connection.execute(f"{SELECT['labels']} WHERE job_id = ?", (job_id,)).fetchone()
    return None if row is None else _read_label(row)


def find_labels(connection: sqlite3.Connection, workspace: str) -> dict[str, RunLabel]:
    """Return the labels of a workspace's runs that have one, by id."""
    rows = connection.execute(
        "SELECT job_id, name, note, tags, pinned FROM labels JOIN runs USING (job_id) WHERE workspace IN (?, ?)",
        (workspace, UNKNOWN),
    )
    return {str(row[0]): label for row in rows if (label := _read_label(row)) is not None}


def _read_label(row: Row) -> RunLabel | None:
    _, name, note, tags, pinned = row
    try:
        words = tuple(str(tag) for tag in json.loads(tags))
    except (ValueError, TypeError, RecursionError):
        words = ()
    name = clean_name(str(name))
    return RunLabel(name, str(note), words, bool(pinned)) if name else None


def row_of(run: RunIdentity) -> Row:
    """Return a run as the list has it."""
    texts = (json.dumps(run.summary), json.dumps(run.settings))
    return (run.job_id, run.workspace, run.created, run.kind, run.dataset, *texts)


def identity_of(row: Row) -> RunIdentity:
    """Return a row as what it says; what cannot be read in it is left empty."""
    job_id, workspace, created, kind, dataset, *texts = row
    return RunIdentity(
        str(job_id),
        str(workspace),
        float(created) if isinstance(created, int | float) else 0.0,
        str(kind),
        str(dataset),
        *(_mapping(text) for text in texts),
    )


def _mapping(text: Any) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
