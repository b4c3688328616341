"""On a phone the panels of a figure stand one below another, with all of the legend."""

from __future__ import annotations

import plotly.graph_objects as go

from acvb_core.views.convergence import RunCurve, live_figure
from acvb_core.views.parts import stack_panels
from tests.views.histories import history_of


def runs(n: int = 3) -> list[RunCurve]:
    history = history_of(lower_bound=[-3.0, -2.0], change=[1.0, 0.5])
    return [RunCurve(str(i), f"ACVB0 · K 20 · seed {i}", "acvb0", i, history, heldout=True) for i in range(n)]


def test_panels_stand_one_below_another_as_high_as_before() -> None:
    figure = live_figure(runs())
    wide, narrow = figure.to_dict()["layout"], stack_panels(figure)
    numbers = [key.removeprefix("yaxis") for key in wide if key.startswith("yaxis")]
    assert len(numbers) > 4
    bands = sorted(narrow[f"yaxis{number}"]["domain"] for number in numbers)
    for (_, high), (low, _) in zip(bands[:-1], bands[1:], strict=True):
        assert low > high
    assert (bands[0][0], bands[-1][1]) == (0, 1)
    room = {name: layout["height"] - layout["margin"]["t"] - layout["margin"]["b"] for name, layout in
            (("wide", wide), ("narrow", narrow))}  # fmt: skip
    for number in numbers:
        assert narrow[f"xaxis{number}"]["domain"] == [0, 1]
        assert narrow[f"yaxis{number}"]["side"] == "left"
        before, after = (layout[f"yaxis{number}"]["domain"] for layout in (wide, narrow))
        assert abs((before[1] - before[0]) * room["wide"] - (after[1] - after[0]) * room["narrow"]) < 1
    go.Figure({"data": figure.data, "layout": narrow})


def test_only_the_last_panel_names_the_axis_and_the_legend_has_its_room() -> None:
    figure = live_figure(runs())
    before = str(figure)
    narrow = stack_panels(figure)
    named = [key for key in narrow if key.startswith("xaxis") and narrow[key]["title"]["text"]]
    assert len(named) == 1
    assert narrow[named[0].replace("x", "y", 1)]["domain"][0] == 0
    assert stack_panels(live_figure(runs(6)))["margin"]["t"] >= narrow["margin"]["t"] + 60
    assert str(figure) == before
