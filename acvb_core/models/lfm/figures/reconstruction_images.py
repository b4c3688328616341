"""An object as a row of pictures, feature by feature: its sums so far, and what is left over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from acvb_core.models.lfm.answer import ObjectSteps
from acvb_core.models.lfm.figures.feature_words import object_heading, signed_text, value_text
from acvb_core.models.lfm.figures.pictures import (
    ABOVE,
    BELOW,
    EMPTY,
    MISSING,
    Colours,
    Tile,
    diverging_colours,
    largest,
    picture_aspect,
    tiles_figure,
    tones,
)
from acvb_core.views.theme import LINE, MUTED, Figure, cluster_colour, percent

if TYPE_CHECKING:
    from acvb_core.data.table import Image

Floats = NDArray[np.float64]
_GAP, _WORDS = 0.14, 0.3


def reconstruction_images_figure(made: ObjectSteps, image: Image, *, name: str = "") -> Figure:
    """Return two rows of pictures: the sums up to each step, and below each sum what was added last.

    The upper row is the object (missing cells marked), the baseline, and the sum after each step, in the tones of
    one scale. The lower row is each step and, at the end, what is left over, red and blue on one scale.

    `name`: the object's, as it is.
    """
    low, high = _extent(made, image)
    limit = largest(np.concatenate([*(step.added for step in made.steps), np.nan_to_num(made.residual)]))
    aspect = picture_aspect(image)
    second = aspect + _GAP + _WORDS
    slots = max(len(made.steps) + 3, 6)
    tiles = [*_sums(made, image, low, high), *_differences(made, image, limit, second)]
    figure = tiles_figure(
        tiles,
        slots * (1 + _GAP),
        2 * (aspect + _WORDS) + _GAP + 0.25,
        object_heading(made, name),
        aspect=aspect,
        room=_WORDS,
        crisp=max(80, min(400, 4000 // slots)),
    )
    missing = bool(np.isnan(made.value).any())
    figure["layout"]["annotations"] = [_scale_note(low, high, limit, missing, second + _WORDS)]
    return figure


def _sums(made: ObjectSteps, image: Image, low: float, high: float) -> list[Tile]:
    """Return the object, the baseline, the sum after each step, and the last of these once more."""
    shown = [(made.value, "object", "object", LINE), (made.baseline, "baseline", "baseline", LINE)]
    total = made.baseline
    for step in made.steps:
        total, word = total + step.added, f"+ {step.name}"
        if len(step.features) == 1:
            word = f"+ <b>{step.features[0]}</b> ({percent(step.probability)})"
        shown.append((total, word, f"so far, with {step.name}", _step_colour(step.features)))
    shown.append((total, "all", "reconstruction", LINE))
    tiles = []
    for slot, (values, word, what, frame) in enumerate(shown):
        least, most = map(value_text, _range(values))
        hover = f"<b>{what}</b><br>{least} to {most}"
        tiles.append(Tile(slot * (1 + _GAP), 0.0, _tones_of(values, image, low, high), word, hover, frame))
    return tiles


def _differences(made: ObjectSteps, image: Image, limit: float, y: float) -> list[Tile]:
    """Return what each step adds and, below the reconstruction, what is left over."""
    shown = []
    for step in made.steps:
        chance = f" ({percent(step.probability)})" if len(step.features) == 1 else ""
        picture = image.picture(step.added, fill=np.nan)
        shown.append((picture, EMPTY, "", f"<b>{step.name}</b>{chance} adds", _step_colour(step.features)))
    rest = image.picture(made.residual, fill=0.0)
    shown.append((rest, MISSING, "left over", "<b>left over</b>: object - reconstruction", LINE))
    tiles = []
    for slot, (picture, nothing, word, what, frame) in enumerate(shown, 2):
        least, most = map(signed_text, _range(picture))
        colours = diverging_colours(picture, limit, nothing)
        tiles.append(Tile(slot * (1 + _GAP), y, colours, word, f"{what}<br>{least} to {most}", frame))
    return tiles


def _range(values: Floats) -> tuple[float, float]:
    """Return the least and the largest known value; NaN if none is known."""
    known = values[np.isfinite(values)]
    return (float(known.min()), float(known.max())) if known.size else (float("nan"), float("nan"))


def _extent(made: ObjectSteps, image: Image) -> tuple[float, float]:
    """Return the scale of the upper row: the values of the object and its background, else the baseline.

    Sums may go beyond it; the differences below show how far.
    """
    seen = np.concatenate([made.value, np.asarray(image.background)])
    seen = seen[np.isfinite(seen)]
    seen = seen if len(seen) > 1 else made.baseline
    return (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 1.0)


def _tones_of(values: Floats, image: Image, low: float, high: float) -> Colours:
    picture = image.picture(values)
    colours = tones(picture, low, high)
    no_column = np.ones(picture.size, dtype=bool)
    no_column[image.pixels] = False
    colours[no_column.reshape(picture.shape) & np.isnan(picture)] = EMPTY
    return colours


def _step_colour(features: tuple[int, ...]) -> str:
    """Return the colour around the pictures of a step: the feature's."""
    return cluster_colour(features[0]) if len(features) == 1 else LINE


def _scale_note(low: float, high: float, limit: float, missing: bool, y: float) -> Figure:
    """Return the legend of the colours, in the free place below the object and the baseline."""
    text = (
        f"<b>above:</b> pale {value_text(low)} or less<br>to blue {value_text(high)} or more"
        f'<br><b>here:</b> <span style="color:rgb{BELOW}">{signed_text(-limit)}</span>'
        f' to <span style="color:rgb{ABOVE}">{signed_text(limit)}</span>'
    )
    if missing:
        text += f'<br><span style="color:rgb{MISSING}">■</span> missing'
    note: Figure = {"text": text, "showarrow": False, "align": "left", "font": {"size": 11, "color": MUTED}}
    return note | {"x": 0, "xref": "x", "xanchor": "left", "y": y, "yref": "y", "yanchor": "top"}
