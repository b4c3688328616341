"""A store's folder is claimed by one server: another would take runs that go on for interrupted ones."""

from __future__ import annotations

import os
import weakref
from contextlib import suppress
from pathlib import Path

from acvb_core.store.files import StoreError

FILE = "server.lock"


class Claim:
    """The claim of this process to a folder, until it is given up, or nothing refers to it.

    A process can claim a folder more than once. A folder that cannot be written to need not be claimed.

    Raises StoreError: another process has claimed the folder.
    """

    def __init__(self, folder: Path) -> None:
        self.give_up = _do_nothing
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # it tells the keys of all workspaces
            lock = os.open(folder / FILE, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError:
            return
        try:
            _lock(lock)
        except OSError:
            owner = os.read(lock, 20).decode("ascii", "replace").strip()
            os.close(lock)
            raise StoreError(
                f"another server (process {owner or 'unknown'}) keeps its runs in {folder}. Use that server, or stop "
                "it, or give this one a folder of its own: ACVB_HOME=/path/to/folder script/server."
            ) from None
        self.give_up = weakref.finalize(self, os.close, lock)
        with suppress(OSError):  # who it is only helps to find this server
            os.truncate(lock, 0)
            os.write(lock, f"{os.getpid()}\n".encode())


def _do_nothing() -> None:
    """There is nothing to give up."""


def _lock(file: int) -> None:
    """Lock an open file; an OSError is raised where another process has locked it."""
    try:
        import fcntl
    except ImportError:
        import msvcrt

        os.lseek(file, 1 << 20, os.SEEK_SET)  # beyond what is read
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        os.lseek(file, 0, os.SEEK_SET)
    else:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
