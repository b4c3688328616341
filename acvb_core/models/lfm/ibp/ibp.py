"""Accelerated Gibbs sampling for the linear Gaussian model under the Indian buffet process."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from acvb_core.core.clusters import order_by_size
from acvb_core.core.protocols import Poll, Posterior, SweepInfo, UnaveragedMethod, no_poll
from acvb_core.models.lfm.cells import Cells, Floats
from acvb_core.models.lfm.ibp.features import draw_features, flip_features, log_joint
from acvb_core.models.lfm.ibp.kernels import Bits
from acvb_core.models.lfm.ibp.weights import WeightPosterior, Widths, draw_weights, moments, weight_posterior
from acvb_core.models.lfm.state import build_posterior

#: Shape and rate of the Gamma priors: of the noise precisions; of the precision of the weights and, on its own, of the
#: baselines; of alpha. The rates of the first two are in units of the variances of the columns and of their mean.
NOISE_PRIOR = (1.0, 0.1)
WEIGHT_PRIOR = (1.0, 1.0)
ALPHA_PRIOR = (1.0, 1.0)
#: The prior of a noise variance further counts this many cells for each known one, of the column's own variance.
PSEUDO = 0.1

#: A run begins with this many features, or the limit of them, each with a random half of the objects.
START = 10
#: In this share of the burn-in, every so many sweeps, a run tries to drop one of its features …
PRUNE_UNTIL, PRUNE_EVERY = 0.75, 5
#: … after so many passes over the others.
PRUNE_PASSES = 3
#: A feature of a share between these is shown from the side on which its large weights are positive.
EITHER_SIDE = (1.0 / 3.0, 2.0 / 3.0)


@dataclass(frozen=True, eq=False)
class IbpState:
    """One sample, and the weights given it."""

    z: Bits  #: shape (N, K); every feature has an object; the most frequent comes first
    widths: Widths
    alpha: float
    #: `weights`, `variance`: shape (K + 1, D); mean and variance of the weights given the rest of the sample; the
    #: baseline's first.
    weights: Floats
    variance: Floats
    sweeps: int = 0  #: sweeps done


@dataclass(frozen=True, eq=False)
class IbpGibbs(UnaveragedMethod):
    """Gibbs sampler of the features that objects have, bound to the cells of a table (an `Algorithm`).

    The weights are integrated out while features are drawn (`visit`), from their posterior given all other objects;
    then drawn, for the noise, their variance and alpha to be drawn given them. The answer and its predictions use
    their mean and variance given the sample: a draw of them would only add noise.

    Entries that change one at a time seldom leave a state in which, say, eight features do the work of four. So in
    the first part of the burn-in the sampler now and then drops a feature, if that raises the joint probability once
    the others have been drawn anew. This is no move of the Markov chain, which begins after it.

    The draw of alpha ignores the limit of features. The prior of the noise variances adds a tenth of the number of
    cells, all of them noise. Without it, columns that are constant but for a few objects end with hardly any noise, and
    unseen cells that differ are then most improbable (digits: -36 nats a cell in place of -1.2).

    Every column has a posterior of its own, and a sweep costs O(N D K^2).

    Reference: Doshi-Velez and Ghahramani, ICML 2009; Griffiths and Ghahramani, JMLR 2011, for the births and alpha.
    """

    cells: Cells
    k_max: int = 0  #: limit of the features alive; 0 takes the smaller of the numbers of objects and columns
    alpha: float = 1.0  #: start value
    noise: str = "columns"  #: "columns": every column has a noise variance of its own
    learn: bool = True  #: draw alpha, or hold it at its start value
    burn_in: int = 0  #: sweeps that are not kept, in which the sampler may look for a good start
    noise_sd: float = 0.0  #: what the noise is held at, in standard deviations of a column; 0 draws it

    @property
    def most(self) -> int:
        """Limit of the features alive."""
        return self.k_max or min(self.cells.values.shape)

    @cached_property
    def scales(self) -> Floats:
        """Scale of the priors: the variance of each column's known cells; the sampler's test overrides it."""
        return self.cells.variance

    @property
    def scale(self) -> float:
        """Mean scale of the columns."""
        return float(self.scales.mean())

    def init(self, rng: np.random.Generator, poll: Poll = no_poll) -> IbpState:
        """Return a sample of random features; the noise explains all cells so far."""
        n = self.cells.n_objects
        z = (rng.random((n, min(START, self.most))) < 0.5).astype(np.int8)
        z = z[:, z.any(axis=0)]
        noise = self.noise_sd**2 * self.scales if self.noise_sd else self.scales
        widths = Widths(noise, self.scale, self.scale)
        return _state(z, self._weights(z, widths, poll), widths, self.alpha, 0)

    def sweep(
        self, state: IbpState, rng: np.random.Generator, poll: Poll = no_poll
    ) -> tuple[IbpState, SweepInfo]:
        """Draw the noise, the variances and alpha, then every object's features."""
        before, widths = self._draw_widths(state, self._weights(state.z, state.widths, poll), rng)
        alpha = self._draw_alpha(before.shape[1], rng) if self.learn else state.alpha
        sweeps = state.sweeps + 1
        z, posterior, changed = self._draw(before, widths, alpha, self.most, rng, poll)
        new, moves = _state(z, posterior, widths, alpha, sweeps), None
        if sweeps < PRUNE_UNTIL * self.burn_in and sweeps % PRUNE_EVERY == 0 and z.shape[1]:
            pruned = self._prune(new, rng, poll)
            if pruned is not None:
                new, moves = pruned, {"dropped": 1}
        entries = len(z) * max(z.shape[1], before.shape[1], 1)
        return new, SweepInfo(None, None, change=changed / entries, moves=moves)

    def posterior(self, state: IbpState) -> Posterior:
        """Return the sample, the most frequent feature first."""
        z, weights = choose_sides(state.z.astype(np.float64), state.weights)
        share, noise = z.mean(axis=0), state.widths.noise
        order = order_by_size(z.sum(axis=0))
        return build_posterior(
            np.ascontiguousarray(z[:, order]),
            weights[1:][order],
            share[order],
            weights[0],
            1.0 / noise,
            weight_variance=state.variance[1:][order],
            hyper={
                "noise": float(np.sqrt(noise).mean()),
                "alpha": state.alpha,
                "weight_sd": math.sqrt(state.widths.weights),
            },
        )

    def _weights(self, z: Bits, widths: Widths, poll: Poll) -> WeightPosterior:
        return weight_posterior(moments(self.cells, z, poll), widths, poll)

    def _draw(
        self,
        z: Bits,
        widths: Widths,
        alpha: float,
        most: int,
        rng: np.random.Generator,
        poll: Poll,
    ) -> tuple[Bits, WeightPosterior, int]:
        posterior = self._weights(z, widths, poll)
        return draw_features(self.cells, z, posterior, widths, alpha, most, rng, poll)

    def _draw_widths(
        self, state: IbpState, posterior: WeightPosterior, rng: np.random.Generator
    ) -> tuple[Bits, Widths]:
        """Draw the weights, the sides of the features, and all variances given them."""
        z, drawn = flip_features(state.z, draw_weights(posterior, rng), state.widths.bias, rng)
        cells = self.cells
        error = cells.values - drawn[0] - z.astype(np.float64) @ drawn[1:]
        if cells.observed is not None:
            error *= cells.observed
        noise = state.widths.noise if self.noise_sd else self._draw_noise(error, rng)
        drawn_squares = drawn**2
        weights = _draw_variance(drawn_squares[1:].sum(), drawn[1:].size, WEIGHT_PRIOR, self.scale, rng)
        bias = _draw_variance(drawn_squares[0].sum(), cells.n_columns, WEIGHT_PRIOR, self.scale, rng)
        return z, Widths(np.broadcast_to(noise, (cells.n_columns,)).copy(), float(weights), float(bias))

    def _draw_noise(self, error: Floats, rng: np.random.Generator) -> Floats:
        cells = self.cells
        squares, number, scale = np.einsum("nd,nd->d", error, error), cells.per_column, self.scales
        if self.noise == "one":
            squares, number = squares.sum(keepdims=True), number.sum(keepdims=True)
            scale = scale.mean(keepdims=True)
        noise: Floats = _draw_variance(
            squares + PSEUDO * number * scale, (1.0 + PSEUDO) * number, NOISE_PRIOR, scale, rng
        )
        return noise

    def _draw_alpha(self, n_features: int, rng: np.random.Generator) -> float:
        shape, rate = ALPHA_PRIOR
        harmonic = float((1.0 / np.arange(1, self.cells.n_objects + 1)).sum())
        return float(rng.gamma(shape + n_features)) / (rate + harmonic)

    def _prune(self, state: IbpState, rng: np.random.Generator, poll: Poll) -> IbpState | None:
        """Return the sample without a random feature and the others drawn anew, or None if it is less probable."""
        n_features, widths, alpha = state.z.shape[1], state.widths, state.alpha
        z = np.delete(state.z, rng.integers(n_features), axis=1)
        for _ in range(PRUNE_PASSES):
            z, posterior, _ = self._draw(z, widths, alpha, n_features - 1, rng, poll)
        now, new = (
            log_joint(self.cells, each, known, weight_posterior(known, widths, poll), widths, alpha)
            for each, known in ((each, moments(self.cells, each, poll)) for each in (state.z, z))
        )
        return _state(z, posterior, widths, alpha, state.sweeps) if new > now else None


