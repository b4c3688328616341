"""Tables of papers made anew: which data stand in, the plans, and the scores beside the printed ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from acvb_core.engine.experiments.report import Experiment
from acvb_core.engine.study import make_runs
from acvb_core.engine.tuning import Trial, Tuning
from benchmarks.papers.claims import judge_claims, write_claims_page
from benchmarks.papers.paper import PaperData, PaperSearch, PaperSource, PaperTable, name_method
from benchmarks.papers.parts import (
    PaperLimits,
    PaperResult,
    list_tables,
    plan_part,
    plan_searches,
)
from benchmarks.papers.report import to_plain, write_report
from tests.papers.made_up import TABLE, WOMEN

PAPERS = ("acvb17", "hf13", "irm14", "sn15", "tnw07")


@pytest.mark.parametrize("paper", PAPERS)
def test_every_table_can_be_planned_with_samples_alone(paper: str) -> None:
    tables = list_tables(paper)
    parts = [plan_part(table, table.data[0], None, PaperLimits(quick=True, splits=2)) for table in tables]
    for table, part in zip(tables, parts, strict=True):
        assert part.plan is not None
        n_ks = len(table.quick_ks or table.ks[:1])
        assert [one.method for one in part.plan.conditions] == n_ks * [
            name_method(one) for one in table.methods
        ]
        assert len({one.label for one in part.plan.conditions}) == n_ks * len(table.methods)


@pytest.mark.parametrize("paper", PAPERS)
def test_printed_figures_and_claims_are_of_the_table(paper: str) -> None:
    for table in list_tables(paper):
        names = {data.name for data in table.data}
        for (k, name), row in table.printed.items():
            assert k in table.ks
            assert name in names
            assert len(row) == len(table.methods)
        for claim in table.claims:
            assert {claim.better or table.methods[0], *claim.worse} <= set(table.methods)
            limits = (claim.at_most, claim.at_least) != (None, None)
            assert claim.worse or claim.follows or claim.untested or limits or claim.than_in
            assert not claim.than_in or claim.than_in in {one.number for one in list_tables(paper)}
            assert set(claim.ks) <= set(table.ks)
            assert set(claim.data) <= names


def test_a_file_goes_before_a_sample(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "women.csv").write_text("row,col\na,x\nb,y\nc,x\nd,y\ne,x\nf,y\n")
    part = plan_part(TABLE, WOMEN, tmp_path, PaperLimits())
    assert part.plan is not None
    assert part.plan.data.shape == (6, 2)
    assert part.source is not None
    assert not part.source.real
    assert part.real_size == "Women, 6 × 2"
    assert plan_part(TABLE, TABLE.data[1], tmp_path, PaperLimits()).plan is None


def test_objects_without_a_link_count_where_the_paper_counts_them(tmp_path: Path) -> None:
    """A list of links leaves out who has none, which makes a relation denser than the paper's."""
    (tmp_path / "mails.csv").write_text("row,col\na,b\nb,c\na,c\nc,d\n")
    source = PaperSource("mails.csv", options={"domains": "two"}, n_objects=6)
    part = plan_part(TABLE, PaperData("Mails", (source,)), tmp_path, PaperLimits())
    assert part.plan is not None
    relation = part.plan.data
    assert relation.shape == (6, 6)
    assert relation.row_labels.tolist() == relation.column_labels.tolist()
    assert relation.row_labels.tolist()[:4] == ["a", "b", "c", "d"]
    assert relation.ones.sum() == 4


def test_settings_are_those_of_the_paper_or_of_a_quick_look() -> None:
    full = plan_part(TABLE, WOMEN, None, PaperLimits()).plan
    quick = plan_part(TABLE, WOMEN, None, PaperLimits(quick=True)).plan
    assert full is not None
    assert quick is not None
    assert [(one.label, one.values["max_sweeps"], one.k) for one in full.conditions] == [
        ("CVB0 · K 2", 5, 2), ("VB · K 2", 7, 2), ("CVB0 · K 3", 5, 3), ("VB · K 3", 7, 3),
    ]  # fmt: skip
    assert len(full.seeds) == 2
    more = plan_part(TABLE, WOMEN, None, PaperLimits(splits=9)).plan
    assert more is not None
    assert len(more.seeds) == 2  # no more than the paper has
    assert [(one.label, one.values["max_sweeps"]) for one in quick.conditions] == [
        ("CVB0 · K 2", 3), ("VB · K 2", 3),
    ]  # fmt: skip


