"""Parts of the figures of features and tables: texts, names, tones, small pictures, the order of similar columns."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image as Pillow

from acvb_core.models.lfm.features import ObjectSteps
from acvb_core.views.parts import (
    CRISP,
    MOST_CHARACTERS,
    heading,
    name_ticks,
    place_picture,
    png_uri,
    scatter,
)
from acvb_core.views.theme import INK, LINE, TEXT, Figure, Part, escape, make_figure, percent

if TYPE_CHECKING:
    from acvb_core.data.table import Image, Table

Floats = NDArray[np.float64]
Colours = NDArray[np.uint8]
#: Names of columns or objects as they come: a list, or the array of a table.
Names = Sequence[object] | NDArray[Any]
#: In the columns' own units, or in standard deviations of each column.
Units = Literal["sd", "table"]
#: Most columns that are clustered; the distances of more would take long.
MOST_CLUSTERED = 1000

#: Below 0, at 0, above 0. Colour-blind readers distinguish red and blue, and no feature has these colours.
BELOW, ZERO, ABOVE = (33, 102, 172), (255, 255, 255), (178, 24, 43)
#: Pixels that no column has.
EMPTY = (233, 237, 241)
#: Missing cells: a warm tone, for the tones of values are cold.
MISSING = (246, 201, 140)
DIVERGING = [[0, f"rgb{BELOW}"], [0.5, f"rgb{ZERO}"], [1, f"rgb{ABOVE}"]]
#: Width of the page that the height of a figure of tiles is computed for.
PAGE = 900


def feature_word(number: int) -> str:
    """Return "1 feature", "2 features"."""
    return f"{number:,} {'feature' if number == 1 else 'features'}"


def value_text(value: float) -> str:
    """Return a value with four significant digits, whole from ten thousand on; empty for NaN."""
    if not math.isfinite(value):
        return ""
    return f"{value:z,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:z,.4g}"


def axis_names(names: Sequence[str], limit: int = MOST_CHARACTERS) -> list[str]:
    """Return names for an axis, escaped; those of more than `limit` characters lose their end, or their middle.

    A name loses its middle if another one begins alike.
    """
    plain = [" ".join(name.split()) for name in names]
    starts = Counter(name[: limit - 1] for name in plain if len(name) > limit)
    ends = limit // 2
    return [
        escape(f"{name[: limit - 1 - ends]}…{name[-ends:]}")
        if len(name) > limit and starts[name[: limit - 1]] > 1
        else escape(name, limit)
        for name in plain
    ]


def similar_order(vectors: ArrayLike) -> NDArray[np.int64]:
    """Return the order of vectors (n, m) in which similar ones stand side by side, shape (n,).

    Up to `MOST_CLUSTERED` are clustered by the correlation about 0 (signs do not matter, for a column that
    falls with others belongs to them); more are sorted by their largest entry.
    """
    rows = np.nan_to_num(np.asarray(vectors, dtype=np.float64))
    n = len(rows)
    if n < 3 or rows.shape[1] == 0:
        return np.arange(n)
    if n > MOST_CLUSTERED:
        top = np.abs(rows).argmax(axis=1)
        size = rows[np.arange(n), top]
        return np.lexsort((-np.abs(size), size < 0, top)).astype(np.int64)
    from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
    from scipy.spatial.distance import squareform

    length = np.sqrt((rows**2).sum(axis=1))
    unit = rows / np.where(length > 0, length, 1.0)[:, None]
    distance = np.clip(1.0 - np.abs(unit @ unit.T), 0.0, 1.0)
    np.fill_diagonal(distance, 0.0)
    distances = squareform((distance + distance.T) / 2, checks=False)
    tree = linkage(distances, "average")
    # The best order of the leaves takes cubic time.
    return leaves_list(optimal_leaf_ordering(tree, distances) if n <= 150 else tree).astype(np.int64)


def column_ticks(places: Sequence[float] | range, names: Sequence[str]) -> Part:
    """Return the ticks of an axis that has the name of a column or object at each place."""
    return name_ticks(places, axis_names(names))


def object_heading(steps: ObjectSteps, name: str, *more: str) -> Part:
    """Return the object's name, how much of it the features explain and what is missing, as a title."""
    explained, notes = steps.explained, []
    if explained < 0:
        notes.append("the features fit worse than the baseline alone")
    elif not math.isnan(explained):
        notes.append(f"{percent(explained)} of it is explained by its features")
    unknown = int(np.isnan(steps.value).sum())
    if unknown:
        notes.append(f"{unknown:,} of {len(steps.value):,} cells missing")
    return heading(escape(name, 40) or "Object", " · ".join([*notes, *more]))


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
    end = np.where(share < 0, np.array(BELOW, np.float64), ABOVE)
    return _fill_unknown(np.abs(share) * end + (1 - np.abs(share)) * np.array(ZERO), nothing)


