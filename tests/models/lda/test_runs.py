"""Runs of the batch methods: starts, blocks of the data, threads, single precision, memory and settings."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from acvb_core.core import averaging
from acvb_core.core.averaging import AveragedAlgorithm
from acvb_core.core.errors import ParameterError
from acvb_core.core.parallel import use_threads
from acvb_core.core.protocols import Responsibilities, SweepInfo
from acvb_core.data.corpus import Corpus
from acvb_core.engine.fitting import fit
from acvb_core.engine.history import Verdict
from acvb_core.engine.prepared import prepare_run
from acvb_core.engine.run import Schedule
from acvb_core.evaluate import heldout
from acvb_core.models.lda import cvb, kernels
from acvb_core.models.lda import state as lda_state
from acvb_core.models.lda.cvb import CollapsedLda, sum_counts
from acvb_core.models.lda.hyper import Concentrations
from acvb_core.models.lda.model import LdaModel
from acvb_core.models.lda.start import warm_responsibilities
from acvb_core.models.lda.state import (
    BEGINNING,
    BlockPartition,
    Tokens,
    choose_cells,
)
from acvb_core.models.lda.transform import fold_in
from acvb_core.registry import method_row, methods_of
from acvb_core.samples.planted_mixtures import planted_topics
from tests.contract.cases import known
from tests.engine.fakes import Wrapped, all_snapshots, bits, with_inference
from tests.engine.test_run import StopAt
from tests.loops import for_each
from tests.models.lda.adapters import ORDERS, Order, assert_counts, collapsed, entries_of
from tests.oracles import dense_lda as dense
from tests.oracles.lda_cases import LdaCase, small_case
from tests.shards.outcomes import outcome

CORPUS = planted_topics(90, 120, 6, 30, 0.2, 0.1, 4).corpus
#: With learning, drops of topics, a new summation of the counts and the start of an average.
_RUN: dict[str, Any] = {"k": 9, "shrink": 0.06, "max_sweeps": 54, "heldout": 0.1}


@pytest.fixture
def _many_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lda_state, "chunk_pairs", lambda *_: 60)
    for place in (averaging, heldout, kernels):
        monkeypatch.setattr(place, "_AT_ONCE", 500)


def test_responsibilities_of_trained_topics() -> None:
    """q ∝ (alpha_k + n_dk) (beta + n_wk) / (V beta + n_k), with n_dk from the words of the document."""
    tokens, rng = Tokens.of(CORPUS), np.random.default_rng(0)
    by_word = rng.gamma(0.3, 10.0, (120, 4)).astype(np.float32)
    by_word[7] = 0.0  # a new word
    alpha = np.array([0.1, 0.5, 0.02, 1.0])
    q = warm_responsibilities(tokens, by_word, Concentrations(alpha, 0.05))
    phi = (by_word + 0.05) / (by_word.sum(axis=0) + 120 * 0.05)
    documents = np.repeat(np.arange(90), np.diff(tokens.pointers))
    wanted = fold_in(CORPUS.counts, phi.T, alpha)[documents] * phi[tokens.words]
    np.testing.assert_allclose(q, wanted / wanted.sum(axis=1, keepdims=True), rtol=1e-3, atol=1e-5)


@for_each("method", ["cvb0", "cvb", "vb"])
def test_many_topics_leave_their_even_start(method: str) -> None:
    corpus = planted_topics(600, 800, 8, 80, 0.1, 0.05, 0).corpus
    # The first sweeps of such a start meet so loose a tolerance.
    result = fit(corpus, method, k=150, alpha=0.1, hyper="fixed", tol=1e-3)
    assert result.snapshot.sweep >= BEGINNING
    largest = result.prepared.model.topics(result.posterior).document_share.max(axis=1)
    assert largest.mean() > 10 / 150


def places(partition: BlockPartition) -> tuple[np.ndarray, np.ndarray]:
    """Return the document and the word of each pair, in the order of the blocks."""
    documents = np.full(len(partition.pairs.words), -1)
    for begin, end, pairs in partition.pieces(3):
        for d in range(begin, end):
            documents[pairs.pointers[d] : pairs.pointers[d + 1]] = d
    return documents, partition.pairs.words


def parts_of(partition: BlockPartition, n_words: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the part of each document and of each word; a word is in one part."""
    of_word = np.full(n_words, -1)
    for i, (begin, end) in enumerate(pairwise(partition.bounds)):
        for part in range(partition.n_parts):
            pairs = partition.block(i, part)
            of_word[pairs.words[pairs.pointers[begin] : pairs.pointers[end]]] = part
    return np.repeat(np.arange(partition.n_parts), np.diff(partition.bounds)), of_word


