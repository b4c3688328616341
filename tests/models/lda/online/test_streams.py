"""Streams: the cuts of the documents do not matter, runs continue, sums are right, and unusual data work."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from acvb_core.data.corpora.disk_build import write_disk_corpus
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus
from acvb_core.engine.fitting import fit
from acvb_core.engine.prepared import prepare_run
from acvb_core.engine.run import run
from acvb_core.models.lda.online.stream import StreamState
from acvb_core.models.lda.spec import FROZEN
from acvb_core.registry import method_row
from acvb_core.samples.planted_mixtures import planted_topics
from tests.contract.cases import arrays_in, bits_of, data_of
from tests.engine.fakes import bits
from tests.engine.test_run import StopAt
from tests.loops import for_each

METHODS = ("sdm", "scvb0", "svb")
CORPUS = planted_topics(47, 60, 4, 15, 0.2, 0.1, 3).corpus
SMALL: dict[str, Any] = {"k": 4, "window": 12, "batch": 6}
each_method = for_each("method", METHODS)


def small(method: str, **values: Any) -> dict[str, Any]:
    """Return settings of a method, without those that it does not have."""
    names = {p.name for p in method_row("lda", method).parameters}
    return {name: value for name, value in (SMALL | values).items() if name in names}


def built(method: str, data: Any, **values: Any) -> Any:
    row = method_row("lda", method)
    return row.build(data, row.values(small(method, **values)))


def learning(state: StreamState) -> StreamState:
    """Return a state whose concentrations are learned from now on."""
    return replace(
        state, prior=state.prior._replace(scalars=np.array([state.prior.scalars[0], FROZEN + 1.0]))
    )


def course(algorithm: Any, windows: int, seed: int = 1) -> list[StreamState]:
    """Return the states after each window."""
    states = [learning(algorithm.init(np.random.default_rng([seed, 0])))]
    for window in range(1, windows + 1):
        states.append(algorithm.sweep(states[-1], np.random.default_rng([seed, window]))[0])
    return states[1:]


@pytest.fixture(scope="module")
def disks(tmp_path_factory: pytest.TempPathFactory) -> list[DiskCorpus]:
    """The corpus in shards of a document each, of a few, and in one."""
    folder = tmp_path_factory.mktemp("disks")
    found = [
        write_disk_corpus([CORPUS], folder / str(pairs), vocabulary=CORPUS.vocabulary, shard_pairs=pairs)
        for pairs in (1, 60, 10_000)
    ]
    assert found[0].n_shards == CORPUS.n_documents > found[1].n_shards > found[2].n_shards == 1
    return found


@for_each("prior, totals", [("symmetric", "corpus"), ("left_to_right", "running"), ("paper", "corpus")])
@each_method
def test_cuts_decide_nothing(
    method: str, prior: str, totals: str, disks: list[DiskCorpus], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shards, windows and calls of the kernels: the same documents in the same order are the same bits."""
    values = {"shuffle": False, "prior": prior, "totals": totals}
    whole = course(built(method, CORPUS, **values), 9)
    for data, most in ((disks[0], 10_000), (disks[1], 10_000), (disks[1], 25), (disks[2], 1), (CORPUS, 40)):
        monkeypatch.setattr("acvb_core.models.lda.online.stream.chunk_pairs", lambda *_, most=most: most)
        cut = course(built(method, data, **values), 9)
        for one, other in zip(whole, cut, strict=True):
            assert [a.tobytes() for a in arrays_in(one)] == [b.tobytes() for b in arrays_in(other)]


