"""THE table of the kinds of data that are stored, and their files: written once, removed after their last use."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from acvb_core.store.codecs import CORPORA, RELATIONS, TABLES, DataKind
from acvb_core.store.files import StoreError, damage_error
from acvb_core.store.streams import STREAM

KINDS: tuple[DataKind, ...] = (RELATIONS, CORPORA, TABLES, STREAM)

#: Data never change, and a key costs a pass over everything they hold: a corpus has all its texts.
_keys: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def kind_of(data: Any) -> DataKind:
    """Return the kind of a data set.

    Raises StoreError: such data cannot be stored.
    """
    for kind in KINDS:
        if isinstance(data, kind.data_type):
            return kind
    *others, last = (kind.folder for kind in KINDS if not kind.elsewhere)
    raise StoreError(f"a {type(data).__name__} cannot be stored; {', '.join(others)} and {last} can.")


def find_kind(name: str) -> DataKind:
    """Return the kind of this name.

    Raises StoreError: there is no such kind.
    """
    for kind in KINDS:
        if kind.name == name:
            return kind
    raise StoreError(f"data of the kind {name!r} cannot be read by this version. Update the program.")


def dataset_key(data: Any) -> str:
    """Return the key of a data set of any kind; kept for as long as the data are."""
    key = _keys.get(data)
    if key is None:
        key = _keys[data] = kind_of(data).key(data)
    return key


class DataFiles:
    """The data files in a store's folder.

    `keep` and `drop` are for the one writer of the list of runs.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # Runs of the same data share one copy of them in memory.
        self._datasets: WeakValueDictionary[str, Any] = WeakValueDictionary()
        # Files that hold what their names say, with their times and sizes when that was seen.
        self._whole: dict[str, tuple[int, int] | None] = {}

    def keep(self, kind: DataKind, key: str, data: Any) -> None:
        """Write data that are not stored yet, or no longer whole."""
        # Only called by the one writer, so that nobody deletes it before the row that refers to it is there.
        path = kind.file(self.folder, key)
        if kind.elsewhere or not self._is_whole(kind, key):
            kind.write(path, data)
            self._whole[key] = _stamp(path)

    def _is_whole(self, kind: DataKind, key: str) -> bool:
        """Return whether data are stored as they should be; a damaged copy is written anew."""
        path = kind.file(self.folder, key)
        if not path.exists():
            return False
        if (stamp := _stamp(path)) is not None and self._whole.get(key) == stamp:
            return True
        try:
            whole = dataset_key(kind.read(path)) == key
        except StoreError:
            return False
        if whole:
            self._whole[key] = stamp
        return whole

    def drop(self, connection: sqlite3.Connection, name: str, key: str) -> None:
        """Remove data that the list of runs does not refer to any more."""
        if not key:  # of a run whose data are not known
            return
        (used,) = connection.execute(
            "SELECT (SELECT COUNT(*) FROM runs WHERE dataset = ?1) "
            "+ (SELECT COUNT(*) FROM datasets WHERE dataset = ?1)",
            (key,),
        ).fetchone()
        if not used:
            kind = find_kind(name)
            kind.remove(kind.file(self.folder, key))

    def size(self, name: str, key: str) -> int:
        """Return the bytes that data of a kind and a key take; 0 of a kind that this version does not know."""
        kind = next((kind for kind in KINDS if kind.name == name), None)
        return 0 if kind is None else kind.size(kind.file(self.folder, key))

    def read(self, name: str, key: str) -> Any:
        """Return the data of a kind and a key.

        Raises StoreError: they are gone or damaged, or other data lie in their place.
        """
        known = self._datasets.get(key)
        if known is not None:
            return known
        kind = find_kind(name)
        path = kind.file(self.folder, key)
        stamp = _stamp(path)  # before it is read: it may be replaced, or removed, meanwhile
        data = kind.read(path)
        if dataset_key(data) != key:
            raise damage_error(path, f"it is not the {kind.name} it was stored as")
        self._whole[key] = stamp
        return self._datasets.setdefault(key, data)


def _stamp(path: Path) -> tuple[int, int] | None:
    """Return when a file was last changed, and its size; None if it is not there."""
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None
    return stat.st_mtime_ns, stat.st_size
