"""The list of the runs of a store: an SQLite file, with notes of what the files of runs say.

The files have the last word. What the list does not say is taken from them, and a damaged list is made again. A file is
opened again only after it has changed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import tempfile
import time
import uuid
import weakref
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeVar

from acvb_core.core.errors import hide_places
from acvb_core.core.files import scratch_prefix
from acvb_core.engine.executor import Status
from acvb_core.engine.history import SETTLED, Verdict
from acvb_core.engine.job import RunOutline
from acvb_core.engine.prepared import RunLabel, RunSpec, clean_name
from acvb_core.registry import method_row, model_row
from acvb_core.store.files import (
    DAMAGE,
    LimitedLock,
    StoreError,
    as_store_error,
    damage_error,
    file_stamp,
    sync_folder,
    write_arrays,
)
from acvb_core.store.results import (
    RUNS,
    TRASH,
    VERSION,
    RunIdentity,
    add_identity,
    read_about,
    read_identity,
    run_path,
    trash_path,
)

T = TypeVar("T")
Row = tuple[Any, ...]

LIST = "runs.sqlite3"
#: In place of the workspace of a run whose owner is not known any more: such a run is shown in all of them.
UNKNOWN = ""
#: How long a call waits for another one that is writing, in seconds.
PATIENCE = 30.0
#: What a database consists of: its own file, and two that SQLite keeps next to it.
_ENDINGS = ("", "-wal", "-shm")
_OPENING = LimitedLock("The list of runs is being opened or repaired")

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


class DamagedListError(StoreError):
    """The database is not as this program wrote it."""


class RunIndex:
    """The list in a store's folder; of a folder that cannot be written to, a copy of it.

    `folder`: of the store; made when it is not there.
    `places`: folders that there must be in it.
    `notices`: what became of the list, in sentences for the user.
    `unwritable`: why nothing can be kept at the moment; what is kept can be read.
    Raises StoreError: the folder cannot be used, or was written by a newer version of the program.
    """

    def __init__(self, folder: Path, places: Sequence[str]) -> None:
        self.folder, self._places = folder, places
        self.notices: list[str] = []
        self.unwritable: str | None = None
        self._open()

    def _open(self) -> None:
        with _OPENING:  # a second one to find it damaged finds it mended
            database, unwritable = self.folder / LIST, None
            try:
                self._try_to_write()
                self.notices += open_list(self.folder, database)
            except (OSError, StoreError) as error:
                if not (self.folder / RUNS).is_dir():
                    if isinstance(error, StoreError):
                        raise
                    raise StoreError(
                        f"{self.folder} cannot be used to keep runs: {error.strerror or error}."
                    ) from error
                why = str(error) if isinstance(error, StoreError) else f"{error.strerror or error}."
                unwritable = hide_places(f"Nothing can be saved in {self.folder}: {why}")
                database = self._open_copy()
            self._database, self.unwritable = database, unwritable

    def _try_to_write(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # it tells the keys of all workspaces
        for name in self._places:
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        probe = self.folder / RUNS / f"{os.getpid()}-{time.monotonic_ns()}.part"
        probe.touch()
        probe.unlink()

    def _open_copy(self) -> Path:
        place = tempfile.mkdtemp(prefix=scratch_prefix())
        weakref.finalize(self, shutil.rmtree, place, ignore_errors=True)
        copy = Path(place) / LIST
        with as_store_error(f"{self.folder / LIST} cannot be read"):
            _copy_database(self.folder / LIST, copy)
        self.notices += open_list(self.folder, copy)
        return copy

    def read(self, question: Callable[..., T], *of: str) -> T:
        """Return the answer to a question about the list; a list that is found damaged is mended first.

        `question`: takes the open database, and what is asked about.
        Raises StoreError: the list cannot be read.
        """
        try:
            with open_connection(self._database) as connection:
                return question(connection, *of)
        except DamagedListError:
            self._open()
            with open_connection(self._database) as connection:
                return question(connection, *of)

    def select(self, statement: str, *values: str) -> list[Row]:
        """Return the rows that a statement selects.

        Raises StoreError: the list cannot be read.
        """
        return self.read(lambda connection: connection.execute(statement, values).fetchall())

    def find_notes(self) -> dict[str, Note]:
        """Return the notes of the files that have not changed since, by path below the folder."""
        known = self.read(_read_notes)
        now = dict(_list_stamps(self.folder, {path.split("/")[0] for path in known}))
        return {path: note for path, note in known.items() if now.get(path) == note.stamp}

    def keep_notes(self, notes: Mapping[str, Note]) -> None:
        """Keep notes; without them the files are only read again."""
        if notes:
            with suppress(StoreError), open_connection(self._database, write=True) as connection:
                _save_notes(connection, notes)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Give the list to change, as the only writer; files of the store are changed in here too.

        Raises StoreError: nothing can be kept at the moment. A list that was damaged is mended by then: trying again
          may help.
        """
        if self.unwritable is not None:
            with suppress(OSError):
                self._try_to_write()
                self._open()  # it can be written to by now
        if self.unwritable is not None:
            raise StoreError(self.unwritable)
        try:
            with (
                as_store_error(f"{self.folder} cannot be written to"),
                open_connection(self._database, write=True) as connection,
            ):
                yield connection
        except DamagedListError:
            self._open()
            raise


