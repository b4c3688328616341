"""Tables of papers made anew: which data stand in, the plans, and the scores beside the printed ones."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from acvb_core.cli.progress import ProgressLine
from acvb_core.core.protocols import no_poll
from acvb_core.engine.tuning import Search, Trial, Tuning
from benchmarks.papers.__main__ import make_runs
from benchmarks.papers.claims import judge_claims
from benchmarks.papers.paper import PAPERS, PaperData, PaperSearch, PaperSource, PaperTable, read_paper
from benchmarks.papers.parts import PaperLimits, PaperPart, PaperResult, plan_part
from benchmarks.papers.report import to_plain, write_claims_page
from benchmarks.papers.runs import KeptRuns
from tests.loops import for_each
from tests.papers.made_up import TABLE, WOMEN, plan_women, write_page


class Found(KeptRuns):
    """Kept runs with searches that are over."""

    def make_search(self, search: Search) -> Tuning:
        self.searched = search
        return Tuning(search.space.names, (
            Trial(1, dict.fromkeys(search.space.names, 0.6), 90.0, 1.0, "MAX_SWEEPS"),
            Trial(2, {**dict.fromkeys(search.space.names, 0.6), "step_offset": 30.0, "alpha": 0.1}, 80.0, 2.0,
                  "MAX_SWEEPS"),
        ))  # fmt: skip


@for_each("paper", PAPERS)
def test_every_table_can_be_planned_with_samples_alone(paper: str, tmp_path: Path) -> None:
    for table in read_paper(paper):
        part = plan_part(table, table.data[0], None, PaperLimits(quick=True, splits=2), Found(tmp_path))
        ks = table.quick_ks or table.ks[:1]
        assert list(part.runs) == [(k, method) for k in ks for method in table.methods]
        assert len({table.label_method(method) for method in table.methods}) == len(table.methods)
        own = [one.plan.conditions[0].method for one in part.runs.values()]
        assert own == len(ks) * [table.find_row(method).name for method in table.methods]


@for_each("paper", PAPERS)
def test_printed_figures_and_claims_are_of_the_table(paper: str) -> None:
    numbers = {table.number for table in read_paper(paper)}
    for table in read_paper(paper):
        names = {data.name for data in table.data}
        for k, rows in table.printed.items():
            assert k in table.ks
            assert set(rows) <= names
            assert {len(row) for row in rows.values()} == {len(table.methods)}
        for claim in table.claims:
            assert {claim.better or table.methods[0], *claim.worse} <= set(table.methods)
            limits = (claim.at_most, claim.at_least) != (None, None)
            assert claim.worse or claim.follows or claim.untested or limits or claim.than_in
            assert not claim.than_in or claim.than_in in numbers
            assert set(claim.tables) <= numbers
            assert set(claim.ks) <= set(table.ks)
            assert set(claim.data) <= names


def test_a_file_goes_before_a_sample(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "women.csv").write_text("row,col\na,x\nb,y\nc,x\nd,y\ne,x\nf,y\n")
    kept = KeptRuns(tmp_path / "runs")
    part = plan_part(TABLE, WOMEN, tmp_path, PaperLimits(), kept)
    assert part.real_size == "Women, 6 × 2"
    assert not plan_part(TABLE, TABLE.data[1], tmp_path, PaperLimits(), kept).runs


def list_settings(part: PaperPart) -> list[tuple[int, str, int]]:
    plans = (one.plan.conditions[0] for one in part.runs.values())
    return [
        (plan.k, name, plan.values["max_sweeps"]) for (_, name), plan in zip(part.runs, plans, strict=True)
    ]


def test_settings_are_those_of_the_paper_or_of_a_quick_look(tmp_path: Path) -> None:
    full = plan_women(tmp_path)
    assert list_settings(full) == [(2, "cvb0", 5), (2, "vb", 7), (3, "cvb0", 5), (3, "vb", 7)]
    less = plan_women(tmp_path, limits=PaperLimits(splits=1, ks=(3, 20), most_sweeps=6))
    assert list_settings(less) == [(3, "cvb0", 5), (3, "vb", 6)]
    quick = plan_women(tmp_path, limits=PaperLimits(quick=True))
    assert list_settings(quick) == [(2, "cvb0", 3), (2, "vb", 3)]


def test_the_steps_of_a_method_are_searched_before_its_runs(tmp_path: Path) -> None:
    search = PaperSearch(
        ("scvb0:tuned",), 9, 2, (("step_offset", 1.0, 1e3, True), ("alpha", 0.01, 0.5, True))
    )
    tuned = PaperTable(
        "made up", "Figure 2", "Scores", "lda", ("scvb0", "scvb0:tuned"), (3,),
        (PaperData("Bars", (PaperSource("bars", first=30),)),), {"preset": "paper", "epochs": 1.0},
        {"scvb0:tuned": {"batch": 10}}, score="heldout_perplexity", splits=2, split={"heldout_documents": 0.2},
        search=search,
    )  # fmt: skip
    kept = Found(tmp_path)
    part = plan_part(tuned, tuned.data[0], None, PaperLimits(quick=True), kept)
    made = kept.searched
    assert (made.trials, made.space.names) == (2, ("step_offset", "alpha"))
    assert made.fixed == {"preset": "paper", "epochs": 1.0, "batch": 10, "k": 3}
    assert made.split["heldout_seed"] not in range(2)  # of the runs
    as_printed, own = (one.plan.conditions[0].values for one in part.runs.values())
    assert (own["step_offset"], own["alpha"], own["batch"]) == (30.0, 0.1, 10)
    assert (as_printed["step_offset"], as_printed["alpha"]) == (1000.0, 0.01)
    page = write_page(PaperResult(tuned, [part]))
    assert "The best of 2 trials on a split of their own, the first with our default steps." in page
    assert "tuned on Bars: step_offset 30, alpha 0.1, in 3.0 s." in page


def test_the_page_has_ours_beside_the_printed_and_says_what_stood_in(tmp_path: Path) -> None:
    kept = KeptRuns(tmp_path)
    parts = [plan_part(TABLE, data, None, PaperLimits(), kept) for data in TABLE.data]
    call = {"command": "acvb made up", "machine": "2 cores", "begun": "Monday"}
    assert make_runs(parts, call, None, ProgressLine(io.StringIO(), quiet=True), no_poll)
    result = PaperResult(TABLE, parts)
    cells = result.list_cells(TABLE.score)
    assert [(cell.part.data.name, cell.k) for cell in cells] == [("Women", 2), ("Women", 3)]
    page = write_page(result)
    mean = f"{cells[0].scores['cvb0'].mean():.4g}"
    (line,) = [line for line in page.splitlines() if line.startswith("| A sample, 18 × 14 (for Women) | 2 |")]
    assert mean in line
    assert "(-0.5)" in line
    assert "- Lost: cannot be had." in page
    plain = to_plain("made up", [result])
    first = plain["tables"][0]["cells"][0]["scores"][0][0]
    assert first == pytest.approx(cells[0].scores["cvb0"][0], rel=1e-5)
    (evidence,) = judge_claims([result])
    claims = write_claims_page({"made up": plain})
    cells = ("Table 1", "A sample, 18 × 14", "t-test of the difference", evidence.verdict)
    assert f"| 1 | CVB0 is better | {' | '.join(cells)} |" in claims
