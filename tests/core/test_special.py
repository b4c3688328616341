"""The vectorisable special functions against SciPy's."""

from __future__ import annotations

import numba as nb
import numpy as np
from scipy import special

from acvb_core.core import special as ours
from tests.loops import for_each


def looped(function):
    """Return the function applied in a compiled loop, as the kernels use it."""

    @nb.njit
    def over(x, out):
        for i in range(x.shape[0]):
            out[i] = function(x[i])

    return over


@for_each(
    "function, oracle",
    [
        (ours.log, np.log),
        (ours.lgamma, special.gammaln),
        (ours.trigamma, lambda x: special.polygamma(1, x)),
        (ours.digamma, special.psi),
    ],
)
def test_function_of_one_argument(function, oracle) -> None:
    x = np.concatenate(
        [10.0 ** np.linspace(-6, 12, 20001), np.arange(1.0, 200.0), [0.5, 1.0, 2.0, np.sqrt(0.5)]]
    )
    found = np.empty_like(x)
    looped(function)(x, found)
    wanted = oracle(x)
    assert np.abs((found - wanted) / np.maximum(np.abs(wanted), 1.0)).max() < 5e-13
    if oracle in (special.gammaln, special.psi):  # a diverged run must show
        looped(function)(np.array([np.nan]), found)
        assert np.isnan(found[0])


@for_each("function, least", [(ours.lbeta, -4.0), (ours.lbeta_large, np.log10(7.0))])
def test_lbeta(function, least: float) -> None:
    rng = np.random.default_rng(0)
    x, y = 10.0 ** rng.uniform(-4, 5, 20000), 10.0 ** rng.uniform(least, 5, 20000)
    found = np.empty_like(x)

    @nb.njit
    def over(x, y, out):
        for i in range(x.shape[0]):
            out[i] = function(x[i], y[i])

    over(x, y, found)
    # Three log Gammas cancel: what counts is the error beside the largest of them.
    scale = np.maximum(np.abs(special.gammaln(x + y)), 1.0)
    assert (np.abs(found - special.betaln(x, y)) / scale).max() < 2e-13


def test_logarithm_in_single_precision() -> None:
    x = np.concatenate([10.0 ** np.linspace(-37, 38, 200_001), 1 + np.linspace(-0.3, 0.5, 10_001)])
    x = x.astype(np.float32)
    found = np.empty_like(x)
    looped(ours.log_single)(x, found)
    wanted = np.log(x.astype(np.float64))
    assert (np.abs(found - wanted) / (2e-7 + 1.2e-7 * np.abs(wanted))).max() < 1.0


def test_exponential_in_single_precision() -> None:
    x = np.linspace(-60, 60, 200_001).astype(np.float32)
    found = np.empty_like(x)
    looped(ours.exp_single)(x, found)
    assert np.abs(found / np.exp(x.astype(np.float64)) - 1.0).max() < 1e-5
    beyond = np.array([-1e30, -61.0, 61.0, 1e30], np.float32)
    ends = np.empty_like(beyond)
    looped(ours.exp_single)(beyond, ends)
    np.testing.assert_array_equal(ends, [found[0], found[0], found[-1], found[-1]])
