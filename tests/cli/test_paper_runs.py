"""Runs of a paper within a limit of processor seconds, and what is kept of them."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from acvb_core.cli.papers.kept_runs import PartRuns, list_commands, list_runs, read_full, remember_full
from acvb_core.cli.papers.reproduce import make_runs
from acvb_core.cli.progress import Progress
from acvb_core.core.papers import PaperData, PaperSource, PaperTable
from acvb_core.core.protocols import no_checkpoint
from acvb_core.engine.experiments.paper_calls import PaperCall
from acvb_core.engine.experiments.papers import PaperLimits, plan_part
from acvb_core.engine.fitting import fit

WOMEN = PaperData("Women", (PaperSource("southern_women", False),))
FIRST = PaperTable(
    "made up", "Table 1", "Scores", "irm", ("cvb0",), (2,), (WOMEN,), {"max_sweeps": 3}, splits=2
)
SECOND = replace(FIRST, number="Table 2", ks=(3,))
#: The first table's method under another name, beside another one.
BOTH = replace(FIRST, number="Table 3", methods=("vb", "cvb0:again"), splits=3)
ALL = PaperLimits()
CALL = PaperCall("acvb made up", "2 cores", "Monday")


def list_parts(*tables: PaperTable, out: Path | None = None, limits: PaperLimits = ALL) -> list[PartRuns]:
    return list_runs([plan_part(table, table.data[0], None, limits) for table in tables], out)


def make(parts: list[PartRuns], seconds: float | None = None, call: PaperCall = CALL) -> list[int]:
    assert make_runs(parts, call, seconds, Progress(io.StringIO(), quiet=True), no_checkpoint)
    return [len(one.read().rows) for one in parts]


def test_a_limit_ends_the_runs_and_the_next_call_goes_on(tmp_path: Path) -> None:
    assert make(list_parts(FIRST, SECOND, out=tmp_path), 0.0) == [0, 0]
    assert make(list_parts(FIRST, SECOND, out=tmp_path)) == [2, 2]
    again = list_parts(FIRST, SECOND, out=tmp_path)
    assert make(again, 0.0) == [2, 2]
    notes = again[0].read_notes()
    assert sorted(notes) == [1, 2]
    course = notes[1]["courses"]["pseudo_loo"]
    assert [point[0] for point in course] == [1.0, 2.0, 3.0]
    row = again[0].read().rows[0]
    assert course[-1][-1] == pytest.approx(row["pseudo_loo"], rel=1e-5)
    falls = sum(b[-1] < a[-1] for a, b in zip(course[:-1], course[1:], strict=True))
    assert row["falls_pseudo_loo"] == falls / 2
    plan = again[0].plan
    alone = fit(plan.data, "cvb0", k_rows=2, k_cols=2, max_sweeps=3, seed=0, heldout=0.1, heldout_seed=0)
    assert row["last_change"] == alone.snapshot.change, "of the responsibilities, whatever the rule looks at"


def test_the_data_with_the_least_time_go_first() -> None:
    seen: list[object] = []

    class Recorder(Progress):
        def __call__(self, problem: object, snapshot: object) -> None:
            if problem not in seen:
                seen.append(problem)

    make_runs(list_parts(FIRST, SECOND), CALL, None, Recorder(io.StringIO(), quiet=True), no_checkpoint)
    assert [one.settings.values["k_rows"] for one in seen][:2] == [2, 3]  # type: ignore[attr-defined]


def test_tables_share_the_runs_of_a_method_with_the_same_settings(tmp_path: Path) -> None:
    make(list_parts(FIRST, out=tmp_path))
    first, both = list_parts(FIRST, BOTH, out=tmp_path)
    assert (both.n_missing, len(both.read().rows)) == (4, 2)  # three of VB, the third split of CVB0
    make([both])
    assert [(row["condition"], row["split"], row["run"]) for row in both.read().rows] == [
        ("VB · K 2", 1, 1), ("again · K 2", 1, 2), ("VB · K 2", 2, 3), ("again · K 2", 2, 4),
        ("VB · K 2", 3, 5), ("again · K 2", 3, 6),
    ]  # fmt: skip
    alone = [row["lower_bound"] for row in first.read().rows]
    assert alone == [row["lower_bound"] for row in both.read().rows if row["method"] == "cvb0"][:2]
    assert sum(one.runs for one in list_commands([first, both])) == 6  # no run counts twice


def test_more_splits_go_on_with_those_that_were_made(tmp_path: Path) -> None:
    make(list_parts(FIRST, out=tmp_path, limits=PaperLimits(splits=1)))
    more = list_parts(FIRST, out=tmp_path)
    assert more[0].n_missing == 1
    made = list_parts(FIRST)
    make(made)
    make(more)
    assert [row["heldout_log_likelihood"] for row in more[0].read().rows] == [
        row["heldout_log_likelihood"] for row in made[0].read().rows
    ]


def test_large_data_that_were_made_in_full_are_remembered(tmp_path: Path) -> None:
    large = replace(FIRST, data=(replace(WOMEN, is_large=True),))
    remember_full(list_parts(large, out=tmp_path), tmp_path)
    assert read_full(tmp_path) == []  # no run was made
    for limits, full in ((PaperLimits(quick=True), []), (PaperLimits(), [["made up", "Table 1", "Women"]])):
        runs = list_parts(large, out=tmp_path, limits=limits)
        make(runs)
        for _ in range(2):
            remember_full(runs, tmp_path)
            assert read_full(tmp_path) == full


def test_a_kept_run_knows_the_call_that_made_it(tmp_path: Path) -> None:
    first = list_parts(FIRST, out=tmp_path)
    make(first)
    make(list_parts(FIRST, SECOND, out=tmp_path), None, PaperCall("acvb made up again", "4 cores", "Tuesday"))
    made = list_commands(list_parts(FIRST, SECOND, out=tmp_path))
    assert [(one.command, one.machine, one.calls, one.runs) for one in made] == [
        ("acvb made up", "2 cores", 1, 2),
        ("acvb made up again", "4 cores", 1, 2),
    ]
    assert made[0].seconds == pytest.approx(sum(row["cpu_seconds"] for row in first[0].read().rows))


def test_a_run_without_its_call_is_not_given_to_another(tmp_path: Path) -> None:
    make(list_parts(FIRST, out=tmp_path))
    (notes,) = tmp_path.glob("*/notes.jsonl")
    lines = [json.loads(line) for line in notes.read_text().splitlines()]
    del lines[0]["call"]
    notes.write_text("".join(json.dumps(line) + "\n" for line in lines))
    made = list_commands(list_parts(FIRST, out=tmp_path))
    assert [(one.command, one.runs) for one in made] == [("", 1), ("acvb made up", 1)]


def test_a_note_that_was_cut_off_is_removed(tmp_path: Path) -> None:
    make(list_parts(FIRST, out=tmp_path))
    (notes,) = tmp_path.glob("*/notes.jsonl")
    notes.write_bytes(notes.read_bytes()[:-20])
    assert sorted(list_parts(FIRST, out=tmp_path)[0].read_notes()) == [1]
    assert notes.read_bytes().endswith(b"\n")
