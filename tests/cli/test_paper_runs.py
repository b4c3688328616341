"""Runs of a paper within a limit of processor seconds, and what is kept of them."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from acvb_core import __version__
from acvb_core.cli.papers.kept_runs import PlannedRuns, list_commands, read_notes
from acvb_core.cli.papers.reproduce import make_runs
from acvb_core.cli.progress import Progress
from acvb_core.core.protocols import no_checkpoint
from acvb_core.engine.experiments.paper_calls import PaperCall
from acvb_core.engine.experiments.plan import plan_experiment
from acvb_core.engine.experiments.report import Experiment
from acvb_core.samples.catalogue import load_sample
from acvb_core.store.plans.experiments import ExperimentFolder


def plans(out: Path | None = None) -> dict[str, PlannedRuns]:
    women = load_sample("southern_women").data
    planned = {}
    for name, k in (("first", 2), ("second", 3)):
        plan = plan_experiment(women, ["cvb0"], splits=2, k=k, max_sweeps=3)
        folder = None if out is None else ExperimentFolder(out / name, plan, __version__)
        made = Experiment(plan) if folder is None else folder.read()
        notes = {} if folder is None else read_notes(folder.folder / "notes.jsonl")
        planned[name] = PlannedRuns(plan, [], made, notes, folder)
    return planned


CALL = PaperCall("acvb made up", "2 cores", "Monday")


def make(planned: dict[str, PlannedRuns], seconds: float | None, call: PaperCall = CALL) -> list[int]:
    assert make_runs(planned, call, seconds, Progress(io.StringIO(), quiet=True), no_checkpoint)
    return [len(one.experiment.rows) for one in planned.values()]


def test_a_limit_ends_the_runs_and_the_next_call_goes_on(tmp_path: Path) -> None:
    assert make(plans(tmp_path), 0.0) == [0, 0]
    assert make(plans(tmp_path), None) == [2, 2]
    again = plans(tmp_path)
    assert make(again, 0.0) == [2, 2]
    notes = again["first"].notes
    assert sorted(notes) == [1, 2]
    course = notes[1]["courses"]["pseudo_loo"]
    assert [point[0] for point in course] == [1.0, 2.0, 3.0]
    row = again["first"].experiment.rows[0]
    assert course[-1][-1] == pytest.approx(row["pseudo_loo"], rel=1e-5)
    falls = sum(b[-1] < a[-1] for a, b in zip(course[:-1], course[1:], strict=True))
    assert row["falls_pseudo_loo"] == falls / 2


def test_the_data_with_the_least_time_go_first() -> None:
    seen: list[object] = []

    class Recorder(Progress):
        def __call__(self, problem: object, snapshot: object) -> None:
            if problem not in seen:
                seen.append(problem)

    make_runs(plans(), CALL, None, Recorder(io.StringIO(), quiet=True), no_checkpoint)
    assert [one.settings.values["k_rows"] for one in seen][:2] == [2, 3]  # type: ignore[attr-defined]


def test_a_kept_run_knows_the_call_that_made_it(tmp_path: Path) -> None:
    first = plans(tmp_path)
    del first["second"]
    make(first, None)
    make(plans(tmp_path), None, PaperCall("acvb made up again", "4 cores", "Tuesday"))
    made = list_commands(plans(tmp_path).values())
    assert [(one.command, one.machine, one.calls, one.runs) for one in made] == [
        ("acvb made up", "2 cores", 1, 2),
        ("acvb made up again", "4 cores", 1, 2),
    ]
    rows = first["first"].experiment.rows
    assert made[0].seconds == pytest.approx(sum(row["cpu_seconds"] for row in rows))


def test_a_run_without_its_call_is_not_given_to_another(tmp_path: Path) -> None:
    make(plans(tmp_path), None)
    notes = tmp_path / "first" / "notes.jsonl"
    lines = [json.loads(line) for line in notes.read_text().splitlines()]
    del lines[0]["call"]
    notes.write_text("".join(json.dumps(line) + "\n" for line in lines))
    made = list_commands(plans(tmp_path).values())
    assert [(one.command, one.runs) for one in made] == [("", 1), ("acvb made up", 3)]


def test_a_note_that_was_cut_off_is_removed(tmp_path: Path) -> None:
    make(plans(tmp_path), None)
    notes = tmp_path / "first" / "notes.jsonl"
    notes.write_bytes(notes.read_bytes()[:-20])
    assert sorted(plans(tmp_path)["first"].notes) == [1]
    assert notes.read_bytes().endswith(b"\n")
