"""A folder is claimed by the process that writes to it; another one is refused until that one ends or is killed."""

from __future__ import annotations

import os
import weakref
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from acvb_core.store.files import StoreError


class Purpose(NamedTuple):
    """The use that a folder is claimed for."""

    file: str  #: whose lock is the claim
    refusal: str  #: what another process is told: {owner} has claimed {folder}
    stays: bool = True  #: the file is kept when the claim is given up


#: Another server would take runs that go on for interrupted ones.
SERVER = Purpose(
    "server.lock",
    "another server (process {owner}) keeps its runs in {folder}. Use that server, or stop it, or give this one a "
    "folder of its own: ACVB_HOME=/path/to/folder script/server.",
)
#: Two commands would make every run twice, and mix their files.
OUTPUT = Purpose(
    ".acvb.lock",
    "another process ({owner}) writes its results to {folder}. Wait until it has ended, or give another folder.",
    stays=False,
)


class Claim:
    """The claim of this process to a folder, until it is given up, or nothing refers to it.

    The lock is the system's: a process that is killed leaves none. A process can claim a folder more than once. A
    folder that cannot be written to need not be claimed.

    Raises StoreError: another process has claimed the folder.
    """

    def __init__(self, folder: Path, purpose: Purpose = SERVER) -> None:
        self.give_up = _do_nothing
        path = folder / purpose.file
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # it tells the keys of all workspaces
            lock = _open_and_lock(path)
        except BlockingIOError:
            owner = _read_owner(path) or "unknown"
            raise StoreError(purpose.refusal.format(owner=owner, folder=folder)) from None
        except OSError:
            return
        self.give_up = weakref.finalize(self, _let_go, lock, None if purpose.stays else path)
        with suppress(OSError):  # who it is only helps to find this process
            os.truncate(lock, 0)
            os.write(lock, f"{os.getpid()}\n".encode())


def _do_nothing() -> None:
    """There is nothing to give up."""


def _let_go(lock: int, path: Path | None) -> None:
    """Give a lock up, and remove its file while no other process can have it."""
    if path is not None:
        with suppress(OSError):
            path.unlink()
    os.close(lock)


def _open_and_lock(path: Path) -> int:
    """Return the open file with its lock; raise BlockingIOError where another process has it."""
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            _lock(lock)
            if os.path.samestat(os.fstat(lock), os.stat(path)):
                return lock
        except FileNotFoundError:
            pass  # the process that had the lock has removed the file: make another
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)


def _read_owner(path: Path) -> str:
    """Return the process that has claimed a folder; "" where its file does not say."""
    with suppress(OSError):
        return path.read_text(encoding="ascii", errors="replace")[:20].strip()
    return ""


def _lock(file: int) -> None:
    """Lock an open file; a BlockingIOError is raised where another process has locked it."""
    try:
        import fcntl
    except ImportError:
        import msvcrt

        os.lseek(file, 1 << 20, os.SEEK_SET)  # beyond what is read
        lock = partial(msvcrt.locking, file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        lock = partial(fcntl.lockf, file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    try:
        lock()
    except OSError as error:
        raise BlockingIOError(*error.args) from None
    os.lseek(file, 0, os.SEEK_SET)
