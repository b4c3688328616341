"""The sidebar of every page: the data in use, and what computes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import streamlit as st

from acvb_core.engine.executor import BackgroundTask, Status
from acvb_core.store.files import explain_error
from pages.ui.shared import format as say
from pages.ui.shared import services
from pages.ui.shared.picking import PAGE_DATA
from pages.ui.shared.refresh import refresh
from pages.ui.shared.workspace import Workspace
from pages.ui.workspace.entrance import remember_workspace
from pages.ui.workspace.links import show_share_links
from pages.ui.workspace.places import show_places

_CHOICE = "data_in_use"
_PLURALS = {"search": "searches"}


def count_moving_jobs(workspace: Workspace) -> Counter[str]:
    """Return how many runs, experiments and searches are started or queued and not paused, by these nouns."""
    moving = Counter(run=sum(_is_moving(job.outline.status) for job in workspace.jobs))
    jobs: dict[str, Iterable[BackgroundTask[Any]]] = {
        "experiment": workspace.experiments.jobs(workspace.key),
        "search": workspace.searches.jobs(workspace.key),
    }
    moving.update(
        {noun: sum(_is_moving(job.inspect().status) for job in some) for noun, some in jobs.items()}
    )
    return +moving


def _is_moving(status: Status) -> bool:
    return status.active and status is not Status.PAUSED


def _show_data_problem(workspace: Workspace) -> None:
    """Draw why the data could not be saved or read, and what can be done."""
    saved = workspace.dataset is None
    st.badge("not read" if saved else "not saved", icon=":material/error:", color="red")
    st.caption("Choose the data again." if saved else "The data are gone when the app ends.")
    with st.popover("Why", type="tertiary"):
        st.text(workspace.data_problem)
    if not saved:
        st.button("Save again", icon=":material/save:", key="save_data", on_click=workspace.save_dataset)


def _show_data(workspace: Workspace) -> None:
    """Draw the data in use, which all pages are about; where there are others, as a choice."""
    dataset = workspace.dataset
    names = say.name_data(workspace.data_names)
    if len(names) > (dataset is not None):
        st.session_state[_CHOICE] = None if dataset is None else dataset.data.fingerprint
        st.selectbox(
            "Data", list(names), index=None if dataset is None else 0, format_func=names.__getitem__, key=_CHOICE,
            on_change=_use_choice, args=(workspace,), placeholder="No data chosen yet",
            help="What all pages of this tab are about, and what new runs are made of.",
        )  # fmt: skip
        if dataset is not None:
            st.caption(dataset.data.size_text)
    elif dataset is None:
        st.caption("No data chosen yet")
    else:
        st.caption("Data")
        st.text(dataset.name)
        st.caption(dataset.data.size_text)


def _use_choice(workspace: Workspace) -> None:
    workspace.use_data(st.session_state[_CHOICE])


def _is_loading(workspace: Workspace) -> bool:
    loading = services.loadings().get(workspace.key)
    return loading is not None and not loading.is_over


def _show_loading(workspace: Workspace) -> None:
    """Draw which file is being loaded, or why one could not be that nobody waited for."""
    loading = services.loadings().get(workspace.key)
    if workspace.view_only or loading is None:
        return
    if not loading.is_over:
        st.badge(
            "loading", icon=":material/upload:", color="blue", help="It goes on when you leave the page."
        )
        st.text(loading.name)
    elif loading.error is not None and not loading.was_seen:
        st.badge("not loaded", icon=":material/error:", color="red")
        st.text(loading.name)
        with st.popover("Why", type="tertiary"):
            st.text(explain_error(loading.error))


def show_sidebar(workspace: Workspace, page: str) -> None:
    """Draw the part of the sidebar below the navigation, on the page with this address."""
    busy = bool(count_moving_jobs(workspace)) or _is_loading(workspace)

    def jobs() -> None:
        now, loads = count_moving_jobs(workspace), _is_loading(workspace)
        if busy and not (now or loads):
            st.rerun()
        _show_loading(workspace)
        held = sum(job.outline.status is Status.PAUSED for job in workspace.jobs)
        for noun, number in now.items():
            named = say.count(number, noun, _PLURALS.get(noun))
            st.badge(f"{named} active", icon=":material/sync:", color="blue")
        if held and not now:
            st.badge(f"{say.count(held, 'run')} paused", icon=":material/pause:", color="orange")
        elif not (now or loads):
            st.caption("Nothing is running")
        if unsaved := len(workspace.runs.unsaved_runs(workspace.key)):
            st.badge(
                f"{say.count(unsaved, 'run')} not saved", icon=":material/error:", color="red",
                help="The Run page says why, and can save them again.",
            )  # fmt: skip

    with st.sidebar:
        with st.container(border=True, gap="xsmall", key="sidebar_state"):
            _show_data(workspace)
            # A page that shows a run on other data says so here.
            st.session_state[PAGE_DATA] = st.container(gap="xsmall")
            if workspace.data_problem is not None:
                _show_data_problem(workspace)
            refresh(jobs, 2.0 if busy else None)
        show_places(workspace)
        show_share_links(workspace, page)
        remember_workspace(workspace)
