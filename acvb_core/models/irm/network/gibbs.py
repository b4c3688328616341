"""Draws of cluster assignments of a network's objects, under the Chinese restaurant process."""

from __future__ import annotations

import math

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.protocols import Checkpoint
from acvb_core.data.relation import Relation
from acvb_core.models.irm.gibbs.evidence import (
    BlockPrior,
    BlockSums,
    Counts,
    block_evidence,
    extend_counts,
    tabulate_prior,
)
from acvb_core.models.irm.gibbs.sampling import Labels, close_gaps, count_blocks, draw_choice
from acvb_core.models.irm.hyper import Hyper
from acvb_core.models.irm.kernels import OPTIONS, Floats, chunk_length, normalise
from acvb_core.models.irm.layout import Layout
from acvb_core.models.irm.network.kernels import (
    IN_ONES,
    IN_ZEROS,
    OUT_ONES,
    OUT_ZEROS,
    NetworkLinks,
)
from acvb_core.models.irm.network.model import list_links


def sample_network(
    relation: Relation,
    labels: Labels,
    counts: tuple[Floats, Floats],
    hyper: Hyper,
    layout: Layout,
    rng: np.random.Generator,
    checkpoint: Checkpoint,
) -> tuple[Labels, tuple[Floats, Floats], int]:
    """Draw the cluster of every object in turn, in a fresh random order.

    `counts`: ones and observed entries of the labels' blocks.
    Returns the labels, without gaps, their counts, and how many objects changed company.
    """
    (domain,) = layout.domains
    labels = labels.copy()
    links = list_links(relation, not layout.symmetric)
    objects, uniforms = rng.permutation(len(labels)), rng.random(len(labels))
    width = int(labels.max()) + 1
    prior = tabulate_prior(float(hyper.a[0, 0]), float(hyper.b[0, 0]), float(counts[1].max()))
    neighbours = (relation.n_ones + relation.n_missing) // len(labels)
    at = moved = 0
    while at < len(objects):
        # Always room for clusters to be born; the kernel comes back when it has used it up. Empty ones cost time, too.
        room = width + max(width // 4, 4)
        ones, entries = (extend_counts(array, (room, room)) for array in counts)
        blocks = BlockSums(ones, entries - ones, np.bincount(labels, minlength=room))
        length = chunk_length(2 * room, room + neighbours // room)
        while at < len(objects) and width < room:
            at, width, changed = _sample_some(
                objects[at : at + length],
                at,
                labels,
                links,
                blocks,
                width,
                prior,
                hyper.alpha[domain],
                uniforms,
            )
            moved += changed
            checkpoint()
        labels = close_gaps(labels)
        width = int(labels.max()) + 1
        counts = count_blocks(relation, {domain: labels}, layout, checkpoint)
    return labels, counts, moved


@nb.njit(**OPTIONS)
def _sample_some(
    objects: Labels,
    at: int,
    labels: Labels,
    links: NetworkLinks,
    blocks: BlockSums,
    width: int,
    prior: BlockPrior,
    alpha: float,
    uniforms: Floats,
) -> tuple[int, int, int]:
    """Draw objects until the run is through or there is no room for another cluster.

    Clusters from `width` on have never been used; one that has died keeps its number, empty, and is not offered
    again before the numbers are closed up. Returns the position of the next object, the number of clusters used so
    far, and how many objects changed company.
    """
    ones, zeros, size = blocks
    directed, room = links.directed, ones.shape[0]
    terms, changed = np.zeros((room, room)), np.ones(room, dtype=np.bool_)
    brought, log_weights = np.empty((4, room), dtype=np.int64), np.empty(room)
    choices = np.empty(room, np.int64)
    moved = 0
    for i in objects:
        if width == room:
            break
        old = labels[i]
        size[old] -= 1
        _sum_links(i, links, labels, size, brought)
        own = (int(links.own[i, 0]), int(links.own[i, 1]))
        _shift_counts(-1, old, brought, own, directed, ones, zeros)
        changed[old] = True
        _refresh_terms(changed, ones, zeros, prior, terms)
        alone = size[old] == 0
        n_choices = 0
        for k in range(width):
            if size[k] > 0:
                choices[n_choices] = k
                log_weights[n_choices] = math.log(size[k])
                n_choices += 1
        choices[n_choices] = width  # a cluster of its own
        log_weights[n_choices] = math.log(alpha)
        n_choices += 1
        for c in range(n_choices):
            log_weights[c] += _gain(
                choices[c], choices[:n_choices], brought, own, directed, blocks, prior, terms
            )
        normalise(log_weights[:n_choices])
        new = choices[draw_choice(log_weights[:n_choices], uniforms[at])]
        if (new == width) != alone or (not alone and new != old):
            moved += 1
        if new == width and alone:
            new = old  # its own cluster again
        elif new == width:
            width += 1
        labels[i] = new
        size[new] += 1
        _shift_counts(1, new, brought, own, directed, ones, zeros)
        changed[new] = True
        at += 1
    return at, width, moved


@nb.njit(**OPTIONS)
def _sum_links(i: int, links: NetworkLinks, labels: Labels, size: Counts, brought: Counts) -> None:
    """Write what object i brings to the blocks, by cluster of the other object; `size` does not count the object.

    `brought`: shape (4, K); ones and zeros of the object's row, ones and zeros of its column (directed only), itself
    left out.
    """
    for side in range(2 if links.directed else 1):
        for kind in range(2):  # ones, then missing entries
            out = brought[2 * side + kind]
            for m in range(out.shape[0]):
                out[m] = 0
            indptr, indices = links.pointers[2 * side + kind], links.indices[2 * side + kind]
            for p in range(indptr[i], indptr[i + 1]):
                j = indices[p]
                if j != i:
                    out[labels[j]] += 1
        for m in range(brought.shape[1]):
            brought[2 * side + 1, m] = size[m] - brought[2 * side + 1, m] - brought[2 * side, m]


@nb.njit(**OPTIONS)
def _shift_counts(
    sign: int, k: int, brought: Counts, own: tuple[int, int], directed: bool, ones: Counts, zeros: Counts
) -> None:
    """Put an object into cluster k (sign 1) or take it out (-1)."""
    for m in range(ones.shape[0]):
        ones[k, m] += sign * brought[OUT_ONES, m]
        zeros[k, m] += sign * brought[OUT_ZEROS, m]
        if directed:
            ones[m, k] += sign * brought[IN_ONES, m]
            zeros[m, k] += sign * brought[IN_ZEROS, m]
        elif m != k:
            ones[m, k] += sign * brought[OUT_ONES, m]
            zeros[m, k] += sign * brought[OUT_ZEROS, m]
    ones[k, k] += sign * own[0]
    zeros[k, k] += sign * own[1]


@nb.njit(**OPTIONS)
def _refresh_terms(
    changed: NDArray[np.bool_], ones: Counts, zeros: Counts, prior: BlockPrior, terms: Floats
) -> None:
    """Bring the evidence of the blocks of changed clusters up to date; none is changed afterwards."""
    for k in range(ones.shape[0]):
        for m in range(ones.shape[0]):
            if changed[k] or changed[m]:
                terms[k, m] = block_evidence(ones[k, m], zeros[k, m], prior)
    changed[:] = False


@nb.njit(**OPTIONS)
def _gain(
    k: int,
    clusters: Counts,
    brought: Counts,
    own: tuple[int, int],
    directed: bool,
    blocks: BlockSums,
    prior: BlockPrior,
    terms: Floats,
) -> float:
    """Return how the evidence changes when an object that is in no cluster is put into cluster k.

    `clusters`: those that have members, at least.
    """
    ones, zeros, _ = blocks
    plus, minus = brought[OUT_ONES, k] + own[0], brought[OUT_ZEROS, k] + own[1]
    if directed:
        plus += brought[IN_ONES, k]
        minus += brought[IN_ZEROS, k]
    total = block_evidence(ones[k, k] + plus, zeros[k, k] + minus, prior) - terms[k, k]
    for m in clusters:
        if m == k:
            continue
        total += block_evidence(ones[k, m] + brought[OUT_ONES, m], zeros[k, m] + brought[OUT_ZEROS, m], prior)
        total -= terms[k, m]
        if directed:
            total += block_evidence(
                ones[m, k] + brought[IN_ONES, m], zeros[m, k] + brought[IN_ZEROS, m], prior
            )
            total -= terms[m, k]
    return total
