"""The SQLite file that lists what is stored: how it is opened, and how older ones are brought up to date."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from acvb_core.store.files import StoreError, damage_error


class DamagedListError(StoreError):
    """The database is not as this program wrote it."""


#: Statements that lead from version i to version i + 1. Never change one that was released; add one.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE runs (
            job_id TEXT PRIMARY KEY,
            workspace TEXT NOT NULL,
            created REAL NOT NULL,
            relation TEXT NOT NULL,
            summary TEXT NOT NULL,
            settings TEXT NOT NULL
        )""",
        "CREATE INDEX runs_of_workspace ON runs (workspace, created)",
        "CREATE INDEX runs_of_relation ON runs (relation)",
        """CREATE TABLE datasets (
            workspace TEXT PRIMARY KEY,
            relation TEXT NOT NULL,
            report TEXT NOT NULL,
            settings TEXT NOT NULL
        )""",
    ),
    (
        "ALTER TABLE runs RENAME COLUMN relation TO dataset",
        "ALTER TABLE runs ADD COLUMN kind TEXT NOT NULL DEFAULT 'relation'",
        "DROP INDEX runs_of_relation",
        "CREATE INDEX runs_of_dataset ON runs (dataset)",
        "ALTER TABLE datasets RENAME COLUMN relation TO dataset",
        "ALTER TABLE datasets ADD COLUMN kind TEXT NOT NULL DEFAULT 'relation'",
    ),
    (
        """CREATE TABLE labels (
            job_id TEXT PRIMARY KEY,
            name TEXT NOT NULL,
            note TEXT NOT NULL,
            tags TEXT NOT NULL,
            pinned INTEGER NOT NULL
        )""",
    ),
)

#: How long a call waits for another one that is writing, in seconds.
PATIENCE = 30.0


@contextmanager
def open_connection(path: Path, *, write: bool = False) -> Iterator[sqlite3.Connection]:
    """Open the database for one call; with `write`, as the only writer until the block ends.

    What the block changes is kept when it ends well and undone when it raises.

    Raises DamagedListError: the file is no database of this program, or is damaged.
    Raises StoreError: it is locked, or cannot be written to.
    """
    try:
        connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
        # A damaged letter must not hide its row, let alone the others.
        connection.text_factory = lambda text: text.decode("utf-8", "replace")
        try:
            if write:
                connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            if connection.in_transaction:
                connection.execute("COMMIT")
        finally:
            connection.close()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise StoreError(
                f"The list of runs ({path.name}) is in use by another process for more than {PATIENCE:g} s. Try again."
            ) from error
        # Our own statements are right, so it is the tables that are not as they were made.
        kind = DamagedListError if error.sqlite_errorcode == sqlite3.SQLITE_ERROR else StoreError
        raise kind(f"{path} cannot be used: {error}.") from error
    # SQLite's own words may be of the damaged part.
    except (sqlite3.DatabaseError, MemoryError, UnicodeDecodeError) as error:
        raise DamagedListError(str(damage_error(path, error))) from error


def prepare(path: Path) -> None:
    """Make the database, or bring an older one up to date.

    Raises StoreError: it was written by a newer version of the program, or cannot be used at all.
    """
    with open_connection(path) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        if _read_version(connection, path) == len(MIGRATIONS):
            return
    with open_connection(path, write=True) as connection:
        # Looked up again: another process may have been faster.
        for version in range(_read_version(connection, path), len(MIGRATIONS)):
            for statement in MIGRATIONS[version]:
                connection.execute(statement)
            # A pragma takes no parameter; the number is our own.
            connection.execute(f"PRAGMA user_version = {version + 1:d}")


def check_whole(path: Path) -> None:
    """Read the whole database once.

    Raises DamagedListError: something in it is not as SQLite wrote it.
    """
    with path.open("rb") as file:
        formats = file.read(20)[18:]
    if formats not in (b"\1\1", b"\2\2"):  # SQLite would take it for one that may only be read
        raise DamagedListError(str(damage_error(path, "its format")))
    with open_connection(path) as connection:
        faults = [line for (line,) in connection.execute("PRAGMA integrity_check(1)")]
    if faults != ["ok"]:
        raise DamagedListError(str(damage_error(path, "; ".join(map(str, faults)))))


def _read_version(connection: sqlite3.Connection, path: Path) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if not 0 <= version < 1000:
        raise DamagedListError(str(damage_error(path, f"version {version}")))
    if version > len(MIGRATIONS):
        raise StoreError(
            f"{path} was written by a newer version of the program (version {version}, this one knows up to "
            f"{len(MIGRATIONS)}). Update the program, or choose another folder."
        )
    return int(version)