@contextmanager
def open_connection(path: Path, *, write: bool = False) -> Iterator[sqlite3.Connection]:
    """Open a database for one call; with `write`, as the only writer until the block ends.

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
    """Make the list, or bring an older one up to date.

    Raises StoreError: it was written by a newer version of the program, or cannot be used at all.
    """
    with open_connection(path) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        version = _read_version(connection, path)
        # Not a migration, as older programs pass over it and nothing is lost with it.
        connection.execute(
            "CREATE TABLE IF NOT EXISTS notes (path TEXT PRIMARY KEY, stamp TEXT, row TEXT, facts TEXT)"
        )
        if version == len(MIGRATIONS):
            return
    with open_connection(path, write=True) as connection:
        # Looked up again: another process may have been faster.
        for version in range(_read_version(connection, path), len(MIGRATIONS)):
            for statement in MIGRATIONS[version]:
                connection.execute(statement)
            # A pragma takes no parameter; the number is our own.
            connection.execute(f"PRAGMA user_version = {version + 1:d}")


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


def _check_whole(path: Path) -> None:
    """Read the whole database once."""
    with path.open("rb") as file:
        formats = file.read(20)[18:]
    if formats not in (b"\1\1", b"\2\2"):  # SQLite would take it for one that may only be read
        raise DamagedListError(str(damage_error(path, "its format")))
    with open_connection(path) as connection:
        faults = [line for (line,) in connection.execute("PRAGMA integrity_check(1)")]
    if faults != ["ok"]:
        raise DamagedListError(str(damage_error(path, "; ".join(map(str, faults)))))


def _copy_database(path: Path, copy: Path) -> None:
    for ending in ("", "-wal"):
        with suppress(FileNotFoundError):
            shutil.copyfile(f"{path}{ending}", f"{copy}{ending}")


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


def find_run(connection: sqlite3.Connection, job_id: str) -> RunIdentity | None:
    """Return what the list says of a run; None where it is not in it."""
    row = connection.execute(f"{SELECT['runs']} WHERE job_id = ?", (job_id,)).fetchone()
    return None if row is None else identity_of(row)


def save_label(connection: sqlite3.Connection, job_id: str, label: RunLabel) -> None:
    """Put the label of a run into the list; the run itself may come later."""
    row = (job_id, label.name, label.note, json.dumps(label.tags), int(label.pinned))
    connection.execute(SAVE["labels"], row)


def read_label(row: Row) -> RunLabel | None:
    """Return the label of a row; None where it cannot be read."""
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
        *(read_mapping(text) for text in texts),
    )


def read_mapping(text: Any) -> dict[str, Any]:
    """Return a mapping that was kept as JSON; an empty one where it cannot be read."""
    try:
        value = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


class Note(NamedTuple):
    """Note of what a file says.

    `stamp`: of the file as it was then.
    `row`: digest of the row that the list of runs should have for it; empty for data.
    `facts`: JSON; of a run its verdict, which its row does not have while it runs; of data name and fingerprint.
    """

    stamp: str
    row: str
    facts: str


def _read_notes(connection: sqlite3.Connection) -> dict[str, Note]:
    rows = connection.execute("SELECT path, stamp, row, facts FROM notes")
    return {str(path): Note(*note) for path, *note in rows}


def _save_notes(connection: sqlite3.Connection, notes: Mapping[str, Note], gone: Iterable[str] = ()) -> None:
    """Keep notes, and forget those of files that are gone."""
    rows = [(path, *note) for path, note in notes.items()]
    connection.executemany("DELETE FROM notes WHERE path = ?", [(path,) for path in gone])
    connection.executemany("INSERT OR REPLACE INTO notes VALUES (?, ?, ?, ?)", rows)


def _note_run(path: Path) -> Note | None:
    """Return the note of a run's file; None where it is damaged, of an older version, or names another run."""
    stamp = file_stamp(path)
    try:
        run = read_identity(path)
        if stamp is None or run is None or run.job_id != path.stem:
            return None
        facts = json.dumps({"verdict": read_about(path).get("verdict")})
        with zipfile.ZipFile(path) as file:
            if file.testzip() is not None:
                return None
        return Note(stamp, _digest_row(row_of(run)), facts)
    except (*DAMAGE, OSError, StoreError):  # loading the run says why
        return None


