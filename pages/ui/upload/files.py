"""The file of the user: uploaded, or in a folder of the server, for files that are too big to upload."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import BinaryIO

import streamlit as st

from acvb_core.core.errors import DataError
from pages.ui.shared import format as say

#: Environment variable that names the folder.
FILES = "ACVB_FILES"
MOST_LISTED = 1000
MOST_NAMED = 5
_KEPT, _ON_SERVER = "upload_kept", "upload_server"

#: A file of the server has a path; an uploaded one lies in memory.
DataFile = BinaryIO | Path


def choose_file() -> DataFile | None:
    """Draw the uploader of any file, and the choice of one on the server; it stays chosen when the page is left."""
    listed, notes = list_server_files()
    chosen = None
    if listed:
        chosen = st.selectbox(
            "File on the server",
            [None, *listed],
            format_func=lambda path: "none: upload one" if path is None else _label(path),
            key=_ON_SERVER,
            persist_state="session",
            help=f"Files in the folder that {FILES} named when the server started. Use it for files too big to upload.",
        )
    for note in notes:
        st.text(note)  # names of files: no Markdown
    if chosen is not None:
        return chosen
    given = st.file_uploader(
        "Any file: links, texts, word counts or a table", key="upload", help="What it holds is recognised."
    )
    if given is not None:
        st.session_state[_KEPT] = given
    kept = st.session_state.get(_KEPT)
    if kept is not None and given is None:
        with st.container(border=True, gap="xsmall"):
            st.text(kept.name)
            st.caption(f"{say.size(kept.size)}, uploaded before")
            st.button("Remove file", icon=":material/close:", key="forget", on_click=forget_file)
    return kept


def forget_file() -> None:
    """Release an uploaded file."""
    st.session_state.pop(_KEPT, None)


def list_server_files() -> tuple[list[Path], list[str]]:
    """List the files in the folder that the server's environment names.

    Returns
    -------
    files : list of Path
        Sorted by name, without hidden files, and without those in folders within.
    notes : list of str
        Files that are not offered, and the reason.
    """
    folder = _server_folder()
    if folder is None:
        return [], []
    try:
        visible = [path for path in folder.iterdir() if not path.name.startswith(".")]
        links = sorted(path.name for path in visible if path.is_symlink())
        files = [path for path in visible if not path.is_symlink() and path.is_file()]
    except OSError as error:
        return [], [f"The server cannot read the folder that {FILES} names: {error.strerror}."]
    notes = []
    if links:
        named = ", ".join(links[:MOST_NAMED]) + (", …" if len(links) > MOST_NAMED else "")
        notes.append(
            f"Links are not offered, as they may lead out of the folder: {named}. "
            "Copy the files into the folder instead."
        )
    if len(files) > MOST_LISTED:
        notes.append(f"Only the first {MOST_LISTED:,} of {len(files):,} files are listed.")
    return sorted(files, key=lambda path: path.name.lower())[:MOST_LISTED], notes


def _server_folder() -> Path | None:
    """Return the folder of the server's files, without links in its own path."""
    named = os.environ.get(FILES)
    return Path(named).expanduser().resolve() if named else None


def file_identity(file: DataFile) -> str:
    """Return a text that identifies a file."""
    if isinstance(file, Path):
        try:
            return f"{file.name}_{file.stat().st_mtime_ns}"
        except OSError:
            return file.name
    return str(getattr(file, "file_id", file.name))


def file_bytes(file: DataFile) -> int:
    """Return the size of a file; 0 of one that has gone."""
    if not isinstance(file, Path):
        return file.seek(0, os.SEEK_END)
    try:
        return file.stat().st_size
    except OSError:
        return 0


def rewind(file: DataFile) -> DataFile:
    """Return the file, ready to be read from its start.

    Raises
    ------
    DataError
        A file of the server has become a link, or lies in no folder that the server offers.
    """
    if not isinstance(file, Path):
        file.seek(0)
    elif file.parent != _server_folder() or file.resolve() != file:
        raise DataError(
            f"this is a link, or lies outside the folder that {FILES} names",
            source=file.name,
            remedy="Copy the file itself into that folder.",
        )
    return file


def reopen(file: DataFile) -> DataFile:
    """Return the file for a reader of its own, which may go on while others read it."""
    if isinstance(file, Path):
        return file
    file.seek(0)
    own = io.BytesIO(file.read())  # the same bytes, not a copy of them
    own.name = file.name
    return own


def _label(path: Path) -> str:
    try:
        return f"{path.name} ({say.size(path.stat().st_size)})"
    except OSError:
        return path.name
