"""Figures on a dark page: text and lines can be read there, and what is data stays as it is."""

from __future__ import annotations

from typing import Any

from acvb_core.registry import METHODS
from acvb_core.views import theme
from acvb_core.views.convergence import RunCurve, live_figure
from acvb_core.views.theme import contrast
from tests.loops import for_each
from tests.views.histories import history_of
from tests.views.reading import faintest_on_dark, plain

live_figure = plain(live_figure)


def figure() -> dict[str, Any]:
    trace = {
        "type": "scatter",
        "x": ["white", "#1F2933"],
        "text": ["white"],
        "name": "rgb(1, 2, 3)",
        "marker": {"color": ["#0072B2", theme.PAPER, 0.5], "line": {"color": theme.TEXT}},
        "textfont": {"color": ["#000000", "#FFFFFF"]},
    }
    heat = {"type": "heatmap", "colorscale": [[0, "#FFFFFF"], [0.5, "#8DBBDA"], [1, "#0072B2"]]}
    axis = {"gridcolor": theme.GRID, "title": {"text": "white", "font": {"color": theme.MUTED}}}
    return {"data": [trace, heat], "layout": {"template": theme.TEMPLATE, "xaxis": axis}}


def test_text_and_lines_can_be_read() -> None:
    shown = theme.darken_parts(figure())
    for colour in (
        shown["layout"]["template"]["layout"]["font"]["color"],
        shown["layout"]["xaxis"]["title"]["font"]["color"],
        shown["layout"]["template"]["layout"]["hoverlabel"]["font"]["color"],
        shown["data"][0]["marker"]["line"]["color"],
    ):
        assert contrast(colour, theme.DARK_PAPER) >= 7
    assert shown["data"][0]["marker"]["color"] == ["#0072B2", theme.DARK_PAPER, 0.5]
    assert shown["layout"]["template"]["layout"]["hoverlabel"]["bgcolor"] == theme.DARK_PAPER


@for_each("method", sorted({row.name for row in METHODS} | {"an unknown one"}))
def test_every_method_is_seen_on_either_page(method: str) -> None:
    colour = theme.method_style(method).colour
    assert contrast(theme.dark_colour(colour), theme.DARK_PAPER) >= 3


@for_each("method", sorted({row.name for row in METHODS}))
def test_every_curve_of_a_run_is_seen(method: str) -> None:
    """Faint ones too: of each sweep beside the mean, and of the limit of its change."""
    change, nan = [1.0, 0.5, 0.4, 0.3], float("nan")
    plain = history_of(change=change)
    mean = {
        "mean_change": [nan, nan, 0.4, 0.3],
        "samples": [0.0, 0.0, 1.0, 2.0],
        "burn_in": [1.0, 1.0, 0.0, 0.0],
    }
    averaged = history_of(change=change, **mean)
    for history, parts in ((plain, {"own"}), (averaged, {"own", "main", "limit"})):
        shown = live_figure([RunCurve("r", "x", method, 0, history)])
        lines = {trace["uid"] for trace in shown["data"] if trace["mode"] == "lines"}
        assert {f"r-change-{part}" for part in parts} <= lines
        assert faintest_on_dark(shown) >= 2


def test_scales_begin_at_the_page() -> None:
    (_, low), _, (_, high) = theme.darken_parts(figure())["data"][1]["colorscale"]
    red, green, blue = (int(part) for part in low[4:-1].split(","))
    assert max(red, green, blue) <= 32
    red, green, blue = (int(part) for part in high[4:-1].split(","))
    assert blue > green > red  # blue stays blue
    assert blue > 200


def test_the_page_has_the_background_that_figures_are_drawn_for() -> None:
    import tomllib
    from pathlib import Path

    config = tomllib.loads((Path(__file__).resolve().parents[2] / ".streamlit/config.toml").read_text())
    assert config["theme"]["dark"]["backgroundColor"] == theme.DARK_PAPER
    assert "base" not in config["theme"]  # with one, the page does not follow the browser
