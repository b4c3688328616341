"""Restarts that race: the better half continues at each rung, and the winner is what it would have been alone."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from acvb_core.core.errors import ParameterError
from acvb_core.core.protocols import Poll, SweepInfo
from acvb_core.core.spec import MethodSpec
from acvb_core.engine.fitting import comparison_row, fit, solve
from acvb_core.engine.history import RaceReport, SweepRecord, Verdict, states_at_once
from acvb_core.engine.prepared import PreparedRun, prepare_run
from acvb_core.engine.race import FIRST_RUNG, race
from acvb_core.engine.result import Result
from acvb_core.engine.run import RunState, StopRun, run
from acvb_core.models.irm.spec import MOVES_FROM
from acvb_core.registry import METHODS
from acvb_core.samples.catalogue import load_sample
from tests.contract.cases import CASES, known, usual
from tests.engine.fakes import Wrapped, bits, small_relation, small_run, with_parts
from tests.loops import for_each


def racing(prepared: PreparedRun, restarts: int) -> PreparedRun:
    return replace(prepared, spec=replace(prepared.spec, restarts=restarts))


def seldom(prepared: PreparedRun) -> PreparedRun:
    """Return the problem with bounds and scores that are not evaluated at any rung by themselves."""
    row = replace(prepared.model_row, schedule=lambda *_: (7, 9))
    return replace(prepared, model_row=row)


def updates(prepared: PreparedRun, **options: Any) -> list[RunState]:
    return list(race(prepared, **options))


def alone_to(prepared: PreparedRun, seed: int, rung: int) -> SweepRecord:
    """Return a run from a seed after so many sweeps, or where it ended before."""
    last: SweepRecord | None = None
    for last in run(prepared.with_seed(seed)):
        if last.sweep == rung:
            break
    assert last is not None
    return last


def slow_starts(method: str = "cvb0", restarts: int = 5, **values: Any) -> PreparedRun:
    """Return a race from random starts, which differ more from each other, with enough sweeps to distinguish them."""
    values = {"init": "random", "k_rows": 9, "k_cols": 9, "max_sweeps": 60} | values
    if method != "gibbs":
        values = {"tol": 1e-12} | values
    return racing(small_run(method, **values), restarts)


def bounds_at(prepared: PreparedRun, rung: int) -> dict[int, float]:
    settings = prepared.spec
    seeds = range(settings.seed, settings.seed + settings.restarts)
    found = {}
    for seed in seeds:
        last = alone_to(prepared, seed, rung)
        given = prepared.algorithm.responsibilities(last.state)
        bound = prepared.model.lower_bound(last.posterior, given)
        assert bound is not None
        found[seed] = bound
    return found


@for_each("method", ["acvb0", "vb", "gibbs"])
def test_the_better_half_continues_at_each_rung(method: str) -> None:
    prepared = seldom(slow_starts(method, restarts=7))
    race_report = updates(prepared, first_rung=3)[-1].race_report
    left = list(range(3, 10))
    for rung, keep in ((3, 4), (6, 2), (12, 1)):
        bounds = bounds_at(prepared, rung)
        ranked = sorted(left, key=lambda seed: (-bounds[seed], seed))
        out = [candidate.seed for candidate in race_report.candidates if candidate.out_after == rung]
        assert sorted(ranked[keep:]) == out
        for candidate in race_report.candidates:
            if candidate.seed in out:
                assert (candidate.sweeps, candidate.lower_bound) == (rung, bounds[candidate.seed])
        left = ranked[:keep]
    assert [race_report.leader] == left
    assert (race_report.sizes, race_report.rung, race_report.is_decided) == ((7, 4, 2, 1), None, True)
    assert len(set(bounds_at(prepared, 12).values())) > 3, "the starts differ"


#: Of each model its default, and what differs from it in kind: samplers, streams, and methods that always converge.
KINDS = ("acvb0", "gibbs", "vb", "sdm", "fab", "ibp")


@for_each("row", [row for row in METHODS if row.name in KINDS])
def test_the_winner_is_what_its_seed_gives_alone(row: MethodSpec) -> None:
    sizes = CASES[row.model].small | {"max_sweeps": 26, "epochs": 9.0, "burn_in": 3 if row.sampled else 0}
    prepared = seldom(
        prepare_run(usual(row), row.name, known(row, sizes), model=row.model, seed=4, heldout=0.1, restarts=2)
    )
    seen: list[tuple[int, int]] = []
    result = solve(prepared, lambda run_of, s: seen.append((run_of.spec.seed, s.sweep)))
    seed = result.prepared.spec.seed
    assert seed in (4, 5)
    lone = solve(prepared.with_seed(seed))
    assert lone.snapshot.sweep == len(result.history)
    assert bits(result.snapshot) == bits(lone.snapshot)
    assert result.prepared.spec == lone.prepared.spec
    times = ["cpu_seconds", "wall_seconds", "diagnostics_seconds"]
    one, other = result.history.drop(columns=times), lone.history.drop(columns=times)
    assert list(one.columns) == list(other.columns)
    np.testing.assert_array_equal(one.to_numpy(float), other.to_numpy(float))
    table = result.race
    assert table is not None
    assert table["seed"].tolist() == [4, 5]
    for candidate in table.itertuples():
        assert [s for number, s in seen if number == candidate.seed] == list(range(1, candidate.sweeps + 1))
    # A stream has no bound: the leave-one-out of the last window decides. Features have no leave-one-out score.
    features = row.model == "lfm"
    assert np.isfinite(table["lower_bound"]).all() == (not row.streams and row.name != "ibp")
    assert np.isfinite(table["pseudo_loo"]).all() != features
    assert np.isfinite(table["heldout"]).all()
    assert result.race_report.judged_by == (
        "heldout" if features else "pseudo_loo" if row.streams else "lower_bound"
    )


def test_without_a_bound_the_leave_one_out_decides() -> None:
    """A running mean of counts alone has no bound; the one before it has begun would not be of the same thing."""
    options = {"k": 5, "track": False, "burn_in": 4, "max_sweeps": 30, "tol": 1e-12}
    result = fit(load_sample("bars").data, "acvb0", restarts=4, **options)
    assert result.race_report is not None
    assert result.race_report.judged_by == "pseudo_loo"
    table = result.race
    alone = [
        fit(load_sample("bars").data, "acvb0", seed=n, **options).history["pseudo_loo"] for n in range(4)
    ]
    first = [curve[19] for curve in alone]
    assert table["out_after"].eq(20).fillna(False).tolist() == [value in sorted(first)[:2] for value in first]
    assert result.snapshot.pseudo_loo == table["pseudo_loo"].max()


def test_the_race_reports_the_cost_of_all_its_runs() -> None:
    values = {"init": "random", "k_rows": 9, "k_cols": 9, "max_sweeps": 45}
    result = fit(small_relation(), "gibbs", restarts=4, **values)  # which never ends before its cap
    table = result.race
    assert table is not None
    assert list(table.columns) == [
        "seed",
        "sweeps",
        "cpu_seconds",
        "lower_bound",
        "pseudo_loo",
        "heldout",
        "out_after",
    ]
    assert sorted(table["sweeps"]) == [20, 20, 40, 45]
    winner = table[table["out_after"].isna()]
    assert winner["seed"].tolist() == [result.prepared.spec.seed]
    assert winner["sweeps"].tolist() == [result.snapshot.sweep] == [45]
    assert winner["lower_bound"].tolist() == [result.snapshot.lower_bound]
    assert (table["cpu_seconds"] > 0).all()
    row = comparison_row(result)
    assert (row["sweeps"], row["race_sweeps"]) == (45, 125)
    assert row["cpu_seconds"] == result.snapshot.cpu_seconds
    assert row["race_cpu_seconds"] == pytest.approx(table["cpu_seconds"].sum())
    told = result.to_dict()
    assert (told["race"]["restarts"], told["race"]["first_seed"], told["race"]["sweeps"]) == (4, 0, 125)
    assert told["race"]["winner"] == told["settings"]["seed"] == told["seed"]
    assert told["settings"]["restarts"] == 1
    again = RaceReport.from_dict(told["race"])
    assert again.to_dict() == told["race"]


def scripted(prepared: PreparedRun, bounds: dict[int, float]) -> PreparedRun:
    """Return a problem whose bound is told by the seed: each run's first cluster mass is put down as its number."""

    class Told:
        def __getattr__(self, name: str) -> Any:
            return getattr(prepared.model, name)

        def lower_bound(self, posterior: Any, given: Any = None) -> float:
            return bounds[round(posterior.hyper["who"])]

    class Named(Wrapped):
        def init(self, rng: np.random.Generator, poll: Poll = lambda: None) -> Any:
            state = self.inner.init(rng, poll)
            seed = next(s for s in bounds if rng_is_of(rng, s))
            return _Tagged(state, seed)

        def sweep(self, state: Any, rng: Any, poll: Poll = lambda: None) -> tuple[Any, SweepInfo]:
            new, info = self.inner.sweep(state.inner, rng, poll)
            return _Tagged(new, state.seed), info

        def posterior(self, state: Any) -> Any:
            found = self.inner.posterior(state.inner)
            return replace(found, hyper={**found.hyper, "who": float(state.seed)})

        def current(self, state: Any) -> Any:
            return self.posterior(state)

        def phase(self, state: Any) -> Any:
            return self.inner.phase(state.inner)

        def responsibilities(self, state: Any) -> Any:
            return None

    algorithm = Named(prepared.algorithm, lambda *given: given[:2])
    return with_parts(prepared, algorithm=algorithm, model=Told())


