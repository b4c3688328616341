"""The most probable sample of the Indian buffet process as the answer, in place of the mean of the samples."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln

from acvb_core.core.protocols import Poll, Posterior, SweepInfo, UnaveragedMethod, no_poll
from acvb_core.core.rows import Values
from acvb_core.models.lfm.cells import Cells
from acvb_core.models.lfm.feature_mean import FeatureMean
from acvb_core.models.lfm.ibp.features import log_joint
from acvb_core.models.lfm.ibp.ibp import NOISE_PRIOR, PSEUDO, WEIGHT_PRIOR, IbpGibbs, IbpState
from acvb_core.models.lfm.ibp.weights import moments, weight_posterior

_LOG_2PI = math.log(2.0 * math.pi)


@dataclass(frozen=True, eq=False)
class BestState:
    """The current sample, and the most probable one so far."""

    inner: IbpState
    best: IbpState
    log_probability: float  #: of the best one, in nats


@dataclass(frozen=True)
class BestSample(UnaveragedMethod):
    """IBP sampling answered by its most probable sample (an `Algorithm`), as HF13 §4 takes it.

    Samples compare by `log_probability`: of the features, the variances, and alpha where it is drawn.
    """

    inner: IbpGibbs

    def init(self, rng: np.random.Generator, poll: Poll = no_poll) -> BestState:
        """Return the first sample, which is the best so far."""
        first = self.inner.init(rng, poll)
        return BestState(first, first, log_probability(self.inner, first, poll))

    def sweep(
        self, state: BestState, rng: np.random.Generator, poll: Poll = no_poll
    ) -> tuple[BestState, SweepInfo]:
        """Draw the next sample; keep it where it is more probable than all before."""
        drawn, info = self.inner.sweep(state.inner, rng, poll)
        found = log_probability(self.inner, drawn, poll)
        if found > state.log_probability:
            return BestState(drawn, drawn, found), info
        return BestState(drawn, state.best, state.log_probability), info

    def posterior(self, state: BestState) -> Posterior:
        """Return the most probable sample."""
        return self.inner.posterior(state.best)

    def current(self, state: BestState) -> Posterior:
        """Return the last sample."""
        return self.inner.posterior(state.inner)


def log_probability(method: IbpGibbs, state: IbpState, poll: Poll = no_poll) -> float:
    """Return the log density of the cells, the features and what is drawn beside them, weights integrated out (nats).

    Features that the same objects have are counted as if they were told apart (a factor of their orders is left out).
    """
    cells, widths = method.cells, state.widths
    known = moments(cells, state.z, poll)
    value = log_joint(cells, state.z, known, weight_posterior(known, widths, poll), widths, state.alpha)
    squares = np.einsum("nd,nd->d", cells.values, cells.values)
    value -= 0.5 * float(
        (cells.per_column * (_LOG_2PI + np.log(widths.noise)) + squares / widths.noise).sum()
    )
    harmonic = float((1.0 / np.arange(1, cells.n_objects + 1)).sum())
    value -= state.alpha * harmonic
    if method.learn:
        value -= state.alpha  # its prior Gamma(1, 1)
    shape, rate = WEIGHT_PRIOR
    value += sum(
        _log_gamma(1.0 / width, shape, rate * method.scale) for width in (widths.weights, widths.bias)
    )
    return value + _log_noise_prior(method, cells, widths.noise)


def _log_noise_prior(method: IbpGibbs, cells: Cells, noise: Any) -> float:
    """Return the log density of the noise precisions; 0 where the noise is held."""
    if method.noise_sd:
        return 0.0
    number, scale = cells.per_column, method.scales
    if method.noise == "one":
        number, scale, noise = number.sum(keepdims=True), scale.mean(keepdims=True), noise[:1]
    shape, rate = NOISE_PRIOR
    shapes = shape + 0.5 * PSEUDO * number
    rates = rate * scale + 0.5 * PSEUDO * number * scale
    return float(sum(map(_log_gamma, 1.0 / noise, shapes, rates)))


def _log_gamma(x: float, shape: float, rate: float) -> float:
    """Return the log density of a Gamma distribution."""
    return float(shape * math.log(rate) - gammaln(shape) + (shape - 1.0) * math.log(x) - rate * x)


def build_ibp(data: Any, values: Values) -> FeatureMean | BestSample:
    """Return IBP sampling on data, with the values of its parameters."""
    sampler = IbpGibbs(
        Cells.of(data),
        values["k_max"],
        values["alpha"],
        values["noise"],
        values["learn_alpha"],
        values["burn_in"],
        values["noise_sd"],
    )
    return BestSample(sampler) if values["answer"] == "best" else FeatureMean(sampler, values["burn_in"])
