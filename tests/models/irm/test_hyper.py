"""The Beta prior of the blocks: Newton's method climbs to a maximum, and loses nothing if there is none."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.special import betaln

from acvb_core.models.irm.hyper import (
    _HIGH,
    _LOW,
    climb_beta,
    update_tied,
)
from acvb_core.models.irm.kernels import Layout
from tests.loops import for_each


def evidence(a: float, b: float, ones: np.ndarray, zeros: np.ndarray) -> float:
    return float((betaln(a + ones, b + zeros) - betaln(a, b)).sum())


def drawn_counts(seed: int, a: float, b: float) -> tuple[np.ndarray, np.ndarray]:
    """Return ones and entries of 8 x 8 blocks with strengths from Beta(a, b)."""
    rng = np.random.default_rng(seed)
    entries = rng.integers(20, 400, (8, 8))
    return rng.binomial(entries, rng.beta(a, b, (8, 8))).astype(float), entries.astype(float)


def full(value: float) -> np.ndarray:
    return np.full((1, 1), value)


@for_each("symmetric, strengths", product([False, True], [(0.3, 2.0), (0.5, 0.5), (4.0, 9.0)]))
def test_sweeps_lead_to_the_highest_evidence(symmetric: bool, strengths: tuple[float, float]) -> None:
    ones, entries = drawn_counts(1, *strengths)
    distinct = None
    if symmetric:  # the mirror image of a block does not count
        ones, entries = (np.triu(array) + np.triu(array, 1).T for array in (ones, entries))
        distinct = Layout(("rows", "rows"), symmetric=True).distinct(8)
    a, b = full(0.1), full(1.0)
    for _ in range(30):
        a, b = update_tied(a, b, ones, entries, distinct, steps=3)
    counted = np.triu_indices(8) if symmetric else np.indices((8, 8))
    n, zeros = ones[tuple(counted)].ravel(), (entries - ones)[tuple(counted)].ravel()
    height = evidence(a.item(), b.item(), n, zeros)
    for step, (up, right) in product((1e-3, -1e-3, 1e-2, -1e-2), ((1, 0), (0, 1), (1, 1), (1, -1))):
        assert evidence(a.item() * np.exp(up * step), b.item() * np.exp(right * step), n, zeros) < height


def test_a_climb_never_ends_lower_or_beyond_the_limits_and_its_steps_are_short() -> None:
    rng, climbed = np.random.default_rng(0), 0
    flat = (np.zeros(3), np.full(3, 50.0), np.full(3, 10.0))
    counts = [(n, m) for n, m in zip(flat, (flat[1], flat[0], np.full(3, 40.0)), strict=True)]
    counts += [(np.zeros(3), np.zeros(3)), (np.array([7.0]), np.array([53.0]))]
    for seed in range(60):
        ones, entries = drawn_counts(seed, *rng.uniform(0.05, 5.0, 2))
        counts.append((ones.ravel(), (entries - ones).ravel()))
    for at, (ones, zeros) in enumerate(counts):
        starts = [np.exp(rng.uniform(-8.0, 12.0, 2) if at % 3 else rng.uniform(-2.0, 2.0, 2))]
        starts += [] if at >= 5 else [(0.1, 1.0), (1e-4, 1e6), (1e6, 1e-4), (1e6, 1e6)]
        for (a, b), steps in product(starts, (1, 3, 20)):
            found = climb_beta(ones, zeros, a, b, steps)
            height = evidence(a, b, ones, zeros)
            assert evidence(*found, ones, zeros) >= height
            climbed += evidence(*found, ones, zeros) > height
            assert min(found) >= _LOW
            assert max(found) <= _HIGH
            if steps == 1:  # a factor of e at most
                assert np.abs(np.log(np.divide(found, (a, b)))).max() <= 1.0 + 1e-12
    assert climbed > 30
