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
    assert change == pytest.approx(np.abs(wanted - before).sum(axis=1) @ weights, rel=1e-4)


def test_a_mean_in_pieces_has_the_bits_of_one_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    old, new = ({"documents": rng.random((301, 5)), "words": rng.random(7)} for _ in range(2))

    def bits() -> list[bytes]:
        mean = update_mean(old, new, 4)
        blended = old["documents"].copy()
        blend(blended, new["documents"], np.ones(301, np.float32), 0.3)
        np.testing.assert_allclose(mean["words"], 0.75 * old["words"] + 0.25 * new["words"], rtol=1e-12)
        return [array.tobytes() for array in (*mean.values(), blended)]

    whole = bits()
    monkeypatch.setattr(averaging, "_IN_CACHE", 36)
    monkeypatch.setattr(averaging, "_AT_ONCE", 36)
    for threads in (1, 3):
        with use_threads(threads):
            assert bits() == whole
