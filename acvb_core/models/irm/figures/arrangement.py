"""A relation with its objects sorted by cluster: its blocks, the labels of its axes, the table of its clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from acvb_core.data.relation import Relation
from acvb_core.engine.result import Result
from acvb_core.evaluate.alignment import number_alike
from acvb_core.models.irm.answer.naming import insert_names
from acvb_core.models.irm.figures.raster import count_in_bins
from acvb_core.models.irm.scores import (
    ShownStrengths,
    block_shape,
    has_directions,
    is_mirrored,
    shown_strengths,
    sides,
    without_diagonal,
)
from acvb_core.views.parts import name_ticks, plain_name, text_room
from acvb_core.views.theme import Part, escape

Window = tuple[int, int, int, int]
_LEAST_SELECTION = 2  # objects a side; less than that is a click
#: Objects a side up to which their names are shown, characters of a name, and pixels of one.
NAMED, _NAME_LENGTH, _PIXELS_A_NAME = 60, 24, 13
#: Characters of the number and name of a cluster under the pointer.
_HOVER_LENGTH = 60
#: Nodes of a cluster that its table names.
_EXAMPLES = 5


@dataclass(frozen=True, eq=False)
class Side:
    """The objects of one domain in the order they are shown."""

    labels: NDArray[Any]  #: shape (n,); names, in the relation's order
    kind: str  #: the name of an object ("person")
    order: NDArray[np.int64]  #: shape (n,); object at each place
    #: Shape (K + 1,); place where each cluster begins, and n; a cluster can be empty.
    borders: NDArray[np.int64]
    clustered: bool = True  #: False if the objects are in the order of the file
    end: str = ""  #: end of a directed link that these objects are: "from" or "to"
    names: Sequence[str] = ()  #: of the clusters; empty if they have none

    @property
    def n(self) -> int:
        """Number of objects."""
        return len(self.order)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Objects in each cluster, shape (K,)."""
        return np.diff(self.borders)

    @cached_property
    def position(self) -> NDArray[np.int64]:
        """Place of each object, shape (n,)."""
        position = np.empty(self.n, dtype=np.int64)
        position[self.order] = np.arange(self.n)
        return position

    @property
    def clusters(self) -> NDArray[np.int64]:
        """Cluster of each object (from 0), shape (n,)."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)[self.position]

    def cluster_at(self, place: int) -> int:
        """Return the number (from 1) of the cluster at a place."""
        return int(np.searchsorted(self.borders, place, side="right"))

    def between(self, low: int, high: int) -> list[int]:
        """Return the indices (from 0) of the clusters with objects at places low … high - 1."""
        starts, stops = self.borders[:-1], self.borders[1:]
        return [int(k) for k in np.flatnonzero((stops > starts) & (starts < high) & (stops > low))]


@dataclass(frozen=True, eq=False)
class Arrangement:
    """A relation as it is shown: two sides, and the numbers of every block."""

    relation: Relation
    rows: Side
    columns: Side
    #: `ones`, `observed`: shape (K, L); links and known entries of each block, by the objects' most probable clusters;
    #: if both sides are one (`one`) and links have no direction, each pair counts once.
    ones: NDArray[np.int64]
    observed: NDArray[np.int64]
    strengths: ShownStrengths | None = None  #: of the blocks of a run
    one: bool = False  #: both sides are the same objects in the same clusters and order
    weighted: bool = False  #: tones show the weights of links

    @property
    def diagonal(self) -> bool:
        """Return whether the diagonal of the picture is the objects themselves, and no part of the data."""
        return self.one and without_diagonal(self.relation)

    @property
    def whole(self) -> Window:
        """The window that shows everything."""
        return (0, self.rows.n, 0, self.columns.n)

    @property
    def density(self) -> NDArray[np.float64]:
        """Share of links among the known entries of each block, NaN if there are none."""
        nothing = np.full(self.ones.shape, np.nan)
        return np.divide(self.ones, self.observed, out=nothing, where=self.observed > 0)

    def select_window(self, box: Mapping[str, Any]) -> Window | None:
        """Return the window that a box drawn in the figure encloses, None when it is hardly more than a click.

        `box`: `x` and `y`: two corners each, in places of the columns and rows.
        """
        (x0, x1), (y0, y1) = sorted(map(float, box["x"])), sorted(map(float, box["y"]))
        n_rows, n_columns = self.rows.n, self.columns.n
        window = (
            max(int(np.floor(y0)), 0),
            min(int(np.ceil(y1)), n_rows),
            max(int(np.floor(x0)), 0),
            min(int(np.ceil(x1)), n_columns),
        )
        small = min(window[1] - window[0], window[3] - window[2]) < _LEAST_SELECTION
        return None if small else window


def arrange_result(result: Result) -> Arrangement:
    """Return a run's relation sorted by its clusters; within a cluster, objects with most links come first.

    All entries are shown, the held-out ones included; the posterior is the run's, which did not see those.
    """
    relation = result.prepared.data
    down, across = sides(result.posterior)
    shape = block_shape(result.posterior)
    strengths = shown_strengths(result.blocks, shape)
    labels = result.posterior.labels
    if down == across:
        arrangement = arrange_network(relation, labels(down), shape[0], strengths)
    else:
        arrangement = arrange(relation, labels(down), labels(across), shape, strengths)
    return replace(
        arrangement,
        rows=replace(arrangement.rows, names=result.names[down]),
        columns=replace(arrangement.columns, names=result.names[across]),
        weighted=strengths.expected is not None and relation.weights is not None,
    )


def arrange_excerpt(final: Arrangement, domains: tuple[str, str], excerpt: Mapping[str, Any]) -> Arrangement:
    """Return a run's relation as it was sorted after one of its sweeps.

    Clusters have the numbers of those of the run's answer that they share most objects with.

    `final`: the run's answer.
    `domains`: those of its rows and columns.
    `excerpt`: most probable cluster of each object, by domain (`IrmModel.take_excerpt`).
    """
    down, across = (np.asarray(excerpt[domain], dtype=np.int64) for domain in domains)
    shape = int(down.max()) + 1, int(across.max()) + 1
    if final.one:
        then = arrange_network(final.relation, down, shape[0])
    else:
        then = arrange(final.relation, down, across, shape)
    return number_like(final, replace(then, weighted=final.weighted))


def name_cluster(number: int, names: Sequence[str] = ()) -> str:
    """Return the number (from 1) and the name of a cluster for a text under the pointer, escaped for Plotly."""
    return escape(plain_name(number, names), _HOVER_LENGTH)


def arrange(
    relation: Relation,
    row_clusters: NDArray[np.int64],
    column_clusters: NDArray[np.int64],
    shape: tuple[int, int],
    strengths: ShownStrengths | None = None,
) -> Arrangement:
    """Sort a relation by given clusters of its rows and of its columns (numbered from 0, `shape` of them)."""
    row_degree, column_degree = degrees(relation)
    ones, observed = _counts(relation, row_clusters, column_clusters, shape)
    start, end = _ends(relation)
    return Arrangement(
        relation,
        _side(relation.row_labels, relation.row_kind, row_clusters, shape[0], row_degree, start),
        _side(relation.column_labels, relation.column_kind, column_clusters, shape[1], column_degree, end),
        ones,
        observed,
        strengths,
    )


def arrange_network(
    relation: Relation,
    clusters: NDArray[np.int64],
    n_clusters: int,
    strengths: ShownStrengths | None = None,
) -> Arrangement:
    """Sort a network by given clusters of its objects (numbered from 0): both sides in the same order.

    Within a cluster, objects of most links come first, links in both directions added up.
    """
    shape = (n_clusters, n_clusters)
    ones, observed = _counts(relation, clusters, clusters, shape)
    if is_mirrored(relation):
        # Inside a cluster each pair is in the matrix twice, a self-link once.
        own = np.bincount(clusters[relation.ones.diagonal()], minlength=n_clusters)
        seen = np.bincount(clusters[~relation.missing.diagonal()], minlength=n_clusters)
        inside = np.arange(n_clusters)
        ones[inside, inside] = (ones[inside, inside] + own) // 2
        observed[inside, inside] = (observed[inside, inside] + seen) // 2
    start, end = _ends(relation)
    out, into = degrees(relation)
    side = _side(relation.row_labels, relation.row_kind, clusters, n_clusters, out + into, start)
    return Arrangement(relation, side, replace(side, end=end), ones, observed, strengths, one=True)


def _counts(
    relation: Relation,
    row_clusters: NDArray[np.int64],
    column_clusters: NDArray[np.int64],
    shape: tuple[int, int],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the links and the known entries of each block, as they are in the matrix."""
    ones = count_in_bins(relation.ones, row_clusters, column_clusters, shape)
    observed = np.outer(
        np.bincount(row_clusters, minlength=shape[0]), np.bincount(column_clusters, minlength=shape[1])
    )
    if relation.n_missing:
        observed = observed - count_in_bins(relation.missing, row_clusters, column_clusters, shape)
    return ones, observed


