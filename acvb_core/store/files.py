"""Files of a store: arrays as npz without pickle, with a version, written whole or not at all; and locks on folders."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import threading
import tokenize
import uuid
import weakref
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.errors import AcvbError
from acvb_core.core.files import ONE_READER

Arrays = dict[str, NDArray[Any]]

#: What reading a file that is cut short or overwritten can raise.
DAMAGE = (
    ValueError, KeyError, IndexError, TypeError, AttributeError, EOFError, ArithmeticError, MemoryError,
    RuntimeError, SyntaxError, tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip

#: Ids of runs and plans, which become parts of paths.
ID = re.compile(r"[A-Za-z0-9_-]{1,100}")
_OTHER_FOLDER = "Give the server a folder of its own: ACVB_HOME=/path/to/folder script/server."


class StoreError(AcvbError):
    """Something kept on disk that cannot be written, is not there or cannot be read; the message names it."""


#: The longest that a call waits for another one of this process, in seconds.
LONGEST_WAIT = 120.0


def explain_error(error: Exception) -> str:
    """Return why something could not be stored or read, in one sentence."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}."
    return str(error) if isinstance(error, AcvbError) else f"{type(error).__name__}: {error}"


@contextmanager
def as_store_error(what: str) -> Iterator[None]:
    """Raise an error of the system as a StoreError that says what cannot be done, and why."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{what}: {error.strerror or error}.") from error


def check_id(job_id: str) -> str:
    """Return the id of a run.

    Raises StoreError: this is none.
    """
    if not ID.fullmatch(job_id):
        raise StoreError(f"{job_id!r} is no name of a run; letters, digits, - and _ make one.")
    return job_id


class LimitedLock:
    """A lock that a thread may take again, and that is waited for no longer than `LONGEST_WAIT`.

    `held`: what happens while it is held, as it fits before "for more than 120 s".
    Entering it raises StoreError: the wait was too long.
    """

    def __init__(self, held: str) -> None:
        self._held, self._lock = held, threading.RLock()

    def __enter__(self) -> None:
        if not self._lock.acquire(timeout=LONGEST_WAIT):
            raise StoreError(
                f"{self._held} for more than {LONGEST_WAIT:.0f} s. The disk may be slow or gone. Try again later."
            )

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def damage_error(path: Path, why: object = None) -> StoreError:
    """Return the error for a file whose contents are not what was written."""
    detail = f" ({why})" if why else ""
    return StoreError(f"{path} is damaged and cannot be read{detail}. Delete it, or put a copy back.")


def text_bytes(value: Any) -> NDArray[np.uint8]:
    """Return a JSON-able value as UTF-8 bytes; strings come back exactly, whatever they hold."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)


def from_text_bytes(stored: NDArray[np.uint8]) -> Any:
    """Return the value that `text_bytes` gave."""
    return json.loads(stored.tobytes().decode("utf-8", "surrogatepass"))


def labels_bytes(labels: Sequence[str] | NDArray[Any]) -> NDArray[np.uint8]:
    """Return labels as one JSON list in UTF-8: as long as the labels are, not as the longest one times their number."""
    return text_bytes([str(label) for label in labels])


def from_labels_bytes(stored: NDArray[np.uint8]) -> NDArray[Any]:
    """Return the labels that `labels_bytes` gave, as an array of str (object dtype)."""
    labels = from_text_bytes(stored)
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def texts_key(fingerprint: str, texts: Mapping[str, NDArray[np.uint8]]) -> str:
    """Return a SHA-256 (hex) of a fingerprint and texts, each with its length: none passes for part of another."""
    digest = hashlib.sha256(fingerprint.encode())
    for part in texts.values():
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part.data)
    return digest.hexdigest()


def savez(file: BinaryIO, arrays: Mapping[str, Any], *, version: int) -> None:
    """Write arrays and their version to an open file."""
    np.savez(file, allow_pickle=False, version=np.int64(version), **arrays)


def write_arrays(path: Path, arrays: Mapping[str, Any], *, version: int) -> None:
    """Write an npz file, whole or not at all.

    Raises StoreError: the disk is full, the folder is gone or may not be written to.
    """
    with replace_file(path) as file:
        savez(file, arrays, version=version)


def close_to_others(folder: Path) -> None:
    """Let no other user of this machine reach what is in a folder, from now on; one that is not there is made so.

    What is in it keeps its own rights: it may be more than the store's, and nobody gets past the folder.

    Raises StoreError: it belongs to another user, or cannot be changed.
    """
    if os.name == "nt":  # which has no such rights
        return
    os.umask(0o077)
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    if not folder.is_dir():  # whoever uses it says so
        return
    if folder.stat().st_uid != os.geteuid():
        raise StoreError(f"{folder} belongs to another user of this machine. {_OTHER_FOLDER}")
    with suppress(OSError):  # a read-only disk, or one that knows no rights
        os.chmod(folder, stat.S_IMODE(folder.stat().st_mode) & 0o700)
    if folder.stat().st_mode & 0o077:
        raise StoreError(
            f"Other users of this machine can read {folder}, and this cannot be changed. {_OTHER_FOLDER}"
        )


