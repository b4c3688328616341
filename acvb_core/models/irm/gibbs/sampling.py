"""Draws of cluster assignments of one domain while the other stays fixed, under the Chinese restaurant process."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.protocols import Checkpoint, no_checkpoint
from acvb_core.data.relation import Relation
from acvb_core.models.irm.gibbs.evidence import (
    BlockPrior,
    BlockSums,
    Counts,
    extend_counts,
    row_evidence,
    tabulate_prior,
)
from acvb_core.models.irm.kernels import OPTIONS, Floats, chunk_length, normalise
from acvb_core.models.irm.layout import Layout
from acvb_core.models.irm.state import observed_sums

Labels = NDArray[np.int64]


def one_hot(labels: Labels, n_clusters: int | None = None) -> Floats:
    """Return labels 0..K-1 as responsibilities, shape (N, K), or with further clusters that are empty."""
    out = np.zeros((len(labels), n_clusters or int(labels.max()) + 1))
    out[np.arange(len(labels)), labels] = 1.0
    return out


def close_gaps(labels: Labels) -> Labels:
    """Return labels 0..K-1 of the same clusters, every number in use."""
    used = np.bincount(labels) > 0
    return labels if used.all() else (np.cumsum(used) - 1)[labels]


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
            diagonal = np.einsum("kk->k", pairs)  # a view
            diagonal -= inner
            if layout.symmetric:
                pairs[:] = (pairs + pairs.T) / 2.0
                diagonal /= 2.0
            diagonal += inner
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
    sums = observed_sums(relation, other, checkpoint)
    links, zeros = (extend_counts(array, array.shape) for array in sums)
    objects, uniforms = rng.permutation(len(labels)), rng.random(len(labels))
    labels = labels.copy()
    width = int(labels.max()) + 1
    q = one_hot(labels)
    counts: tuple[NDArray[Any], ...] = (q.T @ sums[0], q.T @ sums[1], q.sum(axis=0))
    prior = tabulate_prior(a, b, float((counts[0] + counts[1]).max()))
    at = moved = 0
    while at < len(objects):
        # Always room for a cluster to be born, by doubling; the kernel comes back when it has used it up.
        room = max(2 * width, 8)
        blocks = BlockSums(*(extend_counts(array, (room, *array.shape[1:])) for array in counts))
        end = min(at + chunk_length(*blocks.ones.shape), len(objects))
        while at < end and width < room:
            at, width, changed = _sample_some(
                objects[at:end], at, labels, links, zeros, blocks, width, prior, alpha, uniforms
            )
            moved += changed
        counts = blocks
        checkpoint()
    return close_gaps(labels), moved


@nb.njit(**OPTIONS)
def _sample_some(
    objects: Labels,
    at: int,
    labels: Labels,
    links: Counts,
    others: Counts,
    blocks: BlockSums,
    width: int,
    prior: BlockPrior,
    alpha: float,
    uniforms: Floats,
) -> tuple[int, int, int]:
    """Draw objects until the run is through or there is no room for another cluster.

    `links`, `others`: shape (N, L); ones and zeros of every object by cluster of the other domain.
    Rows of the blocks from `width` on stand for clusters yet to be born and are empty. Returns the position of the next
    object, the number of clusters in use (the last one takes the place of a cluster that dies), and how many objects
    changed company.
    """
    ones, zeros, size = blocks
    room, n_other = ones.shape
    bases, weights = np.zeros(room), np.empty(room)
    nothing = np.zeros(n_other, dtype=np.int64)
    for k in range(width):
        bases[k] = row_evidence(ones[k], zeros[k], nothing, nothing, prior)
    moved = 0
    for i in objects:
        if width == room:
            break
        plus, minus = links[i], others[i]
        k = labels[i]
        _shift_cluster(ones[k], zeros[k], plus, minus, -1)
        size[k] -= 1
        alone = size[k] == 0
        if alone:
            width -= 1
            if k != width:
                for m in range(n_other):
                    ones[k, m], zeros[k, m] = ones[width, m], zeros[width, m]
                    ones[width, m] = zeros[width, m] = 0
                size[k], bases[k] = size[width], bases[width]
                size[width] = 0
                for j in range(labels.shape[0]):
                    if labels[j] == width:
                        labels[j] = k
            bases[width] = 0.0
        else:
            bases[k] = row_evidence(ones[k], zeros[k], nothing, nothing, prior)
        for c in range(width + 1):
            weights[c] = row_evidence(ones[c], zeros[c], plus, minus, prior) - bases[c]
            weights[c] += math.log(size[c]) if c < width else math.log(alpha)
        normalise(weights[: width + 1])
        new = draw_choice(weights[: width + 1], uniforms[at])
        if (new == width) != alone or (not alone and new != k):
            moved += 1
        labels[i] = new
        size[new] += 1
        _shift_cluster(ones[new], zeros[new], plus, minus, 1)
        bases[new] = row_evidence(ones[new], zeros[new], nothing, nothing, prior)
        if new == width:
            width += 1
        at += 1
    return at, width, moved


@nb.njit(**OPTIONS)
def draw_choice(weights: Floats, uniform: float) -> int:
    """Return a choice by probabilities and a number from [0, 1)."""
    at = 0
    while at < weights.shape[0] - 1 and uniform > weights[at]:
        uniform -= weights[at]
        at += 1
    return at


@nb.njit(**OPTIONS)
def _shift_cluster(ones: Counts, zeros: Counts, plus: Counts, minus: Counts, sign: int) -> None:
    """Put an object into a cluster (sign 1) or take it out (-1)."""
    for m in range(ones.shape[0]):
        ones[m] += sign * plus[m]
        zeros[m] += sign * minus[m]
