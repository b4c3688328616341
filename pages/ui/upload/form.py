"""The upload form: a file, how it is understood, and why it cannot be read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from acvb_core.core.errors import AcvbError, DataError
from acvb_core.data.sources import formats
from acvb_core.data.sources.columnar import FileChoices
from pages.ui.shared.model_pages import all_model_pages
from pages.ui.shared.overview import forget_held_out
from pages.ui.shared.workspace import Dataset, Workspace
from pages.ui.upload.files import DataFile, choose_file, file_identity, rewind
from pages.ui.upload.parts import choose_part, inspect_file, part_prefix
from pages.ui.upload.reader import Reader

ENCODINGS = ("utf-8", "cp1252", "latin-1", "utf-16", "shift_jis", "euc_jp", "gb18030", "koi8-r")
LONGEST_NAME = 80
#: Pixels of a row of a table.
_ROW_HEIGHT = 35
_SKIP = "upload_skip"
# Below the form, which is long; the error is shown beside its top.
_WHY_NOT = "We couldn't read this file with these settings: the reason is at the top of the page."


@dataclass(frozen=True)
class UploadState:
    """The state of an upload: how a file is read.

    Attributes
    ----------
    reader : Reader
    layout : Layout, CorpusLayout, TableLayout or None
        How it is read, if that is known.
    error : AcvbError or None
        Why it cannot be read.
    skip_lines : callable or None
        Reads it without the lines that cannot be read, if that is possible.
    draft : Any
        Settings whose effect the reader shows before the file is loaded.
    loaded : bool
        This file was loaded last, with these settings.
    other_way : str
        Another way to read it, if it cannot be read with these settings.
    """

    reader: Reader
    layout: Any = None
    error: AcvbError | None = None
    draft: Any = None
    loaded: bool = False
    skip_lines: Callable[[], None] | None = None
    other_way: str = ""


def all_readers() -> dict[str, Reader]:
    """Return the reader of each kind of data, by the model that reads it."""
    return {name: pages.reader for name, pages in all_model_pages().items() if pages.reader is not None}


def choose_upload(reader: Reader) -> DataFile | None:
    """Draw the upload of a file; it stays chosen when the page is left."""
    file = choose_file(describe_files(reader))
    if file is None:
        for known in all_readers().values():
            known.forget_draft()
    return file


def describe_files(reader: Reader) -> str:
    """Return the files that can be uploaded, in a sentence."""
    listed = formats.files_of(reader.kind)
    return f"{listed[0].upper()}{listed[1:]}; any of them gzipped."


def show_upload_form(workspace: Workspace, reader: Reader, file: DataFile) -> UploadState:
    """Draw how a file is understood, with every choice open; load it when the user asks for it."""
    prefix = _prefix(reader, file)
    layout = problem = draft = None
    try:
        choices = inspect_file(file, prefix)
    except AcvbError as error:
        return UploadState(reader, error=error)
    part = choose_part(choices, prefix)
    prefix = part_prefix(prefix, part)
    looking = _recall_options(reader, prefix) | part
    try:
        layout = reader.inspect(rewind(file), looking)
    except AcvbError as error:
        problem = error
    # What to do about a file that is not even recognised is among the options, so they open by themselves.
    with st.expander(
        "Reading options", expanded=layout is None, icon=":material/tune:", key=f"{prefix}_options"
    ):
        _show_options(reader, choices, prefix)
        objects = {} if layout is None else reader.choose_options(layout, prefix)
    if layout is None:
        return UploadState(reader, error=problem)
    loading = reader.choose_columns(layout, prefix) | objects
    name = st.text_input(
        "Name",
        _name_from_file(reader, file.name),
        max_chars=LONGEST_NAME,
        key=f"{prefix}_name",
        persist_state="session",
    )
    loading |= reader.choose_place(file, layout, looking, loading, prefix)
    try:
        draft = reader.make_draft(file, layout, looking, loading, prefix)
    except AcvbError as error:
        problem = error
    signature = _signature(prefix, looking, loading, draft)
    loaded = st.session_state.get("upload_loaded") == signature
    rest = _signature(
        prefix, looking, {k: v for k, v in loading.items() if k not in reader.read_at_once}, draft
    )
    pressed = st.button(
        "Load",
        type="primary",
        icon=":material/check:",
        key="load",
        width="stretch",
        disabled=problem is not None,
    )
    again = not loaded and st.session_state.get("upload_rest") == rest
    skip = st.session_state.pop(_SKIP, None) == prefix
    pressed = pressed or skip
    if problem is not None:
        st.caption(_WHY_NOT)
        return UploadState(
            reader, layout, problem, draft, loaded, other_way=reader.suggest_other_way(loading, problem)
        )
    if not (pressed or again):
        return UploadState(reader, layout, None, draft, loaded)
    try:
        with reader.show_reading(loading) as further:
            how = loading | ({"broken": "skip"} if skip else {})
            data, report = reader.load(rewind(file), name or None, looking, how | further, draft)
    except AcvbError as error:
        st.caption(_WHY_NOT)
        offered = (
            reader.can_skip_lines(loading) and isinstance(error, DataError) and "broken=" in error.remedy
        )
        skip_lines = partial(_skip_lines, prefix) if offered and not skip else None
        other_way = reader.suggest_other_way(loading, error)
        return UploadState(reader, layout, error, draft, skip_lines=skip_lines, other_way=other_way)
    before = workspace.dataset
    if again and before is not None:
        data = reader.carry_over(before.data, data)
    workspace.set_dataset(Dataset.fresh(data, report, name or data.name).like(before))
    forget_held_out()
    st.session_state["upload_loaded"] = signature
    st.session_state["upload_rest"] = rest
    reader.note_loaded(data, report, loading, prefix)
    st.rerun()


def _skip_lines(prefix: str) -> None:
    """Read the file without its broken lines, from a callback."""
    st.session_state[_SKIP] = prefix


def _prefix(reader: Reader, file: DataFile) -> str:
    """Return the beginning of a file's keys of widgets, so that input for one file does not count for another."""
    return f"up_{reader.model}_{file_identity(file)}"


