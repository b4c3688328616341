"""The upload form: a file of any kind, how it is read, and why it cannot be read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import streamlit as st

from acvb_core.core.errors import AcvbError
from acvb_core.data.sources import formats
from acvb_core.data.sources.containers import FileChoices
from pages.ui.shared import services
from pages.ui.shared.workspace import Workspace
from pages.ui.upload.files import DataFile, choose_file, file_bytes, file_identity, reopen, rewind
from pages.ui.upload.kind import KindChoice, all_readers, choose_encoding, choose_kind
from pages.ui.upload.loading import Load, start_loading
from pages.ui.upload.parts import choose_part, inspect_file, part_prefix
from pages.ui.upload.preview import show_layout
from pages.ui.upload.problem import show_error
from pages.ui.upload.reader import Reader
from pages.ui.workspace.dataset import Dataset

ENCODINGS = ("utf-8", "cp1252", "latin-1", "utf-16", "shift_jis", "euc_jp", "gb18030", "koi8-r")
LONGEST_NAME = 80
_LOADED, _REST, _OPENED, _SKIP = "upload_loaded", "upload_rest", "upload_opened", "upload_skip"


class OpenFile(NamedTuple):
    """A file, what it holds, and the beginning of the keys of its widgets."""

    file: DataFile
    choices: FileChoices
    kind: KindChoice
    prefix: str
    looking: dict[str, Any]  # what is known of how it is inspected: encoding, sheet, table or query


class Draft(NamedTuple):
    """How a file would be loaded: the settings, and what stands against it."""

    looking: dict[str, Any]
    loading: dict[str, Any]
    settings: Any = None
    problem: AcvbError | None = None


def show_upload(workspace: Workspace) -> bool:
    """Draw the upload of a file; return whether one is open that is not loaded."""
    file = choose_file()
    if file is None:
        for reader in all_readers():
            reader.forget_draft()
        _show_files()
        return False
    prefix = f"up_{file_identity(file)}"
    try:
        choices = inspect_file(file, prefix)
        part = choose_part(choices, prefix)
        prefix = part_prefix(prefix, part)
        encoding = choose_encoding(file, prefix)
        known = part if encoding is None else part | {"encoding": encoding}
        prefix = prefix if encoding is None else f"{prefix}_{encoding}"
        kind = choose_kind(file, prefix, known)
    except AcvbError as error:
        show_error(error)
        return True
    prefix = f"{prefix}_{kind.reader.model}"
    return not _show_form(workspace, OpenFile(file, choices, kind, prefix, known))


def _show_files() -> None:
    """Draw the list of files that can be uploaded."""
    with st.expander("Which files can be read?", icon=":material/description:", key="readable_files"):
        for reader in all_readers():
            listed = formats.files_of(reader.kind)
            st.markdown(f"- **{', '.join(reader.kinds.values())}**: {listed}")
        st.caption("Any of them may be gzipped. You can correct what is recognised before loading.")


def _show_form(workspace: Workspace, opened: OpenFile) -> bool:
    """Draw how a file is read, with every choice open; load it on demand. Return whether it is loaded."""
    reader, prefix = opened.kind.reader, opened.prefix
    looking = _recall_options(reader, prefix) | opened.looking
    try:
        looking = reader.resolve_format(opened.file, looking, opened.kind.kind)
        schema = reader.inspect(rewind(opened.file), looking)
    except AcvbError as error:
        show_error(error)
        # What to do about a file that is not even recognised is among the options.
        with st.expander("Reading options", expanded=True, icon=":material/tune:", key=f"{prefix}_options"):
            _show_options(opened)
        return False
    actions = st.container()
    # A loaded file closes it: with another key, as the browser keeps open what it knows.
    is_open = st.session_state.get(_OPENED) != prefix
    with st.expander(
        "How the file is read", expanded=is_open, icon=":material/description:", key=f"{prefix}_how_{is_open}"
    ):
        draft = _edit_draft(opened, looking, schema)
    with actions:
        is_loaded = _show_load(workspace, opened, draft)
        if is_loaded and workspace.dataset and workspace.dataset.report.count("lone_first_line"):
            st.info(
                "The two names on the first line occur nowhere else. Are they names of columns?",
                icon=":material/help:",
            )
            _offer_first_line(prefix, names=True)
    return is_loaded


def _offer_first_line(prefix: str, **ways: bool) -> None:
    """Draw a button for each way to read the first line: `names=True` as names of the columns, `data=False` as data."""
    for way, header in ways.items():
        st.button(
            f"Read the first line as {way}", icon=":material/title:", key=f"first_line_holds_{way}",
            on_click=partial(st.session_state.update, {f"{prefix}_header": header}),
            help="You can then load the file again.",
        )  # fmt: skip


def _edit_draft(opened: OpenFile, looking: dict[str, Any], schema: Any) -> Draft:
    """Draw the first lines of a file and every choice of how it is read."""
    reader, prefix = opened.kind.reader, opened.prefix
    show_layout(reader, schema)
    loading = reader.choose_columns(schema, prefix, opened.kind)
    with st.expander("Reading options", icon=":material/tune:", key=f"{prefix}_options"):
        _show_options(opened)
        loading |= reader.choose_options(schema, prefix)
    loading |= reader.choose_place(opened.file, schema, looking, loading, prefix)
    try:
        settings = reader.make_draft(opened.file, schema, looking, loading, prefix)
    except AcvbError as error:
        return Draft(looking, loading, problem=error)
    return Draft(looking, loading, settings)


def _show_load(workspace: Workspace, opened: OpenFile, draft: Draft) -> bool:
    """Draw the name and the buttons that load a file, and why it cannot be loaded; return whether it is."""
    reader, prefix = opened.kind.reader, opened.prefix
    loading, settings, problem = draft.loading, draft.settings, draft.problem
    signature = _signature(prefix, draft.looking, loading, settings)
    changed_at_once = {name: value for name, value in loading.items() if name not in reader.read_at_once}
    rest = _signature(prefix, draft.looking, changed_at_once, settings)
    loaded = st.session_state.get(_LOADED) == signature
    refusal = "" if problem is not None else reader.refuse_draft(settings)
    if not refusal and not loaded:
        refusal = workspace.explain_no_room(file_bytes(opened.file))
    name = st.text_input(
        "Name", _name_from_file(reader, opened.file.name), max_chars=LONGEST_NAME, key=f"{prefix}_name",
        persist_state="session",
    )  # fmt: skip
    waiting = services.loadings().get(workspace.key)
    busy = waiting is not None and not waiting.is_over
    go_on = pressed = False
    if not loaded:
        blocked = problem is not None or bool(refusal) or busy
        with st.container(horizontal=True):
            go_on = st.button(
                "Load and go to Run", type="primary", icon=":material/arrow_forward:", key="load_and_run",
                disabled=blocked, help="Loads the file, and goes on to the choice of methods.",
            )  # fmt: skip
            pressed = st.button(
                "Load", icon=":material/check:", key="load", disabled=blocked,
                help="Loads the file, and shows what was read.",
            )  # fmt: skip
    skip = st.session_state.pop(_SKIP, None) == prefix
    again = not loaded and not busy and st.session_state.get(_REST) == rest
    if refusal:
        st.warning(refusal, icon=":material/warning:")
        return loaded
    if problem is not None:
        _show_problem(reader, loading, problem)
        return loaded
    if go_on or pressed or skip or (again and (waiting is None or waiting.signature != signature)):
        load = _prepare_load(opened, draft, name, skip, again)
        waiting = start_loading(workspace, name or opened.file.name, signature, load)
    if waiting is None or waiting.signature != signature:
        return loaded
    waiting.follow()
    if isinstance(waiting.error, AcvbError):
        offered = reader.can_skip_lines(loading) and "broken=" in getattr(waiting.error, "remedy", "")
        _show_problem(reader, loading, waiting.error, prefix if offered and not skip else None)
        if "header=True" in getattr(waiting.error, "remedy", ""):
            with st.container(horizontal=True):
                _offer_first_line(prefix, names=True, data=False)
        return False
    if waiting.error is not None:
        raise waiting.error
    services.loadings().pop(workspace.key, None)  # the page knows it now
    st.session_state.update({_LOADED: signature, _REST: rest, _OPENED: prefix})
    if go_on:
        st.switch_page("pages/run.py")
    st.rerun()


def _prepare_load(opened: OpenFile, draft: Draft, name: str | None, skip: bool, again: bool) -> Load:
    """Return the function that reads a file; what the user added to data that are read `again` is kept."""
    reader, file = opened.kind.reader, reopen(opened.file)

    def load(before: Dataset | None, note_share: Callable[[float], None]) -> Dataset:
        how = draft.loading | ({"broken": "skip"} if skip else {})
        if reader.tells_share(how):
            how["progress"] = note_share
        data, report = reader.load(rewind(file), name or None, draft.looking, how, draft.settings)
        if again and before is not None:
            data = reader.carry_over(before.data, data)
        return Dataset.fresh(data, report, name or data.name).like(before)

    return load


def _show_problem(
    reader: Reader, loading: dict[str, Any], problem: AcvbError, skipping: str | None = None
) -> None:
    """Draw why a file cannot be loaded, and other ways to read it; `skipping` is the prefix if lines can be skipped."""
    show_error(problem)
    if skipping is not None:
        st.button(
            "Go on without such lines", icon=":material/skip_next:", key="go_on_without",
            on_click=partial(_skip_lines, skipping),
            help="They are left out and counted in the reading report.",
        )  # fmt: skip
    other_way = reader.suggest_other_way(loading, problem)
    if other_way:
        st.caption(other_way)


def _skip_lines(prefix: str) -> None:
    """Read the file without its broken lines, from a callback."""
    st.session_state[_SKIP] = prefix


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


def _show_options(opened: OpenFile) -> None:
    """Draw how the file is inspected."""
    reader, choices, prefix = opened.kind.reader, opened.choices, opened.prefix
    if "encoding" in choices.options and "encoding" not in opened.looking:
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


def _name_from_file(reader: Reader, filename: str) -> str:
    """Return a file's name without its endings."""
    stem = filename
    for ending in (".gz", *formats.endings_of(reader.kind)):
        stem = stem.removesuffix(ending)
    return (stem or filename)[:LONGEST_NAME]
