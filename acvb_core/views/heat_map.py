"""Heat maps, and pictures of pixels inside a figure."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Sequence
from typing import Any

from PIL import Image

from acvb_core.views.theme import Figure

#: White to the darkest blue, for shares; with a lighter blue between, where many values lie in the middle.
BLUES = [[0, "#FFFFFF"], [1, "#0072B2"]]
THREE_BLUES = [[0, "#FFFFFF"], [0.5, "#8DBBDA"], [1, "#0072B2"]]
_TRANSPARENT = [[0, "rgba(0,0,0,0)"], [1, "rgba(0,0,0,0)"]]
#: Browsers blur a picture that they enlarge, so small ones are enlarged here.
CRISP = 1000


def heat_map(
    uid: str,
    x: Iterable[object],
    y: Iterable[object],
    z: object,
    *,
    ends: tuple[float, float] = (0, 1),
    scale: list[list[Any]] = BLUES,
    gap: int = 0,
    **more: Any,
) -> Figure:
    """Return the trace of a heat map: values between the `ends` of a scale, `gap` pixels between the cells."""
    low, high = ends
    place = {"type": "heatmap", "x": list(x), "y": list(y), "z": z, "xgap": gap, "ygap": gap, "uid": uid}
    return place | {"zmin": low, "zmax": high, "colorscale": scale, **more}


def hover_grid(x: Sequence[float], y: Sequence[float], texts: Sequence[Sequence[str]]) -> Figure:
    """Return an invisible heat map between borders x and y that shows a text under the pointer in each cell."""
    trace = heat_map("hover", x, y, [[0] * len(row) for row in texts], scale=_TRANSPARENT)
    hover = {"text": texts, "hovertemplate": "%{text}<extra></extra>"}
    return trace | hover | {"showscale": False, "zsmooth": False}


def png_uri(picture: Image.Image, least: int = CRISP) -> str:
    """Return a picture as a PNG inside a data URI, enlarged by whole factors to at least `least` pixels a side."""
    across, down = (max(1, -(-least // side)) for side in picture.size)
    if max(across, down) > 1:
        picture = picture.resize((picture.width * across, picture.height * down), Image.Resampling.NEAREST)
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", compress_level=4)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
