"""The streaming methods against a plain reference: every update, every rule for alpha, known and running totals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from acvb_core.models.lda.online.kernels import uniform
from acvb_core.models.lda.online.stream import StreamState
from acvb_core.models.lda.spec import EARLY
from tests.models.lda.online.adapters import BETA, RULES, first_state, some_prior, some_words, stream, swept
from tests.oracles import dense_stream as plain
from tests.oracles.dense_irm import Array
from tests.oracles.lda_cases import LdaCase, edge_cases, small_case

#: alpha of more topics than documents is learned from next to nothing; a single topic has no sticks.
CASES = {f"small {seed}": small_case(seed) for seed in range(2)} | edge_cases()
CLOSE: dict[str, Any] = {"rtol": 1e-7, "atol": 1e-9}
each_case = pytest.mark.parametrize("name", CASES)
each_rule = pytest.mark.parametrize("rule", RULES)
each_size = pytest.mark.parametrize("known", [True, False], ids=["known", "running"])


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


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("passes", [1, 2, 10])
def test_divergence_minimisation_with_other_steps(power: float, passes: int) -> None:
    case = small_case(5)
    method = stream("sdm", case, passes=passes, power=power)
    words, prior = some_words(case), some_prior(case)
    state, _ = swept(method, first_state(method, words, prior), 4)
    steps = np.zeros(len(words))
    for _ in range(4):
        plain.sdm(
            plain.documents_of(case.corpus), words, steps, case.corpus.frequencies, prior, BETA,
            passes=passes, power=power,
        )  # fmt: skip
    np.testing.assert_allclose(state.by_word, words, **CLOSE)


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
        if epoch:
            used = case.corpus.frequencies > 0
            sums = state.by_word.sum(axis=1)[used]
            np.testing.assert_allclose(sums, case.corpus.frequencies[used], **CLOSE)
        assert state.renewal is None
    assert gone > EARLY * k


def test_counts_of_a_word_are_the_mean_of_what_its_documents_said() -> None:
    """With steps of 1 / t; what they began with is gone after the first."""
    case = small_case(2)
    method = stream("sdm", case, window=1, power=1.0)
    state = first_state(method, some_words(case), some_prior(case))
    said: dict[int, list[Array]] = {}
    documents = plain.documents_of(case.corpus)
    for document in documents * 6:
        before = state
        state, _ = swept(method, state)
        # What this document says: the same from the same topics, with a step that is a whole one.
        alone = before.__class__(**{**vars(before), "steps": np.zeros_like(before.steps)})
        whole, _ = swept(method, alone)
        for w, _ in document:
            said.setdefault(w, []).append(whole.by_word[w])
            np.testing.assert_allclose(state.by_word[w], np.mean(said[w], axis=0), rtol=1e-9, atol=1e-12)
    assert max(map(len, said.values())) >= 12


def plain_run(
    name: str, case: LdaCase, topics: plain.Topics, size: int, windows: list[tuple[int, int]], **options: Any
) -> plain.Sums:
    """Take windows of the documents, the last of them being the one that tells."""
    documents = plain.documents_of(case.corpus)
    inner, settled = options.get("burn_in", 2), options.get("settled", 1e-9)

    def infer(topics: plain.Topics, ids: Array, counts: Array) -> tuple[Array, Array]:
        if name == "svb":
            return plain.svb_document(topics, ids, counts, most=40, settled=settled)
        return plain.scvb0_document(
            topics, ids, counts, inner=lambda t: min(2.0 / (3.0 + t) ** 0.8, 1.0), burn_in=inner
        )

    for begin, end in windows:
        topics.sums = plain.Sums()
        plain.minibatches(
            topics, documents[begin:end], size, infer, lambda t: 3.0 / (2.0 + t) ** 0.7,
            by="documents" if name == "svb" else "tokens", counting=options.get("counting", False),
        )  # fmt: skip
    return topics.sums


def minibatch(name: str, case: LdaCase, rule: str, **options: Any) -> Any:
    own: dict[str, Any] = {"inner": 40, "settled": 1e-9}
    if name == "scvb0":
        own = {"inner": (2.0, 3.0, 0.8), "burn_in_passes": 2}
    return stream(name, case, rule, scale=3.0, offset=2.0, power=0.7, **own, **options)


@each_size
@each_rule
@each_case
@pytest.mark.parametrize("method_name", ["scvb0", "svb"])
def test_minibatches(method_name: str, name: str, rule: str, known: bool) -> None:
    """Scaled lazily, summed by the words of a minibatch: the same as moving every count."""
    case = CASES[name]
    n, size = case.corpus.n_documents, 3
    method = minibatch(method_name, case, rule, documents=size, window=6, known=known)
    words = some_words(case)
    topics = plain.Topics(words, some_prior(case, rule), BETA)
    if known:
        topics.documents, topics.tokens = n, case.corpus.n_tokens
    state = first_state(method, words, topics.prior)
    cuts = [*range(0, n, 6), n]
    for epoch in range(3):
        for window in zip(cuts[:-1], cuts[1:], strict=True):
            state, info = swept(method, state)
            counting = not known and epoch == 0
            told = plain_run(method_name, case, topics, size, [window], counting=counting)
            # Weights of words are in the precision of the counts, the scale in single precision.
            slack = {"rtol": 2e-5, "atol": 1e-6}
            np.testing.assert_allclose(state.by_word, topics.words, **slack)
            np.testing.assert_allclose(state.totals, topics.words.sum(axis=0), **slack)
            assert state.batches == topics.batches
            assert (state.documents, state.tokens) == (topics.documents, topics.tokens)
            assert_prior(state, topics.prior, **slack)
            assert_told(case, info.pseudo_loo, told, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(state.sizes, case.corpus.frequencies)
