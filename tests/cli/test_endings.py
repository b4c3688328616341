"""How commands end otherwise: mistakes in one line, Ctrl-C, a reader that has had enough."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import acvb_core
from acvb_core.cli.progress import ProgressLine
from acvb_core.engine.history import SweepRecord
from acvb_core.engine.prepared import PreparedRun
from acvb_core.store.files import StoreError
from tests.cli.support import ROOT, SMALL, WOMEN, Outcome, Run
from tests.loops import for_each


@for_each("arguments, words", [
        (["fit"], "FILE"),
        ([], "COMMAND"),
        (["explode"], "invalid choice: 'explode'"),
        (["fit", "nowhere.csv"], "nowhere.csv: the file cannot be opened"),
        (["fit", "sample:nothing"], "no sample 'nothing'; choose among southern_women"),
        (["fit", WOMEN, "--shape", "3x3"], "leave --shape out"),
        (["fit", WOMEN, "--method", "magic"], "has no method 'magic'; it has acvb0"),
        (["fit", WOMEN, "--model", "magic"], "no model 'magic'; there are irm, network, lda"),
        (["fit", WOMEN, "--model", "lda"], "model 'lda' is for a corpus; this is a relation"),
        (["fit", WOMEN, "--method", "vb", "--burn-in", "3"], "is not a setting of vb; acvb0, acvb, gibbs have it"),
        (["fit", WOMEN, "--method", "cvb0", "--variance", "exact"], "--variance is not a setting of cvb0; acvb, cvb"),
        (["fit", WOMEN, "--k-rows", "0"], "k_rows is 0; it must be from 1 to 1000"),
        (["fit", WOMEN, "--k-rows", "many"], "--k-rows is 'many'; it must be a whole number"),
        (["fit", WOMEN, "--k-rows", "inf"], "--k-rows is 'inf'; it must be a whole number"),
        (["fit", WOMEN, "--tol", "small"], "--tol is 'small'; it must be a number"),
        (["fit", WOMEN, "--tol", "nan"], "tol is nan; it must be a number"),
        (["fit", WOMEN, "--init", "magic"], "init is 'magic'; it must be one of gibbs, spectral, random"),
        (["fit", WOMEN, "--heldout", "1"], "at least 0 and below 1"),
        (["fit", WOMEN, "--heldout", "x"], "'x' is not a number"),
        (["fit", WOMEN, "--heldout-seed", "-1"], "must be at least 0"),
        (["fit", WOMEN, "--seed", "-1"], "--seed is -1; it must be at least 0"),
        (["fit", WOMEN, "--seed", "x"], "invalid int value: 'x'"),
        (["fit", "FILE", "--shape", "3by3"], "write it as 1892x1892"),
        (["fit", "FILE", "--format", "word"], "invalid choice: 'word'"),
        (["fit", "FILE", "--unlisted", "maybe"], "invalid choice: 'maybe'"),
        (["fit", WOMEN, "--k-row", "3"], "unrecognized arguments: --k-row 3"),
        (["fit", "two\nlines.csv"], "two lines.csv"),
        (["compare", WOMEN, "--methods", "vb,magic"], "no method 'magic'"),
        (["compare", WOMEN, "--methods", ","], "name at least one"),
        (["compare", WOMEN, "--seeds", "0"], "'0' is neither a number of seeds"),
        (["compare", WOMEN, "--seeds", "a"], "'a' is neither a number of seeds"),
        (["compare", WOMEN, "--methods", "vb,cvb0", "--burn-in", "3"], "--burn-in is not a setting of vb and cvb0"),
        (["compare", WOMEN, "--methods", "vb,gibbs", "--hyper", "per-block"], "hyper is 'per-block'"),
    ])  # fmt: skip
def test_every_mistake_is_one_line(run: Run, arguments: list[str], words: str) -> None:
    failed = run(*arguments)
    assert failed.code == 2
    assert failed.out == ""
    assert failed.err.startswith("acvb: ")
    assert failed.err.count("\n") == 1
    assert words in failed.err


def test_a_fault_in_the_file_is_named_by_line(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("a,b,value\nx,y,1\nx,z\n")
    failed = run("fit", path)
    assert failed.code == 2
    assert failed.err.startswith("acvb: bad.csv, line 3")


def test_a_folder_that_cannot_be_made_is_an_error_before_the_run(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    failed = run("fit", WOMEN, "--out", tmp_path / "file" / "below")
    assert failed.code == 2
    assert str(tmp_path / "file") in failed.err
    assert failed.err.count("\n") == 1


def press_ctrl_c_at(
    sweep: int, monkeypatch: pytest.MonkeyPatch, times: int = 1, number: int = signal.SIGINT
) -> None:
    watch = ProgressLine.__call__

    def watched(self: ProgressLine, prepared: PreparedRun, snapshot: SweepRecord) -> None:
        watch(self, prepared, snapshot)
        if snapshot.sweep == sweep and snapshot.verdict is None:
            for _ in range(times):
                signal.raise_signal(number)

    monkeypatch.setattr(ProgressLine, "__call__", watched)


def test_ctrl_c_keeps_what_there_is(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    press_ctrl_c_at(3, monkeypatch)
    before = signal.getsignal(signal.SIGINT)
    stopped = run("fit", WOMEN, "--json", "--heldout", "0.2", "--out", tmp_path, *SMALL)
    assert stopped.code == 130
    assert (stopped.json["verdict"], stopped.json["sweeps"]) == ("STOPPED", 3)
    assert stopped.json["heldout"]["log_likelihood"] < 0
    assert len(pd.read_csv(tmp_path / "history.csv")) == 3
    assert signal.getsignal(signal.SIGINT) is before


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
    command = [
        "fit",
        WOMEN,
        "--json",
        "--heldout",
        "0.2",
        *more,
        *SMALL,
        "--tol",
        "1e-12",
        "--max-sweeps",
        "40",
    ]
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


def test_what_is_left_of_another_run_is_not_continued(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with monkeypatch.context() as patch:
        press_ctrl_c_at(3, patch)
        run("fit", WOMEN, "--json", "--out", tmp_path, *SMALL)
    other = run("fit", WOMEN, "--json", "--seed", "1", "--out", tmp_path, *SMALL)
    assert not any("Continued" in line for line in other.json["report"])
    assert not (tmp_path / "unfinished.npz").exists()


def test_a_run_that_cannot_be_kept_goes_on(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(*_: object, **__: object) -> None:
        raise StoreError("no space left")

    monkeypatch.setattr("acvb_core.store.results.write_result", full)
    monkeypatch.setattr("acvb_core.engine.run.WRITE_EVERY", 0.0)
    done = run("fit", WOMEN, "--json", "--out", tmp_path, *SMALL)
    assert done.code == 0
    assert "The run could not be kept while it went on: no space left" in done.json["report"]


@for_each("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_closed_terminal_or_a_request_to_end_keeps_what_there_is(
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


def test_as_a_process() -> None:
    command = [sys.executable, "-m", "acvb_core", "fit", WOMEN, "--json", *SMALL]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT)
    assert done.returncode == 0
    assert json.loads(done.stdout)["sweeps"] == 6
    assert done.stderr.count("\n") == 1


def test_a_reader_that_has_had_enough_is_no_error() -> None:
    command = f"'{sys.executable}' -m acvb_core methods --json | head -c 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=300, cwd=ROOT)
    assert done.stdout == "{"
    assert done.stderr == ""
