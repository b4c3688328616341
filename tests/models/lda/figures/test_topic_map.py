"""The map of topics: discs that do not overlap, areas as their shares, words that fit into them."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.models.lda.figures.topics import topic_map_figure
from acvb_core.views.parts import text_room
from acvb_core.views.theme import TEXT
from tests.loops import for_each
from tests.views.reading import plain

topic_map_figure = plain(topic_map_figure)
WORDS = ["king", "lord", "land", "said", "incomprehensibilities"]


def drawn(n: int = 60, **more: object) -> dict:
    """A crowd of topics whose shares fall off."""
    rng = np.random.default_rng(0)
    share = 1 / (3 + np.arange(n))
    words = [WORDS[k % len(WORDS)] for k in range(n)]
    return topic_map_figure(rng.normal(size=(n, 2)), share / share.sum(), words=words, **more)


@for_each("n", [2, 20, 200])
def test_no_disc_overlaps_another_and_all_are_inside(n: int) -> None:
    figure = drawn(n)
    (trace,) = figure["data"]
    place = np.column_stack([trace["x"], trace["y"]])
    radius = np.array([(disc["x1"] - disc["x0"]) / 2 for disc in figure["layout"]["shapes"]])
    apart = np.hypot(*(place[:, None] - place[None]).transpose(2, 0, 1)) - radius - radius[:, None]
    np.fill_diagonal(apart, np.inf)
    assert apart.min() > -0.5
    for axis, at in zip(("xaxis", "yaxis"), place.T, strict=True):
        low, high = figure["layout"][axis]["range"]
        assert (at - radius).min() > low
        assert (at + radius).max() < high


def test_areas_are_in_proportion_to_shares() -> None:
    figure = topic_map_figure([[0, 0], [5, 0], [0, 5]], [0.4, 0.1, 0.0])
    first, second, nothing = (disc["x1"] - disc["x0"] for disc in figure["layout"]["shapes"])
    assert first**2 / second**2 == pytest.approx(4)
    assert nothing > 0
    assert figure["data"][0]["customdata"] == [1, 2, 3]


def test_words_fit_into_their_discs_and_long_ones_give_way_to_the_number() -> None:
    (trace,) = drawn(40)["data"]
    assert sum("<br>" in text for text in trace["text"]) > 20
    for text, size, across in zip(
        trace["text"], trace["textfont"]["size"], trace["marker"]["size"], strict=True
    ):
        assert text_room([text.rpartition("<br>")[2]], size) <= across + 1
        assert size >= 8
        assert "incompre" not in text


def test_names_of_users_come_before_words_and_are_text() -> None:
    names = ["<i>my</i> name", None]
    trace = topic_map_figure([[0, 0], [9, 0]], [0.5, 0.5], names, words=["one", "two"])["data"][0]
    assert "&lt;i&gt;my" in trace["text"][0]
    assert trace["text"][1].endswith("two")
    assert "<b>1 · &lt;i&gt;" in trace["hovertext"][0]


def test_the_chosen_topic_stands_out_and_is_named_if_its_disc_does_not_say_it() -> None:
    names = ["a name that no disc has any room for"] * 3
    figure = topic_map_figure([[0, 0], [5, 1], [1, 5]], [0.4, 0.4, 0.2], names, selected=2)
    discs = figure["layout"]["shapes"]
    assert [disc["line"]["color"] == TEXT for disc in discs] == [False, True, False]
    assert [disc["fillcolor"].endswith(",1)") for disc in discs] == [False, True, False]
    assert sum("<b>2 · a name" in note["text"] for note in figure["layout"]["annotations"]) == 1


@for_each("place", [np.zeros((3, 2)), [[0, 0], [1, 0], [2, 0]], np.zeros((0, 2))])
def test_topics_in_one_place_on_a_line_or_none_are_drawn(place: object) -> None:
    trace = topic_map_figure(place, np.full(len(np.asarray(place)), 0.3))["data"][0]
    assert np.isfinite(np.array(trace["x"], dtype=float)).all()
