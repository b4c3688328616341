"""Read figures back: the numbers in a trace, the pixels in a picture, every text."""

from __future__ import annotations

import base64
import functools
import io
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import plotly.graph_objects as go
from PIL import Image

from acvb_core.views.theme import DARK_PAPER, contrast, darken_parts

#: Words and names that a browser, Plotly or a spreadsheet might take for something else, or that need room.
AWKWARD_WORDS = [
    "<b>bold</b>", "%{x}", "$a$", "=1+1", "&amp;", '"quoted"', "naïve", "東京都知事選挙", "كتاب", "a" * 60,
]  # fmt: skip


def trace(figure: dict, uid: str) -> dict:
    return next(t for t in figure["data"] if t["uid"] == uid)


def plain(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Have a function return its figures as Plotly's JSON with lists for arrays, checked against Plotly's schema."""

    @functools.wraps(draw)
    def call(*args: Any, **kwargs: Any) -> Any:
        drawn = draw(*args, **kwargs)
        return read(drawn) if isinstance(drawn, go.Figure) else [read(one) for one in drawn]

    return call


def read(figure: go.Figure) -> dict[str, Any]:
    parts = figure.to_dict()
    go.Figure(parts)
    return _decode(parts)


def _decode(value: Any) -> Any:
    if isinstance(value, dict) and "bdata" in value:
        flat = np.frombuffer(base64.b64decode(value["bdata"]), dtype=value["dtype"])
        return flat.reshape([int(n) for n in value["shape"].split(",")] if "shape" in value else -1).tolist()
    if isinstance(value, dict):
        return {key: _decode(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_decode(part) for part in value]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def faintest_on_dark(figure: dict) -> float:
    """The least contrast of a curve of the figure with the dark page, which shows through where a curve is faint."""
    found = []
    for curve in darken_parts(figure)["data"]:
        if "lines" not in curve.get("mode", "lines"):
            continue
        *ink, opacity = _parts_of(curve["line"]["color"])
        opacity *= curve.get("opacity", 1.0)
        paper = _parts_of(DARK_PAPER)
        mixed = (round(opacity * a + (1 - opacity) * b) for a, b in zip(ink, paper[:3], strict=True))
        found.append(contrast("#" + "".join(f"{part:02X}" for part in mixed), DARK_PAPER))
    return min(found)


def _parts_of(colour: str) -> list[float]:
    """Return red, green, blue (0 to 255) and opacity."""
    if colour.startswith("#"):
        return [*(int(colour[i : i + 2], 16) for i in (1, 3, 5)), 1.0]
    return [float(part) for part in re.findall(r"[\d.]+", colour)]


def pixels(picture: dict, height: int, width: int) -> np.ndarray:
    """The colours of a picture of `height` x `width` values, each of which must be a block of one colour."""
    data = base64.b64decode(picture["source"].partition(",")[2])
    whole = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    rows, columns = whole.shape[0] // height, whole.shape[1] // width
    assert whole.shape[:2] == (rows * height, columns * width)
    found = whole[rows // 2 :: rows, columns // 2 :: columns]
    assert (np.repeat(np.repeat(found, rows, axis=0), columns, axis=1) == whole).all()
    return found


def texts_of(figure: dict) -> list[str]:
    """Return every text of a figure that Plotly draws: names, hovers, ticks, titles, notes."""
    shown = (
        "text",
        "hovertext",
        "ticktext",
        "name",
        "title",
        "hovertemplate",
        "texttemplate",
        "x",
        "y",
        "label",
    )
    found: list[str] = []

    def collect(value: object, inside: bool) -> None:
        if isinstance(value, dict):
            for key, part in value.items():
                collect(part, key in shown)
        elif isinstance(value, (list, tuple)):
            for part in value:
                collect(part, inside)
        elif isinstance(value, str) and inside:
            found.append(value)

    collect(figure, False)
    return found
