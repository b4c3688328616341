"""What the command line says of a run that takes long, before it starts and while no sweep is over."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest

from acvb_core.cli import progress
from acvb_core.cli.progress import Progress
from acvb_core.engine.compilation import COMPILING
from acvb_core.engine.problem import Problem, build_problem
from acvb_core.samples.planted_relations import planted_relation

RELATION = planted_relation(20, 30, 2, 2, seed=1).relation


class Clock:
    """A clock that goes on when it is told to."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def test_a_slow_sweep_is_told_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, stream = build_problem(RELATION, "cvb0"), io.StringIO()
    Progress(stream).starting(problem)
    assert stream.getvalue() == ""
    monkeypatch.setattr(Problem, "sweep_seconds", 400.0)
    Progress(stream).starting(problem)
    told = "CVB0 · K 20 × 20 · seed 0  a sweep may take about 7 min; fewer row clusters or column clusters take less\n"
    assert stream.getvalue() == told
    Progress(stream, quiet=True).starting(problem)
    assert stream.getvalue() == told


def test_a_long_start_is_not_silent(clock: Clock) -> None:
    problem, stream = build_problem(RELATION, "cvb0"), io.StringIO()
    watch = Progress(stream)
    clock.now = 100.0
    watch.tell_silence()  # no run is under way yet
    clock.now = 0.0
    watch.starting(problem)
    for clock.now in (5.0, 12.0, 15.0, 23.0):
        watch.tell_silence()
    lines = [line.partition("  ")[2] for line in stream.getvalue().splitlines()]
    assert lines == ["the start of the run, 12 s so far", "the start of the run, 23 s so far"]


def test_compilation_is_told_for_as_long_as_it_lasts(clock: Clock) -> None:
    problem, stream = build_problem(RELATION, "cvb0"), io.StringIO()
    watch = Progress(stream)
    watch.starting(problem)
    watch.compiling(problem, True)
    clock.now = 30.0
    watch.tell_silence()
    clock.now = 31.0
    watch.compiling(problem, False)
    clock.now = 42.0
    watch.tell_silence()
    lines = [line.partition("  ")[2] for line in stream.getvalue().splitlines()]
    assert lines == [COMPILING, f"{COMPILING}, 30 s so far", "the start of the run, 11 s so far"]


def test_a_long_sweep_is_not_silent_and_the_end_is(clock: Clock) -> None:
    problem, stream = build_problem(RELATION, "cvb0"), io.StringIO()
    watch = Progress(stream)
    watch.starting(problem)
    snapshot = SimpleNamespace(
        sweep=3, verdict=None, has_settled=None, lower_bound=None, pseudo_loo=None, change=None, mean_change=None,
        effective_k={"rows": 2},
    )  # fmt: skip
    watch(problem, snapshot)  # type: ignore[arg-type]
    clock.now = 11.0
    watch.tell_silence()
    assert stream.getvalue().endswith("sweep 4, 11 s so far\n")
    watch(problem, SimpleNamespace(**{**vars(snapshot), "verdict": "CONVERGED"}))  # type: ignore[arg-type]
    told = stream.getvalue()
    clock.now = 99.0
    watch.tell_silence()
    assert stream.getvalue() == told
