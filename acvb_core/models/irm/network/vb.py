"""Plain variational Bayes for networks: explicit q(v) and q(theta), objects updated one by one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numba as nb
import numpy as np
from numpy.typing import NDArray
from scipy.special import psi

from acvb_core.core.protocols import Checkpoint
from acvb_core.models.irm.kernels import OPTIONS, Floats, normalise
from acvb_core.models.irm.network.kernels import IN_ONES, IN_ZEROS, OUT_ONES, OUT_ZEROS, Indices, bring
from acvb_core.models.irm.network.model import NetworkPass
from acvb_core.models.irm.state import IrmState, block_counts
from acvb_core.models.irm.sweeping import VariationalMethod
from acvb_core.models.irm.vb import expected_log_shares

#: Nanoseconds of a multiplication and addition of the kernel, by which its calls are cut.
_NS = 1.0


@dataclass(frozen=True)
class VariationalNetwork(VariationalMethod):
    """VB of the one-domain IRM bound to a network (an `Inference`).

    Objects are neighbours of each other, so that updating all at once could lower the bound: they are updated one by
    one, under q(v) and q(theta) at their optimum for the responsibilities before the sweep. No step lowers the bound.

    References
    ----------
    IRM14 §2.2.1 and §4.
    """

    keep_bound = True

    def update(
        self, state: IrmState, rng: np.random.Generator, checkpoint: Checkpoint
    ) -> tuple[IrmState, float | None]:
        """Update every object in a fresh random order."""
        objects = NetworkPass(self.relation, state)
        log_total = psi(objects.beta_ones + objects.beta_zeros)
        log_one, log_zero = psi(objects.beta_ones) - log_total, psi(objects.beta_zeros) - log_total
        shares = expected_log_shares(objects.mass, objects.alpha)
        visits = rng.permutation(len(objects.q))
        length = objects.chunk_length(len(shares), _NS)
        for begin in range(0, len(visits), length):
            _coordinate_ascent(
                visits[begin : begin + length], objects.q, objects.pointers, objects.indices, objects.own,
                log_one, log_zero, shares, objects.mass, objects.directed,
            )  # fmt: skip
            checkpoint()
        q = {self.layout.axes[0]: objects.q}
        ones, entries = block_counts(self.relation, q, self.layout, checkpoint)
        return replace(state, q=q, ones=ones, entries=entries), None


@nb.njit(**OPTIONS)
def _coordinate_ascent(
    objects: NDArray[np.int64],
    q: Floats,
    pointers: tuple[Indices, Indices, Indices, Indices],
    indices: tuple[Indices, Indices, Indices, Indices],
    own: Floats,
    log_one: Floats,
    log_zero: Floats,
    shares: Floats,
    mass: Floats,
    directed: bool,
) -> None:
    """Update some objects; `log_one`, `log_zero`: E log theta_kl, E log(1 - theta_kl), shape (K, K)."""
    n_clusters = mass.shape[0]
    brought, weights = np.empty((4, n_clusters)), np.empty(n_clusters)
    for visit in range(objects.shape[0]):
        i = objects[visit]
        bring(i, pointers, indices, q, mass, directed, brought)
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
