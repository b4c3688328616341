"""Figures on a dark page: text and lines can be read there, and what is data stays as it is."""

from __future__ import annotations

from typing import Any

from acvb_core.views import theme
from acvb_core.views.convergence import live_figure
from acvb_core.views.theme import contrast
from tests.views.reading import plain

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
