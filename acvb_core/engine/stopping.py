"""Stopping rules, and how far a run is: both read the change that the tolerance is compared with."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.averaging import BURN_IN_TOLERANCE
from acvb_core.core.spec import BURN_IN_CAP
from acvb_core.engine.history import History, SweepRecord, Verdict
from acvb_core.engine.prepared import PreparedRun


def judge(
    monitored: str | None,
    tolerance: float | None,
    now: dict[str, float | None],
    before: dict[str, float | None] | None,
    *,
    not_stationary: bool,
    last_sweep: bool,
    unit: float | None = None,
) -> Verdict | None:
    """Return the verdict after a sweep, None when the run continues.

    Convergence is judged by the change of the monitored quantity (ACVB17 App. B). That of the bound and of the pseudo
    leave-one-out is relative, or divided by `unit` where there is one. That of the mean is taken as it is: its rows sum
    to one. With nothing monitored, only the number of sweeps ends the run.

    `now`, `before`: the three quantities after this sweep and after the one before.
    `not_stationary`: moves outside the fixed point may still come: not converged yet, whatever the change.
    """
    if any(value is not None and not math.isfinite(value) for value in now.values()):
        return Verdict.DIVERGED
    if monitored is not None and tolerance is not None and not not_stationary:
        change = monitored_change(monitored, now[monitored], (before or {}).get(monitored), unit)
        if change is not None and change < tolerance:
            return Verdict.CONVERGED
    return Verdict.MAX_SWEEPS if last_sweep else None


def monitored_change(
    monitored: str, now: float | None, before: float | None, unit: float | None
) -> float | None:
    """Return the change that the tolerance is compared with; None if there is none yet."""
    if monitored == "mean_change" or now is None:
        return now
    return None if before is None else abs(now - before) / (unit or max(abs(before), 1e-300))


def worst_case_sweeps(tolerance: float) -> int:
    """Return how many averaged sweeps meet a tolerance for certain: ceil(2 / tol).

    The change of the mean over s sweeps is at most 2 / s in L1 (ACVB17 Lemma 1, the norm the stopping rule uses;
    Lemma 3 gives sqrt(2) / s in L2).
    """
    return math.ceil(2.0 / tolerance)


#: Changes that an estimate is made from: the last ones, at most so many.
_RECENT, _FEWEST = 30, 4
#: Share of a run that meets its tolerance, but waits for a move or for the next evaluation.
_NEARLY = 0.99
#: Largest change of a distribution in L1.
_LARGEST = 2.0
#: A running mean changes at least like 1 / s once the sweeps have settled, and seldom faster than this power.
_POWERS = (1.0, 4.0)


class Progress(NamedTuple):
    """The changes that a run is judged by."""

    #: Shape (n,); sweep of each change; of a running mean, the number of sweeps in it.
    at: NDArray[np.float64]
    change: NDArray[np.float64]  #: shape (n,); positive
    first: float  #: change that counts as nothing done


def explain_convergence(prepared: PreparedRun, history: History, last: SweepRecord) -> str:
    """Return which rule ended a converged run, and what it does not judge, in sentences; "" for any other run."""
    watched, tolerance = prepared.row.monitored, prepared.spec.values.get("tol")
    if last.verdict is not Verdict.CONVERGED or watched is None or tolerance is None:
        return ""
    values = history.column(watched)
    before, now = [None, None, *values[np.isfinite(values)].tolist()][-2:]
    change = monitored_change(watched, now, before, prepared.bound_unit)
    rule = prepared.row.describe_convergence().removesuffix(" (guaranteed)")
    size = "" if change is None else f" was {change:.1e},"
    text = f"The {rule}{size} below the tolerance {tolerance:g}."
    if last.change is not None and last.change >= tolerance:
        text += f" Assignments still changed by {last.change:.1e}: this rule does not judge them."
    return text


def share_done(prepared: PreparedRun, history: History, max_sweeps: int) -> float:
    """Return how much of the way a run has gone, 0 to 1.

    Half way is half way on a logarithmic scale, from the first change to the tolerance; or half of the sweeps, where
    these run out first or nothing is compared with a tolerance.
    """
    share = float(history.column("sweep")[-1]) / max_sweeps if len(history) and max_sweeps else 0.0
    progress, tolerance = read_progress(prepared, history), prepared.spec.values.get("tol")
    if progress is not None and len(progress.change) and tolerance and progress.first > tolerance:
        way = np.log(progress.first / progress.change[-3:].min()) / np.log(progress.first / tolerance)
        share = max(share, min(float(way), _NEARLY))
    return min(max(share, 0.0), 1.0)


def estimate_sweeps_left(prepared: PreparedRun, history: History, most: float) -> float | None:
    """Return about how many sweeps a run will still take, `most` at most; None while nothing can be said.

    The change of a running mean falls as a power of the number of sweeps in it, that of a bound by the same factor in
    each sweep. Both are read off the last changes.
    """
    tolerance = prepared.spec.values.get("tol")
    progress = read_progress(prepared, history, in_mean=True)
    if progress is None or not tolerance:
        return most
    of_mean = prepared.row.monitored == "mean_change"
    if of_mean and not len(progress.at):
        left = _follow_burn_in(prepared, history, tolerance)
    else:
        left = _follow(progress, tolerance, as_power=of_mean)
    return None if left is None else min(left, most)


def _follow(progress: Progress, tolerance: float, *, as_power: bool = False) -> float | None:
    """Return the sweeps until a change is below the tolerance: it falls by a factor in each, or as a power of them."""
    at, change = _take_last(progress)
    if len(at) < _FEWEST:
        return None
    slope, level = np.polyfit(np.log(at / at[-1]) if as_power else at - at[-1], np.log(change), 1)
    distance = max(level - np.log(tolerance), 0.0)
    if as_power:
        power = min(max(-slope, _POWERS[0]), _POWERS[1])
        return float(at[-1] * np.expm1(min(distance / power, 50.0)))
    return float(distance / -slope) if slope < 0 else None


def _follow_burn_in(prepared: PreparedRun, history: History, tolerance: float) -> float | None:
    """Return the sweeps to the end of the burn-in, and those of a mean whose change then falls like 1 / s²."""
    burning = read_progress(prepared, history)
    if burning is None or not len(burning.at):
        return None
    since_merge = burning.at[-1] - burning.at[np.argmax(burning.change)]
    left = _follow(burning, BURN_IN_TOLERANCE)
    if left is None or left + since_merge > BURN_IN_CAP:
        return None
    return left + float(np.sqrt(max(BURN_IN_TOLERANCE / tolerance, 1.0)))


def _take_last(progress: Progress) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the last changes, from the largest of them on: before it, clusters were merged, or the run began."""
    at, change = progress.at[-_RECENT:], progress.change[-_RECENT:]
    begin = int(np.argmax(change)) if len(change) else 0
    at, change = at[begin:], change[begin:]
    half = len(at) // 2 if len(at) >= 2 * _FEWEST else 0  # what came first says little of what comes
    return at[half:], change[half:]


