"""Draws of cluster assignments of one domain while the other stays fixed, under the Chinese restaurant process."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.protocols import Checkpoint, no_checkpoint
from acvb_core.data.relation import Relation
from acvb_core.models.irm.kernels import (
    OPTIONS,
    BlockCounts,
    Floats,
    ObjectSums,
    add_row,
    add_share,
    block_bases,
    block_terms,
    chunk_length,
    normalise,
    total_of,
)
from acvb_core.models.irm.layout import Layout
from acvb_core.models.irm.state import observed_sums

Labels = NDArray[np.int64]


def one_hot(labels: Labels) -> Floats:
    """Return labels 0..K-1 as responsibilities, shape (N, K)."""
    out = np.zeros((len(labels), int(labels.max()) + 1))
    out[np.arange(len(labels)), labels] = 1.0
    return out


def close_gaps(labels: Labels) -> Labels:
    """Return labels 0..K-1 of the same clusters, every number in use."""
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def count_blocks(
    relation: Relation, labels: Mapping[str, Labels], layout: Layout, checkpoint: Checkpoint = no_checkpoint
) -> tuple[Floats, Floats]:
    """Return the ones and the observed entries of each block, shape (K1, K2): `block_counts` of labels."""
    rows, columns = (labels[domain] for domain in layout.axes)
    sizes = [np.bincount(side).astype(np.float64) for side in (rows, columns)]
    ones, missing = np.zeros((2, len(sizes[0]), len(sizes[1])))
    for pattern, out in ((relation.ones, ones), (relation.missing, missing)):
        _count_pattern(pattern.indptr, pattern.indices, rows, columns, out)
        checkpoint()
    zeros = np.outer(*sizes) - ones - missing
    if layout.one_domain:
        for pairs, own in zip((ones, zeros), relation.self_links.T, strict=True):
            inner = np.bincount(rows, own, minlength=len(pairs))
            diagonal = np.diag_indices_from(pairs)
            pairs[diagonal] -= inner
            if layout.symmetric:
                pairs[:] = (pairs + pairs.T) / 2.0
                pairs[diagonal] /= 2.0
            pairs[diagonal] += inner
    return ones, ones + zeros


@nb.njit(**OPTIONS)
def _count_pattern(
    indptr: NDArray[np.int32], indices: NDArray[np.int32], rows: Labels, columns: Labels, out: Floats
) -> None:
    """Add to `out`, shape (K1, K2), how many stored entries each block has."""
    for i in range(rows.shape[0]):
        block = out[rows[i]]
        for p in range(indptr[i], indptr[i + 1]):
            block[columns[indices[p]]] += 1.0


def sample_domain(
    relation: Relation,
    labels: Labels,
    other: Floats,
    a: float,
    b: float,
    alpha: float,
    rng: np.random.Generator,
    checkpoint: Checkpoint = no_checkpoint,
) -> tuple[Labels, int]:
    """Draw the cluster of every row object in turn, in a fresh random order.

    `labels` have no gaps; `other` are the one-hot responsibilities of the column objects, shape (N', L). Returns the
    new labels, without gaps, and how many objects changed company (renumbering left out).
    """
    sums = ObjectSums(*observed_sums(relation, other, checkpoint))
    objects, uniforms = rng.permutation(len(labels)), rng.random(len(labels))
    labels = labels.copy()
    width = int(labels.max()) + 1
    q = one_hot(labels)
    size = np.bincount(labels, minlength=width).astype(np.float64)
    blocks = BlockCounts(a + q.T @ sums.links, b + q.T @ sums.zeros, size)
    at = moved = 0
    while at < len(objects):
        # Always room for a cluster to be born, by doubling; the kernel comes back when it has used it up.
        room = max(2 * width, 8)
        blocks = BlockCounts(
            *(extend_rows(array, room, fill) for array, fill in zip(blocks, (a, b, 0.0), strict=True))
        )
        end = min(at + chunk_length(*blocks.ones.shape), len(objects))
        while at < end and width < room:
            at, width, changed = _sample_some(
                objects[at:end], at, labels, sums, blocks, width, a, b, alpha, uniforms
            )
            moved += changed
        checkpoint()
    return close_gaps(labels), moved


def extend_rows(array: Floats, length: int, fill: float) -> Floats:
    """Return the array with its first axis made `length` long."""
    out = np.full((length, *array.shape[1:]), fill)
    keep = min(length, len(array))
    out[:keep] = array[:keep]
    return out


@nb.njit(**OPTIONS)
def _sample_some(
    objects: Labels,
    at: int,
    labels: Labels,
    sums: ObjectSums,
    blocks: BlockCounts,
    width: int,
    a: float,
    b: float,
    alpha: float,
    uniforms: Floats,
) -> tuple[int, int, int]:
    """Draw objects until the run is through or there is no room for another cluster.

    Rows of the blocks from `width` on stand for clusters yet to be born and hold the prior alone. Returns the position
    of the next object, the number of clusters in use (the last one takes the place of a cluster that dies), and how
    many objects changed company.
    """
    links, zeros = sums
    beta_ones, beta_zeros, size = blocks
    room, n_other = beta_ones.shape
    x, y = np.empty((room, n_other)), np.empty((room, n_other))
    terms = np.empty(room * n_other)
    bases = np.empty(room)
    block_bases(beta_ones, beta_zeros, bases)
    moved = 0
    for i in objects:
        if width == room:
            break
        plus, minus = links[i], zeros[i]
        k = labels[i]
        size[k] -= 1.0
        alone = size[k] < 0.5
        if alone:
            width -= 1
            if k != width:
                beta_ones[k] = beta_ones[width]
                beta_zeros[k] = beta_zeros[width]
                size[k], bases[k] = size[width], bases[width]
                for j in range(labels.shape[0]):
                    if labels[j] == width:
                        labels[j] = k
            beta_ones[width] = a
            beta_zeros[width] = b
            size[width] = 0.0
            bases[width] = bases[width + 1]
        else:
            _shift_cluster(beta_ones[k], beta_zeros[k], plus, minus, -1.0, terms, bases, k)
        choices = width + 1
        add_row(beta_ones[:choices], plus, x)
        add_row(beta_zeros[:choices], minus, y)
        block_terms(x.reshape(-1), y.reshape(-1), choices * n_other, terms)
        weights = np.empty(choices)
        for c in range(choices):
            weights[c] = total_of(terms[c * n_other : (c + 1) * n_other]) - bases[c]
            weights[c] += math.log(size[c]) if c < width else math.log(alpha)
        normalise(weights)
        left = uniforms[at]
        new = 0
        while new < width and left > weights[new]:
            left -= weights[new]
            new += 1
        if (new == width) != alone or (not alone and new != k):
            moved += 1
        labels[i] = new
        size[new] += 1.0
        _shift_cluster(beta_ones[new], beta_zeros[new], plus, minus, 1.0, terms, bases, new)
        if new == width:
            width += 1
        at += 1
    return at, width, moved


@nb.njit(**OPTIONS)
def _shift_cluster(
    beta_ones: Floats,
    beta_zeros: Floats,
    plus: Floats,
    minus: Floats,
    sign: float,
    terms: Floats,
    bases: Floats,
    k: int,
) -> None:
    """Put an object into cluster k (sign 1) or take it out (-1), and bring the cluster's base up to date."""
    add_share(beta_ones, plus, sign, beta_ones)
    add_share(beta_zeros, minus, sign, beta_zeros)
    block_terms(beta_ones, beta_zeros, len(plus), terms)
    bases[k] = total_of(terms[: len(plus)])
