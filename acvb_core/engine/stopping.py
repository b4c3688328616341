"""Stopping rules: they read diagnostics and give a verdict."""

from __future__ import annotations

import math

from acvb_core.engine.snapshot import Verdict


def judge(
    monitored: str | None,
    tolerance: float | None,
    now: dict[str, float | None],
    before: dict[str, float | None] | None,
    *,
    settling: bool,
    last_sweep: bool,
    unit: float | None = None,
) -> Verdict | None:
    """Return the verdict after a sweep, None when the run goes on.

    Convergence is judged by the change of the monitored quantity (ACVB17 App. B). That of the bound and of the pseudo
    leave-one-out is relative, or divided by `unit` where there is one. That of the mean is taken as it is: its rows sum
    to one. With nothing monitored, only the number of sweeps ends the run.

    `now`, `before`: the three quantities after this sweep and after the one before.
    `settling`: moves outside the fixed point may still come: not converged yet, whatever the change.
    """
    if any(value is not None and not math.isfinite(value) for value in now.values()):
        return Verdict.DIVERGED
    if monitored is not None and tolerance is not None and not settling:
        change = monitored_change(monitored, now, before, unit)
        if change is not None and change < tolerance:
            return Verdict.CONVERGED
    return Verdict.MAX_SWEEPS if last_sweep else None


def monitored_change(
    monitored: str,
    now: dict[str, float | None],
    before: dict[str, float | None] | None,
    unit: float | None = None,
) -> float | None:
    """Return the change that the tolerance is compared with; None where there is none yet."""
    value = now[monitored]
    if monitored == "mean_change":
        return value
    old = None if before is None else before[monitored]
    if value is None or old is None:
        return None
    return abs(value - old) / (max(abs(old), 1e-300) if unit is None else unit)


def worst_case_sweeps(tolerance: float) -> int:
    """Return how many averaged sweeps meet a tolerance for certain: ceil(2 / tol).

    The change of the mean over s sweeps is at most 2 / s in L1 (ACVB17 Lemma 1, the norm the stopping rule uses;
    Lemma 3 gives sqrt(2) / s in L2).
    """
    return math.ceil(2.0 / tolerance)
