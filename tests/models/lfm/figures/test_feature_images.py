"""Features as pictures: every weight at its pixel, one scale for all, left-out pixels of no value."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.data.table import Image
from acvb_core.models.lfm.figures.features import feature_image_figure, feature_images_figure
from acvb_core.models.lfm.figures.pictures import (
    ABOVE,
    BELOW,
    EMPTY,
    MISSING,
    diverging_colours,
    tones,
)
from acvb_core.views.theme import INK, cluster_colour
from tests.views.reading import pixels, plain, trace

feature_image_figure = plain(feature_image_figure)
feature_images_figure = plain(feature_images_figure)


@pytest.fixture
def image() -> Image:
    """Two rows of three pixels, the second of which was left out at 5."""
    left_out = np.arange(6) == 1
    return Image.whole(2, 3).without(left_out, np.full(6, 5.0))


WEIGHTS = np.array([[2.0, -4.0, 0.0, 1.0, -1.0], [0.5, 0.5, 0.5, 0.5, 0.5]])


def test_colours_go_both_ways_from_white_and_tones_from_white_to_ink() -> None:
    white = (255, 255, 255)
    found = diverging_colours([-2.0, -1.0, 0.0, 9.0, np.nan], 2.0)
    np.testing.assert_array_equal(found, [BELOW, (144, 178, 214), white, ABOVE, EMPTY])
    np.testing.assert_array_equal(tones([3.0, 5.0, np.nan], 3.0, 5.0), [white, INK, MISSING])
    assert tones([1.0], 1.0, 1.0).tolist() == [list(white)]


def test_weights_stand_at_their_pixels(image: Image) -> None:
    columns = ["a", "c", "<b>d", "e", "f"]  # pixel b was left out
    figure = feature_image_figure(WEIGHTS[0], image, 2, columns=columns, limit=8.0, share=0.5)
    shown = trace(figure, "feature-image")
    z = np.array(shown["z"], dtype=float)
    assert z[0, [0, 2]].tolist() == [2.0, -4.0]
    assert np.isnan(z[0, 1])
    assert z[1].tolist() == [0.0, 1.0, -1.0]
    assert (shown["zmin"], shown["zmax"]) == (-8.0, 8.0)
    assert shown["hovertext"][0] == ["<b>a</b><br>", "", "<b>c</b><br>"]
    assert shown["hovertext"][1][0] == "<b>&lt;b&gt;d</b><br>"
    assert figure["layout"]["yaxis"]["range"] == [2.5, 0.5]  # the first row on top
    assert trace(feature_image_figure(WEIGHTS[0], image, 2), "feature-image")["zmax"] == 4.0


def test_all_features_share_a_scale(image: Image) -> None:
    figure = feature_images_figure(
        WEIGHTS, [0.75, 0.5], image, baseline=[0.0, 10.0, 5.0, 5.0, 5.0], selected=2
    )
    baseline, first, second = (pixels(p, 2, 3) for p in figure["layout"]["images"])
    framed = np.array([[2.0, np.nan, -4.0], [0.0, 1.0, -1.0]])
    assert (first == diverging_colours(framed, 4.0)).all()
    assert (second == diverging_colours(np.where(np.isnan(framed), np.nan, 0.5), 4.0)).all()
    # The baseline has tones of its own, and shows what is left out as it was.
    assert (baseline == tones([[0.0, 5.0, 10.0], [5.0, 5.0, 5.0]], 0.0, 10.0)).all()
    features = trace(figure, "pictures")
    assert features["customdata"] == [0, 1, 2]
    assert trace(figure, "words")["text"] == ["baseline", "<b>1</b> · 75 %", "<b>2</b> · 50 %"]
    assert "weights -4 to 2" in features["hovertext"][1]
    frames = [shape["line"] for shape in figure["layout"]["shapes"]]
    assert [f["color"] for f in frames[1:]] == [cluster_colour(1), cluster_colour(2)]
    assert frames[2]["width"] > frames[1]["width"]