def note_data(path: Path, data: Any) -> Note | None:
    """Return the note of a file that holds these data; None where it has gone."""
    stamp = file_stamp(path)
    facts = json.dumps({"name": data.name, "fingerprint": data.fingerprint})
    return None if stamp is None else Note(stamp, "", facts)


def _digest_row(row: Row) -> str:
    return hashlib.sha256(repr(row).encode("utf-8", "replace")).hexdigest()[:32]


def _list_stamps(folder: Path, places: Iterable[str]) -> Iterator[tuple[str, str]]:
    for place in places:
        with suppress(OSError), os.scandir(folder / place) as entries:
            for entry in entries:
                if entry.name.endswith(".npz") and (stamp := file_stamp(entry)):
                    yield f"{place}/{entry.name}", stamp


def outline_run(run: RunIdentity, note: Note, data: Note, *, on_disk: bool) -> RunOutline:
    """Return the outline of a stored run.

    `note`, `data`: of its file, and of that of its data.
    `on_disk`: the data stay on disk.
    Raises ParameterError: this version does not have its method, or not these settings of it.
    Raises one of DAMAGE: the list or the notes say nothing of the kind.
    """
    last, known = run.summary, json.loads(data.facts)
    verdict = (text := json.loads(note.facts)["verdict"]) and Verdict(text)
    settings = {
        field.name: run.settings[field.name] for field in fields(RunSpec) if field.name in run.settings
    }
    row = method_row(settings["model"], settings["method"])
    settings["values"] = _check_values(row.model, row.name, json.dumps(settings["values"]))
    scaled, race = last.get("scaled_change"), last.get("race")
    bound = last.get("lower_bound")
    return RunOutline(
        spec=RunSpec(**settings),
        row=row,
        model_row=model_row(row.model),
        fingerprint=settings.get("of") or known["fingerprint"],
        data_name=known["name"],
        on_disk=on_disk,
        status=Status.INTERRUPTED if verdict is None else Status.FINISHED,
        verdict=verdict,
        sweep=last.get("sweeps"),
        cpu_seconds=last.get("cpu_seconds", 0.0),
        effective_k=last.get("effective_k", {}),
        has_settled=None if scaled is None or verdict is not Verdict.CONVERGED else scaled < SETTLED,
        lower_bound=float("nan") if bound is None else bound,
        heldout=last.get("heldout") or {},
        race=race and (race["first_seed"], race["restarts"]),
    )


