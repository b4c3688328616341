"""The beginning of every page that shows a run's answer: its title, the choice of a run, and how it stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any

import pandas as pd
import streamlit as st

from acvb_core.engine.history import MOTION
from acvb_core.engine.job import Job
from acvb_core.engine.result import Result
from acvb_core.views.theme import isolate
from pages.ui.running.repeats import select_seeds, show_more_seeds
from pages.ui.shared import format as say
from pages.ui.shared.compared_runs import ComparedRuns, show_conclusion
from pages.ui.shared.empty import show_empty_answer
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.model_pages import AnswerPage
from pages.ui.shared.picking import Key, answer_key, choose_run
from pages.ui.shared.workspace import Workspace, current_workspace

#: Seeds that are summarised: each is read from the disk.
MOST_SEEDS = 8


def open_answer(
    page: AnswerPage, style: str = "", first: Mapping[str, Any] | None = None
) -> tuple[Job, Result]:
    """Draw the title and the choice of a run; end the script where there is none.

    Parameters
    ----------
    page : AnswerPage
    style : str
        Rules of style.
    first : mapping, optional
        Widgets and what they show first of another run.

    Returns
    -------
    tuple of Job and Result
        The run chosen, and its answer so far.
    """
    workspace = current_workspace()
    if style:
        st.html(style)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="answer_head"):
        st.title(page.title, anchor=False, width="content")
        picker = st.container()
    job, result, reason = choose_run(workspace, page, picker, show_empty_answer)
    with st.container(border=True, gap="xsmall", key="verdict"):
        if reason:
            st.text(reason)  # it quotes the name of the data
        if result.snapshot.verdict is not None:
            show_conclusion(ComparedRuns.gather([job]), border=False)
            show_seeds(workspace, job)
    shown = f"{PurePath(page.path).stem}_shown"
    if st.session_state.get(shown) != job.id:
        st.session_state[shown] = job.id
        st.session_state.update(first or {})
    return job, result


@contain_failure("part of the page")
def show_seeds(workspace: Workspace, job: Job) -> None:
    """Draw how far runs that differ from one in the seed alone agree, and the button that starts more of them."""
    jobs = select_seeds(workspace, job, MOST_SEEDS)
    if len(jobs) > 1:
        show_conclusion(ComparedRuns.gather(jobs), key="seeds", reference=0, border=False)
    show_more_seeds(workspace, job, key="more_seeds")


def measure_seeds(workspace: Workspace, job: Job, result: Result) -> dict[str, pd.DataFrame]:
    """Return how far the parts of a run depend on its seed (`Combination.spread`), over repeats from other seeds."""
    others = ComparedRuns.gather(select_seeds(workspace, job, MOST_SEEDS)[1:])
    return _measure_seeds((answer_key(job, result), *others.keys), (result, *others.results))


@st.cache_resource(show_spinner="Comparing the seeds", max_entries=16)
def _measure_seeds(keys: tuple[Key, ...], _results: tuple[Result, ...]) -> dict[str, pd.DataFrame]:
    model: Any = _results[0].prepared.model
    spread: dict[str, pd.DataFrame] = model.spread([result.snapshot.posterior for result in _results])
    return spread


def show_heading(job: Job, result: Result, parts: str) -> None:
    """Draw how a run stands and, in one line, its data, what it has found, and how far it is."""
    seen, last, data = job.inspect(), result.snapshot, result.prepared.data
    state = say.describe_state(seen.outline)
    progress = say.epochs(last.passes) if result.prepared.row.streams else say.count(last.sweep, "sweep")
    facts = [isolate(data.name), data.size_text, parts, progress]
    still = None if seen.snapshot is None else seen.snapshot.has_settled
    if still is not None:
        facts.insert(0, MOTION[still])
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="heading"):
        help = f"{state.meaning} {seen.reason}".strip()
        st.badge(state.text, icon=state.icon, color=state.colour, help=help)
        st.text(" · ".join(facts), width="content")


def show_parts(key: str, parts: Mapping[str, Callable[[], None]]) -> None:
    """Draw the choice of a part of the page, the first one at first, and that part; the others cost nothing."""
    names = list(parts)
    chosen = st.segmented_control(
        "Part of the page", names, default=names[0], required=True, key=key, label_visibility="collapsed"
    )
    with contain_failure("part of the page"):
        parts[chosen]()