def _ends(relation: Relation) -> tuple[str, str]:
    """Return what the axes of a directed network say beyond what its objects are."""
    return ("from", "to") if has_directions(relation) else ("", "")


def arrange_as_read(relation: Relation, *, weighted: bool = False) -> Arrangement:
    """Return a relation in the order it was read, as one block; `weighted`: tones show the weights of links."""
    n_rows, n_columns = relation.shape
    down, across = (np.zeros(n, dtype=np.int64) for n in relation.shape)
    one = relation.network is not None
    whole = arrange_network(relation, down, 1) if one else arrange(relation, down, across, (1, 1))
    rows = replace(whole.rows, order=np.arange(n_rows), clustered=False)
    columns = replace(whole.columns, order=np.arange(n_columns), clustered=False)
    return replace(whole, rows=rows, columns=columns, weighted=weighted)


def degrees(relation: Relation) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of links of each row object and of each column object."""
    rows = np.diff(relation.ones.indptr).astype(np.int64)
    columns = np.bincount(relation.ones.indices, minlength=relation.shape[1]).astype(np.int64)
    return rows, columns


def _side(
    labels: NDArray[Any],
    kind: str,
    clusters: NDArray[np.int64],
    n_clusters: int,
    degree: NDArray[np.int64],
    end: str,
) -> Side:
    order = np.lexsort((-degree, clusters)).astype(np.int64)
    sizes = np.bincount(clusters, minlength=n_clusters)
    return Side(labels, kind, order, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), end=end)


@dataclass(frozen=True)
class AxisLabels:
    """Ticks and title of one side."""

    axis: Part  #: what the axis gets
    named: bool  #: the ticks are names of objects
    #: `room`, `length`: pixels that the margin needs, and that the figure should have along this side (0 for no wish).
    room: int
    length: int


def axis_labels(side: Side, low: int, high: int, crowd: float, named: int = NAMED) -> AxisLabels:
    """Return the ticks for the places low … high - 1 of a side: at most `named` names, else numbers of clusters.

    A cluster's number takes `crowd` of the axis; of two that are nearer, the larger cluster's is shown.
    """
    kind, end = escape(side.kind, 40), f" ({side.end})" if side.end else ""
    n = high - low
    if n <= named:
        names = [str(side.labels[i]) for i in side.order[low:high]]
        size = 11 if n <= 30 else 10 if n <= 40 else 9 if n <= 50 else 8
        ticks = name_ticks([at + 0.5 for at in range(low, high)], [escape(x, _NAME_LENGTH) for x in names])
        axis = ticks | {"tickfont": {"size": size}, "title": {"text": kind + end}}
        return AxisLabels(axis, True, text_room(names, size) + 44, _PIXELS_A_NAME * n + 160)
    if not side.clustered:
        title = f"{kind}{end}, order of the file" if end else f"{kind} (order of the file)"
        return AxisLabels(name_ticks([], []) | {"title": {"text": title}}, False, 44, 0)
    axis = name_ticks(*cluster_ticks(side, low, high, crowd)) | {"tickfont": {"size": 12}}
    return AxisLabels(axis | {"title": {"text": f"{kind} clusters{end}"}}, False, 56, 0)


def cluster_ticks(side: Side, low: int, high: int, crowd: float) -> tuple[list[float], list[str]]:
    """Return the middles and numbers of the clusters in a window, without those too near to a larger one's."""
    stretches = []
    for k in side.between(low, high):
        start, stop = max(int(side.borders[k]), low), min(int(side.borders[k + 1]), high)
        stretches.append((stop - start, (start + stop) / 2, k + 1))
    numbers: dict[float, str] = {}
    for _, middle, number in sorted(stretches, key=lambda item: (-item[0], item[2])):
        if all(abs(other - middle) >= crowd * (high - low) for other in numbers):
            numbers[middle] = str(number)
    places = sorted(numbers)
    return places, [numbers[place] for place in places]


