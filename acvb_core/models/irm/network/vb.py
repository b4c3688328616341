"""Plain variational Bayes for networks: explicit q(v) and q(theta), objects updated one by one."""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.models.irm.kernels import OPTIONS, Floats, normalise
from acvb_core.models.irm.network.kernels import (
    IN_ONES,
    IN_ZEROS,
    OUT_ONES,
    OUT_ZEROS,
    NetworkLinks,
    sum_object_links,
)


@nb.njit(**OPTIONS)
def coordinate_ascent(
    objects: NDArray[np.int64],
    q: Floats,
    links: NetworkLinks,
    log_one: Floats,
    log_zero: Floats,
    shares: Floats,
    mass: Floats,
) -> None:
    """Update some objects of a network under fixed q(v) and q(theta).

    `q`: shape (N, K); responsibilities, changed in place, as is their sum `mass`, shape (K,).
    `log_one`, `log_zero`: shape (K, K); E log theta_kl and E log(1 - theta_kl).
    `shares`: shape (K,); E log pi_k.
    """
    own, directed = links.own, links.directed
    n_clusters = mass.shape[0]
    brought, weights = np.empty((4, n_clusters)), np.empty(n_clusters)
    for visit in range(objects.shape[0]):
        i = objects[visit]
        sum_object_links(i, links, q, mass, brought)
        for k in range(n_clusters):
            weight = shares[k] + own[i, 0] * log_one[k, k] + own[i, 1] * log_zero[k, k]
            for m in range(n_clusters):
                weight += brought[OUT_ONES, m] * log_one[k, m] + brought[OUT_ZEROS, m] * log_zero[k, m]
            if directed:
                for m in range(n_clusters):
                    weight += brought[IN_ONES, m] * log_one[m, k] + brought[IN_ZEROS, m] * log_zero[m, k]
            weights[k] = weight
        normalise(weights)
        for k in range(n_clusters):
            mass[k] += weights[k] - q[i, k]
            q[i, k] = weights[k]
