"""The parts of two runs in pairs, such as topics: how similar each part of one is to each of the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from acvb_core.views.heat_map import THREE_BLUES, heat_map
from acvb_core.views.labels import Labels, plain_name, text_room
from acvb_core.views.theme import BORDER, GRID, MUTED, Figure, b64, base_layout, colour_bar, escape

_FEW = 14  # most parts of a run whose values are written into the cells
_NAMED = 30  # most parts of a run that all have their number and name
_LONGEST = 22  # characters of a name


def similarity_figure(
    similarity: ArrayLike,
    one: ArrayLike,
    other: ArrayLike,
    names: tuple[str, str],
    *,
    part: str,
    measure: str,
    scale: str,
    labels: Labels = None,
    other_labels: Labels = None,
) -> Figure:
    """Return the similarities of the parts of two runs, as a heat map with the pairs framed along its diagonal.

    `similarity`: shape (K, L); of each part of the first run with each of the other, 0 to 1.
    `one`, `other`: shape (n_pairs,); the pairs (0-based).
    `names`: names of the two runs.
    `part`: word for a part: "topic".
    `measure`, `scale`: name of the similarity under the pointer, and beside the colours.
    `labels`, `other_labels`: names of the parts of each run.
    """
    similarity = np.asarray(similarity, dtype=np.float64)
    n_rows, n_columns = similarity.shape
    pairs = list(zip(np.asarray(one).tolist(), np.asarray(other).tolist(), strict=True))
    rows = [i for i, _ in pairs] + sorted(set(range(n_rows)) - {i for i, _ in pairs})
    columns = [j for _, j in pairs] + sorted(set(range(n_columns)) - {j for _, j in pairs})
    shown = similarity[np.ix_(rows, columns)]
    left = [plain_name(i + 1, labels) for i in rows]
    above = [plain_name(j + 1, other_labels) for j in columns]
    beside, over = (text_room(called, 11, limit=_LONGEST) for called in (left, above))
    first, second = (escape(name, 40) for name in names)
    few = max(n_rows, n_columns) <= _FEW
    trace = heat_map(
        f"{part}-similarity",
        [escape(name, _LONGEST) for name in above],
        [escape(name, _LONGEST) for name in left],
        b64(shown.astype(np.float32)),
        scale=THREE_BLUES,
        gap=1 if few else 0,
        texttemplate="%{z:.2f}" if few else "",
        hovertemplate=f"{part} %{{y}} of {first}<br>{part} %{{x}} of {second}<br>"
        f"{measure} %{{z:.3f}}<extra></extra>",
        colorbar=colour_bar(scale),
    )
    frame = {"type": "rect", "layer": "above", "line": {"color": BORDER, "width": 2 if few else 1}}
    ends = [(at - 0.5, at + 0.5) for at in range(len(pairs))]
    frames = [frame | {"x0": low, "x1": high, "y0": low, "y1": high} for low, high in ends]
    axis = {"type": "category", "showgrid": False, "ticks": "", "ticklabelstandoff": 4}
    axis |= {"tickfont": {"size": 11}}
    if max(n_rows, n_columns) > _NAMED:
        axis |= {"nticks": 24}
    title = {"font": {"size": 12, "color": MUTED}, "standoff": 6}
    upright = over > 30
    layout = base_layout(
        max(360, min(660, 26 * n_rows + (over if upright else 16) + 80)),
        margin={"l": beside + 42, "r": 8, "t": (over if upright else 16) + 42, "b": 8},
        plot_bgcolor=GRID,
        shapes=frames,
        xaxis=axis
        | {"side": "top", "tickangle": -90 if upright else 0}
        | {"title": title | {"text": f"{part}s of {second}"}},
        yaxis=axis | {"autorange": "reversed", "title": title | {"text": f"{part}s of {first}"}},
    )
    return {"data": [trace], "layout": layout}
