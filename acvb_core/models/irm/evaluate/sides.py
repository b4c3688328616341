"""Which clustering each side of a relation has: two of them, or one for both."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from acvb_core.core.protocols import Posterior
from acvb_core.data.relation import Relation

Sides = tuple[str, str]


def sides(posterior: Posterior) -> Sides:
    """Return the domains of the rows and of the columns: "rows" and "cols", or twice "rows" where both are one."""
    return ("rows", "cols" if "cols" in posterior.arrays else "rows")


def one_clustering(posterior: Posterior) -> bool:
    """Whether rows and columns are the same objects in the same clusters."""
    first, second = sides(posterior)
    return first == second


def mirrored(relation: Relation) -> bool:
    """Whether an entry and the one on the other side of the diagonal are the same pair (an undirected network)."""
    return relation.network is not None and not relation.network.directed


def without_diagonal(relation: Relation) -> bool:
    """Whether the diagonal is no part of the data: a network whose self-links do not count."""
    return relation.network is not None and not relation.network.self_links


def links_of(relation: Relation) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return from where to where each link goes, those of an undirected network once, shapes (n_links,).

    They are sorted by row, then column; an undirected one is the entry on or above the diagonal.
    """
    ones = relation.ones
    rows = np.repeat(np.arange(relation.shape[0], dtype=np.int64), np.diff(ones.indptr))
    columns = ones.indices.astype(np.int64)
    if mirrored(relation):
        upper = rows <= columns
        rows, columns = rows[upper], columns[upper]
    return rows, columns


def block_matrix(blocks: pd.DataFrame, column: str, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return a column of a result's `blocks` as a matrix, row clusters down and column clusters across.

    Where only the blocks on and above the diagonal are listed (an undirected network), the others are the same.
    """
    k, m = blocks["row_cluster"].to_numpy() - 1, blocks["column_cluster"].to_numpy() - 1
    values = blocks[column].to_numpy(dtype=np.float64)
    found = np.full(shape, np.nan)
    if len(blocks) < found.size:
        found[m, k] = values
    found[k, m] = values
    return found
