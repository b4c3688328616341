"""What the command line says of a run that takes long, before it starts and while no sweep is over."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest

from acvb_core.cli import progress
from acvb_core.cli.progress import ProgressLine
from acvb_core.engine.compilation import COMPILING
from acvb_core.engine.prepared import PreparedRun, prepare_run
from acvb_core.samples.planted_relations import planted_relation

RELATION = planted_relation(20, 30, 2, 2, seed=1).relation


class Clock:
    """A clock that continues when it is told to."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def test_a_slow_sweep_is_told_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared, stream = prepare_run(RELATION, "cvb0"), io.StringIO()
    ProgressLine(stream).starting(prepared)
    assert stream.getvalue() == ""
    monkeypatch.setattr(PreparedRun, "sweep_seconds", 400.0)
    ProgressLine(stream).starting(prepared)
    told = "CVB0 · K 20 × 20 · seed 0  a sweep may take about 7 min; fewer row clusters or column clusters take less\n"
    assert stream.getvalue() == told
    ProgressLine(stream, quiet=True).starting(prepared)
    assert stream.getvalue() == told


def test_a_long_start_is_not_silent(clock: Clock) -> None:
    prepared, stream = prepare_run(RELATION, "cvb0"), io.StringIO()
    watch = ProgressLine(stream)
    clock.now = 100.0
    watch.tell_silence()  # no run is under way yet
    clock.now = 0.0
    watch.starting(prepared)
    for clock.now in (5.0, 12.0, 15.0, 23.0):
        watch.tell_silence()
    lines = [line.partition("  ")[2] for line in stream.getvalue().splitlines()]
    assert lines == ["the start of the run, 12 s so far", "the start of the run, 23 s so far"]


def test_compilation_is_told_for_as_long_as_it_lasts(clock: Clock) -> None:
    prepared, stream = prepare_run(RELATION, "cvb0"), io.StringIO()
    watch = ProgressLine(stream)
    watch.starting(prepared)
    watch.compiling(prepared, True)
    clock.now = 30.0
    watch.tell_silence()
    clock.now = 31.0
    watch.compiling(prepared, False)
    clock.now = 42.0
    watch.tell_silence()
    lines = [line.partition("  ")[2] for line in stream.getvalue().splitlines()]
    assert lines == [COMPILING, f"{COMPILING}, 30 s so far", "the start of the run, 11 s so far"]


def test_a_long_sweep_is_not_silent_and_the_end_is(clock: Clock) -> None:
    prepared, stream = prepare_run(RELATION, "cvb0"), io.StringIO()
    watch = ProgressLine(stream)
    watch.starting(prepared)
    snapshot = SimpleNamespace(
        sweep=3, verdict=None, has_settled=None, lower_bound=None, pseudo_loo=None, change=None, mean_change=None,
        effective_k={"rows": 2},
    )  # fmt: skip
    watch(prepared, snapshot)  # type: ignore[arg-type]
    clock.now = 11.0
    watch.tell_silence()
    assert stream.getvalue().endswith("sweep 4, 11 s so far\n")
    watch(prepared, SimpleNamespace(**{**vars(snapshot), "verdict": "CONVERGED"}))  # type: ignore[arg-type]
    told = stream.getvalue()
    clock.now = 99.0
    watch.tell_silence()
    assert stream.getvalue() == told
