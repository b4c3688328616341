"""The order in which a page offers runs, and the reason for the first."""

from __future__ import annotations

import math
from collections.abc import Sequence

from acvb_core.engine.job import Job
from acvb_core.engine.snapshot import Verdict
from acvb_core.views.theme import isolate


def order_runs(jobs: Sequence[Job], fingerprint: str | None) -> tuple[list[Job], str]:
    """Return runs in the order they are offered, and why the first one is first.

    The runs on the data in use come before the others: best held-out score first, else best lower bound among the
    runs of the newest one's method, else newest first. Scores and bounds are compared within one held-out split.

    Parameters
    ----------
    jobs : sequence of Job
        At least one, oldest first.
    fingerprint : str or None
        Of the data in use. Where no run is on them, the data of the newest run take their place.

    Returns
    -------
    tuple of list of Job and str
        The reason is empty where there is one run in all. It quotes the name of the data.
    """
    newest_first = list(reversed(jobs))
    of = next((job for job in newest_first if job.problem.fingerprint == fingerprint), newest_first[0])
    mine = [job for job in newest_first if job.problem.fingerprint == of.problem.fingerprint]
    others = [job for job in newest_first if job not in mine]
    data = f"on {isolate(of.problem.data.name)}"
    best, why = _best_first(mine)
    rest = [job for job in mine if job not in best]
    if len(mine) > 1:
        reason = f"Shown first: the {why or f'newest of {len(mine):,} runs'} {data}."
    else:
        reason = f"Shown first: the only run {data}." if others else ""
    return [*best, *rest, *others], reason


def _best_first(jobs: Sequence[Job]) -> tuple[list[Job], str]:
    """Return the runs that can be compared with the newest such run, best first, and by what; none where none can."""
    ended = [job for job in jobs if job.inspect().verdict not in (None, Verdict.DIVERGED)]
    scores = {job.id: last_value(job, f"heldout_{job.problem.model.score_type._fields[0]}") for job in ended}
    scored = [job for job in ended if math.isfinite(scores[job.id])]
    if scored:
        alike = [job for job in scored if job.problem.settings.split == scored[0].problem.settings.split]
        if len(alike) > 1:
            return _sort_runs(alike, scores), f"best held-out score of {len(alike):,} runs"
    if ended and ended[0].problem.model_row.raced_by == "lower_bound":
        first = ended[0]
        bounds = {job.id: last_value(job, "lower_bound") for job in ended}
        alike = [
            job
            for job in ended
            if job.problem.row == first.problem.row
            and job.problem.settings.split == first.problem.settings.split
            and math.isfinite(bounds[job.id])
        ]
        if len(alike) > 1:
            return _sort_runs(
                alike, bounds
            ), f"best lower bound of {len(alike):,} {first.problem.row.label} runs"
    return [], ""


def _sort_runs(jobs: Sequence[Job], values: dict[str, float]) -> list[Job]:
    return sorted(jobs, key=lambda job: -values[job.id])


def last_value(job: Job, column: str) -> float:
    """Return the last value of a diagnostic that was evaluated; NaN if there is no such value."""
    values = job.history.column(column).tolist()
    return next((value for value in reversed(values) if math.isfinite(value)), math.nan)
