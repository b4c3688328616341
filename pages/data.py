"""Data: choose a sample or upload data of one's own, see what was read, and say what runs hold out."""

from __future__ import annotations

import streamlit as st

from pages.ui.shared.guard import guard

guard()

from acvb_core.data.samples import SAMPLES  # noqa: E402
from pages.ui.shared.models import FACES  # noqa: E402
from pages.ui.shared.overview import forget_held_out, overview  # noqa: E402
from pages.ui.shared.workspace import Dataset, Workspace, current  # noqa: E402
from pages.ui.upload.form import READERS, Reading, files_of, show_layout, upload_form, uploaded_file  # noqa: E402
from pages.ui.upload.problem import show_error  # noqa: E402

# In the order of the models, so that samples of one kind stand together.
ORDER = sorted(SAMPLES, key=lambda name: list(FACES).index(SAMPLES[name].model))


def choose_sample(workspace: Workspace) -> None:
    key = st.selectbox(
        "Sample",
        ORDER,
        format_func=lambda name: f"{FACES[SAMPLES[name].model].group} · {SAMPLES[name].title}",
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


def upload(workspace: Workspace) -> Reading | None:
    model = st.segmented_control(
        "What do you bring?",
        list(READERS),
        format_func=lambda name: READERS[name].brought,
        default="irm",
        required=True,
        key="upload_kind",
        persist_state="session",
        width="stretch",
    )
    reader = READERS[model]
    st.caption(files_of(reader))
    file = uploaded_file(reader)
    return None if file is None else upload_form(workspace, reader, file)


def nothing_yet() -> None:
    with st.container(border=True, key="empty"):
        st.subheader("No data yet", icon=":material/dataset:", anchor=False)
        st.markdown(
            "Choose a sample on the left and press **Use this sample**, or upload your own.\n\n"
            "**A relation**, to be sorted into blocks:\n"
            "- an **edge list**: a line for each link, with its two objects and, if you like, a value;\n"
            "- a **matrix** of 0 and 1, yes and no, or counts; empty cells are unknown;\n"
            "- **MatrixMarket** and **SciPy .npz** files;\n"
            "- columns of a **Parquet**, **Arrow**, **Excel**, **JSON Lines** or **SQLite** file.\n\n"
            "**A network**, the same objects on both sides, to find groups in it:\n"
            "- any of these, with the same names on both sides;\n"
            "- **GraphML**, **GML** and **Pajek** files.\n\n"
            "**Texts**, to find topics in:\n"
            "- a **table** with a column of texts, **one document a line**, or a **zip** of .txt files;\n"
            "- **word counts**: document, word, count on each line, UCI docword or LDA-C;\n"
            "- either in a **Parquet**, **Arrow**, **Excel**, **JSON Lines** or **SQLite** file;\n"
            "- texts that are too many for the memory are kept on disk, and streamed.\n\n"
            "**A table of numbers**, to find features in:\n"
            "- **CSV or TSV** with a row for each object, **NumPy** or **SciPy** files; cells may be missing;\n"
            "- columns of a **Parquet**, **Arrow**, **Excel**, **JSON Lines** or **SQLite** file;\n"
            "- columns of text are coded or left out, and pixels are shown as pictures.\n\n"
            "Delimiter, encoding and columns are recognised; you can correct each before loading."
        )


workspace = current()
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
        reading = upload(workspace)
with right:
    dataset = workspace.dataset
    error = None if reading is None else reading.error
    if error is not None:
        show_error(error)
        if reading is not None and reading.go_on is not None:
            st.button(
                "Go on without such lines", icon=":material/skip_next:", key="go_on_without", on_click=reading.go_on,
                help="They are left out and counted in the read report.",
            )  # fmt: skip
        if reading is not None and reading.way_round:
            st.caption(reading.way_round)
    if reading is not None and reading.layout is not None and not reading.loaded:
        show_layout(reading.reader, reading.layout)
        if error is None:
            reading.reader.preview(reading.draft)
            st.caption("Press Load when this looks right.")
    elif error is None and dataset is None:
        nothing_yet()
    elif error is None:
        overview(workspace, dataset)
        st.page_link("pages/run.py", label="Go on to Run", icon=":material/arrow_forward:")
        if reading is not None and reading.layout is not None:
            with st.expander("The file as it was read", icon=":material/description:"):
                show_layout(reading.reader, reading.layout)
