"""The streaming methods against what they are made for: fixed points of the batch methods, gradients of likelihoods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import psi

from acvb_core.models.lda.online import kernels as kernels_prior
from acvb_core.models.lda.online.kernels import uniform
from tests.models.lda.online.adapters import BETA, first_state, some_prior, some_words, stream, swept
from tests.oracles import dense_stream as plain
from tests.oracles.dense_irm import Array
from tests.oracles.dense_lda import _normalise, expected_counts, vb_sweep
from tests.oracles.lda_cases import LdaCase, random_case, small_case

CASES = {f"small {seed}": small_case(seed) for seed in range(3)} | {
    "one document": random_case(102, (15,), 6, 3),
    "four topics": random_case(103, (9, 4, 0, 1, 14), 8, 4),
}
each_case = pytest.mark.parametrize("name", CASES)


def without_removal(case: LdaCase, gamma: Array) -> Array:
    """gamma ∝ (alpha + n_dk) (beta + n_wk) / (V beta + n_k), all at once, nothing taken out (MAP)."""
    n, t = expected_counts(case.triplets, gamma), case.triplets
    phi = (n.words + BETA) / (n.topics + t.shape[1] * BETA)
    return np.array(
        [
            _normalise(np.log(case.alpha + n.documents[d]) + np.log(phi[w]))
            for d, w in zip(t.documents, t.words, strict=True)
        ]
    )


def settled(case: LdaCase, step: Callable[[Array], Array]) -> Array:
    """The responsibilities that a step no longer changes."""
    gamma = case.gamma
    for _ in range(20_000):
        new = step(gamma)
        if np.abs(new - gamma).max() < 1e-12:
            return new
        gamma = new
    raise AssertionError("it does not settle")


@each_case
def test_whole_steps_of_svb_stand_still_where_variational_bayes_does(name: str) -> None:
    """One minibatch of all documents and a step of 1 is an M-step of batch VB with settled documents."""
    case = CASES[name]
    gamma = settled(case, lambda g: vb_sweep(case.triplets, g, case.alpha, BETA))
    words = expected_counts(case.triplets, gamma).words
    method = stream("svb", case, documents=100, offset=0.0, power=0.0, inner=20_000, settled=1e-13)
    state, info = swept(method, first_state(method, words, some_prior(case)))
    np.testing.assert_allclose(state.by_word, words, rtol=1e-6, atol=1e-8)
    assert info.change < 1e-6
    # … and from elsewhere it gets there: to the words' counts of some fixed point.
    state, info = swept(method, first_state(method, some_words(case), some_prior(case)), 3_000)
    assert info.change < 1e-8
    gamma = _implied_by(case, state.by_word)
    again = vb_sweep(case.triplets, gamma, case.alpha, BETA)
    np.testing.assert_allclose(again, gamma, atol=1e-6)


def _implied_by(case: LdaCase, words: Array) -> Array:
    """The responsibilities of documents that have settled under given counts of words."""
    topics = plain.Topics(words, some_prior(case), BETA)
    found = []
    for document in plain.documents_of(case.corpus):
        if document:
            ids, counts = (np.array(part) for part in zip(*document, strict=True))
            found.append(plain.svb_document(topics, ids, counts, most=20_000, settled=1e-14)[0])
    return np.concatenate(found)


@each_case
def test_whole_steps_of_scvb0_stand_still_where_cvb0_without_removal_does(name: str) -> None:
    """As the steps within a document become small: the error is a power series in them, of which three terms go."""
    case = CASES[name]
    gamma = settled(case, lambda g: without_removal(case, g))
    words = expected_counts(case.triplets, gamma).words
    found = []
    for rho in (4e-3, 2e-3, 1e-3):
        method = stream(
            "scvb0", case, documents=100, offset=0.0, power=0.0, inner=(rho, 0.0, 0.0), burn_in_passes=int(60 / rho),
        )  # fmt: skip
        found.append(swept(method, first_state(method, words, some_prior(case)))[0].by_word)
    rough = [np.abs(one - words).max() for one in found]
    assert rough[0] < 0.1
    once = [2 * found[1] - found[0], 2 * found[2] - found[1]]
    np.testing.assert_allclose((4 * once[1] - once[0]) / 3, words, atol=1e-6)


# --------------------------------------------------------------------------------------------- gradients for alpha


def document(seed: int) -> tuple[Array, Array, Array, Array, Array]:
    """Counts, p, q, n_d and alpha of a document such as a kernel has them at its end."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 5, 6).astype(float)
    p, alpha = rng.dirichlet(np.full(6, 0.5), 3).T + 1e-3, rng.uniform(0.05, 1.0, 3)
    q = rng.dirichlet(np.full(3, 0.5), 6)
    return counts, p, q, counts @ q, alpha


