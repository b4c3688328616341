"""An object as a row of pictures, feature by feature: what it is made of so far, and what is left over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from acvb_core.models.lfm.figures.feature_words import figure_title, object_heading, signed_text, value_text
from acvb_core.models.lfm.figures.pictures import (
    ABOVE,
    BELOW,
    EMPTY,
    MISSING,
    Colours,
    diverging_colours,
    largest,
    layout_image,
    picture_aspect,
    tones,
)
from acvb_core.models.lfm.reconstruction import ObjectSteps, Step
from acvb_core.views.theme import LINE, MUTED, TEXT, Figure, base_layout, cluster_colour, percent

if TYPE_CHECKING:
    from acvb_core.data.tables.image import Image

Floats = NDArray[np.float64]
_PAGE, _GAP, _WORDS = 900, 0.14, 0.3


def reconstruction_images_figure(made: ObjectSteps, image: Image, *, name: str = "") -> Figure:
    """Return two rows of pictures: what the object is made of so far, and below each what was added to come there.

    The upper row is the object (missing cells marked), the baseline, and the sum after each step, in the tones of
    one scale. The lower row is each step and, at the end, what is left over, red and blue on one scale.

    Parameters
    ----------
    made : ObjectSteps
    image : Image
    name : str
        The object's, as it is.
    """
    low, high = _extent(made, image)
    limit = largest(np.concatenate([*(step.added for step in made.steps), np.nan_to_num(made.residual)]))
    aspect = picture_aspect(image)
    second = aspect + _GAP + _WORDS
    tiles = [*_upper(made, image, low, high), *_lower(made, image, limit, second)]
    slots = max(len(made.steps) + 3, 6)
    layout = _pictures_layout(slots, aspect, object_heading(made, name))
    crisp = max(80, min(400, 4000 // slots))
    layout["images"] = [layout_image(t.colours, t.x, t.y + _WORDS, 1, aspect, crisp) for t in tiles]
    layout["shapes"] = [
        {
            "type": "rect", "x0": t.x, "x1": t.x + 1, "y0": t.y + _WORDS, "y1": t.y + _WORDS + aspect,
            "line": {"color": t.frame, "width": 1.5},
        }
        for t in tiles
    ]  # fmt: skip
    text: Figure = {
        "type": "scatter", "mode": "text", "x": [t.x for t in tiles], "y": [t.y + _WORDS - 0.015 for t in tiles],
        "text": [t.word for t in tiles], "textposition": "top right", "textfont": {"size": 11, "color": TEXT},
        "hoverinfo": "skip", "uid": "words", "cliponaxis": False,
    }  # fmt: skip
    size = 0.7 * _PAGE / (slots * (1 + _GAP)) * min(aspect, 1.0)
    hover: Figure = {
        "type": "scatter", "mode": "markers", "x": [t.x + 0.5 for t in tiles],
        "y": [t.y + _WORDS + aspect / 2 for t in tiles], "hovertext": [t.hover for t in tiles],
        "hovertemplate": "%{hovertext}<extra></extra>", "uid": "pictures",
        "marker": {"symbol": "square", "size": size, "opacity": 0, "color": LINE},
    }  # fmt: skip
    layout["annotations"] = [_scale_note(low, high, limit, bool(np.isnan(made.value).any()), second + _WORDS)]
    return {"data": [text, hover], "layout": layout}


@dataclass(frozen=True, eq=False)
class _Tile:
    """One picture: its upper left corner without the word above it, and what it tells."""

    slot: int
    y: float
    colours: Colours
    word: str
    hover: str
    frame: str = LINE

    @property
    def x(self) -> float:
        return self.slot * (1 + _GAP)


def _upper(made: ObjectSteps, image: Image, low: float, high: float) -> list[_Tile]:
    """Return the object, the baseline, the sum after each step, and the last of these once more."""

    def tile(slot: int, values: Floats, word: str, what: str, frame: str = LINE) -> _Tile:
        hover = f"<b>{what}</b><br>{value_text(_least(values))} to {value_text(_most(values))}"
        return _Tile(slot, 0.0, _toned(values, image, low, high), word, hover, frame)

    tiles = [tile(0, made.value, "object", "object"), tile(1, made.baseline, "baseline", "baseline")]
    so_far = made.baseline
    for slot, step in enumerate(made.steps, 2):
        so_far = so_far + step.added
        tiles.append(tile(slot, so_far, _step_words(step), f"so far, with {step.name}", _frame(step)))
    return [*tiles, tile(len(tiles), so_far, "all", "reconstruction")]


def _lower(made: ObjectSteps, image: Image, limit: float, y: float) -> list[_Tile]:
    """Return what each step adds and, below the reconstruction, what is left over."""
    tiles = []
    for slot, step in enumerate(made.steps, 2):
        chance = f" ({percent(step.probability)})" if len(step.features) == 1 else ""
        hover = f"<b>{step.name}</b>{chance} adds<br>{signed_text(_least(step.added))} to {signed_text(_most(step.added))}"
        colours = diverging_colours(image.picture(step.added, fill=np.nan), limit)
        tiles.append(_Tile(slot, y, colours, "", hover, _frame(step)))
    rest = image.picture(made.residual, fill=0.0)
    colours = diverging_colours(rest, limit, MISSING)
    hover = f"<b>left over</b>: object - reconstruction<br>{signed_text(_least(rest))} to {signed_text(_most(rest))}"
    return [*tiles, _Tile(len(made.steps) + 2, y, colours, "left over", hover)]


def _least(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.min()) if known.size else float("nan")


def _most(values: Floats) -> float:
    return -_least(-values)


def _extent(made: ObjectSteps, image: Image) -> tuple[float, float]:
    """Return the scale of the upper row: what the object and its background show, else the baseline.

    Sums may go beyond it; the differences below tell how far.
    """
    seen = np.concatenate([made.value, np.asarray(image.background)])
    seen = seen[np.isfinite(seen)]
    seen = seen if len(seen) > 1 else made.baseline
    return (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 1.0)


def _toned(values: Floats, image: Image, low: float, high: float) -> Colours:
    picture = image.picture(values)
    colours = tones(picture, low, high)
    no_column = np.ones(picture.size, dtype=bool)
    no_column[image.pixels] = False
    colours[no_column.reshape(picture.shape) & np.isnan(picture)] = EMPTY
    return colours


def _step_words(step: Step) -> str:
    if len(step.features) > 1:
        return f"+ {step.name}"
    return f"+ <b>{step.features[0]}</b> ({percent(step.probability)})"


def _frame(step: Step) -> str:
    """Return the colour around the pictures of a step: the feature's."""
    return cluster_colour(step.features[0]) if len(step.features) == 1 else LINE


