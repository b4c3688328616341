"""The list of runs, held against the run files, which have the last word; a damaged one is made anew from them."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from acvb_core.core.scratch import scratch_prefix
from acvb_core.store.files import StoreError, sync_folder, write_arrays
from acvb_core.store.listing.outlines import Note, Notes, digest_row
from acvb_core.store.listing.run_rows import (
    RUNS,
    SAVE,
    SELECT,
    TRASH,
    UNKNOWN,
    Row,
    identity_of,
    row_of,
    run_path,
    save_row,
    trash_path,
)
from acvb_core.store.listing.schema import DamagedListError, check_whole, open_connection, prepare
from acvb_core.store.results import VERSION, RunIdentity, add_identity, read_identity


def open_list(folder: Path, path: Path) -> list[str]:
    """Make the list of a store's runs ready for use; return what became of it, in sentences for the user.

    A damaged list is put aside and made anew; whatever the run files say that the list does not is put into it.

    `folder`: of the store.
    `path`: the list: in this folder, or a copy elsewhere.
    Raises StoreError: it was written by a newer version of the program, or cannot be written to.
    """
    notices = []
    missing, notes = not path.exists(), Notes(folder).refresh()
    try:
        prepare(path)
        check_whole(path)
        mended = _reconcile(folder, path, notes)
    except DamagedListError:
        aside = _rebuild(folder, path)
        mended = _reconcile(folder, path, notes)
        place = f" The damaged list is kept as {aside}." if path.parent == folder else ""
        notices.append(f"The list of runs was damaged. It was made anew from the files of the runs.{place}")
    if missing and mended:
        notices.append(
            "The list of runs was missing. It was made anew from the files of the runs. Choose your data again."
        )
    return notices


def _rebuild(folder: Path, path: Path) -> Path:
    """Put a damaged list aside, and a new one with what can still be read of it in its place; return where it is."""
    fresh = path.with_name(f"{path.name}.{uuid.uuid4().hex}.new")
    try:
        prepare(fresh)
        with open_connection(fresh, write=True) as connection:
            for table, row in _salvage(path):
                is_whole = table == "datasets" or _is_filed(folder, row[0])
                if is_whole and all(isinstance(cell, str | float | int) for cell in row):
                    connection.execute(SAVE[table], row)
        name = f"{path.name}.damaged-{time.strftime('%Y-%m-%d-%H%M%S')}"
        aside = next(
            candidate
            for number in range(1, 1000)
            if not (candidate := path.with_name(name if number == 1 else f"{name}-{number}")).exists()
        )
        for ending in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.replace(f"{path}{ending}", f"{aside}{ending}")
        os.replace(fresh, path)
        sync_folder(path.parent)
    except OSError as error:
        raise StoreError(
            f"{path} is damaged, and no new one can be made: {error.strerror or error}."
        ) from error
    finally:
        for ending in ("", "-wal", "-shm"):
            with suppress(OSError):
                Path(f"{fresh}{ending}").unlink(missing_ok=True)
    return aside


def _is_filed(folder: Path, job_id: Any) -> bool:
    try:
        return run_path(folder, str(job_id)).exists() or trash_path(folder, str(job_id)).exists()
    except StoreError:
        return False


def _salvage(path: Path) -> Iterator[tuple[str, Row]]:
    """Yield the rows of a damaged list that can be read, from its beginning and from its end."""
    with TemporaryDirectory(prefix=scratch_prefix()) as folder:
        copy = Path(folder) / path.name
        for ending in ("", "-wal"):
            with suppress(FileNotFoundError):
                shutil.copyfile(f"{path}{ending}", f"{copy}{ending}")
        with suppress(StoreError):
            prepare(copy)  # an older one has other columns
        for table in SELECT:
            for order in ("ASC", "DESC"):
                with suppress(StoreError), open_connection(copy) as connection:
                    for row in connection.execute(f"{SELECT[table]} ORDER BY rowid {order}"):
                        yield table, row


def _reconcile(folder: Path, path: Path, notes: Mapping[str, Note]) -> bool:
    """Put into the list what the run files say; return whether anything was missing or wrong.

    A file is not opened where there is a note of the row that it should have, and the list has this row.
    """
    with open_connection(path) as connection:
        if next(_find_differences(folder, connection, notes), None) is None:
            return False
    with open_connection(path, write=True) as connection:
        # Looked up again: another process may just have been saving a run.
        for file, run, unnamed in list(_find_differences(folder, connection, notes)):
            if unnamed:
                with suppress(StoreError):  # loading the run will say why
                    write_arrays(file, add_identity(file, run), version=VERSION)
            else:
                save_row(connection, run)
    return True


def _find_differences(
    folder: Path, connection: sqlite3.Connection, notes: Mapping[str, Note]
) -> Iterator[tuple[Path, RunIdentity, bool]]:
    """Yield what the list should say of the files that it does not agree with, or that say nothing of their run."""
    rows = {row[0]: row for row in connection.execute(SELECT["runs"])}
    for place in (RUNS, TRASH):
        for file in sorted((folder / place).glob("*.npz")):
            row, note = rows.get(file.stem), notes.get(f"{place}/{file.name}")
            if row is not None and note is not None and note.row == digest_row(row):
                continue
            try:
                run = read_identity(file)
                if run is None and row is not None:
                    yield file, identity_of(row), True
                if run is not None and run.job_id == file.stem:
                    if row != row_of(run):
                        yield file, run, False
                    continue
            except StoreError:
                pass  # loading the run will say why
            if row is None and _is_filed(folder, file.stem):
                yield file, RunIdentity(file.stem, UNKNOWN, file.stat().st_mtime, "", "", {}, {}), False