def read_progress(prepared: PreparedRun, history: History, *, in_mean: bool = False) -> Progress | None:
    """Return the changes that a run is judged by; None if it ends after a fixed number of sweeps.

    Before a running mean has begun, its place is taken by the change of the sweep, which continues as that of the mean;
    with `in_mean` it is left out.
    """
    watched, unit = prepared.row.monitored, prepared.bound_unit
    if watched is None:
        return None
    names = ("sweep", "samples", "mean_change", "change", watched)
    columns = [history.column(name) for name in names]
    length = min(map(len, columns))  # another thread appends
    sweeps, samples, mean, own, values = (column[:length] for column in columns)
    if watched == "mean_change":
        if in_mean:
            begin = int(np.flatnonzero(np.diff(samples, prepend=np.inf) <= 0)[-1]) if length else 0
            return _keep_known(samples[begin:], mean[begin:], _LARGEST)
        return _keep_known(sweeps, np.where(np.isfinite(mean), mean, own), _LARGEST)
    known = np.flatnonzero(np.isfinite(values))
    before: Any = np.abs(values[known[:-1]]) if unit is None else unit
    change = np.abs(np.diff(values[known])) / np.maximum(before, 1e-300)
    return _keep_known(sweeps[known[1:]], change, float(change.max(initial=0.0)))


def _keep_known(at: NDArray[np.float64], change: NDArray[np.float64], first: float) -> Progress:
    known = np.isfinite(change) & (change > 0)
    return Progress(at[known], change[known], first)
