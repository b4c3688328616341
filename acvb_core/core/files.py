"""Files: names of temporary ones, which say who made them, and a lock for reading arrays."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import tempfile
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from threading import RLock
from typing import Any

_OURS = "acvb"

#: Lock for reading a file with NumPy. NumPy reads its header with `ast`, which two threads must not enter at once
#: before Python 3.11.8: one of them may get a SystemError (https://github.com/python/cpython/issues/106905).
ONE_READER: AbstractContextManager[Any] = RLock() if sys.version_info < (3, 11, 8) else nullcontext()


def scratch_prefix() -> str:
    """Return how the names of this process's temporary files begin: with this machine and the process."""
    return f"{_OURS}-{_name_machine()}-{os.getpid()}-"


def remove_abandoned(folder: Path | None = None) -> list[Path]:
    """Remove what processes of this user and this machine that have ended left in a folder, and return it.

    `folder`: by default the system's for temporary files.
    """
    place, removed = Path(folder or tempfile.gettempdir()), []
    ours = re.compile(rf"{_OURS}-{_name_machine()}-(\d+)-.+")
    with suppress(OSError):
        for path in list(place.iterdir()):
            named = ours.fullmatch(path.name)
            if named is not None and _is_own(path) and not _is_alive(int(named[1])):
                with suppress(OSError):
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
                    removed.append(path)
    return removed


def _name_machine() -> str:
    """Return the name of this machine, or container: others may share the folder, and number their own processes."""
    return re.sub("[^a-z0-9]", "", platform.node().lower())[:40] or "here"


def _is_own(path: Path) -> bool:
    return os.name == "nt" or path.lstat().st_uid == os.geteuid()


def _is_alive(process: int) -> bool:
    """Return whether a process runs; on Windows it may always do, for asking would end it."""
    if os.name == "nt":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass
    return True
