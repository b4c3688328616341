"""Link probabilities that follow from clusters, by the same estimate for every peer that gives only clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from acvb_core.data.relation import Relation
from acvb_core.evaluate.split import HeldOut
from benchmarks.peers.answers import Floats


def block_probability(train: Relation, rows: ArrayLike, columns: ArrayLike, heldout: HeldOut) -> Floats:
    """Return (links + density) / (pairs + 1) of the block of each held-out pair, shape (n,).

    Links and pairs are the observed ones; `rows`, `columns`: cluster of each object.
    """
    first, second = _number(rows), _number(columns)
    links = _sum_blocks(train.ones, first, second)
    pairs = np.outer(np.bincount(first), np.bincount(second)) - _sum_blocks(train.missing, first, second)
    strength = (links + links.sum() / pairs.sum()) / (pairs + 1.0)
    return strength[first[heldout.rows], second[heldout.columns]]


def degree_corrected_probability(train: Relation, clusters: ArrayLike, heldout: HeldOut) -> Floats:
    """Return 1 - exp(-lambda_ij) of each held-out pair, shape (n,), with lambda_ij = d_i d_j e_rs / (d_r d_s).

    d: links of an object (out of i, into j), and of all objects of a cluster; e: links between two clusters, scaled
    up for pairs that are not observed. Karrer and Newman 2011, eq. 14.
    """
    labels = _number(clusters)
    out, into = np.diff(train.ones.indptr), np.bincount(train.ones.indices, minlength=train.shape[1])
    n_pairs = train.shape[0] * (train.shape[0] - 1)
    diagonal = int(train.missing.diagonal().sum())
    seen = n_pairs / max(n_pairs - (train.missing.nnz - diagonal), 1)
    links = _sum_blocks(train.ones, labels, labels) * seen
    of_rows, of_columns = np.bincount(labels, out), np.bincount(labels, into)
    rate = links / np.maximum(np.outer(of_rows, of_columns), 1.0)
    first, second = heldout.rows, heldout.columns
    return -np.expm1(-out[first] * into[second] * rate[labels[first], labels[second]])


def _number(labels: ArrayLike) -> NDArray[np.int64]:
    return np.unique(np.asarray(labels), return_inverse=True)[1].astype(np.int64)


def _sum_blocks(matrix: sparse.csr_array, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Floats:
    place = matrix.tocoo()
    sums = np.zeros((rows.max() + 1, columns.max() + 1))
    np.add.at(sums, (rows[place.row], columns[place.col]), 1.0)
    return sums
