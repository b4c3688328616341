"""Runs that repeat others: with the same seed they give the same result, with other seeds they may not."""

from __future__ import annotations

from dataclasses import replace
from itertools import count, islice
from typing import TYPE_CHECKING

import streamlit as st

from acvb_core.core.errors import AcvbError
from acvb_core.engine.history import Verdict
from acvb_core.engine.job import Job
from acvb_core.engine.prepared import depends_on_seed, rebuild_run
from acvb_core.registry import method_row
from pages.ui.shared import format as say
from pages.ui.shared.workspace import Workspace
from pages.ui.workspace.dataset import Dataset

if TYPE_CHECKING:
    from pages.ui.running.setup import Plan

#: Seeds that one press of the button adds.
MORE_SEEDS = 3


def warn_of_repeats(workspace: Workspace, dataset: Dataset, plan: Plan) -> None:
    """Say which of the planned runs are there already; nothing where all are new."""
    names = [job.label.name for job in workspace.jobs if repeats_plan(job, dataset, plan)]
    if names:
        with st.container(key="repeats"):
            st.info(
                f"{say.join_names(names)} {'has' if len(names) == 1 else 'have'} the same settings and seed. Another "
                "run would give the same result. Choose another first seed to see how much the start matters.",
                icon=":material/content_copy:",
            )


def repeats_plan(job: Job, dataset: Dataset, plan: Plan) -> bool:
    """Return whether a run that did not fail is one of those that are planned."""
    run = job.outline
    settings, seed, restarts = run.spec, run.asked.seed, run.asked.restarts
    share = settings.heldout_documents if dataset.whole_documents else settings.heldout
    if run.error is not None or settings.start or plan.trained is not None:
        return False
    if settings.model != plan.model or settings.method not in plan.values:
        return False
    return (
        run.fingerprint == dataset.data.fingerprint
        and dict(settings.values)
        == method_row(plan.model, settings.method).values(plan.values[settings.method])
        and (seed in plan.seeds and restarts == plan.restarts)
        and (share, settings.heldout_seed) == (dataset.heldout, dataset.heldout_seed)
        and (settings.heldout_documents > 0) == (dataset.whole_documents and dataset.heldout > 0)
    )


def list_seeds(workspace: Workspace, job: Job) -> list[Job]:
    """Return the runs that differ from one in the seed alone, oldest first: itself too, and none that failed."""
    fingerprint, settings = job.outline.fingerprint, replace(job.outline.asked, seed=0)
    return [
        other
        for other in workspace.jobs
        if other.outline.error is None
        and other.outline.fingerprint == fingerprint
        and replace(other.outline.asked, seed=0) == settings
    ]


def select_seeds(workspace: Workspace, job: Job, most: int) -> list[Job]:
    """Return a run, then the newest that have ended from other seeds, each seed once and none diverged.

    `most`: runs in all.
    """
    runs = {job.outline.asked.seed: job}
    for other in reversed(list_seeds(workspace, job)):
        if len(runs) < most and other.outline.verdict not in (None, Verdict.DIVERGED):
            runs.setdefault(other.outline.asked.seed, other)
    return list(runs.values())


def show_more_seeds(workspace: Workspace, job: Job, key: str) -> None:
    """Draw the button that starts a run again with the next seeds, and how many such runs are under way.

    `key`: of the button. A viewer has no button, nor has a run that no other seed would change, or whose start an older
      version did not save.
    """
    alike = list_seeds(workspace, job)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"{key}_row"):
        settings, prepared = job.outline.spec, job.prepared
        known = prepared.start is not None or not settings.start
        if known and depends_on_seed(settings, prepared.row) and not workspace.view_only:
            seeds = _next_seeds(job, alike)
            pressed = st.button(
                f"Run {MORE_SEEDS} more seeds",
                icon=":material/replay:",
                key=key,
                help=f"Starts this run again with the seeds {say.join_names(list(map(str, seeds)))}. Each seed starts "
                "elsewhere, so the runs show how much of the answer depends on the start.",
            )
            if pressed:
                _start_seeds(workspace, job, seeds)
        under_way = sum(other.outline.status.active for other in alike if other.id != job.id)
        if under_way:
            st.caption(f"{say.count(under_way, 'run')} with other seeds under way.", width="content")


def _next_seeds(job: Job, alike: list[Job]) -> list[int]:
    """Return the next seeds that no run has; a race takes a seed for each restart, and no start is in two races."""
    asked = job.outline.asked
    taken = {other.outline.asked.seed for other in alike}
    free = (seed for seed in count(asked.seed + asked.restarts, asked.restarts) if seed not in taken)
    return list(islice(free, MORE_SEEDS))


def _start_seeds(workspace: Workspace, job: Job, seeds: list[int]) -> None:
    prepared, asked = job.prepared, job.outline.asked
    try:
        for seed in seeds:
            workspace.add(rebuild_run(prepared.data, replace(asked, seed=seed).to_dict(), prepared.start))
    except AcvbError as error:
        st.error("The runs could not be started.", icon=":material/error:")
        st.text(str(error))
    else:
        st.rerun()
