"""Collapsed Gibbs sampling for networks under the Chinese restaurant process."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numba as nb
import numpy as np

from acvb_core.core.protocols import Checkpoint
from acvb_core.models.irm.gibbs import GibbsState, Labels, SamplingMethod, close_gaps, extend_rows, one_hot
from acvb_core.models.irm.kernels import OPTIONS, Floats, normalise
from acvb_core.models.irm.network.kernels import Indices, bring, cluster_terms, refresh, shift
from acvb_core.models.irm.network.model import NetworkPass
from acvb_core.models.irm.state import IrmState, block_counts


@dataclass(frozen=True)
class GibbsNetwork(SamplingMethod):
    """Collapsed Gibbs sampler of the one-domain IRM bound to a network (an `Inference`).

    References
    ----------
    Kemp et al., AAAI 2006; IRM14 eq. 20.
    """

    def draw(
        self, state: GibbsState, rng: np.random.Generator, checkpoint: Checkpoint
    ) -> tuple[dict[str, Labels], int]:
        """Draw every object's cluster in turn, in a fresh random order."""
        (domain,) = self.layout.domains
        labels = state.labels[domain].copy()
        objects, uniforms = rng.permutation(len(labels)), rng.random(len(labels))
        width = int(labels.max()) + 1
        at = moved = 0
        while at < len(objects):
            # Always room for a cluster to be born, by doubling; the kernel comes back when it has used it up.
            room = max(2 * width, 8)
            q = {domain: extend_rows(one_hot(labels).T, room, 0.0).T}
            ones, entries = block_counts(self.relation, q, self.layout, checkpoint)
            found = NetworkPass(self.relation, IrmState(q, ones, entries, state.hyper, self.layout))
            length = found.chunk_length(room, 6.0)
            while at < len(objects) and width < room:
                at, width, changed = _sample_some(
                    objects[at : at + length], at, labels, found.q, found.pointers, found.indices, found.own,
                    found.beta_ones, found.beta_zeros, found.mass, width, found.alpha, found.directed, uniforms,
                )  # fmt: skip
                moved += changed
                checkpoint()
            labels = close_gaps(labels)
            width = int(labels.max()) + 1
        return {domain: labels}, moved


@nb.njit(**OPTIONS)
def _sample_some(
    objects: Labels,
    at: int,
    labels: Labels,
    q: Floats,
    pointers: tuple[Indices, Indices, Indices, Indices],
    indices: tuple[Indices, Indices, Indices, Indices],
    own: Floats,
    ones: Floats,
    zeros: Floats,
    size: Floats,
    width: int,
    alpha: float,
    directed: bool,
    uniforms: Floats,
) -> tuple[int, int, int]:
    """Draw objects until the run is through or there is no room for another cluster.

    Clusters from `width` on have never been used; one that has died keeps its number, empty, and is not offered
    again before the numbers are closed up. Returns the position of the next object, the number of clusters used so
    far, and how many objects changed company.
    """
    room = ones.shape[0]
    x_width = 2 * room if directed else room
    x, y, around = np.empty((room, x_width)), np.empty((room, x_width)), np.empty(room * x_width)
    terms = np.empty((room, room))
    for k in range(room):
        refresh(k, ones, zeros, directed, terms)
    brought, log_weights = np.empty((4, room)), np.empty(room)
    choices = np.empty(room, np.int64)
    moved = 0
    for i in objects:
        if width == room:
            break
        bring(i, pointers, indices, q, size, directed, brought)
        old = labels[i]
        q[i, old] = 0.0
        size[old] -= 1.0
        shift(-1.0, old, brought, own[i], directed, ones, zeros)
        refresh(old, ones, zeros, directed, terms)
        alone = size[old] < 0.5
        n_choices = 0
        for k in range(width):
            if size[k] > 0.5:
                choices[n_choices] = k
                n_choices += 1
        choices[n_choices] = width  # a cluster of its own
        n_choices += 1
        cluster_terms(
            choices[:n_choices], brought, own[i], directed, ones, zeros, terms, x, y, around, log_weights
        )
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
        shift(1.0, new, brought, own[i], directed, ones, zeros)
        refresh(new, ones, zeros, directed, terms)
        at += 1
    return at, width, moved
