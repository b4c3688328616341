"""Single precision: counts do not drift, the same run gives the same bits, and what is not a number is seen."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from acvb_core.core.protocols import SweepInfo
from acvb_core.data.corpus import Corpus
from acvb_core.engine.fitting import fit
from acvb_core.engine.history import Verdict
from acvb_core.engine.prepared import prepare_run
from acvb_core.engine.run import Schedule
from acvb_core.models.lda import cvb
from acvb_core.models.lda.cvb import CollapsedLda
from acvb_core.models.lda.hyper import Concentrations
from acvb_core.models.lda.state import BlockPartition, Tokens
from acvb_core.models.lda.topics import topic_map
from acvb_core.registry import method_row, methods_of
from acvb_core.samples.planted_mixtures import planted_topics
from tests.contract.cases import arrays_in, known
from tests.engine.fakes import Wrapped, all_snapshots, with_inference
from tests.models.lda.adapters import ORDERS, Order

CORPUS = planted_topics(250, 300, 8, 60, 0.2, 0.1, 2).corpus
#: All of its arrays find room in the small holes of the heap.
SMALL = planted_topics(9, 12, 3, 15, 0.2, 0.2, 2).corpus
MEDIUM = planted_topics(120, 200, 5, 40, 0.2, 0.1, 4).corpus
#: In place of it where a sweep has exact expectations, which takes a hundred times as long.
SHORTER = planted_topics(30, 200, 5, 40, 0.2, 0.1, 4).corpus


@pytest.mark.parametrize("order", ORDERS)
def test_counts_do_not_drift(order: Order, monkeypatch: pytest.MonkeyPatch) -> None:
    """240 sweeps without adding them up anew, beside the sums in double precision of the responsibilities."""
    monkeypatch.setattr(cvb, "REBUILD_EVERY", 10**9)
    tokens = Tokens.of(CORPUS)
    algorithm = CollapsedLda(tokens, 20, Concentrations.symmetric(20, 0.1, 0.01), False, 0.0, order)
    state = algorithm.init(np.random.default_rng(0))
    moved = 0.0
    for _ in range(240):
        state, info = algorithm.sweep(state, np.random.default_rng(0))
        moved += info.change
    assert moved > 3  # as far as each token going over to another topic once, and back half the way
    documents = np.repeat(np.arange(tokens.n_documents), np.diff(tokens.pointers))
    q = state.buffers.q.astype(np.float64)
    kinds = {"counts": q, "variances": q * (1 - q)}
    for name, rows in kinds.items():
        if name == "variances" and order == "zeroth":
            continue
        found, weighted = getattr(state, name), tokens.counts[:, None] * rows
        by_document, by_word = np.zeros(found.by_document.shape), np.zeros(found.by_word.shape)
        np.add.at(by_document, documents, weighted)
        np.add.at(by_word, tokens.words, weighted)
        np.testing.assert_allclose(found.by_document, by_document, atol=1e-3)
        np.testing.assert_allclose(found.by_word, by_word, atol=4e-3)
        # The totals are sums over all documents, and would show single precision most. What the documents' own counts
        # round off depends on the processor; the totals follow them.
        np.testing.assert_allclose(found.totals, weighted.sum(axis=0), atol=3e-3)
        np.testing.assert_allclose(found.totals, found.by_document.sum(axis=0, dtype=np.float64), atol=2e-4)
    assert state.counts.totals.dtype == np.float64


@pytest.mark.parametrize("order", ORDERS)
def test_counts_are_added_up_anew_now_and_then(order: Order, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cvb, "REBUILD_EVERY", 4)
    tokens = Tokens.of(CORPUS)
    algorithm = CollapsedLda(tokens, 6, Concentrations.symmetric(6, 0.1, 0.01), False, 0.0, order)
    state = algorithm.init(np.random.default_rng(0))
    for sweep in range(1, 9):
        state, _ = algorithm.sweep(state, np.random.default_rng(0))
        fresh = cvb.sum_counts(BlockPartition.cut(tokens), state.buffers.q)
        assert (fresh.by_word.tobytes() == state.counts.by_word.tobytes()) == (sweep % 4 == 0)


class Heap:
    """Blocks of memory that lie about between those of others, more of them and other ones each time."""

    def __init__(self) -> None:
        self.library, self.rng = ctypes.CDLL(None), np.random.default_rng(0)
        self.library.malloc.restype, self.library.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
        self.library.free.restype, self.library.free.argtypes = None, [ctypes.c_void_p]
        self.held: list[int] = []

    def stir(self, blocks: int) -> None:
        """Take some blocks, and let go of half of all that are held."""
        self.held += [self.library.malloc(int(size)) for size in self.rng.integers(8, 700, blocks)]
        self.rng.shuffle(self.held)
        for _ in range(len(self.held) // 2):
            self.library.free(self.held.pop())

    def clear(self) -> None:
        while self.held:
            self.library.free(self.held.pop())


@pytest.mark.parametrize(
    ("corpus", "k"),
    [(SMALL, k) for k in (3, 4, 7, 8, 12, 20)] + [(MEDIUM, 8)],
    ids=lambda value: {id(SMALL): "small", id(MEDIUM): "medium"}.get(id(value)),
)
def test_same_bits_whatever_lies_about_in_memory(corpus: Corpus, k: int) -> None:
    """Which arrays lie close together is chance; what loops over them do must not hang on it."""
    heap = Heap()
    for row in methods_of("lda"):
        if row.averaged:  # the sweeps are those of the plain methods
            continue
        found = set()
        is_slow = row.name == "cvb_exact"
        data = SHORTER if is_slow and corpus is MEDIUM else corpus
        for _ in range(8 if is_slow else 40):
            algorithm = row.build(data, row.values(known(row, {"k": k, "burn_in": 2})))
            heap.stir(400)
            state = algorithm.init(np.random.default_rng(1))
            for sweep in range(6):
                heap.stir(60)
                state, info = algorithm.sweep(state, np.random.default_rng([1, sweep]))
            bits = b"".join(array.tobytes() for array in arrays_in(state))
            found.add((bits, info.change, info.pseudo_loo))
        assert len(found) == 1, row.name
    heap.clear()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("method", ["acvb0", "acvb", "cvb0", "cvb", "vb"])
def test_what_is_not_a_number_is_divergence(method: str, bad: float) -> None:
    """Comparisons in the loops must not take it for a zero and continue."""
    (row,) = (row for row in methods_of("lda") if row.name == method)
    prepared = prepare_run(
        CORPUS, method, known(row, {"k": 5, "burn_in": 1, "max_sweeps": 30, "shrink": 0.0}), heldout=0.1
    )

    def after(state: Any, info: SweepInfo, poll: Any) -> tuple[Any, SweepInfo]:
        inner = getattr(state, "inner", state)
        if inner.age != 4:
            return state, info
        if hasattr(inner, "buffers"):
            inner.buffers.q[7, 2] = bad
            return state, info
        counts = inner.counts._replace(by_word=inner.counts.by_word + 0.0)
        counts.by_word[7, 2] = bad
        return replace(inner, counts=counts), info

    spoilt = with_inference(prepared, Wrapped(prepared.algorithm, after))
    with np.errstate(invalid="ignore", over="ignore"):
        snapshots = all_snapshots(spoilt, schedule=Schedule(1000, 1000))
    assert snapshots[-1].verdict is Verdict.DIVERGED
    assert len(snapshots) <= 6
    assert snapshots[-1].heldout is None
    assert snapshots[-1].extras == {}


@pytest.fixture(scope="module")
def many_words() -> Corpus:
    """A corpus with the vocabulary of the 20 newsgroups: few frequent words, many rare ones."""
    n_documents, n_words = 40, 61_188
    share = 1.0 / np.arange(1, n_words + 1)
    counts = np.random.default_rng(0).multinomial(1500, share / share.sum(), size=n_documents)
    counts[np.arange(n_words) % n_documents, np.arange(n_words)] += 1  # every word is used
    return Corpus.build(counts, name="many words")


# The exact method sums its counts as CVB does, and a sweep over so many words takes it seconds.
@pytest.mark.parametrize("method", [row.name for row in methods_of("lda") if row.name != "cvb_exact"])
def test_topics_over_many_words_sum_to_one(many_words: Corpus, method: str) -> None:
    """Sums in single precision were off by a thousandth and more, which the map of the topics refuses."""
    more = {"burn_in": 1} if method == "gibbs" else {}
    length = {"epochs": 0.5} if method_row("lda", method).streams else {"max_sweeps": 2}
    result = fit(many_words, method, k=10, **length, **more)
    topics = result.prepared.model.topics(result.posterior)
    for rows in (topics.word_probability, topics.document_share):
        np.testing.assert_allclose(rows.sum(axis=1, dtype=np.float64), 1.0, rtol=0, atol=1e-6)
    assert len(topic_map(topics.word_probability).positions) == 10
