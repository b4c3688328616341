"""The generator: a snapshot a sweep, repeatable bit by bit, honest about how it ended and what it cost."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from acvb_core.core.clusters import mean_l1_change
from acvb_core.core.protocols import Poll, SweepInfo
from acvb_core.engine.history import Verdict
from acvb_core.engine.prepared import PreparedRun, prepare_run
from acvb_core.engine.run import Schedule, StopRun, run
from acvb_core.evaluate.heldout import mean_log_likelihood
from acvb_core.models.irm.state import block_counts
from acvb_core.samples.planted_relations import planted_relation
from tests.engine.fakes import QUICK, Wrapped, all_snapshots, bits, small_run, with_inference, with_parts
from tests.loops import for_each

METHODS = list(QUICK)


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


@for_each("method", METHODS)
def test_yields_a_snapshot_for_every_sweep(method: str) -> None:
    snapshots = all_snapshots(small_run(method, max_sweeps=12))
    assert [s.sweep for s in snapshots] == list(range(1, len(snapshots) + 1))
    assert [s.verdict for s in snapshots[:-1]] == [None] * (len(snapshots) - 1)
    assert snapshots[-1].verdict is not None
    for snapshot in snapshots:
        assert snapshot.effective_k == snapshot.posterior.n_clusters()
        assert snapshot.row()["sweep"] == snapshot.sweep


def test_sweeps_only_when_asked() -> None:
    prepared = small_run("cvb0")
    done: list[int] = []

    def after(state: Any, info: SweepInfo, poll: Any) -> tuple[Any, SweepInfo]:
        done.append(state.age)
        return state, info

    generator = run(with_inference(prepared, Wrapped(prepared.algorithm, after)))
    assert not done
    for expected in (1, 2, 3):
        next(generator)
        assert done[-1] == expected == len(done)


@for_each("method", ["acvb", "gibbs"])
def test_same_seed_same_bits_whatever_runs_beside_it(method: str) -> None:
    # Large enough that a product cut over several threads would be added up in another order.
    relation = planted_relation(150, 120, 4, 4, 5, missing_share=0.1).relation
    settings: dict[str, Any] = {"k_rows": 12, "k_cols": 12, "max_sweeps": 8}
    if method == "gibbs":
        settings["burn_in"] = 2

    def prepared(seed: int) -> PreparedRun:
        return prepare_run(relation, method, settings, heldout=0.1, seed=seed)

    alone = [bits(s) for s in all_snapshots(prepared(0))]
    found: dict[int, list[dict[str, Any]]] = {}
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            found[number] = [bits(s) for s in all_snapshots(prepared(0 if number < 2 else number))]
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert found[0] == alone
    assert found[1] == alone
    assert found[2] != alone
    assert found[3] != found[2]


@for_each("method", ["acvb0", "gibbs"])
def test_resumed_run_gives_the_bits_of_one_never_interrupted(method: str) -> None:
    prepared = small_run(method, max_sweeps=24, **({} if method == "gibbs" else {"tol": 1e-12}))
    counting = Counting()
    whole = [bits(s) for s in all_snapshots(prepared, poll=counting)]
    assert len(whole) > 15
    # Stop at calls spread over the run, so in the start, in each domain's pass and in the diagnostics.
    for call in np.linspace(1, counting.calls, 14).astype(int):
        first = all_snapshots(prepared, poll=StopAt(int(call)))
        if not first:  # stopped in the start: nothing to continue from
            continue
        if (
            first[-1].verdict is not Verdict.STOPPED
        ):  # asked in the diagnostics of the last sweep: it had ended
            assert [bits(s) for s in first] == whole
            continue
        kept = first[:-1]
        done = first[-1].sweep
        # The last repeats the last whole sweep, or is that of a sweep that was whole when its diagnostics were stopped.
        assert len(kept) in (done - 1, done)
        assert done == 0 or bits(first[-1])["rows"] == whole[done - 1]["rows"]
        assert [bits(s) for s in kept] == whole[: len(kept)]
        rest = [bits(s) for s in all_snapshots(prepared, resume=first[-1])]
        assert rest == whole[done:]


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


def test_stop_in_the_start_leaves_nothing() -> None:
    assert all_snapshots(small_run("cvb0"), poll=StopAt(1)) == []


@for_each("method", METHODS)
def test_cap_is_never_called_convergence(method: str) -> None:
    settles = all_snapshots(small_run(method))[-1]
    if method == "gibbs":
        assert settles.verdict is Verdict.MAX_SWEEPS
        return
    assert settles.verdict is Verdict.CONVERGED
    for cap in (1, 2, settles.sweep - 1):
        snapshots = all_snapshots(small_run(method, max_sweeps=cap))
        assert len(snapshots) == cap
        assert snapshots[-1].verdict is Verdict.MAX_SWEEPS
        assert snapshots[-1].lower_bound is not None
        assert snapshots[-1].heldout is not None


def test_resumed_at_the_cap_says_so() -> None:
    prepared = small_run("cvb0")
    last = all_snapshots(prepared, max_sweeps=4)[-1]
    again = all_snapshots(prepared, resume=last, max_sweeps=4)
    assert [(s.sweep, s.verdict) for s in again] == [(4, Verdict.MAX_SWEEPS)]


@for_each("heldout", [0.0, 0.1])
@for_each("method", ["acvb0", "cvb0", "vb"])
@for_each("bad", [np.nan, np.inf])
def test_non_finite_numbers_are_divergence(method: str, heldout: float, bad: float) -> None:
    prepared = small_run(method, heldout=heldout, burn_in=1) if method == "acvb0" else None
    prepared = prepared or small_run(method, heldout=heldout)

    def after(state: Any, info: SweepInfo, poll: Any) -> tuple[Any, SweepInfo]:
        inner = getattr(state, "inner", state)
        if inner.age != 4:
            return state, info
        q = {**inner.q, "rows": np.full_like(inner.q["rows"], bad)}
        spoilt = replace(inner, ones=np.full_like(inner.ones, bad), q=q)
        if inner is state:
            return spoilt, info
        return replace(state, inner=spoilt, mean=state.mean | {"rows": q["rows"]}), info

    with np.errstate(invalid="ignore"):
        snapshots = all_snapshots(with_inference(prepared, Wrapped(prepared.algorithm, after)))
    assert len(snapshots) == 4
    assert snapshots[-1].verdict is Verdict.DIVERGED
    assert snapshots[-1].heldout is None


def test_divergence_is_found_by_the_change_alone() -> None:
    """Nothing is evaluated in this sweep but the change of the responsibilities."""
    prepared = small_run("gibbs", heldout=0.0)

    def after(state: Any, info: SweepInfo, poll: Any) -> tuple[Any, SweepInfo]:
        return state, info._replace(change=np.nan if state.sweeps == 3 else info.change)

    spoilt = with_inference(prepared, Wrapped(prepared.algorithm, after))
    snapshots = all_snapshots(spoilt, schedule=Schedule(bound=1000))
    assert [s.verdict for s in snapshots] == [None, None, Verdict.DIVERGED]


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

    last = all_snapshots(with_inference(prepared, Wrapped(prepared.algorithm, slow)))[-1]
    assert (last.cpu_seconds, last.wall_seconds, last.diagnostics_seconds) == (1.5, 1.5, 0.0)

    class SlowModel:
        def __getattr__(self, name: str) -> Any:
            return getattr(prepared.model, name)

        def lower_bound(self, posterior: Any, responsibilities: Any = None) -> float | None:
            clock.now += 0.25
            return prepared.model.lower_bound(posterior, responsibilities)

    last = all_snapshots(with_parts(prepared, model=SlowModel()), schedule=Schedule(bound=1))[-1]
    assert (last.cpu_seconds, last.wall_seconds, last.diagnostics_seconds) == (0.0, 0.75, 0.75)


def test_pauses_are_no_part_of_the_clock_time(clock: Clock) -> None:
    calls = Counting()

    def poll() -> None:
        calls()
        clock.now += 1.0

    prepared = small_run("gibbs", max_sweeps=10)

    def slow(state: Any, info: SweepInfo, poll: Any) -> tuple[Any, SweepInfo]:
        clock.now += 0.5
        return state, info

    last = all_snapshots(with_inference(prepared, Wrapped(prepared.algorithm, slow)), poll=poll)[-1]
    assert calls.calls >= 20
    assert last.wall_seconds == 5.0


@for_each("method", ["acvb0", "cvb0"])
@for_each("cap", [9, 12])
def test_bound_is_evaluated_every_so_many_sweeps_and_in_the_last(method: str, cap: int) -> None:
    prepared = small_run(method, max_sweeps=cap, tol=1e-12)
    snapshots = all_snapshots(prepared, schedule=Schedule(bound=4, heldout=5))
    assert [s.sweep for s in snapshots if s.lower_bound is not None] == sorted({4, 8, cap} | {12} & {cap})
    assert [s.sweep for s in snapshots if s.heldout is not None] == sorted(
        {5, cap} | ({10} if cap > 10 else set())
    )
    assert all(s.pseudo_loo is not None for s in snapshots)
    for snapshot in snapshots:
        if snapshot.lower_bound is not None:
            assert snapshot.lower_bound == prepared.model.lower_bound(snapshot.posterior)


def test_watched_bound_is_evaluated_in_every_sweep() -> None:
    snapshots = all_snapshots(small_run("vb"), schedule=Schedule(bound=50, heldout=50))
    assert all(s.lower_bound is not None for s in snapshots)
    assert snapshots[-1].verdict is Verdict.CONVERGED
    before, last = snapshots[-2].lower_bound, snapshots[-1].lower_bound
    assert abs(last - before) < 1e-5 * abs(before)


def test_last_sweep_before_convergence_is_evaluated() -> None:
    last = all_snapshots(small_run("acvb0"), schedule=Schedule(bound=10_000, heldout=10_000))[-1]
    assert last.verdict is Verdict.CONVERGED
    assert last.lower_bound is not None
    assert last.heldout is not None


def test_change_is_that_of_the_last_sweep_alone() -> None:
    prepared = small_run(
        "cvb0", init="spectral", max_sweeps=12, tol=1e-12, merge=False, split=False, shrink=0.0
    )
    state = prepared.algorithm.init(np.random.default_rng([3, 0]))
    for snapshot in all_snapshots(prepared):
        before, order = state, {"rows": np.arange(6), "cols": np.arange(5)}
        state, info = prepared.algorithm.sweep(before, np.random.default_rng([3, snapshot.sweep]))
        order |= info.cluster_permutation or {}
        old = {name: before.q[name][:, order[name]] for name in order}
        assert snapshot.change == pytest.approx(mean_l1_change(state.q, old), rel=1e-14)


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


def test_runs_on_one_relation_share_their_split() -> None:
    relation = planted_relation(40, 30, 2, 2, 0).relation
    one, other = (prepare_run(relation, name, heldout=0.1, heldout_seed=3) for name in ("cvb0", "vb"))
    assert one.train is other.train
    again = prepare_run(relation, "cvb0", heldout=0.1, heldout_seed=4)
    assert again.train is not one.train
    assert (prepare_run(relation, "cvb0", heldout=0.1, heldout_seed=3).heldout.rows == one.heldout.rows).all()


def test_moves_of_a_sweep_reach_snapshot_and_history() -> None:
    def after(state: Any, info: SweepInfo, poll: Poll) -> tuple[Any, SweepInfo]:
        return state, info._replace(moves={"merged": 2, "split": 1} if state.age == 3 else None)

    plain = small_run("vb", merge=False, split=False, max_sweeps=5, tol=1e-12)
    snapshots = all_snapshots(with_inference(plain, Wrapped(plain.algorithm, after)))
    assert [s.moves for s in snapshots] == [None, None, {"merged": 2, "split": 1}, None, None]
    assert [bits(s) for s in snapshots if s.moves is None] == [
        bits(s) for s in all_snapshots(plain) if s.sweep != 3
    ]
