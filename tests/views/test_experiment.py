"""Scores of an experiment over time: means of runs and the range of them."""

from __future__ import annotations

import numpy as np
import pytest

import acvb_core
from acvb_core.engine.experiments.answers import COURSE
from acvb_core.engine.experiments.plan import plan_experiment
from acvb_core.engine.experiments.report import Experiment
from acvb_core.views.studies import course_figure, experiment_figure
from tests.loops import for_each
from tests.views.reading import plain

course_figure = plain(course_figure)
experiment_figure = plain(experiment_figure)


@pytest.fixture(scope="module")
def experiment() -> Experiment:
    relation = acvb_core.load_sample("southern_women").relation
    plan = plan_experiment(relation, ["vb", "cvb0"], splits=2)
    texts = ("1:-3 2:-1", "2:-2 8:-1.5", None, "1:-5 4:-4")
    rows = [
        {**plan.identify_run(run), "heldout_log_likelihood": -1.0, **({COURSE: text} if text else {})}
        for run, text in enumerate(texts)
    ]
    return Experiment(plan, tuple(rows))


def test_a_curve_is_the_mean_of_the_last_scores_so_far(experiment: Experiment) -> None:
    traces = {trace["uid"]: trace for trace in course_figure(experiment, "Score")["data"]}
    curve = traces["course CVB0"]
    times, mean = np.array(curve["x"]), np.array(curve["y"])
    assert (times[0], times[-1]) == pytest.approx((2.0, 8.0))  # from when both runs have a score
    first = np.where(times < 8.0 - 1e-9, -2.0, -1.5)
    second = np.where(times < 4.0, -5.0, -4.0)
    np.testing.assert_allclose(mean, (first + second) / 2)
    np.testing.assert_allclose(traces["low CVB0"]["y"], np.minimum(first, second))
    np.testing.assert_allclose(traces["high CVB0"]["y"], np.maximum(first, second))


@for_each("splits", [4, 6])
def test_the_bar_of_a_mean_is_corrected_and_left_out_for_few_splits(splits: int) -> None:
    """By hand: six scores 1 ... 6 have variance 3.5, and a tenth is held out; 2.5706 is Student's t of 5."""
    plan = plan_experiment(acvb_core.load_sample("southern_women").relation, ["vb"], splits=splits)
    scores = np.arange(1.0, splits + 1)
    rows = [{**plan.identify_run(run), "heldout_log_likelihood": score} for run, score in enumerate(scores)]
    figure = experiment_figure(Experiment(plan, tuple(rows)), "heldout_log_likelihood", "Score")
    (mean,) = (trace for trace in figure["data"] if trace["uid"] == "mean VB")
    half = 2.5706 * np.sqrt((1 / 6 + 1 / 9) * 3.5) if splits == 6 else 0.0
    assert mean["error_x"]["array"][0] == pytest.approx(half, rel=1e-4)
    assert ("±" in mean["hovertext"][0]) == (splits == 6)
