"""Rows of a table as small pictures, side by side."""

from __future__ import annotations

import html
from collections.abc import Sequence

import streamlit as st

from acvb_core.data.table import Table
from acvb_core.models.lfm.figures.pictures import image_uri, tone_range, tones


def show_picture_row(table: Table, rows: Sequence[int], captions: Sequence[str] | None = None) -> None:
    """Draw some rows (0-based) of a table of pixels, all in the same tones.

    Parameters
    ----------
    table : Table
        With an image.
    rows : sequence of int
    captions : sequence of str, optional
        Below each picture, shown as they are.
    """
    image = table.image
    assert image is not None
    low, high = tone_range(table)
    texts = [""] * len(rows) if captions is None else captions
    pieces = []
    for row, text in zip(rows, texts, strict=True):
        uri = image_uri(tones(image.picture(table.values[row]), low, high), 90)
        # The pictures are the program's own PNGs; the user's names for them are escaped.
        name = html.escape(str(table.rows[row]), quote=True)
        below = f"<div class='picture-name'>{html.escape(text)}</div>" if text else ""
        pieces.append(
            f"<div style='width:72px;overflow:hidden'><img class='tones' src='{uri}' alt='{name}' title='{name}' "
            f"width='72'>{below}</div>"
        )
    st.html(f"<div style='display:flex;flex-wrap:wrap;gap:10px'>{''.join(pieces)}</div>")
