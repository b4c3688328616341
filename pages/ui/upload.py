"""Reading what people bring: a file, how it is understood, and what to say when it cannot be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, BinaryIO

import pandas as pd
import streamlit as st

from acvb_core.data.layout import FORMATS, Layout
from acvb_core.data.readers import inspect_source, load_relation
from acvb_core.errors import AcvbError, DataError
from pages.ui import format as say
from pages.ui.workspace import Dataset, Workspace

FORMAT_NAMES = {
    "auto": "recognise it",
    "edges": "edge list",
    "matrix": "matrix",
    "matrix-market": "MatrixMarket",
    "npz": "SciPy .npz",
}
ENCODINGS = ("utf-8", "cp1252", "latin-1", "utf-16", "shift_jis", "euc_jp", "gb18030", "koi8-r")
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar |", " ": "space"}
LONGEST_NAME = 80


def uploaded_file() -> BinaryIO | None:
    """Draw the uploader; the file stays chosen when the page is left."""
    given = st.file_uploader(
        "File",
        key="upload",
        help="CSV, TSV or other delimited text, MatrixMarket or SciPy .npz; any of them gzipped.",
    )
    if given is not None:
        st.session_state["upload_kept"] = given
    kept = st.session_state.get("upload_kept")
    if kept is not None and given is None:
        with st.container(border=True, gap="xsmall"):
            st.text(kept.name)
            st.caption(f"{say.size(kept.size)}, uploaded before")
            st.button("Forget it", icon=":material/close:", key="forget", on_click=_forget)
    return kept


def _forget() -> None:
    st.session_state.pop("upload_kept", None)


def upload_form(workspace: Workspace, file: BinaryIO) -> tuple[Layout | None, AcvbError | None]:
    """Draw how a file is understood, with every choice open; load it when asked to.

    Returns
    -------
    layout : Layout or None
        How the file is read, where that much is known.
    error : AcvbError or None
        Why it cannot be read.
    """
    prefix = _prefix(file)
    layout: Layout | None = None
    problem: AcvbError | None = None
    looking = _looked_before(prefix)
    try:
        file.seek(0)
        layout = inspect_source(file, file.name, **looking)
    except AcvbError as error:
        problem = error
    # What to do about a file that is not even recognised is among the options, so they open by themselves.
    with st.expander(
        "Reading options", expanded=layout is None, icon=":material/tune:", key=f"{prefix}_options"
    ):
        _looking(prefix)
        objects = {} if layout is None else _objects(layout, prefix)
    if layout is None:
        return None, problem
    loading = _columns(layout, prefix) | objects
    name = st.text_input(
        "Name", _stem(file.name), max_chars=LONGEST_NAME, key=f"{prefix}_name", persist_state="session"
    )
    if not st.button("Load", type="primary", icon=":material/check:", key="load", width="stretch"):
        return layout, None
    try:
        file.seek(0)
        with st.spinner("Reading"):
            loaded = load_relation(file, filename=file.name, name=name or None, **looking, **loading)
    except AcvbError as error:
        return layout, error
    workspace.set_dataset(_dataset(workspace, loaded.relation, loaded.report, name))
    st.session_state["upload_loaded"] = prefix
    st.rerun()


def is_loaded(file: BinaryIO) -> bool:
    """Whether this is the file that was loaded last."""
    return st.session_state.get("upload_loaded") == _prefix(file)


def _prefix(file: BinaryIO) -> str:
    """Return what the keys of a file's widgets begin with: input made for one file is not taken for another."""
    return f"up_{getattr(file, 'file_id', file.name)}"


def _looked_before(prefix: str) -> dict[str, Any]:
    """Return what the options hold before they are drawn."""
    usual = {"format": "auto", "encoding": None, "delimiter": None, "header": "auto"}
    return {name: st.session_state.get(f"{prefix}_{name}", value) for name, value in usual.items()}


def _dataset(workspace: Workspace, relation: Any, report: Any, name: str) -> Dataset:
    """Return the new data set, held out as the one before."""
    before = workspace.dataset
    made = Dataset(relation, report, name or relation.name)
    if before is None:
        return made
    return Dataset(relation, report, made.name, before.heldout, before.heldout_seed)


def _looking(prefix: str) -> None:
    st.selectbox(
        "Encoding",
        [None, *ENCODINGS],
        format_func=lambda name: name or "recognise it (usually utf-8)",
        key=f"{prefix}_encoding",
        persist_state="session",
        help="How letters are stored. Spreadsheets on Windows often write cp1252.",
    )
    st.selectbox(
        "Format",
        ["auto", *FORMATS],
        format_func=lambda name: FORMAT_NAMES[name],
        key=f"{prefix}_format",
        persist_state="session",
    )
    st.selectbox(
        "Delimiter",
        [None, *DELIMITERS],
        format_func=lambda mark: DELIMITERS.get(mark, "recognise it"),
        key=f"{prefix}_delimiter",
        persist_state="session",
    )
    st.selectbox(
        "First line",
        ["auto", True, False],
        format_func=lambda value: {"auto": "recognise it", True: "holds names", False: "is data"}[value],
        key=f"{prefix}_header",
        persist_state="session",
    )


