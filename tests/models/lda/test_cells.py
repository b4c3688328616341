"""Sweeps over cells of documents and words: the bits are those of the cells, whatever threads there are."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from acvb_core.core import averaging
from acvb_core.core.parallel import use_threads
from acvb_core.core.protocols import Responsibilities
from acvb_core.data.corpus import Corpus
from acvb_core.engine.prepared import prepare_run
from acvb_core.engine.run import StopRun, run
from acvb_core.evaluate import heldout as products
from acvb_core.models.lda import kernels as evidence
from acvb_core.models.lda import state as cells_module
from acvb_core.models.lda import vb
from acvb_core.models.lda.cvb import CollapsedLda, sum_counts
from acvb_core.models.lda.hyper import Concentrations
from acvb_core.models.lda.model import LdaModel
from acvb_core.models.lda.state import BlockPartition, Tokens, choose_cells
from acvb_core.models.lda.vb import VariationalLda
from acvb_core.registry import method_row
from acvb_core.samples.planted_mixtures import planted_topics
from tests.models.lda.adapters import ORDERS, Order, assert_counts, collapsed, entries_of, hyper_of
from tests.oracles import dense_lda as dense
from tests.oracles.lda_cases import LdaCase, small_case
from tests.shards.outcomes import outcome

CORPUS = planted_topics(90, 120, 6, 30, 0.2, 0.1, 4).corpus
METHODS = ("cvb0", "acvb0", "cvb", "acvb", "vb")
#: Past learning, drops of topics, a rebuilding of the counts and the start of an average.
_RUN: dict[str, Any] = {"k": 9, "shrink": 0.06, "max_sweeps": 54, "heldout": 0.1}


@pytest.fixture
def _many_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acvb_core.models.lda.state.chunk_pairs", lambda *_: 60)
    for place in (averaging, products, evidence):
        monkeypatch.setattr(place, "_AT_ONCE", 500)


def places(cells: BlockPartition) -> tuple[np.ndarray, np.ndarray]:
    """Return the document and the word of each pair, in the order of the cells."""
    documents = np.full(len(cells.pairs.words), -1)
    for begin, end, pairs in cells.pieces(3):
        for d in range(begin, end):
            here = slice(pairs.pointers[d], pairs.pointers[d + 1])
            assert (documents[here] == -1).all()
            documents[here] = d
    return documents, cells.pairs.words


@pytest.mark.parametrize("n_parts", [1, 2, 3, 5, 64])
def test_every_pair_stands_in_one_cell(n_parts: int) -> None:
    tokens = Tokens.of(CORPUS)
    cells = BlockPartition.cut(tokens, n_parts)
    documents, words = places(cells)
    counts = np.zeros((tokens.n_documents, tokens.n_words))
    np.add.at(counts, (documents, words), cells.pairs.counts)
    np.testing.assert_array_equal(counts, CORPUS.counts.toarray())
    assert len(cells.bounds) == n_parts + 1
    assert (cells.bounds[0], cells.bounds[-1]) == (0, CORPUS.n_documents)


def parts_of(cells: BlockPartition, n_words: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the parts of the documents and of the words, which no two parts share."""
    n = cells.n_parts
    of_document = np.repeat(np.arange(n), np.diff(cells.bounds))
    of_word = np.full(n_words, -1)
    for i, (begin, end) in enumerate(pairwise(cells.bounds)):
        for part in range(n):
            pairs = cells.block(i, part)
            words = pairs.words[pairs.pointers[begin] : pairs.pointers[end]]
            assert np.isin(of_word[words], (-1, part)).all()
            of_word[words] = part
    return of_document, of_word


@pytest.mark.parametrize("n_parts", [2, 3, 4])
def test_cells_at_once_share_no_words_and_have_about_as_many_pairs(n_parts: int) -> None:
    cells = BlockPartition.cut(Tokens.of(CORPUS), n_parts)
    of_document, of_word = parts_of(cells, CORPUS.n_words)
    documents, words = places(cells)
    for part, of in ((of_document, documents), (of_word, words)):
        shares = np.bincount(part[of], minlength=n_parts) / len(of)
        np.testing.assert_allclose(shares, 1 / n_parts, atol=0.03)