def in_order(case: LdaCase) -> LdaCase:
    """Return a case with one entry for each pair, the words of a document in order."""
    triplets = case.triplets
    _, first = np.unique(triplets.documents * triplets.shape[1] + triplets.words, return_index=True)
    taken = {name: getattr(triplets, name)[first] for name in ("documents", "words", "counts")}
    return case._replace(triplets=triplets._replace(**taken), gamma=case.gamma[first])


@for_each("n_parts", [1, 2, 3])
@for_each("order", ORDERS)
def test_a_sweep_updates_one_block_after_another(order: Order, n_parts: int) -> None:
    case = in_order(small_case(0))
    tokens, algorithm = entries_of(case.triplets), collapsed(case, order, cells=n_parts)
    partition = BlockPartition.of(tokens, n_parts)
    documents, words = places(partition)
    row_of = {key: p for p, key in enumerate(zip(case.triplets.documents, case.triplets.words, strict=True))}
    rows = [row_of[key] for key in zip(documents, words, strict=True)]
    parts = parts_of(partition, tokens.n_words)
    update = {"zeroth": dense.cvb0_update, "second": dense.cvb_update}[order]
    state = algorithm.init(np.random.default_rng(0))
    for _ in range(3):
        before = np.zeros(case.gamma.shape)
        before[rows] = state.buffers.q
        before /= before.sum(axis=1, keepdims=True)
        gamma, loo = dense.cells_sweep(update, case.triplets, before, case.alpha, case.beta, parts)
        state, info = algorithm.sweep(state, np.random.default_rng(0))
        np.testing.assert_allclose(state.buffers.q, gamma[rows], atol=5e-5)
        assert info.pseudo_loo == pytest.approx(loo, rel=2e-5, abs=1e-4)
        assert_counts(state.counts, dense.expected_counts(case.triplets, gamma), rtol=1e-4, atol=1e-3)
        if order == "second":
            assert_counts(state.variances, dense.count_variances(case.triplets, gamma), rtol=1e-3, atol=1e-3)
    # Bounds and scores do not depend on the order of the pairs.
    model, posterior = LdaModel(case.corpus), algorithm.posterior(state)
    given = algorithm.responsibilities(state)
    plain = Responsibilities(np.ascontiguousarray(given.q[np.argsort(rows)]), tokens.counts)
    for question in (model.lower_bound, model.collapsed_bound):
        assert question(posterior, given) == pytest.approx(question(posterior, plain), rel=1e-5)
    loo, other = (model.pseudo_loo(posterior, responsibilities=one) for one in (given, plain))
    assert loo == pytest.approx(other, rel=1e-6)


@pytest.mark.usefixtures("_many_pieces")
@for_each("name, cells", [("cvb0", 2), ("acvb0", 4), ("cvb", 4), ("acvb", 2), ("vb", 4)])
def test_threads_do_not_change_a_bit(name: str, cells: int) -> None:
    found = []
    for threads in (1, 2, 3):
        with use_threads(threads):
            found.append(outcome(CORPUS, name, cells=cells, **_RUN))
    assert found[0] == found[1] == found[2]


@pytest.mark.usefixtures("_many_pieces")
def test_an_interrupted_sweep_continues_with_the_same_bits() -> None:
    prepared = prepare_run(CORPUS, "acvb0", {"k": 7, "cells": 3, "max_sweeps": 9, "burn_in": 2})
    wanted, last, begun = all_snapshots(prepared)[-1], None, 0
    for stop_at in (60, 7, 12, 30, 2, 45, 10**6):
        with use_threads(2):
            last = all_snapshots(prepared, resume=last, poll=StopAt(stop_at))[-1]
        begun += not last.state.inner.buffers.belongs_to(last.state.inner)
        last = pickle.loads(pickle.dumps(last))
    assert begun, "some sweep was interrupted"
    assert bits(last) == bits(wanted)


@for_each("method", ["cvb0", "acvb0"])
def test_a_stored_state_keeps_its_blocks(method: str) -> None:
    """Also a state that was stored before there were blocks, although its size now asks for some."""
    row = method_row("lda", method)
    more = {"burn_in": 2} if row.averaged else {}
    one, four = (row.build(CORPUS, row.values({"k": 5, "cells": n} | more)) for n in (1, 4))
    state: Any = one.init(np.random.default_rng(0))
    for _ in range(4):
        state, _ = one.sweep(state, np.random.default_rng(0))
    new, old = pickle.loads(pickle.dumps(state)), pickle.loads(pickle.dumps(state))
    buffers = getattr(old, "inner", old).buffers
    del buffers.__dict__["cells"], buffers.__dict__["under_way"]
    model, found = LdaModel(CORPUS), []
    for algorithm, begun in ((one, new), (four, old)):
        for _ in range(3):
            begun, info = algorithm.sweep(begun, np.random.default_rng(0))
        posterior = algorithm.posterior(begun)
        bound = model.lower_bound(posterior, algorithm.responsibilities(begun))
        found.append((posterior["words"].tobytes(), info.pseudo_loo, info.change, bound))
    assert found[0] == found[1]


