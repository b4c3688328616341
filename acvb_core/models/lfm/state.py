"""The state of FAB and EM: least squares for the weights, the lower bound, the posterior."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg

from acvb_core.core.protocols import Array, Poll, Posterior, no_poll
from acvb_core.models.lfm.kernels import LOG_2PI, Floats, StandardisedTable, negative_entropy

#: Ridge on every coefficient, for each object: what keeps features without objects from being singular.
RIDGE = 1e-9
#: Multiplications up to which cells that are missing are handled exactly, each column with a matrix of its own; beyond,
#: by conjugate gradients, which cost a fraction of it.
_EXACT_UP_TO = 1e7
#: Conjugate gradients stop at this residual, relative to the right-hand side, or after so many steps.
_RESIDUAL = 1e-6
_STEPS = 60
#: Products of two features for an object that are held at a time, where cells are missing.
_AT_ONCE = 1_000_000
#: Objects whose products are taken at a time, so that a run can be paused between two pieces.
_PIECE = 16_384


@dataclass(frozen=True, eq=False)
class Fit:
    """Weights, baseline and noise that are best for given E[z]."""

    weights: Floats  #: shape (K, D)
    #: `bias`, `precision`: shape (D,); baseline b, noise precision lambda.
    bias: Floats
    precision: Floats
    squared_error: Floats  #: shape (D,); E sum (x - W z - b)^2 over each column's known cells


def fit_weights(
    cells: StandardisedTable,
    mu: Floats,
    start: Fit | None = None,
    *,
    lost: int = 0,
    poll: Poll = no_poll,
) -> Fit:
    """Return the weights, baseline and noise precision that maximise the expected log likelihood.

    W and b together solve (Z Z' + V) theta_d = Z x_d over the known cells of column d, with a row of ones in Z = mu
    and V = diag(sum mu - mu^2): E[z z'] summed (HF13, M step).

    `mu`: shape (K, N); E[z].
    `start`: first values of conjugate gradients (used for large tables with missing cells only).
    `lost`: degrees of freedom taken off each column's cells in the precision (K in mode "dof").
    """
    z = np.vstack([mu, np.ones((1, cells.n_objects))])
    products = _products(z, cells.values, poll)
    squares = np.einsum("nd,nd->d", cells.values, cells.values)
    uncertain = mu - mu * mu
    if cells.observed is None:
        theta, residual = _solve_complete(z, uncertain, products)
    elif z.shape[0] ** 2 * float(cells.n) < _EXACT_UP_TO:
        theta, residual = _solve_by_column(z, uncertain, products, cells.observed, poll)
    else:
        theta, residual = _solve_by_gradients(z, uncertain, products, cells.observed, start, poll)
    # E sum (x - z' theta)^2 = x'x - theta' (2 B - S theta), and S theta = B - residual.
    error = squares - np.einsum("kd,kd->d", theta, products + residual)
    error = np.maximum(error, 0.0)
    freedom = np.maximum(cells.per_column - lost, 1.0)
    least = freedom * cells.noise_floor**2 * cells.variance
    return Fit(theta[:-1], theta[-1], freedom / np.maximum(error, least), error)


def _products(z: Floats, values: Floats, poll: Poll) -> Floats:
    total = np.zeros((z.shape[0], values.shape[1]))
    for begin in range(0, len(values), _PIECE):
        poll()
        total += z[:, begin : begin + _PIECE] @ values[begin : begin + _PIECE]
    return total


def _solve_complete(z: Floats, uncertain: Floats, products: Floats) -> tuple[Floats, Floats]:
    """Solve for all columns at once: they share one matrix."""
    gram = z @ z.T
    gram[np.diag_indices(len(uncertain))] += uncertain.sum(axis=1)
    return _solve(gram, products, z.shape[1])


def _solve(gram: Floats, products: Floats, n_objects: int) -> tuple[Floats, Floats]:
    """Return the coefficients, and what they leave of the right-hand side (only the ridge's share of it)."""
    ridged = gram.copy()
    ridged[np.diag_indices(len(gram))] += RIDGE * n_objects
    # Not scipy.linalg.solve: it takes the right-hand sides one by one.
    theta = linalg.cho_solve(linalg.cho_factor(ridged, overwrite_a=True), products)
    return theta, products - gram @ theta


def _solve_by_column(
    z: Floats, uncertain: Floats, products: Floats, observed: Floats, poll: Poll
) -> tuple[Floats, Floats]:
    """Solve for each column over its own known cells: one product makes the matrices of all columns."""
    earlier, later = np.triu_indices(len(z))
    sums = np.zeros((len(earlier), products.shape[1]))
    some = max(1, _AT_ONCE // len(earlier))
    for begin in range(0, z.shape[1], some):
        poll()
        piece = z[:, begin : begin + some]
        sums += (piece[earlier] * piece[later]) @ observed[begin : begin + some]
    gram = np.empty((products.shape[1], len(z), len(z)))
    gram[:, earlier, later] = gram[:, later, earlier] = sums.T
    inner = np.arange(len(uncertain))
    gram[:, inner, inner] += (uncertain @ observed).T
    poll()
    wanted = products.T[:, :, None]
    solution = np.linalg.solve(gram + RIDGE * z.shape[1] * np.eye(len(z)), wanted)
    return solution[:, :, 0].T, (wanted - gram @ solution)[:, :, 0].T


def _solve_by_gradients(
    z: Floats,
    uncertain: Floats,
    products: Floats,
    observed: Floats,
    start: Fit | None,
    poll: Poll,
) -> tuple[Floats, Floats]:
    """Solve all columns at once by conjugate gradients.

    The preconditioner is the correlation of the features over all objects, with each column's own diagonal: all that
    is missing from it is by how much the correlation over the column's known cells differs. Begun at the coefficients
    before, no step raises the squared error, so that stopping early is safe.
    """
    spread = np.zeros_like(products)
    spread[:-1] = uncertain @ observed
    diagonal, gram = spread + RIDGE * z.shape[1], np.diag(np.append(uncertain.sum(axis=1), 0.0))
    for begin in range(0, z.shape[1], _PIECE):
        poll()
        piece = z[:, begin : begin + _PIECE]
        diagonal += (piece * piece) @ observed[begin : begin + _PIECE]
        gram += piece @ piece.T
    gram[np.diag_indices(len(z))] += RIDGE * z.shape[1]
    size, unit = np.sqrt(gram.diagonal()), 1.0 / np.sqrt(diagonal)
    factor = linalg.cho_factor(gram / np.outer(size, size), overwrite_a=True)

    def precondition(values: Floats) -> Floats:
        return np.asarray(unit * linalg.cho_solve(factor, unit * values, overwrite_b=True))

    def apply_gram(theta: Floats) -> Floats:
        total = (spread + RIDGE * z.shape[1]) * theta
        for begin in range(0, z.shape[1], _PIECE):
            poll()
            piece = z[:, begin : begin + _PIECE]
            fitted = piece.T @ theta
            fitted *= observed[begin : begin + _PIECE]
            total += piece @ fitted
        return total

    theta = np.zeros_like(products)
    if start is not None and start.weights.shape[0] == len(uncertain):
        theta = np.vstack([start.weights, start.bias])
    residual = products - apply_gram(theta)
    direction = precondition(residual)
    energy = np.einsum("kd,kd->d", residual, direction)
    enough = _RESIDUAL**2 * np.maximum(np.einsum("kd,kd->d", products, precondition(products)), 1e-300)
    for _ in range(_STEPS):
        open_ = energy > enough
        if not open_.any():
            break
        image = apply_gram(direction)
        curvature = np.einsum("kd,kd->d", direction, image)
        step = np.where(open_, energy / np.maximum(curvature, 1e-300), 0.0)
        theta = theta + step * direction
        residual -= step * image
        scaled = precondition(residual)
        now = np.einsum("kd,kd->d", residual, scaled)
        direction = scaled + (now / np.maximum(energy, 1e-300)) * direction
        energy = now
    return theta, residual + RIDGE * z.shape[1] * theta


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


@dataclass(frozen=True)
class Penalty:
    """Penalty of a bound for features: the factorised information criterion, or nothing."""

    regularised: bool = True  #: FAB; without it the method is EM
    #: Count the noise precision's part of the criterion's Hessian ("dof"); the paper leaves it out.
    freedom: bool = True

    def slope(self, cells: StandardisedTable) -> float:
        """Return D / 2 for FAB, 0 for EM."""
        return 0.5 * cells.n_columns if self.regularised else 0.0

    def lost_degrees(self, n_features: int) -> int:
        """Return the degrees of freedom that the noise precision loses."""
        return n_features if self.regularised and self.freedom else 0

    def terms(self, cells: StandardisedTable, shares: Floats, fit: Fit) -> float:
        """Return the terms other than the expected log likelihood and the entropy, in nats (HF13 eq. 9).

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
        cells: StandardisedTable,
        mu: Floats,
        penalty: Penalty,
        poll: Poll = no_poll,
        **changes: Any,
    ) -> FabState:
        """Return the state after an M step for other E[z]."""
        mu = np.ascontiguousarray(mu)
        fit = fit_weights(cells, mu, self.fit, lost=penalty.lost_degrees(len(mu)), poll=poll)
        return replace(self, mu=mu, fit=fit, bound=lower_bound(cells, mu, fit, penalty), **changes)


def lower_bound(
    cells: StandardisedTable, mu: Floats, fit: Fit, penalty: Penalty, shares: Floats | None = None
) -> float:
    """Return E log p(X | Z) + E log p(Z | pi) + H(q) + the penalty's terms, in nats (HF13 eq. 9).

    `mu`: shape (K, N).
    `shares`: shape (K,); pi, where it is not the mean of `mu` over objects.
    """
    totals = mu.sum(axis=1)
    tight = shares is None
    pi = totals / cells.n_objects if shares is None else shares
    p = np.clip(pi, 1e-300, 1.0 - 1e-16)
    bound = 0.5 * float((cells.per_column * (np.log(fit.precision) - LOG_2PI)).sum())
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