@lru_cache(maxsize=64)
def _check_values(model: str, method: str, values: str) -> Mapping[str, Any]:
    """Return the settings of a method, which many runs share, with defaults for those that came later."""
    row = method_row(model, method)
    return row.values(row.drop_retired(json.loads(values)))


def open_list(folder: Path, path: Path) -> list[str]:
    """Make the list of a store's runs ready for use; return what became of it, in sentences for the user.

    A damaged list is put aside and made again; what the list lacks is taken from the run files.

    `folder`: of the store.
    `path`: the list: in this folder, or a copy elsewhere.
    Raises StoreError: it was written by a newer version of the program, or cannot be written to.
    """
    notices, missing = [], not path.exists()
    try:
        prepare(path)
        _check_whole(path)
        mended = _reconcile(folder, path)
    except DamagedListError:
        aside = _rebuild(folder, path)
        mended = _reconcile(folder, path)
        place = f" The damaged list is kept as {aside}." if path.parent == folder else ""
        notices.append(f"The list of runs was damaged. It was rebuilt from the files of the runs.{place}")
    if missing and mended:
        notices.append(
            "The list of runs was missing. It was rebuilt from the files of the runs. Choose your data again."
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
        for ending in _ENDINGS:
            with suppress(FileNotFoundError):
                os.replace(f"{path}{ending}", f"{aside}{ending}")
        os.replace(fresh, path)
        sync_folder(path.parent)
    except OSError as error:
        raise StoreError(
            f"{path} is damaged, and no new one can be made: {error.strerror or error}."
        ) from error
    finally:
        for ending in _ENDINGS:
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
        _copy_database(path, copy)
        with suppress(StoreError):
            prepare(copy)  # an older one has other columns
        for table in SELECT:
            for order in ("ASC", "DESC"):
                with suppress(StoreError), open_connection(copy) as connection:
                    for row in connection.execute(f"{SELECT[table]} ORDER BY rowid {order}"):
                        yield table, row


def _reconcile(folder: Path, path: Path) -> bool:
    """Put into the list what the run files say; return whether anything was missing or wrong."""
    now = dict(_list_stamps(folder, (RUNS, TRASH)))
    with open_connection(path) as connection:
        known = _read_notes(connection)
        notes = {file: note for file, note in known.items() if now.get(file) == note.stamp}
        changed = [file for file in now if file not in notes]
        new = {file: note for file in changed if (note := _note_run(folder / file)) is not None}
        notes |= new
        differs = next(_find_differences(folder, connection, notes), None) is not None
    gone = [file for file in known if file.split("/")[0] in (RUNS, TRASH) and file not in now]
    if new or gone or differs:
        with open_connection(path, write=True) as connection:
            _save_notes(connection, new, gone)
            # Looked up again: another process may just have been saving a run.
            for file, run, unnamed in list(_find_differences(folder, connection, notes)):
                if unnamed:
                    with suppress(StoreError):  # loading the run will say why
                        write_arrays(file, add_identity(file, run), version=VERSION)
                else:
                    save_row(connection, run)
    return differs


def _find_differences(
    folder: Path, connection: sqlite3.Connection, notes: Mapping[str, Note]
) -> Iterator[tuple[Path, RunIdentity, bool]]:
    """Yield what the list should say of the files that it does not agree with, or that say nothing of their run."""
    rows = {row[0]: row for row in connection.execute(SELECT["runs"])}
    for place in (RUNS, TRASH):
        for file in sorted((folder / place).glob("*.npz")):
            row, note = rows.get(file.stem), notes.get(f"{place}/{file.name}")
            if row is not None and note is not None and note.row == _digest_row(row):
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
