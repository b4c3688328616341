"""Where to try next: sobol_point points, and the point with the largest expected improvement."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern

from acvb_core.engine.tuning import LEAST_GAIN, NOISE, most_promising_point, sobol_point
from tests.loops import for_each

BEST = np.array([0.3, 0.7])


def bowl(point: np.ndarray) -> float:
    return float(((point - BEST) ** 2 * [4.0, 1.0]).sum())


def improvement(points: np.ndarray, losses: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The expected improvement, written out (Jones, Schonlau, Welch 1998, eq. 15)."""
    scale = losses.std()
    process = GaussianProcessRegressor(Matern(np.ones(2), (0.05, 20.0), nu=2.5), alpha=NOISE, random_state=0,
                                       n_restarts_optimizer=10)  # fmt: skip
    process.fit(points, -(losses - losses.mean()) / scale)
    mean, deviation = process.predict(at, return_std=True)
    mean, deviation = mean * scale - losses.mean(), deviation * scale
    gain = mean + losses.min() - LEAST_GAIN
    return gain * norm.cdf(gain / deviation) + deviation * norm.pdf(gain / deviation)


def test_the_point_is_where_the_expected_improvement_is_largest() -> None:
    points = np.array([sobol_point(n, 2, 1) for n in range(9)])
    losses = np.array([bowl(point) for point in points])
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 101)] * 2), axis=-1).reshape(-1, 2)
    found = most_promising_point(points, losses, 0)
    with np.errstate(all="ignore"):
        most = improvement(points, losses, grid).max()
        assert improvement(points, losses, found[None])[0] > 0.98 * most


@for_each("nothing", [math.inf, math.nan])
def test_a_failed_trial_counts_as_the_worst(nothing: float) -> None:
    points = np.array([sobol_point(n, 2, 0) for n in range(5)])
    losses = np.array([bowl(point) for point in points])
    losses[2] = nothing
    as_worst = losses.copy()
    as_worst[2] = np.nanmax(np.where(np.isfinite(losses), losses, np.nan))
    assert (most_promising_point(points, losses, 0) == most_promising_point(points, as_worst, 0)).all()