def tones(values: ArrayLike, low: float, high: float, nothing: tuple[int, int, int] = MISSING) -> Colours:
    """Return tones of values, white for `low` to dark for `high`, shape (..., 3)."""
    width = high - low if high > low else 1.0
    share = np.clip((np.asarray(values, dtype=np.float64) - low) / width, 0.0, 1.0)[..., None]
    return _fill_unknown((1 - share) * 255 + share * np.array(INK), nothing)


def turn_lightness(colours: Colours) -> Colours:
    """Return colours (..., 3) as a dark page has them: what was light is dark, and the hue stays."""
    given = colours.astype(np.int16)
    turned = given + 255 - given.max(axis=-1, keepdims=True) - given.min(axis=-1, keepdims=True)
    return turned.astype(np.uint8)


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
    title: Part,
    *,
    aspect: float,
    room: float,
    crisp: int,
    page: int = PAGE,
    trace: Part | None = None,
    further: Sequence[Part] = (),
) -> Figure:
    """Return pictures with their words above them, and their texts under the pointer.

    `width`, `height`: of all, in widths of a picture.
    `title`: of the figure.
    `aspect`, `room`: height of a picture, and of its word, in widths of a picture.
    `crisp`: pixels of a picture's side, at least.
    `page`: width in pixels that the height is computed for.
    `trace`: what the trace under the pointer gets beyond that.
    `further`: further traces.
    """
    frames, images, x, y = [], [], [], []
    for tile in tiles:
        top = tile.y + room
        images.append(place_picture(image_uri(tile.colours, crisp), tile.x, top, 1, aspect))
        frame = {"type": "rect", "x0": tile.x, "x1": tile.x + 1, "y0": top, "y1": top + aspect}
        frames.append(frame | {"line": {"color": tile.frame, "width": tile.frame_width}})
        x.append(tile.x + 0.5)
        y.append(top + aspect / 2)
    hidden = {"visible": False, "constrain": "domain"}
    words = scatter("words", [t.x for t in tiles], [t.y + room - 0.015 for t in tiles], "text")
    words |= {"text": [t.word for t in tiles], "textposition": "top right", "cliponaxis": False}
    # Points that cannot be seen: what the pointer finds.
    size = 0.7 * page / width * min(aspect, 1.0)
    unseen = {"symbol": "square", "size": size, "opacity": 0, "color": LINE}
    pictures = scatter("pictures", x, y, marker=unseen, hovertext=[t.hover for t in tiles], **(trace or {}))
    return make_figure(
        [words | {"textfont": {"size": 11, "color": TEXT}}, pictures, *further],
        max(200, math.ceil(height / width * page) + 50),
        margin={"l": 6, "r": 6, "t": 36, "b": 8},
        title=title,
        xaxis=hidden | {"range": [-0.02, width]},
        yaxis=hidden | {"range": [height, 0], "scaleanchor": "x", "scaleratio": 1},
        images=images,
        shapes=frames,
    )
