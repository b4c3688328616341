"""How strongly blocks are linked, and how large the clusters are."""

from __future__ import annotations

import numpy as np

from acvb_core.data.relation import Relation
from acvb_core.engine.result import Result
from acvb_core.models.irm.evaluate.sides import block_matrix, mirrored, one_clustering, sides
from acvb_core.models.irm.figures.block_hover import pair_name
from acvb_core.views.theme import GRID, INK, LINE, MUTED, Figure, base_layout, cluster_colour, escape, percent

#: Clusters a side up to which the numbers are written into the blocks.
ANNOTATED = 12
#: Clusters across up to which these have three digits and a sign; of more, two digits.
ROOMY = 6


def strength_figure(result: Result, *, height: int = 460) -> Figure:
    """Return the posterior mean of every block's link probability as a heat map, cells of equal size."""
    relation = result.problem.data
    n_rows, n_columns = shape = _shape(result)
    mean = block_matrix(result.blocks, "mean", shape)
    top = float(mean.max()) or 1.0
    start, end = (" (from)", " (to)") if _directed(relation) else ("", "")
    annotated = max(n_rows, n_columns) <= ANNOTATED
    stops = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    trace = {
        "type": "heatmap",
        "x": [str(k + 1) for k in range(n_columns)],
        "y": [str(k + 1) for k in range(n_rows)],
        "z": np.sqrt(mean / top).tolist(),
        "zmin": 0,
        "zmax": 1,
        "colorscale": [[0, "white"], [1, f"rgb{INK}"]],
        "xgap": 1,
        "ygap": 1,
        "text": [[_in_cell(value, n_columns) for value in line] for line in mean.tolist()],
        "hovertext": strength_hover(result),
        "hovertemplate": "%{hovertext}<extra></extra>",
        "uid": "strengths",
        "colorbar": {
            "title": {"text": "link probability", "side": "right", "font": {"size": 12}},
            "thickness": 12, "tickvals": stops.tolist(), "ticktext": [_short(top * s * s) for s in stops],
            "tickfont": {"size": 11}, "outlinewidth": 1, "outlinecolor": LINE,
        },
    }  # fmt: skip
    if annotated:
        trace |= {"texttemplate": "%{text}", "textfont": {"size": 11}}
    axis = {
        "type": "category",
        "showgrid": False,
        "ticks": "",
        "tickangle": 0,
        "automargin": False,
        "ticklabelstandoff": 4,
    }
    title = {"font": {"size": 12, "color": MUTED}, "standoff": 6}
    layout = base_layout(
        height,
        margin={"l": 56, "r": 12, "t": 52, "b": 12, "pad": 0},
        plot_bgcolor=GRID,
        xaxis=axis
        | {"side": "top", "title": title | {"text": f"{escape(relation.column_kind, 40)} clusters{end}"}},
        yaxis=axis
        | {
            "autorange": "reversed",
            "title": title | {"text": f"{escape(relation.row_kind, 40)} clusters{start}"},
        },
    )
    return {"data": [trace], "layout": layout}


def _shape(result: Result) -> tuple[int, int]:
    n_clusters = result.posterior.n_clusters()
    down, across = sides(result.posterior)
    return n_clusters[down], n_clusters[across]


def _directed(relation: Relation) -> bool:
    return relation.network is not None and relation.network.directed


def strength_hover(result: Result) -> list[list[str]]:
    """Return the text of every block: its mean, its interval and the counts behind them."""
    shape = _shape(result)
    mean, low, high, ones, entries = (
        block_matrix(result.blocks, name, shape) for name in ("mean", "low", "high", "ones", "entries")
    )
    one, undirected = one_clustering(result.posterior), mirrored(result.problem.data)
    what = "pairs" if one else "entries"
    return [
        [
            f"<b>{pair_name(k, j, one, undirected)}</b>"
            f"<br>posterior mean {percent(mean[k, j])}"
            f"<br>95 % interval {percent(low[k, j])} to {percent(high[k, j])}"
            f"<br>expected {ones[k, j]:,.1f} links in {entries[k, j]:,.1f} known {what}"
            for j in range(shape[1])
        ]
        for k in range(shape[0])
    ]


def size_figure(result: Result, domain: str, *, height: int = 230) -> Figure:
    """Return the sizes of a domain's clusters ("rows" or "cols") as bars in the clusters' colours."""
    sizes = np.bincount(result.labels(domain), minlength=result.posterior.n_clusters()[domain])
    expected = result.posterior[domain].sum(axis=0)
    relation = result.problem.data
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
    layout = base_layout(
        height,
        margin={"l": 56, "r": 12, "t": 34, "b": 40},
        showlegend=False,
        bargap=0.25,
        title={
            "text": f"<b>{escape(kind, 40)} clusters: objects in each</b>", "x": 0, "xref": "container", "y": 0.98,
            "yanchor": "top", "font": {"size": 13},
        },
        xaxis={
            "type": "category", "showgrid": False, "linecolor": LINE, "tickangle": 0, "nticks": 26,
            "title": {"text": "cluster", "font": {"size": 12, "color": MUTED}, "standoff": 4},
        },
        yaxis={"gridcolor": GRID, "zeroline": False, "rangemode": "tozero", "nticks": 5, "tickformat": ","},
    )  # fmt: skip
    return {"data": [trace], "layout": layout}


def _in_cell(share: float, n_columns: int) -> str:
    """Return a probability as narrow as the cells ask for; the scale beside them has the per cent signs."""
    if n_columns <= ROOMY:
        return percent(share)
    return _short(share).removesuffix(" %")


def _short(share: float) -> str:
    value = 100 * share
    return f"{value:.0f} %" if value >= 10 or value == 0 else f"{value:.2g} %"
