"""Where the missing cells of a table are, as a picture of all its cells."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.table import Table
from acvb_core.models.lfm.figures.feature_words import (
    axis_names,
    axis_title,
    figure_title,
    nothing_figure,
    subtitle,
)
from acvb_core.models.lfm.figures.pictures import MISSING, Colours, layout_image
from acvb_core.views.labels import text_room
from acvb_core.views.theme import INK, LINE, Figure, base_layout, escape, percent

Floats = NDArray[np.float64]
_PIXELS, _HOVER, _NAMED = 800, 60, 40


def missing_map_figure(table: Table, *, height: int = 420) -> Figure:
    """Return the cells of a table as they stand in it, blue where they are known, orange where they are missing.

    A large table is drawn in bins, the more orange the more of a bin is missing.

    Parameters
    ----------
    table : Table
    height : int
    """
    if not table.n_missing:
        return nothing_figure("No cell is missing.", height=120)
    missing = ~table.observed
    n, d = table.shape
    named = d <= _NAMED
    names = [str(name) for name in table.columns] if named else []
    layout = base_layout(
        height,
        margin={"l": 70, "r": 14, "t": 38, "b": (text_room(names, 11) + 18 if named else 24) + 20, "pad": 0},
        showlegend=False,
        title=figure_title(
            "<b>Missing cells</b>" + subtitle(f" · {table.n_missing:,} ({percent(missing.mean())}), orange")
        ),
        xaxis={
            "range": [0, d], "showgrid": False, "zeroline": False, "ticks": "", "showline": True, "mirror": True,
            "linecolor": LINE, "tickangle": -90 if named else 0, "tickfont": {"size": 11},
            **({"tickvals": [j + 0.5 for j in range(d)],
                "ticktext": axis_names(names)} if named else {"nticks": 12}),
            "title": axis_title("" if named else "column"),
        },
        yaxis={
            "range": [n, 0], "showgrid": False, "zeroline": False, "ticks": "", "showline": True, "mirror": True,
            "linecolor": LINE, "tickformat": ",d", "nticks": 8, "title": axis_title("row, as in the table"),
        },
        images=[layout_image(_colours(missing_shares(missing, _PIXELS)[0]), 0, 0, d, n)],
    )  # fmt: skip
    return {"data": [_hover(table, missing)], "layout": layout}


def missing_shares(
    missing: NDArray[np.bool_], most: int
) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64]]:
    """Return the share missing in at most `most` bins a side, and the borders of the bins of rows and columns."""
    borders = [np.arange(min(size, most) + 1) * size // min(size, most) for size in missing.shape]
    across = np.add.reduceat(missing, borders[1][:-1], axis=1, dtype=np.float64)
    counts = np.add.reduceat(across, borders[0][:-1], axis=0)
    return counts / np.outer(np.diff(borders[0]), np.diff(borders[1])), borders[0], borders[1]


def _colours(share: Floats) -> Colours:
    known = 0.72 * 255 + 0.28 * np.array(INK)
    mixed = (1 - share[..., None]) * known + share[..., None] * np.array(MISSING)
    return np.rint(mixed).astype(np.uint8)


def _hover(table: Table, missing: NDArray[np.bool_]) -> Figure:
    share, rows, columns = missing_shares(missing, _HOVER)
    across = [_span(table.columns, a, b, "columns") for a, b in zip(columns[:-1], columns[1:], strict=True)]
    down = [_span(table.rows, a, b, "rows") for a, b in zip(rows[:-1], rows[1:], strict=True)]
    return {
        "type": "heatmap",
        "x": columns.tolist(),
        "y": rows.tolist(),
        "z": [[0] * len(across)] * len(down),
        "text": [
            [f"{a}<br>{b}<br>{percent(s)} missing" for b, s in zip(across, line, strict=True)]
            for a, line in zip(down, share.tolist(), strict=True)
        ],
        "hovertemplate": "%{text}<extra></extra>",
        "colorscale": [[0, "rgba(0,0,0,0)"], [1, "rgba(0,0,0,0)"]],
        "showscale": False,
        "zsmooth": False,
        "uid": "hover",
    }


def _span(names: NDArray[np.object_], low: int, high: int, what: str) -> str:
    if high - low == 1:
        return f"<b>{escape(names[low], 40)}</b>"
    return f"{what} {low + 1:,} to {high:,}"