@each_method
def test_a_stopped_run_continues_on_disk(method: str, disks: list[DiskCorpus]) -> None:
    """With the shard that was read ahead or without it: in the same run, and in a new one."""
    values, disk = small(method, epochs=2.5), disks[1]

    def prepared(**more: Any) -> Any:
        return prepare_run(disk, method, values | more, seed=3, heldout_documents=0.1)

    calls: list[int] = []
    whole = [bits(s) for s in run(prepared(), poll=lambda: calls.append(1))]
    for call in np.linspace(2, len(calls), 5).astype(int):
        posed = prepared()
        first = list(run(posed, poll=StopAt(int(call))))
        for again in (posed, prepared()) if first else ():
            *_, last = run(again, resume=first[-1])
            assert bits(last) == whole[-1]
    *_, short = run(prepared(epochs=1.3))  # extended later
    *_, last = run(prepared(), resume=short)
    assert bits(last) == whole[-1]


EXTREME: tuple[dict[str, Any], ...] = (
    {"alpha": 1e-4, "beta": 1e3, "k": 30},
    {"window": 2, "batch": 1, "shuffle": False, "inner": 1},
    {"step_power": 0.0, "step_offset": 0.0, "step_scale": 100.0, "batch": 1},
    {"step_power": 1.0, "step_scale": 1e-6, "inner_scale": 1e6, "inner_offset": 0.0, "passes": 1, "inner": 1},
)


@for_each("name", ["one word", "one token", "very long counts", "empty documents"])
@each_method
def test_counts_stay_finite(method: str, name: str) -> None:
    for values, prior, totals in product(EXTREME, ("left_to_right", "paper"), ("running", "corpus")):
        given = {"prior": prior, "totals": totals, "window": 3} | values
        algorithm = built(method, data_of("lda")[name], **given)
        state = learning(algorithm.init(np.random.default_rng(0)))
        for window in range(4):
            state, info = algorithm.sweep(state, np.random.default_rng(window))
            for array in (state.by_word, state.totals, state.prior.alpha, state.sizes):
                assert (np.isfinite(array) & (array >= 0)).all(), given
            assert info.pseudo_loo is None or np.isfinite(info.pseudo_loo), given


@each_method
def test_windows_and_epochs(method: str) -> None:
    """A part of an epoch is one window at least; a window larger than the corpus is an epoch."""
    for epochs in (1e-6, 0.5):
        result = fit(CORPUS, method, **small(method, epochs=epochs))
        assert result.snapshot.sweep == max(1, round(epochs * 47 / 12))
        assert result.summary()["documents_seen"] == round(result.snapshot.passes * 47)
    wide, exact = (fit(CORPUS, method, **small(method, window=w, epochs=3.0), seed=2) for w in (10**6, 47))
    assert wide.snapshot.sweep == exact.snapshot.sweep == 3
    assert bits_of(wide.snapshot.posterior) == bits_of(exact.snapshot.posterior)


def test_a_minibatch_of_empty_documents_says_nothing() -> None:
    """Also the first one, whose step may be a whole one: topics that are all alike would remain so."""
    counts = np.vstack([np.zeros((12, 60), int), CORPUS.counts.toarray()])
    for method in ("scvb0", "svb"):
        values = {"shuffle": False, "batch": 6, "step_offset": 0.0, "step_scale": 2.0}
        algorithm = built(method, Corpus.build(counts), **values)
        begun, (first, *_, last) = algorithm.init(np.random.default_rng([1, 0])), course(algorithm, 5)
        np.testing.assert_array_equal(first.by_word, begun.by_word)
        assert first.batches == 0
        assert last.by_word.std(axis=1).max() > 0.1


def test_counts_of_many_large_steps_stay_finite() -> None:
    """Each step takes nine tenths of the old counts, 400 times before they are written out."""
    corpus = planted_topics(400, 30, 2, 5, 0.2, 0.1, 3).corpus
    for method in ("scvb0", "svb"):
        algorithm = built(method, corpus, window=400, batch=1, step_power=0.0, step_scale=0.9)
        (state,) = course(algorithm, 1)
        assert np.isfinite(state.by_word).all()
        np.testing.assert_allclose(state.by_word.sum(axis=0), state.totals, rtol=1e-3)