def in_order(case: LdaCase) -> LdaCase:
    """Return a case with one entry for each pair, the words of a document in order."""
    triplets = case.triplets
    keys = triplets.documents * triplets.shape[1] + triplets.words
    _, first = np.unique(keys, return_index=True)
    taken = {name: getattr(triplets, name)[first] for name in ("documents", "words", "counts")}
    return case._replace(triplets=triplets._replace(**taken), gamma=case.gamma[first])


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("n_parts", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_a_sweep_is_that_of_the_cells_one_after_another(order: Order, n_parts: int, seed: int) -> None:
    case = in_order(small_case(seed))
    tokens = entries_of(case.triplets)
    algorithm = collapsed(case, order, cells=n_parts)
    cells = BlockPartition.of(tokens, n_parts)
    documents, words = places(cells)
    row_of = {key: p for p, key in enumerate(zip(case.triplets.documents, case.triplets.words, strict=True))}
    rows = [row_of[key] for key in zip(documents, words, strict=True)]
    parts = parts_of(cells, tokens.n_words)
    update = {"zeroth": dense.cvb0_update, "second": dense.cvb_update}[order]
    state = algorithm.init(np.random.default_rng(seed))
    told = 0.0
    for _ in range(3):
        before = np.zeros(case.gamma.shape)
        before[rows] = state.buffers.q
        before /= before.sum(axis=1, keepdims=True)
        gamma, loo = dense.cells_sweep(update, case.triplets, before, case.alpha, case.beta, parts)
        serial, _ = dense.cells_sweep(
            update, case.triplets, before, case.alpha, case.beta, (parts[0] * 0, parts[1] * 0)
        )
        told = max(told, np.abs(serial - gamma).max())
        state, info = algorithm.sweep(state, np.random.default_rng(0))
        np.testing.assert_allclose(state.buffers.q, gamma[rows], atol=5e-5)
        assert info.pseudo_loo == pytest.approx(loo, rel=2e-5, abs=1e-4)
        moved = np.abs(gamma - before).sum(axis=1) @ case.triplets.counts / case.triplets.counts.sum()
        assert info.change == pytest.approx(moved, rel=1e-3, abs=1e-4)
        assert_counts(state.counts, dense.expected_counts(case.triplets, gamma), rtol=1e-4, atol=1e-3)
        if order == "second":
            assert_counts(state.variances, dense.count_variances(case.triplets, gamma), rtol=1e-3, atol=1e-3)
    assert (told > 1e-3) == (n_parts > 1), "the reference can tell cells from documents in order"


def test_length_terms_follow_the_concentration() -> None:
    """Each is that of cells that were never asked before."""
    cells = BlockPartition.cut(Tokens.of(CORPUS), 3)
    for concentration in (0.5, 0.5, 2.0, 0.5):
        fresh = BlockPartition.cut(Tokens.of(CORPUS), 3).length_terms(concentration)
        assert cells.length_terms(concentration) == fresh
    assert cells.length_terms(0.5) != cells.length_terms(2.0)


@pytest.mark.usefixtures("_many_pieces")
@pytest.mark.parametrize("cells", [2, 4])
@pytest.mark.parametrize("name", METHODS)
def test_threads_do_not_change_a_bit(name: str, cells: int) -> None:
    found = []
    for threads in (1, 2, 3):
        with use_threads(threads):
            found.append(outcome(CORPUS, name, cells=cells, **_RUN))
    assert found[0] == found[1] == found[2]


def test_cells_change_the_bits_and_hardly_the_scores() -> None:
    corpus = planted_topics(600, 300, 3, 60, 0.2, 0.1, 3).corpus
    prepared_runs = [
        prepare_run(corpus, "cvb0", {"k": 3, "cells": n, "max_sweeps": 60}, heldout=0.1) for n in (1, 2, 4)
    ]
    one, *others = (list(run(prepared))[-1] for prepared in prepared_runs)
    for other in others:
        assert other.posterior["words"].tobytes() != one.posterior["words"].tobytes()
        assert other.heldout.perplexity == pytest.approx(one.heldout.perplexity, rel=0.01)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("cells", [2, 5])
def test_counts_are_those_of_the_responsibilities(order: Order, cells: int) -> None:
    start = Concentrations.symmetric(7, 0.1, 0.01)
    algorithm = CollapsedLda(Tokens.of(CORPUS), 7, start, False, 0.0, order, cells=cells)
    state = algorithm.init(np.random.default_rng(0))
    with use_threads(3):
        for _ in range(30):
            state, _ = algorithm.sweep(state, np.random.default_rng(0))
    kinds = [(state.counts, False)] + ([(state.variances, True)] if order == "second" else [])
    for counts, spread in kinds:
        again = sum_counts(BlockPartition.of(algorithm.tokens, cells), state.buffers.q, spread=spread)
        for found, wanted in zip(counts, again, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(state.counts.by_word.sum(axis=1), CORPUS.frequencies, rtol=1e-5)
    np.testing.assert_allclose(state.counts.by_document.sum(axis=1), CORPUS.lengths, rtol=1e-5)
    assert state.counts.totals.sum() == pytest.approx(CORPUS.n_tokens, rel=1e-6)


@pytest.mark.usefixtures("_many_pieces")
@pytest.mark.parametrize("cells", [2, 5])
def test_parts_of_the_documents_cost_vb_nothing(cells: int) -> None:
    """The topics are fixed during a sweep: counts and entropy are those of the documents in order, to rounding."""
    start = Concentrations.symmetric(6, 0.1, 0.01)
    one, other = (VariationalLda(Tokens.of(CORPUS), 6, start, cells=n) for n in (1, cells))
    states = [method.init(np.random.default_rng(0)) for method in (one, other)]
    for _ in range(12):
        with use_threads(3):
            sweeps = [
                method.sweep(state, np.random.default_rng(0))
                for method, state in zip((one, other), states, strict=True)
            ]
        states = [state for state, _ in sweeps]
        for found, wanted in zip(states[1].counts, states[0].counts, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
        assert states[1].entropy == pytest.approx(states[0].entropy, rel=1e-12)
        assert sweeps[1][1].change == pytest.approx(sweeps[0][1].change, rel=1e-9)


def test_pieces_of_the_words_cost_vb_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entropy and totals are those of all words at once, to rounding, and have the same bits on any threads."""
    method = VariationalLda(Tokens.of(CORPUS), 6, Concentrations.symmetric(6, 0.1, 0.01), cells=2)
    first = method.init(np.random.default_rng(0))
    whole, _ = method.sweep(first, np.random.default_rng(0))
    monkeypatch.setattr(vb, "_WORDS_AT_ONCE", 50)
    found = []
    for threads in (1, 2, 3):
        with use_threads(threads):
            found.append(method.sweep(first, np.random.default_rng(0))[0])
    assert found[0].entropy == pytest.approx(whole.entropy, rel=1e-12)
    np.testing.assert_allclose(found[0].counts.totals, whole.counts.totals, rtol=1e-12)
    for other in found[1:]:
        assert other.entropy == found[0].entropy
        assert other.counts.totals.tobytes() == found[0].counts.totals.tobytes()


@pytest.mark.parametrize("cells", [2, 3])
def test_diagnostics_do_not_ask_in_which_order_the_pairs_stand(cells: int) -> None:
    case = in_order(small_case(2))
    model, tokens = LdaModel(case.corpus), Tokens.of(case.corpus)
    algorithm = CollapsedLda(tokens, case.size, hyper_of(case), False, 0.0, cells=cells)
    state = algorithm.init(np.random.default_rng(0))
    posterior, given = algorithm.posterior(state), algorithm.responsibilities(state)
    assert given is not None
    documents, words = places(BlockPartition.of(tokens, cells))
    usual = np.lexsort((words, documents))
    plain = Responsibilities(np.ascontiguousarray(given.q[usual]), tokens.counts)
    for question in (model.lower_bound, model.extras):
        assert question(posterior, given) == pytest.approx(question(posterior, plain), rel=1e-5)
    found = model.pseudo_loo(posterior, responsibilities=given)
    assert found == pytest.approx(model.pseudo_loo(posterior, responsibilities=plain), rel=1e-6)


@pytest.mark.usefixtures("_many_pieces")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_sweep_that_was_cut_short_goes_on_with_the_same_bits(threads: int) -> None:
    prepared = prepare_run(CORPUS, "acvb0", {"k": 7, "cells": 3, "max_sweeps": 9, "burn_in": 2})
    wanted = list(run(prepared))[-1]
    last: Any = None
    begun = 0
    for stop_at in (60, 7, 12, 30, 2, 45, None):
        calls = iter(range(1, 100_000))

        def stop(calls: Any = calls, stop_at: int | None = stop_at) -> None:
            if next(calls) == stop_at:
                raise StopRun

        with use_threads(threads):
            last = list(run(prepared, resume=last, poll=stop))[-1]
        inner = last.state.inner
        begun += not inner.buffers.belongs_to(inner)
        last = pickle.loads(pickle.dumps(last))
    assert begun, "some sweep was under way when the run was stopped"
    assert last.sweep == wanted.sweep
    assert last.posterior["words"].tobytes() == wanted.posterior["words"].tobytes()
    assert (last.change, last.mean_change) == (wanted.change, wanted.mean_change)


class EnoughError(Exception):
    """Raised to cut a sweep short."""


@pytest.mark.parametrize("method", ["cvb0", "acvb0"])
def test_only_a_state_that_has_its_responsibilities_can_be_kept(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acvb_core.models.lda.state.chunk_pairs", lambda *_: 40)
    corpus = Corpus.build(np.random.default_rng(0).poisson(0.5, (30, 20)))
    algorithm: Any = prepare_run(corpus, method, {"k": 3}).algorithm
    first = algorithm.init(np.random.default_rng(0))
    calls = iter(range(3))

    def stop() -> None:
        if next(calls, None) is None:
            raise EnoughError

    assert algorithm.can_keep(first)
    with pytest.raises(EnoughError):
        algorithm.sweep(first, np.random.default_rng(1), stop)
    assert algorithm.can_keep(first), "a sweep that was cut short continues from there"
    second, _ = algorithm.sweep(first, np.random.default_rng(1))
    assert algorithm.can_keep(second)
    assert not algorithm.can_keep(first)


@pytest.mark.parametrize("method", ["cvb0", "acvb0"])
def test_a_state_keeps_its_cells(method: str) -> None:
    """Also one that was stored when there were none yet, though its size now asks for some."""
    row = method_row("lda", method)
    more = {"burn_in": 2} if row.averaged else {}
    one, four = (row.build(CORPUS, row.values({"k": 5, "cells": n} | more)) for n in (1, 4))
    state: Any = one.init(np.random.default_rng(0))
    for _ in range(4):
        state, _ = one.sweep(state, np.random.default_rng(0))
    stored = pickle.dumps(state)
    old = pickle.loads(stored)
    buffers = getattr(old, "inner", old).buffers
    del buffers.__dict__["cells"], buffers.__dict__["under_way"]
    model, found = LdaModel(CORPUS), []
    for method_then, begun in ((one, pickle.loads(stored)), (four, old)):
        for _ in range(3):
            begun, info = method_then.sweep(begun, np.random.default_rng(0))
        posterior, given = method_then.posterior(begun), method_then.responsibilities(begun)
        words = posterior["words"].tobytes()
        found.append((words, info.pseudo_loo, info.change, model.lower_bound(posterior, given)))
    assert found[0] == found[1]


def test_the_size_alone_says_into_how_many_cells_a_run_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    k, pairs = 6, CORPUS.n_pairs
    assert choose_cells(pairs, {"k": k, "cells": 0}) == 1
    monkeypatch.setattr(cells_module, "FROM", pairs * k)
    for threads in (1, 3):
        with use_threads(threads):
            assert choose_cells(pairs, {"k": k, "cells": 0}) == 4
            assert choose_cells(pairs, {"k": k - 1, "cells": 0}) == 1
            assert choose_cells(pairs, {"k": k, "cells": 3}) == 3
    row = method_row("lda", "cvb0")
    assert row.build(CORPUS, row.values({"k": k})).cells == 4  # type: ignore[attr-defined]


def test_more_cells_than_documents() -> None:
    few = Corpus.build(np.array([[2, 0, 1, 0], [0, 0, 0, 0], [1, 1, 0, 3]]))
    wanted = outcome(few, "cvb0", k=2, cells=8, max_sweeps=12)
    with use_threads(3):
        assert outcome(few, "cvb0", k=2, cells=8, max_sweeps=12) == wanted
