"""The table of the Run page, refreshed while runs move, and what can be done with the runs that are selected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st
from acvb_core.views.run_curve import RunCurve

from acvb_core.engine.executor import Status
from acvb_core.engine.history import MOTION, Verdict
from acvb_core.engine.job import Job, JobSnapshot
from acvb_core.engine.prepared import PreparedRun
from acvb_core.registry import model_for
from pages.ui.running.run_table import Grid, fold_grids, key_of_rows, tabulate_runs
from pages.ui.shared import format as say
from pages.ui.shared.absent import once, try_action
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.model_pages import pages_of_run
from pages.ui.shared.picking import open_run, read_answer
from pages.ui.shared.words import CHAIN_HELP
from pages.ui.shared.workspace import Workspace

#: Rows in sight without scrolling, so that the curves are in sight too; pixels of a row and of the headings.
_ROWS_IN_SIGHT, _ROW, _HEAD = 5, 28, 36
#: Points of the small curve of a run.
_POINTS = 40
#: Reasons of failed runs that are shown without a selection.
_MOST_REASONS = 3
#: Changes that the tolerance is compared with, while a run is going on and when it has converged.
_WATCHED = {"lower_bound": "bound moves by", "pseudo_loo": "score moves by"}
_JUDGES = {
    "lower_bound": "lower bound",
    "pseudo_loo": "leave-one-out score",
    "mean_change": "change of the mean",
}
_NO_START = "It started from trained topics that an older version did not save. Start a new run from them."
_COLUMNS: dict[str, Any] = {
    "Run": st.column_config.TextColumn(width=220),
    "Data": st.column_config.TextColumn(width=130),
    "Curve": st.column_config.LineChartColumn(
        width=110,
        help="The lower bound over the sweeps, without the first ones. Streams: leave-one-out perplexity.",
    ),
    "Progress": st.column_config.TextColumn(width=270),
    "Time left": st.column_config.TextColumn(help="Estimated from the last sweeps."),
}


class Rows(NamedTuple):
    """The lines of the table, newest first: a single run each, or a grid of runs."""

    lines: list[Grid]

    @classmethod
    def of(cls, jobs: Sequence[Job]) -> Rows:
        """Return the lines for some runs, oldest first."""
        alone, grids = fold_grids(jobs)
        order = {job.id: number for number, job in enumerate(jobs)}
        lines = [*(Grid("", [job]) for job in alone), *grids]
        return cls(sorted(lines, key=lambda line: -order[line.jobs[-1].id]))

    def choose_drawn(self, most: int) -> list[Job]:
        """Return the runs whose curves are drawn without a selection: those under way, and the newest others."""
        alone = [line.jobs[0] for line in self.lines if not line.name] or (
            self.lines[0].jobs if self.lines else []
        )
        started = [job for job in alone if job.outline.status is not Status.QUEUED]
        moving = [job for job in started if job.outline.status.active]
        return [*moving, *[job for job in started if not job.outline.status.active][:most]]


def show_run_table(
    workspace: Workspace,
    rows: Rows,
    seen: Mapping[str, JobSnapshot],
    curves: Mapping[str, RunCurve],
) -> list[Job]:
    """Draw the table and return the runs that are selected in it."""
    jobs = [job for line in rows.lines for job in line.jobs]
    several_ways = any(
        job.outline.spec.model != model_for(seen[job.id].prepared.data).name for job in jobs if job.id in seen
    )
    unsaved = workspace.runs.unsaved_runs(workspace.key)
    lines = []
    for line in rows.lines:
        if line.name:
            lines.append(_tabulate_grid(line))
            continue
        job = line.jobs[0]
        listed = tabulate_runs([job], unsaved).iloc[0]
        way = f" · {pages_of_run(job).short_way}" if several_ways else ""
        now = seen.get(job.id)
        lines.append(
            {
                "Run": f"{listed['Run']}{way}",
                "Data": listed["Data"],
                "Status": listed["Status"],
                "Curve": _thin_curve(curves[job.id]) if job.id in curves else [],
                "Progress": _describe_listed(job) if now is None else _describe(job, now),
                "Result": listed["Result"],
                "Held-out score": listed["Held-out score"],
                "CPU time": listed["CPU time"],
                "Speed": "" if now is None else _describe_speed(now),
                "Time left": "" if now is None or not now.status.active else _write_time_left(now),
            }
        )
    table = pd.DataFrame(lines).fillna("")
    if len({job.outline.fingerprint for job in jobs}) < 2:
        table = table.drop(columns="Data")
    table = table.loc[:, [name for name in table if name != "Time left" or table[name].any()]]
    chosen = st.dataframe(
        table, hide_index=True, key=f"runs_{key_of_rows(jobs)}", on_select="rerun", selection_mode="multi-row",
        alt="Runs", row_height=_ROW, height=_HEAD + _ROW * min(len(table), _ROWS_IN_SIGHT), column_config=_COLUMNS,
    )  # fmt: skip
    lines_chosen = [rows.lines[at] for at in chosen["selection"]["rows"] if at < len(rows.lines)]
    return [job for line in lines_chosen for job in line.jobs]


def _tabulate_grid(grid: Grid) -> dict[str, Any]:
    ended = [job for job in grid.jobs if not job.outline.status.active]
    cpu = sum(job.outline.cpu_seconds for job in grid.jobs)
    return {
        "Run": grid.name,
        "Data": grid.jobs[0].outline.data_name,
        "Status": "ended" if len(ended) == len(grid.jobs) else "running",
        "Curve": [],
        "Progress": f"{len(ended):,} of {say.count(len(grid.jobs), 'run')} ended",
        "CPU time": say.duration(cpu),
    }


def _thin_curve(curve: RunCurve) -> list[float]:
    """Return some values of the curve that shows how a run went; the first tenth, far below the rest, is left out."""
    values = pd.Series(curve.column("loo_perplexity" if curve.streams else "lower_bound")).dropna()
    values = values.iloc[len(values) // 10 :]
    return [float(value) for value in values.iloc[:: max(1, len(values) // _POINTS)]]


def _describe_listed(job: Job) -> str:
    """Return how far a run is that was not read from the disk."""
    run = job.outline
    if run.status is Status.QUEUED:
        return say.describe_wait(job)
    return (
        "" if run.sweep is None else f"{say.count(run.sweep, 'window' if run.row.streams else 'sweep')} done"
    )


def _describe(job: Job, seen: JobSnapshot) -> str:
    """Return how far a run is, or how it ended: of a stream in epochs, as a window is a small part of one."""
    done = 0 if seen.snapshot is None else seen.snapshot.sweep
    passes = 0.0 if seen.snapshot is None else seen.snapshot.passes
    streams = seen.prepared.row.streams
    if not seen.status.active:
        text = f"{say.count(done, 'sweep')} done"
        if streams:
            text = f"{say.epochs(passes)} done ({say.count(done, 'window')})"
        still = None if seen.snapshot is None else seen.snapshot.has_settled
        return text if still is None else f"{text}, {MOTION[still]}"
    if seen.status is Status.QUEUED:
        return say.describe_wait(job)
    if streams:
        limit = say.epochs(_count_epochs(seen.prepared, seen.max_sweeps))
        return f"{passes:,.2f} of {'at most ' if seen.prepared.row.averaged else ''}{limit}"
    if seen.status is Status.COMPILING:
        return "Compiling: takes seconds, only once"
    if seen.status is Status.STARTING:
        return "Finding a start"
    change, goal = seen.watched_change, seen.prepared.spec.values.get("tol")
    if change is None or goal is None:
        return f"{done:,} of {seen.max_sweeps:,} sweeps"
    watched = _WATCHED.get(seen.prepared.row.monitored or "", "change")
    return f"{say.count(done, 'sweep')}, {watched} {change:.1g} (goal {goal:g})"


def _count_epochs(prepared: PreparedRun, windows: int) -> float:
    """Return how often all documents are read in so many windows."""
    return windows / prepared.count_sweeps(1.0)


def _describe_speed(seen: JobSnapshot) -> str:
    """Return sweeps per second; of a stream, documents per second without the time for diagnostics."""
    last = seen.snapshot
    if last is None:
        return ""
    if not seen.prepared.row.streams:
        return say.rate(seen.sweeps_per_second)
    seconds = last.wall_seconds - last.diagnostics_seconds
    documents = last.passes * seen.prepared.train.n_documents
    return say.documents_rate(documents / seconds if seconds > 0 else None)


def _write_time_left(seen: JobSnapshot) -> str:
    """Return about how long a run will take; if that is unknown, how long at most."""
    if seen.expected_seconds_left is not None:
        return say.rough_duration(seen.expected_seconds_left)
    return "" if seen.seconds_left is None else f"at most {say.duration(seen.seconds_left)}"


class _Action(NamedTuple):
    """A button for the selected runs, and those of them that it is for."""

    name: str
    label: str
    icon: str
    do: Callable[[Job], object]
    jobs: list[Job]
    help: str


def show_actions(workspace: Workspace, jobs: Sequence[Job]) -> None:
    """Draw the buttons for some runs, in places that never move: open, hold, stop, continue, delete."""
    named = jobs[0].id if len(jobs) == 1 else "selected"
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="run_actions"):
        name = jobs[0].label.name if len(jobs) == 1 else f"{len(jobs):,} runs"
        st.text(name, width="content", help="Select rows of the table for other runs.")
        pages = pages_of_run(jobs[0])
        if st.button(
            "Open", icon=pages.answer_icon, key=f"open_{named}", type="tertiary",
            help=f"{pages.answer.link_label} of this run",
            disabled=len(jobs) != 1 or not jobs[0].outline.has_answer,
        ):  # fmt: skip
            open_run(jobs[0])
        for action in [] if workspace.view_only else _list_actions(workspace, jobs):
            st.button(
                action.label, icon=f":material/{action.icon}:", key=f"{action.name}_{named}", type="tertiary",
                help=action.help, on_click=once(_act), args=(action,), disabled=not action.jobs,
            )  # fmt: skip


def _act(action: _Action) -> None:
    for job in action.jobs:
        try_action(action.do, job)


def _list_actions(workspace: Workspace, jobs: Sequence[Job]) -> list[_Action]:
    active = [job for job in jobs if job.outline.status.active]
    paused = [job for job in active if job.outline.status is Status.PAUSED]
    interrupted = [job for job in jobs if job.outline.status is Status.INTERRUPTED]
    can_continue = [job for job in interrupted if job.can_continue]
    if paused:
        first = _Action("resume", "Resume", "play_arrow", lambda job: job.resume(), paused, "Resume")
    elif interrupted:
        why = "Continue from where it was last saved" if can_continue else _NO_START
        first = _Action(
            "continue", "Continue", "play_arrow", lambda job: job.continue_run(), can_continue, why
        )
    else:
        first = _Action("pause", "Pause", "pause", lambda job: job.pause(), active, "Pause")
    longer = [job for job in jobs if job.outline.verdict is not None and job.can_extend]
    why = "Continue for as many sweeps again as were allowed"
    if len(jobs) == 1:
        why = _describe_extension(jobs[0].prepared) if longer else _explain_end(jobs[0])
    delete = "Stop and delete; you can undo it" if active else "Delete; you can undo it"
    return [
        first,
        _Action("stop", "Stop", "stop", lambda job: job.stop(), active, "Stop and keep the answer so far"),
        _Action(
            "extend", "Run longer", "more_time", lambda job: job.extend(job.prepared.max_sweeps), longer, why
        ),
        _Action(
            "remove", "Delete", "delete", lambda job: workspace.runs.remove(workspace.key, job.id), [*jobs],
            delete,
        ),
    ]  # fmt: skip


def _describe_extension(prepared: PreparedRun) -> str:
    more, limit = prepared.max_sweeps, "" if prepared.row.streams and not prepared.row.averaged else "up to "
    if prepared.row.streams:
        return f"Continue for {limit}{say.epochs(_count_epochs(prepared, more)).replace(' ', ' more ', 1)}"
    return f"Continue for {limit}{more:,} more sweeps"


def _explain_end(job: Job) -> str:
    run = job.outline
    if run.status.active or run.status is Status.INTERRUPTED:
        return "A run can continue for longer once it has ended or was stopped"
    if run.verdict in (Verdict.MAX_SWEEPS, Verdict.STOPPED):
        instead = "Start a new run from its topics" if run.row.streams else "Start it again with more sweeps"
        return f"From an earlier session, saved without its state. {instead}"
    return "Only a run that was stopped or reached its limit can continue"


def show_remarks(workspace: Workspace, jobs: Sequence[Job], chosen: Sequence[Job]) -> None:
    """Draw which runs are not saved, why the newest failed, and how one that is chosen ended and how sure it is."""
    unsaved = workspace.runs.unsaved_runs(workspace.key)
    for job in jobs:
        if job.id in unsaved and not job.outline.status.active:
            _show_unsaved(workspace, job, unsaved[job.id])
    failed: list[Job] = []
    for job in reversed(jobs):  # those that failed last
        if job.outline.error is None:
            break
        failed.append(job)
    failed += [job for job in chosen if job.outline.error is not None and job not in failed]
    reasons = dict.fromkeys(job.outline.error for job in failed)
    for reason in [*reasons][:_MOST_REASONS]:
        st.text(str(reason))
    if len(chosen) == 1 and chosen[0].outline.verdict is not None:
        with contain_failure("part of the page"), st.container(horizontal=True, gap="medium"):
            _show_end(chosen[0])


def _show_end(job: Job) -> None:
    """Draw what a run started from, the rule that ended it, and what its samples are worth."""
    if job.outline.spec.start:
        st.text(f"continued from {job.outline.spec.start}", width="content")
    if (result := read_answer(job)) is None:
        return
    if reason := job.inspect().reason:
        st.caption(f"Rule: {_JUDGES[job.outline.row.monitored or '']}", help=reason, width="content")
    if (chain := result.chain) is None:
        return
    help = f"{chain.describe()} {CHAIN_HELP}"
    if chain.has_mixed is False:
        st.badge("chain has not mixed", icon=":material/warning:", color="orange", help=help)
    else:
        independent = f", {chain.effective_size:,.0f} independent" if chain.has_mixed else ""
        st.caption(f"{say.count(chain.n_samples, 'sample')}{independent}", help=help, width="content")


def _show_unsaved(workspace: Workspace, job: Job, why: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"unsaved_{job.id}"):
        st.badge(
            "not saved", icon=":material/error:", color="red",
            help="It is gone when the app ends. Until then you can look at it and download it.",
        )  # fmt: skip
        st.text(f"{job.label.name}: {why}", width="content")
        st.button(
            "Save again", icon=":material/save:", key=f"save_{job.id}", on_click=try_action,
            args=(workspace.runs.save_again, workspace.key, job.id),
        )  # fmt: skip
