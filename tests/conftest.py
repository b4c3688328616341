"""What every test shares: repeatable random numbers, and no test that skips itself unseen."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from acvb_core.core.kernel_cache import lock_cache
from acvb_core.models.irm import gibbs as chain

# Examples are the same on every run, so that a failure is met by whoever changed something and can be met again. To
# look further than that: HYPOTHESIS_PROFILE=explore. Times are not judged: the first example may compile a kernel.
settings.register_profile(
    "repeatable", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("explore", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

# Tests that run in several processes (pytest -n) write to Numba's cache on disk one after another: functions that only
# tests compile are compiled once, not by every process of every run.
lock_cache()


def pytest_configure() -> None:
    """Take signals as a program in a terminal does: a shell may have started the tests with some of them ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


#: In these folders a run on a relation begins with a tenth of its usual chain, which saves 0.1 s a run. A test that
#: compares with a run of another process, or with a printed figure, is marked `whole_chain`.
_SHORT_CHAIN = ("cli", "contract", "engine", "pages", "papers", "store", "views")
_WHOLE = chain.BURN_IN, chain.KEPT


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Set the length of the chain before any fixture makes a run."""
    folder = item.path.relative_to(Path(__file__).parent).parts[0]
    is_short = folder in _SHORT_CHAIN and item.get_closest_marker("whole_chain") is None
    chain.BURN_IN, chain.KEPT = (4, 8) if is_short else _WHOLE


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers that are the same on every run."""
    return np.random.default_rng(20260101)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the long tests first, and the browser tests last: what fails below a page is better met first."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without garbage collection, and keep what was collected out of it: these objects live to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


def _fail_if_skipped(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.outcome != "skipped" or hasattr(report, "wasxfail"):
        return
    report.outcome = "failed"
    advice = "A skipped test counts as failed: provide what it needs, or remove it."
    report.longrepr = f"{report.nodeid}: {report.longrepr}\n{advice}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a test that skips itself into one that fails."""
    report = yield
    _fail_if_skipped(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Turn a module that skips itself into one that fails."""
    report = yield
    _fail_if_skipped(report)
    return report
