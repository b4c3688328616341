"""Plain variational Bayes for the IRM of one domain or two: explicit q(v) and q(theta)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from acvb_core.core.protocols import Poll
from acvb_core.core.spec import Values
from acvb_core.models.irm.cvb import VariationalMethod, read_variational_settings
from acvb_core.models.irm.kernels import Floats, cluster_sums
from acvb_core.models.irm.network import NetworkPass, coordinate_ascent
from acvb_core.models.irm.state import IrmState, block_counts, observed_sums

#: Nanoseconds of a multiplication and addition of the network's kernel, which limit the objects of a call.
_NS = 1.0


@dataclass(frozen=True)
class VariationalIrm(VariationalMethod):
    """VB bound to a relation (an `Algorithm`).

    The conjugate factors q(v), q(theta) follow from the counts and are never stored. Every update takes them at their
    optimum, so the lower bound of a state is that of the whole factorisation, and no step of a sweep lowers it. A
    network's objects are neighbours of each other: to update all at once could lower the bound.

    Reference: IRM14 §4, eqs. 50-57; networks: §2.2.1.
    """

    explicit = True
    keep_bound = True

    def update(self, state: IrmState, rng: np.random.Generator, poll: Poll) -> tuple[IrmState, float | None]:
        """Update all rows at once, q(v) and q(theta), all columns, q(v) and q(theta); a network's objects in turn."""
        if self.layout.one_domain:
            return self._update_network(state, rng, poll), None
        hyper = state.hyper
        a, b = hyper.blocks(state.ones.shape)
        rows, cols = (state.q[domain] for domain in self.layout.axes)
        links, zeros = observed_sums(self.relation, cols, poll)
        n, n_zero = cluster_sums(rows, links), cluster_sums(rows, zeros)
        logs = expected_logs(a + n, b + n_zero, hyper.is_gamma)
        rows = update_domain(rows.sum(axis=0), links, zeros, *logs, hyper.alpha["rows"])
        if self.schedule == "domains":  # the paper updates q(theta) after both
            n, n_zero = cluster_sums(rows, links), cluster_sums(rows, zeros)
            logs = expected_logs(a + n, b + n_zero, hyper.is_gamma)
        links, zeros = observed_sums(self.relation.transposed, rows, poll)
        log_one, log_zero = logs
        cols = update_domain(cols.sum(axis=0), links, zeros, log_one.T, log_zero.T, hyper.alpha["cols"])
        ones = np.ascontiguousarray(cluster_sums(cols, links).T)
        entries = ones + cluster_sums(cols, zeros).T
        return replace(state, q={"rows": rows, "cols": cols}, ones=ones, entries=entries), None

    def _update_network(self, state: IrmState, rng: np.random.Generator, poll: Poll) -> IrmState:
        """Update every object in a fresh random order, under q(v) and q(theta) as they were before the sweep."""
        objects = NetworkPass(self.relation, state)
        log_one, log_zero = expected_logs(*objects.blocks[:2], objects.blocks.is_gamma)
        mass = objects.blocks.mass
        shares = expected_log_shares(mass, objects.alpha)
        order, length = rng.permutation(len(objects.q)), objects.chunk_length(len(shares), _NS)
        for begin in range(0, len(order), length):
            chunk = order[begin : begin + length]
            coordinate_ascent(chunk, objects.q, objects.links, log_one, log_zero, shares, mass, objects.reach)
            poll()
        q = {self.layout.axes[0]: objects.q}
        ones, entries = block_counts(self.relation, q, self.layout, poll)
        return replace(state, q=q, ones=ones, entries=entries)


def expected_logs(beta_ones: Floats, beta_zeros: Floats, is_gamma: bool) -> tuple[Floats, Floats]:
    """Return E log theta and E log(1 - theta) under Beta(beta_ones, beta_zeros).

    Of a rate under Gamma(beta_ones, beta_zeros): E log lambda and -E lambda, which a count and its exposure multiply.
    """
    from scipy.special import psi  # slow to import

    if is_gamma:
        return psi(beta_ones) - np.log(beta_zeros), -beta_ones / beta_zeros
    log_total = psi(beta_ones + beta_zeros)
    return psi(beta_ones) - log_total, psi(beta_zeros) - log_total


def update_domain(
    mass: Floats, links: Floats, zeros: Floats, log_one: Floats, log_zero: Floats, alpha: float
) -> Floats:
    """Return new responsibilities of a domain, shape (N, K), given everything else.

    log q_ik = E log pi_k + sum_l n+_il E log theta_kl + N+_il E log(1 - theta_kl) + const, with the expectations from
    `expected_logs`, shape (K, L), and q(v) the conjugate factor of clusters of sizes `mass`.
    """
    weights = links @ log_one.T
    weights += zeros @ log_zero.T
    weights += expected_log_shares(mass, alpha)
    weights -= weights.max(axis=1, keepdims=True)
    np.exp(weights, out=weights)
    weights /= weights.sum(axis=1, keepdims=True)
    return np.ascontiguousarray(weights)


def expected_log_shares(mass: Floats, alpha: float) -> Floats:
    """Return E log pi_k under q(v_k) = Beta(1 + m_k, alpha + M_k) with v_K = 1, shape (K,)."""
    from scipy.special import psi

    beyond = np.maximum(mass.sum() - np.cumsum(mass), 0.0)
    log_total = psi(1.0 + mass + alpha + beyond)
    stick = psi(1.0 + mass) - log_total
    left = psi(alpha + beyond) - log_total
    stick[-1] = 0.0
    return stick + np.concatenate([[0.0], np.cumsum(left[:-1])])


def build_vb(data: Any, values: Values) -> VariationalIrm:
    """Return VB on data, with the values of its parameters."""
    return VariationalIrm(**read_variational_settings(data, values))
