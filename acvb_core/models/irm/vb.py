"""Plain variational Bayes for the two-domain IRM: explicit q(v) and q(theta)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import psi

from acvb_core.core.protocols import Checkpoint
from acvb_core.models.irm.kernels import Floats
from acvb_core.models.irm.state import IrmState, observed_sums
from acvb_core.models.irm.sweeping import VariationalMethod


@dataclass(frozen=True)
class VariationalIrm(VariationalMethod):
    """VB bound to a relation (an `Inference`).

    The conjugate factors q(v), q(theta) are functions of the counts and are never stored: every update takes
    them at their optimum, so the lower bound of a state is that of the whole factorisation, and no step of a
    sweep lowers it.

    References
    ----------
    IRM14 §4, eqs. 50-57.
    """

    keep_bound = True

    def update(
        self, state: IrmState, rng: np.random.Generator, checkpoint: Checkpoint
    ) -> tuple[IrmState, float | None]:
        """Update all rows at once, q(v) and q(theta), all columns, q(v) and q(theta)."""
        hyper = state.hyper
        a, b = hyper.blocks(state.ones.shape)
        rows, cols = (state.q[domain] for domain in self.layout.axes)
        links, zeros = observed_sums(self.relation, cols, checkpoint)
        n, n_zero = rows.T @ links, rows.T @ zeros
        rows = update_domain(rows, links, zeros, a + n, b + n_zero, hyper.alpha["rows"])
        n, n_zero = rows.T @ links, rows.T @ zeros
        links, zeros = observed_sums(self.relation.transposed, rows, checkpoint)
        cols = update_domain(cols, links, zeros, (a + n).T, (b + n_zero).T, hyper.alpha["cols"])
        ones = np.ascontiguousarray((cols.T @ links).T)
        entries = ones + (cols.T @ zeros).T
        return replace(state, q={"rows": rows, "cols": cols}, ones=ones, entries=entries), None


def update_domain(
    own: Floats, links: Floats, zeros: Floats, beta_ones: Floats, beta_zeros: Floats, alpha: float
) -> Floats:
    """Return new responsibilities of a domain, shape (N, K), given everything else.

    log q_ik = E log pi_k + sum_l n+_il E log theta_kl + N+_il E log(1 - theta_kl) + const, with
    q(theta_kl) = Beta(beta_ones, beta_zeros), shape (K, L), and q(v) the conjugate factor of `own`.
    """
    log_total = psi(beta_ones + beta_zeros)
    weights = links @ (psi(beta_ones) - log_total).T
    weights += zeros @ (psi(beta_zeros) - log_total).T
    weights += expected_log_shares(own.sum(axis=0), alpha)
    weights -= weights.max(axis=1, keepdims=True)
    np.exp(weights, out=weights)
    weights /= weights.sum(axis=1, keepdims=True)
    return np.ascontiguousarray(weights)


def expected_log_shares(mass: Floats, alpha: float) -> Floats:
    """Return E log pi_k under q(v_k) = Beta(1 + m_k, alpha + M_k) with v_K = 1, shape (K,)."""
    beyond = np.maximum(mass.sum() - np.cumsum(mass), 0.0)
    log_total = psi(1.0 + mass + alpha + beyond)
    taken = psi(1.0 + mass) - log_total
    left = psi(alpha + beyond) - log_total
    taken[-1] = 0.0
    return taken + np.concatenate([[0.0], np.cumsum(left[:-1])])
