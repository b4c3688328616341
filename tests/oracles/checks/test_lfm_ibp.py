"""The oracles of the Indian buffet process against each other and the finite model it is the limit of."""

from __future__ import annotations

from math import comb, factorial

import numpy as np
import pytest
from scipy.special import expit, logsumexp
from scipy.stats import norm, poisson

from tests.loops import for_each
from tests.oracles import dense_lfm_ibp as ibp
from tests.oracles import lfm_enumeration as exact
from tests.oracles.lfm_cases import random_case

NOISE, WEIGHT, ALPHA = 0.6, 1.3, 0.8
BIAS = {"bias": 0.2, "bias_var": 0.5}


def tiny_table(n: int, seed: int = 0) -> np.ndarray:
    """n x 3 with a missing cell."""
    x = random_case(seed, (5, 3), missing=0.0).x[:n].copy()
    x[0, 1] = np.nan
    return x


def random_matrix(seed: int, n: int = 5, size: int = 3) -> np.ndarray:
    z = (np.random.default_rng(seed).random((n, size)) < 0.5).astype(float)
    z[0], z[1] = 1, 0
    return z


@for_each("seed", range(3))
def test_marginal_is_the_closed_form_of_griffiths_and_ghahramani(seed):
    x, z = random_case(seed, (5, 3), missing=0.0).x, random_matrix(seed)
    (n, d), size = x.shape, z.shape[1]
    inner = z.T @ z + NOISE / WEIGHT * np.eye(size)
    fit = np.trace(x.T @ (np.eye(n) - z @ np.linalg.inv(inner) @ z.T) @ x) / (2 * NOISE)
    truth = (
        -n * d / 2 * np.log(2 * np.pi) - (n - size) * d / 2 * np.log(NOISE) - size * d / 2 * np.log(WEIGHT)
    )
    truth -= d / 2 * np.linalg.slogdet(inner)[1] + fit
    assert ibp.log_marginal(x, z, NOISE, WEIGHT) == pytest.approx(truth, abs=1e-10)


def test_an_uncertain_bias_is_a_feature_that_is_always_on():
    x, z = tiny_table(4), random_matrix(0, 4)
    always = np.column_stack([z, np.ones(4)])
    both = ibp.log_marginal(x, z, NOISE, WEIGHT, bias_var=WEIGHT)
    assert both == pytest.approx(ibp.log_marginal(x, always, NOISE, WEIGHT), abs=1e-12)


def test_posterior_of_the_weights_is_what_bayes_says():
    """log p(X | Z) = log p(X | Z, W) + log p(W) - log p(W | X, Z), at any W."""
    x, z, noise = tiny_table(5), random_matrix(1), np.array([0.5, 0.9, 1.4])
    mean, covariance = ibp.weight_posterior(x, z, noise, WEIGHT, 0.2)
    w = np.random.default_rng(0).normal(size=mean.shape)
    value = np.nansum(norm.logpdf(x, 0.2 + z @ w, np.sqrt(noise))) + norm.logpdf(w, 0, np.sqrt(WEIGHT)).sum()
    for d in range(3):
        gap = w[:, d] - mean[:, d]
        value += (
            gap @ np.linalg.solve(covariance[d], gap) + np.linalg.slogdet(2 * np.pi * covariance[d])[1]
        ) / 2
    assert value == pytest.approx(ibp.log_marginal(x, z, noise, WEIGHT, 0.2), abs=1e-10)


@for_each("n", [1, 2, 3])
def test_classes_of_so_many_features_have_the_mass_of_a_poisson_law(n):
    rate = ALPHA * (1 / np.arange(1, n + 1)).sum()
    law = np.zeros(6)
    for z in exact.ibp_classes(n, 5):
        law[z.shape[1]] += np.exp(ibp.ibp_log_prior(z, ALPHA))
    assert law == pytest.approx(poisson.pmf(np.arange(6), rate), abs=1e-12)


def test_shift_classes_share_the_mass_of_a_left_ordered_one():
    z = np.array([[1, 1, 0, 0], [1, 1, 0, 1], [0, 0, 1, 1.0]])
    shift = ibp.ibp_log_prior(z, ALPHA, "shift") + np.log(factorial(4) / 2)
    assert shift == pytest.approx(ibp.ibp_log_prior(z, ALPHA), abs=1e-12)
    padded = np.insert(z, 1, 0, axis=1)
    assert ibp.ibp_log_prior(padded, ALPHA) == ibp.ibp_log_prior(z, ALPHA)


def test_finite_prior_sums_to_one():
    logs = [ibp.finite_log_prior(z, 0.4, 1.7) for z in exact.matrices(3, 2)]
    assert logsumexp(logs) == pytest.approx(0, abs=1e-12)


def test_classes_are_all_there_once_and_keys_lead_back():
    every = exact.ibp_classes(3, 4)
    assert len(every) == sum(comb(7 + k - 1, k) for k in range(5)) == 330
    keys = [ibp.class_key(z) for z in every]
    assert len(set(keys)) == len(keys)
    for z, key in zip(every, keys, strict=True):
        shuffled = np.random.default_rng(0).permutation(np.insert(z, 0, 0, axis=1), axis=1)
        assert ibp.class_key(shuffled) == key
        assert np.array_equal(ibp.matrix_of(key, 3), z)


@for_each("bias", [{}, BIAS])
def test_gibbs_leaves_the_exact_posterior_as_it_is(bias):
    """One kernel flips a random feature that another object has, the other redraws the object's own features."""
    x, k_max = tiny_table(3), 3
    table = exact.ibp_table(x, ALPHA, k_max, NOISE, WEIGHT, **bias)
    place = {ibp.class_key(z): i for i, z in enumerate(table.matrices)}
    for n in range(3):
        flipped, redrawn = np.zeros(len(place)), np.zeros(len(place))
        for z, p in zip(table.matrices, table.posterior, strict=True):
            shared = np.flatnonzero(z.sum(axis=0) > z[n])
            for k in shared:
                odds = expit(ibp.flip_log_odds(x, z, n, k, NOISE, WEIGHT, **bias))
                for value, chance in ((1.0, odds), (0.0, 1 - odds)):
                    other = z.copy()
                    other[n, k] = value
                    flipped[place[ibp.class_key(other)]] += p * chance / len(shared)
            if not len(shared):
                flipped[place[ibp.class_key(z)]] += p
            law = ibp.own_features_law(x, z, n, ALPHA, k_max - len(shared), NOISE, WEIGHT, **bias)
            for j, chance in enumerate(law):
                redrawn[place[ibp.class_key(ibp.with_own_features(z, n, j))]] += p * chance
        assert flipped == pytest.approx(table.posterior, abs=1e-12)
        assert redrawn == pytest.approx(table.posterior, abs=1e-12)
