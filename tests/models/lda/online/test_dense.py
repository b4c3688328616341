"""Streaming methods against a plain reference: every update, every rule for alpha, known and running sizes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from scipy.special import psi

from acvb_core.engine.prepared import prepare_run
from acvb_core.models.lda.online import kernels as rules
from acvb_core.models.lda.online.kernels import uniform
from acvb_core.models.lda.online.stream import StreamState
from acvb_core.models.lda.spec import EARLY
from tests.loops import for_each
from tests.models.lda.online.adapters import BETA, RULES, first_state, some_prior, some_words, stream, swept
from tests.oracles import dense_stream as plain
from tests.oracles.dense_irm import Array
from tests.oracles.lda_cases import LdaCase, edge_cases, small_case

#: alpha of more topics than documents is learned from next to nothing; a single topic has no sticks.
CASES = {"small": small_case(1)} | edge_cases()
CLOSE: dict[str, Any] = {"rtol": 1e-7, "atol": 1e-9}
each_case = for_each("name", list(CASES))
each_rule = for_each("rule", list(RULES))
each_size = for_each("known", [True, False])


def assert_prior(found: StreamState, wanted: plain.Prior, **slack: float) -> None:
    np.testing.assert_allclose(found.prior.alpha, wanted.alpha, **slack)
    np.testing.assert_allclose(found.prior.gains, wanted.gains, **slack)
    np.testing.assert_allclose(found.prior.scalars[1], wanted.seen)
    if wanted.rule == "left_to_right":
        np.testing.assert_allclose(found.prior.scalars[0], wanted.denominator, **slack)
    if wanted.rule in ("paper", "bound"):
        np.testing.assert_allclose(found.prior.sticks, wanted.sticks, **slack)


def assert_told(case: LdaCase, pseudo_loo: float | None, told: plain.Sums, **slack: float) -> None:
    """The likelihood of a window stands for that of all tokens."""
    if not told.tokens:
        assert pseudo_loo is None
        return
    np.testing.assert_allclose(pseudo_loo, told.loo * case.corpus.n_tokens / told.tokens, **slack)


@each_size
@each_rule
@each_case
def test_divergence_minimisation(name: str, rule: str, known: bool) -> None:
    case = CASES[name]
    documents = plain.documents_of(case.corpus)
    method = stream("sdm", case, rule, known=known, passes=3, power=0.6)
    words, prior = some_words(case), some_prior(case, rule)
    state = first_state(method, words, prior)
    steps, sizes, noise = np.zeros(len(words)), case.corpus.frequencies * float(known), state.noise
    for epoch in range(3):  # in the first the tokens are met for the first time
        state, info = swept(method, state)
        told = plain.sdm(
            documents, words, steps, sizes, prior, BETA, passes=3, power=0.6, running=not known,
            counting=epoch == 0, noise=lambda w, k: uniform(noise, w * case.size + k),
        )  # fmt: skip
        np.testing.assert_allclose(state.by_word, words, **CLOSE)
        np.testing.assert_allclose(state.totals, words.sum(axis=0), **CLOSE)
        np.testing.assert_array_equal(state.steps, steps)
        np.testing.assert_array_equal(state.sizes, case.corpus.frequencies)
        assert_prior(state, prior, **CLOSE)
        assert_told(case, info.pseudo_loo, told, rtol=1e-6, atol=1e-9)


@each_size
@each_case
def test_counts_are_renewed_from_the_second_pass_on(name: str, known: bool) -> None:
    """Those of the pass before give way token by token; until then, and for the first documents, it is as before."""
    case = CASES[name]
    documents, k = plain.documents_of(case.corpus), case.size
    method = stream("sdm", case, "left_to_right", known=known, passes=4, renew=True, early_passes=1, window=2)
    words, prior = some_words(case), some_prior(case, "left_to_right")
    state = first_state(method, words, prior)
    steps, sizes, noise = np.zeros(len(words)), case.corpus.frequencies * float(known), state.noise
    windows, gone = -(-len(documents) // 2), 0
    for epoch in range(1 + (EARLY + 2) * k // len(documents)):
        for _ in range(windows):
            state, _ = swept(method, state)
        plain.sdm(
            documents, words, steps, sizes, prior, BETA, passes=4, power=0.7, running=not known,
            counting=epoch == 0, noise=lambda w, k: uniform(noise, w * case.size + k),
            early=EARLY * k - gone, early_passes=1, renewing=epoch > 0,
        )  # fmt: skip
        gone += len(documents)
        np.testing.assert_allclose(state.by_word, words, **CLOSE)
        np.testing.assert_allclose(state.totals, words.sum(axis=0), **CLOSE)
        assert_prior(state, prior, **CLOSE)
        assert state.renewal is None
    assert gone > EARLY * k


@each_size
@each_rule
@each_case
@for_each("method_name", ["scvb0", "svb"])
def test_minibatches(method_name: str, name: str, rule: str, known: bool) -> None:
    """Scaled lazily, summed by the words of a minibatch: the same as moving every count."""
    case, by = CASES[name], "documents" if method_name == "svb" else "tokens"
    own: dict[str, Any] = {"inner": 40, "settled": 1e-9}
    if method_name == "scvb0":
        own = {"inner": (2.0, 3.0, 0.8), "burn_in_passes": 2}
    own |= {"scale": 3.0, "offset": 2.0, "power": 0.7, "documents": 3, "window": 6, "known": known}
    method = stream(method_name, case, rule, **own)
    words, documents = some_words(case), plain.documents_of(case.corpus)
    topics = plain.Topics(words, some_prior(case, rule), BETA)
    if known:
        topics.documents, topics.tokens = len(documents), case.corpus.n_tokens
    state = first_state(method, words, topics.prior)

    def infer(topics: plain.Topics, ids: Array, counts: Array) -> tuple[Array, Array]:
        if method_name == "svb":
            return plain.svb_document(topics, ids, counts, most=40, settled=1e-9)
        step = lambda t: min(2.0 / (3.0 + t) ** 0.8, 1.0)  # noqa: E731
        return plain.scvb0_document(topics, ids, counts, inner=step, burn_in=2)

    for epoch, begin in product(range(3), range(0, len(documents), 6)):
        state, info = swept(method, state)
        topics.sums, part = plain.Sums(), documents[begin : begin + 6]
        counting = not known and epoch == 0
        plain.minibatches(topics, part, 3, infer, lambda t: 3.0 / (2.0 + t) ** 0.7, by=by, counting=counting)
        # Weights of words are in the precision of the counts, the scale in single precision.
        slack = {"rtol": 2e-5, "atol": 1e-6}
        np.testing.assert_allclose(state.by_word, topics.words, **slack)
        np.testing.assert_allclose(state.totals, topics.words.sum(axis=0), **slack)
        assert (state.batches, state.documents, state.tokens) == (
            topics.batches,
            topics.documents,
            topics.tokens,
        )
        assert_prior(state, topics.prior, **slack)
        assert_told(case, info.pseudo_loo, topics.sums, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(state.sizes, case.corpus.frequencies)


# ------------------------------------------------------------------------------------------- as the papers print them


@for_each("name, window", [("sdm", 100), ("sdm", 3), ("scvb0", 100), ("svb", 100)])
def test_presets_of_the_papers(name: str, window: int) -> None:
    """Two epochs with the steps, passes and rules that the papers print; a window ends a mini-batch of SDM."""
    case = small_case(1)._replace(alpha=np.full(3, 0.01))
    values = {"preset": "paper", "k": case.size, "beta": BETA, "window": window, "shuffle": False, "batch": 3}
    if name != "sdm":
        del values["batch"]
    method: Any = prepare_run(case.corpus, name, values).algorithm
    rule = {"sdm": "paper", "svb": "bound"}.get(name, "symmetric")
    words, alpha, documents = some_words(case), case.alpha, plain.documents_of(case.corpus)
    sticks = np.append(np.log(alpha.sum()), np.log(1.0 / np.arange(case.size - 1, 0, -1)))
    prior = plain.Prior(alpha.copy(), 0.9 * alpha, 0.8, 0 if rule == "symmetric" else 5_000, sticks, rule)
    topics = plain.Topics(words, prior, BETA)
    topics.documents, topics.tokens = len(documents), case.corpus.n_tokens
    state, steps = first_state(method, words, prior), np.zeros(len(words))

    def infer(topics: plain.Topics, ids: Any, counts: Any) -> Any:
        if name == "svb":
            return plain.svb_document(topics, ids, counts, most=100, settled=1e-3)
        return plain.scvb0_document(topics, ids, counts, inner=lambda t: (10 + t) ** -0.9, burn_in=5)

    for begin in [*range(0, len(documents), window)] * 2:
        state, _ = swept(method, state)
        part = documents[begin : begin + window]
        if name == "sdm":
            plain.sdm(part, words, steps, case.corpus.frequencies, prior, BETA, passes=5, power=0.7, batch=3)
        elif name == "svb":
            plain.minibatches(
                topics, part, 100, infer, lambda t: (1024 + t) ** -0.7, by="documents", counting=False
            )
        else:
            plain.minibatches(
                topics, part, 100, infer, lambda t: 10 * (1000 + t) ** -0.9, by="tokens", counting=False
            )
        wanted = words if name == "sdm" else topics.words
        np.testing.assert_allclose(state.by_word, wanted, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(state.prior.alpha, prior.alpha, rtol=1e-9)


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


@for_each("seed", range(3))
def test_sticks_climb_the_leave_one_out_likelihood(seed: int) -> None:
    counts, p, q, n_d, alpha = document(seed)
    share = alpha[:-1] / np.cumsum(alpha[::-1])[::-1][:-1]
    before = np.append(np.log(alpha.sum()), np.log(share / (1 - share)))
    np.testing.assert_allclose(plain.alpha_of(before), alpha)
    sums, sticks, scalars, new = np.zeros(3), before.copy(), np.array([0.0, 4_000.0]), alpha.copy()
    length = rules.gradient(6, 0, counts.astype(np.float32), p, q, alpha + n_d, alpha, sums)
    rules.climb_sticks(length, new, sums, sticks, scalars)
    uphill = differences(lambda s: plain.loo_of(counts, p, q, n_d, plain.alpha_of(s)), before)
    np.testing.assert_allclose((sticks - before) * length * np.sqrt(4_001.0), uphill, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(new, plain.alpha_of(sticks))
    assert scalars[1] == 4_001.0
    # The first thousand documents change nothing.
    rules.climb_sticks(length, alpha, sums, before, np.array([0.0, 999.0]))
    np.testing.assert_array_equal(plain.alpha_of(before).round(12), alpha.round(12))


@for_each("seed", range(3))
def test_left_to_right_gains_are_the_gradient_of_the_predictive_likelihood(seed: int) -> None:
    """d log p / d alpha_k = g_k - sum 1 / A, the counts of the tokens before held fast."""
    counts, p, _, _, alpha = document(seed)
    gains, scalars, sums = np.zeros(3), np.zeros(2), np.zeros(3)
    kept, single = alpha.copy(), counts.astype(np.float32)
    rules.left_to_right(6, 0, single, p, alpha, np.zeros(3), sums, gains, scalars)
    np.testing.assert_array_equal(alpha, kept)  # frozen
    order = plain.scattered(6, 0)
    tokens = np.repeat(p[order], counts[order].astype(int), axis=0)
    before, n = [], alpha.copy()
    for one in tokens:
        before.append(n - alpha)
        n = n + n * one / (n @ one)

    def log_likelihood(a: Array) -> float:
        pairs = zip(tokens, before, strict=True)
        return float(sum(np.log((a + own) @ one) - np.log((a + own).sum()) for one, own in pairs))

    wanted = differences(log_likelihood, alpha)
    step = 2**-0.7
    np.testing.assert_allclose(gains / step / alpha - scalars[0] / step, wanted, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(n.sum(), alpha.sum() + counts.sum())
    assert scalars[1] == 1


def test_many_tokens_of_a_word_are_counted_like_one_after_another() -> None:
    """They are taken some at a time: sum 1 / (A + j) over the tokens, and A grows by all of them."""
    alpha, scalars = np.array([0.2, 0.5, 0.1]), np.zeros(2)
    counts, p = np.array([100_000.0], dtype=np.float32), np.array([[0.3, 0.1, 0.2]])
    rules.left_to_right(1, 0, counts, p, alpha, np.zeros(3), np.zeros(3), np.zeros(3), scalars)
    one_by_one = psi(alpha.sum() + 100_000) - psi(alpha.sum())
    np.testing.assert_allclose(scalars[0] / 2**-0.7, one_by_one, rtol=1e-5)


@for_each("rule", ["left_to_right", "paper"])
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
    nothing, alpha = np.array([1.0, -1e-3], np.float32), np.full(2, 1e-5, np.float32)
    rules.gradient(1, 0, np.ones(1, np.float32), p, q, nothing, alpha, sums)
    assert np.isfinite(sums).all()
