"""The state of FAB and EM, their lower bound, and the posterior of any method."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from acvb_core.core.protocols import Array, Poll, Posterior, no_poll
from acvb_core.models.lfm.cells import Cells, Floats
from acvb_core.models.lfm.kernels import negative_entropy
from acvb_core.models.lfm.least_squares import Fit, fit_weights

FEATURES = "features"
AXES: dict[str, tuple[str | None, ...]] = {
    "objects": (None, FEATURES),
    "weights": (FEATURES, None),
    "pi": (FEATURES,),
    "bias": (None,),
    "precision": (None,),
    "weight_variance": (FEATURES, None),
    "bound": (None,),
    "in_samples": (FEATURES,),
}
_LOG_2PI = math.log(2.0 * math.pi)


@dataclass(frozen=True)
class Penalty:
    """Penalty of a bound for features: the factorised information criterion, or nothing."""

    regularised: bool = True  #: FAB; without it the method is EM
    #: Count the noise precision's part of the criterion's Hessian ("dof"); the paper leaves it out.
    freedom: bool = True

    def slope(self, cells: Cells) -> float:
        """Return D / 2 for FAB, 0 for EM."""
        return 0.5 * cells.n_columns if self.regularised else 0.0

    def lost_degrees(self, n_features: int) -> int:
        """Return the degrees of freedom that the noise precision loses."""
        return n_features if self.regularised and self.freedom else 0

    def terms(self, cells: Cells, shares: Floats, fit: Fit) -> float:
        """Return the terms beside the expected log likelihood and the entropy, in nats (HF13 eq. 9).

        - D/2 sum_k log(N pi_k) - (2 sum_d log N_d + K log N) / 2, and with `freedom` also
        - K/2 sum_d log(lambda_d s_d^2): the Hessian of column d's weights is lambda_d sum_n z z', and their prior is
        as wide as the column, s_d.
        """
        if not self.regularised:
            return 0.0
        n, n_features = cells.n_objects, len(shares)
        terms = -self.slope(cells) * float(np.log(n * np.maximum(shares, 1e-300)).sum())
        terms -= float(np.log(np.maximum(cells.per_column, 1.0)).sum()) + 0.5 * n_features * math.log(n)
        if self.freedom:
            terms -= 0.5 * n_features * float(np.log(fit.precision * cells.variance).sum())
        return terms


@dataclass(frozen=True, eq=False)
class FabState:
    """E[z] with the weights, baseline, noise and shares that are best for it."""

    mu: Floats  #: shape (K, N); E[z]: features by objects, largest share first
    fit: Fit
    bound: float  #: in nats
    sweeps: int = 0
    still: bool = False  #: the number of features was the same after the last two sweeps
    moves_over: bool = False  #: no move raised the bound since the number last changed
    #: Features whose two sides are as good were flipped to the side with a positive sum of weights.
    turned: bool = False

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.mu)

    @property
    def shares(self) -> Floats:
        """Share of the objects that have each feature (pi), shape (K,)."""
        return np.asarray(self.mu.mean(axis=1))

    def with_activations(
        self,
        cells: Cells,
        mu: Floats,
        penalty: Penalty,
        poll: Poll = no_poll,
        **changes: Any,
    ) -> FabState:
        """Return the state after an M step for other E[z]."""
        mu = np.ascontiguousarray(mu)
        fit = fit_weights(cells, mu, self.fit, lost=penalty.lost_degrees(len(mu)), poll=poll)
        return replace(self, mu=mu, fit=fit, bound=lower_bound(cells, mu, fit, penalty), **changes)


def lower_bound(cells: Cells, mu: Floats, fit: Fit, penalty: Penalty, shares: Floats | None = None) -> float:
    """Return E log p(X | Z) + E log p(Z | pi) + H(q) + the penalty's terms, in nats (HF13 eq. 9).

    `mu`: shape (K, N).
    `shares`: shape (K,); pi, where it is not the mean of `mu` over objects.
    """
    totals = mu.sum(axis=1)
    tight = shares is None
    pi = totals / cells.n_objects if shares is None else shares
    p = np.clip(pi, 1e-300, 1.0 - 1e-16)
    bound = 0.5 * float((cells.per_column * (np.log(fit.precision) - _LOG_2PI)).sum())
    bound -= 0.5 * float((fit.precision * fit.squared_error).sum())
    bound += float((totals * np.log(p) + (cells.n_objects - totals) * np.log1p(-p)).sum())
    bound -= negative_entropy(mu)
    bound += penalty.terms(cells, pi, fit)
    if not tight:
        # log sum mu is bounded by its tangent at N pi.
        bound -= penalty.slope(cells) * float(((totals / cells.n_objects - pi) / p).sum())
    return bound


def build_posterior(
    objects: Array,
    weights: Array,
    pi: Array,
    bias: Array,
    precision: Array,
    *,
    bound: float | None = None,
    weight_variance: Array | None = None,
    hyper: dict[str, float] | None = None,
) -> Posterior:
    """Return the posterior of a method for latent features, on the standardised scale.

    `objects`: shape (N, K); E[z].
    `weights`, `weight_variance`: shape (K, D); mean and, if the method has it, variance of the weights.
    `pi`: shape (K,); share of the objects that have each feature.
    `bias`, `precision`: shape (D,); baseline and noise precision of each column.
    `bound`: the method's own lower bound of log p(cells), in nats.
    `hyper`: the method's own hyper-parameters; "noise" is the mean standard deviation by default.
    """
    arrays = {"objects": objects, "weights": weights, "pi": pi, "bias": bias, "precision": precision}
    if weight_variance is not None:
        arrays["weight_variance"] = weight_variance
    if bound is not None:
        arrays["bound"] = np.array([bound])
    noise = {"noise": float(np.sqrt(1.0 / precision).mean())}
    return Posterior(
        arrays,
        {name: AXES[name] for name in arrays},
        ("objects",),
        () if bound is None else ("bound",),
        noise | (hyper or {}),
        normalised=False,
    )
