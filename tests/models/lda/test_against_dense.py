"""The sweeps and everything that is said of their states, against references in dense double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from acvb_core.evaluate.split import HeldOutWords
from acvb_core.models.lda.cvb import sum_counts
from acvb_core.models.lda.kernels import multiply_absences
from acvb_core.models.lda.state import BlockPartition, zero_counts
from acvb_core.models.lda.topics import build_topics
from tests.models.lda.adapters import (
    ORDERS,
    Order,
    assert_counts,
    collapsed,
    entries_of,
    given_of,
    model_of,
    posterior_of_case,
    state_of,
    variational,
    variational_state,
    with_gamma,
)
from tests.oracles import dense_lda as dense
from tests.oracles.lda_cases import LdaCase, edge_cases, random_case, scaled, small_case

RNG = np.random.default_rng(0)
SWEEPS = {"zeroth": dense.cvb0_sweep, "second": dense.cvb_sweep}


def cases() -> dict[str, LdaCase]:
    found = {f"small {seed}": small_case(seed) for seed in range(6)}
    found |= {f"tiny {seed}": random_case(seed) for seed in range(3)}
    found |= {f"long {seed}": scaled(small_case(seed), 7) for seed in range(3)}
    return found | edge_cases()


CASES = cases()
every_case = pytest.mark.parametrize("name", CASES)


@every_case
@pytest.mark.parametrize("order", ORDERS)
def test_sweeps(name: str, order: Order) -> None:
    """Several in a row: rows, counts, their variances and the pseudo leave-one-out met on the way."""
    case = CASES[name]
    algorithm, state = collapsed(case, order), state_of(case, order)
    # A variance over the square of a concentration of a thousandth: rounding is seen a million times enlarged.
    loose = (name, order) == ("tiny concentrations", "second")
    for _ in range(3):
        # From what the package has: small differences must not be carried on from sweep to sweep.
        gamma = state.buffers.q.astype(np.float64)
        gamma /= gamma.sum(axis=1, keepdims=True)
        gamma, loo = SWEEPS[order](case.triplets, gamma, case.alpha, case.beta)
        old = state.buffers.q.astype(np.float64)
        state, info = algorithm.sweep(state, RNG)
        np.testing.assert_allclose(state.buffers.q, gamma, atol=5e-3 if loose else 5e-5)
        assert info.pseudo_loo == pytest.approx(loo, rel=2e-5, abs=1e-4)
        moved = np.abs(gamma - old).sum(axis=1) @ case.triplets.counts / case.triplets.counts.sum()
        assert info.change == pytest.approx(moved, rel=1e-3, abs=1e-4)
        slack = (1e-2 if loose else 1e-4) * max(1, case.triplets.counts.max())
        assert_counts(state.counts, dense.expected_counts(case.triplets, gamma), rtol=1e-4, atol=slack)
        if order == "second":
            assert_counts(state.variances, dense.count_variances(case.triplets, gamma), rtol=1e-3, atol=slack)


@pytest.mark.parametrize("order", ORDERS)
def test_totals_are_those_of_the_start_of_the_document(order: Order) -> None:
    """The reference with totals that are always up to date gives something else: the tests above can tell."""
    told = 0.0
    for seed in range(6):
        case = small_case(seed)
        fresh, _ = SWEEPS[order](case.triplets, case.gamma, case.alpha, case.beta, frozen_nk=False)
        state, _ = collapsed(case, order).sweep(state_of(case, order), RNG)
        told = max(told, np.abs(fresh - state.buffers.q).max())
    assert told > 1e-3


@every_case
def test_counts_and_variances(name: str) -> None:
    case = CASES[name]
    tokens, q = entries_of(case.triplets), given_of(case).q
    assert_counts(
        sum_counts(BlockPartition.cut(tokens), q),
        dense.expected_counts(case.triplets, case.gamma),
        rtol=1e-5,
        atol=1e-5,
    )
    assert_counts(
        sum_counts(BlockPartition.cut(tokens), q, spread=True),
        dense.count_variances(case.triplets, case.gamma),
        rtol=1e-4,
        atol=1e-5,
    )


@every_case
def test_presence(name: str) -> None:
    """P(n > 0) from the probabilities of absence."""
    case = CASES[name]
    tokens, absent = entries_of(case.triplets), zero_counts(entries_of(case.triplets), case.size)
    absent.by_document.fill(1.0)
    absent.by_word.fill(1.0)
    multiply_absences(0, tokens.n_documents, tokens.documents, given_of(case).q, absent)
    wanted = dense.presence(case.triplets, case.gamma)
    np.testing.assert_allclose(1 - absent.by_document, wanted.documents, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(1 - absent.by_word, wanted.words, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(1 - absent.by_word.prod(axis=0), wanted.topics, rtol=1e-4, atol=1e-5)


@every_case
@pytest.mark.parametrize("inner", [1, 3])
def test_variational_sweeps(name: str, inner: int) -> None:
    case = CASES[name]
    algorithm, state, gamma = variational(case, inner=inner), variational_state(case), case.gamma
    for _ in range(3):
        gamma = dense.vb_sweep(case.triplets, gamma, case.alpha, case.beta, inner)
        state, info = algorithm.sweep(state, RNG)
        assert_counts(state.counts, dense.expected_counts(case.triplets, gamma), rtol=1e-9, atol=1e-9)
        assert state.entropy == pytest.approx(dense.entropy(case.triplets, gamma), rel=1e-9, abs=1e-9)
        bound = model_of(case).lower_bound(algorithm.posterior(state))
        assert bound == pytest.approx(
            dense.lower_bound(case.triplets, gamma, case.alpha, case.beta), rel=1e-9, abs=1e-8
        )
        assert info.pseudo_loo is None


@every_case
def test_bounds(name: str) -> None:
    case = CASES[name]
    model, posterior, given = model_of(case), posterior_of_case(case), given_of(case)
    arguments = (case.triplets, case.gamma, case.alpha, case.beta)
    assert model.lower_bound(posterior) is None
    assert model.lower_bound(posterior, given) == pytest.approx(
        dense.lower_bound(*arguments), rel=1e-6, abs=2e-5
    )
    wanted = dense.collapsed_bound_second_order(*arguments)
    assert model.collapsed_bound(posterior, given) == pytest.approx(wanted, rel=1e-6, abs=1e-4)
    assert model.extras(posterior, given)["collapsed_bound"] == model.collapsed_bound(posterior, given)


@every_case
def test_pseudo_leave_one_out(name: str) -> None:
    case = CASES[name]
    model, posterior, given = model_of(case), posterior_of_case(case), given_of(case)
    wanted = dense.pseudo_loo(case.triplets, case.gamma, case.alpha, case.beta)
    found = model.pseudo_loo(posterior, responsibilities=given)
    assert found == pytest.approx(wanted, rel=2e-5, abs=1e-4)
    perplexity = np.exp(-wanted / case.triplets.counts.sum())
    assert model.extras(posterior, None, found) == {
        "loo_perplexity": pytest.approx(perplexity, rel=1e-4, abs=1e-5)
    }
    # Without responsibilities: those that the counts imply.
    n = dense.expected_counts(case.triplets, case.gamma)
    implied = (case.alpha + n.documents[case.triplets.documents]) * (case.beta + n.words[case.triplets.words])
    implied /= case.triplets.shape[1] * case.beta + n.topics
    implied /= implied.sum(axis=1, keepdims=True)
    total = 0.0
    for p, (d, w, c) in enumerate(zip(*case.triplets[:3], strict=True)):
        document = np.maximum(n.documents[d] - implied[p], 0) + case.alpha
        word = np.maximum(n.words[w] - implied[p], 0) + case.beta
        rest = case.triplets.shape[1] * case.beta + n.topics - implied[p]
        length = case.triplets.lengths[d] - 1 + case.alpha.sum()
        total += c * np.log((document * word / rest).sum() / length)
    assert model.pseudo_loo(posterior) == pytest.approx(total, rel=2e-5, abs=1e-4)


@every_case
def test_predictions_and_tables(name: str) -> None:
    case = CASES[name]
    model, posterior = model_of(case), posterior_of_case(case)
    documents, words = (index.ravel().astype(np.int32) for index in np.indices(case.triplets.shape))
    heldout = HeldOutWords(documents, words, np.ones(len(words), np.int32))
    wanted = dense.predict(case.triplets, case.gamma, case.alpha, case.beta)
    np.testing.assert_allclose(model.predict(posterior, heldout), wanted.ravel(), rtol=1e-5)
    theta, phi = dense.estimates(case.triplets, case.gamma, case.alpha, case.beta)
    topics = build_topics(posterior)
    np.testing.assert_allclose(topics.document_share, theta, rtol=1e-9)
    np.testing.assert_allclose(topics.word_probability, phi.T, rtol=1e-9)
    n_k = dense.expected_counts(case.triplets, case.gamma).topics
    np.testing.assert_allclose(topics.share, n_k / n_k.sum(), rtol=1e-9)


def learning_due(order: str, case: LdaCase) -> tuple[Any, Any]:
    """Return a method and a state whose next sweep ends with a step of the hyper-parameters."""
    if order == "variational":
        return variational(case, learn=True), variational_state(case, age=9, learning=True)
    return collapsed(case, order, learn=True), state_of(case, order, age=9, learning=True)  # type: ignore[arg-type]


@pytest.mark.parametrize("order", [*ORDERS, "variational"])
@pytest.mark.parametrize("name", [n for n in CASES if n not in ("hard", "large concentrations")])
def test_steps_of_the_hyper_parameters(name: str, order: str) -> None:
    """At the end of a sweep, from its counts: weighted by presence for the collapsed methods, plain for VB."""
    case = CASES[name]
    algorithm, state = learning_due(order, case)
    state, info = algorithm.sweep(state, RNG)
    if order == "variational":
        gamma = dense.vb_sweep(case.triplets, case.gamma, case.alpha, case.beta)
        alpha, beta = dense.minka_step(dense.plug_in, case.triplets, gamma, case.alpha, case.beta)
    else:
        gamma = state.buffers.q.astype(np.float64)
        alpha, beta = dense.weighted_minka_step(
            case.triplets, gamma / gamma.sum(axis=1, keepdims=True), case.alpha, case.beta
        )
    np.testing.assert_allclose(state.hyper.alpha, np.clip(alpha, 1e-4, 1e4), rtol=2e-4)
    assert state.hyper.beta == pytest.approx(np.clip(beta, 1e-4, 1e4), rel=2e-4)
    assert info.not_stationary or not state.learning
    plain = dense.minka_step(dense.plug_in, case.triplets, gamma, case.alpha, case.beta)
    weighted = dense.weighted_minka_step(case.triplets, gamma, case.alpha, case.beta)
    if case.size > 1 and name.startswith("small"):  # the two can be told apart
        assert np.abs(plain[0] / weighted[0] - 1).max() > 0.02
        assert abs(plain[1] / weighted[1] - 1) > 0.02


def test_gamma_that_does_not_move_says_so() -> None:
    """A fixed point of the reference is one of the package."""
    for order in ORDERS:
        case = small_case(3)
        gamma = case.gamma
        for _ in range(60):
            gamma, _ = SWEEPS[order](case.triplets, gamma, case.alpha, case.beta)
        case = with_gamma(case, gamma)
        _, info = collapsed(case, order).sweep(state_of(case, order), RNG)
        assert info.change < 1e-4


@pytest.mark.parametrize("which", [*ORDERS, "vb"])
def test_concentrations_stay_with_their_topics_when_one_is_dropped(which: Any) -> None:
    case = small_case(0)
    case = case._replace(alpha=0.1 * np.arange(1.0, case.size + 1))

    def sweep(shrink: float) -> Any:
        if which == "vb":
            return variational(case, shrink=shrink).sweep(variational_state(case), RNG)
        return collapsed(case, which, shrink=shrink).sweep(state_of(case, which), RNG)

    whole, _ = sweep(0.0)
    first_out = int(np.argmin(whole.counts.totals))
    # The first topic must go: later ones would leave the others where they are.
    order = np.concatenate([[first_out], np.delete(np.arange(case.size), first_out)])
    case = case._replace(gamma=case.gamma[:, order], alpha=case.alpha[order])
    shares = np.sort(whole.counts.totals) / whole.counts.totals.sum()
    state, info = sweep(float(shares[:2].mean()))
    assert info.cluster_permutation["topics"].tolist() == list(range(1, case.size))
    np.testing.assert_allclose(state.hyper.alpha, case.alpha[1:])
