"""The co-clustering matrix: how often two objects share a cluster over the samples of a run, in the shown order."""

from __future__ import annotations

import numpy as np

from acvb_core.core.protocols import Posterior
from acvb_core.models.irm.figures.arrangement import Side
from acvb_core.models.irm.scores import measure_company
from acvb_core.views.axes import axis_title
from acvb_core.views.heat_map import heat_map
from acvb_core.views.theme import BORDER, Figure, b64, base_layout, colour_bar, escape

#: Most cells a side: more objects share them. Up to so many, each has its names under the pointer.
_CELLS, _NAMED = 240, 80


def company_figure(posterior: Posterior, domain: str, side: Side, *, height: int = 460) -> Figure:
    """Return the share of the samples in which the objects of two places share a cluster, as a heat map.

    `domain`: "rows" or "cols".
    `side`: the objects as the sorted matrix has them; lines are drawn between its clusters.
    """
    n_cells = min(side.n, _CELLS)
    edges = np.linspace(0, side.n, n_cells + 1).round().astype(np.int64)
    cells = np.empty(side.n, dtype=np.int64)
    cells[side.order] = np.repeat(np.arange(n_cells), np.diff(edges))
    middles = ((edges[:-1] + edges[1:]) / 2).tolist()
    together = "together in %{z} % of the samples<extra></extra>"
    trace = heat_map(
        f"company-{domain}",
        middles,
        middles,
        b64((100 * measure_company(posterior, domain, cells)).round().astype(np.uint8)),
        ends=(0, 100),
        colorbar=colour_bar("share of samples", ticksuffix=" %"),
        hovertemplate=together,
    )
    if side.n <= _NAMED:
        names = [escape(side.labels[one], 40) for one in side.order]
        texts = [[f"<b>{one}</b> and <b>{other}</b>" for other in names] for one in names]
        trace |= {"hovertext": texts, "hovertemplate": "%{hovertext}<br>" + together}
    inner = [float(border) for border in np.unique(side.borders[1:-1]) if 0 < border < side.n]
    line = {"type": "line", "line": {"color": BORDER, "width": 1}}
    shapes = [line | {"x0": at, "x1": at, "y0": 0, "y1": side.n} for at in inner]
    shapes += [line | {"y0": at, "y1": at, "x0": 0, "x1": side.n} for at in inner]
    axis = {"range": [0, side.n], "showgrid": False, "showticklabels": False, "ticks": "", "zeroline": False}
    title = axis_title(f"{escape(side.kind, 40)}, sorted by cluster")
    layout = base_layout(
        height,
        margin={"l": 36, "r": 12, "t": 12, "b": 36},
        shapes=shapes,
        xaxis=axis | {"title": title},
        yaxis=axis | {"range": [side.n, 0], "title": title},
    )
    return {"data": [trace], "layout": layout}
