"""The map: areas in proportion to shares, equal scales, a click that tells the topic."""

from __future__ import annotations

import json

import numpy as np
import plotly.graph_objects as go
import pytest

from acvb_core.models.lda.figures.topic_map import topic_map_figure
from acvb_core.models.lda.topics import topic_map
from acvb_core.views.theme import TEXT

PLACES = np.array([[0.3, 0.1], [-0.2, 0.2], [-0.1, -0.3]])
SHARES = np.array([0.25, 0.64, 0.11])


def bubbles(figure: dict) -> dict:
    return figure["data"][0]


def test_each_bubble_is_its_topics() -> None:
    trace = bubbles(topic_map_figure(PLACES, SHARES, [None, "sport", None]))
    at = {k: i for i, k in enumerate(trace["customdata"])}
    assert sorted(at) == [1, 2, 3]
    for k, place in enumerate(PLACES, start=1):
        assert (trace["x"][at[k]], trace["y"][at[k]]) == tuple(place)
    assert trace["hovertext"][at[2]] == "<b>2 · sport</b><br>64 % of all words"
    assert trace["text"][at[2]] == "2"


def test_areas_are_in_proportion_to_shares() -> None:
    trace = bubbles(topic_map_figure(PLACES, SHARES))
    size = dict(zip(trace["customdata"], trace["marker"]["size"], strict=True))
    assert (size[1] / size[2]) ** 2 == pytest.approx(0.25 / 0.64)
    assert (size[3] / size[2]) ** 2 == pytest.approx(0.11 / 0.64)


def test_small_bubbles_lie_on_large_ones() -> None:
    assert bubbles(topic_map_figure(PLACES, SHARES))["customdata"] == [2, 1, 3]


def test_scales_are_equal_and_bubbles_are_inside() -> None:
    layout = topic_map_figure(PLACES, SHARES)["layout"]
    assert layout["yaxis"]["scaleanchor"] == "x"
    assert layout["yaxis"]["scaleratio"] == 1
    for axis, values in (("xaxis", PLACES[:, 0]), ("yaxis", PLACES[:, 1])):
        low, high = layout[axis]["range"]
        assert low < values.min() < values.max() < high
        assert not layout[axis]["showticklabels"]


def test_the_chosen_topic_stands_out_and_is_named() -> None:
    figure = topic_map_figure(PLACES, SHARES, ["<b>x", None, None], selected=1)
    trace = bubbles(figure)
    at = trace["customdata"].index(1)
    assert trace["marker"]["line"]["color"][at] == TEXT
    assert trace["marker"]["line"]["color"].count(TEXT) == 1
    assert trace["marker"]["color"][at].endswith(",0.85)")
    assert sum(colour.endswith(",0.3)") for colour in trace["marker"]["color"]) == 2
    assert figure["layout"]["annotations"][-1]["text"] == "<b>1 · &lt;b&gt;x</b>"
    assert not topic_map_figure(PLACES, SHARES)["layout"]["annotations"]


def test_a_click_fades_nothing_by_itself() -> None:
    trace = bubbles(topic_map_figure(PLACES, SHARES, selected=1))
    assert trace["unselected"]["marker"]["opacity"] == 1
    # With a colour here Plotly leaves the numbers of the others as they are.
    assert trace["selected"]["textfont"]["color"] == "#FFFFFF"


def test_a_bubble_too_small_for_its_number_is_named_beside_it() -> None:
    figure = topic_map_figure(PLACES, [0.9, 0.0999, 0.0001], selected=3)
    assert bubbles(figure)["text"] == ["1", "2", ""]
    assert figure["layout"]["annotations"][-1]["text"] == "<b>topic 3</b>"


def test_axes_say_how_much_they_show() -> None:
    layout = topic_map_figure(PLACES, SHARES, variance=(0.42, 0.2), shown=0.62)["layout"]
    assert "42 %" in layout["xaxis"]["title"]["text"]
    assert "20 %" in layout["yaxis"]["title"]["text"]
    assert "62 %" in layout["annotations"][0]["text"]


def test_numbers_do_not_cover_each_other() -> None:
    trace = bubbles(topic_map_figure(np.array([[0.0, 0.0], [0.001, 0.0], [1.0, 1.0]]), [0.4, 0.3, 0.3]))
    assert trace["text"] == ["1", "", "3"]
    chosen = bubbles(
        topic_map_figure(np.array([[0.0, 0.0], [0.001, 0.0], [1.0, 1.0]]), [0.4, 0.3, 0.3], selected=2)
    )
    assert chosen["text"] == ["1", "2", "3"]


@pytest.mark.parametrize("places", [np.zeros((1, 2)), np.zeros((3, 2)), np.array([[0.0, 0.0], [1.0, 0.0]])])
def test_topics_in_one_place_or_on_a_line_are_drawn(places: np.ndarray) -> None:
    figure = topic_map_figure(places, np.full(len(places), 1 / len(places)), selected=1)
    for axis in ("xaxis", "yaxis"):
        low, high = figure["layout"][axis]["range"]
        assert high - low > 0.1
    go.Figure(figure)


def test_topics_without_tokens_are_still_there() -> None:
    sizes = bubbles(topic_map_figure(PLACES, [1.0, 0.0, float("nan")]))["marker"]["size"]
    assert min(sizes) >= 5
    assert all(s > 0 for s in bubbles(topic_map_figure(PLACES, np.zeros(3)))["marker"]["size"])


def test_two_hundred_topics_stay_small() -> None:
    rng = np.random.default_rng(0)
    found = topic_map(rng.dirichlet(np.full(300, 0.1), 200))
    figure = topic_map_figure(found.positions, rng.dirichlet(np.ones(200)), shown=found.shown, selected=17)
    assert len(json.dumps(figure, allow_nan=False)) < 60_000
    go.Figure(figure)
