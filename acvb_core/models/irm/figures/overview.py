"""A relation before any run: a thumbnail, and how the links are spread over the objects."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.relation import Relation
from acvb_core.models.irm.figures.arrangement import arrange_as_read, degrees
from acvb_core.models.irm.figures.marks import scatter
from acvb_core.models.irm.figures.raster import matrix_image, rasterise
from acvb_core.models.irm.scores import is_mirrored
from acvb_core.views.axes import axis_title, panel_title
from acvb_core.views.theme import GRID, LINE, Figure, base_layout, escape


def thumbnail(relation: Relation, *, size: int = 400, height: int = 300) -> Figure:
    """Return a small picture of the relation in the order it was read: dark for links, grey for unknown."""
    n_rows, n_columns = relation.shape
    shown = arrange_as_read(relation)
    raster = rasterise(relation, shown.rows.position, shown.columns.position, shown.whole, size)
    axis = {"showgrid": False, "zeroline": False, "showline": True, "mirror": True, "linecolor": LINE}
    axis |= {"showticklabels": False, "fixedrange": True}
    above = axis_title(f"{n_columns:,} × {escape(relation.column_kind, 40)}")
    beside = axis_title(f"{n_rows:,} × {escape(relation.row_kind, 40)}")
    layout = base_layout(
        height,
        margin={"l": 28, "r": 8, "t": 28, "b": 8, "pad": 0},
        showlegend=False,
        dragmode=False,
        xaxis=axis | {"range": [0, n_columns], "side": "top", "title": above},
        yaxis=axis | {"range": [n_rows, 0], "title": beside},
        images=[matrix_image(raster)],
    )
    return {"data": [scatter("empty", [None], [None])], "layout": layout}


def degree_bins(degree: NDArray[np.int64]) -> tuple[list[str], list[int]]:
    """Return ranges of a degree and how many objects are in each: 0, 1, 2–3, 4–7, and so on.

    Every range is twice as wide as the one before, so that a few hubs do not squash the rest.
    """
    top = int(degree.max(initial=0))
    edges = [0, 1]
    while edges[-1] <= top:
        edges.append(2 * edges[-1])
    counts, _ = np.histogram(degree, bins=np.array(edges) - 0.5)
    names = [
        f"{low:,}" if high - low == 1 else f"{low:,}–{high - 1:,}"
        for low, high in zip(edges[:-1], edges[1:], strict=True)
    ]
    return names, counts.tolist()


def degree_histograms(relation: Relation, *, height: int = 300) -> Figure:
    """Return how many row objects and column objects have how many links; one panel for an undirected network."""
    row_degree, column_degree = degrees(relation)
    out, into = ("links out", "links in") if relation.network is not None else ("links", "links")
    panels = [
        (row_degree, relation.row_kind, out, "#0072B2", "", [0.0, 0.46]),
        (column_degree, relation.column_kind, into, "#009E73", "2", [0.54, 1.0]),
    ]
    if is_mirrored(relation):
        panels = [(row_degree, relation.row_kind, "links", "#0072B2", "", [0.0, 1.0])]
    data: list[Figure] = []
    layout = base_layout(
        height, margin={"l": 52, "r": 12, "t": 34, "b": 44}, showlegend=False, bargap=0.12, annotations=[]
    )
    for degree, kind, links, colour, axis, domain in panels:
        names, counts = degree_bins(degree)
        bars = {"type": "bar", "x": names, "y": counts, "xaxis": f"x{axis}", "yaxis": f"y{axis}"}
        hover = f"%{{y:,}} objects with %{{x}} {links}<extra></extra>"
        data.append(bars | {"marker": {"color": colour}, "hovertemplate": hover, "uid": f"degrees{axis}"})
        across = {
            "domain": domain,
            "anchor": f"y{axis}",
            "type": "category",
            "linecolor": LINE,
            "showgrid": False,
        }
        layout[f"xaxis{axis}"] = across | {
            "tickfont": {"size": 11},
            "automargin": True,
            "tickangle": -90 if len(names) > 8 else 0,
            "title": axis_title(f"{links} of an object"),
        }
        ticks = {"nticks": 5, "rangemode": "tozero", "tickformat": ","}
        layout[f"yaxis{axis}"] = {"anchor": f"x{axis}", "gridcolor": GRID, "zeroline": False, **ticks}
        note = panel_title(escape(kind, 40), "", domain[0], 1)
        note["text"] += f", {degree.mean():,.3g} {links} on average"
        layout["annotations"].append(note)
    return {"data": data, "layout": layout}
