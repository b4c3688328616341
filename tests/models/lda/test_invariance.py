"""Names and order of documents, words and topics, and whether equal tokens are written together, change nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from acvb_core.data.corpus import Corpus
from acvb_core.models.lda.cvb import CollapsedState
from acvb_core.models.lda.hyper import Concentrations
from acvb_core.models.lda.kernels import Counts
from acvb_core.models.lda.model import LdaModel
from acvb_core.models.lda.vb import VariationalState
from tests.models.lda.adapters import (
    ORDERS,
    Order,
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
from tests.oracles.lda_cases import LdaCase, scaled, small_case, unclump

RNG = np.random.default_rng(0)


def settled(case: LdaCase, order: Order) -> tuple[LdaCase, CollapsedState]:
    """Return a case at a fixed point of its method, and the state."""
    algorithm, state = collapsed(case, order), state_of(case, order)
    for _ in range(2000):
        state, info = algorithm.sweep(state, RNG)
        if info.change < 2e-6:
            return with_gamma(case, state.buffers.q), state
    raise AssertionError("it never settles")


def long_case(seed: int) -> LdaCase:
    """Pairs of several tokens, in which topics are no foregone conclusion."""
    return scaled(small_case(seed), 3)._replace(alpha=np.array([0.9, 0.5, 1.3]), beta=0.6)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", range(3))
def test_tokens_together_or_apart_have_the_same_fixed_points(seed: int, order: Order) -> None:
    """The tokens of a pair share one row, from which one token is left out: as if each had a row of its own."""
    case, _ = settled(long_case(seed), order)
    apart = case.unclumped
    assert len(apart.gamma) > 2 * len(case.gamma)
    algorithm, state = collapsed(apart, order), state_of(apart, order)
    together, joined = collapsed(case, order).sweep(state_of(case, order), RNG)
    for turn in range(3):
        state, info = algorithm.sweep(state, RNG)
        assert info.change < 5e-5
        if turn == 0:
            assert info.pseudo_loo == pytest.approx(joined.pseudo_loo, rel=1e-6)
    np.testing.assert_allclose(state.buffers.q, apart.gamma, atol=2e-4)
    np.testing.assert_allclose(state.counts.by_document, together.counts.by_document, atol=2e-3)


@pytest.mark.parametrize("order", ORDERS)
def test_a_fixed_point_of_the_tokens_is_not_that_of_pairs_taken_out_whole(order: Order) -> None:
    """The test above can tell: leaving all tokens of a pair out would give something else."""
    case, state = settled(long_case(1), order)
    n, gamma = dense.expected_counts(case.triplets, case.gamma), case.gamma
    d, w, c = (np.asarray(x) for x in case.triplets[:3])
    whole = c[:, None] * gamma
    wrong = np.maximum(n.documents[d] - whole, 0) + case.alpha
    wrong *= np.maximum(n.words[w] - whole, 0) + case.beta
    wrong /= case.triplets.shape[1] * case.beta + n.topics - whole
    wrong /= wrong.sum(axis=1, keepdims=True)
    assert np.abs(wrong - state.buffers.q).max() > 0.02


def test_variational_bayes_of_tokens_together_or_apart() -> None:
    case = scaled(small_case(2), 3)
    states = [variational_state(case), variational_state(case.unclumped)]
    methods = [variational(case), variational(case.unclumped)]
    for _ in range(10):
        states = [method.sweep(state, RNG)[0] for method, state in zip(methods, states, strict=True)]
    one, other = states
    np.testing.assert_allclose(one.counts.by_document, other.counts.by_document, rtol=1e-9)
    np.testing.assert_allclose(one.counts.by_word, other.counts.by_word, rtol=1e-9)
    assert one.entropy == pytest.approx(other.entropy, rel=1e-9)


def test_bounds_of_tokens_together_or_apart() -> None:
    case = scaled(small_case(4), 3)
    triplets, gamma = unclump(case.triplets, case.gamma)
    apart = case._replace(triplets=triplets, gamma=gamma)
    model, posterior = model_of(case), posterior_of_case(case)
    other = LdaModel(case.corpus)
    object.__setattr__(
        other, "tokens", entries_of(triplets)
    )  # a pair with several entries: no Corpus has one
    for one in ("lower_bound", "collapsed_bound"):
        assert getattr(other, one)(posterior, given_of(apart)) == pytest.approx(
            getattr(model, one)(posterior, given_of(case)), rel=1e-6
        )
    loos = [m.pseudo_loo(posterior, responsibilities=given_of(c)) for m, c in ((model, case), (other, apart))]
    assert loos[0] == pytest.approx(loos[1], rel=1e-6)


def shuffled(case: LdaCase, rng: np.random.Generator) -> tuple[LdaCase, dict[str, np.ndarray]]:
    """Return a case with documents, words and topics in another order: `moved[i]` stands where i stood before."""
    size = dict(zip(("documents", "words"), case.triplets.shape, strict=True)) | {"topics": case.size}
    moved = {name: rng.permutation(n) for name, n in size.items()}
    places = {name: np.argsort(order) for name, order in moved.items()}
    documents = places["documents"][case.triplets.documents]
    words = places["words"][case.triplets.words]
    sequence = np.lexsort((words, documents))
    triplets = dense.Triplets(
        documents[sequence], words[sequence], case.triplets.counts[sequence], case.triplets.shape
    )
    gamma = case.gamma[sequence][:, moved["topics"]]
    return LdaCase(triplets, gamma, case.alpha[moved["topics"]], case.beta), moved


def assert_moved(found: Counts, before: Counts, moved: dict[str, np.ndarray], **slack: float) -> None:
    order = moved["topics"]
    wanted = before.by_document[moved["documents"]][:, order], before.by_word[moved["words"]][:, order]
    np.testing.assert_allclose(found.by_document, wanted[0], **slack)
    np.testing.assert_allclose(found.by_word, wanted[1], **slack)
    np.testing.assert_allclose(found.totals, before.totals[order], **slack)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", range(3))
def test_fixed_points_go_with_documents_words_and_topics(seed: int, order: Order) -> None:
    case, state = settled(long_case(seed), order)
    other, moved = shuffled(case, np.random.default_rng(seed))
    after, info = collapsed(other, order).sweep(state_of(other, order), RNG)
    assert info.change < 2e-5
    assert_moved(after.counts, state.counts, moved, rtol=1e-3, atol=1e-3)
    one, two = model_of(case), model_of(other)
    bounds = [m.collapsed_bound(posterior_of_case(c), given_of(c)) for m, c in ((one, case), (two, other))]
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_sweeps_of_variational_bayes_go_with_documents_words_and_topics(seed: int) -> None:
    case = long_case(seed)
    other, moved = shuffled(case, np.random.default_rng(seed))
    states: list[VariationalState] = [variational_state(c, learning=True) for c in (case, other)]
    methods = [variational(c, learn=True, inner=2) for c in (case, other)]
    for _ in range(25):
        states = [m.sweep(s, RNG)[0] for m, s in zip(methods, states, strict=True)]
        assert_moved(states[1].counts, states[0].counts, moved, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(states[1].hyper.alpha, states[0].hyper.alpha[moved["topics"]], rtol=1e-7)
    assert states[1].hyper.beta == pytest.approx(states[0].hyper.beta, rel=1e-7)
    assert states[0].hyper.beta != case.beta


@pytest.mark.parametrize("order", ORDERS)
def test_names_of_topics_mean_nothing_to_a_sweep(order: Order) -> None:
    case = small_case(5)
    turn = np.array([2, 0, 1])
    other = case._replace(gamma=case.gamma[:, turn], alpha=case.alpha[turn])
    one, two = (
        collapsed(c, order, learn=True).sweep(state_of(c, order, 9, True), RNG)[0] for c in (case, other)
    )
    np.testing.assert_allclose(two.buffers.q, one.buffers.q[:, turn], atol=1e-5)
    np.testing.assert_allclose(two.hyper.alpha, one.hyper.alpha[turn], rtol=1e-4)


def test_documents_without_tokens_and_words_that_never_occur_are_there() -> None:
    """They change the prior (V beta) or nothing at all, but never the order of things."""
    case = small_case(0)
    counts = case.corpus.counts.toarray()
    wide: Any = np.zeros((counts.shape[0] + 2, counts.shape[1]), dtype=int)
    wide[1:-1] = counts
    more = Corpus.build(sparse.csr_array(wide))
    tokens = entries_of(case.triplets)
    start = Concentrations(case.alpha, case.beta)
    q = state_of(case, "zeroth").buffers.q
    found = []
    for documents in (case.corpus, more):
        method = collapsed(case, "zeroth")
        model = LdaModel(documents)
        algorithm = type(method)(model.tokens, case.size, start, order="zeroth", learn=False, shrink=0.0)
        state = algorithm.init(np.random.default_rng(0))
        state.buffers.q[...] = q
        state, _ = algorithm.sweep(state, RNG)
        found.append(state)
    assert len(found[0].buffers.q) == len(tokens.words)
    assert found[0].buffers.q.tobytes() == found[1].buffers.q.tobytes()
    np.testing.assert_array_equal(found[1].counts.by_document[[0, -1]], 0.0)
    np.testing.assert_array_equal(found[1].counts.by_document[1:-1], found[0].counts.by_document)