class _Tagged:
    """A state that can be watched for being let go."""

    def __init__(self, inner: Any, seed: int) -> None:
        self.inner, self.seed = inner, seed


def rng_is_of(rng: np.random.Generator, seed: int) -> bool:
    return bool(rng.bit_generator.seed_seq.entropy == [seed, 0])  # type: ignore[attr-defined]


def test_ties_go_to_the_lower_seed_and_infinity_to_nobody() -> None:
    prepared = scripted(slow_starts("cvb0", 4), {3: -7.0, 4: -5.0, 5: -5.0, 6: float("nan")})
    race_report = updates(prepared, first_rung=2)[-1].race_report
    assert [candidate.out_after for candidate in race_report.candidates] == [2, None, 4, 2]
    assert race_report.leader == 4
    lost = race_report.candidates[3]
    assert lost.sweeps == 1, "a bound that is not a number ends a run at once"


def test_losers_are_let_go_at_once() -> None:
    gc.freeze()  # what is loaded lives on: the collections below need not look through it
    prepared = scripted(slow_starts("cvb0", 8), {3 + n: -float(n * 7 % 8) for n in range(8)})
    alive: weakref.WeakSet[_Tagged] = weakref.WeakSet()
    made = prepared.algorithm.sweep

    def sweep(*given: Any) -> tuple[Any, SweepInfo]:
        state, info = made(*given)
        alive.add(state)
        return state, info

    prepared.algorithm.sweep = sweep  # type: ignore[method-assign]
    most = 0
    for update in race(prepared, first_rung=4):
        keeping = update.race_report.running
        del update
        gc.collect()
        seeds = {state.seed for state in alive}
        most = max(most, len(seeds))
        assert keeping is None or len(seeds) <= states_at_once(8)
    assert most == states_at_once(8) == 5
    gc.collect()
    assert len(alive) == 0, "nothing is kept of a race that nobody looks at any more"


