"""The next point to try in a unit cube: evenly spread at first, then where a Gaussian process expects most.

Everything is a function of the seed and of what was tried before, so that a search that was interrupted goes on as if
it had not been.

References
----------
Snoek, Larochelle, Adams, NIPS 25 (2012): Matérn 5/2, a length scale for each parameter, expected improvement.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

from acvb_core.engine.threads import one_thread

Points = NDArray[np.float64]

#: Variance of what is measured that no parameter explains, of a total of one: a run is a rough function of its steps.
NOISE = 1e-2
#: Smallest gain that counts (nats a word: a hundredth of a percent of the perplexity).
LEAST_GAIN = 1e-4
#: Shortest and longest length scales, of a side of the cube.
_LENGTHS = (0.05, 20.0)
#: Starts of the search for the length scales, beside the first, and of that for the point. With the library's own
#: numbers, 5 and 10, a suggestion in six dimensions takes three times as long.
_LENGTH_STARTS, _POINT_STARTS = 2, 3


def sobol_point(n: int, dimensions: int, seed: int) -> Points:
    """Return point `n` (from 0) of a scrambled Sobol sequence in the unit cube, shape (dimensions,)."""
    sequence = qmc.Sobol(dimensions, scramble=True, rng=np.random.default_rng([seed, dimensions]))
    if n:
        sequence.fast_forward(n)
    return np.asarray(sequence.random(1)[0], dtype=np.float64)


def most_promising_point(points: Points, losses: NDArray[np.float64], seed: int) -> Points:
    """Return where the expected improvement of a Gaussian process is largest, shape (dimensions,).

    `points`: shape (n, dimensions); points tried, in the unit cube, n >= 1.
    `losses`: shape (n,); the lower the better; values that are not finite count as the worst.
    """
    # The library is loaded by those who tune only.
    from bayes_opt import BayesianOptimization
    from bayes_opt.acquisition import ExpectedImprovement
    from sklearn.gaussian_process.kernels import Matern

    n, dimensions = points.shape
    names = [f"{at:03d}" for at in range(dimensions)]
    state = int(np.random.SeedSequence([seed, n]).generate_state(1)[0])
    improvement: Any = ExpectedImprovement(xi=LEAST_GAIN)
    improvement.suggest = partial(improvement.suggest, n_smart=_POINT_STARTS)
    search: Any = BayesianOptimization(
        None,
        dict.fromkeys(names, (0.0, 1.0)),
        acquisition_function=improvement,
        random_state=state,
        verbose=0,
        allow_duplicate_points=True,
    )
    search.set_gp_params(
        kernel=Matern(np.ones(dimensions), _LENGTHS, nu=2.5), alpha=NOISE, n_restarts_optimizer=_LENGTH_STARTS
    )
    _, first = np.unique(points, axis=0, return_index=True)  # the library prints a line for a repeated point
    losses = _all_finite(losses)
    for point, loss in ((points[at], losses[at]) for at in np.sort(first)):
        search.register(dict(zip(names, point.tolist(), strict=True)), -float(loss))
    # At a point that was tried the process may be certain: no deviation to divide by, and nothing to gain.
    with one_thread(), np.errstate(divide="ignore", invalid="ignore"):
        suggestion = search.suggest()
    return np.clip([float(suggestion[name]) for name in names], 0.0, 1.0)


def _all_finite(losses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the losses with the worst of them for those that are not known; all 0 where none is."""
    known = losses[np.isfinite(losses)]
    return np.where(np.isfinite(losses), losses, known.max() if len(known) else 0.0)
