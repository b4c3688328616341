"""What the tests of the command line share."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from acvb_core.cli.progress import ProgressLine
from acvb_core.engine.history import SweepRecord
from acvb_core.engine.prepared import PreparedRun

ROOT = Path(__file__).resolve().parents[2]
WOMEN = "sample:southern_women"
SMALL = ("--k-rows", "4", "--k-cols", "3", "--max-sweeps", "6")


@dataclass
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.out.count("\n") == 1, "exactly one object"

        def refuse(name: str) -> None:
            raise AssertionError(f"{name} is no JSON")

        return json.loads(self.out, parse_constant=refuse)


Run = Callable[..., Outcome]


def press_ctrl_c_at(
    sweep: int,
    monkeypatch: pytest.MonkeyPatch,
    times: int = 1,
    number: int = signal.SIGINT,
    run: int | None = None,
) -> None:
    """Send a signal at a sweep of every run, or of one of them."""
    watch, begun = ProgressLine.__call__, []

    def watched(self: ProgressLine, prepared: PreparedRun, snapshot: SweepRecord) -> None:
        watch(self, prepared, snapshot)
        if prepared not in begun:
            begun.append(prepared)
        if snapshot.sweep == sweep and snapshot.verdict is None and run in (None, len(begun)):
            for _ in range(times):
                signal.raise_signal(number)

    monkeypatch.setattr(ProgressLine, "__call__", watched)
