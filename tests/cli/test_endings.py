"""How commands end: mistakes in one line, Ctrl-C, races of restarts, and what is said while a run takes long."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

import acvb_core
from acvb_core.cli import progress
from acvb_core.cli.progress import ProgressLine
from acvb_core.engine.history import SweepRecord
from acvb_core.engine.prepared import PreparedRun, prepare_run
from acvb_core.samples.planted_relations import planted_relation
from acvb_core.store.files import StoreError
from tests.cli.support import ROOT, SMALL, WOMEN, Outcome, Run, press_ctrl_c_at
from tests.loops import for_each


class Killed(BaseException):
    """The end of the process."""


def untimed(outcome: Outcome) -> dict[str, Any]:
    """What a run says of itself, without its times and where it began."""
    times = ("cpu_seconds", "wall_seconds", "diagnostics_seconds", "peak_memory_mb", "report", "out")
    kept = {name: value for name, value in outcome.json.items() if name not in times}
    return kept | {"race": kept["race"]["winner"]} if "race" in kept else kept


@for_each("ended_by", ["kill", "Ctrl-C"])
@for_each("more", [(), ("--restarts", "2", "--method", "vb")])
def test_the_same_command_continues_a_run_that_was_interrupted(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ended_by: str, more: tuple[str, ...]
) -> None:
    command = ["fit", WOMEN, "--json", "--heldout 0.2 --tol 1e-12", *more, *SMALL, "--max-sweeps", "40"]
    whole = run(*command, "--out", tmp_path / "whole")
    out = tmp_path / "cut"
    with monkeypatch.context() as patch:
        if ended_by == "Ctrl-C":
            press_ctrl_c_at(25, patch)
            stopped = run(*command, "--out", out)
            assert (stopped.code, stopped.json["sweeps"]) == (130, 25)
            assert "Stopped. The same command continues it, from unfinished.npz." in stopped.json["report"]
        else:
            watch = ProgressLine.__call__

            def killed(self: ProgressLine, prepared: PreparedRun, snapshot: SweepRecord) -> None:
                watch(self, prepared, snapshot)
                if snapshot.sweep == 26:
                    raise Killed

            patch.setattr(ProgressLine, "__call__", killed)
            patch.setattr("acvb_core.engine.run.WRITE_EVERY", 0.0)
            patch.setattr("acvb_core.engine.run.WRITE_RATIO", 0.0)
            with pytest.raises(Killed):
                run(*command, "--out", out)
    assert (out / "unfinished.npz").exists()
    again = run(*command, "--out", out)
    assert "Continued the run that was interrupted after 25 sweeps." in again.json["report"]
    assert untimed(again) == untimed(whole)
    assert not (out / "unfinished.npz").exists()


def test_a_run_that_cannot_be_kept_continues(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(*_: object, **__: object) -> None:
        raise StoreError("no space left")

    monkeypatch.setattr("acvb_core.store.results.write_result", full)
    monkeypatch.setattr("acvb_core.engine.run.WRITE_EVERY", 0.0)
    done = run("fit", WOMEN, "--json", "--out", tmp_path, *SMALL)
    assert done.code == 0
    assert "The run could not be kept while it went on: no space left" in done.json["report"]


@for_each("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_closed_terminal_or_a_request_to_end_keeps_the_sweeps_so_far(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, number: int
) -> None:
    # Without the program's own handler the signal would end pytest.
    reached: list[int] = []
    before = signal.signal(number, lambda *_: reached.append(1))
    try:
        press_ctrl_c_at(3, monkeypatch, number=number)
        stopped = run("fit", WOMEN, "--json", "--out", tmp_path, *SMALL)
        assert (stopped.code, stopped.json["verdict"], stopped.json["sweeps"]) == (130, "STOPPED", 3)
        assert len(pd.read_csv(tmp_path / "history.csv")) == 3
        signal.raise_signal(number)
        assert reached == [1], "afterwards the handler is the one it was before"
    finally:
        signal.signal(number, before)


def test_nohup_keeps_a_run_going(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        press_ctrl_c_at(3, monkeypatch, number=signal.SIGHUP)
        done = run("fit", WOMEN, "--json", *SMALL)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert (done.code, done.json["sweeps"]) == (0, 6)


def test_ctrl_c_ends_a_comparison_with_the_run_it_is_in(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    press_ctrl_c_at(4, monkeypatch)
    stopped = run("compare", WOMEN, "--methods", "vb,cvb0", "--seeds", 2, "--json", *SMALL)
    assert stopped.code == 130
    assert [(r["verdict"], r["sweeps"]) for r in stopped.json["runs"]] == [("STOPPED", 4)]


def test_ctrl_c_twice_ends_at_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    press_ctrl_c_at(2, monkeypatch, times=2)
    stopped = run("fit", WOMEN, "--quiet", *SMALL)
    assert (stopped.code, stopped.out, stopped.err) == (130, "", "acvb: interrupted\n")


def test_ctrl_c_before_the_first_sweep(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    init = acvb_core.engine.run._Runner.start  # type: ignore[attr-defined]

    def start(self: Any) -> SweepRecord:
        signal.raise_signal(signal.SIGINT)
        self.poll()
        return init(self)

    monkeypatch.setattr("acvb_core.engine.run._Runner.start", start)
    for command in ("fit", "compare"):
        stopped = run(command, WOMEN, "--json", *SMALL)
        assert (stopped.code, stopped.out) == (130, "")
        assert stopped.err == "acvb: interrupted before the first sweep; there is nothing to report\n"


def test_a_reader_that_has_had_enough_is_no_error() -> None:
    command = f"'{sys.executable}' -m acvb_core methods --json | head -c 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=300, cwd=ROOT)
    assert done.stdout == "{"
    assert done.stderr == ""


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


RACE = (
    "--method", "cvb0", "--init", "random", "--seed", "2", "--restarts", "4", "--max-sweeps", "30", "--tol", "1e-12",
)  # fmt: skip


def test_the_winner_is_reported_with_the_cost_of_all(run: Run, tmp_path: Path) -> None:
    told = run("fit", WOMEN, *RACE, "--json", "--out", str(tmp_path))
    assert told.code == 0
    found = told.json
    wanted = acvb_core.fit(
        acvb_core.load_sample("southern_women").relation, "cvb0", seed=2, restarts=4, init="random",
        max_sweeps=30, tol=1e-12,
    )  # fmt: skip
    assert found["seed"] == found["settings"]["seed"] == found["race"]["winner"] == wanted.prepared.spec.seed
    assert found["lower_bound"] == wanted.snapshot.lower_bound
    assert (found["race"]["restarts"], found["race"]["sweeps"]) == (4, 20 + 20 + 30 + 30)
    assert found["sweeps"] == 30
    table = pd.read_csv(tmp_path / "race.csv")
    assert table["seed"].tolist() == [2, 3, 4, 5]
    assert table["out_after"].isna().sum() == 1
    assert json.loads((tmp_path / "run.json").read_text())["race"] == found["race"]