def _pictures_layout(slots: int, aspect: float, told: str) -> Figure:
    width, height = slots * (1 + _GAP), 2 * (aspect + _WORDS) + _GAP + 0.25
    bare = {"visible": False, "constrain": "domain"}
    return base_layout(
        max(200, round(height / width * _PAGE) + 46),
        margin={"l": 6, "r": 6, "t": 36, "b": 6},
        showlegend=False,
        hovermode="closest",
        title=figure_title(told),
        xaxis=bare | {"range": [-0.02, width]},
        yaxis=bare | {"range": [height, 0], "scaleanchor": "x", "scaleratio": 1},
    )


def _scale_note(low: float, high: float, limit: float, missing: bool, y: float) -> Figure:
    """Return what the colours say, in the free place below the object and the baseline."""
    text = (
        f"<b>above:</b> white {value_text(low)} or less<br>to dark {value_text(high)} or more"
        f'<br><b>here:</b> <span style="color:rgb{BELOW}">{signed_text(-limit)}</span>'
        f' to <span style="color:rgb{ABOVE}">{signed_text(limit)}</span>'
    )
    if missing:
        text += f'<br><span style="color:rgb{MISSING}">■</span> missing'
    return {
        "text": text, "showarrow": False, "align": "left", "x": 0, "y": y, "xref": "x", "yref": "y",
        "xanchor": "left", "yanchor": "top", "font": {"size": 11, "color": MUTED},
    }  # fmt: skip
