"""The order in which a page offers runs, and the reason for the first."""

from __future__ import annotations

import math
from collections.abc import Sequence

from acvb_core.engine.history import Verdict
from acvb_core.engine.job import Job
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
    of = next(
        (job for job in newest_first if job.outline.fingerprint == fingerprint), newest_first[0]
    ).outline
    mine = [job for job in newest_first if job.outline.fingerprint == of.fingerprint]
    others = [job for job in newest_first if job.outline.fingerprint != of.fingerprint]
    data = f"on {isolate(of.data_name)}"
    best, why = _best_first(mine)
    first = {job.id for job in best}
    rest = [job for job in mine if job.id not in first]
    if len(mine) > 1:
        reason = f"Shown first: the {why or f'newest of {len(mine):,} runs'} {data}."
    else:
        reason = f"Shown first: the only run {data}." if others else ""
    return [*best, *rest, *others], reason


def _best_first(jobs: Sequence[Job]) -> tuple[list[Job], str]:
    """Return the runs that can be compared with the newest such run, best first, and by what; none where none can."""
    ended = [(job, job.outline) for job in jobs]
    ended = [(job, run) for job, run in ended if run.verdict not in (None, Verdict.DIVERGED)]
    scored = [(job, run) for job, run in ended if math.isfinite(run.score)]
    if scored:
        split = scored[0][1].spec.split
        alike = [(job, run) for job, run in scored if run.spec.split == split]
        if len(alike) > 1:
            best = sorted(alike, key=lambda pair: -pair[1].score)
            return [job for job, _ in best], f"best held-out score of {len(alike):,} runs"
    if ended and ended[0][1].model_row.raced_by == "lower_bound":
        first = ended[0][1]
        alike = [
            (job, run)
            for job, run in ended
            if (run.row, run.spec.split) == (first.row, first.spec.split) and math.isfinite(run.lower_bound)
        ]
        if len(alike) > 1:
            best = sorted(alike, key=lambda pair: -pair[1].lower_bound)
            return [job for job, _ in best], f"best lower bound of {len(alike):,} {first.row.label} runs"
    return [], ""
