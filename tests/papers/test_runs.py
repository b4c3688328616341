"""The command that makes the tables of a paper: its runs, what is kept of them, and its page."""

from __future__ import annotations

import hashlib
import io
import json
import re
import tarfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acvb_core.cli.progress import ProgressLine
from acvb_core.core.protocols import no_poll
from acvb_core.engine.fitting import fit
from acvb_core.registry import method_row
from benchmarks.papers.__main__ import main, make_runs
from benchmarks.papers.paper import PaperData, PaperSource, PaperTable, read_paper
from benchmarks.papers.parts import PaperLimits, PaperPart, plan_part
from benchmarks.papers.runs import KeptRuns
from tests.cli.support import ROOT, Outcome, Run
from tests.loops import for_each

WOMEN = PaperData("Women", (PaperSource("southern_women"),))
FIRST = PaperTable(
    "made up", "Table 1", "Scores", "irm", ("cvb0",), (2,), (WOMEN,), {"max_sweeps": 3}, splits=2
)
SECOND = replace(FIRST, number="Table 2", ks=(3,))
CALL = {"command": "acvb made up", "machine": "2 cores", "begun": "Monday"}


def list_parts(*tables: PaperTable, out: Path) -> list[PaperPart]:
    return [plan_part(table, table.data[0], None, PaperLimits(), KeptRuns(out)) for table in tables]


def make(parts: list[PaperPart], seconds: float | None = None) -> list[int]:
    assert make_runs(parts, CALL, seconds, ProgressLine(io.StringIO(), quiet=True), no_poll)
    return [len(one.list_runs()) for one in parts]


def list_rows(part: PaperPart) -> list[Mapping[str, Any]]:
    return [run for _, _, run in part.list_runs()]


def test_a_limit_ends_the_runs_and_the_next_call_goes_on(tmp_path: Path) -> None:
    assert make(list_parts(FIRST, SECOND, out=tmp_path), 0.0) == [0, 0]
    assert make(list_parts(FIRST, SECOND, out=tmp_path)) == [2, 2]
    again = list_parts(FIRST, SECOND, out=tmp_path)
    assert make(again, 0.0) == [2, 2]
    row = list_rows(again[0])[0]
    course = row["courses"]["pseudo_loo"]
    assert [point[0] for point in course] == [1.0, 2.0, 3.0]
    assert course[-1][-1] == pytest.approx(row["pseudo_loo"], rel=1e-5)
    alone = fit(again[0].taken, "cvb0", k_rows=2, k_cols=2, max_sweeps=3, seed=0, heldout=0.1, heldout_seed=0)
    assert row["last_change"] == alone.snapshot.change, "of the responsibilities, whatever the rule looks at"


def test_a_note_that_was_cut_off_is_removed(tmp_path: Path) -> None:
    make(list_parts(FIRST, out=tmp_path))
    (notes,) = tmp_path.glob("*/notes.jsonl")
    notes.write_bytes(notes.read_bytes()[:-20])
    assert [bool(row["courses"]) for row in list_rows(list_parts(FIRST, out=tmp_path)[0])] == [True, False]
    assert notes.read_bytes().endswith(b"\n")


def test_the_archived_runs_are_of_plans_of_today() -> None:
    """A setting that comes or goes gives a plan another name: its folder must follow, or its runs are not found."""
    with tarfile.open(ROOT / "docs" / "papers" / "runs.tar.xz") as archive:
        plans = [one for one in archive.getmembers() if one.name.endswith("/experiment.json")]
        assert plans
        for one in plans:
            file = archive.extractfile(one)
            assert file is not None
            identity = json.load(file)
            del identity["version"]
            digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
            assert Path(one.name).parent.name == digest[:16]
            for condition in identity["conditions"]:
                row = method_row(identity["model"], condition["method"])
                assert set(condition["values"]) == {parameter.name for parameter in row.parameters}


