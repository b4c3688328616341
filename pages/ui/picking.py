"""What the pages of a run's answer share: which run, how it stands, its answer so far, and its files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import streamlit as st

from acvb_core.engine.job import Inspection, Job
from acvb_core.engine.problem import Problem
from acvb_core.engine.result import Result
from acvb_core.engine.snapshot import Snapshot
from acvb_core.engine.standing import Standing
from acvb_core.store import export
from pages.ui import format as say
from pages.ui.models import face_of
from pages.ui.workspace import Workspace

Choice = TypeVar("Choice", str, int)
#: What tells answers apart: the run, its sweep, and whether it goes on, and how far a race is.
Key = tuple[str, int, str]


class Offer(NamedTuple):
    """A file to take away.

    Attributes
    ----------
    label : str
        The program's own words.
    end : str
        Of the file's name, "topics.csv".
    kind : str
        Its MIME type.
    make : callable
        Returns the contents; called when the button is pressed.
    """

    label: str
    end: str
    kind: str
    make: Callable[[], str | bytes]


def jobs_of(workspace: Workspace, *models: str) -> list[Job]:
    """Return the runs of some models, oldest first."""
    return [job for job in workspace.jobs if job.problem.settings.model in models]


def answer(job: Job) -> Result | None:
    """Return a run's result, or its answer so far; None before its first sweep."""
    seen = job.inspect()
    if seen.snapshot is None or seen.snapshot.sweep == 0:
        return None
    return _answer(_key(job, seen.problem, seen.snapshot, seen.standing), seen)


@st.cache_resource(show_spinner=False, max_entries=24)
def _answer(key: Key, _seen: Inspection) -> Result:
    assert _seen.snapshot is not None
    return Result(_seen.problem, _seen.history, _seen.snapshot, _seen.max_sweeps, _seen.standing)


def key_of(job: Job, result: Result) -> Key:
    """Return what tells this answer from others of the same run."""
    return _key(job, result.problem, result.snapshot, result.standing)


def _key(job: Job, problem: Problem, snapshot: Snapshot, standing: Standing | None) -> Key:
    # While restarts race, the run changes with the lead, and its rivals go on while it waits.
    race = "" if standing is None else f" of seed {problem.settings.seed} after {standing.sweeps}"
    return job.id, snapshot.sweep, f"{snapshot.verdict}{race}"


def wait_for_answer(name: str) -> None:
    """Say that runs are under way, and nothing can be shown of them yet."""
    st.info("The first sweep is still under way.", icon=":material/hourglass_top:")
    if st.button("Refresh", icon=":material/refresh:", key=f"{name}_wait"):
        st.rerun()


def choose_one(
    label: str, options: Sequence[Choice], shown: Callable[[Choice], str], key: str, **more: Any
) -> Choice:
    """Draw a selectbox whose choice outlives a change of what the options are called, and return it.

    The browser knows an option by its text alone. When a run ends or a topic is renamed, what it sends is no option
    any more; so the choice is kept apart, and put back.

    Parameters
    ----------
    label : str
    options : sequence
        At least one; the first is chosen to begin with, and when the one chosen is gone.
    shown : callable
        The text of an option, shown as it is.
    key : str
        Of the widget; put an option there to choose it.
    **more
        For `st.selectbox`.
    """
    kept = f"{key}_kept"
    known = (st.session_state.get(key), st.session_state.get(kept), options[0])
    st.session_state[key] = next(choice for choice in known if choice in options)
    chosen: Choice = st.selectbox(label, options, format_func=shown, key=key, persist_state="session", **more)
    st.session_state[kept] = chosen
    return chosen


def pick(jobs: Sequence[Job], name: str) -> Job:
    """Draw the choice of a run, the newest first, and return the one chosen.

    Parameters
    ----------
    jobs : sequence of Job
        At least one.
    name : str
        The page's; keys of the widgets begin with it.
    """
    labels = say.run_labels(jobs)
    told = {job.id: _told(job) for job in jobs}
    order = [job.id for job in reversed(jobs)]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="picker"):
        chosen = choose_one(
            "Run", order, lambda job_id: f"{labels[job_id]} · {told[job_id]}", f"{name}_run", width=420
        )
        job = next(job for job in jobs if job.id == chosen)
        if job.inspect().status.active and st.button(
            "Refresh", icon=":material/refresh:", key=f"{name}_refresh"
        ):
            st.rerun()
    return job


def _told(job: Job) -> str:
    """Return what else tells a run from others: how much it found, and how it stands."""
    seen = job.inspect()
    found = "" if seen.snapshot is None else f"{face_of(job).found(seen.snapshot.effective_k)} "
    return f"{found}({say.state_of(job, seen).text})"


def heading(job: Job, *facts: str) -> None:
    """Draw how a run stands, and facts about it in one line (shown as they are)."""
    state = say.state_of(job, job.inspect())
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="heading"):
        st.badge(state.text, icon=state.icon, color=state.colour, help=state.meaning)
        st.text(" · ".join(facts), width="content")


def take_away(result: Result, offers: Sequence[Offer]) -> None:
    """Draw the buttons of a run's files, and the Python that repeats it."""
    st.subheader("Take it away", anchor=False)
    with st.container(horizontal=True, gap="small", key="files"):
        for offer in offers:
            download(result, offer)
    with st.expander("Repeat this run in Python", icon=":material/code:", key="snippet"):
        st.code(export.python_snippet(result), language="python")


def download(result: Result, offer: Offer) -> None:
    """Draw the button of one of a run's files."""
    data, settings = result.problem.data, result.problem.settings
    name = re.sub(r"[^\w-]+", "_", data.name).strip("_")[:40] or type(data).__name__.lower()
    st.download_button(
        offer.label, offer.make, f"{name}-{settings.method}-seed{settings.seed}-{offer.end}", offer.kind,
        key=f"file_{offer.end}", icon=":material/download:", on_click="ignore",
    )  # fmt: skip
