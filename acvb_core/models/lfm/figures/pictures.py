"""Numbers as small pictures: the pixels of an image-shaped table, in tones or in colours to both sides of 0."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image as Pillow

from acvb_core.views.theme import INK, LINE, MUTED, Figure

if TYPE_CHECKING:
    from acvb_core.data.tables.image import Image

Floats = NDArray[np.float64]
Colours = NDArray[np.uint8]

#: Below 0, at 0, above 0. Red and blue are told apart by colour-blind readers, and are the colours of no feature.
BELOW, ZERO, ABOVE = (33, 102, 172), (255, 255, 255), (178, 24, 43)
#: Pixels that no column stands for.
EMPTY = (233, 237, 241)
#: Missing cells: a warm tone, for the tones of values are cold.
MISSING = (246, 201, 140)
DIVERGING = [[0, f"rgb{BELOW}"], [0.5, f"rgb{ZERO}"], [1, f"rgb{ABOVE}"]]
#: Browsers blur a picture that they enlarge, so small ones are enlarged here.
_CRISP = 1000


def largest(values: ArrayLike) -> float:
    """Return the largest absolute value that is known, 1 where there is none or all are 0: the end of a scale."""
    found = np.abs(np.asarray(values, dtype=np.float64))
    found = found[np.isfinite(found)]
    return (float(found.max()) if found.size else 0.0) or 1.0


def robust_end(values: ArrayLike) -> float:
    """Return the end of a scale that a few extreme values do not set: the 99 % quantile where the largest is thrice it.

    A column that hardly varies has weights of many standard deviations, beside which no other would be seen.
    """
    found = np.abs(np.asarray(values, dtype=np.float64))
    found = found[np.isfinite(found) & (found > 0)]
    quantile = float(np.quantile(found, 0.99)) if found.size else 0.0
    return quantile if 0 < 3 * quantile < largest(values) else largest(values)


def diverging_colours(values: ArrayLike, limit: float, nothing: tuple[int, int, int] = EMPTY) -> Colours:
    """Return colours of values between -limit and limit: blue, white at 0, red.

    Parameters
    ----------
    values : array
    limit : float
        What is beyond has the colour of the limit.
    nothing : (int, int, int)
        Colour of NaN.

    Returns
    -------
    uint8 array, shape (..., 3)
    """
    share = np.clip(np.asarray(values, dtype=np.float64) / limit, -1.0, 1.0)[..., None]
    end = np.where(share < 0, np.array(BELOW, dtype=np.float64), np.array(ABOVE, dtype=np.float64))
    return _fill_unknown(np.abs(share) * end + (1 - np.abs(share)) * np.array(ZERO), nothing)


def tones(values: ArrayLike, low: float, high: float, nothing: tuple[int, int, int] = MISSING) -> Colours:
    """Return tones of values, white for `low` to dark for `high`, shape (..., 3)."""
    width = high - low if high > low else 1.0
    share = np.clip((np.asarray(values, dtype=np.float64) - low) / width, 0.0, 1.0)[..., None]
    return _fill_unknown((1 - share) * 255 + share * np.array(INK), nothing)


def _fill_unknown(colours: Floats, nothing: tuple[int, int, int]) -> Colours:
    unknown = np.isnan(colours).any(axis=-1)
    colours[unknown] = nothing
    return np.rint(colours).astype(np.uint8)


def image_uri(colours: Colours, least: int = _CRISP) -> str:
    """Return colours as a PNG inside a data URI, enlarged to at least `least` pixels a side.

    Parameters
    ----------
    colours : uint8 array, shape (height, width, 3)
    least : int
    """
    rows, columns = (max(1, -(-least // side)) for side in colours.shape[:2])
    picture = Pillow.fromarray(np.ascontiguousarray(colours))
    if max(rows, columns) > 1:
        enlarged = (picture.width * columns, picture.height * rows)
        picture = picture.resize(enlarged, Pillow.Resampling.NEAREST)
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", compress_level=4)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def layout_image(
    colours: Colours, x: float, y: float, width: float, height: float, least: int = _CRISP
) -> Figure:
    """Return a picture for `layout.images` whose upper left corner is at (x, y); the y axis points downwards."""
    return {
        "source": image_uri(colours, least), "xref": "x", "yref": "y", "x": x, "y": y, "sizex": width,
        "sizey": height, "xanchor": "left", "yanchor": "top", "sizing": "stretch", "layer": "below",
    }  # fmt: skip


def scale_bar(title: str, low: float, high: float, colours: list[list[Any]] | None = None) -> Figure:
    """Return an invisible trace that shows the scale of pictures beside them; `colours` default to the two sides."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [None],
        "y": [None],
        "hoverinfo": "skip",
        "showlegend": False,
        "uid": "scale",
        "marker": {
            "color": [0],
            "cmin": low,
            "cmax": high,
            "colorscale": colours or DIVERGING,
            "showscale": True,
            "colorbar": colour_bar(title),
        },
    }


def colour_bar(title: str) -> Figure:
    """Return the look of a colour bar."""
    return {
        "title": {"text": title, "side": "right", "font": {"size": 12, "color": MUTED}}, "thickness": 12,
        "tickfont": {"size": 11}, "outlinewidth": 1, "outlinecolor": LINE, "nticks": 6,
    }  # fmt: skip


def picture_aspect(image: Image) -> float:
    """Return height / width of a pixel picture as it is drawn: true, unless it would be too long to see."""
    return min(max(image.height / image.width, 0.25), 4.0)
