"""Runs over shards: one shard is the run without, and the number of shards alone decides what many give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import acvb_core
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus
from acvb_core.models.lda.documents import StoredRows
from acvb_core.models.lda.state import Tokens
from acvb_core.registry import method_row, model_row
from acvb_core.samples.planted_mixtures import planted_topics
from acvb_core.shards.place import Place, shard_workers, use_place
from tests.contract.cases import known
from tests.loops import for_each
from tests.shards.outcomes import outcome
from tests.shards.test_group import start_frail

METHODS = ("cvb0", "acvb0", "vb")
_RUN: dict[str, Any] = {"k": 8, "shards": 5, "max_sweeps": 12, "heldout_documents": 0.1}


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return planted_topics(300, 250, 8, 40, 0.2, 0.1, 4).corpus


@pytest.fixture(scope="module")
def on_disk(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> DiskCorpus:
    folder = tmp_path_factory.mktemp("corpus") / "disk"
    return acvb_core.write_disk_corpus([corpus], folder, vocabulary=corpus.vocabulary, shard_pairs=1_500)


def course(corpus: Corpus, name: str, **given: Any) -> list[Any]:
    """Return the outcome of each sweep: past drops of topics, steps of alpha and a new summation."""
    row, model = method_row("lda", name), model_row("lda").build(corpus)
    algorithm = row.build(corpus, row.values(known(row, {"k": 12, "shrink": 0.06, "burn_in": 30} | given)))
    state, said = algorithm.init(np.random.default_rng([3, 0])), []
    for sweep in range(53):
        state, info = algorithm.sweep(state, np.random.default_rng([3, sweep + 1]))
        posterior, rows = algorithm.posterior(state), algorithm.responsibilities(state)
        bound = model.lower_bound(posterior, rows) if sweep % 4 == 0 else None
        order = None if info.cluster_permutation is None else info.cluster_permutation["topics"].tolist()
        arrays = [posterior[array].tobytes() for array in ("words", "alpha")]
        # The change of VB is added up in another order.
        change = round(info.change, 12) if name == "vb" else info.change
        said.append(
            (order, *arrays, info.pseudo_loo, change, algorithm.phase(state), bound, info.not_stationary)
        )
    return said


@for_each("name", METHODS)
def test_one_shard_gives_the_bits_of_a_run_without(name: str, corpus: Corpus) -> None:
    serial, sharded = (course(corpus, name, shards=shards) for shards in (0, 1))
    assert any(order for order, *_ in serial), "topics were dropped"
    assert sharded == serial


@for_each("name", METHODS)
def test_neither_workers_nor_the_disk_change_a_bit(name: str, corpus: Corpus, on_disk: DiskCorpus) -> None:
    with shard_workers(1):
        wanted = outcome(corpus, name, **_RUN)
    for workers, data in ((2, corpus), (3, on_disk), (8, on_disk)):
        with shard_workers(workers):
            assert outcome(data, name, **_RUN) == wanted


@for_each("name, short", [("acvb0", False), ("acvb0", True), ("vb", False)])
def test_a_lost_worker_costs_nothing_but_time(
    name: str, short: bool, corpus: Corpus, on_disk: DiskCorpus
) -> None:
    """The shards of the lost worker are read from their saved states."""

    def lose(prepared: Any, snapshot: Any) -> None:
        if snapshot.sweep in (2, 7):
            inner = getattr(snapshot.state, "inner", snapshot.state)
            inner.group.workers[snapshot.sweep % 2].is_lost = True
        if snapshot.moves:
            assert snapshot.moves == {"lost": 1}
            marked.append(snapshot.sweep)

    marked: list[int] = []
    given = _RUN | ({"burn_in": 3, "short": short} if name == "acvb0" else {})
    wanted = outcome(corpus, name, **given)
    with use_place(Place(2, start_frail, save_every=4)):
        assert outcome(on_disk, name, watch=lose, **given) == wanted
    assert marked == [3, 8]


def test_many_shards_have_the_same_start_and_the_counts_of_their_responsibilities(corpus: Corpus) -> None:
    """With an odd number of topics, some cut is between two numbers of one draw."""
    row, starts = method_row("lda", "cvb0"), []
    for shards in (1, 2, 3, 11):
        algorithm = row.build(corpus, row.values({"k": 3, "shards": shards}))
        first = state = algorithm.init(np.random.default_rng(5))
        starts.append(state.by_word)
        np.testing.assert_allclose(state.by_word, starts[0], rtol=1e-5)
        for sweep in range(12):
            state, _ = algorithm.sweep(state, np.random.default_rng(sweep))
        np.testing.assert_allclose(state.by_word.sum(axis=1), corpus.frequencies, rtol=1e-5, atol=1e-4)
        recounted = state.group.ask("recount")
        np.testing.assert_allclose(state.by_word, sum(part.by_word for part in recounted), atol=2e-3)
        np.testing.assert_allclose(state.totals, sum(part.totals for part in recounted), rtol=1e-6)
        assert algorithm.responsibilities(first) is None
        with pytest.raises(ValueError, match="after sweep 0 was swept already"):
            algorithm.sweep(first, np.random.default_rng(1))


def test_short_rows_hold_twelve_bits(corpus: Corpus) -> None:
    tokens, rng = Tokens.of(corpus), np.random.default_rng(0)
    whole, short = StoredRows(tokens, 4), StoredRows(tokens, 4, short=True)
    whole.rows[...] = np.exp(-rng.exponential(3.0, whole.rows.shape)).astype(np.float32)
    whole.rows[0] = 1.0
    for piece in short.pieces():
        piece.q[...] = whole.rows[piece.pairs]
        short.put(piece)
    for piece in short.pieces():
        np.testing.assert_allclose(piece.q, whole.rows[piece.pairs], rtol=2.0**-12, atol=2.0**-31)
    for rows in (whole, short):
        rows.keep_topics(np.array([0, 2]))
    for piece in short.pieces():
        np.testing.assert_allclose(piece.q, whole.rows[piece.pairs], atol=1e-3)
