"""What a page shows when it has nothing to show yet: what is missing, and where to get it."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from acvb_core.engine.problem import pose
from pages.ui.workspace import Dataset, Workspace

COMPARISON_SAMPLE = "debtag_games"
COMPARISON_METHODS = ("acvb0", "cvb0", "vb")


def empty_state(title: str, text: str, *, icon: str, actions: Callable[[], None]) -> None:
    """Draw an empty state; `actions` draws the links and buttons below the text."""
    with st.container(border=True, horizontal_alignment="center", gap="small", key="empty"):
        st.space("small")
        st.subheader(title, icon=icon, text_alignment="center", anchor=False)
        st.markdown(text, text_alignment="center")
        with st.container(horizontal=True, horizontal_alignment="center", vertical_alignment="center"):
            actions()
        st.space("small")


def comparison_button(workspace: Workspace, *, primary: bool = True) -> None:
    """Draw the button that runs the sample comparison, and go to its curves when it is pressed."""
    if st.button(
        "Run the sample comparison",
        type="primary" if primary else "secondary",
        icon=":material/play_arrow:",
        key="sample_comparison",
        help="ACVB0, CVB0 and VB side by side on 937 games and the 178 tags that describe them.",
    ):
        run_comparison(workspace)
        st.switch_page("pages/run.py")


def run_comparison(workspace: Workspace) -> None:
    """Take the sample as the data in use and start one run of each of the three methods."""
    dataset = Dataset.of_sample(COMPARISON_SAMPLE)
    workspace.set_dataset(dataset)
    for method in COMPARISON_METHODS:
        workspace.add(pose(dataset.data, method, heldout=dataset.heldout, heldout_seed=dataset.heldout_seed))
