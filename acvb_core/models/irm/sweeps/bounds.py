"""Upper bounds on the weights of an object's clusters, so that few of them must be weighed exactly.

What an object brings to block (k, l), n ones and N zeros, has the log probability
g(n, N) = log B(a + n_kl + n, b + N_kl + N) - log B(a + n_kl, b + N_kl). This is the logarithm of the mean of
theta^n (1 - theta)^N under a Beta distribution, so it is convex in (n, N), and a chord lies above it. With M the size
of cluster l, g is tabulated at n = 0, 1, 4, 16, … ones and M - n zeros. An object without missing entries has
n + N = M; another one lies between such a point and (0, 0), where g is 0. A bound takes an addition for each cluster k
and each l that the object is linked to, and no logarithm.
"""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.special import OPTIONS, lgamma_two

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

#: A cluster whose bound is so many nats below the weight of another is taken not to hold any of the object: e^-40 is
#: nothing beside 1 in double precision, and the tables' single precision is far better than what is left.
OUT_OF_REACH = 40.0
#: Ones at a node of the chords are so many times those at the node before.
_STEP = 4.0
#: Fewer objects or clusters are weighed sooner than the tables are made.
_FEWEST_OBJECTS, _FEWEST_CLUSTERS = 24, 5


class Bounds(NamedTuple):
    """Tables of g for the blocks as they are; clusters of the swept domain are the last axis."""

    sizes: Floats  #: shape (L,); M
    nodes: Floats  #: shape (L, J); ones at the nodes, M at most
    empty: Singles  #: shape (L, K); g(0, M)
    whole: Singles  #: shape (K,); the sum of `empty` over l
    chords: Singles  #: shape (J, L, K); g(n, M - n) - g(0, M) at each node
    slopes: Singles  #: shape (K,); the sum over l of the slopes of the chords before the first node
    stale: Floats  #: shape (K,); how much of objects came or went since a cluster's tables were made


def make_bounds(ones: Floats, zeros: Floats, links: Floats, sizes: Floats, n_objects: int) -> Bounds:
    """Return the tables for blocks with counts `ones` and `zeros`, shape (K, L), priors included.

    They are empty where they would be of no use.

    `links`: shape (N, L); the objects' ones. `sizes`: shape (L,); M, at least the ones and zeros of any object.
    `n_objects`: how many of them will be visited.
    """
    n_own, n_other = ones.shape
    if n_objects < _FEWEST_OBJECTS or n_own < _FEWEST_CLUSTERS:
        n_own = n_other = 0
    nodes = [1.0]
    while n_own and nodes[-1] < links.max(initial=0.0):
        nodes.append(nodes[-1] * _STEP)
    table = np.minimum(nodes, np.maximum(sizes, 1e-6)[:n_other, None])
    bounds = Bounds(
        sizes[:n_other],
        table,
        np.empty((n_other, n_own), np.float32),
        np.empty(n_own, np.float32),
        np.empty((len(nodes), n_other, n_own), np.float32),
        np.empty(n_own, np.float32),
        np.zeros(n_own),
    )
    for k in range(n_own):
        tabulate_cluster(k, ones[k], zeros[k], bounds)
    return bounds


@nb.njit(**OPTIONS)
def tabulate_cluster(k: int, ones: Floats, zeros: Floats, bounds: Bounds) -> None:
    """Bring the tables of cluster k up to date."""
    sizes, nodes, empty, whole, chords, slopes, stale = bounds
    n_other = sizes.shape[0]
    out = np.empty(n_other)
    for m in range(n_other):
        both = ones[m] + zeros[m]
        out[m] = lgamma_two(zeros[m] + sizes[m], both) - lgamma_two(zeros[m], both + sizes[m])
    total = 0.0
    for m in range(n_other):
        total += out[m]
        empty[m, k] = out[m]
    whole[k] = total
    before = np.empty(n_other)
    for m in range(n_other):
        before[m] = lgamma_two(ones[m], zeros[m] + sizes[m])
    for j in range(nodes.shape[1]):
        for m in range(n_other):
            out[m] = lgamma_two(ones[m] + nodes[m, j], zeros[m] + sizes[m] - nodes[m, j]) - before[m]
        for m in range(n_other):
            chords[j, m, k] = out[m]
    total = 0.0
    for m in range(n_other):
        total += np.float64(chords[0, m, k]) / nodes[m, 0]
    slopes[k] = total
    stale[k] = 0.0


@nb.njit(**OPTIONS)
def bound_weights(links: Floats, zeros: Floats, bounds: Bounds, out: Singles) -> None:
    """Write an upper bound on the log probability of an object's links and zeros, for each cluster that it may join."""
    sizes, nodes, empty, whole, chords, slopes, _ = bounds
    n_own = whole.shape[0]
    # Up to the first node a chord is straight, so what an object has of every cluster is bounded for all at once. The
    # start spreads a share of the links over all clusters: cluster by cluster, it would take K L additions an object.
    spread = np.inf
    for m in range(sizes.shape[0]):
        observed = min((links[m] + zeros[m]) / max(sizes[m], 1e-12), 1.0)
        spread = min(spread, links[m], observed * nodes[m, 0])
    spread = spread if spread > 1e-9 else 0.0
    shared = np.float32(spread)
    for k in range(n_own):
        out[k] = whole[k] + shared * slopes[k]
    for m in range(sizes.shape[0]):
        n = links[m]
        observed = (n + zeros[m]) / max(sizes[m], 1e-12)
        if observed < 1.0 - 1e-9:
            less = np.float32(observed - 1.0)
            for k in range(n_own):
                out[k] += less * empty[m, k]
        if n > spread + 1e-9:
            n = min(n / observed, nodes[m, nodes.shape[1] - 1])
            j = 0
            while nodes[m, j] < n:
                j += 1
            before = nodes[m, j - 1] if j else 0.0
            near = (n - before) / (nodes[m, j] - before)
            upper = np.float32(observed * near)
            if j:
                lower = np.float32(observed * (1.0 - near))
                for k in range(n_own):
                    out[k] += lower * chords[j - 1, m, k] + upper * chords[j, m, k]
            else:
                for k in range(n_own):
                    out[k] += upper * chords[j, m, k]
            if spread > 0.0:
                shared = np.float32(spread / nodes[m, 0])
                for k in range(n_own):
                    out[k] -= shared * chords[0, m, k]
