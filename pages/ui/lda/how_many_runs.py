"""Runs with several numbers of topics: which belong together, and their measures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from acvb_core.engine.job import Job
from acvb_core.engine.result import Result
from acvb_core.models.lda.grid import MODEL, grid_row, grid_table, settings_without_k
from acvb_core.registry import method_row
from pages.ui.shared import format as say
from pages.ui.shared.picking import Key, answer_key, list_runs, read_answer
from pages.ui.shared.workspace import Workspace
from pages.ui.workspace.dataset import Dataset


def find_jobs(workspace: Workspace, dataset: Dataset) -> list[Job]:
    """Return the runs that find topics in the data in use, oldest first."""
    wanted = dataset.data.fingerprint
    return [job for job in list_runs(workspace, MODEL) if job.outline.fingerprint == wanted]


def group_grids(jobs: Sequence[Job]) -> list[list[Job]]:
    """Return runs that differ in the number of topics and the seed alone, the newest grid first.

    One number of topics is no grid; a run that failed is in none.
    """
    grids: dict[Any, list[Job]] = {}
    for job in jobs:
        if job.outline.error is None:
            grids.setdefault(settings_without_k(job.outline.spec), []).append(job)
    several = [group for group in grids.values() if len({topic_number(job) for job in group}) > 1]
    return sorted(several, key=lambda group: -max(job.created for job in group))


def topic_number(job: Job) -> int:
    """Return the chosen number of topics of a run."""
    return int(job.outline.spec.values["k"])


def describe_grid(group: Sequence[Job]) -> str:
    """Return the label of a grid: method, numbers, what is held out, most sweeps."""
    settings = group[0].outline.spec
    numbers = sorted({topic_number(job) for job in group})
    shown = ", ".join(f"{k:,}" for k in numbers)
    whole = f"{say.percent(settings.heldout_documents)} of the documents held out"
    held = f"{say.percent(settings.heldout)} held out" if settings.heldout else "nothing held out"
    row = method_row(MODEL, settings.method)
    most = (
        say.epochs(settings.values["epochs"])
        if row.streams
        else f"at most {settings.values['max_sweeps']:,} sweeps"
    )
    return f"{row.label} · {shown} topics · {whole if settings.heldout_documents else held} · {most}"


def label_grids(groups: Iterable[Sequence[Job]]) -> dict[str, str]:
    """Return the label of each grid by the id of its first run; equal ones are numbered."""
    labels = {group[0].id: describe_grid(group) for group in groups}
    shared, counted = Counter(labels.values()), Counter[str]()
    for first, label in labels.items():
        counted[label] += 1
        if shared[label] > 1:
            labels[first] = f"{label} · no. {counted[label]}"
    return labels


def collect_finished(group: Iterable[Job]) -> list[tuple[Job, Result]]:
    """Return the runs that have ended, with their results."""
    ended = [(job, read_answer(job)) for job in group if job.outline.verdict is not None]
    return [(job, result) for job, result in ended if result is not None]


def collect_rows(group: Iterable[Job]) -> dict[str, dict[str, Any]]:
    """Return the measures of each run that has ended, a row of `Grid.table` by the id of the run."""
    return {job.id: _build_row(answer_key(job, result), result) for job, result in collect_finished(group)}


def build_table(group: Iterable[Job]) -> pd.DataFrame:
    """Return the measures of the runs that have ended, as `Grid.table` does."""
    return grid_table(collect_rows(group).values())


@st.cache_resource(show_spinner=False, max_entries=400)
def _build_row(key: Key, _result: Result) -> dict[str, Any]:
    return grid_row(_result)


def find_best_run(group: Iterable[Job], k: int) -> Job | None:
    """Return the run with a number of topics that predicts best: held-out words, or each word from all others."""

    def perplexity(pair: tuple[Job, Result]) -> float:
        last = pair[1].snapshot
        value = last.extras.get("loo_perplexity") if last.heldout is None else last.heldout.perplexity
        return float("inf") if value is None else float(value)

    fitting = [pair for pair in collect_finished(group) if topic_number(pair[0]) == k]
    return min(fitting, key=perplexity)[0] if fitting else None
