"""The rules that end a run."""

from __future__ import annotations

import math
from typing import Any

from acvb_core.engine.history import Verdict
from acvb_core.engine.stopping import judge, monitored_change, worst_case_sweeps
from tests.loops import for_each

NOTHING: dict[str, float | None] = {"lower_bound": None, "pseudo_loo": None, "mean_change": None}


def verdict(
    monitored: str | None, now: float | None, before: float | None = None, **options: Any
) -> Verdict | None:
    name = monitored or "pseudo_loo"
    options = {"tolerance": 1e-3, "not_stationary": False, "last_sweep": False} | options
    tolerance = options.pop("tolerance")
    earlier = None if before is None else NOTHING | {name: before}
    return judge(monitored, tolerance, NOTHING | {name: now}, earlier, **options)


@for_each("name", ["lower_bound", "pseudo_loo"])
def test_bounds_are_judged_by_their_relative_change(name: str) -> None:
    assert verdict(name, -1000.9, -1000.0) is Verdict.CONVERGED
    assert verdict(name, -999.1, -1000.0) is Verdict.CONVERGED
    assert verdict(name, -1001.1, -1000.0) is None
    assert verdict(name, -0.5, -0.6) is None
    # Below the tolerance, not at it.
    assert verdict(name, 1.5, 1.0, tolerance=0.5) is None
    assert verdict(name, -1000.0, None) is None
    assert verdict(name, None, -1000.0) is None


@for_each("name", ["lower_bound", "pseudo_loo"])
def test_bounds_with_a_unit_are_judged_by_their_change_in_it(name: str) -> None:
    per_object = {"unit": 40.0, "tolerance": 0.05}
    assert verdict(name, 1.9, 0.0, **per_object) is Verdict.CONVERGED
    assert verdict(name, -1.0, 0.9, **per_object) is Verdict.CONVERGED
    assert verdict(name, 1e6 + 1.9, 1e6, **per_object) is Verdict.CONVERGED
    assert verdict(name, 1e6 + 2.1, 1e6, **per_object) is None
    assert verdict(name, 2.0, 0.0, **per_object) is None
    assert verdict(name, 0.0, None, **per_object) is None
    # The change of a mean is what it is.
    assert verdict("mean_change", 0.06, **per_object) is None


def test_mean_is_judged_by_its_change_as_it_is() -> None:
    assert verdict("mean_change", 0.9e-3) is Verdict.CONVERGED
    assert verdict("mean_change", 1.1e-3) is None
    assert verdict("mean_change", 1.1e-3, 1.1e-3) is None
    assert verdict("mean_change", None) is None


def test_only_the_watched_quantity_counts() -> None:
    now = {"lower_bound": -10.0, "pseudo_loo": -20.0, "mean_change": 1.0}
    options: dict[str, Any] = {"not_stationary": False, "last_sweep": False}
    assert judge("mean_change", 0.1, now, now, **options) is None
    assert judge("pseudo_loo", 0.1, now, now | {"lower_bound": -99.0}, **options) is Verdict.CONVERGED
    assert judge("lower_bound", 0.1, now, now | {"lower_bound": -99.0}, **options) is None


def test_cap_is_not_convergence() -> None:
    assert verdict("pseudo_loo", -2.0, -1.0, last_sweep=True) is Verdict.MAX_SWEEPS
    assert verdict("pseudo_loo", -1.0, -1.0, last_sweep=True) is Verdict.CONVERGED
    assert verdict(None, -1.0, -1.0, last_sweep=True) is Verdict.MAX_SWEEPS


def test_nothing_watched_runs_on() -> None:
    assert verdict(None, -1.0, -1.0, tolerance=None) is None
    assert verdict(None, -1.0, -1.0) is None


def test_settling_is_not_convergence() -> None:
    assert verdict("pseudo_loo", -1.0, -1.0, not_stationary=True) is None
    assert verdict("pseudo_loo", -1.0, -1.0, not_stationary=True, last_sweep=True) is Verdict.MAX_SWEEPS
    assert verdict("mean_change", 0.0, not_stationary=True) is None


@for_each("value", [math.nan, math.inf, -math.inf])
@for_each("name", list(NOTHING))
def test_any_number_that_is_not_finite_is_divergence(name: str, value: float) -> None:
    now = {"lower_bound": -1.0, "pseudo_loo": -1.0, "mean_change": 0.0} | {name: value}
    for monitored in (*NOTHING, None):
        for flags in (
            {"not_stationary": True, "last_sweep": False},
            {"not_stationary": False, "last_sweep": True},
        ):
            assert judge(monitored, 1e-3, now, now, **flags) is Verdict.DIVERGED


def test_change_from_zero_is_no_division_by_zero() -> None:
    assert (
        monitored_change("lower_bound", NOTHING | {"lower_bound": 0.0}, NOTHING | {"lower_bound": 0.0}) == 0.0
    )
    change = monitored_change("lower_bound", NOTHING | {"lower_bound": 1.0}, NOTHING | {"lower_bound": 0.0})
    assert change is not None
    assert change > 1e100


@for_each("tolerance", [1.0, 0.3, 1e-2, 1e-3, 1e-5, 7e-5])
def test_worst_case_is_the_first_sweep_that_is_certain(tolerance: float) -> None:
    sweeps = worst_case_sweeps(tolerance)
    assert 2.0 / sweeps <= tolerance
    assert 2.0 / (sweeps - 1) > tolerance if sweeps > 1 else tolerance >= 2
    assert worst_case_sweeps(1e-5) == 200_000
