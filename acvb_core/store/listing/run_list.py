"""The list of runs of a store: opened, read, written to, and mended when it is found damaged."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from acvb_core.core.errors import hide_places
from acvb_core.core.scratch import scratch_prefix
from acvb_core.store.files import LimitedLock, StoreError
from acvb_core.store.listing.list_repair import open_list
from acvb_core.store.listing.run_rows import LIST, RUNS
from acvb_core.store.listing.schema import DamagedListError, open_connection

T = TypeVar("T")
_OPENING = LimitedLock("The list of runs is being opened or repaired")


class RunList:
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
        original, copy = self.folder / LIST, Path(place) / LIST
        try:
            for ending in ("", "-wal"):
                with suppress(FileNotFoundError):
                    shutil.copyfile(f"{original}{ending}", f"{copy}{ending}")
        except OSError as error:
            raise StoreError(f"{original} cannot be read: {error.strerror or error}.") from error
        self.notices += open_list(self.folder, copy)
        return copy

    def read(self, question: Callable[[sqlite3.Connection], T]) -> T:
        """Return the answer to a question; a list that is found damaged is mended first.

        Raises StoreError: the list cannot be read.
        """
        try:
            with open_connection(self._database) as connection:
                return question(connection)
        except DamagedListError:
            self._open()
            with open_connection(self._database) as connection:
                return question(connection)

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
            with open_connection(self._database, write=True) as connection:
                yield connection
        except DamagedListError:
            self._open()
            raise
        except OSError as error:
            raise StoreError(f"{self.folder} cannot be written to: {error.strerror or error}.") from error
