"""What a page shows when it has nothing to show yet: what is missing, and where to get it."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from acvb_core.engine.problem import pose
from acvb_core.registry import methods_of
from pages.ui.shared.models import FACES, Demonstration
from pages.ui.shared.workspace import Dataset, Workspace


def empty_state(title: str, text: str, *, icon: str, actions: Callable[[], None]) -> None:
    """Draw an empty state; `actions` draws the links and buttons below the text."""
    with st.container(border=True, horizontal_alignment="center", gap="small", key="empty"):
        st.space("small")
        st.subheader(title, icon=icon, text_alignment="center", anchor=False)
        st.markdown(text, text_alignment="center")
        with st.container(horizontal=True, horizontal_alignment="center", vertical_alignment="center"):
            actions()
        st.space("small")


def comparison_button(workspace: Workspace, model: str = "irm", *, primary: bool = True) -> None:
    """Draw the button that runs a sample comparison, and go to its curves when it is pressed."""
    demonstration = FACES[model].demonstration
    if st.button(
        demonstration.label,
        type="primary" if primary else "secondary",
        icon=":material/play_arrow:",
        key=demonstration.key,
        help=demonstration.help,
    ):
        with st.spinner("Reading the sample"):
            run_demonstration(workspace, demonstration)
        st.switch_page("pages/run.py")


def run_demonstration(workspace: Workspace, demonstration: Demonstration) -> None:
    """Take the sample as the data in use and start one run of each of its methods."""
    dataset = Dataset.of_sample(demonstration.sample)
    workspace.set_dataset(dataset)
    known = {method.name for method in methods_of(dataset.model)}
    for method in demonstration.methods:
        if method in known:
            problem = pose(
                dataset.data,
                method,
                demonstration.values,
                **dataset.split,
            )
            workspace.add(problem)
