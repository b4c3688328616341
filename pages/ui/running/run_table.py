"""Runs as a table: rows, order, grids and selection; on the Run page live, with what can be done with the runs."""

from __future__ import annotations

import hashlib
import json
import logging
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import pandas as pd
import streamlit as st

from acvb_core.engine.executor import Status
from acvb_core.engine.history import MOTION, Verdict
from acvb_core.engine.job import Job, JobSnapshot
from acvb_core.engine.prepared import PreparedRun
from acvb_core.registry import model_for
from acvb_core.store.jobs import UnreadableRunError
from acvb_core.views.convergence import RunCurve
from pages.ui.shared import format as say
from pages.ui.shared.absent import once, try_action
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.model_pages import pages_of_model, pages_of_run
from pages.ui.shared.picking import open_run, read_answer
from pages.ui.shared.words import CHAIN_HELP
from pages.ui.shared.workspace import Workspace

#: Runs that differ in size and seed alone are a grid from so many on.
FEWEST_IN_GRID = 3
ORDERS = ("Newest first", "Best score first", "Name", "Most CPU time first")
PINNED = "★"
_COLUMNS = ("Run", "Data", "Status", "Result", "Held-out score", "CPU time", "Started", "Tags", "Note")
_LOG = logging.getLogger(__name__)


class Grid(NamedTuple):
    """Runs with the same data and settings but for K and the seed."""

    name: str
    jobs: list[Job]


def sort_runs(jobs: Sequence[Job], order: str) -> list[Job]:
    """Return runs in one of the `ORDERS`, the pinned ones first; a run without a score or time comes last."""

    def rank(job: Job) -> tuple[bool, float, str]:
        run, value = job.outline, -job.created
        if order == "Best score first":
            value = -run.score
        elif order == "Most CPU time first":
            value = -run.cpu_seconds
        elif order == "Name":
            value = 0.0
        name = job.label.name if order == "Name" else ""
        return not job.label.pinned, math.inf if math.isnan(value) else value, name

    return sorted(jobs, key=rank)


def fold_grids(jobs: Sequence[Job]) -> tuple[list[Job], list[Grid]]:
    """Return the runs that stand alone, and those that belong together because only K and the seed differ."""
    groups: dict[str, list[Job]] = {}
    for job in jobs:
        groups.setdefault(_write_common_settings(job), []).append(job)
    alone, grids = [], []
    for group in groups.values():
        sizes = {tuple(size for _, size in _sizes(job)) for job in group}
        if len(sizes) > 1 and len(group) >= FEWEST_IN_GRID:
            grids.append(Grid(f"{group[0].outline.row.label} · {say.count(len(sizes), 'value')} of K", group))
        else:
            alone += group
    order = {job.id: number for number, job in enumerate(jobs)}
    return sorted(alone, key=lambda job: order[job.id]), grids


def _sizes(job: Job) -> list[tuple[str, object]]:
    return [(name, value) for name, value in job.outline.spec.values.items() if name.split("_")[0] == "k"]


def _write_common_settings(job: Job) -> str:
    """Return the data and all settings but K and the seed as one text."""
    run, sizes = job.outline, dict(_sizes(job))
    settings = {name: value for name, value in vars(run.spec).items() if name not in ("seed", "values")}
    values = {name: value for name, value in run.spec.values.items() if name not in sizes}
    return json.dumps([run.fingerprint, settings, values], sort_keys=True, default=str)


def tabulate_runs(jobs: Sequence[Job], unsaved: Collection[str], *, data: bool = True) -> pd.DataFrame:
    """Return a line for each run; those that could not be saved say so, and one that cannot be shown keeps its line."""
    rows = []
    for job in jobs:
        try:
            row = _tabulate_run(job, job.id in unsaved)
        except UnreadableRunError:  # the page is drawn again, and says so of this run
            raise
        except Exception:
            _LOG.exception("A line of the table of runs could not be written.")
            row = dict.fromkeys(_COLUMNS, "") | {"Run": job.label.name, "Status": "cannot be shown"}
        rows.append(row)
    table = pd.DataFrame(rows, columns=[name for name in _COLUMNS if data or name != "Data"])
    return table[[name for name in table if name not in ("Tags", "Note") or table[name].any()]]


def _tabulate_run(job: Job, unsaved: bool) -> dict[str, str]:
    run, label = job.outline, job.label
    pages, score = pages_of_run(job), run.model_row.display.score
    known = run.heldout.get(score.field) is not None
    return {
        "Run": f"{PINNED} {label.name}" if label.pinned else label.name,
        "Data": run.data_name,
        "Status": say.describe_state(run).text + (", not saved" if unsaved else ""),
        "Result": "" if run.sweep is None else pages.write_parts(run.effective_k),
        "Held-out score": (f"{score.name} {score.write_with_baseline(run.heldout)}" if known else ""),
        "CPU time": "" if run.sweep is None else say.duration(run.cpu_seconds),
        "Started": say.ago(job.created),
        "Tags": ", ".join(label.tags),
        "Note": label.note,
    }


