"""Figures of papers: the mean of courses, and panels with the points of the runs."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from benchmarks.papers.figures import average_courses, draw_figures
from benchmarks.papers.paper import PaperData, PaperFigure, PaperSource, PaperTable
from benchmarks.papers.parts import PaperResult
from benchmarks.papers.runs import describe_end
from tests.papers.made_up import plan_women, with_runs

WOMEN = PaperData("Women", (PaperSource("southern_women"),), size=18)
FIGURES = (
    PaperFigure("Figure 1", "course", "course", ("pseudo_loo",)),
    PaperFigure("Figure 2", "histogram", "histogram", ("heldout_auc",)),
    PaperFigure("Figure 3 (a)", "sizes", "sizes", ("heldout_auc",), "objects"),
    PaperFigure("Figure 4", "scatter", "scatter", ("heldout_auc",), "pseudo_loo"),
)
TABLE = PaperTable(
    "made", "Table 1", "Scores", "irm", ("cvb0:one", "cvb0:other"), (2,), (WOMEN,), splits=2,
    score="heldout_auc", figures=FIGURES,
)  # fmt: skip
SVG = "{http://www.w3.org/2000/svg}"


def result_with_runs(out: Path) -> PaperResult:
    runs = {}
    for run in range(4):
        course = [[1, 0.1, 1, -20.0 - run], [3, 0.3, 3, -10.0 - run]]
        scores = {"heldout_auc": 0.5 + run / 10, "pseudo_loo": -9.0 - run}
        runs[2, TABLE.methods[run % 2], 1 + run // 2] = {**scores, "courses": {"pseudo_loo": course}}
    return PaperResult(TABLE, [with_runs(plan_women(out, TABLE), runs)])


def test_courses_are_averaged_at_common_places() -> None:
    courses = [[[1, 0.1, 1, 2.0], [3, 0.3, 3, 6.0]], [[1, 0.2, 1, 4.0], [2, 0.4, 2, 4.0]], []]
    mean = average_courses(courses, "sweep")
    assert mean is not None
    at, values, spread = mean
    assert (at[0], at[-1]) == (1, 3)
    at_two = np.interp(2.0, at, values)
    assert at_two == pytest.approx(4.0, abs=0.05)
    assert values[-1] == 5.0  # the shorter run stays where it ended
    assert spread[0] == pytest.approx(np.sqrt(2))
    assert average_courses([[], []], "sweep") is None


def test_the_end_of_a_run_is_described() -> None:
    scores = {1: -20.0, 2: -9.0, 3: -10.6, 4: -10.4, 9: -10.0}
    course = [[sweep, sweep / 10, sweep, score] for sweep, score in scores.items()]
    ended = describe_end("MAX_SWEEPS", {"pseudo_loo": course, "lower_bound": course[:1]})
    falls = {"falls_pseudo_loo": 0.25, "single_pseudo_loo": -10.0}
    assert ended == {"unsettled": 1.0, "reach_pseudo_loo": 4.0, **falls}
    moving = [describe_end("CONVERGED", {}, last_change=change)["moving"] for change in (0.0009, 0.0011)]
    assert moving == [0.0, 1.0]
    # Less than a thousandth of the way is no fall; one sample is what a sampler has until it takes a mean.
    steps = [[sweep, 0, 0, value] for sweep, value in enumerate([0.0, 5.0, 5.0 - 1e-9, 4.0, 10.0], start=1)]
    sampled = describe_end("MAX_SWEEPS", {"score": steps}, burn_in=4)
    assert (sampled["falls_score"], sampled["single_score"]) == (0.25, 4.0)


def test_every_kind_of_figure_shows_the_runs(tmp_path: Path) -> None:
    drawn = draw_figures(result_with_runs(tmp_path))
    assert [one.name for one in drawn] == [
        "made-figure-1.svg", "made-figure-2.svg", "made-figure-3-a.svg", "made-figure-4.svg",
    ]  # fmt: skip
    for one in drawn:
        assert len(one.content) < 60_000
        texts = [text.text for text in ElementTree.fromstring(one.content).iter(f"{SVG}text")]
        assert {"one", "other"} <= set(texts)
    dots = list(ElementTree.fromstring(drawn[3].content).iter(f"{SVG}circle"))
    assert len(dots) == 4