def number_like(first: Arrangement, other: Arrangement) -> Arrangement:
    """Return another arrangement whose clusters have the numbers of those of the first that they share most with.

    Sides with other objects, as in a relation of other data, keep their numbers.
    """

    def match(one: Side, side: Side) -> NDArray[np.int64]:
        shape = len(one.sizes), len(side.sizes)
        if not np.array_equal(one.labels, side.labels):
            return np.arange(1, shape[1] + 1)
        return number_alike(one.clusters, side.clusters, shape)

    return renumber(other, match(first.rows, other.rows), match(first.columns, other.columns))


def renumber(arrangement: Arrangement, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Arrangement:
    """Return an arrangement whose clusters have other numbers, and are in their order.

    `rows`, `columns`: shapes (K,) and (L,); the new number (from 1) of each cluster. Clusters of the numbers that are
      left out are empty.
    """
    shape = int(rows.max()), int(columns.max())
    at = np.ix_(rows - 1, columns - 1)

    def spread(values: NDArray[Any], nothing: float = 0) -> NDArray[Any]:
        wide = np.full(shape, nothing, dtype=values.dtype)
        wide[at] = values
        return wide

    strengths = arrangement.strengths
    if strengths is not None:
        names = [name for name in strengths._fields if isinstance(getattr(strengths, name), np.ndarray)]
        wide: dict[str, Any] = {name: spread(getattr(strengths, name), np.nan) for name in names}
        strengths = strengths._replace(**wide)
    return replace(
        arrangement,
        rows=_renumber_side(arrangement.rows, rows),
        columns=_renumber_side(arrangement.columns, columns),
        ones=spread(arrangement.ones),
        observed=spread(arrangement.observed),
        strengths=strengths,
    )


def _renumber_side(side: Side, numbers: NDArray[np.int64]) -> Side:
    clusters = numbers[side.clusters] - 1
    sizes = np.bincount(clusters, minlength=int(numbers.max()))
    names = [""] * len(sizes)
    for number, name in zip(numbers.tolist(), side.names, strict=False):
        names[number - 1] = name
    return replace(
        side,
        order=side.order[np.argsort(clusters[side.order], kind="stable")],
        borders=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        names=tuple(names) if side.names else (),
    )


def cluster_table(arrangement: Arrangement) -> pd.DataFrame:
    """Return one line for each cluster of a network that has nodes.

    Returns: cluster, nodes, inside (posterior mean of the link probability inside), most_linked_to (the other cluster
      with the highest link probability, from this one if links have a direction), to_it (that probability), names (of
      the nodes with most links). Of counts, ratios to the expected counts take the place of probabilities. If the
      clusters have names: name after cluster, and most_linked_to_name after most_linked_to.
    """
    assert arrangement.strengths is not None
    strengths, side = arrangement.strengths.mean, arrangement.rows
    lines = []
    for k in np.flatnonzero(side.sizes):
        size, first = int(side.sizes[k]), int(side.borders[k])
        others = np.where(side.sizes == 0, -1.0, strengths[k])
        others[k] = -1.0
        best = int(others.argmax())
        names = side.labels[side.order[first : first + min(_EXAMPLES, size)]]
        line: dict[str, Any] = {"cluster": int(k) + 1, "nodes": size, "inside": float(strengths[k, k])}
        line |= {"most_linked_to": best + 1 if others[best] >= 0 else None, "to_it": float(others[best])}
        lines.append(line | {"names": ", ".join(map(str, names)) + (", …" if size > _EXAMPLES else "")})
    table = pd.DataFrame(lines)
    if side.names:
        table = table.fillna({"most_linked_to": 0}).astype({"most_linked_to": "int64"})
        table = insert_names(table, "cluster", "name", side.names)
        table = insert_names(table, "most_linked_to", "most_linked_to_name", side.names)
    table["most_linked_to"] = table["most_linked_to"].astype("Int64").replace(0, pd.NA)
    return table
