"""How strongly blocks are linked, and how large the clusters are."""

from __future__ import annotations

import numpy as np

from acvb_core.engine.result import Result
from acvb_core.models.irm.figures.block_hover import pair_name
from acvb_core.models.irm.scores import (
    block_matrix,
    block_shape,
    has_directions,
    is_mirrored,
    one_clustering,
    shown_strengths,
)
from acvb_core.views.axes import axis_title
from acvb_core.views.heat_map import heat_map
from acvb_core.views.theme import (
    GRID,
    INK,
    LINE,
    MUTED,
    PAPER,
    Figure,
    base_layout,
    cluster_colour,
    colour_bar,
    escape,
    percent,
)

#: Clusters a side up to which there is room for the numbers in the blocks; in a narrow window.
ANNOTATED, ANNOTATED_NARROW = 12, 6
#: Clusters across up to which these have three digits and a sign; of more, two digits; in a narrow window.
ROOMY, ROOMY_NARROW = 6, 4


def strength_figure(result: Result, *, height: int = 460, narrow: bool = False) -> Figure:
    """Return the posterior mean of every block's link probability as a heat map, cells of equal size.

    `narrow`: for a window as narrow as that of a phone.
    """
    annotated, roomy = (ANNOTATED_NARROW, ROOMY_NARROW) if narrow else (ANNOTATED, ROOMY)
    relation = result.prepared.data
    n_rows, n_columns = shape = block_shape(result.posterior)
    mean = block_matrix(result.blocks, "mean", shape)
    top = float(mean.max()) or 1.0
    start, end = (" (from)", " (to)") if has_directions(relation) else ("", "")
    stops = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    ticks = {"tickvals": stops.tolist(), "ticktext": [_short(top * s * s) for s in stops]}
    trace = heat_map(
        "strengths",
        [str(k + 1) for k in range(n_columns)],
        [str(k + 1) for k in range(n_rows)],
        np.sqrt(mean / top).tolist(),
        scale=[[0, PAPER], [1, f"rgb{INK}"]],
        gap=1,
        text=[[_in_cell(value, n_columns <= roomy) for value in line] for line in mean.tolist()],
        hovertext=strength_hover(result),
        hovertemplate="%{hovertext}<extra></extra>",
        colorbar=colour_bar("link probability", **ticks),
    )
    if max(n_rows, n_columns) <= annotated:
        trace |= {"texttemplate": "%{text}", "textfont": {"size": 11}}
    axis = {"type": "category", "showgrid": False, "ticks": "", "tickangle": 0, "automargin": False}
    axis |= {"ticklabelstandoff": 4}
    above = axis_title(f"{escape(relation.column_kind, 40)} clusters{end}")
    beside = axis_title(f"{escape(relation.row_kind, 40)} clusters{start}")
    layout = base_layout(
        height,
        margin={"l": 56, "r": 12, "t": 52, "b": 12, "pad": 0},
        plot_bgcolor=GRID,
        xaxis=axis | {"side": "top", "title": above},
        yaxis=axis | {"autorange": "reversed", "title": beside},
    )
    return {"data": [trace], "layout": layout}


def strength_hover(result: Result) -> list[list[str]]:
    """Return the text of every block: its mean, its interval and the counts behind them."""
    shape = block_shape(result.posterior)
    mean, low, high, interval = shown_strengths(result.blocks, shape)
    ones, entries = (block_matrix(result.blocks, name, shape) for name in ("ones", "entries"))
    one, undirected = one_clustering(result.posterior), is_mirrored(result.prepared.data)
    what = "pairs" if one else "entries"
    return [
        [
            f"<b>{pair_name(k, j, one, undirected)}</b>"
            f"<br>estimate {percent(mean[k, j])}"
            f"<br>{interval} {percent(low[k, j])} to {percent(high[k, j])}"
            f"<br>expected {ones[k, j]:,.1f} links in {entries[k, j]:,.1f} known {what}"
            for j in range(shape[1])
        ]
        for k in range(shape[0])
    ]


def size_figure(result: Result, domain: str, *, height: int = 230) -> Figure:
    """Return the sizes of a domain's clusters ("rows" or "cols") as bars in the clusters' colours."""
    sizes = np.bincount(result.posterior.labels(domain), minlength=result.posterior.n_clusters()[domain])
    expected = result.posterior[domain].sum(axis=0)
    relation = result.prepared.data
    kind = relation.row_kind if domain == "rows" else relation.column_kind
    numbers = [str(k + 1) for k in range(len(sizes))]
    few = len(sizes) <= 24
    trace = {
        "type": "bar",
        "x": numbers,
        "y": sizes.tolist(),
        "marker": {"color": [cluster_colour(k + 1) for k in range(len(sizes))]},
        "text": [f"{n:,}" for n in sizes] if few else None,
        "textposition": "outside",
        "textangle": 0,
        "textfont": {"size": 10, "color": MUTED},
        "cliponaxis": False,
        "hovertext": [
            f"<b>cluster {number}</b><br>{n:,} objects<br>expected size {mass:,.1f}"
            for number, n, mass in zip(numbers, sizes.tolist(), expected.tolist(), strict=True)
        ],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "uid": f"sizes-{domain}",
    }
    title = {"text": f"<b>{escape(kind, 40)} clusters: objects in each</b>", "font": {"size": 13}}
    x_axis = {"type": "category", "showgrid": False, "linecolor": LINE, "tickangle": 0, "nticks": 16}
    layout = base_layout(
        height,
        margin={"l": 56, "r": 12, "t": 34, "b": 40},
        showlegend=False,
        bargap=0.25,
        title=title | {"x": 0, "xref": "container", "y": 0.98, "yanchor": "top"},
        xaxis=x_axis | {"title": axis_title("cluster") | {"standoff": 4}},
        yaxis={"gridcolor": GRID, "zeroline": False, "rangemode": "tozero", "nticks": 5, "tickformat": ","},
    )
    return {"data": [trace], "layout": layout}


def _in_cell(share: float, roomy: bool) -> str:
    """Return a probability as narrow as the cells ask for; the scale beside them has the per cent signs."""
    if roomy:
        return percent(share)
    return _short(share).removesuffix(" %")


def _short(share: float) -> str:
    value = 100 * share
    return f"{value:.0f} %" if value >= 10 or value == 0 else f"{value:.2g} %"
