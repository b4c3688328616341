"""Draws of cluster assignments of a network's objects, under the Chinese restaurant process."""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from acvb_core.core.protocols import Checkpoint
from acvb_core.data.relation import Relation
from acvb_core.models.irm.gibbs.sampling import Labels, close_gaps, count_blocks, extend_rows, one_hot
from acvb_core.models.irm.hyper import Hyper
from acvb_core.models.irm.kernels import OPTIONS, BlockCounts, Floats, normalise
from acvb_core.models.irm.layout import Layout
from acvb_core.models.irm.network.kernels import (
    NetworkLinks,
    ObjectLinks,
    cluster_terms,
    make_workspace,
    refresh_terms,
    shift_counts,
    sum_object_links,
)
from acvb_core.models.irm.network.model import NetworkPass
from acvb_core.models.irm.state import IrmState


def sample_network(
    relation: Relation,
    labels: Labels,
    hyper: Hyper,
    layout: Layout,
    rng: np.random.Generator,
    checkpoint: Checkpoint,
) -> tuple[Labels, int]:
    """Draw the cluster of every object in turn, in a fresh random order.

    Returns the labels, without gaps, and how many objects changed company.
    """
    (domain,) = layout.domains
    labels = labels.copy()
    objects, uniforms = rng.permutation(len(labels)), rng.random(len(labels))
    width = int(labels.max()) + 1
    at = moved = 0
    while at < len(objects):
        # Always room for clusters to be born; the kernel comes back when it has used it up. Empty ones cost time, too.
        room = width + max(width // 4, 4)
        q = {domain: extend_rows(one_hot(labels).T, room, 0.0).T}
        counts = count_blocks(relation, {domain: labels}, layout, checkpoint)
        ones, entries = (np.pad(count, (0, room - width)) for count in counts)
        network = NetworkPass(relation, IrmState(q, ones, entries, hyper, layout))
        length = network.chunk_length(room, 6.0)
        while at < len(objects) and width < room:
            at, width, changed = _sample_some(
                objects[at : at + length],
                at,
                labels,
                network.q,
                network.links,
                network.blocks,
                width,
                network.alpha,
                uniforms,
            )
            moved += changed
            checkpoint()
        labels = close_gaps(labels)
        width = int(labels.max()) + 1
    return labels, moved


@nb.njit(**OPTIONS)
def _sample_some(
    objects: Labels,
    at: int,
    labels: Labels,
    q: Floats,
    links: NetworkLinks,
    blocks: BlockCounts,
    width: int,
    alpha: float,
    uniforms: Floats,
) -> tuple[int, int, int]:
    """Draw objects until the run is through or there is no room for another cluster.

    Clusters from `width` on have never been used; one that has died keeps its number, empty, and is not offered
    again before the numbers are closed up. Returns the position of the next object, the number of clusters used so
    far, and how many objects changed company.
    """
    ones, zeros, size = blocks
    directed = links.directed
    room = ones.shape[0]
    workspace = make_workspace(room, room, directed)
    terms, changed = np.empty((room, room)), np.ones(room, dtype=np.bool_)
    brought, log_weights = np.empty((4, room)), np.empty(room)
    choices = np.empty(room, np.int64)
    moved = 0
    for i in objects:
        if width == room:
            break
        sum_object_links(i, links, q, size, brought)
        item = ObjectLinks(brought, links.own[i], directed)
        old = labels[i]
        q[i, old] = 0.0
        size[old] -= 1.0
        shift_counts(-1.0, old, item, ones, zeros)
        changed[old] = True
        refresh_terms(changed, ones, zeros, directed, terms)
        alone = size[old] < 0.5
        n_choices = 0
        for k in range(width):
            if size[k] > 0.5:
                choices[n_choices] = k
                n_choices += 1
        choices[n_choices] = width  # a cluster of its own
        n_choices += 1
        cluster_terms(choices[:n_choices], item, blocks, terms, workspace, log_weights)
        for c in range(n_choices - 1):
            log_weights[c] += math.log(size[choices[c]])
        log_weights[n_choices - 1] += math.log(alpha)
        weights = log_weights[:n_choices]
        normalise(weights)
        left = uniforms[at]
        c = 0
        while c < n_choices - 1 and left > weights[c]:
            left -= weights[c]
            c += 1
        new = choices[c]
        if (new == width) != alone or (not alone and new != old):
            moved += 1
        if new == width and alone:
            new = old  # its own cluster again
        elif new == width:
            width += 1
        labels[i] = new
        q[i, new] = 1.0
        size[new] += 1.0
        shift_counts(1.0, new, item, ones, zeros)
        changed[new] = True
        at += 1
    return at, width, moved
