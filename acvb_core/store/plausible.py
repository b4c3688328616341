"""Checks of a run from elsewhere: whether its numbers are such as a run can have."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from acvb_core.core.protocols import Posterior
from acvb_core.engine.history import RACE_CRITERIA, History, RaceReport, Verdict
from acvb_core.engine.result import Result
from acvb_core.store.codecs import MOST_COUNT, MOST_SECONDS, is_number

#: Fields of a snapshot, and columns of a history.
_SECONDS = ("cpu_seconds", "wall_seconds", "diagnostics_seconds")
_COUNTED = ("sweep", "samples", "burn_in", "passes")
_MEASURED = ("lower_bound", "pseudo_loo", "change", "mean_change", "scaled_change")


def check_run(run: Result) -> None:
    """Raise ValueError if a run has something else than numbers, or numbers or arrays that no run can have."""
    last, may_diverge = run.snapshot, run.snapshot.verdict is Verdict.DIVERGED
    for name in _SECONDS:
        _require(name, getattr(last, name), MOST_SECONDS)
    for name, value in (
        ("sweep", last.sweep),
        ("samples", last.samples),
        ("max_sweeps", run.max_sweeps),
        *last.effective_k.items(),
        *(last.moves or {}).items(),
    ):
        _require(name, value, MOST_COUNT)
        if not isinstance(value, int):
            raise ValueError(f"{name} is {value!r}, and no whole number")
    _require("passes", last.passes, MOST_COUNT)
    if not isinstance(last.burn_in, bool):
        raise ValueError(f"burn_in is {last.burn_in!r}")
    sizes = last.posterior.n_clusters()
    if list(last.effective_k) != list(sizes) or any(k > sizes[name] for name, k in last.effective_k.items()):
        raise ValueError(f"{dict(last.effective_k)} cannot be in use of {sizes}")
    scores = {} if last.heldout is None else last.heldout._asdict()
    measured = {name: getattr(last, name) for name in _MEASURED}
    for name, value in (measured | dict(last.hyper) | dict(last.extras) | scores).items():
        # A score or a diagnostic that was evaluated and has no value is NaN.
        may_be_nan = name in scores or name in last.extras
        if isinstance(value, float) and (may_diverge or (may_be_nan and math.isnan(value))):
            continue
        if value is not None and not is_number(value):
            raise ValueError(f"{name} is {value!r}, and no number that a run can have")
    if run.race_report is not None:
        _check_race(run.race_report)
    _check_history(run.state.history, last.sweep, may_diverge)
    _check_sizes(last.posterior)


def _require(name: str, value: Any, most: float) -> None:
    if not is_number(value, most):
        raise ValueError(f"{name} is {value!r}, and no number from 0 to {most:,.0f}")


def _check_race(race: RaceReport) -> None:
    """Raise ValueError if a race has numbers that no race can have."""
    for one in race.candidates:
        _require("cpu_seconds", one.cpu_seconds, MOST_SECONDS)
        for name, value in (("sweeps", one.sweeps), ("seed", one.seed), ("out_after", one.out_after or 0)):
            _require(name, value, MOST_COUNT)
        if not all(isinstance(getattr(one, name), int | float | None) for name in RACE_CRITERIA):
            raise ValueError("a run in its race has something else than numbers")
    if race.judged_by not in RACE_CRITERIA or race.leader not in [one.seed for one in race.candidates]:
        raise ValueError("its race has no winner")
    for size in race.sizes:
        _require("the size of the race", size, len(race.candidates))


def _check_history(history: History, sweeps: int, may_diverge: bool) -> None:
    """Raise ValueError if the sweeps of a run have numbers that no sweep can have, or are others than it did."""
    columns = history.columns
    if columns[:1] != ("sweep",) or len(set(columns)) < len(columns):
        raise ValueError("its history is not that of sweeps")
    done = history.column("sweep")
    if not 0 < len(done) <= sweeps + 1 or not (np.diff(done) > 0).all() or done[-1] != sweeps:
        raise ValueError(f"its history does not have {sweeps:,} sweeps")
    for name in columns:
        values = history.column(name)
        if name in _SECONDS or name in _COUNTED or name.startswith("effective_k_"):
            most = MOST_SECONDS if name in _SECONDS else MOST_COUNT
            fits = bool(((values >= 0) & (values <= most)).all())
        else:  # NaN where it was not evaluated
            fits = may_diverge or not np.isinf(values).any()
        if not fits:
            raise ValueError(f"{name[:100]} has a value in its history that no sweep can have")


def _check_sizes(posterior: Posterior) -> None:
    """Raise ValueError where arrays have different numbers of the same clusters: compiled loops rely on them."""
    sizes: dict[str, int] = {}
    for name, axes in posterior.axes.items():
        array = posterior[name]
        if array.dtype.kind not in "fiub" or array.ndim != len(axes):
            raise ValueError(f"{name} is not an array of numbers as it should be")
        for domain, size in zip(axes, array.shape, strict=True):
            if domain is not None and sizes.setdefault(domain, size) != size:
                raise ValueError(f"{name} has {size} of {domain}, and another array {sizes[domain]}")
