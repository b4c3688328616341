"""Summaries of a relation and its clusters: links per object, strengths, sizes, known labels, co-clustering."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.protocols import Posterior
from acvb_core.data.relation import Relation
from acvb_core.engine.result import Result
from acvb_core.evaluate.agreement import LabelAgreement
from acvb_core.models.irm.figures.arrangement import Side, arrange_as_read, degrees, name_cluster
from acvb_core.models.irm.figures.blocks import bare_figure, pair_name
from acvb_core.models.irm.scores import (
    block_matrix,
    block_shape,
    has_directions,
    is_mirrored,
    measure_company,
    one_clustering,
    shown_strengths,
    sides,
)
from acvb_core.views.parts import (
    bars,
    heading,
    heat_map,
    name_ticks,
    panel_axes,
    panel_title,
    paper_note,
    plain_axis,
    text_room,
    value_axis,
)
from acvb_core.views.theme import (
    GRID,
    INK,
    LINE,
    PAPER,
    Figure,
    Part,
    cluster_colour,
    escape,
    make_figure,
    percent,
)

#: Clusters a side up to which the numbers are written into the blocks; in a narrow window.
ANNOTATED, ANNOTATED_NARROW = 12, 6
#: Clusters across up to which these have three digits and a sign; of more, two digits; in a narrow window.
ROOMY, ROOMY_NARROW = 6, 4
#: Columns of labels on a wide page and on a phone; the rarer labels share the last one.
MOST_LABELS, MOST_NARROW = 30, 12
#: Labels and clusters up to which counts are written into the cells.
MOST_ANNOTATED = 24
#: Most cells a side of a co-clustering matrix: more objects share them; up to so many, the pointer shows names.
_CELLS, _NAMED = 240, 80


def thumbnail(relation: Relation, *, height: int = 300) -> Figure:
    """Return a small picture of the relation in the order it was read: dark for links, grey for unknown."""
    return bare_figure(arrange_as_read(relation), height, sizes=True)


def degree_bins(degree: NDArray[np.int64]) -> tuple[list[str], list[int]]:
    """Return ranges of a degree and how many objects are in each: 0, 1, 2–3, 4–7, and so on.

    Every range is twice as wide as the one before, so that a few hubs do not squash the rest.
    """
    top = int(degree.max(initial=0))
    edges = [0, *(2**power for power in range(top.bit_length() + 1))]
    counts, _ = np.histogram(degree, bins=np.array(edges) - 0.5)
    names = [f"{a:,}" if b - a == 1 else f"{a:,}–{b - 1:,}" for a, b in zip(edges, edges[1:], strict=False)]
    return names, counts.tolist()


def degree_histograms(relation: Relation, *, height: int = 300) -> Figure:
    """Return how many row objects and column objects have how many links; one panel for an undirected network."""
    row_degree, column_degree = degrees(relation)
    out, into = ("links out", "links in") if relation.network is not None else ("links", "links")
    panels = [
        (row_degree, relation.row_kind, out, "#0072B2", "", (0.0, 0.46)),
        (column_degree, relation.column_kind, into, "#009E73", "2", (0.54, 1.0)),
    ]
    if is_mirrored(relation):
        panels = [(row_degree, relation.row_kind, "links", "#0072B2", "", (0.0, 1.0))]
    data, layout, notes = [], {}, []
    for degree, kind, links, colour, number, domain in panels:
        names, counts = degree_bins(degree)
        kind = escape(kind, 40)
        texts = [f"{n:,} × {kind} with {span} {links}" for span, n in zip(names, counts, strict=True)]
        axes = {"xaxis": f"x{number}", "yaxis": f"y{number}"}
        data.append(bars(f"degrees{number}", names, counts, texts, colour, **axes))
        x, y = panel_axes(number, domain, (0.0, 1.0))
        upright = {"tickangle": -90 if len(names) > 8 else 0, "automargin": True, "nticks": 0}
        layout[f"xaxis{number}"] = (
            x | upright | {"type": "category", "title": {"text": f"{links} of an object"}}
        )
        title = {"title": {"text": "objects"}} if not number else {}
        layout[f"yaxis{number}"] = y | {"nticks": 5, "rangemode": "tozero", "tickformat": ","} | title
        notes.append(panel_title(kind, f"{degree.mean():,.3g} {links} on average", domain[0], 1))
    margin = {"l": 60, "r": 12, "t": 34, "b": 44}
    return make_figure(data, height, margin=margin, bargap=0.12, annotations=notes, **layout)


def strength_figure(result: Result, *, height: int = 460, narrow: bool = False) -> Figure:
    """Return the posterior mean of every block's link probability as a heat map, cells of equal size.

    `narrow`: for a window as narrow as that of a phone.
    """
    roomy = ROOMY_NARROW if narrow else ROOMY
    shape = block_shape(result.posterior)
    mean = block_matrix(result.blocks, "mean", shape)
    top = float(mean.max()) or 1.0
    stops = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    trace = {
        "z": np.sqrt(mean / top),
        "scale": [[0, PAPER], [1, f"rgb{INK}"]],
        "bar": "link probability",
        "text": [[_in_cell(value, shape[1] <= roomy) for value in line] for line in mean.tolist()],
        "hovertext": strength_hover(result),
    }
    ticks = name_ticks(stops.tolist(), [_short(top * s * s) for s in stops])
    return block_map(result, trace, ticks, height=height, narrow=narrow)


def block_map(result: Result, trace: Part, ticks: Part, *, height: int, narrow: bool) -> Figure:
    """Return the heat map of a value of every block, cells of equal size.

    `trace`: what `heat_map` takes. `ticks`: of its bar of colours. `narrow`: for a window as narrow as a phone's.
    """
    relation = result.prepared.data
    n_rows, n_columns = block_shape(result.posterior)
    start, end = (" (from)", " (to)") if has_directions(relation) else ("", "")
    annotated = max(n_rows, n_columns) <= (ANNOTATED_NARROW if narrow else ANNOTATED)
    columns, rows = ([str(k + 1) for k in range(n)] for n in (n_columns, n_rows))
    template = "%{text}" if annotated else ""
    trace = heat_map("strengths", columns, rows, gap=1, texttemplate=template, **trace)
    trace["colorbar"] |= ticks
    above = plain_axis(f"{escape(relation.column_kind, 40)} clusters{end}", type="category", side="top")
    beside = plain_axis(f"{escape(relation.row_kind, 40)} clusters{start}", type="category")
    return make_figure(
        [trace],
        height,
        margin={"l": 56, "r": 12, "t": 52, "b": 12, "pad": 0},
        plot_bgcolor=GRID,
        xaxis=above,
        yaxis=beside | {"autorange": "reversed"},
    )


def strength_hover(result: Result) -> list[list[str]]:
    """Return the text of every block: its mean, its interval and the counts behind them."""
    shape = block_shape(result.posterior)
    mean, low, high, interval, *_ = shown_strengths(result.blocks, shape)
    ones, entries = (block_matrix(result.blocks, name, shape) for name in ("ones", "entries"))
    one, undirected = one_clustering(result.posterior), is_mirrored(result.prepared.data)
    down, across = (result.names[domain] for domain in sides(result.posterior))
    what = "pairs" if one else "entries"
    return [
        [
            f"<b>{pair_name(k, j, one, undirected, (down, across))}</b>"
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
    kind = escape(relation.row_kind if domain == "rows" else relation.column_kind, 40)
    numbers = [str(k + 1) for k in range(len(sizes))]
    hover = [
        f"<b>cluster {name_cluster(k, result.names[domain])}</b><br>{n:,} objects<br>expected size {mass:,.1f}"
        for k, (n, mass) in enumerate(zip(sizes.tolist(), expected.tolist(), strict=True), start=1)
    ]
    colours = [cluster_colour(k + 1, result.names[domain]) for k in range(len(sizes))]
    text = [f"{n:,}" for n in sizes] if len(sizes) <= 24 else None
    return make_figure(
        [bars(f"sizes-{domain}", numbers, sizes.tolist(), hover, colours, text=text)],
        height,
        margin={"l": 56, "r": 12, "t": 34, "b": 40},
        title=heading(f"Sizes of the {kind} clusters"),
        xaxis=plain_axis("cluster", type="category", showline=True, nticks=16),
        yaxis=value_axis("objects", rangemode="tozero", tickformat=","),
    )


def _in_cell(share: float, roomy: bool) -> str:
    """Return a probability as narrow as the cells ask for; the scale beside them has the per cent signs."""
    return percent(share) if roomy else _short(share).removesuffix(" %")


def _short(share: float) -> str:
    value = 100 * share
    return f"{value:.0f} %" if value >= 10 or value == 0 else f"{value:.2g} %"


def label_figure(
    agreement: LabelAgreement, attribute: str, *, names: Sequence[str] = (), most: int = MOST_LABELS
) -> Figure:
    """Return which labels the objects of each cluster have, as a heat map of shares of the cluster.

    Labels are in the order of the cluster that most of them are in, so that agreement is a diagonal.

    `attribute`: the name of the labels ("department"). `names`: of the clusters.
    `most`: columns; the rarer labels share the last one.
    """
    labels, counts = _columns(agreement, most)
    clusters = [str(k) for k in agreement.table.index]
    sums = counts.sum(axis=1, keepdims=True)
    title = escape(attribute, 40)

    def describe(k: int, j: int) -> str:
        of = int(sums[k, 0])
        share = f" ({100 * counts[k, j] / of:.0f} % of those with a known label)" if of else ""
        own = name_cluster(int(clusters[k]), names)
        who = f"<b>cluster {own}</b><br>{title}: {escape(labels[j], 60)}"
        return f"{who}<br>{counts[k, j]:,} objects{share}"

    trace = heat_map(
        "known-labels",
        range(len(labels)),
        clusters,
        # Shares of the cluster: a large one must not hide what a small one is made of.
        np.divide(counts, sums, out=np.zeros(counts.shape), where=sums > 0),
        gap=1,
        text=[[f"{n:,}" if n else "" for n in line] for line in counts.tolist()],
        texttemplate="%{text}" if max(counts.shape, default=0) <= MOST_ANNOTATED else "",
        hovertext=[[describe(k, j) for j in range(len(labels))] for k in range(len(clusters))],
        colorbar={"tickformat": ".0%"},
    )
    upright = sum(text_room([name], 12) + 10 for name in labels) > 560
    room = (text_room(labels, 12) if upright else 16) + 40
    ticks = name_ticks(range(len(labels)), [escape(name, 24) for name in labels])
    notes = [paper_note("<br>".join(_caption_lines(agreement)), 0, 0, yshift=-8, align="left")]
    return make_figure(
        [trace],
        max(300, room + 56 + 26 * len(clusters)),
        margin={"l": 56, "r": 34, "t": room, "b": 50},
        plot_bgcolor=GRID,
        xaxis=plain_axis(title, side="top", **ticks) | {"tickangle": -90 if upright else 0},
        yaxis=plain_axis("cluster", type="category", autorange="reversed"),
        annotations=notes,
    )


def _columns(agreement: LabelAgreement, most: int) -> tuple[list[str], NDArray[np.int64]]:
    """Return the labels that are shown, in their order, and the counts, shape (K, n_shown)."""
    names = [str(name) for name in agreement.table.columns]
    counts = agreement.table.to_numpy(dtype=np.int64)
    if not names:
        return [], counts
    order = np.lexsort((-counts.max(axis=0), counts.argmax(axis=0)))
    if len(names) <= most:
        return [names[j] for j in order], counts[:, order]
    largest = np.argsort(-counts.sum(axis=0), kind="stable")[: most - 1]
    single = [int(j) for j in order if j in largest]
    rest = np.setdiff1d(np.arange(len(names)), single)
    others = counts[:, rest].sum(axis=1, keepdims=True)
    return [*(names[j] for j in single), f"{len(rest):,} others"], np.hstack([counts[:, single], others])


def _caption_lines(agreement: LabelAgreement) -> list[str]:
    if not agreement.known:
        return ["No object's label is known."]
    scores = f"adjusted Rand index {agreement.ari:.3f} · normalised mutual information {agreement.nmi:.3f}"
    colour, n = "colour: share of the cluster's objects with a known label", agreement.unknown
    who = "1 object without a label is" if n == 1 else f"{n:,} objects without a label are"
    return [scores, f"{colour} · {who} left out" if n else colour]


def company_figure(posterior: Posterior, domain: str, side: Side, *, height: int = 460) -> Figure:
    """Return the share of the samples in which the objects of two places share a cluster, as a heat map.

    `domain`: "rows" or "cols".
    `side`: the objects as the sorted matrix has them; lines are drawn between its clusters.
    """
    n_cells = min(side.n, _CELLS)
    edges = np.linspace(0, side.n, n_cells + 1).round().astype(np.int64)
    cells = np.empty(side.n, dtype=np.int64)
    cells[side.order] = np.repeat(np.arange(n_cells), np.diff(edges))
    middles = (edges[:-1] + edges[1:]) / 2
    together = "together in %{z} % of the samples<extra></extra>"
    trace = heat_map(
        f"company-{domain}",
        middles,
        middles,
        (100 * measure_company(posterior, domain, cells)).round().astype(np.uint8),
        ends=(0, 100),
        bar="share of samples",
        hovertemplate=together,
    )
    trace["colorbar"] |= {"ticksuffix": " %"}
    if side.n <= _NAMED:
        names = [escape(side.labels[one], 40) for one in side.order]
        texts = [[f"<b>{one}</b> and <b>{other}</b>" for other in names] for one in names]
        trace |= {"hovertext": texts, "hovertemplate": "%{hovertext}<br>" + together}
    inner = [float(border) for border in np.unique(side.borders[1:-1]) if 0 < border < side.n]
    line = {"type": "line", "line": {"color": LINE, "width": 1}}
    shapes: list[Part] = [line | {"x0": at, "x1": at, "y0": 0, "y1": side.n} for at in inner]
    shapes += [line | {"y0": at, "y1": at, "x0": 0, "x1": side.n} for at in inner]
    axis = plain_axis(f"{escape(side.kind, 40)}, sorted by cluster", showticklabels=False)
    return make_figure(
        [trace],
        height,
        margin={"l": 36, "r": 12, "t": 12, "b": 36},
        shapes=shapes,
        xaxis=axis | {"range": [0, side.n]},
        yaxis=axis | {"range": [side.n, 0]},
    )
