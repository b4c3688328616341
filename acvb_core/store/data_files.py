"""The files of data sets in a store: each written once, checked when it is read, and removed after its last use."""

from __future__ import annotations

import sqlite3
import weakref
from pathlib import Path
from typing import Any

from acvb_core.store.datasets import Kind, dataset_key, find_kind
from acvb_core.store.files import StoreError, damage_error


class DataFiles:
    """The data files in a store's folder.

    `keep` and `drop` are for the one writer of the list of runs.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # Runs of the same data share one copy of them in memory.
        self._datasets: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
        # Files that were found to hold what their names say, with their times and sizes.
        self._whole: dict[str, tuple[int, int]] = {}

    def _file(self, kind: Kind, key: str) -> Path:
        return self.folder / kind.folder / f"{key}.npz"

    def keep(self, kind: Kind, key: str, data: Any) -> None:
        """Write data that are not stored yet, or no longer whole."""
        # Only called by the one writer, so that nobody deletes it before the row that refers to it is there.
        path = self._file(kind, key)
        if kind.elsewhere or not self._is_whole(kind, key):
            kind.write(path, data)
            self._whole[key] = _stamp(path)

    def _is_whole(self, kind: Kind, key: str) -> bool:
        """Whether data are stored as they should be; a damaged copy is written anew."""
        path = self._file(kind, key)
        if not path.exists():
            return False
        if self._whole.get(key) == _stamp(path):
            return True
        try:
            whole = dataset_key(kind.read(path)) == key
        except StoreError:
            return False
        if whole:
            self._whole[key] = _stamp(path)
        return whole

    def drop(self, connection: sqlite3.Connection, kind: str, key: str) -> None:
        """Remove data that the list of runs does not refer to any more."""
        if not key:  # of a run whose data are not known
            return
        (used,) = connection.execute(
            "SELECT (SELECT COUNT(*) FROM runs WHERE dataset = ?1) "
            "+ (SELECT COUNT(*) FROM datasets WHERE dataset = ?1)",
            (key,),
        ).fetchone()
        if not used:
            found = find_kind(kind)
            found.remove(self._file(found, key))

    def read(self, name: str, key: str) -> Any:
        """Return the data of a kind and a key.

        Raises
        ------
        StoreError
            They are gone or damaged, or other data lie in their place.
        """
        known = self._datasets.get(key)
        if known is not None:
            return known
        kind = find_kind(name)
        path = self._file(kind, key)
        data = kind.read(path)
        if dataset_key(data) != key:
            raise damage_error(path, f"it is not the {kind.name} it was stored as")
        self._whole[key] = _stamp(path)
        self._datasets[key] = data
        return data


def _stamp(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_mtime_ns, found.st_size
