"""The services that all sessions of the app share, one of each a process: executor, store, book of jobs."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from acvb_core import __version__
from acvb_core.engine.executor import Executor
from acvb_core.engine.tuning.job import TuningJob
from acvb_core.store.claim import Claim
from acvb_core.store.experiments.book import ExperimentBook
from acvb_core.store.jobbook import JobBook
from acvb_core.store.runs import RunStore
from acvb_core.warmup import warm_up_beside

if TYPE_CHECKING:
    from pages.ui.shared.workspace import Dataset


def home() -> Path:
    """Return the folder where runs are kept: ACVB_HOME, else .acvb in the user's own folder."""
    named = os.environ.get("ACVB_HOME")
    return Path(named).expanduser() if named else Path.home() / ".acvb"


@st.cache_resource(show_spinner=False)
def executor() -> Executor:
    """Return the executor of this process."""
    return Executor()


@st.cache_resource(show_spinner=False)
def store() -> RunStore:
    """Return the store of this process.

    Raises StoreError: its folder cannot be used, or another server uses it.
    """
    _claim(home())
    return RunStore(home())


@st.cache_resource(show_spinner=False)
def _claim(folder: Path) -> Claim:
    return Claim(folder)


@st.cache_resource(show_spinner=False)
def job_book() -> JobBook:
    """Return the book of jobs; what still runs when the server ends is stopped and saved."""
    book = JobBook(executor(), store())
    atexit.register(_save_and_leave, book)
    return book


@st.cache_resource(show_spinner=False)
def experiments() -> ExperimentBook:
    """Return the book of experiments; each of their runs is kept as soon as it is over."""
    book = ExperimentBook(executor(), store(), __version__)
    atexit.register(book.close)
    return book


def _save_and_leave(book: JobBook) -> None:
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


@st.cache_resource(show_spinner=False)
def tunings() -> dict[str, TuningJob]:
    """Return the last search for steps of each workspace; it is gone when the server ends."""
    return {}


@cache
def start_warm_up() -> threading.Thread:
    """Have the kernels ready before the first run asks for them; no page waits for that."""
    thread = threading.Thread(target=warm_up_beside, name="acvb-warmup", daemon=True)
    thread.start()
    return thread


@st.cache_resource(show_spinner=False)
def datasets() -> dict[str, Dataset | None]:
    """Return the data set in use of each workspace that was looked at; None where there is none."""
    return {}


@st.cache_resource(show_spinner=False)
def used_datasets() -> dict[str, dict[str, Dataset]]:
    """Return the data sets that each workspace has used since the server started, by fingerprint."""
    return {}


@st.cache_resource(show_spinner=False)
def data_problems() -> dict[str, str]:
    """Return why the data of workspaces could not be saved or read, by workspace."""
    return {}
