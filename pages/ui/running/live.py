"""The live part of the Run page: the table of runs and their curves, refreshed while anything moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from acvb_core.engine.history import RACE_CRITERIA
from acvb_core.engine.job import Job, JobSnapshot
from acvb_core.engine.run import Schedule
from acvb_core.registry import methods_of
from acvb_core.views.convergence import live_figure
from acvb_core.views.overlaps import find_overlaps
from acvb_core.views.panels import XAxis
from acvb_core.views.run_curve import RunCurve
from pages.ui.running.live_plot import live_plot
from pages.ui.running.run_list import Rows, show_actions, show_remarks, show_run_table
from pages.ui.shared import format as say
from pages.ui.shared.absent import show_deleted_runs
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.model_pages import group_by_model
from pages.ui.shared.refresh import refresh
from pages.ui.shared.sidebar import count_moving_jobs
from pages.ui.shared.workspace import Workspace

REFRESH_SECONDS = 0.5
#: Runs that have ended and whose curves are drawn without being selected.
MOST_CURVES = 12
#: Overlaps of curves that are put into words.
MOST_OVERLAPS = 3
AXES: dict[XAxis, str] = {"sweep": "Against sweeps", "cpu_seconds": "Against CPU seconds"}
#: … where some runs stream.
STREAM_AXES: dict[XAxis, str] = {
    "passes": "Against epochs",
    "documents_seen": "Against documents",
    "cpu_seconds": "Against CPU seconds",
    "sweep": "Against windows",
}


def select_jobs(workspace: Workspace, every: bool) -> list[Job]:
    """Return the runs to show: those on the data in use, or all of them where asked for or there is no data."""
    jobs, dataset = workspace.jobs, workspace.dataset
    if every or dataset is None:
        return jobs
    wanted = dataset.data.fingerprint
    return [job for job in jobs if job.outline.fingerprint == wanted]


def show_live_runs(workspace: Workspace, *, every: bool) -> None:
    """Draw the table of the runs and their curves, and keep both fresh while a run moves."""
    busy = count_moving_jobs(workspace)["run"] > 0
    drawn = [job.id for job in select_jobs(workspace, every)]

    def panels() -> None:
        now_busy = count_moving_jobs(workspace)["run"] > 0
        jobs = select_jobs(workspace, every)
        if now_busy != busy or [job.id for job in jobs] != drawn:
            st.rerun()  # begin or end the refreshing, or have the rest of the page know what was deleted or added
        show_deleted_runs(workspace)
        rows = Rows.of(jobs)
        shown = rows.choose_drawn(MOST_CURVES)
        labels = say.label_runs(jobs)
        curves = {curve.id: curve for curve in build_curves(shown, labels)}
        chosen = show_run_table(workspace, rows, {job.id: job.inspect() for job in shown}, curves)
        ids = {job.id for job in (*shown, *chosen)}
        shown = [job for job in jobs if job.id in ids]
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key="run_bar"):
            with contain_failure("row of buttons"):
                show_actions(workspace, chosen or rows.lines[0].jobs)
            # In here, so that switching redraws the panels and not the page around them.
            x = choose_axis("x_axis", shown)
        show_remarks(workspace, jobs, chosen or rows.lines[0].jobs)
        show_races(shown)
        lifted = [job.id for job in chosen]
        draw_curves(
            shown, labels, x, key="curves", of=workspace.id, first=model_in_use(workspace), lifted=lifted
        )

    refresh(panels, REFRESH_SECONDS if busy else None)


@contain_failure("part of the page")
def show_races(jobs: Sequence[Job]) -> None:
    """Draw a line for each run of several restarts: how they stand, or how it went."""
    labels = say.label_runs(jobs)
    lines = [f"**{labels[job.id]}**: {text}" for job in jobs if (text := describe_race(job.inspect()))]
    if lines:
        st.caption("  \n".join(lines))


def describe_race(seen: JobSnapshot) -> str:
    """Return how the restarts of a run stand, in words; "" where it has none."""
    race_report, starts = seen.race_report, seen.prepared.spec.restarts
    if race_report is None:
        by = RACE_CRITERIA[seen.prepared.model_row.raced_by]
        return "" if starts == 1 else f"{starts:,} starts will race by the {by}."
    by = RACE_CRITERIA[race_report.judged_by]
    sizes = " → ".join(f"{size:,}" for size in race_report.sizes)
    seed = f"seed {race_report.leader}"
    if race_report.rung is not None:
        return (
            f"racing by the {by}: {sizes} → …, leader {seed}; seed {race_report.running} is on its way to "
            f"{race_report.rung:,} sweeps."
        )
    total = race_report if seen.snapshot is None else race_report.with_leader(seen.snapshot)
    cost = f"{say.count(total.sweeps, 'sweep')} and {say.duration(total.cpu_seconds)} of CPU in all"
    if not race_report.is_decided:
        return (
            f"the race of {race_report.restarts:,} starts was stopped; {seed}, then ahead, was kept. {cost}."
        )
    won = f"{seed} won the race of {race_report.restarts:,} starts by the {by} ({sizes}), {cost}."
    return f"{won} {race_report.caution}".rstrip()


def model_in_use(workspace: Workspace) -> str | None:
    """Return the model of the data in use, None without data."""
    dataset = workspace.dataset
    return None if dataset is None else dataset.model


def choose_axis(key: str, jobs: Sequence[Job]) -> XAxis:
    """Draw the choice of what curves are drawn against; CPU time by default where sweeps of different kinds meet."""
    streams = [job.prepared.row.streams for job in jobs]
    axes = dict(STREAM_AXES if any(streams) else AXES)
    if any(streams) and not all(streams):
        axes["sweep"] = "Against sweeps, windows"
    key = f"{key}_stream" if any(streams) else key
    comparable = have_like_sweeps(jobs)
    return st.segmented_control(
        "Curves against",
        list(axes),
        format_func=axes.__getitem__,
        default=next(iter(axes)) if comparable else "cpu_seconds",
        required=True,
        key=key if comparable else f"{key}_time",
        label_visibility="collapsed",
        persist_state="session",
    )


def have_like_sweeps(jobs: Sequence[Job]) -> bool:
    """Return whether the runs of each model sweep alike: no samplers or streams beside others."""
    kinds = {(job.prepared.row.model, job.prepared.row.sampled, job.prepared.row.streams) for job in jobs}
    return len(kinds) == len({model for model, *_ in kinds})


def draw_curves(
    jobs: Sequence[Job],
    labels: Mapping[str, str],
    x: XAxis,
    *,
    key: str,
    of: str,
    first: str | None = None,
    lifted: Sequence[str] = (),
) -> None:
    """Draw the curves of some runs, those of each model in a figure of their own.

    Parameters
    ----------
    jobs : sequence of Job
    labels : mapping of str to str
        Their names by id.
    x : XAxis
        Of models without streaming methods, sweeps in place of documents and epochs.
    key : str
        Of the first figure.
    of : str
        What is shown: as long as it is the same, what the user zoomed stays.
    first : str, optional
        Model whose runs come first.
    lifted : sequence of str
        Ids of runs that stand out: the curves of the others are paler.
    """
    for number, (model, some) in enumerate(group_by_model(jobs, first).items()):
        streams = any(method.streams for method in methods_of(model))
        own = x if streams or x == "cpu_seconds" else "sweep"
        with contain_failure():
            curves = build_curves(some, labels)
            figure = live_figure(curves, x=own, uirevision=f"{of}-{model}-{own}")
            live_plot(figure, key=key if number == 0 else f"{key}_{model}", lifted=lifted)
            for overlap in find_overlaps(curves)[:MOST_OVERLAPS]:
                st.caption(overlap.describe())


def build_curves(jobs: Sequence[Job], labels: Mapping[str, str]) -> list[RunCurve]:
    """Return what the figure needs of each run."""
    return [
        RunCurve(
            id=job.id,
            label=labels[job.id],
            method=job.prepared.row.name,
            seed=job.prepared.spec.seed,
            history=job.history,
            tolerance=job.prepared.spec.values.get("tol"),
            heldout=job.prepared.heldout is not None,
            model=job.prepared.spec.model,
            learns=_learns(job.prepared.spec.values),
            streams=job.prepared.row.streams,
            n_documents=getattr(job.prepared.train, "n_documents", None),
            n_tokens=getattr(job.prepared.train, "n_tokens", None),
            completion=job.prepared.spec.heldout_documents > 0,
            unit=job.prepared.bound_unit,
            first_score=None if job.prepared.heldout is None else Schedule.for_run(job.prepared).heldout,
        )
        for job in jobs
    ]


def _learns(values: Mapping[str, Any]) -> bool:
    """Return whether a run learns its concentrations."""
    return values.get("hyper") != "fixed" and values.get("prior") != "symmetric"
