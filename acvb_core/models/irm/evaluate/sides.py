"""The clustering of each side of a relation: two of them, or one for both."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.protocols import Posterior
from acvb_core.data.relation import Relation

if TYPE_CHECKING:
    import pandas as pd

Sides = tuple[str, str]


def sides(posterior: Posterior) -> Sides:
    """Return the domains of the rows and of the columns: "rows" and "cols", or twice "rows" where both are one."""
    return ("rows", "cols" if "cols" in posterior.arrays else "rows")


def one_clustering(posterior: Posterior) -> bool:
    """Return whether rows and columns are the same objects in the same clusters."""
    first, second = sides(posterior)
    return first == second


def block_shape(posterior: Posterior) -> tuple[int, int]:
    """Return the numbers of clusters of the rows and of the columns."""
    first, second = sides(posterior)
    n_clusters = posterior.n_clusters()
    return n_clusters[first], n_clusters[second]


def has_directions(relation: Relation) -> bool:
    """Return whether the relation is a network whose links have a direction."""
    return relation.network is not None and relation.network.directed


def is_mirrored(relation: Relation) -> bool:
    """Return whether an entry and its mirror image are the same pair (an undirected network)."""
    return relation.network is not None and not relation.network.directed


def without_diagonal(relation: Relation) -> bool:
    """Return whether the diagonal is no part of the data: a network whose self-links do not count."""
    return relation.network is not None and not relation.network.self_links


def links_of(relation: Relation) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the two ends of each link, those of an undirected network once, shapes (n_links,).

    They are sorted by row, then column; an undirected one is the entry on or above the diagonal.
    """
    ones = relation.ones
    rows = np.repeat(np.arange(relation.shape[0], dtype=np.int64), np.diff(ones.indptr))
    columns = ones.indices.astype(np.int64)
    if is_mirrored(relation):
        upper = rows <= columns
        rows, columns = rows[upper], columns[upper]
    return rows, columns


def block_matrix(blocks: pd.DataFrame, column: str, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return a column of a result's `blocks` as a matrix, row clusters down and column clusters across.

    Where only the blocks on and above the diagonal are listed (an undirected network), the others are the same.
    """
    k, m = blocks["row_cluster"].to_numpy() - 1, blocks["column_cluster"].to_numpy() - 1
    values = blocks[column].to_numpy(dtype=np.float64)
    matrix = np.full(shape, np.nan)
    if len(blocks) < matrix.size:
        matrix[m, k] = values
    matrix[k, m] = values
    return matrix


class ShownStrengths(NamedTuple):
    """The strengths of blocks as matrices, and the words for their interval."""

    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    interval: str  #: of a run without samples it says that it takes the clusters as known


def shown_strengths(blocks: pd.DataFrame, shape: tuple[int, int]) -> ShownStrengths:
    """Return the strengths of a result's `blocks`: from samples where it has some, else given these clusters."""
    sampled = blocks["low"].notna().any()
    names = ("low", "high") if sampled else ("low_given_clusters", "high_given_clusters")
    mean, low, high = (block_matrix(blocks, name, shape) for name in ("mean", *names))
    return ShownStrengths(
        mean, low, high, "95 % interval" if sampled else "95 % interval given these clusters"
    )


def n_components(network: Relation) -> int:
    """Return the number of connected components, without regard to the direction of links."""
    from scipy.sparse.csgraph import connected_components

    number: int = connected_components(network.ones, directed=False, return_labels=False)
    return number
