"""Objects by features: every probability is in the picture, equal patterns lie together, the pointer tells whose."""

from __future__ import annotations

import json

import numpy as np

from acvb_core.models.lfm.figures.features import (
    LABEL_COLOURS,
    activation_order,
    feature_matrix_figure,
)
from acvb_core.models.lfm.figures.pictures import EMPTY, tones
from tests.views.reading import pixels, plain, trace

feature_matrix_figure = plain(feature_matrix_figure)

Z = np.array([[0.1, 0.9, 0.2], [0.8, 0.1, 0.6], [1.0, 0.7, 0.0], [0.9, 0.2, 0.8], [0.0, 0.0, 0.1]])
ROWS = ["a", "b", "c", "d", "e"]
ORDER = [2, 1, 3, 0, 4]


def test_the_picture_shows_every_probability() -> None:
    assert activation_order(Z).tolist() == ORDER
    figure = feature_matrix_figure(Z, ROWS)
    picture = figure["layout"]["images"][0]
    assert (pixels(picture, 5, 3) == tones(Z[ORDER], 0.0, 1.0)).all()
    assert (picture["x"], picture["y"], picture["sizex"], picture["sizey"]) == (0.5, 0, 3, 5)
    assert figure["layout"]["yaxis"]["ticktext"] == [ROWS[i] for i in ORDER]
    assert trace(figure, "hover")["hovertext"][0][1] == "<b>c</b><br>feature 2: 70 %"
    nothing = feature_matrix_figure(np.zeros((4, 0)), ROWS[:4])
    assert "baseline" in nothing["layout"]["annotations"][0]["text"]


def test_a_large_matrix_is_binned() -> None:
    rng = np.random.default_rng(0)
    z = (rng.random((30_000, 60)) < 0.3).astype(float)
    order = activation_order(z)
    figure = feature_matrix_figure(z, np.arange(30_000), order=order)
    shown = pixels(figure["layout"]["images"][0], 1000, 60)
    assert (shown == tones(z[order].reshape(1000, 30, 60).mean(axis=1), 0.0, 1.0)).all()
    assert len(json.dumps(figure)) < 1_500_000
    hover = trace(figure, "hover")
    first = z[order][: hover["y"][1], 3]
    assert hover["hovertext"][0][3] == (
        f"objects 1 to {len(first):,}<br>feature 4: {int(first.sum()):,} of {len(first):,} have it"
        f"<br>mean probability {100 * first.mean():.3g} %"
    )


def test_known_labels_stand_beside_their_objects() -> None:
    labels = np.array(["x", "y", None, "y", ""], dtype=object)
    figure = feature_matrix_figure(Z, ROWS, labels=labels)
    strip = pixels(figure["layout"]["images"][1], 5, 1)[:, 0].tolist()
    x, y = ([int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in (LABEL_COLOURS[1], LABEL_COLOURS[0]))
    assert strip == [list(EMPTY), y, y, x, list(EMPTY)]
    names = [t["name"] for t in figure["data"] if t["uid"].startswith("label-")]
    assert names == ["y (2)", "x (1)", "not known"]
    part = feature_matrix_figure(Z, ROWS, labels=labels, window=(2, 4))
    assert pixels(part["layout"]["images"][1], 2, 1)[:, 0].tolist() == strip[2:4]
    assert part["layout"]["images"][1]["y"] == 2
