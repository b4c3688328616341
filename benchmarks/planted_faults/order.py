"""A plugin of pytest for one trial: tests near a fault first, new and quick ones before slow ones, for a limited time.

What it does is in a file named by the variable of the environment ACVB_TRIAL; beside it, it writes what came of it.
"""

from __future__ import annotations

import faulthandler
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

_TRIAL = Path(os.environ["ACVB_TRIAL"])
_ORDERS: dict[str, Any] = json.loads(_TRIAL.read_text())
#: Seconds on the clock after which a test hangs.
_HANGS = 240.0
_report: dict[str, Any] = {"test": None, "failed": None, "seconds": {}}
_hang_log = _TRIAL.with_suffix(".hang").open("w")
_begun = time.process_time()


def _write() -> None:
    _TRIAL.with_suffix(".report").write_text(json.dumps(_report))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests that the trial asks for, in its order."""
    items[:] = [item for item in items if _is_wanted(item.nodeid)]
    items.sort(key=lambda item: (_stage(item.nodeid), _ORDERS["seconds"].get(item.nodeid, 0.0)))


def _is_wanted(name: str) -> bool:
    """Return whether a test is of the fault's model: those of the contract name theirs."""
    return not name.startswith("tests/contract") or any(word in name for word in _ORDERS["words"])


def _stage(name: str) -> int:
    return next(n for n, places in enumerate(_ORDERS["stages"]) if name.startswith(tuple(places)))


def pytest_runtest_logstart(nodeid: str) -> None:
    """Note which test runs, for the case that the process ends in it."""
    _report["test"] = nodeid
    _write()
    faulthandler.dump_traceback_later(_HANGS, exit=True, file=_hang_log)


def pytest_runtest_logfinish(nodeid: str) -> None:
    faulthandler.cancel_dump_traceback_later()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note a failure, and the time."""
    seconds = _report["seconds"]
    seconds[report.nodeid] = seconds.get(report.nodeid, 0.0) + report.duration
    if report.failed:
        _report["failed"] = report.nodeid


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        _report["failed"] = report.nodeid


def pytest_runtest_protocol(item: pytest.Item) -> None:
    """End the trial where its time is over."""
    if time.process_time() - _begun > _ORDERS["limit"]:
        item.session.shouldstop = "the trial's time is over"


def pytest_sessionfinish() -> None:
    _report["test"] = None
    _write()
    _hang_log.close()