def test_a_table_of_the_documents_is_written_again_from_its_archived_runs(run: Run, tmp_path: Path) -> None:
    """Of data that are drawn, so that no file is needed: plans, kept runs, scores and wording are those of before."""
    papers = ROOT / "docs" / "papers"
    with tarfile.open(papers / "runs.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    told = run("hf13", "--only", "Figure 1", "--seconds", "0", "--out", tmp_path)
    (table,) = re.findall(r"(## Figure 1: .*?)\n\n- ", told.out, re.DOTALL)
    assert len(table.splitlines()) == 5
    assert table in (papers / "hf13.md").read_text("utf-8")


FIGURE = ("tnw07", "--only", "Figure 1", "--quick", "--splits", "2")
COMMAND = "python -m benchmarks.papers tnw07 --out OUT --only 'Figure 1' --splits 2"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def runner(*arguments: object) -> Outcome:
        code = main([str(argument) for argument in arguments])
        return Outcome(code, *capsys.readouterr())

    return runner


def test_the_command_makes_a_table_and_goes_on_with_its_runs(run: Run, tmp_path: Path) -> None:
    told = run(*FIGURE, "--out", tmp_path)
    assert "## Figure 1: Log probability of a held-out word after 100 sweeps" in told.out
    assert (tmp_path / "tnw07.md").read_text("utf-8") == told.out
    figures = json.loads((tmp_path / "tnw07.json").read_text("utf-8"))
    assert "CVB reaches a higher bound than VB" in (tmp_path / "claims.md").read_text("utf-8")
    assert "6/6" in told.err
    assert f"Made by `{COMMAND} --quick` on " in told.out
    again = run(*FIGURE, "--json", "--out", tmp_path)
    assert "6/6" not in again.err  # all runs were kept
    assert again.json["tables"] == figures["tables"]
    assert again.json["made"] == figures["made"]  # a call that made no run is none of them
    for lines in list(tmp_path.glob("runs/*/runs.jsonl"))[:2]:  # of three methods
        lines.write_text(lines.read_text().splitlines(keepends=True)[0])
    told = run(*FIGURE, "--seconds", "600", "--out", tmp_path)
    assert "Put together from 6 runs that several calls made and kept" in told.out
    assert f"- 1 call of `{COMMAND} --quick` on " in told.out
    assert f"- 1 call of `{COMMAND} --seconds 600 --quick` on " in told.out


@for_each("paper", ["acvb17", "hf13", "irm14", "sn15", "tnw07"])
def test_a_quick_look_at_every_paper_is_cut_short(run: Run, tmp_path: Path, paper: str) -> None:
    """A run of the quick mode: every table and figure has its place, and every claim a verdict."""
    told = run(paper, "--quick", "--splits", "1", "--seconds", "0.01", "--out", tmp_path)
    assert told.code == 0
    tables = [table for table in read_paper(paper) if any(one.sources for one in table.data)]
    claims = (tmp_path / "claims.md").read_text("utf-8")
    for table in tables:
        assert f"## {table.number}: {table.title}" in told.out
        assert all(f"| {claim.text} | " in claims for claim in table.claims)
    assert "would take about" in told.out
    for name in re.findall(r"!\[.*\]\((.*)\)", told.out):
        assert (tmp_path / name).stat().st_size > 500
    assert "--seconds 0.01 --quick` on " in told.out


def test_a_command_that_names_nothing_known_is_refused(run: Run, tmp_path: Path) -> None:
    for typed, message in (
        (("--only", "Table 12"), "has no table 'Table 12'; there are Figure 1, Figure 2, Section 4."),
        (("--on", "Enron"), "tnw07 has no data 'Enron'; there are KOS, NIPS"),
        (("--data", "/no/such/folder"), "there is no folder /no/such/folder"),
    ):
        told = run("tnw07", *typed, "--out", tmp_path)
        assert (told.code, told.out) == (2, "")
        assert message in told.err