def test_less_than_the_paper_has_is_made_where_that_is_asked_for() -> None:
    limits = PaperLimits(splits=1, ks=(3, 20), most_sweeps=6)
    part = plan_part(TABLE, WOMEN, None, limits)
    assert part.plan is not None
    assert [(one.label, one.values["max_sweeps"], one.k) for one in part.plan.conditions] == [
        ("CVB0 · K 3", 5, 3), ("VB · K 3", 6, 3),
    ]  # fmt: skip
    page = write_report("made up", [PaperResult(TABLE, ((part, None),))], [])
    assert "Only K 3 of 2, 3." in page
    assert "Methods that end by themselves have 6 sweeps at most." in page
    sampled = replace(TABLE, methods=("gibbs",), own_settings={"gibbs": {"max_sweeps": 9, "burn_in": 8}})
    sampler = plan_part(sampled, WOMEN, None, limits).plan
    assert sampler is not None
    assert sampler.conditions[0].values["max_sweeps"] == 9  # it does not end by itself


def test_the_steps_of_a_method_are_searched_before_its_runs() -> None:
    tuned = PaperTable(
        "made up", "Figure 2", "Scores", "lda", ("scvb0", "scvb0:tuned"), (3,),
        (PaperData("Bars", (PaperSource("bars", False, first=30),)),), {"preset": "paper", "epochs": 1.0},
        {"scvb0:tuned": {"batch": 10}}, score="heldout_perplexity", splits=2, split={"heldout_documents": 0.2},
        searches={"scvb0:tuned": PaperSearch(9, 2, (("step_offset", 1.0, 1e3, True), ("alpha", 0.01, 0.5, True)))},
    )  # fmt: skip
    limits = PaperLimits(quick=True)
    (search,) = plan_searches(tuned, tuned.data[0], None, limits).values()
    assert (search.trials, search.space.names) == (2, ("step_offset", "alpha"))
    assert search.fixed == {"preset": "paper", "epochs": 1.0, "batch": 10, "k": 3}
    trials = Tuning(search.space.names, (
        Trial(1, {"step_offset": 2.0, "alpha": 0.2}, 90.0, 1.0, "MAX_SWEEPS"),
        Trial(2, {"step_offset": 30.0, "alpha": 0.1}, 80.0, 2.0, "MAX_SWEEPS"),
    ))  # fmt: skip
    part = plan_part(tuned, tuned.data[0], None, limits, {"scvb0:tuned": trials})
    assert part.plan is not None
    as_printed, own = part.plan.conditions
    assert (own.values["step_offset"], own.values["alpha"], own.values["batch"]) == (30.0, 0.1, 10)
    assert (as_printed.values["step_offset"], as_printed.values["alpha"]) == (1000.0, 0.01)
    result = PaperResult(tuned, ((part, None),))
    page = write_report("made up", [result], [])
    assert "The best of 2 trials on a split of their own, the first with our default steps." in page
    assert "tuned on Bars: step_offset 30, alpha 0.1, in 3.0 s." in page
    assert search.split["heldout_seed"] not in range(2)  # of the runs


def test_the_page_has_ours_beside_the_printed_and_says_what_stood_in() -> None:
    parts = [plan_part(TABLE, data, None, PaperLimits()) for data in TABLE.data]
    done = []
    for part in parts:
        experiment = None
        if part.plan is not None:
            *_, experiment = make_runs(part.plan, Experiment(part.plan))
        done.append((part, experiment))
    result = PaperResult(TABLE, tuple(done))
    assert [(cell.data, cell.k, cell.scores.shape) for cell in result.cells] == [
        ("Women", 2, (2, 2)), ("Women", 3, (2, 2)),
    ]  # fmt: skip
    page = write_report("made up", [result], [])
    mean = f"{result.cells[0].scores[0].mean():.4g}"
    (line,) = [line for line in page.splitlines() if line.startswith("| A sample, 18 × 14 (for Women) | 2 |")]
    assert mean in line
    assert "(-0.5)" in line
    assert "(-0.625)" in line
    assert page.count("- Women: A sample, 18 × 14.") == 1
    assert "- Lost: cannot be had." in page
    assert "A quick look" not in page
    plain = to_plain([result], [])
    assert plain["tables"][0]["cells"][0]["scores"][0][0] == pytest.approx(
        result.cells[0].scores[0, 0], rel=1e-5
    )
    (evidence,) = judge_claims([result])
    claims = write_claims_page({"made up": plain})
    cells = ("Table 1", "A sample, 18 × 14", "t-test of the difference", evidence.verdict)
    assert f"| 1 | CVB0 is better | {' | '.join(cells)} |" in claims
    assert claims.splitlines()[-1] in page  # what both pages say of a claim is the same


