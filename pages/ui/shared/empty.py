"""The pages that have nothing to show yet: what is missing, and where to get it."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from acvb_core.engine.prepared import prepare_run
from acvb_core.registry import methods_of
from pages.ui.shared import format as say
from pages.ui.shared.model_pages import AnswerPage, Demonstration, models_on, pages_of_model
from pages.ui.shared.workspace import Workspace
from pages.ui.workspace.dataset import Dataset


def show_empty_state(title: str, text: str, *, icon: str, actions: Callable[[], object]) -> None:
    """Draw an empty state; `actions` draws the links and buttons below the text."""
    with st.container(border=True, horizontal_alignment="center", gap="small", key="empty"):
        st.space("small")
        st.subheader(title, icon=icon, text_alignment="center", anchor=False)
        st.markdown(text, text_alignment="center")
        with st.container(horizontal=True, horizontal_alignment="center", vertical_alignment="center"):
            actions()
        st.space("small")


def show_empty_answer(workspace: Workspace, page: AnswerPage) -> None:
    """Draw a page of answers without runs: why there is none, and where to get one."""
    jobs, models = workspace.jobs, models_on(page.path)
    used = [job.outline.spec.model for job in jobs]
    model = workspace.dataset.model if workspace.dataset else used[-1] if used else None

    def actions() -> None:
        if model in models:
            st.page_link("pages/run.py", label="Start a run", icon=":material/play_arrow:")
        else:
            if model in used:
                link_answer_page(model)
            st.page_link("pages/data.py", label="Choose data", icon=":material/dataset:")
        for each in models:
            show_comparison_button(workspace, each, primary=model not in models and each == models[0])

    if model is None:
        text = page.first
    else:
        text = f"{page.start} Start one on the Run page."
        if model not in models:
            text = f"{page.needs} {describe_answer_page(model)}"
    show_empty_state(f"No {page.title.lower()} yet", text, icon=page.icon, actions=actions)


def describe_answer_page(model: str) -> str:
    """Return which page shows what runs of a model find: "Runs on texts find topics, and the Topics page …"."""
    pages = pages_of_model(model)
    data = say.uncapitalise(pages.data_name)
    return f"Runs on {data} find {pages.parts[1]}, and the {pages.answer.title} page shows them."


def link_answer_page(model: str) -> None:
    """Draw the link to the page that shows a model's answers."""
    pages = pages_of_model(model)
    st.page_link(pages.answer.path, label=pages.answer.link_label, icon=pages.answer_icon)


def show_comparison_button(workspace: Workspace, model: str, *, primary: bool = True) -> None:
    """Draw the button that runs a sample comparison, and go to its curves when it is pressed; none for a viewer."""
    demonstration = pages_of_model(model).demonstration
    if workspace.view_only or demonstration is None:
        return
    if st.button(
        demonstration.label,
        type="primary" if primary else "secondary",
        icon=":material/play_arrow:",
        key=demonstration.key,
        help=demonstration.help,
    ):
        if refusal := workspace.explain_no_room():
            st.warning(refusal, icon=":material/warning:")
            return
        with st.spinner("Reading the sample"):
            start_demonstration(workspace, demonstration, model)
        st.switch_page("pages/run.py")


def start_demonstration(workspace: Workspace, demonstration: Demonstration, model: str) -> None:
    """Take a model's sample as the data in use and start one run of each of its methods."""
    dataset = Dataset.of_sample(demonstration.sample)
    workspace.set_dataset(dataset)
    known = {method.name for method in methods_of(model)}
    for method in demonstration.methods:
        if method in known:
            workspace.add(
                prepare_run(dataset.data, method, demonstration.values, model=model, **dataset.split)
            )
