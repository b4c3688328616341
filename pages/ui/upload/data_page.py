"""Data: upload a file or choose an example, see what was read, and choose what runs hold out."""

from __future__ import annotations

import streamlit as st

from acvb_core.samples.catalogue import SAMPLES
from pages.ui.running.forms import was_filled
from pages.ui.shared import format as say
from pages.ui.shared.model_pages import all_model_pages, pages_of_model
from pages.ui.shared.overview import show_overview
from pages.ui.shared.workspace import Workspace, current_workspace
from pages.ui.upload.form import show_upload
from pages.ui.workspace.dataset import Dataset

_SOURCES = {"Upload": "Upload your data", "Sample": "Try an example"}


def choose_sample(workspace: Workspace) -> None:
    """Draw the choice of a sample."""
    models = list(all_model_pages())
    key = st.selectbox(
        "Sample",
        sorted(SAMPLES, key=lambda name: models.index(SAMPLES[name].model)),
        format_func=lambda name: f"{pages_of_model(SAMPLES[name].model).group} · {SAMPLES[name].title}",
        key="sample",
        persist_state="session",
    )
    sample = SAMPLES[key]
    st.caption(f"{sample.size_text}. {sample.origin} {sample.licence}")
    # The primary button is the next step: with data in use, that is to go on.
    is_next = workspace.dataset is None
    if st.button(
        "Use this sample",
        type="primary" if is_next else "secondary",
        icon=":material/check:",
        key="use_sample",
    ):
        if refusal := workspace.explain_no_room():
            st.warning(refusal, icon=":material/warning:")
            return
        with st.spinner("Reading"):
            workspace.set_dataset(Dataset.of_sample(key))
        st.rerun()


def show_data() -> None:
    """Draw the page."""
    workspace = current_workspace()
    st.title("Data", anchor=False)
    if not workspace.view_only and _choose_data(workspace):
        return
    dataset = workspace.dataset
    if dataset is not None:
        if st.button("Go to Run", type="primary", icon=":material/arrow_forward:", key="go_to_run"):
            st.switch_page("pages/run.py")
        st.divider()
        show_overview(workspace, dataset)
    elif workspace.view_only:
        st.caption("No data yet.")
    if not workspace.view_only:
        _offer_removal(workspace)


def _offer_removal(workspace: Workspace) -> None:
    """Draw buttons that remove data sets without runs."""
    removable = workspace.removable_data
    if not removable:
        return
    with st.popover("Remove data", type="tertiary", icon=":material/delete:"):
        st.caption("Data without runs. They stay in this workspace until you remove them.")
        for fingerprint, name in say.name_data(removable).items():
            with st.container(
                horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"
            ):
                st.text(name, width="content")
                st.button(
                    "Remove",
                    key=f"remove_data_{fingerprint}",
                    on_click=workspace.remove_data,
                    args=(fingerprint,),
                )


def _choose_data(workspace: Workspace) -> bool:
    """Draw the choice of an example or a file; return whether a file is open that is not loaded."""
    source = st.segmented_control(
        "Source",
        list(_SOURCES),
        format_func=_SOURCES.__getitem__,
        default=None if was_filled("source") else "Sample",
        required=True,
        key="source",
        label_visibility="collapsed",
        persist_state="session",
    )
    if source == "Upload":
        return show_upload(workspace)
    choose_sample(workspace)
    return False
