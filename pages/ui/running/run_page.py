"""Run: start methods on the data in use, and watch them converge."""

from __future__ import annotations

import streamlit as st

from pages.ui.running.live import live, model_in_use, shown_jobs
from pages.ui.running.setup import setup, tunable_methods
from pages.ui.shared import format as say
from pages.ui.shared.absent import damaged_runs, deleted_runs, store_notices
from pages.ui.shared.empty import comparison_button, empty_state, other_page
from pages.ui.shared.explain import explain_curves
from pages.ui.shared.model_pages import answer_pages, group_by_model, pages_of_model, pages_of_run
from pages.ui.shared.services import tunings
from pages.ui.shared.workspace import Workspace, current


def no_data(workspace: Workspace) -> None:
    def actions() -> None:
        for number, pages in enumerate(answer_pages().values()):
            comparison_button(workspace, pages.model, primary=not number)
        st.page_link("pages/data.py", label="Choose data", icon=":material/dataset:")

    empty_state(
        "No data yet",
        "Choose a sample or upload your own data on the Data page. Or try a sample at once.",
        icon=":material/dataset:",
        actions=actions,
    )


def runs(workspace: Workspace) -> None:
    every = False
    jobs = workspace.jobs
    others = len(jobs) - len(shown_jobs(workspace, False))
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="toolbar"):
        explain_curves(model_in_use(workspace) or pages_of_run(jobs[-1]).model)
        if others:
            every = st.toggle(
                f"Also {say.count(others, 'run')} on other data", key="every", persist_state="session"
            )
    shown = shown_jobs(workspace, every)
    if not shown:
        deleted_runs(workspace)
    else:
        live(workspace, every=every)
        with st.container(horizontal=True, gap="medium"):
            linked: set[str] = set()
            for model in group_by_model(shown, model_in_use(workspace)):
                path = pages_of_model(model).answer.path
                if path not in linked:
                    other_page(model)
                linked.add(path)
            st.page_link("pages/compare.py", label="Compare the runs", icon=":material/compare_arrows:")


def show_run() -> None:
    """Draw the page."""
    workspace = current()
    st.title("Run", anchor=False)
    store_notices()
    damaged_runs(workspace)
    dataset = workspace.dataset
    jobs = workspace.jobs
    if dataset is None and not jobs:
        deleted_runs(workspace)
        no_data(workspace)
        st.stop()
    if dataset is not None:
        here = shown_jobs(workspace, False)
        if st.session_state.pop("fold_form", False):
            st.session_state["new_runs"] = st.session_state["tune"] = False
        with st.expander(
            "New runs", expanded=not here, icon=":material/add:", key="new_runs", on_change="rerun"
        ):
            if setup(workspace, dataset):
                st.session_state["fold_form"] = True  # to make room for the curves
                st.rerun()
        tuning = pages_of_model(dataset.model).tuning
        if tuning is not None and tunable_methods(dataset):
            searching = workspace.id in tunings()
            with st.expander(
                "Tune the steps",
                expanded=searching,
                icon=":material/manufacturing:",
                key="tune",
                on_change="rerun",
            ) as opened:
                if opened.open:
                    tuning(workspace, dataset)
    if jobs:
        runs(workspace)
    else:
        deleted_runs(workspace)
        st.caption("Press Start: cards and curves of the runs appear here and grow as they go.")
