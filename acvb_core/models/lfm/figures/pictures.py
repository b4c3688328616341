"""Numbers as small pictures: the pixels of an image-shaped table, in tones or in colours to both sides of 0."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image as Pillow

from acvb_core.models.lfm.figures.feature_words import figure_title, hover_texts
from acvb_core.views.heat_map import CRISP, png_uri
from acvb_core.views.theme import INK, LINE, TEXT, Figure, base_layout, colour_bar

if TYPE_CHECKING:
    from acvb_core.data.table import Image, Table

Floats = NDArray[np.float64]
Colours = NDArray[np.uint8]

#: Below 0, at 0, above 0. Colour-blind readers distinguish red and blue, and no feature has these colours.
BELOW, ZERO, ABOVE = (33, 102, 172), (255, 255, 255), (178, 24, 43)
#: Pixels that no column stands for.
EMPTY = (233, 237, 241)
#: Missing cells: a warm tone, for the tones of values are cold.
MISSING = (246, 201, 140)
DIVERGING = [[0, f"rgb{BELOW}"], [0.5, f"rgb{ZERO}"], [1, f"rgb{ABOVE}"]]
#: Width of the page that the height of a figure of tiles is computed for.
PAGE = 900


def largest(values: ArrayLike) -> float:
    """Return the largest known absolute value, the end of a scale; 1 if there is none or all are 0."""
    sizes = np.abs(np.asarray(values, dtype=np.float64))
    return float(np.max(sizes, where=np.isfinite(sizes), initial=0.0)) or 1.0


def robust_end(values: ArrayLike) -> float:
    """Return the end of a scale: the 99 % quantile if the largest value is more than thrice it, else the largest.

    A column that hardly varies has weights of many standard deviations, beside which no other would be seen.
    """
    sizes = np.abs(np.asarray(values, dtype=np.float64))
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    quantile = float(np.quantile(sizes, 0.99)) if sizes.size else 0.0
    return quantile if 0 < 3 * quantile < largest(values) else largest(values)


def diverging_colours(values: ArrayLike, limit: float, nothing: tuple[int, int, int] = EMPTY) -> Colours:
    """Return colours of values, blue at -limit and beyond, white at 0, red at limit and beyond, shape (..., 3).

    `nothing` is the colour of NaN.
    """
    share = np.clip(np.asarray(values, dtype=np.float64) / limit, -1.0, 1.0)[..., None]
    end = np.where(share < 0, np.array(BELOW, dtype=np.float64), np.array(ABOVE, dtype=np.float64))
    return _fill_unknown(np.abs(share) * end + (1 - np.abs(share)) * np.array(ZERO), nothing)


def tones(values: ArrayLike, low: float, high: float, nothing: tuple[int, int, int] = MISSING) -> Colours:
    """Return tones of values, white for `low` to dark for `high`, shape (..., 3)."""
    width = high - low if high > low else 1.0
    share = np.clip((np.asarray(values, dtype=np.float64) - low) / width, 0.0, 1.0)[..., None]
    return _fill_unknown((1 - share) * 255 + share * np.array(INK), nothing)


def turn_lightness(colours: Colours) -> Colours:
    """Return colours (..., 3) as a dark page has them: what was light is dark, and the hue stays."""
    given = colours.astype(np.int16)
    return (given + 255 - given.max(axis=-1, keepdims=True) - given.min(axis=-1, keepdims=True)).astype(
        np.uint8
    )


def _fill_unknown(colours: Floats, nothing: tuple[int, int, int]) -> Colours:
    unknown = np.isnan(colours).any(axis=-1)
    colours[unknown] = nothing
    return np.rint(colours).astype(np.uint8)


def tone_range(table: Table) -> tuple[float, float]:
    """Return the smallest and largest value of a table of pixels and its background: the ends of its tones."""
    background = [] if table.image is None else table.image.background.tolist()
    values = [np.nanmin(table.values), np.nanmax(table.values), *background]
    return float(np.nanmin(values)), float(np.nanmax(values))


def image_uri(colours: Colours, least: int = CRISP) -> str:
    """Return colours (height, width, 3) as a PNG inside a data URI, enlarged to at least `least` pixels a side."""
    return png_uri(Pillow.fromarray(np.ascontiguousarray(colours)), least)


def layout_image(
    colours: Colours, x: float, y: float, width: float, height: float, least: int = CRISP
) -> Figure:
    """Return a picture for `layout.images` whose upper left corner is at (x, y); the y axis points downwards."""
    picture = {"source": image_uri(colours, least), "xref": "x", "yref": "y", "x": x, "y": y}
    picture |= {"sizex": width, "sizey": height, "xanchor": "left", "yanchor": "top"}
    return picture | {"sizing": "stretch", "layer": "below"}


def scale_bar(title: str, low: float, high: float) -> Figure:
    """Return an invisible trace that shows the two-sided scale of pictures beside them."""
    marker = {"color": [0], "cmin": low, "cmax": high, "colorscale": DIVERGING, "showscale": True}
    trace = {"type": "scatter", "mode": "markers", "x": [None], "y": [None], "hoverinfo": "skip"}
    return trace | {"showlegend": False, "uid": "scale", "marker": marker | {"colorbar": colour_bar(title)}}


def picture_aspect(image: Image) -> float:
    """Return height / width of a pixel picture as it is drawn: true, unless it would be too long to see."""
    return min(max(image.height / image.width, 0.25), 4.0)


@dataclass(frozen=True, eq=False)
class Tile:
    """One picture of several."""

    #: `x`, `y`: upper left corner of the word above the picture, which is one unit wide.
    x: float
    y: float
    colours: Colours  #: shape (height, width, 3)
    word: str
    hover: str
    frame: str = LINE  #: colour of the line around the picture
    frame_width: float = 1.5


def tiles_figure(
    tiles: Sequence[Tile],
    width: float,
    height: float,
    heading: str,
    *,
    aspect: float,
    room: float,
    crisp: int,
    page: int = PAGE,
) -> Figure:
    """Return pictures with their words above them, and their texts under the pointer.

    `width`, `height`: of all, in widths of a picture.
    `heading`: HTML.
    `aspect`, `room`: height of a picture, and of its word, in widths of a picture.
    `crisp`: pixels of a picture's side, at least.
    `page`: width in pixels that the height is computed for.
    """
    x, top = [tile.x for tile in tiles], [tile.y + room for tile in tiles]
    hidden = {"visible": False, "constrain": "domain"}
    layout = base_layout(
        max(200, math.ceil(height / width * page) + 50),
        margin={"l": 6, "r": 6, "t": 36, "b": 8},
        showlegend=False,
        hovermode="closest",
        title=figure_title(heading),
        xaxis=hidden | {"range": [-0.02, width]},
        yaxis=hidden | {"range": [height, 0], "scaleanchor": "x", "scaleratio": 1},
        images=[
            layout_image(t.colours, a, b, 1, aspect, crisp) for t, a, b in zip(tiles, x, top, strict=True)
        ],
        shapes=[
            {"type": "rect", "x0": a, "x1": a + 1, "y0": b, "y1": b + aspect}
            | {"line": {"color": t.frame, "width": t.frame_width}}
            for t, a, b in zip(tiles, x, top, strict=True)
        ],
    )
    invisible = {
        "symbol": "square",
        "size": 0.7 * page / width * min(aspect, 1.0),
        "opacity": 0,
        "color": LINE,
    }
    places = {"x": [a + 0.5 for a in x], "y": [b + aspect / 2 for b in top]}
    hover = {"type": "scatter", "mode": "markers", "uid": "pictures", "marker": invisible, **places}
    words = text_trace(x, [b - 0.015 for b in top], [t.word for t in tiles], "words")
    return {"data": [words, hover | hover_texts([t.hover for t in tiles])], "layout": layout}


def text_trace(
    x: Sequence[float],
    y: Sequence[float],
    words: Sequence[str],
    uid: str,
    *,
    position: str = "top right",
    size: int = 11,
    colour: str = TEXT,
) -> Figure:
    """Return a trace of words."""
    trace: Figure = {
        "type": "scatter",
        "mode": "text",
        "x": list(x),
        "y": list(y),
        "text": list(words),
        "uid": uid,
    }
    trace |= {"textposition": position, "textfont": {"size": size, "color": colour}}
    return trace | {"hoverinfo": "skip", "cliponaxis": False}
