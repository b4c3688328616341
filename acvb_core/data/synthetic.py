"""Relations drawn from the model with known clusters: what inference should find again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.data.relation import Relation
from acvb_core.data.relations.patterns import Pairs
from acvb_core.errors import ParameterError

_MAX_STRENGTH = 0.9  # of a block in the sparse relations: a block of ones only would tell everything


@dataclass(frozen=True, eq=False)
class Planted:
    """A relation and the truth it was drawn from.

    Attributes
    ----------
    relation : Relation, shape (n_rows, n_cols)
    row_clusters, column_clusters : int64 arrays, shapes (n_rows,), (n_cols,)
    strengths : float64 array, shape (k_rows, k_cols)
        Probability of a link in each block.
    """

    relation: Relation
    row_clusters: NDArray[np.int64]
    column_clusters: NDArray[np.int64]
    strengths: NDArray[np.float64]


def planted(
    n_rows: int,
    n_cols: int,
    k_rows: int,
    k_cols: int,
    seed: int,
    *,
    beta: tuple[float, float] = (0.5, 0.5),
    missing_share: float = 0.0,
    name: str = "planted",
) -> Planted:
    """Draw clusters uniformly, strengths from a Beta distribution and every entry from its block.

    Parameters
    ----------
    n_rows, n_cols : int
        Objects; memory is 9 bytes a cell while drawing.
    k_rows, k_cols : int
        Clusters to draw from (a small relation may leave some empty).
    seed : int
    beta : (float, float)
        Parameters of the strengths.
    missing_share : float
        Probability that an entry is missing, 0 <= missing_share < 1.

    Raises
    ------
    ParameterError
        A size below 1, a parameter of `beta` not above 0, or `missing_share` outside [0, 1).
    """
    _check_sizes(n_rows, n_cols, k_rows, k_cols)
    if min(beta) <= 0 or not 0 <= missing_share < 1:
        raise ParameterError(
            f"beta must be above 0 and missing_share in [0, 1), not {beta} and {missing_share}."
        )
    rng = np.random.default_rng(seed)
    row_clusters = rng.integers(k_rows, size=n_rows)
    column_clusters = rng.integers(k_cols, size=n_cols)
    strengths = rng.beta(*beta, size=(k_rows, k_cols))
    links = rng.random((n_rows, n_cols)) < strengths[row_clusters][:, column_clusters]
    missing = None
    if missing_share:
        missing = rng.random((n_rows, n_cols)) < missing_share
        links &= ~missing
    return Planted(Relation.build(links, missing, name=name), row_clusters, column_clusters, strengths)


def synth1(seed: int = 0) -> Planted:
    """Return the papers' small synthetic relation: 100 x 200 objects, 4 x 5 clusters."""
    return planted(100, 200, 4, 5, seed, name="synth1")


def synth2(seed: int = 0) -> Planted:
    """Return the papers' large synthetic relation: 1,000 x 1,500 objects, 7 x 6 clusters."""
    return planted(1_000, 1_500, 7, 6, seed, name="synth2")


def sparse_planted(seed: int = 0, n: int = 1_892, k: int = 30, density: float = 0.006) -> Planted:
    """Draw a sparse network: the clusters of rows and columns are the same.

    Strengths are Gamma(0.2), scaled to a mean of `density` and cut at 0.9. Memory is 8 bytes a cell while drawing.
    """
    _check_sizes(n, n, k, k)
    rng = np.random.default_rng(seed)
    clusters = rng.integers(k, size=n)
    strengths = rng.gamma(0.2, 1, (k, k))
    strengths *= density / strengths.mean()
    strengths = np.minimum(strengths, _MAX_STRENGTH)
    links = rng.random((n, n)) < strengths[clusters][:, clusters]
    return Planted(Relation.build(links, name="sparse planted"), clusters, clusters, strengths)


def large_planted(n_rows: int, n_cols: int, n_ones: int, k_rows: int, k_cols: int, seed: int) -> Planted:
    """Draw a large sparse relation with about `n_ones` links, in memory linear in the links.

    Strengths are Gamma(0.5), scaled so that `n_ones` links are expected and cut at 0.9. Every entry is an
    independent draw from its block, as in `planted`: a block with strength p receives Poisson(-log(1 - p)) marks on
    each cell, thrown at random, and a cell is a link when it has a mark, which happens with probability p.

    Raises
    ------
    ParameterError
        A size below 1, or more than half of all entries are asked to be links.
    """
    _check_sizes(n_rows, n_cols, k_rows, k_cols)
    if not 0 < n_ones <= n_rows * n_cols // 2:
        raise ParameterError(f"n_ones must be from 1 to half of the cells, not {n_ones:,}.")
    rng = np.random.default_rng(seed)
    row_clusters = rng.integers(k_rows, size=n_rows)
    column_clusters = rng.integers(k_cols, size=n_cols)
    rows_of = [np.flatnonzero(row_clusters == k).astype(np.int32) for k in range(k_rows)]
    columns_of = [np.flatnonzero(column_clusters == k).astype(np.int32) for k in range(k_cols)]
    cells = np.outer([len(rows) for rows in rows_of], [len(columns) for columns in columns_of])
    strengths = _scaled(rng.gamma(0.5, 1, (k_rows, k_cols)), cells, n_ones)
    marks = rng.poisson(-np.log1p(-strengths) * cells)
    pairs = Pairs()
    for k in range(k_rows):
        for j in range(k_cols):
            if marks[k, j]:
                pairs.add(rng.choice(rows_of[k], marks[k, j]), rng.choice(columns_of[j], marks[k, j]))
    everyone = np.arange(max(n_rows, n_cols), dtype=np.int32)
    links: sparse.csr_array = pairs.to_csr(everyone[:n_rows], everyone[:n_cols], (n_rows, n_cols))
    return Planted(Relation.build(links, name="large planted"), row_clusters, column_clusters, strengths)


def _scaled(weights: NDArray[np.float64], cells: NDArray[np.int64], n_ones: int) -> NDArray[np.float64]:
    """Return strengths proportional to `weights`, none above the limit, that make `n_ones` links expected."""
    strengths = weights
    for _ in range(50):  # cutting lowers the sum, scaling up cuts more: settles geometrically
        strengths = np.minimum(strengths * (n_ones / (strengths * cells).sum()), _MAX_STRENGTH)
    return strengths


def _check_sizes(*sizes: int) -> None:
    if min(sizes) < 1:
        raise ParameterError(f"Numbers of objects and clusters must be at least 1, not {sizes}.")
