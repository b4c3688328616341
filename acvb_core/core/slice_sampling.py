"""Slice sampling of one number."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def draw_slice(log_density: Callable[[float], float], value: float, rng: np.random.Generator) -> float:
    """Return the next point of a slice sampler with stepping out (width 1, within [-12, 12]).

    Reference: Neal, Annals of Statistics 31 (2003).
    """
    level = log_density(value) - rng.exponential()
    low = value - rng.random()
    high = low + 1.0
    while low > -12.0 and log_density(low) > level:
        low -= 1.0
    while high < 12.0 and log_density(high) > level:
        high += 1.0
    while True:
        proposal = rng.uniform(low, high)
        if log_density(proposal) > level or high - low < 1e-12:
            return float(proposal)
        if proposal < value:
            low = proposal
        else:
            high = proposal