def differences(f: Callable[[Array], float], at: Array, step: float = 1e-5) -> Array:
    """The gradient of f by central differences."""
    moves = step * np.eye(len(at))
    return np.array([(f(at + move) - f(at - move)) / (2 * step) for move in moves])


@pytest.mark.parametrize("seed", range(5))
def test_gradient_is_that_of_the_leave_one_out_likelihood(seed: int) -> None:
    counts, p, q, n_d, alpha = document(seed)
    sums = np.zeros(3)
    length = kernels_prior.gradient(6, 0, counts.astype(np.float32), p, q, alpha + n_d, alpha, sums)
    wanted = differences(lambda a: plain.loo_of(counts, p, q, n_d, a), alpha)
    np.testing.assert_allclose(sums, wanted, rtol=1e-7, atol=1e-8)
    assert length == counts.sum()


@pytest.mark.parametrize("seed", range(5))
def test_sticks_climb_the_leave_one_out_likelihood(seed: int) -> None:
    counts, p, q, n_d, alpha = document(seed)
    share = alpha[:-1] / np.cumsum(alpha[::-1])[::-1][:-1]
    before = np.append(np.log(alpha.sum()), np.log(share / (1 - share)))
    np.testing.assert_allclose(plain.alpha_of(before), alpha)
    sums, sticks, scalars, new = np.zeros(3), before.copy(), np.array([0.0, 4_000.0]), alpha.copy()
    length = kernels_prior.gradient(6, 0, counts.astype(np.float32), p, q, alpha + n_d, alpha, sums)
    kernels_prior.climb_sticks(length, new, sums, sticks, scalars)
    uphill = differences(lambda s: plain.loo_of(counts, p, q, n_d, plain.alpha_of(s)), before)
    np.testing.assert_allclose((sticks - before) * length * np.sqrt(4_001.0), uphill, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(new, plain.alpha_of(sticks))
    assert scalars[1] == 4_001.0
    # Small steps lead uphill, and the first thousand documents nowhere.
    assert plain.loo_of(counts, p, q, n_d, new) > plain.loo_of(counts, p, q, n_d, alpha)
    frozen = np.array([0.0, 999.0])
    kernels_prior.climb_sticks(length, alpha, sums, before, frozen)
    np.testing.assert_array_equal(plain.alpha_of(before).round(12), alpha.round(12))


@pytest.mark.parametrize("seed", range(5))
def test_left_to_right_gains_are_the_gradient_of_the_predictive_likelihood(seed: int) -> None:
    """d log p / d alpha_k = g_k - sum 1 / A, the counts of the tokens before held fast."""
    counts, p, _, _, alpha = document(seed)
    gains, scalars, sums = np.zeros(3), np.zeros(2), np.zeros(3)
    kept = alpha.copy()
    kernels_prior.left_to_right(
        6, 0, counts.astype(np.float32), p, alpha, np.zeros(3), sums, gains, scalars
    )  # fmt: skip
    np.testing.assert_array_equal(alpha, kept)  # frozen
    order = plain.scattered(6, 0)
    assert sorted(order) == list(range(6))
    tokens = np.repeat(p[order], counts[order].astype(int), axis=0)
    before, n = [], alpha.copy()
    for one in tokens:
        before.append(n - alpha)
        n = n + n * one / (n @ one)

    def log_likelihood(a: Array) -> float:
        rests = zip(tokens, before, strict=True)
        return sum(float(np.log((a + own) @ one) - np.log((a + own).sum())) for one, own in rests)

    wanted = differences(log_likelihood, alpha)
    step = 2**-0.7
    np.testing.assert_allclose(gains / step / alpha - scalars[0] / step, wanted, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(n.sum(), alpha.sum() + counts.sum())
    assert scalars[1] == 1


def test_many_tokens_of_a_word_are_counted_like_one_after_another() -> None:
    """They are taken some at a time: sum 1 / (A + j) over the tokens, and A grows by all of them."""
    alpha, gains, scalars, sums = np.array([0.2, 0.5, 0.1]), np.zeros(3), np.zeros(2), np.zeros(3)
    counts, p = np.array([100_000.0], dtype=np.float32), np.array([[0.3, 0.1, 0.2]])
    kernels_prior.left_to_right(1, 0, counts, p, alpha, np.zeros(3), sums, gains, scalars)
    one_by_one = psi(alpha.sum() + 100_000) - psi(alpha.sum())
    np.testing.assert_allclose(scalars[0] / 2**-0.7, one_by_one, rtol=1e-5)


def test_left_to_right_settles_where_the_likelihood_is_highest() -> None:
    """Given what topics documents were drawn from: alpha comes near that of the draw, from far away.

    Also where the words of a topic are numbered in a row: those of the last are not always the last to be predicted.
    """
    rng = np.random.default_rng(0)
    truth, phi = np.array([0.2, 0.6, 0.05]), np.full((3, 9), 0.01)
    phi[np.repeat(np.arange(3), 3), np.arange(9)] = 0.3
    phi /= phi.sum(axis=1, keepdims=True)
    alpha, gains, scalars, row = np.full(3, 1.5), np.zeros(3), np.zeros(2), np.zeros(3)
    for theta in rng.dirichlet(truth, 8_000):
        counts = rng.multinomial(30, theta @ phi).astype(np.float32)
        p = np.ascontiguousarray(phi.T)
        kernels_prior.left_to_right(9, 0, counts, p, alpha, row, np.zeros(3), gains, scalars)
    np.testing.assert_allclose(alpha, truth, rtol=0.15, atol=0.02)


@pytest.mark.parametrize("rule", ["left_to_right", "paper"])
def test_alpha_does_not_fall_below_its_floor(rule: str) -> None:
    """Also of a topic that documents have none of, and where rounding leaves nothing beside the token itself."""
    case = small_case(1)._replace(alpha=np.array([1e-4, 1e-4, 5.0]))
    method = stream("sdm", case, rule)
    words = np.zeros((11, 3))
    words[:, 2] = 50.0
    state, _ = swept(method, first_state(method, words, some_prior(case, rule)), 300)
    assert (state.prior.alpha >= 1e-5).all()
    assert np.isfinite(state.prior.alpha).all()
    sums, p, q = np.zeros(2), np.ones((1, 2), np.float32), np.array([[1.0, 0.0]], np.float32)
    nothing = np.array([1.0, -1e-3], np.float32)
    alpha = np.full(2, 1e-5, np.float32)
    kernels_prior.gradient(1, 0, np.ones(1, np.float32), p, q, nothing, alpha, sums)
    assert np.isfinite(sums).all()
    assert (sums > 0).all()


def test_random_numbers_of_words_met_for_the_first_time() -> None:
    drawn = np.array([uniform(12345, i) for i in range(20_000)])
    assert ((drawn >= 0) & (drawn < 1)).all()
    assert len(np.unique(drawn)) == len(drawn)
    np.testing.assert_allclose(np.histogram(drawn, 10, (0, 1))[0], 2_000, atol=200)
    assert abs(np.corrcoef(drawn[1:], drawn[:-1])[0, 1]) < 0.03
    assert abs(np.corrcoef(drawn, [uniform(12346, i) for i in range(20_000)])[0, 1]) < 0.03


def test_states_are_not_written_to() -> None:
    case = small_case(0)
    method = stream("sdm", case)
    state = first_state(method, some_words(case), some_prior(case))
    copy = replace(state, by_word=state.by_word.copy())
    swept(method, state)
    np.testing.assert_array_equal(state.by_word, copy.by_word)
