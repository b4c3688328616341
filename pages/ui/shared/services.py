"""The services that all sessions of the app share, one of each a process: executor, store, book of jobs."""

from __future__ import annotations

import atexit
import os
import re
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache, update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from acvb_core import __version__
from acvb_core.cluster.backend import Places
from acvb_core.core.errors import ParameterError, hide_folder
from acvb_core.engine.executor import Executor
from acvb_core.engine.experiments.plan import Plan
from acvb_core.engine.experiments.report import Experiment
from acvb_core.engine.machine import share_heaps
from acvb_core.engine.tuning import Search, Tuning
from acvb_core.store.files import StoreError, StoreLock, close_to_others
from acvb_core.store.jobs import JobManager
from acvb_core.store.runs import RunStore
from acvb_core.store.studies import ExperimentFolder, SearchFolder, StudyStore
from acvb_core.warmup import warm_up_beside

if TYPE_CHECKING:
    from pages.ui.running.archives import Import
    from pages.ui.upload.form import Loading
    from pages.ui.workspace.kept_data import DataShelf


#: Of the threads that compute: pages are drawn before they continue.
_NICENESS = 5
#: Python's own is ten times as long.
_SWITCH_SECONDS = 0.0005


_T = TypeVar("_T")


class once_per_process(Generic[_T]):  # noqa: N801 (a decorator)
    """Decorator: make a service at the first call with given arguments, and return the same one from then on.

    The services are not kept in Streamlit's cache: a browser can ask Streamlit to clear that for all sessions.
    A call that raises makes nothing; the next one tries again.
    """

    _all: ClassVar[list[once_per_process[Any]]] = []

    def __init__(self, make: Callable[..., _T]) -> None:
        self._make = make
        self._made: dict[tuple[Any, ...], _T] = {}
        self._lock = threading.RLock()
        self._all.append(self)
        update_wrapper(self, make)

    def __call__(self, *args: Any) -> _T:
        """Return the service for these arguments."""
        with self._lock:
            if args not in self._made:
                self._made[args] = self._make(*args)
            return self._made[args]

    def clear(self) -> None:
        """Forget the service, so that the next call makes another one."""
        self._made.clear()

    @classmethod
    def clear_all(cls) -> None:
        """Forget all services, as in a process that has just started."""
        for service in cls._all:
            service.clear()


def home() -> Path:
    """Return the folder where runs are kept: ACVB_HOME, else .acvb in the user's own folder."""
    named = os.environ.get("ACVB_HOME")
    return Path(named).expanduser() if named else Path.home() / ".acvb"


def workspace_limit() -> int:
    """Return the bytes of files that a workspace may keep: as many MB as ACVB_WORKSPACE_MB says, else 5,000."""
    named = os.environ.get("ACVB_WORKSPACE_MB") or "5000"
    if not re.fullmatch("[0-9]{1,9}", named):
        raise StoreError(
            f"ACVB_WORKSPACE_MB is {named!r}, but must be a whole number of megabytes, such as 5000. Restart the app."
        )
    return int(named) * 1_000_000


@once_per_process
def places() -> Places:
    """Return where runs compute: on ACVB_RUNS threads of this process, or on the cluster of ACVB_SCHEDULER."""
    named = os.environ.get("ACVB_RUNS", "").strip()
    if named and not re.fullmatch("0*[1-9][0-9]{0,3}", named):
        raise ParameterError(
            f"ACVB_RUNS is {named!r}. It must be a whole number from 1 to 9999, such as 4: so many runs compute at "
            "once. Set it to such a number or unset it, and start the app again."
        )
    # Drawing a page takes the interpreter's lock for hundreds of short steps, and waits for each until a run lets go.
    sys.setswitchinterval(_SWITCH_SECONDS)
    share_heaps()
    here = Executor(int(named) if named else None, niceness=_NICENESS)
    return Places(here, os.environ.get("ACVB_SCHEDULER", "").strip())


@once_per_process
def store() -> RunStore:
    """Return the store of this process."""
    hide_folder(home(), "the folder of the runs")
    close_to_others(home())
    _lock_store(home())
    return RunStore(home())


@once_per_process
def _lock_store(folder: Path) -> StoreLock:
    return StoreLock(folder)


@once_per_process
def job_manager() -> JobManager:
    """Return the book of jobs; what still runs when the server ends is stopped and saved."""
    book = JobManager(places(), store())
    atexit.register(_save_and_leave, book)
    return book


@once_per_process
def experiments() -> StudyStore[Plan, Experiment]:
    """Return the book of experiments; each of their runs is kept as soon as it is over."""
    book = StudyStore(ExperimentFolder, places(), store(), __version__)
    atexit.register(book.close)
    return book


@once_per_process
def searches() -> StudyStore[Search, Tuning]:
    """Return the book of searches for steps; each of their trials is kept as soon as it is over."""
    book = StudyStore(SearchFolder, places(), store(), __version__)
    atexit.register(book.close)
    return book


def used_bytes(workspace: str) -> int:
    """Return the bytes of the files that a workspace keeps: data, runs, experiments and searches."""
    plans = (experiments(), searches())
    owners = [owner for book in plans for owner in book.owners(workspace)]
    owners += store().find_settings(f"{workspace} ")  # data put aside
    return store().used_bytes(workspace, *owners) + sum(book.used_bytes(workspace) for book in plans)


def _save_and_leave(book: JobManager) -> None:
    # Streamlit's handler is still in place, but there is no server any more that it could stop.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        book.close(tell=_write_line)
    except KeyboardInterrupt:
        _write_line("Left without saving all runs.")


def _write_line(text: str) -> None:
    with suppress(OSError, ValueError):  # the terminal may be gone
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


@cache
def start_warm_up() -> threading.Thread:
    """Have the kernels ready before the first run asks for them; no page waits for that."""
    thread = threading.Thread(target=warm_up_beside, name="acvb-warmup", daemon=True)
    thread.start()
    return thread


@once_per_process
def data_shelves() -> dict[str, DataShelf]:
    """Return the data sets of each workspace that was looked at."""
    return {}


@once_per_process
def loadings() -> dict[str, Loading]:
    """Return the files that are being loaded, by workspace."""
    return {}


@once_per_process
def imports() -> dict[str, Import]:
    """Return the archives that are being imported, by workspace."""
    return {}


@once_per_process
def views() -> dict[str, str]:
    """Return the keys of the workspaces that view-only links lead to, by the id in the link."""
    return {}
