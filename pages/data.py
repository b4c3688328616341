"""Data: choose a sample or upload a relation, see what was read, and say what runs hold out."""

from __future__ import annotations

import streamlit as st

from pages.ui.guard import guard

guard()

from acvb_core.data.samples import SAMPLES  # noqa: E402
from pages.ui.overview import overview  # noqa: E402
from pages.ui.upload import is_loaded, show_error, show_layout, upload_form, uploaded_file  # noqa: E402
from pages.ui.workspace import Dataset, Workspace, current  # noqa: E402


def choose_sample(workspace: Workspace) -> None:
    key = st.selectbox(
        "Sample",
        list(SAMPLES),
        format_func=lambda name: SAMPLES[name].title,
        key="sample",
        persist_state="session",
    )
    sample = SAMPLES[key]
    st.caption(f"{sample.n_rows:,} × {sample.n_cols:,}. {sample.origin}")
    st.caption(sample.licence)
    if st.button(
        "Use this sample", type="primary", icon=":material/check:", key="use_sample", width="stretch"
    ):
        workspace.set_dataset(Dataset.of_sample(key))
        for widget in ("heldout_percent", "heldout_seed"):
            st.session_state.pop(widget, None)
        st.rerun()


def nothing_yet() -> None:
    with st.container(border=True, key="empty"):
        st.subheader("No data yet", icon=":material/dataset:", anchor=False)
        st.markdown(
            "Choose a sample on the left and press **Use this sample**, or upload your own. These are understood:\n"
            "- an **edge list**: a line for each link, with its two objects and, if you like, a value;\n"
            "- a **matrix** of 0 and 1, yes and no, or counts; empty cells are unknown;\n"
            "- **MatrixMarket** and **SciPy .npz** files.\n\n"
            "Delimiter, encoding and columns are recognised; you can correct each before loading."
        )


workspace = current()
st.title("Data", anchor=False)
left, right = st.columns([2, 3], gap="large")
layout = error = None
with left:
    source = st.segmented_control(
        "Source",
        ["Sample", "Upload"],
        default="Sample",
        required=True,
        key="source",
        label_visibility="collapsed",
        persist_state="session",
        width="stretch",
    )
    if source == "Sample":
        choose_sample(workspace)
    elif (file := uploaded_file()) is not None:
        layout, error = upload_form(workspace, file)
with right:
    dataset = workspace.dataset
    if error is not None:
        show_error(error)
    if layout is not None and not is_loaded(file):
        show_layout(layout)
        if error is None:
            st.caption("Press Load when this looks right.")
    elif error is None and dataset is None:
        nothing_yet()
    elif error is None:
        overview(workspace, dataset)
        st.page_link("pages/run.py", label="Go on to Run", icon=":material/arrow_forward:")
        if layout is not None:
            with st.expander("The file as it was read", icon=":material/description:"):
                show_layout(layout)
