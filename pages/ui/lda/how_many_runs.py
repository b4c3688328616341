"""Runs over several numbers of topics: which belong together, how far they are, what they say."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from acvb_core.core.errors import ParameterError
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk_corpus import DiskCorpus
from acvb_core.engine.job import Job
from acvb_core.engine.result import Result
from acvb_core.models.lda.grid import MODEL, build_grid_problems, grid_row, grid_table, settings_without_k
from acvb_core.registry import method_row, model_row
from pages.ui.shared import format as say
from pages.ui.shared.picking import Key, answer_key, list_runs, read_answer
from pages.ui.shared.services import executor
from pages.ui.shared.workspace import Dataset, Workspace

#: Numbers of topics that are tried unless others are given.
USUAL = (5, 10, 20, 40, 80)
USUAL_SWEEPS = 300


@dataclass(frozen=True)
class GridPlan:
    """Runs that were asked for.

    Attributes
    ----------
    method : str
    ks : tuple of int
    seeds : int
    max_sweeps : int
        Of a method that streams, nothing.
    epochs : float
        Of a method that streams.
    check_memory : bool
        A run does not start where it needs more memory than is free.
    """

    method: str
    ks: tuple[int, ...]
    seeds: int
    max_sweeps: int
    epochs: float = 1.0
    check_memory: bool = True

    @property
    def length(self) -> dict[str, float]:
        """How long a run is, as a setting of the method."""
        streams = method_row(MODEL, self.method).streams
        return {"epochs": self.epochs} if streams else {"max_sweeps": self.max_sweeps}

    @property
    def n_runs(self) -> int:
        """How many runs these are."""
        return len(self.ks) * self.seeds

    def memory_bytes(self, corpus: Corpus | DiskCorpus) -> int:
        """Peak memory of the runs that go on at the same time, beyond the data."""
        row = method_row(MODEL, self.method)
        each = [
            model_row(MODEL).memory(corpus, self.method, row.values({"k": k, **self.length}))
            for k in self.ks
            for _ in range(self.seeds)
        ]
        return sum(sorted(each, reverse=True)[: executor().limit])


def max_topics(corpus: Corpus | DiskCorpus) -> int:
    """Return the largest number of topics that makes sense: no more than there are documents, or words."""
    return min(corpus.shape)


def propose_numbers(corpus: Corpus | DiskCorpus) -> tuple[int, ...]:
    """Return the numbers of topics that are tried unless others are given; at least two where there can be."""
    most = max_topics(corpus)
    fitting = tuple(k for k in USUAL if k <= most)
    return fitting if len(fitting) > 1 else tuple(sorted({min(2, most), most}))


def parse_numbers(text: str, most: int) -> tuple[int, ...]:
    """Return the numbers of topics in a text, "5, 10 20".

    Raises
    ------
    ParameterError
        Something in it is no whole number from 1 to `most`, or there are fewer than two.
    """
    numbers = set()
    for part in re.split(r"[\s,;]+", text.strip()):
        if not part:
            continue
        if not re.fullmatch(r"[0-9]{1,9}", part):
            raise ParameterError(
                f"{part[:40]!r} is no whole number. Give numbers with commas between: 5, 10, 20."
            )
        if not 1 <= int(part) <= most:
            raise ParameterError(f"{int(part):,} topics cannot be tried here: from 1 to {most:,} can.")
        numbers.add(int(part))
    if len(numbers) < 2:
        raise ParameterError(
            "Give at least two numbers, so that there is something to choose from: 5, 10, 20."
        )
    return tuple(sorted(numbers))


def start_runs(workspace: Workspace, dataset: Dataset, plan: GridPlan) -> int:
    """Start the runs of a plan that are not there yet; return how many these are."""
    there = {_identity(job) for job in find_jobs(workspace, dataset)}
    begun = 0
    problems = build_grid_problems(
        dataset.data, plan.ks, plan.method, plan.seeds, check_memory=plan.check_memory,
        **{"heldout": 0.0, **dataset.split}, **plan.length,
    )  # fmt: skip
    for problem in problems:
        if (
            settings_without_k(problem.settings),
            problem.settings.values["k"],
            problem.settings.seed,
        ) not in there:
            workspace.add(problem)
            begun += 1
    return begun


def _identity(job: Job) -> tuple[Any, ...]:
    settings = job.problem.settings
    return settings_without_k(settings), settings.values["k"], settings.seed


def find_jobs(workspace: Workspace, dataset: Dataset) -> list[Job]:
    """Return the runs that find topics in the data in use, oldest first."""
    wanted = dataset.data.fingerprint
    return [job for job in list_runs(workspace, MODEL) if job.problem.fingerprint == wanted]


def group_grids(jobs: Sequence[Job]) -> list[list[Job]]:
    """Return runs that differ in the number of topics and the seed alone, the newest grid first.

    One number of topics is no grid; a run that failed is in none.
    """
    found: dict[Any, list[Job]] = {}
    for job in jobs:
        if job.inspect().error is None:
            found.setdefault(settings_without_k(job.problem.settings), []).append(job)
    several = [group for group in found.values() if len({topic_number(job) for job in group}) > 1]
    return sorted(several, key=lambda group: -max(job.created for job in group))


def topic_number(job: Job) -> int:
    """Return the number of topics that a run was told."""
    return int(job.problem.settings.values["k"])


def describe_grid(group: Sequence[Job]) -> str:
    """Return what a grid is called: method, numbers, what is held out, most sweeps."""
    settings = group[0].problem.settings
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
    """Return the label of each grid by the id of its first run; those that would read the same are numbered."""
    labels = {group[0].id: describe_grid(group) for group in groups}
    shared, counted = Counter(labels.values()), Counter[str]()
    for first, label in labels.items():
        counted[label] += 1
        if shared[label] > 1:
            labels[first] = f"{label} · no. {counted[label]}"
    return labels


def collect_finished(group: Iterable[Job]) -> list[tuple[Job, Result]]:
    """Return the runs that have ended, with their results."""
    ended = [(job, read_answer(job)) for job in group if job.inspect().verdict is not None]
    return [(job, result) for job, result in ended if result is not None]


def collect_rows(group: Iterable[Job]) -> dict[str, dict[str, Any]]:
    """Return what each run that has ended says, a row of `Grid.table` by the id of the run."""
    return {job.id: _build_row(answer_key(job, result), result) for job, result in collect_finished(group)}


def build_table(group: Iterable[Job]) -> pd.DataFrame:
    """Return what the runs that have ended say, as `Grid.table` does."""
    return grid_table(collect_rows(group).values())


@st.cache_resource(show_spinner=False, max_entries=400)
def _build_row(key: Key, _result: Result) -> dict[str, Any]:
    return grid_row(_result)


def find_best_run(group: Iterable[Job], k: int) -> Job | None:
    """Return the run with a number of topics that predicts best: held-out words, or each word from all others."""

    def perplexity(pair: tuple[Job, Result]) -> float:
        last = pair[1].snapshot
        found = last.extras.get("loo_perplexity") if last.heldout is None else last.heldout.perplexity
        return float("inf") if found is None else float(found)

    fitting = [pair for pair in collect_finished(group) if topic_number(pair[0]) == k]
    return min(fitting, key=perplexity)[0] if fitting else None
