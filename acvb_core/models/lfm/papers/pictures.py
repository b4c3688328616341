"""The weights of features as small pictures, as the paper shows them: early in a run and at its end."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from acvb_core.core.protocols import Posterior

#: Pixels of a picture's cell, of a gap and of a title; features shown of an answer at most.
_CELL, _GAP, _TITLE, _MOST = 6, 6, 16, 12


def keep_answer(problem: Any, posterior: Posterior) -> list[list[float]]:
    """Return the weights of the most frequent features, one row a feature."""
    return np.round(posterior["weights"][:_MOST], 3).tolist()


def draw_answers(tiles: Sequence[tuple[str, Any, Mapping[str, Any]]]) -> bytes:
    """Return a PNG file: a row of features after the first sweeps of each run, and one at its end."""
    rows = [(f"{title}, {when}", table, answers[name]) for title, table, answers in tiles
            for name, when in (("early", "sweep 5"), ("last", "in the end")) if name in answers]  # fmt: skip
    side = max(round(table.n_columns**0.5) for _, table, _ in rows) * _CELL
    sheet = Image.new("L", (_GAP + _MOST * (side + _GAP), len(rows) * (side + _TITLE + _GAP)), 255)
    pen = ImageDraw.Draw(sheet)
    for number, (title, table, weights) in enumerate(rows):
        y = number * (side + _TITLE + _GAP)
        pen.text((_GAP, y + 2), title, fill=0)
        for place, own in enumerate(weights):
            x, height = _GAP + place * (side + _GAP), round(table.n_columns**0.5)
            size = np.abs(np.reshape(own, (height, -1)))
            picture = Image.fromarray((255 * (1.0 - size / max(size.max(), 1e-12))).astype(np.uint8))
            sheet.paste(picture.resize((side, side), Image.Resampling.NEAREST), (x, y + _TITLE))
            pen.rectangle((x - 1, y + _TITLE - 1, x + side, y + _TITLE + side), outline=160)
    buffer = io.BytesIO()
    sheet.quantize(16).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