def _signature(prefix: str, looking: dict[str, Any], loading: dict[str, Any], draft: Any) -> str:
    """Return a text that identifies one way to read a file."""
    short = {
        name: hashlib.sha256(value).hexdigest() if isinstance(value, bytes) else value
        for name, value in loading.items()
    }
    return repr((prefix, looking, short, draft))


def _recall_options(reader: Reader, prefix: str) -> dict[str, Any]:
    """Return the values of the options before they are drawn."""
    usual = {"format": "auto", "encoding": None, "delimiter": None, "header": "auto"} | dict(
        reader.inspect_options
    )
    return {name: st.session_state.get(f"{prefix}_{name}", value) for name, value in usual.items()}


def _show_options(reader: Reader, choices: FileChoices, prefix: str) -> None:
    """Draw how the file is inspected."""
    if "encoding" in choices.options:
        st.selectbox(
            "Encoding",
            [None, *ENCODINGS],
            format_func=lambda name: name or "recognise it (usually utf-8)",
            key=f"{prefix}_encoding",
            persist_state="session",
            help="How letters are stored. Spreadsheets on Windows often write cp1252.",
        )
    known = formats.choices_of(reader.kind) if reader.asks_format else {}
    if choices.container != "text":
        known = {name: title for name, title in known.items() if name in reader.column_formats}
    if known:
        st.selectbox(
            "Format",
            ["auto", *known],
            format_func=lambda name: known.get(name, "recognise it"),
            key=f"{prefix}_format",
            persist_state="session",
        )
    if "delimiter" in choices.options:
        st.selectbox(
            "Delimiter",
            [None, *reader.delimiters],
            format_func=lambda mark: reader.delimiters.get(mark, "recognise it"),
            key=f"{prefix}_delimiter",
            persist_state="session",
        )
    if "header" in choices.options:
        st.selectbox(
            "First line" if choices.container == "text" else "First row",
            ["auto", True, False],
            format_func=lambda value: {"auto": "recognise it", True: "holds names", False: "is data"}[value],
            key=f"{prefix}_header",
            persist_state="session",
        )
    reader.ask_how_to_inspect(prefix)


def show_layout(reader: Reader, layout: Any) -> None:
    """Draw the recognised format, and the first lines of the file."""
    container = _container(layout)
    facts = [row.title for row in formats.formats_of(reader.kind) if row.name == layout.format]
    if container is not None:
        facts += [container.title] if container.name != layout.format else []
        if "header" in container.options:
            facts.append("first row holds names" if layout.header else "no row of names")
    if layout.delimiter:
        facts += [
            f"{reader.delimiters.get(layout.delimiter, 'other')}-separated",
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
        height = min(245, _ROW_HEIGHT * (len(layout.rows) + 1) + 2)
        st.dataframe(_preview_rows(reader, layout), key="first_rows", height=height)


def _container(layout: Any) -> formats.Format | None:
    """Return the format of a file of columns, None for text."""
    name = layout.container
    return next((row for row in formats.FORMATS if row.family == "columns" and row.name == name), None)


def _preview_rows(reader: Reader, layout: Any) -> pd.DataFrame:
    """Return the first lines of a file as a table."""
    names: list[str] = []
    for name in layout.column_names[: len(layout.rows[0])]:
        names.append(name if name not in names else f"{name} ({len(names) + 1})")
    container = _container(layout)
    # The names of a file of columns stand in no row of it.
    first = 2 if layout.header and (container is None or "header" in container.options) else 1
    return pd.DataFrame(
        list(layout.rows),
        columns=names,
        index=pd.RangeIndex(
            first, first + len(layout.rows), name=reader.unit if container is None else "row"
        ),
        dtype=str,
    )


def _name_from_file(reader: Reader, filename: str) -> str:
    """Return a file's name without its endings."""
    stem = filename
    for ending in (".gz", *formats.endings_of(reader.kind)):
        stem = stem.removesuffix(ending)
    return (stem or filename)[:LONGEST_NAME]
