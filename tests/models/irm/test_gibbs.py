"""The collapsed Gibbs sampler against the exact posterior, and its hyper-parameter samplers."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy import stats
from scipy.special import betaln, gammaln, logsumexp

from acvb_core.data.relation import Relation
from acvb_core.models.irm.gibbs import (
    BlockPair,
    count_blocks,
    draw_side,
    sample_concentration,
    sample_prior,
)
from acvb_core.models.irm.gibbs_kernels import Labels, Side
from acvb_core.models.irm.hyper import Hyper
from acvb_core.models.irm.kernels import TWO_DOMAINS
from tests.loops import for_each
from tests.models.irm.adapters import relation_of
from tests.oracles.cases import random_data
from tests.oracles.dense_irm import DenseData, log_joint


def draw_rows(
    relation: Relation,
    labels: tuple[Labels, Labels],
    prior: tuple[float, float],
    alpha: float,
    seed: int,
    length: int,
) -> tuple[Labels, BlockPair, int]:
    """Draw the rows of a relation once; the tables of log Gamma have `length` entries."""
    rows, columns = labels
    counts = count_blocks(relation, {"rows": rows, "cols": columns}, TWO_DOMAINS)
    rng, tables = np.random.default_rng(seed), np.empty((3, length))
    return draw_side(Side.of(relation, columns), rows, counts, prior, alpha, rng, tables)


def draw_densely(data: DenseData, rows: np.ndarray, columns: np.ndarray, seed: int) -> tuple[np.ndarray, int]:
    """Draw every row's cluster from its exact conditional; if a cluster dies, the last takes its place.

    Return also how many rows have others in their cluster than before.
    """
    rng = np.random.default_rng(seed)
    visits, uniforms = rng.permutation(len(rows)), rng.random(len(rows))
    rows, moved = rows.copy(), 0
    for i, uniform in zip(visits, uniforms, strict=True):
        old, company, last = rows[i], rows == rows[i], rows.max()
        alone = company.sum() == 1
        tried = [np.where(np.arange(len(rows)) == i, k, rows) for k in range(last + 1 if alone else last + 2)]
        logs = np.array([log_joint(data, z, columns, 0.7, 1.3, 40.0, 1.0) for z in tried])
        rows = tried[int(np.searchsorted(np.cumsum(np.exp(logs - logsumexp(logs))), uniform))]
        moved += ((rows == rows[i]) != company).any()
        if alone and rows[i] != old:
            rows[rows == last] = old
    return rows, moved


@for_each("seed, length", product(range(2), [2**15, 3]))
def test_rows_are_drawn_from_the_exact_conditionals(seed: int, length: int) -> None:
    """Draw for draw, also if counts exceed the tables; clusters are born and die."""
    data = random_data(np.random.default_rng(seed), (14, 9), 0.2, 0.4)
    columns = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2])
    rows = np.array([0, 1, 2, 3, 4, 5, 6, 0, 0, 0, 1, 1, 2, 2])
    relation = relation_of(data)
    drawn, drawn_counts, n_moved = draw_rows(relation, (rows, columns), (0.7, 1.3), 40.0, seed, length)
    labels, moved = draw_densely(data, rows, columns, seed)
    assert drawn.tolist() == labels.tolist()
    assert 0 < n_moved == moved
    counted = count_blocks(relation, {"rows": labels, "cols": columns}, TWO_DOMAINS)
    np.testing.assert_array_equal(drawn_counts, counted)


def test_concentration_draws_follow_the_exact_law() -> None:
    """Given K clusters of N objects the density is proportional to alpha^K Gamma(alpha) / Gamma(alpha + N) e^-alpha."""
    n_clusters, n_objects = 4, 30
    rng = np.random.default_rng(0)
    draws, alpha = [], 1.0
    for _ in range(20_000):
        alpha = sample_concentration(alpha, n_clusters, n_objects, rng)
        draws.append(alpha)
    grid = np.linspace(1e-3, 12, 6000)
    log_density = n_clusters * np.log(grid) + gammaln(grid) - gammaln(grid + n_objects) - grid
    _assert_same_law(np.array(draws[::10]), grid, log_density)


def log_gamma_term(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the integral of rate^(x - 1) exp(-y rate)."""
    return gammaln(x) - x * np.log(y)


@for_each("is_gamma", [False, True])
def test_draws_of_the_prior_follow_the_exact_law(is_gamma: bool) -> None:
    ones, entries = np.array([[2.0, 8.0], [1.0, 0.0]]), np.array([[10.0, 9.0], [6.0, 5.0]])
    rng = np.random.default_rng(0)
    draws, hyper = [], Hyper.single_prior(1.0, 1.0, 1.0, is_gamma=is_gamma)
    for _ in range(12_000):
        a, b = sample_prior(hyper, ones, entries, rng)
        hyper = Hyper.single_prior(1.0, a, b, is_gamma=is_gamma)
        draws.append(a)
    grid = np.exp(np.linspace(-7, 2.3, 400))
    zeros, term = entries - ones, log_gamma_term if is_gamma else betaln
    log_joint = np.array(
        [[(term(a + ones, b + zeros) - term(a, b)).sum() - a - b for b in grid] for a in grid]
    )
    marginal = np.log(np.trapezoid(np.exp(log_joint - log_joint.max()), grid, axis=1))
    _assert_same_law(np.array(draws[::10]), grid, marginal)


def _assert_same_law(draws: np.ndarray, grid: np.ndarray, log_density: np.ndarray) -> None:
    density = np.exp(log_density - log_density.max())
    cumulative = np.concatenate([[0.0], np.cumsum(np.diff(grid) * (density[1:] + density[:-1]) / 2)])
    cumulative /= cumulative[-1]
    assert stats.kstest(draws, lambda x: np.interp(x, grid, cumulative)).pvalue > 1e-3
