"""The course of a run: every sweep's number of features, every loss marked, likelihoods as they were."""

from __future__ import annotations

import numpy as np
import pandas as pd

from acvb_core.engine.history import History
from acvb_core.models.lfm.figures.feature_course import feature_course_figure, read_features_then
from acvb_core.views.convergence import RunCurve, live_figure
from tests.views.reading import faintest_on_dark, plain, trace

feature_course_figure = plain(feature_course_figure)
live_figure = plain(live_figure)

NAN = float("nan")


def course(n: int = 6, **more: list[float]) -> History:
    columns: dict[str, list[float]] = {
        "sweep": [float(i + 1) for i in range(n)],
        "effective_k_features": [float(max(3, 8 - 2 * i)) for i in range(n)],
    }
    return History.from_frame(pd.DataFrame(columns | more))


def test_every_sweep_has_its_number_of_features() -> None:
    alive = trace(feature_course_figure(course(1000), "vb"), "alive")
    assert np.array(alive["x"], dtype=float).tolist() == list(range(1, 1001))
    assert np.array(alive["y"], dtype=float)[:4].tolist() == [8, 6, 4, 3]
    assert [t["uid"] for t in feature_course_figure(History())["data"]] == ["nothing"]


def test_likelihoods_stand_beside_the_features() -> None:
    history = course(
        train_log_likelihood=[-9.0, -2.0, -1.5, -1.2, -1.1, -1.0],
        heldout_log_likelihood=[NAN, -3.0, NAN, -1.4, NAN, -1.3],
    )
    figure = feature_course_figure(history)
    train, heldout = trace(figure, "train_log_likelihood"), trace(figure, "heldout_log_likelihood")
    assert np.array(train["y"], dtype=float).tolist() == [-9.0, -2.0, -1.5, -1.2, -1.1, -1.0]
    assert np.array(heldout["x"], dtype=float).tolist() == [2, 4, 6]
    assert faintest_on_dark(figure) >= 2
    low, high = figure["layout"]["yaxis2"]["range"]
    assert -1.6 < low < -1.4 < -1.0 < high < -0.9  # the first sweeps do not squash the rest


def test_live_curves_of_features_are_those_of_their_model() -> None:
    nothing = [NAN] * 6
    history = course(
        cpu_seconds=[1.0] * 6, lower_bound=[float(i) for i in range(6)], change=[0.1] * 6, mean_change=nothing,
        burn_in=[0.0] * 6, samples=[0.0] * 6, train_log_likelihood=[-1.0] * 6, heldout_log_likelihood=[-2.0] * 6,
    )  # fmt: skip
    figure = live_figure([RunCurve("r", "x", "vb", 0, history, heldout=True, model="lfm")])
    assert np.array(trace(figure, "r-heldout-main")["y"], dtype=float).tolist() == [-2.0] * 6
    assert np.array(trace(figure, "r-train-main")["y"], dtype=float).tolist() == [-1.0] * 6
    assert np.array(trace(figure, "r-k_features-main")["y"], dtype=float).tolist() == [8, 6, 4, 3, 3, 3]
    text = " ".join(a["text"] for a in figure["layout"]["annotations"])
    assert "Held-out log likelihood per cell" in text
    assert "cluster" not in text


def test_features_of_a_sweep_have_the_numbers_of_the_answer() -> None:
    rng = np.random.default_rng(0)
    last = rng.random((21, 4))
    then = (last >= 0.5)[:, [2, 0]]
    then[3, 1] = not then[3, 1]
    alone = np.zeros((21, 1), dtype=bool)
    excerpt = {"objects": np.packbits(np.hstack([then, alone]), axis=0)}
    found = read_features_then(last, excerpt)
    assert found.shape == (21, 5), "a feature that no object has in common with the answer follows"
    np.testing.assert_array_equal(found[:, 2], then[:, 0])
    np.testing.assert_array_equal(found[:, 0], then[:, 1])
    assert not found[:, [1, 3, 4]].any()
