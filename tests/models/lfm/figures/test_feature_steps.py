"""An object feature by feature: the steps add up to the reconstruction, and what is missing is marked, not drawn."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.data.table import Image
from acvb_core.models.lfm.features import Reconstruction, object_steps
from acvb_core.models.lfm.figures.objects import reconstruction_bars_figure, reconstruction_images_figure
from acvb_core.models.lfm.figures.pictures import EMPTY, MISSING, diverging_colours, tones
from tests.views.reading import pixels, plain, trace

reconstruction_bars_figure = plain(reconstruction_bars_figure)
reconstruction_images_figure = plain(reconstruction_images_figure)

BASELINE = np.array([1.0, 2.0, 3.0, 4.0])
WEIGHTS = np.array([[1.0, 0.0, 0.0, 1.0], [0.0, 5.0, 0.0, -5.0], [9.0, 9.0, 9.0, 9.0], [0.5, 0.0, 0.0, 0.0]])
Z = np.array([1.0, 0.8, 0.01, 0.5])
VALUE = np.array([2.5, 6.0, np.nan, 1.5])


def made(z: np.ndarray = Z, weights: np.ndarray = WEIGHTS) -> Reconstruction:
    return Reconstruction(0, BASELINE, z, weights)


def test_steps_come_in_the_order_of_what_they_add() -> None:
    steps = object_steps(made(), VALUE).steps
    # Feature 3 would add much, but the object hardly has it: with nobody to share a step, it has its own, the last.
    assert [s.features for s in steps] == [(2,), (1,), (4,), (3,)]
    assert [s.probability for s in steps] == [0.8, 1.0, 0.5, 0.01]
    assert steps[0].added.tolist() == [0.0, 4.0, 0.0, -4.0]
    # In standard deviations another one may be the largest.
    scaled = object_steps(made(), VALUE, scale=[0.01, 10.0, 1.0, 10.0])
    assert [s.features for s in scaled.steps] == [(1,), (4,), (2,), (3,)]


def image() -> Image:
    """Two rows of three: the second pixel was left out at 7, the sixth was never known."""
    whole = Image.whole(2, 3)
    return whole.without(np.arange(6) % 4 == 1, np.array([0, 7.0, 0, 0, 0, np.nan]))


def framed(values: np.ndarray, rest: float = np.nan) -> np.ndarray:
    return np.array([[values[0], rest, values[1]], [values[2], values[3], np.nan]])


def test_pictures_go_from_the_baseline_to_the_reconstruction() -> None:
    steps = object_steps(made(), VALUE, most=2)
    figure = reconstruction_images_figure(steps, image(), name="<i>object")
    shown = [pixels(p, 2, 3) for p in figure["layout"]["images"]]
    words = trace(figure, "words")["text"]
    assert words == ["object", "baseline", "+ <b>2</b> (80 %)", "+ <b>1</b> (100 %)", "+ 2 others", "all", "", "", "",
                     "left over"]  # fmt: skip
    low, high = 1.5, 7.0  # of the object; the background's 7 is in the picture too
    sums = [VALUE, BASELINE]
    for step in steps.steps:
        sums.append(sums[-1] + step.added)
    sums.append(made().total)
    for picture, values in zip(shown, sums, strict=False):
        expected = tones(framed(values, 7.0), low, high)
        expected[1, 2] = EMPTY
        assert (picture == expected).all()
    assert shown[0][1, 0].tolist() == list(MISSING)
    limit = max(np.abs(step.added).max() for step in steps.steps)
    for picture, step in zip(shown[6:], steps.steps, strict=False):
        assert (picture == diverging_colours(framed(step.added), limit)).all()
    left = diverging_colours(framed(np.nan_to_num(steps.residual), 0.0), limit)
    left[1, 0], left[1, 2] = MISSING, diverging_colours(0.0, 1.0)
    assert (shown[-1] == left).all()
    assert "&lt;i&gt;object" in figure["layout"]["title"]["text"]
    assert "1 of 4 cells missing" in figure["layout"]["title"]["text"]


def test_bars_pile_up_to_the_reconstruction() -> None:
    scale = np.array([1.0, 2.0, 1.0, 4.0])
    steps = object_steps(made(), VALUE, scale=scale)
    figure = reconstruction_bars_figure(steps, ["a", "b", "c", "d"])
    order = [1, 0, 3, 2]  # |value - baseline| / sd is 2, 1.5, 0.625; of the missing one it is 0.09 expected
    assert figure["layout"]["yaxis"]["ticktext"] == [["a", "b", "c", "d"][j] for j in order]
    bars = [t for t in figure["data"] if t["type"] == "bar"]
    assert figure["layout"]["barmode"] == "relative"
    total = np.sum([t["x"] for t in bars], axis=0)
    assert total == pytest.approx(((made().total - BASELINE) / scale)[order])
    assert trace(figure, "reconstruction")["x"] == pytest.approx(total)
    assert trace(figure, "value")["x"] == pytest.approx([2.0, 1.5, -0.625, np.nan], nan_ok=True)
    assert [t["name"] for t in bars] == [s.name for s in steps.steps]
    written = ["6", "2.5", "1.5", "<i>missing</i>", "value"]
    assert [a["text"] for a in figure["layout"]["annotations"]] == written