def _columns(layout: Layout, prefix: str) -> dict[str, Any]:
    """Draw which column means what, and the threshold."""
    # A new guess, after another delimiter or format was chosen, is a new question.
    prefix = f"{prefix}_{layout.format}_{layout.n_fields}_{layout.header}"
    places = list(range(min(layout.n_fields, len(layout.column_names))))
    loading: dict[str, Any] = {}

    def choice(label: str, options: Sequence[Any], default: Any, none: str = "") -> Any:
        return st.selectbox(
            label,
            options,
            index=list(options).index(default) if default in options else 0,
            format_func=lambda place: none if place is False else layout.column_names[place],
            key=f"{prefix}_{label}",
            persist_state="session",
        )

    if layout.format == "edges":
        loading["row_column"] = choice("Row objects", places, layout.row_column)
        loading["column_column"] = choice("Column objects", places, layout.column_column)
        value = layout.value_column if layout.value_column is not None else False
        loading["value_column"] = choice("Values", [False, *places], value, "none: every line is a link")
    elif layout.format == "matrix":
        named = False if layout.row_column is None else 0
        loading["row_column"] = choice("Row labels", [False, 0], named, "none")
    if layout.format != "edges" or loading.get("value_column") is not False:
        loading["threshold"] = st.number_input(
            "Threshold",
            0.0,
            value=None,
            format="%g",
            placeholder="0",
            key=f"{prefix}_threshold",
            persist_state="session",
            help="A number above it is a link. Words such as yes and no, and missing marks, are understood.",
        )
    return loading


def _objects(layout: Layout, prefix: str) -> dict[str, Any]:
    """Draw what the file cannot show by itself: objects without links, and what silence means."""
    loading: dict[str, Any] = {}
    if layout.format == "edges":
        loading["same_nodes"] = st.toggle(
            "Rows and columns are the same objects",
            key=f"{prefix}_same",
            persist_state="session",
            help="For networks: every object stands on both sides, whether or not the file shows it there.",
        )
        missing = st.toggle(
            "Pairs not listed are unknown",
            key=f"{prefix}_unlisted",
            persist_state="session",
            help="Off: a pair that the file does not list is known not to be linked.",
        )
        loading["unlisted"] = "missing" if missing else "zero"
        rows, columns = st.columns(2, vertical_alignment="bottom")
        n_rows = rows.number_input(
            "Rows", 1, value=None, placeholder="as found", key=f"{prefix}_n_rows", persist_state="session"
        )
        n_columns = columns.number_input(
            "Columns",
            1,
            value=None,
            placeholder="as found",
            key=f"{prefix}_n_columns",
            persist_state="session",
        )
        if n_rows and n_columns:
            loading["shape"] = (int(n_rows), int(n_columns))
        st.caption("With a size given, labels are indices from 0: objects without links are counted too.")
    for side in ("row", "column"):
        nodes = st.file_uploader(
            f"List of all {side} objects",
            key=f"{prefix}_{side}_nodes",
            help="One label a line. Gives every object its place, those without links too.",
        )
        if nodes is not None:
            loading[f"{side}_nodes"] = nodes.getvalue()
    return loading


def show_layout(layout: Layout) -> None:
    """Draw what was recognised, and the first lines of the file."""
    facts = [FORMAT_NAMES[layout.format]]
    if layout.delimiter:
        facts += [
            f"{DELIMITERS.get(layout.delimiter, 'other')}-separated",
            str(layout.encoding).removesuffix("-sig"),
        ]
        facts.append("first line holds names" if layout.header else "no line of names")
    if layout.gzipped:
        facts.append("gzipped")
    with st.container(horizontal=True, gap="xsmall"):
        st.badge("recognised", icon=":material/check:", color="green")
        for fact in facts:
            st.badge(fact, color="gray")
    if layout.rows:
        st.dataframe(_preview(layout), key="first_rows", height=245)


def _preview(layout: Layout) -> pd.DataFrame:
    names: list[str] = []
    for name in layout.column_names:
        names.append(name if name not in names else f"{name} ({len(names) + 1})")
    first = 2 if layout.header else 1
    return pd.DataFrame(
        list(layout.rows),
        columns=names,
        index=pd.RangeIndex(first, first + len(layout.rows), name="line"),
        dtype=str,
    )


def show_error(error: AcvbError) -> None:
    """Draw an error: what is wrong, where, what was found there and what to do. Nothing of it is Markdown."""
    with st.container(border=True, gap="xsmall", key="problem"):
        st.badge("This file cannot be read so", icon=":material/error:", color="red")
        if not isinstance(error, DataError):
            st.text(str(error))
            return
        st.text(f"{error.what[:1].upper()}{error.what[1:]}.")
        place = {"File": error.source, "Line": error.line, "Column": error.column, "Found": error.value}
        known = {
            name: f"{at:,}" if isinstance(at, int) else at for name, at in place.items() if at is not None
        }
        if known:
            st.dataframe(pd.DataFrame([known]), hide_index=True, width="content", key="problem_place")
        st.text(error.remedy)
        if "encoding" in error.remedy:
            st.caption("The encoding is among the reading options.")


def _stem(filename: str) -> str:
    stem = filename
    for ending in (".gz", ".csv", ".tsv", ".txt", ".mtx", ".npz", ".edges"):
        stem = stem.removesuffix(ending)
    return (stem or filename)[:LONGEST_NAME]
