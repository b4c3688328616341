"""Restarts that race: the better half continues at each rung, and the winner is what it would have been alone."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
import pytest

from acvb_core.core.spec import MethodSpec
from acvb_core.engine.fitting import comparison_row, fit, solve
from acvb_core.engine.history import RaceReport, Verdict
from acvb_core.engine.prepared import PreparedRun, prepare_run
from acvb_core.engine.race import race
from acvb_core.engine.run import Schedule, StopRun, run
from acvb_core.registry import METHODS
from tests.contract.cases import CASES, known, usual
from tests.engine.fakes import TIMES, bits, small_relation, small_run
from tests.loops import for_each


def seldom(prepared: PreparedRun) -> PreparedRun:
    """Return the problem with bounds and scores that are not evaluated at any rung by themselves."""
    row = replace(prepared.model_row, schedule=lambda *_: (7, 9))
    return replace(prepared, model_row=row)


def slow_starts(method: str = "cvb0", restarts: int = 5, **values: Any) -> PreparedRun:
    """Return a race from random starts, which differ more from each other, with enough sweeps to distinguish them."""
    values = {"init": "random", "k_rows": 9, "k_cols": 9, "max_sweeps": 60} | values
    if method != "gibbs":
        values = {"tol": 1e-12} | values
    prepared = small_run(method, **values)
    return replace(prepared, spec=replace(prepared.spec, restarts=restarts))


def bounds_at(prepared: PreparedRun, rung: int) -> dict[int, float]:
    """Return the bound of each run after so many sweeps, or of the last one."""
    first = prepared.spec.seed
    return {
        seed: list(islice(run(prepared.with_seed(seed), schedule=Schedule(1, 1)), rung))[-1].lower_bound
        for seed in range(first, first + prepared.spec.restarts)
    }


@for_each("method", ["acvb0", "gibbs"])
def test_the_better_half_continues_at_each_rung(method: str) -> None:
    prepared = seldom(slow_starts(method, restarts=7))
    *_, ended = race(prepared, first_rung=3)
    race_report = ended.race_report
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


def test_a_stop_keeps_the_leader_so_far() -> None:
    prepared = seldom(slow_starts("cvb0", 6))
    bounds = bounds_at(prepared, 20)
    seen: list[tuple[int, int]] = []

    def stop() -> None:
        if (6, 9) in seen:
            raise StopRun

    result = solve(prepared, lambda run_of, s: seen.append((run_of.spec.seed, s.sweep)), stop)
    best = max((3, 4, 5), key=lambda seed: bounds[seed])
    assert result.prepared.spec.seed == best
    assert (result.verdict, result.snapshot.sweep, result.was_stopped) == (Verdict.STOPPED, 20, True)
    assert result.snapshot.heldout is not None
    assert result.snapshot.lower_bound == bounds[best]
    table = result.race
    assert table["sweeps"].tolist() == [20, 20, 20, 9, 0, 0]
    assert table["out_after"].isna().all()
    assert result.to_dict()["race"]["winner"] is None
    # It continues as if it had not been stopped.
    more = list(run(result.prepared, resume=result.snapshot, max_sweeps=25))[-1]
    assert bits(more) == bits(list(run(prepared.with_seed(best), max_sweeps=25))[-1])


def test_runs_that_end_before_the_rung_are_still_in() -> None:
    prepared = slow_starts("vb", 4, max_sweeps=7)
    *_, ended = race(prepared)
    race_report, last = ended.race_report, ended.snapshot
    assert [candidate.sweeps for candidate in race_report.candidates] == [7] * 4
    bounds = bounds_at(prepared, 7)
    assert race_report.leader == max(bounds, key=lambda seed: bounds[seed])
    assert last.verdict is Verdict.MAX_SWEEPS


def test_a_published_state_is_of_one_run() -> None:
    for update in race(slow_starts("cvb0", 5), first_rung=4):
        assert update.history.column("sweep").tolist() == list(range(1, update.snapshot.sweep + 1))
        assert update.prepared.spec.seed == update.race_report.leader
        assert update.history.column("change")[-1] == update.snapshot.change
        if update.last_sweep is not None:
            assert update.last_sweep[0].spec.seed == update.race_report.running
            total = 5 * 4 + 3 * 4 + 2 * 8 + 60 - 16
            assert update.race_report.sweeps + update.race_report.sweeps_left == total


#: The default of each model, and methods that differ from it in kind: a sampler and a stream.
KINDS = {"acvb0": "lower_bound", "gibbs": "lower_bound", "sdm": "pseudo_loo", "fab": "heldout"}


@for_each("row", [row for row in METHODS if row.name in KINDS])
def test_the_winner_is_what_its_seed_gives_alone(row: MethodSpec) -> None:
    sizes = CASES[row.model].small | {"max_sweeps": 26, "epochs": 9.0, "burn_in": 3 if row.sampled else 0}
    prepared = seldom(
        prepare_run(usual(row), row.name, known(row, sizes), model=row.model, seed=4, heldout=0.1, restarts=2)
    )
    seen: list[tuple[int, int]] = []
    result = solve(prepared, lambda run_of, s: seen.append((run_of.spec.seed, s.sweep)))
    lone = solve(prepared.with_seed(result.prepared.spec.seed))
    assert bits(result.snapshot) == bits(lone.snapshot)
    assert result.prepared.spec == lone.prepared.spec
    one, other = (each.history.drop(columns=list(TIMES)) for each in (result, lone))
    pd.testing.assert_frame_equal(one, other)
    table = result.race
    assert table["seed"].tolist() == [4, 5]
    for candidate in table.itertuples():
        assert [s for number, s in seen if number == candidate.seed] == list(range(1, candidate.sweeps + 1))
    assert result.race_report.judged_by == KINDS[row.name]
    assert np.isfinite(table[KINDS[row.name]]).all()


def test_the_race_reports_the_cost_of_all_its_runs() -> None:
    values = {"init": "random", "k_rows": 9, "k_cols": 9, "max_sweeps": 45}
    result = fit(small_relation(), "gibbs", restarts=4, **values)  # it never ends before its cap
    table = result.race
    assert sorted(table["sweeps"]) == [20, 20, 40, 45]
    winner = table[table["out_after"].isna()].iloc[0]
    last = result.snapshot
    assert (winner["seed"], winner["sweeps"]) == (result.prepared.spec.seed, last.sweep)
    assert winner["lower_bound"] == last.lower_bound
    row = comparison_row(result)
    assert (row["sweeps"], row["race_sweeps"], row["cpu_seconds"]) == (45, 125, last.cpu_seconds)
    assert row["race_cpu_seconds"] == pytest.approx(table["cpu_seconds"].sum())
    told = result.to_dict()
    assert (told["race"]["restarts"], told["race"]["first_seed"], told["race"]["sweeps"]) == (4, 0, 125)
    assert told["race"]["winner"] == told["settings"]["seed"] == told["seed"]
    assert RaceReport.from_dict(told["race"]).to_dict() == told["race"]
