"""The Beta prior of the blocks: Newton's method climbs to a maximum, and stays where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import betaln

from acvb_core.models.irm.hyper import _HIGH, _LOW, Hyper, climb_beta, update_beta, update_hyper
from acvb_core.models.irm.kernels import Layout


def evidence(a: float, b: float, ones: np.ndarray, entries: np.ndarray, distinct: np.ndarray | None) -> float:
    blocks = betaln(a + ones, b + entries - ones) - betaln(a, b)
    return float((blocks * (1.0 if distinct is None else distinct)).sum())


def drawn_counts(
    seed: int, a: float, b: float, symmetric: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return ones and entries of 8 x 8 blocks with strengths from Beta(a, b)."""
    rng = np.random.default_rng(seed)
    entries = rng.integers(20, 400, (8, 8)).astype(float)
    strengths = rng.beta(a, b, (8, 8))
    ones = rng.binomial(entries.astype(int), strengths).astype(float)
    if not symmetric:
        return ones, entries, None
    ones, entries = (np.triu(array) + np.triu(array, 1).T for array in (ones, entries))
    return ones, entries, Layout(("rows", "rows"), symmetric=True).distinct(8)


def full(value: float) -> np.ndarray:
    return np.full((1, 1), value)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("strengths", [(0.3, 2.0), (0.5, 0.5), (4.0, 9.0)])
@pytest.mark.parametrize("seed", range(4))
def test_the_slope_is_nothing_in_the_end(seed: int, strengths: tuple[float, float], symmetric: bool) -> None:
    ones, entries, distinct = drawn_counts(seed, *strengths, symmetric)
    a, b = full(0.1), full(1.0)
    for _ in range(30):  # as sweeps do it: the fixed point gets near, Newton's steps get there
        a, b = update_beta(a, b, ones, entries, tied=True, distinct=distinct)
        a, b = climb_beta(a, b, ones, entries, distinct)
    one, zero = a.item(), b.item()
    height = evidence(one, zero, ones, entries, distinct)
    for step in (1e-3, 1e-2):
        for up, right in ((1, 0), (0, 1), (1, 1), (1, -1)):
            for sign in (-step, step):
                near = evidence(one * np.exp(up * sign), zero * np.exp(right * sign), ones, entries, distinct)
                assert near < height
    slope = [
        (
            evidence(one * np.exp(up), zero * np.exp(right), ones, entries, distinct)
            - evidence(one * np.exp(-up), zero * np.exp(-right), ones, entries, distinct)
        )
        / 2e-4
        for up, right in ((1e-4, 0.0), (0.0, 1e-4))
    ]
    np.testing.assert_allclose(slope, 0.0, atol=1e-4)
    # The mirror image of a block is no block of its own.
    if symmetric:
        other = climb_beta(a, b, np.triu(ones), np.triu(entries), distinct)
        np.testing.assert_allclose([other[0].item(), other[1].item()], [one, zero], rtol=1e-6)


@pytest.mark.parametrize("steps", [1, 3, 20])
def test_no_climb_ends_lower_or_beyond_the_limits(steps: int) -> None:
    rng = np.random.default_rng(0)
    climbed = 0
    for seed in range(60):
        ones, entries, distinct = drawn_counts(seed, *rng.uniform(0.05, 5.0, 2), symmetric=bool(seed % 2))
        a, b = (
            full(value)
            for value in np.exp(rng.uniform(-8.0, 12.0, 2) if seed % 3 else rng.uniform(-2.0, 2.0, 2))
        )
        one, zero = climb_beta(a, b, ones, entries, distinct, steps=steps)
        before = evidence(a.item(), b.item(), ones, entries, distinct)
        after = evidence(one.item(), zero.item(), ones, entries, distinct)
        assert after >= before
        climbed += after > before
        assert one.shape == zero.shape == (1, 1)
        assert min(one.item(), zero.item()) >= _LOW
        assert max(one.item(), zero.item()) <= _HIGH
    assert climbed > 10


BLOCKS = {
    "all empty": (np.zeros((3, 3)), np.full((3, 3), 50.0)),
    "all full": (np.full((3, 3), 50.0), np.full((3, 3), 50.0)),
    "all alike": (np.full((3, 3), 10.0), np.full((3, 3), 50.0)),
    "nothing observed": (np.zeros((3, 3)), np.zeros((3, 3))),
    "one block": (full(7.0), full(60.0)),
}


@pytest.mark.parametrize("case", BLOCKS)
@pytest.mark.parametrize("start", [(0.1, 1.0), (5.0, 5.0), (1e-4, 1e6), (1e6, 1e-4), (1e6, 1e6)])
def test_where_no_maximum_is_near_nothing_is_lost(case: str, start: tuple[float, float]) -> None:
    """The best prior lies at nothing or at infinity: it is never passed, nor left for something worse."""
    ones, entries = BLOCKS[case]
    a, b = full(start[0]), full(start[1])
    for _ in range(40):
        one, zero = climb_beta(a, b, ones, entries)
        before = evidence(a.item(), b.item(), ones, entries, None)
        assert evidence(one.item(), zero.item(), ones, entries, None) >= before
        a, b = update_beta(one, zero, ones, entries, tied=True)
        assert np.isfinite([a.item(), b.item()]).all()
        assert min(a.item(), b.item()) >= _LOW
        assert max(a.item(), b.item()) <= _HIGH
    if case == "nothing observed":
        assert (one.item(), zero.item()) == start


def test_a_wild_step_is_held_back() -> None:
    """Newton's step from far away is a factor of e at most."""
    ones, entries, _ = drawn_counts(0, 4.0, 9.0)
    for a, b in ((0.05, 0.05), (200.0, 300.0), (1.0, 40.0)):
        one, zero = climb_beta(full(a), full(b), ones, entries, steps=1)
        assert max(abs(np.log(one.item() / a)), abs(np.log(zero.item() / b))) <= 1.0 + 1e-12


def test_which_rule_climbs() -> None:
    ones, entries, _ = drawn_counts(1, 0.5, 2.0)
    mass = {"rows": np.full(8, 10.0), "cols": np.full(8, 12.0)}
    tied = Hyper.single_prior(1.0, 0.1, 1.0)
    assert update_hyper(tied, "fixed", ones, entries, mass) is tied
    near = update_hyper(tied, "tied", ones, entries, mass, climb=False)
    there = update_hyper(tied, "tied", ones, entries, mass)
    for hyper in (near, there):
        assert not hyper.per_block
        assert hyper.alpha == near.alpha
    assert evidence(there.a.item(), there.b.item(), ones, entries, None) > evidence(
        near.a.item(), near.b.item(), ones, entries, None
    )
    blocks = Hyper(tied.alpha, *tied.blocks((8, 8)))
    found = update_hyper(blocks, "per-block", ones, entries, mass)
    np.testing.assert_array_equal(found.a, update_beta(blocks.a, blocks.b, ones, entries, tied=False)[0])
