"""Draws of the concentrations of LDA given the topics of all tokens."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln

from acvb_core.core.protocols import Array
from acvb_core.core.slice_sampling import draw_slice
from acvb_core.models.lda.evaluate.evidence import log_gamma_gain
from acvb_core.models.lda.hyper import HIGH, LOW, Concentrations
from acvb_core.models.lda.kernels import Counts


def sample_concentrations(given: Concentrations, counts: Counts, rng: np.random.Generator) -> Concentrations:
    """Draw one alpha for all topics, then beta, by slice sampling of their logarithms under Gamma(1, 1) priors.

    `counts`: of a sample, whole numbers.
    """
    alpha = _draw(float(given.alpha.mean()), counts.by_document, rng)
    beta = _draw(given.beta, np.ascontiguousarray(counts.by_word.T), rng)
    return Concentrations.symmetric(len(given.alpha), alpha, beta)


def _draw(value: float, counts: Array, rng: np.random.Generator) -> float:
    """Draw the concentration of rows of counts, each from a symmetric Dirichlet-multinomial."""
    sizes, width = counts.sum(axis=1, dtype=np.float64), counts.shape[1]

    def log_density(log_value: float) -> float:
        concentration = math.exp(log_value)
        total = width * concentration
        gain = log_gamma_gain(counts, np.full(width, concentration))
        gain -= float((gammaln(sizes + total) - gammaln(total)).sum())
        return gain - concentration + log_value  # the last: the change to logarithms

    return float(np.clip(math.exp(draw_slice(log_density, math.log(value), rng)), LOW, HIGH))
