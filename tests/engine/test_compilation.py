"""Compiled functions are ready before a run's clock starts, whoever starts the run."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from acvb_core.cli.progress import ProgressLine
from acvb_core.engine import compilation, run
from acvb_core.engine.compilation import (
    COMPILING,
    CompilationRequest,
    compile_for,
    compile_method,
    compile_other_half,
    refuse_to_compile,
)
from acvb_core.engine.executor import Executor, Status
from acvb_core.engine.fitting import fit
from acvb_core.engine.job import Job
from acvb_core.engine.run import run as run_prepared
from acvb_core.registry import method_row, model_row
from tests.loops import for_each

from .fakes import QUICK, small_relation, small_run

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A process in which nothing is ready; what is made ready, and when a clock starts, is written down."""
    seen: list[str] = []

    class Clock(run.Clock):
        def __init__(self) -> None:
            super().__init__()
            seen.append("clock")

    def run_tiny(model: Any, row: Any, choices: Any, goes_on: bool) -> None:
        seen.append(f"compile {row.name}")

    monkeypatch.setattr(compilation, "_ready", set())
    monkeypatch.setattr(compilation, "_run_tiny", run_tiny)
    monkeypatch.setattr(compilation, "share_compiling", lambda *_: nullcontext())
    monkeypatch.setattr(run, "Clock", Clock)
    return seen


SHORT = QUICK["vb"] | {"max_sweeps": 2}
WAYS: dict[str, Callable[[], object]] = {
    "run": lambda: list(run_prepared(small_run("vb", max_sweeps=2))),
    "fit": lambda: fit(small_relation(), "vb", **SHORT),
    "race": lambda: fit(small_relation(), "vb", restarts=2, **SHORT),
    "job": lambda: Job(small_run("vb", max_sweeps=2), Executor(1)).start().wait(180),
}


@for_each("way", list(WAYS))
def test_a_method_is_compiled_once_before_the_first_clock(way: str, events: list[str]) -> None:
    events.clear()
    compilation._ready.clear()
    WAYS[way]()
    assert events[:2] == ["compile vb", "clock"]
    WAYS[way]()
    assert events.count("compile vb") == 1


def test_choices_decide_what_is_compiled_and_numbers_do_not(events: list[str]) -> None:
    row = method_row("irm", "vb")
    for values, runs in (({}, len(compilation._SHARES)), ({"k_rows": 7}, 0), ({"init": "random"}, 2)):
        assert compile_method(model_row("irm"), row, row.values(values)) == runs
    assert events == ["compile vb"] * 2


def test_a_tiny_run_that_fails_stops_nothing(
    events: list[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(compilation, "_run_tiny", fail)
    with caplog.at_level(logging.ERROR):
        assert fit(small_relation(), "vb", **QUICK["vb"]).snapshot.sweep
    assert "could not be made ready" in caplog.text


def test_compiling_is_announced_once_if_something_is_compiled(
    monkeypatch: pytest.MonkeyPatch, events: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    def compiles(*_: object) -> None:
        for _ in range(2):
            with compilation.event.trigger_event("numba:compile"):
                pass

    monkeypatch.setattr(compilation, "_run_tiny", compiles)
    prepared = small_run("vb", init="random", max_sweeps=2)
    statuses: list[Status] = []
    job = Job(prepared, Executor(1))
    publish = job._publish
    monkeypatch.setattr(job, "_publish", lambda one, **more: (statuses.append(one), publish(one, **more)))
    assert job.start().wait(180)
    assert statuses[:4] == [Status.QUEUED, Status.STARTING, Status.COMPILING, Status.STARTING]
    compilation._ready.clear()
    stream = io.StringIO()
    fit(small_relation(), "vb", watch=ProgressLine(stream), **SHORT)
    assert stream.getvalue().splitlines()[0] == f"VB · K 6 × 5 · seed 0  {COMPILING}"
    assert stream.getvalue().count("compiling") == 1
    assert capsys.readouterr().err == ""
    # In Python too, if nobody watches; a second run has nothing to compile.
    compilation._ready.clear()
    for told in (f"VB · K 6 × 5 · seed 0  {COMPILING}; python -m acvb_core warmup does it beforehand\n", ""):
        fit(small_relation(), "vb", **SHORT)
        assert capsys.readouterr().err == told


def test_a_thread_that_only_reads_compiles_nothing_and_leaves_others_alone() -> None:
    def compile_something() -> str:
        with compilation.event.trigger_event("numba:compile"):
            return "compiled"

    with refuse_to_compile(), ThreadPoolExecutor() as pool:
        assert pool.submit(compile_something).result() == "compiled"
        with pytest.raises(CompilationRequest):
            compile_something()


def test_a_refused_method_is_not_taken_for_ready(
    events: list[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise CompilationRequest

    row = method_row("irm", "vb")
    with monkeypatch.context() as patch:
        patch.setattr(compilation, "_run_tiny", refuse)
        with pytest.raises(CompilationRequest):
            compile_method(model_row("irm"), row, row.values({}))
    assert caplog.text == ""
    compile_method(model_row("irm"), row, row.values({}))
    assert events == ["compile vb"]


def test_another_process_compiles_the_other_half_for_a_run(
    events: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not if nothing is missing, nor for the warm-up, which shares the methods among its processes."""

    def run_tiny(_: Any, row: Any, choices: Any, *more: Any) -> None:
        if row.name != "cvb0":
            with compilation.event.trigger_event("numba:compile", data={}):
                events.append(f"compiled from {choices['init']}")

    @contextmanager
    def share_compiling(model: str, method: str, what: str) -> Iterator[None]:
        events.append(f"begin {model} {method}")
        yield
        events.append("end")

    monkeypatch.setattr(compilation, "_run_tiny", run_tiny)
    monkeypatch.setattr(compilation, "share_compiling", share_compiling)
    compile_for(small_run("cvb0"))
    row = method_row("irm", "cvb")
    compile_method(model_row("irm"), row, row.values({}))
    compile_for(small_run("vb"))
    assert events == ["compiled from gibbs", "begin irm vb", "compiled from gibbs", "end"]
    compile_other_half(model_row("irm"), row, row.values({}))
    assert events[4:] == ["compiled from random"]
