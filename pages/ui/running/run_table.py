"""Runs as a table: its rows, their order, the grids among them, and the rows that the user selects."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

import pandas as pd
import streamlit as st

from acvb_core.engine.job import Job
from pages.ui.running.run_order import last_value
from pages.ui.shared import format as say
from pages.ui.shared.model_pages import pages_of_run

#: Runs that differ in size and seed alone are a grid from so many on.
FEWEST_IN_GRID = 3
ORDERS = ("Newest first", "Best score first", "Name", "Most CPU time first")
PINNED = "★"


class Grid(NamedTuple):
    """Runs with the same data and settings but for K and the seed."""

    name: str
    jobs: list[Job]


def held_out_score(job: Job) -> float:
    """Return the value by which runs on the same data are ranked, higher is better; NaN where there is none."""
    return last_value(job, f"heldout_{job.problem.model.score_type._fields[0]}")


def sort_runs(jobs: Sequence[Job], order: str) -> list[Job]:
    """Return runs in one of the `ORDERS`, the pinned ones first; a run without a score or time comes last."""

    def rank(job: Job) -> tuple[bool, float, str]:
        last, value = job.inspect().snapshot, -job.created
        if order == "Best score first":
            value = -held_out_score(job)
        elif order == "Most CPU time first":
            value = 0.0 if last is None else -last.cpu_seconds
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
            grids.append(Grid(f"{group[0].problem.row.label} · {say.count(len(sizes), 'value')} of K", group))
        else:
            alone += group
    order = {job.id: number for number, job in enumerate(jobs)}
    return sorted(alone, key=lambda job: order[job.id]), grids


def _sizes(job: Job) -> list[tuple[str, object]]:
    return [(name, value) for name, value in job.problem.settings.values.items() if name.split("_")[0] == "k"]


def _write_common_settings(job: Job) -> str:
    """Return the data and all settings but K and the seed as one text."""
    settings, sizes = job.problem.settings.to_dict(), dict(_sizes(job))
    values = {name: value for name, value in settings.pop("values").items() if name not in sizes}
    settings.pop("seed")
    return json.dumps([job.problem.fingerprint, settings, values], sort_keys=True, default=str)


def tabulate_runs(jobs: Sequence[Job], unsaved: Collection[str], *, data: bool = True) -> pd.DataFrame:
    """Return a line for each run; those that could not be saved say so."""
    rows = []
    for job in jobs:
        seen, label = job.inspect(), job.label
        last, pages = seen.snapshot, pages_of_run(job)
        heldout = None if last is None else last.heldout
        rows.append(
            {
                "Run": f"{PINNED} {label.name}" if label.pinned else label.name,
                **({"Data": job.problem.data.name} if data else {}),
                "Status": say.describe_state(job, seen).text + (", not saved" if job.id in unsaved else ""),
                "Result": "" if last is None else pages.write_parts(last.effective_k),
                "Held-out score": ""
                if heldout is None
                else f"{job.problem.model_row.display.score.name} {pages.write_score(heldout)}",
                "CPU time": "" if last is None else say.duration(last.cpu_seconds),
                "Started": say.ago(job.created),
                "Tags": ", ".join(label.tags),
                "Note": label.note,
            }
        )
    table = pd.DataFrame(rows)
    return table[[name for name in table if name not in ("Tags", "Note") or table[name].any()]]


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
    places = hashlib.sha256(" ".join(job.id for job in jobs).encode()).hexdigest()[:12]
    chosen = st.dataframe(
        tabulate_runs(jobs, unsaved, data=data), hide_index=True, key=f"{key}_{places}", on_select="rerun",
        selection_mode=mode, alt=f"Runs: {title}" if title else "Runs", height=38 + 35 * min(len(jobs), 12),
    )  # fmt: skip
    return [jobs[row] for row in chosen["selection"]["rows"] if row < len(jobs)]
