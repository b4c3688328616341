"""Runs that are compared: the conclusion about them, and the choice of two of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st

from acvb_core.engine.job import Job
from acvb_core.engine.result import Result
from acvb_core.views.conclusion import describe_runs
from pages.ui.shared import format as say
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.picking import Key, answer_key, read_answer

_HELP = (
    "A **cluster** is a group of objects that link alike. "
    "**ARI** (adjusted Rand index): how alike two clusterings are; 1: the same, 0: as by chance. With more "
    "than two runs it is the mean over all pairs. Runs *agree well* from 0.8, or if every run finds 80 % of the topics "
    "or features of the run that predicts best (on the page of a run: of this run); *in part* from 0.4. Scores are "
    "*level* within a hundredth of the best. Bounds are compared between runs that differ in the seed alone."
)


class ComparedRuns(NamedTuple):
    """The runs that the Compare page shows, in the same order in every field."""

    keys: tuple[Key, ...]
    jobs: list[Job]
    results: list[Result]
    labels: list[str]

    @classmethod
    def gather(cls, jobs: Sequence[Job]) -> ComparedRuns:
        """Return those of some runs that have an answer, each with that part of its name which is its own."""
        _, names = say.shorten_names(jobs)
        answers = [(job, result) for job in jobs if (result := read_answer(job)) is not None]
        return cls(
            tuple(answer_key(job, result) for job, result in answers),
            [job for job, _ in answers],
            [result for _, result in answers],
            [names[job.id] for job, _ in answers],
        )


@contain_failure("part of the page")
def show_conclusion(
    runs: ComparedRuns, key: str = "conclusion", reference: int | None = None, *, border: bool = True
) -> None:
    """Draw the summary of runs that have ended, in plain sentences; nothing if no sentence is true of them all.

    `reference`: as for `describe_runs`.
    """
    text = conclude(runs.keys, tuple(runs.labels), reference, runs.results)
    if text:
        with st.container(border=border, key=key):
            st.text(text, help=_HELP)  # it quotes the names of runs


@st.cache_resource(show_spinner=False, max_entries=32)
def conclude(
    keys: tuple[Key, ...], labels: tuple[str, ...], reference: int | None, _results: Sequence[Result]
) -> str:
    """Return the conclusion about some runs."""
    return describe_runs(_results, labels, reference)


def choose_pair(key: str, labels: Sequence[str]) -> tuple[int, int]:
    """Draw two select boxes and return the positions of the two runs chosen in them."""
    order = list(range(len(labels)))
    with st.container(horizontal=True, gap="medium", key=key):
        one, other = (
            st.selectbox(
                label, order, index=index, format_func=labels.__getitem__, key=f"{key}_{end}", width=300
            )
            for index, (label, end) in enumerate((("From", "one"), ("To", "other")))
        )
        return one, other
