"""Notes of what the files of runs and data say in lists: a file is opened again only after it has changed."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from acvb_core.engine.background import Status
from acvb_core.engine.job import RunOutline
from acvb_core.engine.prepared import RunSpec
from acvb_core.engine.race_report import RaceReport
from acvb_core.engine.snapshot import SETTLED, Verdict
from acvb_core.registry import method_row, model_row
from acvb_core.store.files import DAMAGE, StoreError, from_text_bytes, read_npz
from acvb_core.store.listing.run_rows import RUNS, TRASH, Row, row_of
from acvb_core.store.listing.schema import DamagedListError, open_connection
from acvb_core.store.results import RunIdentity, read_identity

#: The notes, in the store's folder. Nothing is lost with them: they are made again from the files.
NOTES = "outlines.sqlite3"
_SETTINGS = frozenset(field.name for field in fields(RunSpec))
T = TypeVar("T")
_TABLE = "CREATE TABLE IF NOT EXISTS notes (path TEXT PRIMARY KEY, stamp TEXT, row TEXT, facts TEXT)"


class Note(NamedTuple):
    """Note of what a file says.

    `stamp`: of the file as it was then.
    `row`: digest of the row that the list of runs should have for it; empty for data.
    `facts`: JSON; of a run what `decode_outline` takes, of data their name and fingerprint.
    """

    stamp: str
    row: str
    facts: str


class Notes:
    """The notes of a store's files.

    `folder`: of the store. Where it cannot be written to, nothing is noted.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def refresh(self) -> dict[str, Note]:
        """Note what the files of runs say that have changed, and return the notes of all that are whole, by path."""
        known, now = self._read(), dict(_list_stamps(self.folder, (RUNS, TRASH)))
        new = {
            path: note
            for path, stamp in now.items()
            if (path not in known or known[path].stamp != stamp) and (note := _note_run(self.folder / path))
        }
        gone = [path for path in known if path.split("/")[0] in (RUNS, TRASH) and path not in now]
        self.keep(new, gone)
        return {path: note for path, note in (known | new).items() if now.get(path) == note.stamp}

    def find_current(self) -> dict[str, Note]:
        """Return the notes of the files that have not changed since, by path below the folder."""
        known = self._read()
        now = dict(_list_stamps(self.folder, {path.split("/")[0] for path in known}))
        return {path: note for path, note in known.items() if now.get(path) == note.stamp}

    def keep(self, notes: Mapping[str, Note], gone: Sequence[str] = ()) -> None:
        """Keep notes, and forget those of files that are gone."""
        if not notes and not gone:
            return
        rows = [(path, *note) for path, note in notes.items()]

        def change(connection: sqlite3.Connection) -> None:
            connection.execute(_TABLE)
            connection.executemany("DELETE FROM notes WHERE path = ?", [(path,) for path in gone])
            connection.executemany("INSERT OR REPLACE INTO notes VALUES (?, ?, ?, ?)", rows)

        self._ask(change, write=True)

    def _read(self) -> dict[str, Note]:
        if not (self.folder / NOTES).exists():
            return {}
        rows = self._ask(lambda notes: notes.execute("SELECT path, stamp, row, facts FROM notes").fetchall())
        return {path: Note(*note) for path, *note in rows or ()}

    def _ask(self, question: Callable[[sqlite3.Connection], T], *, write: bool = False) -> T | None:
        """Return the answer; None where the notes cannot be used. Damaged ones are removed."""
        path = self.folder / NOTES
        try:
            with open_connection(path, write=write) as connection:
                return question(connection)
        except DamagedListError:
            with suppress(OSError):
                path.unlink()
        except StoreError:
            pass
        return None


def note_data(path: Path, data: Any) -> Note | None:
    """Return the note of a file that holds these data; None where it has gone."""
    stamp = _stamp(path)
    facts = json.dumps({"name": data.name, "fingerprint": data.fingerprint})
    return None if stamp is None else Note(stamp, "", facts)


