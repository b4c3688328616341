"""A relation with its objects sorted by cluster, and the numbers of every block: what the block figures show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.relation import Relation
from acvb_core.engine.result import Result
from acvb_core.views.binning import count_in_bins

Window = tuple[int, int, int, int]
_LEAST_SELECTION = 2  # objects a side; less than that is a click


@dataclass(frozen=True, eq=False)
class Side:
    """The objects of one domain in the order they are shown.

    Attributes
    ----------
    labels : ndarray of str, shape (n,)
        Names, in the relation's order.
    kind : str
        What an object is ("person").
    order : int64 array, shape (n,)
        Object at each place.
    borders : int64 array, shape (K + 1,)
        Place where each cluster begins, and n; a cluster can be empty.
    clustered : bool
        False when the objects stand as they were read.
    """

    labels: NDArray[Any]
    kind: str
    order: NDArray[np.int64]
    borders: NDArray[np.int64]
    clustered: bool = True

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

    def cluster_at(self, place: int) -> int:
        """Return the number (from 1) of the cluster at a place."""
        return int(np.searchsorted(self.borders, place, side="right"))

    def between(self, low: int, high: int) -> list[int]:
        """Return the indices (from 0) of the clusters with objects at places low … high - 1."""
        starts, stops = self.borders[:-1], self.borders[1:]
        return [int(k) for k in np.flatnonzero((stops > starts) & (starts < high) & (stops > low))]


@dataclass(frozen=True, eq=False)
class Arrangement:
    """A relation as it is shown: two sides, and the numbers of every block.

    Attributes
    ----------
    relation : Relation
    rows, columns : Side
    ones, observed : int64 arrays, shape (K, L)
        Links and known entries of each block, by the objects' most probable clusters.
    posterior : mapping of str to float array, shape (K, L)
        `mean`, `low`, `high` of each block's link probability; empty when unsorted.
    """

    relation: Relation
    rows: Side
    columns: Side
    ones: NDArray[np.int64]
    observed: NDArray[np.int64]
    posterior: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    @property
    def whole(self) -> Window:
        """The window that shows everything."""
        return (0, self.rows.n, 0, self.columns.n)

    @property
    def density(self) -> NDArray[np.float64]:
        """Share of links among the known entries of each block, NaN where there are none."""
        nothing = np.full(self.ones.shape, np.nan)
        return np.divide(self.ones, self.observed, out=nothing, where=self.observed > 0)

    def selected(self, box: Mapping[str, Any]) -> Window | None:
        """Return the window that a box drawn in the figure encloses, None when it is hardly more than a click.

        Parameters
        ----------
        box : mapping
            `x` and `y`: two corners each, in places of the columns and rows.
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


def arranged(result: Result) -> Arrangement:
    """Return a run's relation sorted by its clusters; within a cluster, objects with most links come first.

    All entries are shown, the held-out ones included; the posterior is the run's, which did not see those.
    """
    relation = result.problem.data
    rows, columns = result.labels("rows"), result.labels("cols")
    n_clusters = result.posterior.n_clusters()
    shape = (n_clusters["rows"], n_clusters["cols"])
    blocks = result.blocks
    at = (blocks["row_cluster"].to_numpy() - 1, blocks["column_cluster"].to_numpy() - 1)
    posterior = {name: np.full(shape, np.nan) for name in ("mean", "low", "high")}
    for name, values in posterior.items():
        values[at] = blocks[name].to_numpy()
    return arrange(relation, rows, columns, shape, posterior)


def arrange(
    relation: Relation,
    row_clusters: NDArray[np.int64],
    column_clusters: NDArray[np.int64],
    shape: tuple[int, int],
    posterior: Mapping[str, NDArray[np.float64]],
) -> Arrangement:
    """Sort a relation by given clusters (numbered from 0, `shape` of them)."""
    row_degree, column_degree = degrees(relation)
    ones = count_in_bins(relation.ones, row_clusters, column_clusters, shape)
    cells = np.outer(
        np.bincount(row_clusters, minlength=shape[0]), np.bincount(column_clusters, minlength=shape[1])
    )
    if relation.n_missing:
        cells = cells - count_in_bins(relation.missing, row_clusters, column_clusters, shape)
    return Arrangement(
        relation,
        _side(relation.row_labels, relation.row_kind, row_clusters, shape[0], row_degree),
        _side(relation.column_labels, relation.column_kind, column_clusters, shape[1], column_degree),
        ones,
        cells,
        posterior,
    )


def as_read(relation: Relation) -> Arrangement:
    """Return a relation in the order it was read, as one block."""
    n_rows, n_columns = relation.shape
    return Arrangement(
        relation,
        Side(relation.row_labels, relation.row_kind, np.arange(n_rows), np.array([0, n_rows]), False),
        Side(
            relation.column_labels,
            relation.column_kind,
            np.arange(n_columns),
            np.array([0, n_columns]),
            False,
        ),
        np.array([[relation.n_ones]]),
        np.array([[relation.n_observed]]),
    )


def degrees(relation: Relation) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of links of each row object and of each column object."""
    rows = np.diff(relation.ones.indptr).astype(np.int64)
    columns = np.bincount(relation.ones.indices, minlength=relation.shape[1]).astype(np.int64)
    return rows, columns


def _side(
    labels: NDArray[Any], kind: str, clusters: NDArray[np.int64], n_clusters: int, degree: NDArray[np.int64]
) -> Side:
    order = np.lexsort((-degree, clusters)).astype(np.int64)
    sizes = np.bincount(clusters, minlength=n_clusters)
    return Side(labels, kind, order, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))
