"""Normal distributions cut off at zero, of which weights that are not negative have."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, log_ndtr

Floats = NDArray[np.float64]

_LOG_2 = math.log(2.0)
#: Below this many standard deviations, the moments' differences cancel; their series are exact there.
_FAR = -60.0


def moments(mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance of normal variables, given those before the cut at zero."""
    sd = np.sqrt(variance)
    t = mean / sd
    near = np.maximum(t, _FAR)
    hazard = math.sqrt(2.0 / math.pi) / erfcx(-near / math.sqrt(2.0))
    far = 1.0 / np.minimum(t, _FAR) ** 2
    first = np.where(t > _FAR, near + hazard, np.sqrt(far) * (1.0 - 2.0 * far + 10.0 * far**2))
    second = np.where(t > _FAR, 1.0 - hazard * (near + hazard), far * (1.0 - 6.0 * far + 50.0 * far**2))
    return sd * first, variance * second


def divergence(mean: Floats, variance: Floats, prior: float) -> float:
    """Return the sum of Kullback-Leibler divergences from the half-normal distribution of parent variance `prior`.

    `mean` and `variance` are those of the distributions' parents, which are cut off at zero.
    """
    first, second = moments(mean, variance)
    square = second + first**2
    own = -0.5 * np.log(variance) - log_ndtr(mean / np.sqrt(variance))
    own -= 0.5 * (square - 2.0 * mean * first + mean**2) / variance
    return float((own + 0.5 * math.log(prior) - _LOG_2 + 0.5 * square / prior).sum())
