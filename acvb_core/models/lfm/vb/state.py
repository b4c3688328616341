"""The priors and the state of variational Bayes for latent features, and its lower bound."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, gammaln, psi

from acvb_core.core.protocols import Poll, no_poll
from acvb_core.models.lfm.cells import Cells, Floats
from acvb_core.models.lfm.kernels import negative_entropy

_LOG_2PI = math.log(2.0 * math.pi)
#: Objects whose entropy is taken at a time.
_PIECE = 8192


@dataclass(frozen=True, eq=False)
class VbPrior:
    """The priors of shares and noise."""

    alpha: float  #: Pi_k ~ Beta(alpha / size, 1)
    size: int  #: number of features of the model (K), those that died included
    shape: float
    rate: Floats  #: shape (D,); lambda_d ~ Gamma(shape, rate_d)

    @classmethod
    def of(cls, cells: Cells, alpha: float, size: int, weight: float) -> VbPrior:
        """Return priors; that of the noise has the variance of the column, and counts for a share of its cells."""
        shape = 0.5 * weight * float(cells.per_column.mean())
        return cls(alpha, size, shape, shape * cells.variance)

    @property
    def first(self) -> float:
        """First parameter of the prior of pi."""
        return self.alpha / self.size


@dataclass(frozen=True, eq=False)
class VbState:
    """The factors of q after a whole sweep; nothing in it changes afterwards."""

    nu: Floats  #: shape (N, K); q(z_nk = 1)
    tau: Floats  #: shape (K, 2); q(pi_k) = Beta(tau_k1, tau_k2)
    #: `means`, `variances`: shape (K, D); of q(w_kd).
    means: Floats
    variances: Floats
    bias: Floats  #: shape (D,)
    #: `shape`, `rate`: shape (D,); q(lambda_d) = Gamma(shape_d, rate_d).
    shape: Floats
    rate: Floats
    variance: float  #: V, the prior variance of the weights
    bound: float = -math.inf  #: lower bound of log p(cells) in nats
    age: int = 0  #: sweeps done

    @property
    def precision(self) -> Floats:
        """E lambda, shape (D,)."""
        return self.shape / self.rate

    @property
    def pi(self) -> Floats:
        """E pi, shape (K,)."""
        return np.asarray(self.tau[:, 0] / self.tau.sum(axis=1))

    @property
    def log_odds(self) -> Floats:
        """E log pi - E log(1 - pi), shape (K,)."""
        return np.asarray(psi(self.tau[:, 0]) - psi(self.tau[:, 1]))


def lower_bound(cells: Cells, state: VbState, prior: VbPrior, errors: Floats, poll: Poll = no_poll) -> float:
    """Return E_q log p(x, z, w, pi, lambda) + H(q) in nats, whatever the factors of `state` are.

    `errors` (D,) is sum_n E (x_nd - sum_k z_nk w_kd - b_d)^2 over the known cells. No object has a feature that died,
    and its q(w) and q(pi) are at their best: it adds log p(z_.k = 0).
    """
    n = cells.n_objects
    log_precision = psi(state.shape) - np.log(state.rate)
    bound = 0.5 * float((cells.per_column * (log_precision - _LOG_2PI) - state.precision * errors).sum())
    bound -= _gamma_divergence(state, prior, log_precision)
    squares = state.means**2 + state.variances
    bound += 0.5 * float((1.0 + np.log(state.variances / state.variance) - squares / state.variance).sum())
    total = psi(state.tau.sum(axis=1))
    log_pi, log_rest = psi(state.tau[:, 0]) - total, psi(state.tau[:, 1]) - total
    mass, first = state.nu.sum(axis=0), prior.first
    bound += float(((mass + first - state.tau[:, 0]) * log_pi).sum())
    bound += float(((n - mass + 1.0 - state.tau[:, 1]) * log_rest).sum())
    bound += float(betaln(state.tau[:, 0], state.tau[:, 1]).sum()) - len(mass) * betaln(first, 1.0)
    for begin in range(0, n, _PIECE):
        poll()
        bound -= negative_entropy(state.nu[begin : begin + _PIECE])
    return float(bound + (prior.size - len(mass)) * (betaln(first, n + 1.0) - betaln(first, 1.0)))


def _gamma_divergence(state: VbState, prior: VbPrior, log_precision: Floats) -> float:
    """Return sum_d KL(q(lambda_d) || p(lambda_d)) in nats."""
    here = state.shape * np.log(state.rate) - gammaln(state.shape) + (state.shape - 1.0) * log_precision
    there = prior.shape * np.log(prior.rate) - gammaln(prior.shape) + (prior.shape - 1.0) * log_precision
    return float((here - there - (state.rate - prior.rate) * state.precision).sum())
