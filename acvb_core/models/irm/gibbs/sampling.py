"""Draws of cluster assignments under the Chinese restaurant process: of one side of a relation, or of a network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.protocols import Poll, no_poll
from acvb_core.data.relation import Relation
from acvb_core.models.irm.gibbs.kernels import (
    BlockTable,
    Counts,
    Labels,
    Members,
    Side,
    draw_some,
    fill_terms,
)
from acvb_core.models.irm.gibbs.log_gammas import LogGammas, tabulate
from acvb_core.models.irm.kernels import OPTIONS, Floats, chunk_length
from acvb_core.models.irm.layout import Layout


def one_hot(labels: Labels) -> Floats:
    """Return labels 0..K-1 as responsibilities, shape (N, K)."""
    out = np.zeros((len(labels), int(labels.max()) + 1))
    out[np.arange(len(labels)), labels] = 1.0
    return out


def close_gaps(labels: Labels) -> Labels:
    """Return labels 0..K-1 of the same clusters, every number in use."""
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def count_blocks(
    relation: Relation, labels: Mapping[str, Labels], layout: Layout, poll: Poll = no_poll
) -> tuple[Floats, Floats]:
    """Return the ones and the observed entries of each block, shape (K1, K2): `block_counts` of labels."""
    rows, columns = (labels[domain] for domain in layout.axes)
    sizes = [np.bincount(side).astype(np.float64) for side in (rows, columns)]
    ones, missing = np.zeros((2, len(sizes[0]), len(sizes[1])))
    for pattern, out in ((relation.ones, ones), (relation.missing, missing)):
        _count_pattern(pattern.indptr, pattern.indices, rows, columns, out)
        poll()
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


class Draw(NamedTuple):
    """Labels of all objects of a side, without gaps, the counts of all blocks, and how many objects changed company."""

    labels: Labels
    #: `ones`, `zeros`: shape (K, L)
    ones: Counts
    zeros: Counts
    moved: int


def draw_side(
    side: Side,
    labels: Labels,
    ones: Counts,
    zeros: Counts,
    prior: tuple[float, float],
    alpha: float,
    rng: np.random.Generator,
    poll: Poll = no_poll,
) -> Draw:
    """Draw the cluster of every object of a side in turn, in a fresh random order.

    `labels` have no gaps; `ones`, `zeros`: shape (K, L), the counts of their blocks.
    """
    objects, uniforms = rng.permutation(len(labels)), rng.random(len(labels))
    labels = labels.copy()
    width, at, moved = len(ones), 0, 0
    gammas = None
    linked = side.links.pointers[0][-1] + side.links.pointers[1][-1]
    while at < len(objects):
        # Always room for clusters to be born; the kernel comes back when it has used it up.
        room = width + max(width // 2, 8)
        shape = (2 if side.links.directed else 1, room, room if side.is_network else ones.shape[1])
        ones, zeros = np.ascontiguousarray(ones), np.ascontiguousarray(zeros)
        # Blocks grow while objects are drawn; what outgrows the tables is computed.
        gammas = tabulate(*prior, ones, zeros) if gammas is None else gammas
        members, blocks = lay_out(labels, ones, zeros, shape, gammas)
        length = chunk_length(room, shape[2] + linked // len(labels), 3.0)
        while at < len(objects) and width < room:
            at, width, changed = draw_some(
                objects[at : at + length], at, uniforms, members, side, blocks, width, gammas, alpha
            )
            moved += changed
            poll()
        labels = members.places[labels]
        across = width if side.is_network else shape[2]
        ones, zeros = (counts[0, :width, :across] for counts in (blocks.ones, blocks.zeros))
    return Draw(labels, ones, zeros, moved)


@nb.njit(**OPTIONS)
def lay_out(
    labels: Labels, ones: Counts, zeros: Counts, shape: tuple[int, int, int], gammas: LogGammas
) -> tuple[Members, BlockTable]:
    """Return the places of clusters and the table of their blocks, with room for more clusters."""
    halves, room, _ = shape
    sizes = np.zeros(room, np.int64)
    for label in labels:
        sizes[label] += 1
    blocks = BlockTable(np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.empty(shape))
    for k in range(ones.shape[0]):
        for m in range(ones.shape[1]):
            blocks.ones[0, k, m], blocks.zeros[0, k, m] = ones[k, m], zeros[k, m]
            if halves == 2:
                blocks.ones[1, m, k], blocks.zeros[1, m, k] = ones[k, m], zeros[k, m]
    fill_terms(blocks, gammas)
    return Members(labels, np.arange(room), np.arange(room), sizes), blocks
