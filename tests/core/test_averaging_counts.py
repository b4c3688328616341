"""The running mean of counts, and of the responsibilities behind them that are too many for a posterior."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acvb_core.core import averaging
from acvb_core.core.averaging import AveragedAlgorithm, blend, update_mean
from acvb_core.core.parallel import use_threads
from acvb_core.core.protocols import (
    Poll,
    Posterior,
    Responsibilities,
    SweepInfo,
    UnaveragedMethod,
    no_poll,
)
from acvb_core.registry import method_row
from acvb_core.samples.planted_mixtures import planted_topics
from tests.loops import for_each

CORPUS = planted_topics(40, 60, 4, 25, 0.2, 0.1, 1).corpus
DOCUMENTS = np.repeat(np.arange(40), np.diff(CORPUS.counts.indptr))
WORDS, WEIGHTS = CORPUS.counts.indices, CORPUS.counts.data.astype(np.float64)


def counts_of(q: np.ndarray) -> dict[str, np.ndarray]:
    """Return the expected counts of responsibilities in double precision."""
    by_document, by_word = np.zeros((40, q.shape[1])), np.zeros((60, q.shape[1]))
    np.add.at(by_document, DOCUMENTS, WEIGHTS[:, None] * q)
    np.add.at(by_word, WORDS, WEIGHTS[:, None] * q)
    return {"documents": by_document, "words": by_word}


class ScriptedTopics(UnaveragedMethod):
    """Responsibilities written down beforehand, of which a posterior has the counts alone, in one working array."""

    def __init__(self, scripts: list[tuple[np.ndarray, np.ndarray | None]]) -> None:
        self.scripts = scripts
        self.q = np.empty(0, np.float32)

    def init(self, rng: np.random.Generator, poll: Poll = no_poll) -> int:
        self.q = self.scripts[0][0].astype(np.float32)
        return 0

    def sweep(self, state: int, rng: np.random.Generator, poll: Poll = no_poll) -> tuple[int, SweepInfo]:
        q, order = self.scripts[state + 1]
        self.q = q.astype(np.float32)
        return state + 1, SweepInfo(None, None if order is None else {"topics": order})

    def posterior(self, state: int) -> Posterior:
        axes: dict[str, Any] = {"documents": (None, "topics"), "words": (None, "topics")}
        return Posterior(
            counts_of(self.scripts[state][0]), axes, averaged=("documents", "words"), normalised=False
        )

    def responsibilities(self, state: int) -> Responsibilities:
        return Responsibilities(self.q, WEIGHTS.astype(np.float32))


def states_of(method: Any, sweeps: int) -> list[Any]:
    """Return the states after each sweep, with the mean of the responsibilities as it then was."""
    state, found = method.init(np.random.default_rng(0)), []
    for _ in range(sweeps):
        state, _ = method.sweep(state, np.random.default_rng(0))
        given = method.responsibilities(state)
        found.append((state, None if given is None else given.q.copy()))
    return found


@given(st.integers(0, 10_000))
def test_topics_that_change_places_are_followed_in_every_mean(seed: int) -> None:
    """Shuffled in every sweep or not: the same means, of counts and of responsibilities, and the same change."""
    rng = np.random.default_rng(seed)
    true = [rng.dirichlet(np.full(3, 0.4), len(DOCUMENTS)) for _ in range(8)]
    place, scripts = np.arange(3), [(true[0], None)]
    places = [place]
    for q in true[1:]:
        order = rng.permutation(3)
        place = place[order]
        places.append(place)
        scripts.append((q[:, place], order))
    plain = states_of(AveragedAlgorithm(ScriptedTopics([(q, None) for q in true]), 2), 7)
    moved = states_of(AveragedAlgorithm(ScriptedTopics(scripts), 2), 7)
    for sweep in range(3, 8):
        (one, q), (other, turned) = plain[sweep - 1], moved[sweep - 1]
        mean = np.mean(true[3 : sweep + 1], axis=0)
        np.testing.assert_allclose(q, mean, atol=1e-6)
        np.testing.assert_allclose(turned, mean[:, places[sweep]], atol=1e-6)
        for name, wanted in counts_of(mean).items():
            np.testing.assert_allclose(one.mean[name], wanted, atol=1e-12)
            np.testing.assert_allclose(other.mean[name], wanted[:, places[sweep]], atol=1e-12)
        if sweep > 3:
            before = np.mean(true[3:sweep], axis=0)
            change = np.average(np.abs(mean - before).sum(axis=1), weights=WEIGHTS)
            assert one.change == pytest.approx(change, rel=1e-5)
            assert other.change == pytest.approx(change, rel=1e-5)


@for_each("dtype", [np.float32, np.float64])
@given(seed=st.integers(0, 10_000), share=st.floats(0.001, 1.0))
def test_blend(dtype: Any, seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    mean, new = (rng.dirichlet(np.ones(5), 30).astype(dtype) for _ in range(2))
    weights = rng.integers(1, 50, 30).astype(np.float32)
    before, given_new = mean.copy(), new.copy()
    change = blend(mean, new, weights, share)
    wanted = before + (given_new.astype(np.float64) - before) * share
    np.testing.assert_allclose(mean, wanted, atol=1e-6 if dtype is np.float32 else 1e-14)
    np.testing.assert_array_equal(new, given_new)
    moved = np.abs(wanted - before).sum(axis=1)
    assert change == pytest.approx(moved @ weights, rel=1e-4)
    if share == 1.0:
        np.testing.assert_allclose(mean, given_new, atol=1e-7)


def test_pieces_of_a_mean_add_up_to_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    new, weights = rng.dirichlet(np.ones(5), 301), rng.integers(1, 50, 301).astype(np.float32)
    mean = rng.dirichlet(np.ones(5), 301)
    before, moved = mean.copy(), blend(mean, new, weights, 0.3)
    monkeypatch.setattr(averaging, "_AT_ONCE", 36)
    found = set()
    for threads in (1, 2, 3):
        pieces = before.copy()
        with use_threads(threads):
            found.add(blend(pieces, new, weights, 0.3))
        assert pieces.tobytes() == mean.tobytes()
    assert len(found) == 1
    assert found.pop() == pytest.approx(moved, rel=1e-12)


def test_a_mean_in_pieces_has_the_bits_of_one_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    old, new = ({"documents": rng.random((301, 5)), "words": rng.random(7)} for _ in range(2))
    mean = update_mean(old, new, 4)
    for name in new:
        np.testing.assert_allclose(mean[name], 0.75 * old[name] + 0.25 * new[name], rtol=1e-12)
    monkeypatch.setattr(averaging, "_IN_CACHE", 36)
    with use_threads(3):
        pieces = update_mean(old, new, 4)
    assert {name: a.tobytes() for name, a in pieces.items()} == {
        name: a.tobytes() for name, a in mean.items()
    }


@for_each("track", [True, False])
@for_each("name", ["acvb0", "acvb"])
def test_mean_is_the_recorded_history_averaged_afterwards(name: str, track: bool) -> None:
    """Also where a topic is dropped on the way, with which the mean begins again."""
    row = method_row("lda", name)
    values = {"k": 20, "alpha": 0.1, "beta": 0.01, "hyper": "fixed", "shrink": 0.04}
    values |= {"burn_in": 2, "track": track}
    method = row.build(CORPUS, row.values(values))
    state = method.init(np.random.default_rng(0))
    begun = restarts = 0
    records: list[dict[str, np.ndarray]] = []
    for sweep in range(1, 41):
        state, info = method.sweep(state, np.random.default_rng(sweep))
        current = method.current(state)
        record = {which: current[which].astype(np.float64) for which in ("documents", "words")}
        inner = method.inner.responsibilities(state.inner)
        record["q"] = inner.q.astype(np.float64)
        if info.cluster_permutation is not None and records:
            restarts += 1
            records = []
        if sweep > 2:
            records.append(record)
        assert method.phase(state).samples == len(records)
        if not records:
            assert method.posterior(state)["documents"] is current["documents"]
            continue
        begun += 1
        for which in ("documents", "words"):
            wanted = np.mean([r[which] for r in records], axis=0)
            np.testing.assert_allclose(method.posterior(state)[which], wanted, rtol=1e-4, atol=1e-5)
        given = method.responsibilities(state)
        assert (given is not None) == track
        if given is not None:
            np.testing.assert_allclose(given.q, np.mean([r["q"] for r in records], axis=0), atol=1e-6)
            assert given.q is not inner.q
    assert begun > 30
    assert restarts > 1
