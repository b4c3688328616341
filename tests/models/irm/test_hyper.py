"""The prior of the blocks, Beta or Gamma: Newton's method climbs to a maximum, and loses nothing if there is none."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
from scipy.special import betaln, gammaln

from acvb_core.models.irm.hyper import (
    _HIGH,
    _LOW,
    Hyper,
    climb_prior,
    update_tied,
)
from acvb_core.models.irm.kernels import Layout
from tests.loops import for_each


def log_gamma_term(x: np.ndarray | float, y: np.ndarray | float) -> np.ndarray:
    return gammaln(x) - x * np.log(y)


def evidence(a: float, b: float, ones: np.ndarray, zeros: np.ndarray, is_gamma: bool) -> float:
    term = log_gamma_term if is_gamma else betaln
    return float((term(a + ones, b + zeros) - term(a, b)).sum())


def drawn_counts(seed: int, a: float, b: float, is_gamma: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return ones and entries of 8 x 8 blocks with strengths from Beta(a, b), or counts with rates from Gamma(a, b)."""
    rng = np.random.default_rng(seed)
    entries = rng.integers(20, 400, (8, 8))
    if is_gamma:
        counts = rng.poisson(entries * rng.gamma(a, 1.0 / b, (8, 8))).astype(float)
        return counts, counts + entries
    return rng.binomial(entries, rng.beta(a, b, (8, 8))).astype(float), entries.astype(float)


@for_each(
    "is_gamma, symmetric, strengths", product(*[[False, True]] * 2, [(0.3, 2.0), (0.5, 0.5), (4.0, 9.0)])
)
def test_sweeps_lead_to_the_highest_evidence(
    is_gamma: bool, symmetric: bool, strengths: tuple[float, float]
) -> None:
    ones, entries = drawn_counts(1, *strengths, is_gamma)
    distinct = None
    if symmetric:  # the mirror image of a block does not count
        ones, entries = (np.triu(array) + np.triu(array, 1).T for array in (ones, entries))
        distinct = Layout(("rows", "rows"), symmetric=True).distinct(8)
    hyper = Hyper.single_prior(1.0, 0.1, 1.0, is_gamma=is_gamma)
    for _ in range(30):
        a, b = update_tied(hyper, ones, entries, distinct, steps=3)
        hyper = replace(hyper, a=a, b=b)
    counted = np.triu_indices(8) if symmetric else np.indices((8, 8))
    n, zeros = ones[tuple(counted)].ravel(), (entries - ones)[tuple(counted)].ravel()
    height = evidence(a.item(), b.item(), n, zeros, is_gamma)
    for step, (up, right) in product((1e-3, -1e-3, 1e-2, -1e-2), ((1, 0), (0, 1), (1, 1), (1, -1))):
        assert (
            evidence(a.item() * np.exp(up * step), b.item() * np.exp(right * step), n, zeros, is_gamma)
            < height
        )


@for_each("is_gamma", [False, True])
def test_a_climb_never_ends_lower_or_beyond_the_limits_and_its_steps_are_short(is_gamma: bool) -> None:
    rng, climbed = np.random.default_rng(0), 0
    flat = (np.zeros(3), np.full(3, 50.0), np.full(3, 10.0))
    counts = [(n, m) for n, m in zip(flat, (flat[1], flat[0], np.full(3, 40.0)), strict=True)]
    counts += [(np.zeros(3), np.zeros(3)), (np.array([7.0]), np.array([53.0]))]
    for seed in range(60):
        ones, entries = drawn_counts(seed, *rng.uniform(0.05, 5.0, 2), is_gamma)
        counts.append((ones.ravel(), (entries - ones).ravel()))
    for at, (ones, zeros) in enumerate(counts):
        starts = [np.exp(rng.uniform(-8.0, 12.0, 2) if at % 3 else rng.uniform(-2.0, 2.0, 2))]
        starts += [] if at >= 5 else [(0.1, 1.0), (1e-4, 1e6), (1e6, 1e-4), (1e6, 1e6)]
        for (a, b), steps in product(starts, (1, 3, 20)):
            found = climb_prior(ones, zeros, a, b, steps, is_gamma)
            height, reached = (evidence(*point, ones, zeros, is_gamma) for point in ((a, b), found))
            assert reached >= height
            climbed += reached > height
            assert min(found) >= _LOW
            assert max(found) <= _HIGH
            if steps == 1:  # a factor of e at most
                assert np.abs(np.log(np.divide(found, (a, b)))).max() <= 1.0 + 1e-12
    assert climbed > 30
