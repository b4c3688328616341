"""The course of a run: every sweep's number of features, every loss marked, likelihoods as they were."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from acvb_core.engine.history import History
from acvb_core.models.lfm.figures.feature_course import feature_course_figure
from acvb_core.views.convergence import RunCurve, live_figure
from acvb_core.views.theme import method_style
from tests.views.reading import faintest_on_dark, numbers, trace

NAN = float("nan")


def course(n: int = 6, **more: list[float]) -> History:
    columns: dict[str, list[float]] = {
        "sweep": [float(i + 1) for i in range(n)],
        "effective_k_features": [float(max(3, 8 - 2 * i)) for i in range(n)],
    }
    return History.from_frame(pd.DataFrame(columns | more))


def test_every_sweep_has_its_number_of_features() -> None:
    figure = feature_course_figure(course(1000), "vb")
    alive = trace(figure, "alive")
    assert numbers(alive["x"]).tolist() == list(range(1, 1001))
    assert numbers(alive["y"])[:4].tolist() == [8, 6, 4, 3]
    assert alive["line"]["shape"] == "hv"
    assert alive["line"]["color"] == method_style("vb").colour
    go.Figure(figure)


def test_losses_are_marked_where_they_happened() -> None:
    history = course(merged=[NAN, 1, NAN, NAN, NAN, NAN], dropped=[NAN, 1, 2, NAN, NAN, NAN])
    figure = feature_course_figure(history)
    merged, dropped = trace(figure, "merged"), trace(figure, "dropped")
    assert numbers(merged["x"]).tolist() == [2]
    assert numbers(merged["y"]).tolist() == [6]
    assert merged["hovertext"] == ["1 feature merged at sweep 2"]
    assert dropped["hovertext"] == ["1 feature dropped at sweep 2", "2 features dropped at sweep 3"]
    assert (merged["name"], dropped["name"]) == ("merged (1)", "dropped (3)")
    assert merged["marker"]["symbol"] != dropped["marker"]["symbol"]
    assert not [t for t in figure["data"] if t["uid"] == "split"]


def test_likelihoods_stand_beside_the_features() -> None:
    history = course(
        train_log_likelihood=[-9.0, -2.0, -1.5, -1.2, -1.1, -1.0],
        heldout_log_likelihood=[NAN, -3.0, NAN, -1.4, NAN, -1.3],
    )
    figure = feature_course_figure(history)
    train, heldout = trace(figure, "train_log_likelihood"), trace(figure, "heldout_log_likelihood")
    assert numbers(train["y"]).tolist() == [-9.0, -2.0, -1.5, -1.2, -1.1, -1.0]
    assert numbers(heldout["x"]).tolist() == [2, 4, 6]
    assert numbers(heldout["y"]).tolist() == [-3.0, -1.4, -1.3]
    assert {train["yaxis"], heldout["yaxis"]} == {"y2"}
    assert train["line"]["dash"] != heldout["line"]["dash"]
    assert faintest_on_dark(figure) >= 2
    low, high = figure["layout"]["yaxis2"]["range"]
    # The first sweeps do not squash the rest.
    assert -1.6 < low < -1.4
    assert -1.0 < high < -0.9
    domains = figure["layout"]["xaxis"]["domain"], figure["layout"]["xaxis2"]["domain"]
    assert domains[0][1] < domains[1][0]
    go.Figure(figure)


def test_long_likelihoods_are_thinned_but_keep_their_spikes() -> None:
    values = np.full(5000, -1.0)
    values[3333] = -7.0
    found = trace(
        feature_course_figure(course(5000, train_log_likelihood=values.tolist())), "train_log_likelihood"
    )
    assert len(numbers(found["y"])) <= 400
    assert numbers(found["x"])[numbers(found["y"]) == -7.0].tolist() == [3334]


def test_without_likelihoods_the_features_have_the_whole_width() -> None:
    figure = feature_course_figure(course())
    assert figure["layout"]["xaxis"]["domain"] == [0.0, 1.0]
    assert "xaxis2" not in figure["layout"]
    assert len(figure["layout"]["annotations"]) == 1


def test_before_the_first_sweep_the_figure_says_so() -> None:
    figure = feature_course_figure(History())
    assert [t["uid"] for t in figure["data"]] == ["nothing"]
    assert "No sweep" in figure["layout"]["annotations"][0]["text"]
    go.Figure(figure)


def test_one_sweep_and_no_features_left_can_be_seen() -> None:
    one = feature_course_figure(course(1, effective_k_features=[0.0], heldout_log_likelihood=[-2.0]))
    assert trace(one, "alive")["mode"] == trace(one, "heldout_log_likelihood")["mode"] == "markers"
    low, high = one["layout"]["yaxis2"]["range"]
    assert low < -2.0 < high
    go.Figure(one)


def test_few_features_and_sweeps_have_a_tick_each() -> None:
    few = feature_course_figure(course(4, effective_k_features=[2.0] * 4, heldout_log_likelihood=[-1.0] * 4))
    assert [few["layout"][axis]["dtick"] for axis in ("xaxis", "xaxis2", "yaxis")] == [1, 1, 1]
    many = feature_course_figure(course(8, effective_k_features=[9.0] * 8))
    assert "dtick" not in many["layout"]["xaxis"]
    assert "dtick" not in many["layout"]["yaxis"]


def test_every_mark_has_the_colour_of_its_curve() -> None:
    """An open symbol is drawn in its own colour, which is the page's."""
    kinds = {kind: [1.0] * 6 for kind in ("merged", "dropped", "split", "recoded", "turned")}
    for kind in kinds:
        marker = trace(feature_course_figure(course(**kinds), "fab"), kind)["marker"]
        assert "open" not in marker["symbol"]
        assert marker["line"]["color"] == method_style("fab").colour


def test_live_curves_of_few_features_have_a_tick_for_each() -> None:
    few = course(effective_k_features=[NAN, 2, 2, 2, 1, 1])
    assert _counts(live_figure([RunCurve("r", "x", "vb", 0, few, model="lfm")])) == [1]


def _counts(figure: dict[str, Any]) -> list[int | None]:
    """Return the steps between the ticks of whole numbers."""
    axes = [axis for axis in figure["layout"].values() if isinstance(axis, dict)]
    return [axis.get("dtick") for axis in axes if axis.get("tickformat") == "d"]


def test_live_curves_of_features_are_those_of_their_model() -> None:
    nothing = [NAN] * 6
    history = course(
        cpu_seconds=[1.0] * 6, lower_bound=[float(i) for i in range(6)], change=[0.1] * 6, mean_change=nothing,
        burn_in=[0.0] * 6, samples=[0.0] * 6, train_log_likelihood=[-1.0] * 6, heldout_log_likelihood=[-2.0] * 6,
    )  # fmt: skip
    figure = live_figure([RunCurve("r", "x", "vb", 0, history, heldout=True, model="lfm")])
    assert numbers(trace(figure, "r-heldout-main")["y"]).tolist() == [-2.0] * 6
    assert numbers(trace(figure, "r-train-main")["y"]).tolist() == [-1.0] * 6
    assert numbers(trace(figure, "r-k_features-main")["y"]).tolist() == [8, 6, 4, 3, 3, 3]
    text = " ".join(a["text"] for a in figure["layout"]["annotations"])
    assert "Held-out log likelihood per cell" in text
    assert "cluster" not in text
    assert _counts(figure) == [None]
    bare = live_figure([RunCurve("r", "x", "vb", 0, history, model="lfm")])
    with pytest.raises(StopIteration):
        trace(bare, "r-heldout-main")
