"""The live part of the Run page: cards and curves, refreshed while anything moves."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from acvb_core.engine.job import Job
from acvb_core.views.convergence import RunCurve, XAxis, live_figure
from pages.ui import format as say
from pages.ui.cards import cards
from pages.ui.live_plot import live_plot
from pages.ui.sidebar import moving
from pages.ui.workspace import Workspace

REFRESH_SECONDS = 0.5
AXES: dict[XAxis, str] = {"sweep": "Against sweeps", "cpu_seconds": "Against CPU seconds"}


def shown_jobs(workspace: Workspace, every: bool) -> list[Job]:
    """Return the runs to show: those on the data in use, or all of them where asked for or there is no data."""
    jobs, dataset = workspace.jobs, workspace.dataset
    if every or dataset is None:
        return jobs
    wanted = dataset.data.fingerprint
    return [job for job in jobs if job.problem.data.fingerprint == wanted]


def live(workspace: Workspace, *, every: bool) -> None:
    """Draw cards and curves, and keep them fresh while a run moves."""
    busy = moving(workspace) > 0

    @st.fragment(run_every=REFRESH_SECONDS if busy else None)
    def panels() -> None:
        now_busy = moving(workspace) > 0
        jobs = shown_jobs(workspace, every)
        if now_busy != busy or not jobs:
            st.rerun()  # begin or end the refreshing, or show the page as it is without runs
        cards(workspace, jobs, {job.id: job.inspect() for job in jobs})
        # In here, so that switching redraws the panels and not the page around them.
        x = choose_axis()
        figure = live_figure(curves(jobs), x=x, uirevision=f"{workspace.id}-{x}")
        live_plot(figure, key="curves", height=int(figure["layout"].get("height", 620)))

    panels()


def choose_axis() -> XAxis:
    """Draw the choice of what the curves are drawn against."""
    return st.segmented_control(
        "Curves against",
        list(AXES),
        format_func=AXES.get,
        default="sweep",
        required=True,
        key="x_axis",
        label_visibility="collapsed",
        persist_state="session",
    )


def curves(jobs: Sequence[Job]) -> list[RunCurve]:
    """Return what the figure needs of each run."""
    labels = say.run_labels(jobs)
    return [
        RunCurve(
            id=job.id,
            label=labels[job.id],
            method=job.problem.row.name,
            seed=job.problem.settings.seed,
            history=job.history,
            tolerance=job.problem.settings.values.get("tol"),
            heldout=job.problem.heldout is not None,
        )
        for job in jobs
    ]
