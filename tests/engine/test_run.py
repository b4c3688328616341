"""The generator: a snapshot a sweep, repeatable bit by bit, honest about how it ended and what it cost."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from acvb_core.core.protocols import SweepInfo
from acvb_core.engine.history import Verdict
from acvb_core.engine.prepared import PreparedRun, prepare_run
from acvb_core.engine.run import Schedule, StopRun, run
from acvb_core.evaluate.heldout import mean_log_likelihood
from acvb_core.models.irm.state import block_counts
from acvb_core.samples.planted_relations import planted_relation
from tests.engine.fakes import Wrapped, all_snapshots, bits, small_run, with_inference, with_parts
from tests.loops import for_each


class StopAt:
    """A poll that ends the run at its n-th call."""

    def __init__(self, call: int) -> None:
        self.left = call

    def __call__(self) -> None:
        self.left -= 1
        if self.left <= 0:
            raise StopRun


class Counting:
    """A poll that counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> None:
        self.calls += 1


@for_each("method", ["acvb", "gibbs"])
def test_same_seed_same_bits_whatever_runs_beside_it(method: str) -> None:
    # Large enough that a product cut over several threads would be added up in another order.
    relation = planted_relation(150, 120, 4, 4, 5, missing_share=0.1).relation
    settings = {"k_rows": 12, "k_cols": 12, "max_sweeps": 8, "burn_in": 2}

    def prepared(seed: int) -> PreparedRun:
        return prepare_run(relation, method, settings, heldout=0.1, seed=seed)

    def work(seed: int) -> list[dict[str, Any]]:
        return [bits(s) for s in all_snapshots(prepared(seed))]

    alone = work(0)
    with ThreadPoolExecutor(4) as pool:
        one, other, *different = pool.map(work, (0, 0, 2, 3))
    assert one == other == alone
    assert alone not in different


def test_stopped_run_is_evaluated_in_full() -> None:
    prepared = small_run("acvb0", init="spectral", burn_in=3)
    schedule = Schedule(bound=1000, heldout=1000)
    counting = Counting()
    for snapshot in run(prepared, poll=counting, schedule=schedule):
        if snapshot.sweep == 6:
            break
    stopped = all_snapshots(prepared, poll=StopAt(counting.calls + 1), schedule=schedule)
    assert [s.sweep for s in stopped] == [1, 2, 3, 4, 5, 6, 6]
    assert all(s.lower_bound is None and s.heldout is None for s in stopped[:-1])
    last = stopped[-1]
    assert last.lower_bound == prepared.model.lower_bound(last.posterior)
    assert last.pseudo_loo is not None
    assert last.heldout is not None


@for_each("method", ["acvb0", "vb"])
def test_cap_is_never_called_convergence(method: str) -> None:
    settles = all_snapshots(small_run(method), schedule=Schedule(10_000, 10_000))[-1]
    assert settles.verdict is Verdict.CONVERGED
    assert settles.lower_bound is not None
    assert settles.heldout is not None
    for cap in (1, 2, settles.sweep - 1):
        snapshots = all_snapshots(small_run(method, max_sweeps=cap))
        assert [s.verdict for s in snapshots] == [*[None] * (cap - 1), Verdict.MAX_SWEEPS]
        assert snapshots[-1].lower_bound is not None
        assert snapshots[-1].heldout is not None


@for_each("bad", [np.nan, np.inf])
def test_non_finite_numbers_are_divergence(bad: float) -> None:
    prepared = small_run("cvb0")

    def after(state: Any, info: SweepInfo, poll: Any) -> tuple[Any, SweepInfo]:
        q = {**state.q, "rows": np.full_like(state.q["rows"], bad)}
        spoilt = replace(state, ones=np.full_like(state.ones, bad), q=q)
        return (spoilt if state.age == 4 else state), info

    with np.errstate(invalid="ignore"):
        snapshots = all_snapshots(with_inference(prepared, Wrapped(prepared.algorithm, after)))
    assert [s.verdict for s in snapshots] == [None] * 3 + [Verdict.DIVERGED]
    assert snapshots[-1].heldout is None


class Clock:
    """A clock that continues only when it is told to, in place of the module `time`."""

    def __init__(self) -> None:
        self.now = 0.0

    def thread_time(self) -> float:
        return self.now

    monotonic = thread_time


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock that runs are measured with."""
    made = Clock()
    for module in ("run", "machine"):
        monkeypatch.setattr(f"acvb_core.engine.{module}.time", made)
    return made


def test_time_goes_where_it_was_spent(clock: Clock) -> None:
    prepared = small_run("gibbs", max_sweeps=3)

    def slow(state: Any, info: SweepInfo, poll: Any) -> tuple[Any, SweepInfo]:
        clock.now += 0.5
        return state, info

    def poll() -> None:
        clock.now += 1.0  # a pause, which is no part of the run's time

    last = all_snapshots(with_inference(prepared, Wrapped(prepared.algorithm, slow)), poll=poll)[-1]
    assert last.wall_seconds == 1.5

    class SlowModel:
        def __getattr__(self, name: str) -> Any:
            return getattr(prepared.model, name)

        def lower_bound(self, posterior: Any, responsibilities: Any = None) -> float | None:
            clock.now += 0.25
            return prepared.model.lower_bound(posterior, responsibilities)

    last = all_snapshots(with_parts(prepared, model=SlowModel()), schedule=Schedule(bound=1))[-1]
    assert (last.cpu_seconds, last.wall_seconds, last.diagnostics_seconds) == (0.0, 0.75, 0.75)


@for_each("method", ["acvb0", "cvb0"])
def test_bound_is_evaluated_every_so_many_sweeps_and_in_the_last(method: str) -> None:
    prepared = small_run(method, max_sweeps=9, tol=1e-12)
    snapshots = all_snapshots(prepared, schedule=Schedule(bound=4, heldout=5))
    due = {s.sweep: s for s in snapshots if s.lower_bound is not None}
    assert list(due) == [4, 8, 9]
    assert [s.sweep for s in snapshots if s.heldout is not None] == [5, 9]
    assert all(s.pseudo_loo is not None for s in snapshots)
    for snapshot in due.values():
        assert snapshot.lower_bound == prepared.model.lower_bound(snapshot.posterior)


@for_each("method", ["acvb0", "acvb"])
def test_answer_of_an_averaged_run_is_scored_from_the_mean(method: str) -> None:
    """Everything said of the answer is worked out here from the averaged responsibilities by hand."""
    prepared = small_run(method, burn_in=2, max_sweeps=20, tol=1e-12, init="random")
    last = all_snapshots(prepared)[-1]
    mean, inner = last.state.mean, last.state.inner
    assert not np.allclose(mean["rows"], inner.q["rows"], atol=1e-6)
    ones, entries = block_counts(prepared.train, mean)
    a, b = inner.hyper.a, inner.hyper.b
    strength = (a + ones) / (a + b + entries)
    held = prepared.heldout
    p = np.einsum("ek,kl,el->e", mean["rows"][held.rows], strength, mean["cols"][held.columns])
    expected = np.where(held.values, np.log(p), np.log1p(-p)).mean()
    assert last.heldout.log_likelihood == pytest.approx(expected, rel=1e-12)
    np.testing.assert_array_equal(last.posterior["rows"], mean["rows"])
    assert last.scaled_change == last.samples * last.mean_change
    with_last_sweep = prepared.model.predict(prepared.algorithm.current(last.state), held)
    assert mean_log_likelihood(with_last_sweep, held.values) != pytest.approx(expected, rel=1e-9)
