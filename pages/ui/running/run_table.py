"""Runs as a table: its rows, their order, the grids among them, and the rows that the user selects."""

from __future__ import annotations

import hashlib
import json
import logging
import math
from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

import pandas as pd
import streamlit as st

from acvb_core.engine.job import Job
from acvb_core.store.jobs import UnreadableRunError
from pages.ui.shared import format as say
from pages.ui.shared.model_pages import pages_of_run

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
    """Draw runs as a table and return those whose rows are selected.

    A selection is of rows, so that it ends when other runs take their places.
    """
    chosen = st.dataframe(
        tabulate_runs(jobs, unsaved, data=data), hide_index=True, key=f"{key}_{key_of_rows(jobs)}", on_select="rerun",
        selection_mode=mode, alt=f"Runs: {title}" if title else "Runs", height=38 + 35 * min(len(jobs), 12),
    )  # fmt: skip
    return [jobs[row] for row in chosen["selection"]["rows"] if row < len(jobs)]
