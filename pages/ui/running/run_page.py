"""Run: start methods on the data in use, and watch them converge."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from acvb_core.engine.job import Job
from pages.ui.running.compare_page import MOST_RUNS
from pages.ui.running.live import model_in_use, select_jobs, show_live_runs
from pages.ui.running.setup import show_run_form, tunable_methods
from pages.ui.shared import format as say
from pages.ui.shared.absent import (
    show_damaged_runs,
    show_deleted_runs,
    show_interrupted_runs,
    show_store_notices,
)
from pages.ui.shared.answer_page import ComparedRuns, show_conclusion
from pages.ui.shared.empty import link_answer_page, show_comparison_button, show_empty_state
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.model_pages import answer_pages, group_by_model, pages_of_model, pages_of_run
from pages.ui.shared.workspace import Workspace, current_workspace
from pages.ui.workspace.dataset import Dataset


def explain_curves(model: str) -> None:
    """Draw the popover that says what the curves of a model's runs show."""
    curves = pages_of_model(model).words.curves
    with st.popover("What do the curves show?", icon=":material/help:", type="tertiary", key="explain"):
        for tab, curve in zip(st.tabs([curve.short for curve in curves]), curves, strict=True):
            with tab:
                st.markdown(f"**{curve.name}.** {curve.what}")
                for paragraph in curve.advice:
                    st.markdown(paragraph)
        st.page_link("pages/guide.py", label="More in the Guide", icon=":material/menu_book:")


def show_no_data(workspace: Workspace) -> None:
    def actions() -> None:
        for number, pages in enumerate(answer_pages().values()):
            show_comparison_button(workspace, pages.model, primary=not number)
        st.page_link("pages/data.py", label="Choose data", icon=":material/dataset:")

    show_empty_state(
        "No data yet",
        "Upload your data or choose an example on the Data page. Or try one of these examples.",
        icon=":material/dataset:",
        actions=actions,
    )


@contain_failure("part of the page")
def conclude_runs(shown: Sequence[Job]) -> None:
    """Draw the conclusion about the newest runs that have ended, on the data of the last of them."""
    ended = [job for job in shown if job.outline.verdict is not None]
    same = [job for job in ended if job.outline.fingerprint == ended[-1].outline.fingerprint]
    show_conclusion(ComparedRuns.gather(same[-MOST_RUNS:]))


def show_runs(workspace: Workspace, tools: DeltaGenerator) -> None:
    """Draw the runs; what explains and widens the list of them stands beside the title of the page."""
    every = False
    jobs = workspace.jobs
    others = len(jobs) - len(select_jobs(workspace, False))
    with tools:
        if others:
            every = st.toggle(
                f"Also {say.count(others, 'run')} on other data", key="every", persist_state="session"
            )
        explain_curves(model_in_use(workspace) or pages_of_run(jobs[-1]).model)
    shown = select_jobs(workspace, every)
    if not shown:
        show_deleted_runs(workspace)
        return
    conclude_runs(shown)
    show_live_runs(workspace, every=every)
    with st.container(horizontal=True, gap="medium"):
        models = group_by_model(shown, model_in_use(workspace))
        for model in {pages_of_model(model).answer.path: model for model in models}.values():
            link_answer_page(model)
        st.page_link("pages/compare.py", label="Compare the runs", icon=":material/compare_arrows:")
        link_experiments(workspace)


def link_experiments(workspace: Workspace) -> None:
    """Draw a line for each experiment under way: how far it is, as a link to its page."""
    for job in workspace.experiments.jobs(workspace.key):
        seen = job.inspect()
        if seen.status.active:
            st.page_link(
                "pages/experiments.py", icon=":material/science:",
                label=f"Experiment: {seen.study.n_runs:,} of {say.count(seen.planned, 'run')} done",
            )  # fmt: skip


def show_searches(workspace: Workspace, dataset: Dataset | None) -> None:
    """Draw the searches of the workspace, whatever their data, and the form of one where the data in use allow it."""
    searches = workspace.searches.jobs(workspace.key)
    models = [dataset.model] if dataset is not None and tunable_methods(dataset) else []
    models += [job.plan.model for job in searches]
    if not models or (workspace.view_only and not searches):
        return
    tuning = pages_of_model(models[0]).tuning
    if tuning is None:
        return
    with st.expander(
        "Find better learning rates",
        expanded=bool(searches),
        icon=":material/manufacturing:",
        key="tune",
        on_change="rerun",
    ) as opened:
        if opened.open:
            tuning(workspace, dataset)


def show_run() -> None:
    """Draw the page."""
    workspace = current_workspace()
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.title("Run", anchor=False, width="content")
        tools = st.container(horizontal=True, vertical_alignment="center", gap="medium", width="content")
    show_store_notices()
    show_damaged_runs(workspace)
    show_interrupted_runs(workspace)
    dataset = workspace.dataset
    jobs = workspace.jobs
    if dataset is None and not jobs:
        show_deleted_runs(workspace)
        show_no_data(workspace)
        show_searches(workspace, dataset)
        st.stop()
    if dataset is not None and not workspace.view_only:
        here = select_jobs(workspace, False)
        if st.session_state.pop("fold_form", False):
            st.session_state["new_runs"] = st.session_state["tune"] = False
        with st.expander(
            "New runs", expanded=not here, icon=":material/add:", key="new_runs", on_change="rerun"
        ):
            if show_run_form(workspace, dataset):
                st.session_state["fold_form"] = True  # to make room for the curves
                st.rerun()
    searches = workspace.searches.jobs(workspace.key)
    if searches or not jobs:
        show_searches(workspace, dataset)
    if jobs:
        show_runs(workspace, tools)
        if not searches:  # the form of the first search leaves the first screen to the curves
            show_searches(workspace, dataset)
    else:
        show_deleted_runs(workspace)
        st.caption(
            "No runs yet." if workspace.view_only else "Press Start. The runs and their curves appear here."
        )