def _draw_variance(
    squares: Any, number: Any, prior: tuple[float, float], scale: Any, rng: np.random.Generator
) -> Any:
    """Draw variances given sums of squares; the precisions' priors are Gamma."""
    shape, rate = prior
    return (rate * scale + 0.5 * squares) / rng.gamma(shape + 0.5 * number)


def _state(z: Bits, posterior: WeightPosterior, widths: Widths, alpha: float, sweeps: int) -> IbpState:
    """Return a sample with its features in the order of their sizes."""
    order = order_by_size(z.sum(axis=0))
    slots = np.concatenate([[0], 1 + order])
    return IbpState(
        np.ascontiguousarray(z[:, order]),
        widths,
        alpha,
        posterior.mean[slots],
        posterior.variances()[slots],
        sweeps,
    )


def choose_sides(z: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return z (N, K) and weights (K + 1, D), features of about half the objects on their side of positive weights.

    A feature and its opposite explain the data equally well, and are as probable if both are as frequent; the sum of
    cubes decides, so that large weights count. The first weights are the baseline's.
    """
    share = z.mean(axis=0)
    over = (weights[1:] ** 3).sum(axis=1) < 0.0
    over &= (share > EITHER_SIDE[0]) & (share < EITHER_SIDE[1])
    weights = weights.copy()
    weights[0] += weights[1:][over].sum(axis=0)
    weights[1:][over] *= -1.0
    return np.where(over, 1.0 - z, z), weights