def test_the_size_of_the_data_decides_the_number_of_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    k, pairs = 6, CORPUS.n_pairs
    assert choose_cells(pairs, {"k": k, "cells": 0}) == 1
    monkeypatch.setattr(lda_state, "FROM", pairs * k)
    for threads in (1, 3):
        with use_threads(threads):
            assert [choose_cells(pairs, {"k": k, "cells": n}) for n in (0, 3)] == [4, 3]
            assert choose_cells(pairs, {"k": k - 1, "cells": 0}) == 1


@for_each("cells", [1, 4])
@for_each("order", ORDERS)
def test_counts_do_not_drift(order: Order, cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """120 sweeps without a new summation, compared with sums of the responsibilities; then a new summation."""
    monkeypatch.setattr(cvb, "REBUILD_EVERY", 121)
    corpus = planted_topics(250, 300, 8, 60, 0.2, 0.1, 2).corpus
    tokens, concentrations = Tokens.of(corpus), Concentrations.symmetric(20, 0.1, 0.01)
    algorithm = CollapsedLda(tokens, 20, concentrations, False, 0.0, order, cells=cells)
    state, moved = algorithm.init(np.random.default_rng(0)), 0.0
    partition = BlockPartition.of(tokens, cells)
    for _ in range(120):
        state, info = algorithm.sweep(state, np.random.default_rng(0))
        moved += info.change
    assert moved > 2  # as far as each token moving to another topic
    for counts, spread in ((state.counts, False), (state.variances, True)):
        if counts is not None:
            again = sum_counts(partition, state.buffers.q, spread=spread)
            assert_counts(counts, dense.Statistics(*again), atol=4e-3)
    state, _ = algorithm.sweep(state, np.random.default_rng(0))
    assert sum_counts(partition, state.buffers.q).by_word.tobytes() == state.counts.by_word.tobytes()


@for_each("bad", [np.nan, np.inf])
@for_each("method", ["acvb0", "cvb", "cvb0"])
def test_a_value_that_is_no_number_is_divergence(method: str, bad: float) -> None:
    """Comparisons in the loops must not replace it by zero."""
    values = known(method_row("lda", method), {"k": 5, "burn_in": 1, "max_sweeps": 30, "shrink": 0.0})
    prepared = prepare_run(CORPUS, method, values, heldout=0.1)

    def after(state: Any, info: SweepInfo, poll: Any) -> tuple[Any, SweepInfo]:
        inner = getattr(state, "inner", state)
        if inner.age == 4:
            inner.buffers.q[7, 2] = bad
        return state, info

    spoilt = with_inference(prepared, Wrapped(prepared.algorithm, after))
    with np.errstate(invalid="ignore", over="ignore"):
        snapshots = all_snapshots(spoilt, schedule=Schedule(1000, 1000))
    assert snapshots[-1].verdict is Verdict.DIVERGED
    assert len(snapshots) <= 6


# Exact CVB sums its counts as CVB does, and takes seconds for a sweep over so many words.
@for_each("method", [row.name for row in methods_of("lda") if row.name != "cvb_exact"])
def test_topics_over_many_words_sum_to_one(method: str) -> None:
    """With the vocabulary of the 20 newsgroups; sums in single precision were wrong by a thousandth."""
    n_documents, n_words = 40, 61_188
    share = 1.0 / np.arange(1, n_words + 1)
    counts = np.random.default_rng(0).multinomial(1500, share / share.sum(), size=n_documents)
    counts[np.arange(n_words) % n_documents, np.arange(n_words)] += 1  # every word is used
    more = {"burn_in": 1} if method == "gibbs" else {}
    length = {"epochs": 0.5} if method_row("lda", method).streams else {"max_sweeps": 2}
    result = fit(Corpus.build(counts, name="many words"), method, k=10, **length, **more)
    topics = result.prepared.model.topics(result.posterior)
    for rows in (topics.word_probability, topics.document_share):
        np.testing.assert_allclose(rows.sum(axis=1, dtype=np.float64), 1.0, rtol=0, atol=1e-6)


@for_each("method", [row.name for row in methods_of("lda")])
def test_alpha_is_divided_or_given_and_never_tiny(method: str) -> None:
    corpus = Corpus.build(np.array([[1, 2], [3, 0]]))
    for given, expected in ((0.0, 5.0 / 4), (0.3, 0.3)):
        algorithm: Any = prepare_run(corpus, method, {"k": 4, "alpha": given}).algorithm
        inner = algorithm.inner if isinstance(algorithm, AveragedAlgorithm) else algorithm
        np.testing.assert_allclose(inner.start.alpha, expected)
    with pytest.raises(ParameterError, match=r"0, for 5 / k, or at least 0\.0001"):
        prepare_run(corpus, method, {"alpha": 1e-30})
