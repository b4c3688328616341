"""Runs of a model whose responsibilities are no part of its posterior, and which has diagnostics of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from acvb_core.engine.history import History, Verdict
from acvb_core.engine.prepared import PreparedRun, prepare_run
from acvb_core.engine.run import Schedule, StopRun, run
from acvb_core.registry import method_row
from acvb_core.samples.planted_mixtures import planted_topics
from tests.contract.cases import known
from tests.engine.fakes import all_snapshots, bits
from tests.engine.test_run import Counting, StopAt
from tests.loops import for_each

CORPUS = planted_topics(60, 80, 4, 30, 0.2, 0.1, 1).corpus


def topic_run(method: str, **values: Any) -> PreparedRun:
    row = method_row("lda", method)
    given = {"k": 5, "burn_in": 5 if method == "gibbs" else 0} | values
    return prepare_run(CORPUS, method, known(row, given), heldout=0.1, seed=3)


@for_each("method", ["acvb0", "vb"])
def test_diagnostics_of_the_model_are_evaluated_with_the_bound(method: str) -> None:
    prepared = topic_run(method, max_sweeps=17, tol=1e-12)
    history = History()
    for snapshot in run(prepared, schedule=Schedule(bound=5, heldout=4)):
        history.append(snapshot)
        due = snapshot.sweep % 5 == 0 or snapshot.sweep == 17
        assert (snapshot.extras != {}) == due
        assert (snapshot.heldout is not None) == (snapshot.sweep % 4 == 0 or snapshot.sweep == 17)
        if not due:
            continue
        given = prepared.algorithm.responsibilities(snapshot.state)
        assert snapshot.lower_bound == prepared.model.lower_bound(snapshot.posterior, given)
        assert snapshot.extras == prepared.model.extras(snapshot.posterior, given, snapshot.pseudo_loo)
        perplexity = np.exp(-snapshot.pseudo_loo / prepared.train.n_tokens)
        assert snapshot.extras["loo_perplexity"] == pytest.approx(perplexity)
        assert ("collapsed_bound" in snapshot.extras) == (method != "vb")
    assert np.isfinite(history.column("loo_perplexity")).nonzero()[0].tolist() == [4, 9, 14, 16]


@for_each("method", ["sdm", "scvb0"])
def test_windows_of_a_stream_are_diagnosed_and_add_up_to_passes(method: str) -> None:
    given = {"k": 5, "window": 10, "epochs": 2.5, "score_every": 0.5, "batch": 10}
    values = known(method_row("lda", method), given)
    prepared = prepare_run(CORPUS, method, values, heldout_documents=0.1, seed=3)
    assert prepared.max_sweeps == 15  # 6 windows a pass over 54 documents, the last of 4
    snapshots = all_snapshots(prepared)
    whole = [*np.arange(10, 51, 10), 54]
    wanted = [(54 * epoch + seen) / 54 for epoch in range(3) for seen in whole][:15]
    np.testing.assert_allclose([s.passes for s in snapshots], wanted, atol=1e-8)
    assert [s.heldout is not None for s in snapshots] == [s.sweep % 3 == 0 for s in snapshots]
    assert snapshots[-1].verdict is Verdict.MAX_SWEEPS


def test_stop_in_the_diagnostics_keeps_the_sweep_and_what_was_evaluated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """VB's sweeps give no pseudo leave-one-out: it is evaluated apart, and completely even if it is to be stopped."""
    prepared = topic_run("vb", max_sweeps=5, tol=1e-12)
    whole = all_snapshots(prepared, schedule=Schedule(1, 1))
    asked: list[None] = []
    pseudo_loo = type(prepared.model).pseudo_loo
    monkeypatch.setattr(
        type(prepared.model), "pseudo_loo", lambda *given: asked.append(None) or pseudo_loo(*given)
    )

    def stop() -> None:
        if len(asked) >= 2:
            raise StopRun

    stopped = all_snapshots(prepared, poll=stop, schedule=Schedule(1, 1))
    assert [s.verdict for s in stopped] == [None, Verdict.STOPPED]
    for one, other in zip(stopped, whole, strict=False):
        assert bits(one) | {"verdict": None} == bits(other)


@for_each("method", ["acvb0", "cvb0", "cvb_exact", "gibbs"])
def test_run_that_is_stopped_is_evaluated_as_far_as_can_be(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Responsibilities that a sweep has begun to write over are of no state: what hangs on them is left out."""
    for place in ("acvb_core.models.lda.state.chunk_pairs", "acvb_core.models.lda.gibbs.chunk_pairs"):
        monkeypatch.setattr(place, lambda *_: 100)
    prepared = topic_run(method, max_sweeps=20, tol=1e-12)
    schedule, counting = Schedule(1000, 1000), Counting()
    for snapshot in run(prepared, poll=counting, schedule=schedule):
        if snapshot.sweep == 9:
            break
    for later in (1, 4):  # before anything of the tenth sweep is done, and in the middle of it
        last = all_snapshots(prepared, poll=StopAt(counting.calls + later), schedule=schedule)[-1]
        assert (last.sweep, last.verdict) == (9, Verdict.STOPPED)
        assert last.heldout is not None
        assert last.pseudo_loo is not None
        assert np.isfinite(last.extras["loo_perplexity"])
        collapsed, averaged = method in ("acvb0", "cvb0"), last.samples > 0
        assert (last.lower_bound is None) == (collapsed and later > 1 and not averaged)
        kept = method == "cvb_exact"  # its sweeps write over nothing
        assert ("collapsed_bound" in last.extras) == (kept or (collapsed and (later == 1 or averaged)))
