"""Runs of a model of continuous data whose features come and go, with what the engine knows of them."""

from __future__ import annotations

from typing import Any

from acvb_core.engine.snapshot import Verdict
from tests.engine.fakes import all_snapshots
from tests.engine.features import Sweep, problem


def ended(bounds: list[float], **options: Any) -> tuple[int, Verdict | None]:
    last = all_snapshots(problem([Sweep(bound=b) for b in [0.0, *bounds]], **options))[-1]
    return last.sweep, last.verdict


def test_a_bound_of_densities_is_judged_by_the_object() -> None:
    """With ten objects and a tolerance of 0.1: the first change below one nat, wherever the bound is."""
    bounds = [-4.0, -1.1, 0.001, 1.1, 2.05, 5.0, 9.0, 9.0]
    options: dict[str, Any] = {"bound_unit": lambda data: data.shape[0], "tol": 0.1}
    assert ended(bounds, **options) == (5, Verdict.CONVERGED)
    # A bound far from zero does not end the run early, nor one at zero keep it up.
    assert ended([b + 1e6 for b in bounds], **options) == (5, Verdict.CONVERGED)
    assert ended([b + 1e6 for b in bounds], tol=0.1)[0] == 2
    assert ended([1e-9, 3e-9, 9e-9], **options) == (2, Verdict.CONVERGED)
    assert ended([1e-9 * 3**n for n in range(8)], tol=0.1) == (8, Verdict.MAX_SWEEPS)


def test_the_unit_is_of_the_data_that_are_fitted() -> None:
    seen: list[Any] = []
    told = problem([Sweep(bound=1.0)] * 9, bound_unit=lambda data: seen.append(data) or 10)
    assert told.bound_unit == 10.0
    assert seen == [told.train]
    assert problem([Sweep(bound=1.0)] * 9).bound_unit is None