def key_of_rows(jobs: Sequence[Job]) -> str:
    """Return a key for a table of these runs: a selection of rows must not count for other runs in their places."""
    return hashlib.sha256(" ".join(job.id for job in jobs).encode()).hexdigest()[:12]


def select_runs(
    jobs: Sequence[Job],
    unsaved: Collection[str],
    key: str,
    *,
    mode: Literal["single-row", "multi-row"] = "multi-row",
    data: bool = True,
    title: str = "",
) -> list[Job]:
    """Draw runs as a table and return those whose rows are selected."""
    chosen = st.dataframe(
        tabulate_runs(jobs, unsaved, data=data), hide_index=True, key=f"{key}_{key_of_rows(jobs)}", on_select="rerun",
        selection_mode=mode, alt=f"Runs: {title}" if title else "Runs", height=38 + 35 * min(len(jobs), 12),
    )  # fmt: skip
    return [jobs[row] for row in chosen["selection"]["rows"] if row < len(jobs)]


#: Rows in sight without scrolling, so that the curves are in sight too; pixels of a row and of the headings.
_ROWS_IN_SIGHT, _ROW, _HEAD = 5, 28, 36
#: Points of the small curve of a run.
_POINTS = 40
#: Reasons of failed runs that are shown without a selection.
_MOST_REASONS = 3
#: Changes that the tolerance is compared with, while a run is going on and when it has converged.
_WATCHED = {"lower_bound": "bound moves by", "pseudo_loo": "score moves by"}
_JUDGES = {
    "lower_bound": "lower bound", "pseudo_loo": "leave-one-out score", "mean_change": "change of the mean",
}  # fmt: skip
_NO_START = "It started from trained topics that an older version did not save. Start a new run from them."
_LIVE_ORDER = (
    "Run",
    "Data",
    "Status",
    "Curve",
    "Progress",
    "Result",
    "Held-out score",
    "CPU time",
    "Speed",
    "Time left",
)
_LIVE_COLUMNS: dict[str, Any] = {
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
        alone = [line.jobs[0] for line in self.lines if not line.name]
        if not alone and self.lines:
            alone = self.lines[0].jobs
        moving = [
            job for job in alone if job.outline.status.active and job.outline.status is not Status.QUEUED
        ]
        return [*moving, *[job for job in alone if not job.outline.status.active][:most]]


def show_run_table(
    workspace: Workspace, rows: Rows, seen: Mapping[str, JobSnapshot], curves: Mapping[str, RunCurve]
) -> list[Job]:
    """Draw the table and return the runs that are selected in it."""
    jobs = [job for line in rows.lines for job in line.jobs]
    several_ways = any(
        pages_of_run(job).short_way != pages_of_model(model_for(seen[job.id].prepared.data).name).short_way
        for job in jobs
        if job.id in seen
    )
    unsaved = workspace.runs.unsaved_runs(workspace.key)
    lines = []
    for line in rows.lines:
        if line.name:
            lines.append(_tabulate_grid(line))
            continue
        job = line.jobs[0]
        listed, now = dict(tabulate_runs([job], unsaved).iloc[0]), seen.get(job.id)
        if several_ways:
            listed["Run"] += f" · {pages_of_run(job).short_way}"
        listed["Curve"] = _thin_curve(curves[job.id]) if job.id in curves else []
        listed["Progress"] = _describe_listed(job) if now is None else _describe(job, now)
        listed["Speed"] = "" if now is None else _describe_speed(now)
        listed["Time left"] = "" if now is None or not now.status.active else _write_time_left(now)
        lines.append(listed)
    table = pd.DataFrame(lines).fillna("")
    table = table[[name for name in _LIVE_ORDER if name in table]]
    if len({job.outline.fingerprint for job in jobs}) < 2:
        table = table.drop(columns="Data")
    table = table.loc[:, [name for name in table if name != "Time left" or table[name].any()]]
    chosen = st.dataframe(
        table, hide_index=True, key=f"runs_{key_of_rows(jobs)}", on_select="rerun", selection_mode="multi-row",
        alt="Runs", row_height=_ROW, height=_HEAD + _ROW * min(len(table), _ROWS_IN_SIGHT), column_config=_LIVE_COLUMNS,
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
    unit = "window" if run.row.streams else "sweep"
    return "" if run.sweep is None else f"{say.count(run.sweep, unit)} done"


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
    expected, most = seen.expected_seconds_left, seen.seconds_left  # read once: the run continues meanwhile
    if expected is not None:
        return say.rough_duration(expected)
    return "" if most is None else f"at most {say.duration(most)}"


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
    """Draw which runs are not saved, and why the newest and those that are chosen failed."""
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


def show_end(jobs: Sequence[Job]) -> None:
    """Draw of one run what it started from, the rule that ended it, and what its samples are worth."""
    if len(jobs) == 1 and jobs[0].outline.verdict is not None:
        with contain_failure("part of the page"), st.container(horizontal=True, gap="medium"):
            _show_end(jobs[0])


def _show_end(job: Job) -> None:
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
        text = "chain has not mixed: intervals may be too narrow"
        st.badge(text, icon=":material/warning:", color="orange", help=help)
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