def digest_row(row: Row) -> str:
    """Return a digest of a row of the list of runs."""
    return hashlib.sha256(repr(row).encode("utf-8", "replace")).hexdigest()[:32]


class DataFacts(NamedTuple):
    """The data of runs, as their lists name them."""

    name: str
    fingerprint: str
    on_disk: bool

    @classmethod
    def read(cls, note: Note, *, on_disk: bool) -> DataFacts:
        """Return what `note_data` noted."""
        facts = json.loads(note.facts)
        return cls(facts["name"], facts["fingerprint"], on_disk)


def decode_outline(run: RunIdentity, note: Note, data: DataFacts) -> RunOutline:
    """Return the outline of a stored run.

    `note`: of its file.
    Raises ParameterError: this version does not have its method, or not these settings of it.
    Raises one of DAMAGE: the note says nothing of the kind.
    """
    about = json.loads(note.facts)
    settings = {name: value for name, value in run.settings.items() if name in _SETTINGS}
    row = method_row(settings["model"], settings["method"])
    settings["values"] = _check_values(row.model, row.name, json.dumps(settings["values"]))
    verdict, scaled = about["verdict"] and Verdict(about["verdict"]), about["scaled_change"]
    return RunOutline(
        spec=RunSpec(**settings),
        row=row,
        model_row=model_row(row.model),
        fingerprint=settings.get("of") or data.fingerprint,
        data_name=data.name,
        on_disk=data.on_disk,
        status=Status.INTERRUPTED if verdict is None else Status.FINISHED,
        verdict=verdict,
        sweep=about["sweep"],
        cpu_seconds=about["cpu_seconds"],
        effective_k=about["effective_k"],
        has_settled=None if scaled is None or verdict is not Verdict.CONVERGED else scaled < SETTLED,
        lower_bound=float("nan") if about["lower_bound"] is None else about["lower_bound"],
        heldout=about["heldout"] or {},
        race=about["race"] and tuple(about["race"]),
    )


@lru_cache(maxsize=64)
def _check_values(model: str, method: str, values: str) -> Mapping[str, Any]:
    """Return the settings of a method, which many runs share, with defaults for those that came later."""
    row = method_row(model, method)
    return row.values(row.drop_retired(json.loads(values)))


def _note_run(path: Path) -> Note | None:
    """Return the note of a run's file; None where it is damaged, of an older version, or names another run."""
    stamp = _stamp(path)
    try:
        run = read_identity(path)
        if stamp is None or run is None or run.job_id != path.stem:
            return None
        about = from_text_bytes(read_npz(path, ("about",))["about"])
        with zipfile.ZipFile(path) as file:
            if file.testzip() is not None:
                return None
        return Note(stamp, digest_row(row_of(run)), json.dumps(_list_facts(about)))
    except (*DAMAGE, OSError, StoreError):  # loading the run says why
        return None


def _list_facts(about: Mapping[str, Any]) -> dict[str, Any]:
    last = about.get("snapshot") or {}
    race = None if about.get("race") is None else RaceReport.from_dict(about["race"])
    names = ("sweep", "cpu_seconds", "effective_k", "scaled_change", "lower_bound")
    return {
        **{name: last.get(name) for name in names},
        "cpu_seconds": last.get("cpu_seconds", 0.0),
        "effective_k": last.get("effective_k", {}),
        "verdict": about.get("verdict"),
        "heldout": about.get("heldout"),
        "race": None if race is None else (race.first_seed, race.restarts),
    }


def _list_stamps(folder: Path, places: Iterable[str]) -> Iterator[tuple[str, str]]:
    for place in places:
        with suppress(OSError), os.scandir(folder / place) as entries:
            for entry in entries:
                if entry.name.endswith(".npz") and (stamp := _stamp(entry)):
                    yield f"{place}/{entry.name}", stamp


def _stamp(file: Path | os.DirEntry[str]) -> str | None:
    """Return a text that is another one after a file was replaced or written to; None where it has gone."""
    try:
        stat = file.stat()
    except OSError:
        return None
    return f"{stat.st_ino} {stat.st_size} {stat.st_mtime_ns}"
