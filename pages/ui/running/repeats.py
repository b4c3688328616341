"""Runs that would be repeated: the same data, settings and seed give the same result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from acvb_core.engine.job import Job
from acvb_core.registry import method_row
from pages.ui.shared import format as say
from pages.ui.shared.workspace import Workspace
from pages.ui.workspace.dataset import Dataset

if TYPE_CHECKING:
    from pages.ui.running.setup import Plan


def warn_of_repeats(workspace: Workspace, dataset: Dataset, plan: Plan) -> None:
    """Say which of the planned runs are there already; nothing where all are new."""
    names = [job.label.name for job in workspace.jobs if repeats_plan(job, dataset, plan)]
    if names:
        with st.container(key="repeats"):
            st.info(
                f"{say.join_names(names)} {'has' if len(names) == 1 else 'have'} the same settings and seed. Running "
                "them again gives the same result. Choose another first seed to see how much the start matters.",
                icon=":material/content_copy:",
            )


def repeats_plan(job: Job, dataset: Dataset, plan: Plan) -> bool:
    """Return whether a run that did not fail is one of those that are planned."""
    run = job.outline
    settings, seed, restarts = run.settings, run.asked.seed, run.asked.restarts
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