@contextmanager
def replace_file(path: Path) -> Iterator[BinaryIO]:
    """Give a file to write to, which takes the place of `path` when the block ends well.

    Readers see the old file or the new one, also after a power cut: the new one and its name are on the disk when
    the block is over.

    Raises StoreError: the disk is full, the folder is gone or may not be written to.
    """
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")
    try:
        with as_store_error(f"{path} cannot be written"):
            with temporary.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
            sync_folder(path.parent)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk: a file that was replaced or moved has its name there only then."""
    if os.name == "nt":  # which opens no folders, and needs no such call
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_file(path: Path) -> None:
    """Remove a file of the store; one that is not there is no error.

    Raises StoreError: it cannot be removed.
    """
    with as_store_error(f"{path} cannot be deleted"):
        path.unlink(missing_ok=True)


def file_bytes(path: Path) -> int:
    """Return the size of a file, or of all files in a folder; 0 where there is none."""
    try:
        return sum(file_bytes(each) for each in path.iterdir()) if path.is_dir() else path.stat().st_size
    except OSError:  # it has gone meanwhile
        return 0


def file_stamp(file: Path | os.DirEntry[str]) -> str | None:
    """Return a text that is another one after a file was replaced or written to; None where it has gone."""
    try:
        found = file.stat()
    except OSError:
        return None
    return f"{found.st_ino} {found.st_size} {found.st_mtime_ns}"


def read_npz(
    path: Path, names: Sequence[str] | None = None, stored: BinaryIO | None = None, without: str | None = None
) -> Arrays:
    """Return arrays of an npz file: those of some names, or all; from `stored` in place of the file, where given.

    Arrays whose names begin with `without`, where given, are not read.

    Raises StoreError: the file is not there, or is damaged: one of the arrays is missing.
    """
    try:
        with (
            ONE_READER,
            nullcontext(stored) if stored is not None else path.open("rb") as file,
            np.errstate(all="ignore"),  # a damaged header may say that a side is as long as no number is
            np.load(file, allow_pickle=False) as arrays,
            np.errstate(invalid="raise"),  # NumPy warns of sides that no 64 bits hold, and continues
        ):
            chosen = arrays.files if names is None else names
            found = {name: arrays[name] for name in chosen if without is None or not name.startswith(without)}
        if not all(isinstance(array, np.ndarray) for array in found.values()):
            raise ValueError("a member of the file is no array")
        return found
    except FileNotFoundError:
        raise StoreError(f"{path} is not there any more; it was deleted or moved.") from None
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}.") from error
    except DAMAGE as error:  # among others an AttributeError: a single array has no files
        raise damage_error(path) from error


def read_arrays(
    path: Path,
    *,
    version: int,
    stored: BinaryIO | None = None,
    foreign: StoreError | None = None,
    without: str | None = None,
) -> Arrays:
    """Return all arrays of an npz file, up to a version; from `stored` in place of the file, where given.

    A file that the program did not write raises `foreign`, where given; otherwise it counts as damaged. Arrays whose
    names begin with `without`, where given, are not read.

    Raises StoreError: the file is not there, is damaged, or was written by a newer version of the program.
    """
    if foreign is not None and not _is_npz(path, stored):
        raise foreign
    arrays = read_npz(path, stored=stored, without=without)
    check_version(path, arrays, version, foreign)
    return arrays


def check_version(path: Path, arrays: Arrays, newest: int, foreign: StoreError | None = None) -> int:
    """Take the version out of a file's arrays and return it.

    Raises StoreError: there is none, or it is above `newest`.
    """
    try:
        version = int(arrays.pop("version"))
    except DAMAGE as error:
        raise (foreign or damage_error(path)) from error
    if version > newest:
        raise StoreError(
            f"{path} was written by a newer version of the program (format {version}, this one reads up to "
            f"{newest}). Update the program."
        )
    return version


def _is_npz(path: Path, stored: BinaryIO | None) -> bool:
    """Return whether a file begins as an npz file does; one that cannot be read is left to `read_npz`."""
    try:
        if stored is not None:
            head = stored.read(4)
            stored.seek(0)
        else:
            with path.open("rb") as file:
                head = file.read(4)
    except OSError:
        return True
    return head == b"PK\3\4"


class Purpose(NamedTuple):
    """The use that a folder is locked for."""

    file: str  #: that is locked
    refusal: str  #: what another process is told: {owner} has locked {folder}
    stays: bool = True  #: the file is kept when the lock is released


#: Another server would take runs that are under way for interrupted ones.
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


class StoreLock:
    """The lock of this process on a folder, until it is released, or nothing refers to it.

    The lock is the system's: a process that is killed leaves none. A process can lock a folder more than once. A folder
    that cannot be written to need not be locked.

    Raises StoreError: another process has locked the folder.
    """

    def __init__(self, folder: Path, purpose: Purpose = SERVER) -> None:
        self.release = _do_nothing
        path = folder / purpose.file
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # it tells the keys of all workspaces
            lock = _open_and_lock(path)
        except BlockingIOError:
            owner = _read_owner(path) or "unknown"
            raise StoreError(purpose.refusal.format(owner=owner, folder=folder)) from None
        except OSError:
            return
        self.release = weakref.finalize(self, _unlock, lock, None if purpose.stays else path)
        with suppress(OSError):  # who it is only helps to find this process
            os.truncate(lock, 0)
            os.write(lock, f"{os.getpid()}\n".encode())


def _do_nothing() -> None:
    """There is nothing to release."""


def _unlock(lock: int, path: Path | None) -> None:
    """Release a lock, and remove its file while no other process can have it."""
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
    """Return the process that has locked a folder; "" where its file does not say."""
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
