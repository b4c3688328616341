"""The rules that end a run, and estimates of how far it is."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from acvb_core.engine.executor import Status
from acvb_core.engine.history import History, Verdict
from acvb_core.engine.job import JobSnapshot
from acvb_core.engine.run import run
from acvb_core.engine.stopping import (
    estimate_sweeps_left,
    judge,
    share_done,
    worst_case_sweeps,
)
from tests.loops import for_each

from .fakes import small_run

NOTHING: dict[str, float | None] = {"lower_bound": None, "pseudo_loo": None, "mean_change": None}


def verdict(
    monitored: str | None, now: float | None, before: float | None = None, **options: Any
) -> Verdict | None:
    name = monitored or "pseudo_loo"
    options = {"tolerance": 1e-3, "not_stationary": False, "last_sweep": False} | options
    tolerance = options.pop("tolerance")
    earlier = None if before is None else NOTHING | {name: before}
    return judge(monitored, tolerance, NOTHING | {name: now}, earlier, **options)


PER_OBJECT = {"unit": 40.0, "tolerance": 0.05}


@for_each("now, before, options, converged", [
    (-1000.9, -1000.0, {}, True), (-999.1, -1000.0, {}, True), (-1001.1, -1000.0, {}, False), (-0.5, -0.6, {}, False),
    (1.5, 1.0, {"tolerance": 0.5}, False), (-1000.0, None, {}, False), (None, -1000.0, {}, False),
    (0.0, 0.0, {}, True), (1.0, 0.0, {}, False),
    (1.9, 0.0, PER_OBJECT, True), (-1.0, 0.9, PER_OBJECT, True), (1e6 + 1.9, 1e6, PER_OBJECT, True),
    (1e6 + 2.1, 1e6, PER_OBJECT, False), (2.0, 0.0, PER_OBJECT, False), (0.0, None, PER_OBJECT, False),
])  # fmt: skip
def test_bounds_are_judged_by_their_relative_change_or_by_the_object(
    now: float, before: float, options: dict[str, float], converged: bool
) -> None:
    for name in ("lower_bound", "pseudo_loo"):
        assert verdict(name, now, before, **options) is (Verdict.CONVERGED if converged else None)


def test_mean_is_judged_by_its_change_as_it_is() -> None:
    assert verdict("mean_change", 0.9e-3) is Verdict.CONVERGED
    assert verdict("mean_change", 1.1e-3, 1.1e-3) is None
    assert verdict("mean_change", 0.06, **PER_OBJECT) is None
    assert verdict("mean_change", None) is None


def test_cap_is_not_convergence() -> None:
    assert verdict("pseudo_loo", -2.0, -1.0, last_sweep=True) is Verdict.MAX_SWEEPS
    assert verdict("pseudo_loo", -1.0, -1.0, last_sweep=True) is Verdict.CONVERGED
    assert verdict(None, -1.0, -1.0, last_sweep=True) is Verdict.MAX_SWEEPS
    assert verdict(None, -1.0, -1.0) is None


def test_a_sweep_that_is_not_stationary_is_not_convergence() -> None:
    assert verdict("pseudo_loo", -1.0, -1.0, not_stationary=True) is None
    assert verdict("pseudo_loo", -1.0, -1.0, not_stationary=True, last_sweep=True) is Verdict.MAX_SWEEPS
    assert verdict("mean_change", 0.0, not_stationary=True) is None


@for_each("value", [math.nan, math.inf, -math.inf])
@for_each("name", list(NOTHING))
def test_any_number_that_is_not_finite_is_divergence(name: str, value: float) -> None:
    now = {"lower_bound": -1.0, "pseudo_loo": -1.0, "mean_change": 0.0} | {name: value}
    for monitored in (*NOTHING, None):
        for flag in (True, False):
            found = judge(monitored, 1e-3, now, now, not_stationary=flag, last_sweep=not flag)
            assert found is Verdict.DIVERGED


def history_of(**columns: np.ndarray) -> History:
    """A history with these columns, and NaN for all others that a run has."""
    import pandas as pd

    n = len(next(iter(columns.values())))
    usual = {
        "sweep": np.arange(1.0, n + 1), "samples": np.zeros(n), "burn_in": np.zeros(n),
        **dict.fromkeys(("lower_bound", "pseudo_loo", "mean_change", "change"), np.full(n, np.nan)),
    }  # fmt: skip
    return History.from_frame(pd.DataFrame(usual | columns))


def test_a_mean_that_falls_as_a_power_is_followed_to_its_tolerance() -> None:
    """It is followed from where it last began."""
    prepared, again = small_run("acvb0", tol=1e-4), [np.arange(1.0, 30.0), [0.0, 0.0], np.arange(1.0, 41.0)]
    for power in (1.0, 2.0):
        for samples in (np.arange(1.0, 41.0), np.concatenate(again)):
            change = np.where(samples > 0, 0.5 * np.maximum(samples, 1.0) ** -power, np.nan)
            left = estimate_sweeps_left(prepared, history_of(samples=samples, mean_change=change), 1e9)
            assert left == pytest.approx((0.5 / 1e-4) ** (1 / power) - 40, rel=0.02)


def test_a_bound_that_rises_ever_less_is_followed_to_its_tolerance() -> None:
    prepared = small_run("vb", tol=1e-9)
    sweeps = np.arange(1.0, 31.0)
    history = history_of(lower_bound=-1000.0 - 100 * 0.8**sweeps)
    # The relative change after sweep t is about 100 (1 / .8 - 1) .8^t / 1000.
    ends = np.log(1e-9 / (0.1 * (1 / 0.8 - 1))) / np.log(0.8)
    assert estimate_sweeps_left(prepared, history, 1e9) == pytest.approx(ends - 30, abs=1)
    assert estimate_sweeps_left(prepared, history_of(lower_bound=np.array([-5.0, -4.0])), 70.0) is None
    # No estimate is longer than the worst case.
    slow = history_of(lower_bound=-1000.0 + np.cumsum(0.99**sweeps))
    assert estimate_sweeps_left(prepared, slow, 70.0) == 70.0
    assert estimate_sweeps_left(small_run("gibbs"), slow, 70.0) == 70.0


def test_half_way_is_half_way_on_a_logarithmic_scale() -> None:
    prepared = small_run("acvb0", tol=2e-4)
    for change, share in ((2.0, 0.0), (0.2, 0.25), (0.02, 0.5), (0.002, 0.75), (1e-5, 0.99)):
        burning = history_of(change=np.array([change]))
        averaged = history_of(change=np.array([1.0]), mean_change=np.array([change]), samples=np.ones(1))
        assert share_done(prepared, burning, 10**6) == pytest.approx(share, abs=1e-3)
        assert share_done(prepared, averaged, 10**6) == pytest.approx(share, abs=1e-3)
    # The cap counts if it comes first.
    for method in ("acvb0", "gibbs"):
        assert share_done(small_run(method), history_of(change=np.full(30, 1.0)), 40) == 0.75
    for tolerance in (1.0, 0.3, 1e-5, 7e-5):
        sweeps = worst_case_sweeps(tolerance)
        assert 2.0 / sweeps <= tolerance < 2.0 / (sweeps - 1)


def test_the_bar_of_a_stopped_run_is_not_full() -> None:
    # From a chain the run would be almost at its end by then.
    prepared, history = small_run("acvb0", tol=1e-5, init="spectral"), History()
    for last in run(prepared, max_sweeps=8):
        history.append(last)
    seen = JobSnapshot(
        status=Status.FINISHED, prepared=prepared, history=history, max_sweeps=200_000, snapshot=last
    )
    for verdict, least, most in ((Verdict.STOPPED, 0.01, 0.9), (Verdict.CONVERGED, 1.0, 1.0)):
        assert least <= replace(seen, snapshot=replace(last, verdict=verdict)).done <= most
