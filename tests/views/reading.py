"""Read figures back: the numbers in a trace, the pixels in a picture, every text."""

from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image

#: Words and names that a browser, Plotly or a spreadsheet might take for something else, or that need room.
AWKWARD_WORDS = [
    "<b>bold</b>", "%{x}", "$a$", "=1+1", "&amp;", '"quoted"', "naïve", "東京都知事選挙", "كتاب", "a" * 60,
]  # fmt: skip


def trace(figure: dict, uid: str) -> dict:
    return next(t for t in figure["data"] if t["uid"] == uid)


def numbers(array: object) -> np.ndarray:
    """The values of a list or of Plotly's compact form."""
    if not isinstance(array, dict):
        return np.asarray(array, dtype=np.float64)
    flat = np.frombuffer(base64.b64decode(array["bdata"]), dtype=array["dtype"]).astype(np.float64)
    return flat.reshape([int(n) for n in array["shape"].split(",")]) if "shape" in array else flat


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
