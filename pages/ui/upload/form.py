"""The upload form: a file of any kind, its first lines, how it is read and loaded, and why it cannot be."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from acvb_core.core.errors import AcvbError, DataError
from acvb_core.data.options import OPTIONS, find_option, list_choices, list_formats, rename_arguments
from acvb_core.data.schema import Schema
from acvb_core.data.sources import formats
from acvb_core.data.sources.containers import FileChoices, inspect_choices
from acvb_core.data.sources.frames import FrameChoices
from acvb_core.store.datasets import MOST_ORIGINAL, Original
from acvb_core.store.files import StoreError
from pages.ui.shared import services
from pages.ui.shared.workspace import Workspace
from pages.ui.upload import reader as reading
from pages.ui.upload.files import DataFile, choose_file, file_bytes, file_identity, reopen, rewind
from pages.ui.upload.reader import Draft, KindChoice, OpenFile, all_readers
from pages.ui.workspace.dataset import Dataset
from pages.ui.workspace.kept_data import shelf_of

LONGEST_NAME = 80
_LOADED, _REST, _OPENED = "upload_loaded", "upload_rest", "upload_opened"
_AGAIN, _GOES_ON = "upload_again", "upload_goes_on"


def show_upload(workspace: Workspace) -> bool:
    """Draw the upload of a file; return whether one is open that is not loaded."""
    file = choose_file()
    if file is None:
        st.session_state.pop(reading.DRAFT, None)
        _show_files()
        return False
    prefix = f"up_{file_identity(file)}"
    try:
        choices = reading.keep_last(
            "upload_choices", prefix, lambda: inspect_choices(rewind(file), file.name)
        )
        looking = reading.choose_part(choices, prefix)
        prefix = _extend_prefix(prefix, looking)
        looking |= reading.choose_encoding(file, prefix)
        prefix = _extend_prefix(prefix, looking)
        kind = reading.choose_kind(file, prefix, looking)
    except AcvbError as error:
        _show_problem(error)
        return True
    return not _show_form(workspace, file, choices, kind, f"{prefix}_{kind.reader.model}", looking)


def _extend_prefix(prefix: str, looking: dict[str, Any]) -> str:
    """Return a prefix of keys that differs for each sheet, table and encoding, as each has choices of its own."""
    return f"{prefix}_{hashlib.sha256(repr(looking).encode()).hexdigest()[:12]}" if looking else prefix


def _show_files() -> None:
    """Draw the list of files that can be uploaded."""
    with st.expander("Which files can be read?", icon=":material/description:", key="readable_files"):
        for reader in all_readers():
            listed = formats.files_of(reader.kind)
            st.markdown(f"- **{', '.join(reader.kinds.values())}**: {listed}")
        st.caption("Any of them may be gzipped. You can correct what is recognised before loading.")


def _show_form(
    workspace: Workspace,
    file: DataFile,
    choices: FileChoices,
    kind: KindChoice,
    prefix: str,
    known: dict[str, Any],
) -> bool:
    """Draw how a file is read, with every choice open; load it on demand. Return whether it is loaded."""
    asked = {row: f"{prefix}_{row.name}" for row in OPTIONS if row.inspects and kind.reader.kind in row.kinds}
    given = {row.name: reading.take_value(row, st.session_state.get(key)) for row, key in asked.items()}
    looking = {name: value for name, value in given.items() if value is not None} | known

    def ask_how_to_inspect() -> None:
        for row, key in asked.items():
            of_text = row.name in ("encoding", "delimiter", "header")
            is_part = row.name in FrameChoices._fields  # chosen above
            if row.name in known or is_part or (of_text and row.name not in choices.options):
                continue
            words = list_formats(kind.reader.kind, choices.container) if row.name == "format" else None
            is_text = choices.container == "text"
            reading.ask_value(
                row, key, words=words, label=row.label if is_text else row.label.replace("line", "row")
            )

    try:
        looking, schema = kind.reader.inspect(file, looking, kind.kind)
    except AcvbError as error:
        _show_problem(error, prefix, kind)
        # What to do about a file that is not even recognised is among the options.
        with st.expander("Reading options", expanded=True, icon=":material/tune:", key=f"{prefix}_options"):
            ask_how_to_inspect()
        return False
    actions = st.container()
    # A loaded file closes it: with another key, as the browser keeps open what it knows.
    is_open = st.session_state.get(_OPENED) != prefix
    with st.expander(
        "How the file is read", expanded=is_open, icon=":material/description:", key=f"{prefix}_how_{is_open}"
    ):
        opened, draft = _edit_draft(OpenFile(file, kind, prefix, looking, schema), ask_how_to_inspect)
    with actions:
        is_loaded = _show_load(workspace, opened, draft)
        if is_loaded and workspace.dataset and workspace.dataset.report.count("lone_first_line"):
            question = "The two names on the first line occur nowhere else. Are they names of columns?"
            st.info(question, icon=":material/help:")
            _offer_choices("header=True", opened.prefix, kind, loads=True)
    return is_loaded


def _edit_draft(
    opened: OpenFile, ask_how_to_inspect: Callable[[], None]
) -> tuple[OpenFile, Draft | AcvbError]:
    """Draw the first lines of a file and every choice of how it is read; return them, and the file as it is read."""
    reader = opened.kind.reader
    show_schema(opened.schema)
    try:
        loading = reader.ask(opened)
        with st.expander("Reading options", icon=":material/tune:", key=f"{opened.prefix}_options"):
            ask_how_to_inspect()
            loading |= reading.ask_options(opened, advanced=True)
        opened = replace(opened, loading=loading)
        return opened, reader.prepare(opened)
    except AcvbError as error:
        return opened, error


def _show_load(workspace: Workspace, opened: OpenFile, draft: Draft | AcvbError) -> bool:
    """Draw the name and the buttons that load a file, and why it cannot be loaded; return whether it is."""
    reader, prefix = opened.kind.reader, opened.prefix
    signature = _sign(opened, draft)
    rest = _sign(opened, draft, reader.read_at_once)
    loaded = st.session_state.get(_LOADED) == signature
    refusal = draft.refusal if isinstance(draft, Draft) else ""
    if not refusal and not loaded:
        refusal = workspace.explain_no_room(file_bytes(opened.file))
    usual = (Path(opened.file.name.removesuffix(".gz")).stem or opened.file.name)[:LONGEST_NAME]
    name = st.text_input("Name", usual, max_chars=LONGEST_NAME, key=f"{prefix}_name", persist_state="session")
    waiting = services.loadings().get(workspace.key)
    busy = waiting is not None and not waiting.is_over
    go_on = pressed = False
    if not loaded:
        blocked = isinstance(draft, AcvbError) or bool(refusal) or busy
        with st.container(horizontal=True):
            go_on = st.button(
                "Load and go to Run", type="primary", icon=":material/arrow_forward:", key="load_and_run",
                disabled=blocked, help="Loads the file, and continues to the choice of methods.",
            )  # fmt: skip
            pressed = st.button(
                "Load", icon=":material/check:", key="load", disabled=blocked,
                help="Loads the file, and shows what was read.",
            )  # fmt: skip
    if go_on or pressed:  # kept for the next try, if this one fails
        st.session_state[_GOES_ON] = go_on
    asked, more = st.session_state.pop(_AGAIN, ("", {}))
    again = not loaded and not busy and st.session_state.get(_REST) == rest
    if refusal:
        st.warning(refusal, icon=":material/warning:")
        return loaded
    if isinstance(draft, AcvbError):
        _show_problem(draft, prefix, opened.kind)
        return loaded
    is_new = waiting is None or waiting.signature != signature
    if go_on or pressed or (asked == prefix and not loaded) or (again and is_new):
        load = _prepare_load(opened, draft, name or "", more, keep=again)
        waiting = start_loading(workspace, name or opened.file.name, signature, load)
    if waiting is None or waiting.signature != signature:
        return loaded
    waiting.follow()
    if isinstance(waiting.error, AcvbError):
        _show_problem(waiting.error, prefix, opened.kind, loads=True, patient=draft.patient and not more)
        return False
    if waiting.error is not None:
        raise waiting.error
    services.loadings().pop(workspace.key, None)  # the page knows it now
    st.session_state.update({_LOADED: signature, _REST: rest, _OPENED: prefix})
    if st.session_state.pop(_GOES_ON, False):
        st.switch_page("pages/run.py")
    st.rerun()


def _prepare_load(opened: OpenFile, draft: Draft, name: str, more: dict[str, Any], *, keep: bool) -> Load:
    """Return the function that reads a file; with `keep` it has what the user added to data that are read again."""
    reader, file = opened.kind.reader, reopen(opened.file)

    def load(before: Dataset | None, note_share: Callable[[float], None]) -> Dataset:
        progress = {"progress": note_share} if draft.patient else {}
        loaded = draft.load(rewind(file), name=name or None, **more, **progress)
        data = loaded.data if before is None or not keep else reader.carry_over(before.data, loaded.data)
        report = replace(loaded.report, options=opened.looking | opened.loading)
        dataset = Dataset.fresh(data, report, name or data.name).like(before)
        return replace(dataset, original=_keep_original(file, loaded.schema))

    return load


def _keep_original(file: DataFile, schema: Schema | None) -> Original | None:
    """Keep a list of links that is read, to give it back with clusters; None if it is too large, or another file."""
    if schema is None or schema.format != "edges" or file_bytes(file) > MOST_ORIGINAL:
        return None
    opened = rewind(file)
    try:
        content = opened.read_bytes() if isinstance(opened, Path) else opened.read()
        return services.store().keep_original(file.name, content)
    except (OSError, StoreError):
        return None  # the data themselves are loaded; why they cannot be kept is said of them


def _show_problem(
    error: AcvbError,
    prefix: str = "",
    kind: KindChoice | None = None,
    *,
    loads: bool = False,
    patient: bool = False,
) -> None:
    """Draw why a file cannot be read, and a button for each choice that the remedy names."""
    show_error(error, readers={f"load_{one.kind}": next(iter(one.kinds.values())) for one in all_readers()})
    remedy = getattr(error, "remedy", "")
    if "encoding" in remedy:
        st.caption("The encoding is among the reading options.")
    if patient and "broken=" in remedy:
        st.button(
            "Continue without such lines", icon=":material/skip_next:", key="go_on_without",
            on_click=st.session_state.update, args=({_AGAIN: (prefix, {"broken": "skip"})},),
            help="They are left out and counted in the reading report.",
        )  # fmt: skip
    if kind is not None:
        _offer_choices(remedy, prefix, kind, loads=loads)


def _offer_choices(remedy: str, prefix: str, kind: KindChoice, *, loads: bool) -> None:
    """Draw a button for each choice that a remedy names; with `loads`, it loads the file again, too."""
    with st.container(horizontal=True):
        for name, value in dict.fromkeys(list_choices(remedy)):
            row = find_option(name)
            if row is None or kind.reader.kind not in row.kinds or value not in row.choices:
                continue
            state: dict[str, Any] = {f"{prefix}_{name}": value}
            label = f"{row.label}: {row.words_of(value)}"
            if name == "domains":  # which is chosen by the kind of data
                state, label = {kind.key: row.words_of(value)}, f"Read it as a {row.words_of(value)}"
            elif not row.label:
                continue
            st.button(
                label, icon=":material/check:", key=f"choose_{name}_{value}", on_click=st.session_state.update,
                args=(state | ({_AGAIN: (prefix, {})} if loads else {}),),
            )  # fmt: skip


def _sign(opened: OpenFile, draft: Draft | AcvbError, skip: Collection[str] = ()) -> str:
    """Return a text that identifies one way to read a file, but for some options."""
    short = {
        name: hashlib.sha256(value).hexdigest() if isinstance(value, bytes) else value
        for name, value in opened.options.items()
        if name not in skip
    }
    return repr((opened.prefix, short, draft.identity if isinstance(draft, Draft) else None))


#: Pixels of a row of a table, and of a whole one at most.
_ROW_HEIGHT, _MOST_HEIGHT = 35, 245
#: Columns that are shown.
_MOST_COLUMNS = 100


def show_schema(schema: Schema) -> None:
    """Draw the recognised format, and the first lines of the file."""
    facts = [row.title for row in formats.formats_of(schema.kind) if row.name == schema.format]
    columnar = {row.name: row for row in formats.FORMATS if row.family == "columns"}
    container = columnar.get(schema.container)
    unit = "line" if container is None else "row"
    if container is not None and container.name != schema.format:
        facts.append(container.title)
    if schema.delimiter:
        delimiter = find_option("delimiter")
        words = delimiter.choices.get(schema.delimiter, "other") if delimiter is not None else ""
        facts += [f"{words}-separated", str(schema.encoding).removesuffix("-sig")]
    if schema.delimiter or (container is not None and "header" in container.options):
        facts.append(f"first {unit} holds names" if schema.header else f"no {unit} of names")
    if schema.gzipped:
        facts.append("gzipped")
    with st.container(horizontal=True, gap="xsmall"):
        st.badge("recognised", icon=":material/check:", color="green")
        for fact in facts:
            st.badge(fact, color="gray")
    if not schema.rows:
        return
    lines = schema.lines or range(1, len(schema.rows) + 1)
    shown, names = [row[:_MOST_COLUMNS] for row in schema.rows], reading.name_columns(schema)[:_MOST_COLUMNS]
    rows = pd.DataFrame(shown, columns=names, index=pd.Index(lines, name=unit), dtype=str)
    st.dataframe(rows, key="first_rows", height=min(_MOST_HEIGHT, _ROW_HEIGHT * (len(rows) + 1) + 2))
    if len(schema.rows[0]) > _MOST_COLUMNS:
        st.caption(f"The first {_MOST_COLUMNS} of {len(schema.rows[0]):,} columns.")


#: An argument of a library function that the page does not ask for: (broken="skip").
_ARGUMENT = r" \((?:\w+=[^()]*|\w+_\w+)\)"


def show_error(error: AcvbError, key: str = "problem", readers: Mapping[str, str] | None = None) -> None:
    """Draw an error, its place, the value found there and the remedy. Nothing of it is Markdown."""
    with st.container(border=True, gap="xsmall", key=key):
        st.badge("We couldn't read this file with these settings", icon=":material/error:", color="red")
        if not isinstance(error, DataError):
            st.text(rename_arguments(str(error), _name_setting))
            return
        st.text(f"{error.what[:1].upper()}{error.what[1:]}.")
        unit = error.unit.capitalize()
        place = {"File": error.source, unit: error.line, "Column": error.column, "Found": error.value}
        with st.container(gap=None, key=f"{key}_place"):  # lines are broken where a window is narrow
            for name, at in place.items():
                if at is not None:
                    st.text(f"{name}: {at:,}" if isinstance(at, int) else f"{name}: {at}")
        st.text(name_settings(error.remedy, readers or {}))


def name_settings(remedy: str, readers: Mapping[str, str]) -> str:
    """Return a remedy that names the settings on the page in place of functions and arguments."""
    for function, kind in readers.items():
        remedy = re.sub(rf"\b{function}\b", f"“{kind}” above", remedy)
    return re.sub(_ARGUMENT, "", rename_arguments(remedy, _name_setting))


def _name_setting(name: str, value: Any) -> str | None:
    row = find_option(name)
    if row is None or not row.label:
        return None
    return f"“{row.label}”" if value in (None, ...) else f"“{row.label}: {row.words_of(value)}”"


#: Seconds between two looks at a loading.
_LOOK_SECONDS = 0.1
#: (data in use, called with the share that is read) -> the data of the file.
Load = Callable[[Dataset | None, Callable[[float], None]], Dataset]


class Loading:
    """A file that is being loaded, or what became of it."""

    def __init__(self, name: str, signature: str) -> None:
        self.name = name  #: of the data
        self.signature = signature  #: identifies the file and how it is read
        self.share: float | None = None  #: part that is read; None if it is not known
        self.error: Exception | None = None  #: why it could not be loaded
        self.was_seen = False  #: somebody has waited for its end
        self._over = threading.Event()

    @property
    def is_over(self) -> bool:
        """Return whether the file is loaded, or could not be."""
        return self._over.is_set()

    def run(self, workspace: Workspace, load: Load) -> None:
        """Load the file and use its data; put them aside if the user has chosen others in the same tab meanwhile."""
        before, tab = workspace.dataset, workspace.tab
        wanted = tab and tab.wanted
        try:
            dataset = load(before, self._note_share)
            if (tab and tab.wanted) == wanted:
                workspace.set_dataset(dataset)
            else:
                shelf_of(workspace.key).put_aside(dataset)
        except Exception as error:
            self.error = error
        finally:
            self._over.set()

    def _note_share(self, share: float) -> None:
        self.share = min(share, 1.0)

    def follow(self) -> None:
        """Draw the progress until the loading is over. Who leaves the page ends this, and not the loading."""
        with st.spinner("Reading"):
            place = st.empty()
            while not self._over.wait(_LOOK_SECONDS):
                place.empty() if self.share is None else place.progress(self.share, f"{self.share:.0%} read")
            place.empty()
        self.was_seen = True


def start_loading(workspace: Workspace, name: str, signature: str, load: Load) -> Loading:
    """Start to load a file."""
    workspace.check_owner()
    loading = services.loadings()[workspace.key] = Loading(name, signature)
    threading.Thread(target=loading.run, args=(workspace, load), name="acvb-load", daemon=True).start()
    return loading
