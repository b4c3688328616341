"""The start of FAB: E[z] at random, or from the independent components of the table, or whichever suits the table."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from scipy import linalg
from sklearn.decomposition import FastICA
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from acvb_core.core.protocols import Poll, no_poll
from acvb_core.models.lfm.kernels import Floats, StandardisedTable

#: Objects from which independent components and their two sides are computed; the others follow.
_SAMPLE = 20_000
#: Rounds in which missing cells are filled in from the principal components, at most, and the change that ends them.
_ROUNDS, _LEAST_CHANGE = 50, 1e-3
#: Objects whose products are taken at a time.
_PIECE = 16_384
#: Random features find more than independent components do where less than this share of the variance is noise, and in
#: tables with fewer columns than this, which are too few to tell noise by.
LITTLE_NOISE, FEW_COLUMNS = 0.05, 10


class Components(NamedTuple):
    """The leading principal components of a table."""

    scores: Floats  #: shape (N, n); of the objects, each of variance one
    noise: float  #: share of the variance that the components above the noise leave, or would of a complete table


def random_start(cells: StandardisedTable, k_max: int, rng: np.random.Generator) -> Floats:
    """Return uniform random E[z], shape (K, N), of `k_max` features; 0 takes the smaller of N and D."""
    n_features = min(k_max, cells.n_objects) if k_max else min(cells.n_objects, cells.n_columns)
    return rng.random((n_features, cells.n_objects))


def suitable_start(
    cells: StandardisedTable, k_max: int, rng: np.random.Generator, poll: Poll = no_poll
) -> Floats:
    """Return E[z] from independent components, or at random where there is little noise or there are few columns."""
    if cells.n_columns >= FEW_COLUMNS:
        components = find_components(cells, k_max, poll)
        if components.noise >= LITTLE_NOISE:
            return _cut_components(components.scores, rng, poll)
    return random_start(cells, k_max, rng)


def independent_start(
    cells: StandardisedTable, k_max: int, rng: np.random.Generator, poll: Poll = no_poll
) -> Floats:
    """Return E[z] from the table's independent components, shape (K, N).

    Objects with a feature, and those without it, make two heaps along the direction in which only this feature varies.
    As features are independent, that direction is an independent component: far from normal, unlike noise. So FastICA
    finds the components within the principal components that stand out of the noise, and a mixture of two normal
    distributions cuts each in two. `k_max` is their number; 0 takes as many as stand out (`count_components`).

    Reference: A. Hyvärinen, Fast and robust fixed-point algorithms for independent component analysis, IEEE
      Transactions on Neural Networks 10, 1999.
    """
    return _cut_components(find_components(cells, k_max, poll).scores, rng, poll)


def _cut_components(scores: Floats, rng: np.random.Generator, poll: Poll) -> Floats:
    """Return the probability of each object to be of the upper heap of each independent component, shape (n, N)."""
    some = np.arange(len(scores))
    if len(scores) > _SAMPLE:
        some = np.sort(rng.choice(len(scores), _SAMPLE, replace=False))
    seed = int(rng.integers(2**31))
    with warnings.catch_warnings():
        # In pure noise it does not converge: any direction is as good.
        warnings.simplefilter("ignore", ConvergenceWarning)
        if scores.shape[1] > 1:
            poll()
            components = FastICA(whiten=False, random_state=seed, max_iter=200, tol=1e-4).fit(scores[some])
            scores = components.transform(scores)
        # The rarer side, which reaches further from the mean, is the one that has the feature.
        scores *= np.where((scores**3).sum(axis=0) < 0, -1.0, 1.0)
        sides = np.empty(scores.shape[::-1])
        for k, score in enumerate(scores.T):
            poll()
            sides[k] = _upper_side(score, score[some], seed)
    return sides


def _upper_side(score: Floats, sample: Floats, seed: int) -> Floats:
    """Return the probability of each object to be of the upper of two heaps."""
    mixture = GaussianMixture(
        2,
        covariance_type="tied",
        init_params="random_from_data",
        tol=1e-4,
        random_state=seed,
        means_init=np.quantile(sample, [0.2, 0.9])[:, None],
        weights_init=[0.7, 0.3],
        precisions_init=[[4.0 / sample.var()]],  # heaps half as wide as both together
    ).fit(sample[:, None])
    upper = int(mixture.means_[:, 0].argmax())
    return np.asarray(mixture.predict_proba(score[:, None])[:, upper])


def count_components(singular: Floats, shape: tuple[int, int]) -> int:
    """Return how many of all singular values of a centred table of this shape are above those of noise.

    Above omega(beta) times their median, omega(beta) = 0.56 beta^3 - 0.95 beta^2 + 1.82 beta + 1.43 with beta the
    ratio of the sides: the best hard threshold for unknown noise (M. Gavish, D. L. Donoho, The Optimal Hard
    Threshold for Singular Values is 4/sqrt(3), IEEE Transactions on Information Theory 60, 2014, eq. 5). It takes more
    than half of them for noise.
    """
    beta = min(shape) / max(shape)
    omega = 0.56 * beta**3 - 0.95 * beta**2 + 1.82 * beta + 1.43
    return int((singular > omega * np.median(singular)).sum())


def find_components(cells: StandardisedTable, number: int = 0, poll: Poll = no_poll) -> Components:
    """Return the leading principal components, `number` of them.

    Number 0 takes the components that stand out, one at least. Missing cells begin at their column's mean and are
    filled in from the components, each shrunk by the noise in it, until that changes little.
    """
    filled = cells.values - cells.values.sum(axis=0) / cells.per_column
    if cells.observed is not None:
        filled *= cells.observed
    for _ in range(_ROUNDS):
        left, singular, n_components = _leading_components(filled, number, poll)
        if cells.observed is None:
            break
        noise = float(np.median(singular) ** 2)
        signal = np.maximum(1.0 - noise / np.maximum(singular[:n_components] ** 2, 1e-300), 0.0)
        smoothed = (left * signal) @ (left.T @ filled)
        smoothed *= 1.0 - cells.observed
        moved = smoothed - filled * (1.0 - cells.observed)
        filled += moved
        filled -= filled.mean(axis=0)
        poll()
        if np.linalg.norm(moved) < _LEAST_CHANGE * np.linalg.norm(filled):
            break
    squares, outstanding = singular**2, count_components(singular, filled.shape)
    left_over = squares[outstanding:].sum() / max(squares.sum(), 1e-300)
    # StandardisedTable that are filled in have no noise, and components fit part of that in the few that are known.
    n, d = cells.values.shape
    freedom = max(cells.n - outstanding * (n + d - outstanding), 1)
    left_over *= (n - outstanding) * (d - outstanding) / freedom
    return Components(np.ascontiguousarray(left * np.sqrt(len(left))), float(left_over))


def _leading_components(values: Floats, number: int, poll: Poll) -> tuple[Floats, Floats, int]:
    """Return the leading left singular vectors (N, n), all singular values, largest first, and n."""
    tall = values.shape[0] >= values.shape[1]
    gram = np.zeros((min(values.shape),) * 2)
    if tall:
        for begin in range(0, len(values), _PIECE):
            poll()
            piece = values[begin : begin + _PIECE]
            gram += piece.T @ piece
    else:
        gram += values @ values.T
    squares, vectors = linalg.eigh(gram)
    singular = np.sqrt(np.maximum(squares[::-1], 0.0))
    n_components = min(number or max(count_components(singular, values.shape), 1), len(singular))
    n_components = max(1, min(n_components, int((singular > 1e-9 * singular[0]).sum())))
    vectors = vectors[:, ::-1][:, :n_components]
    return (values @ vectors) / singular[:n_components] if tall else vectors, singular, n_components