def test_a_quick_look_says_so() -> None:
    result = PaperResult(TABLE, ((plan_part(TABLE, WOMEN, None, PaperLimits(quick=True)), None),))
    page = write_report("made up", [result], [])
    assert (
        "A quick look at A sample: one K at most, and max_sweeps 3 in place of the paper's settings." in page
    )


def test_a_page_says_which_runs_are_missing() -> None:
    part = plan_part(TABLE, WOMEN, None, PaperLimits())
    assert part.plan is not None
    runs = make_runs(part.plan, Experiment(part.plan))
    some = [next(runs) for _ in range(3)][-1]  # both methods for K = 2, one for K = 3
    result = PaperResult(TABLE, ((part, some),))
    assert [cell.n_splits for cell in result.cells] == [1, 1]
    page = write_report("made up", [result], [])
    assert "Runs: 3 of 8, for 2 splits of the data." in page
    (line,) = [
        line for line in page.splitlines() if line.startswith("| A sample, 18 × 14 (for Women) | 3 | 1 |")
    ]
    assert "not run" in line
    assert "failed" not in page


def test_a_split_counts_for_each_number_of_clusters_that_all_methods_have_run_with() -> None:
    part = plan_part(TABLE, WOMEN, None, PaperLimits())
    assert part.plan is not None
    made = [0, 1, 2, 4, 5]  # K = 2 on both splits, and the first method for K = 3 on the first one
    rows = [{**part.plan.identify_run(run), "heldout_log_likelihood": -run, "error": ""} for run in made]
    two, three = PaperResult(TABLE, ((part, Experiment(part.plan, tuple(rows))),)).cells
    assert two.scores.tolist() == [[0, -4], [-1, -5]]
    assert three.scores[0, 0] == -2
    assert (two.n_splits, three.n_splits) == (2, 1)
    more = [*rows, {**part.plan.identify_run(6), "heldout_log_likelihood": -6, "error": ""}]
    _, three = PaperResult(TABLE, ((part, Experiment(part.plan, tuple(more))),)).cells
    assert three.n_splits == 0  # two splits, and both methods have run on none


def test_the_time_of_all_runs_is_told_from_those_that_are_over() -> None:
    part = plan_part(TABLE, WOMEN, None, PaperLimits())
    assert part.plan is not None
    # K = 2: CVB0 took 1 and 3 s, VB 10 s. K = 3: CVB0 took 5 s, and VB is taken to need 15 s.
    rows = [
        {**part.plan.identify_run(run), "cpu_seconds": seconds, "error": ""}
        for run, seconds in ((0, 1.0), (4, 3.0), (1, 10.0), (2, 5.0))
    ]
    page = write_report("made up", [PaperResult(TABLE, ((part, Experiment(part.plan, tuple(rows))),))], [])
    assert "All of them would take about 64 s of processor time." in page  # 2 (2 + 10 + 5 + 15)


def test_data_of_one_name_that_are_others_elsewhere_are_told_apart() -> None:
    part = plan_part(TABLE, WOMEN, None, PaperLimits())
    own = replace(part, source=PaperSource("women.csv"), table=replace(TABLE, number="Table 2"))
    results = [PaperResult(one.table, ((one, None),)) for one in (part, own)]
    assert "- Women (Table 1): A sample, 18 × 14." in write_report("made up", results, [])


def test_the_best_may_be_the_one_that_comes_closest_to_the_truth() -> None:
    part = plan_part(replace(TABLE, lower_is_better=True, target=5.0), WOMEN, None, PaperLimits(ks=(2,)))
    assert part.plan is not None
    scores = (2.0, 6.0, 3.0, 5.0)
    rows = [
        {**part.plan.identify_run(run), "heldout_log_likelihood": x, "error": ""}
        for run, x in enumerate(scores)
    ]
    (cell,) = PaperResult(part.table, ((part, Experiment(part.plan, tuple(rows))),)).cells
    assert cell.best == 1


def test_a_run_that_broke_off_is_called_failed() -> None:
    part = plan_part(TABLE, WOMEN, None, PaperLimits(quick=True, splits=1))
    assert part.plan is not None
    broken = [{**part.plan.identify_run(run), "verdict": "FAILED", "error": "why"} for run in range(2)]
    page = write_report(
        "made up",
        [PaperResult(TABLE, ((part, Experiment(part.plan, tuple(broken))),))],
        [],
    )
    assert "| A sample, 18 × 14 (for Women) | 2 | 0 | failed (-0.5) | failed (-0.625) |" in page
