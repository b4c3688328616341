"""The figure of a search: every trial in every panel, the best and the defaults marked."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from acvb_core.engine.study import FAILED
from acvb_core.engine.tuning import Trial, Tuning
from acvb_core.views.tuning import tuning_figure
from tests.views.reading import texts_of

NAN = math.nan
NAMES = ("step_offset", "step_power")


def tuning(perplexities: list[float], names: tuple[str, ...] = NAMES) -> pd.DataFrame:
    trials = [
        Trial(n + 1, {name: 10.0 * (at + 1) + n for at, name in enumerate(names)}, value, 1.0,
              FAILED if math.isnan(value) else "MAX_SWEEPS")
        for n, value in enumerate(perplexities)
    ]  # fmt: skip
    return Tuning(names, tuple(trials)).table()


TABLE = tuning([200.0, 250.0, NAN, 150.0, 180.0])


def trace(figure: dict, uid: str) -> dict:
    return next(one for one in figure["data"] if one["uid"] == uid)


def points(figure: dict, uid: str) -> list[tuple[float, float]]:
    found = trace(figure, uid)
    return list(zip(found["x"], found["y"], strict=True))


def test_each_trial_is_drawn_once() -> None:
    figure = tuning_figure(TABLE)
    assert points(figure, "trial-trials") == [(2, 250.0), (4, 150.0), (5, 180.0)]
    assert points(figure, "trial-default") == [(1, 200.0)]
    assert points(figure, "trial-best") == [(4, 150.0)]
    # Without a perplexity: as high as the worst.
    assert points(figure, "trial-lost") == [(3, 250.0)]
    assert trace(figure, "trial-lost")["text"] == ["failed"]


def test_the_best_so_far_goes_down_in_steps() -> None:
    figure = tuning_figure(TABLE)
    assert points(figure, "best-so-far") == [(1, 200.0), (2, 200.0), (3, 200.0), (4, 150.0), (5, 150.0)]
    assert trace(figure, "best-so-far")["line"]["shape"] == "hv"


def test_each_parameter_has_its_panel() -> None:
    figure = tuning_figure(TABLE, labels={"step_offset": "Steps before"})
    assert points(figure, "step_offset-trials") == [(11.0, 250.0), (13.0, 150.0), (14.0, 180.0)]
    assert points(figure, "step_power-best") == [(23.0, 150.0)]
    assert points(figure, "step_power-default") == [(20.0, 200.0)]
    layout = figure["layout"]
    assert layout["xaxis2"]["title"]["text"] == "Steps before"
    assert layout["xaxis3"]["title"]["text"] == "step_power"
    assert (trace(figure, "step_offset-trials")["xaxis"], trace(figure, "step_power-trials")["yaxis"]) == (
        "x2",
        "y3",
    )
    assert [layout[f"yaxis{n}"]["matches"] for n in (2, 3)] == ["y", "y"]
    go.Figure(figure)  # Plotly knows every key


def test_the_line_of_the_defaults_is_in_every_panel() -> None:
    shapes = tuning_figure(TABLE)["layout"]["shapes"]
    assert [(shape["yref"], shape["y0"], shape["y1"]) for shape in shapes] == [
        (y, 200.0, 200.0) for y in ("y", "y2", "y3")
    ]
    assert tuning_figure(tuning([NAN, 3.0]))["layout"]["shapes"] == []


def test_the_title_says_what_was_gained() -> None:
    def title(values: list[float]) -> str:
        return tuning_figure(tuning(values))["layout"]["annotations"][0]["text"]

    assert "best 150, 25.0% below the defaults" in title([200.0, NAN, 150.0])
    assert "best 150, that of the defaults" in title([150.0, 200.0])
    assert "defaults" not in title([NAN, 150.0])
    assert "best" not in title([NAN])


def test_scales_are_logarithmic_where_they_have_to_be() -> None:
    narrow = tuning_figure(TABLE, log=("step_offset",))["layout"]
    assert [narrow[axis].get("type") for axis in ("xaxis2", "xaxis3", "yaxis", "yaxis2")] == [
        "log",
        None,
        None,
        None,
    ]
    wide = tuning_figure(tuning([100.0, 300.0]))["layout"]
    assert [wide[axis].get("type") for axis in ("yaxis", "yaxis2", "yaxis3")] == ["log"] * 3


def test_many_decades_are_labelled_by_powers_of_ten_only() -> None:
    for largest, step in ((100.0, None), (2000.0, 1)):
        table = TABLE.assign(step_offset=np.geomspace(1.0, largest, len(TABLE)))
        layout = tuning_figure(table, log=("step_offset",))["layout"]
        axes = [
            axis for name, axis in layout.items() if name.startswith("xaxis") and axis.get("type") == "log"
        ]
        assert [axis.get("dtick") for axis in axes] == [step]


def test_what_has_no_logarithm_is_left_out_of_its_panel_only() -> None:
    table = TABLE.assign(step_offset=[0.0, 1.0, 2.0, 3.0, 4.0])
    figure = tuning_figure(table, log=("step_offset",))
    assert points(figure, "step_offset-default") == []
    assert points(figure, "step_offset-best") == [(3.0, 150.0)]
    assert points(figure, "trial-default") == [(1, 200.0)]


@pytest.mark.parametrize("values", [[], [NAN], [5.0], [NAN, NAN, 7.0]])
def test_searches_that_have_just_begun_are_drawn(values: list[float]) -> None:
    go.Figure(tuning_figure(tuning(values)))


@pytest.mark.parametrize("n", range(1, 8))
def test_panels_do_not_overlap(n: int) -> None:
    figure = tuning_figure(tuning([3.0, 2.0], tuple(f"p{at}" for at in range(n))))
    go.Figure(figure)
    layout = figure["layout"]
    boxes = [
        (*layout[f"xaxis{at or ''}"]["domain"], *layout[f"yaxis{at or ''}"]["domain"])
        for at in (0, *range(2, n + 2))
    ]
    assert all(0 <= low < high <= 1 for box in boxes for low, high in (box[:2], box[2:]))
    for at, (left, right, bottom, top) in enumerate(boxes):
        for other in boxes[:at]:
            assert right < other[0] or left > other[1] or top < other[2] or bottom > other[3]
    plot = layout["height"] - layout["margin"]["t"] - layout["margin"]["b"]
    heights = np.array([(top - bottom) * plot for *_, bottom, top in boxes])
    np.testing.assert_allclose(heights, [200, *[140] * n])


def test_the_figure_can_be_drawn_again_and_again() -> None:
    figure = tuning_figure(TABLE, uirevision="w")
    uids = [one["uid"] for one in figure["data"]]
    assert len(set(uids)) == len(uids)
    assert [one["uid"] for one in tuning_figure(tuning([9.0]), uirevision="w")["data"]] == uids
    assert figure["layout"]["uirevision"] == "w"
    assert "transition" not in figure["layout"]
    # A range that changed at every refresh would throw away the user's zoom.
    assert not any("range" in part for name, part in figure["layout"].items() if name[1:5] == "axis")


def test_labels_are_shown_as_they_are() -> None:
    figure = tuning_figure(TABLE, labels={"step_offset": "<b>%{x}</b>"})
    shown = [text for text in texts_of(figure) if "x}" in text and "&lt;b&gt;" in text]
    assert shown
    assert not any("<b>%{x}" in text for text in texts_of(figure))