def test_memory_counts_the_runs_that_are_held_at_once() -> None:
    prepared = small_run("cvb0", heldout=0.0)
    alone = prepared.memory_bytes
    assert [racing(prepared, n).memory_bytes / alone for n in (1, 2, 3, 8)] == [1, 2, 3, 5]


class Stop:
    """A poll that ends everything from the moment it is told."""

    def __init__(self) -> None:
        self.now = False

    def __call__(self) -> None:
        if self.now:
            raise StopRun


def stopped_when(prepared: PreparedRun, condition: Callable[[PreparedRun, SweepRecord], bool]) -> Result:
    stop = Stop()

    def watch(run_of: PreparedRun, snapshot: SweepRecord) -> None:
        stop.now = stop.now or condition(run_of, snapshot)

    return solve(prepared, watch, stop)


def test_a_stop_keeps_the_leader_so_far() -> None:
    prepared = seldom(slow_starts("cvb0", 6))
    bounds = bounds_at(prepared, 20)
    result = stopped_when(prepared, lambda run_of, s: run_of.spec.seed == 6 and s.sweep == 9)
    best = max((3, 4, 5), key=lambda seed: bounds[seed])
    assert result.prepared.spec.seed == best
    assert (result.verdict, result.snapshot.sweep, result.was_stopped) == (Verdict.STOPPED, 20, True)
    assert result.snapshot.heldout is not None
    assert result.snapshot.lower_bound == bounds[best]
    table = result.race
    assert table is not None
    assert table["sweeps"].tolist() == [20, 20, 20, 9, 0, 0]
    assert table["out_after"].isna().all()
    assert result.to_dict()["race"]["winner"] is None
    # … and it continues from there as if nothing had been.
    more = list(run(result.prepared, resume=result.snapshot, max_sweeps=25))[-1]
    assert bits(more) == bits(list(run(prepared.with_seed(best), max_sweeps=25))[-1])


def test_runs_that_end_before_the_rung_are_still_in() -> None:
    prepared = slow_starts("vb", 4, max_sweeps=7)
    found = updates(prepared)
    race_report, last = found[-1].race_report, found[-1].snapshot
    assert [candidate.sweeps for candidate in race_report.candidates] == [7] * 4
    bounds = bounds_at(prepared, 7)
    assert race_report.leader == max(bounds, key=lambda seed: bounds[seed])
    assert last.verdict is Verdict.MAX_SWEEPS
    result = solve(prepared)
    assert len(result.history) == 7
    more = list(run(result.prepared, resume=result.snapshot, max_sweeps=9))[-1]
    assert bits(more) == bits(list(run(prepared.with_seed(race_report.leader), max_sweeps=9))[-1])


def test_a_published_state_is_of_one_run() -> None:
    for update in race(slow_starts("cvb0", 5), first_rung=4):
        assert update.history.column("sweep").tolist() == list(range(1, update.snapshot.sweep + 1))
        assert update.prepared.spec.seed == update.race_report.leader
        assert update.history.column("change")[-1] == update.snapshot.change
        assert update.race_report.sweeps_left >= 0
        if update.last_sweep is not None:
            assert update.last_sweep[0].spec.seed == update.race_report.running
            assert update.race_report.sweeps + update.race_report.sweeps_left == 5 * 4 + 3 * 4 + 2 * 8 + (
                60 - 16
            )


def test_the_first_rung_is_not_before_clusters_are_merged() -> None:
    assert MOVES_FROM < FIRST_RUNG


def test_restarts_are_checked() -> None:
    for wrong in (0, -1, 2.5, True, "4"):
        with pytest.raises(ParameterError, match="restarts is"):
            prepare_run(small_relation(), "cvb0", restarts=wrong)  # type: ignore[arg-type]
