"""Data: choose a sample or upload a file, see what was read, and choose what runs hold out."""

from __future__ import annotations

import streamlit as st

from acvb_core.data.samples import SAMPLES
from pages.ui.shared.model_pages import all_model_pages, pages_of_model
from pages.ui.shared.overview import forget_held_out, show_overview
from pages.ui.shared.workspace import Dataset, Workspace, current_workspace
from pages.ui.upload.form import (
    UploadState,
    all_readers,
    choose_upload,
    describe_files,
    show_layout,
    show_upload_form,
)
from pages.ui.upload.problem import show_error


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
    st.caption(f"{sample.size_text}. {sample.origin}")
    st.caption(sample.licence)
    if st.button(
        "Use this sample", type="primary", icon=":material/check:", key="use_sample", width="stretch"
    ):
        with st.spinner("Reading"):
            workspace.set_dataset(Dataset.of_sample(key))
        forget_held_out()
        st.rerun()


def show_upload(workspace: Workspace) -> UploadState | None:
    """Draw the upload; return how far the file is understood."""
    readers = all_readers()
    model = st.segmented_control(
        "What kind of data do you have?",
        list(readers),
        format_func=lambda name: readers[name].label,
        default=next(iter(readers)),
        required=True,
        key="upload_kind",
        persist_state="session",
        width="stretch",
    )
    reader = readers[model]
    st.caption(describe_files(reader))
    file = choose_upload(reader)
    return None if file is None else show_upload_form(workspace, reader, file)


def show_nothing_yet() -> None:
    """Draw the files that can be uploaded."""
    with st.container(border=True, key="empty"):
        st.subheader("No data yet", icon=":material/dataset:", anchor=False)
        st.markdown(
            "Choose a sample on the left and press **Use this sample**, or upload your own.\n\n"
            + "".join(f"{pages.files}\n\n" for pages in all_model_pages().values())
            + "Delimiter, encoding and columns are recognised; you can correct each before loading."
        )


def show_data() -> None:
    """Draw the page."""
    workspace = current_workspace()
    st.title("Data", anchor=False)
    left, right = st.columns([2, 3], gap="large")
    reading = None
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
        else:
            reading = show_upload(workspace)
    with right:
        dataset = workspace.dataset
        error = None if reading is None else reading.error
        if error is not None:
            show_error(error)
            if reading is not None and reading.skip_lines is not None:
                st.button(
                    "Go on without such lines",
                    icon=":material/skip_next:",
                    key="go_on_without",
                    on_click=reading.skip_lines,
                    help="They are left out and counted in the read report.",
                )
            if reading is not None and reading.other_way:
                st.caption(reading.other_way)
        if reading is not None and reading.layout is not None and not reading.loaded:
            show_layout(reading.reader, reading.layout)
            if error is None:
                reading.reader.show_draft(reading.draft)
                st.caption("Press Load when this looks right.")
        elif error is None and dataset is None:
            show_nothing_yet()
        elif error is None:
            show_overview(workspace, dataset)
            st.page_link("pages/run.py", label="Go on to Run", icon=":material/arrow_forward:")
            if reading is not None and reading.layout is not None:
                with st.expander("The file as it was read", icon=":material/description:"):
                    show_layout(reading.reader, reading.layout)
