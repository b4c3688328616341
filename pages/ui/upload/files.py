"""The file of the user: uploaded, or in a folder of the server, for files that are too big to upload."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

import streamlit as st

from acvb_core.core.errors import DataError
from acvb_core.store.datasets import MOST_ORIGINAL
from pages.ui.shared import format as say

#: Environment variable that names the folder.
FILES = "ACVB_FILES"
MOST_LISTED = 1000
MOST_NAMED = 5
_KEPT, _ON_SERVER, _REMOVED = "upload_kept", "upload_server", "upload_removed"
_FIND = "upload_find"
_SETTLED_NS = 2_000_000_000

#: A file of the server has a path; an uploaded one lies in memory.
DataFile = BinaryIO | Path


def choose_file() -> DataFile | None:
    """Draw the uploader of any file, and the choice of one on the server; it stays chosen when the page is left."""
    listed, notes = list_server_files()
    chosen = st.session_state.get(_ON_SERVER)
    if len(listed) == MOST_LISTED or st.session_state.get(_FIND):
        find = "Find a file on the server"
        wanted = st.text_input(find, key=_FIND, placeholder="part of its name", persist_state="session")
        listed, notes = list_server_files(wanted)
    if chosen is not None and chosen not in listed:  # it stays chosen when others are looked for
        listed = [chosen, *listed]
    if listed:
        chosen = st.selectbox(
            "File on the server",
            [None, *listed],
            format_func=_label,
            key=_ON_SERVER,
            persist_state="session",
            help=f"Files in the folder that {FILES} named when the server started. Use it for files too big to upload.",
        )
    for note in notes:
        st.text(note)  # names of files: no Markdown
    if chosen is not None:
        return chosen
    removed = st.session_state.get(_REMOVED, 0)
    given = st.file_uploader(
        "Any file: links, texts, word counts or a table",
        key=f"upload_{removed}" if removed else "upload",
        help=f"What it holds is recognised. A list of links of up to {say.size(MOST_ORIGINAL)} is kept with the data, "
        "to be given back with clusters.",
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
    """Release an uploaded file, or one on the server."""
    st.session_state.pop(_KEPT, None)
    if _ON_SERVER in st.session_state:
        st.session_state[_ON_SERVER] = None
    # An uploader cannot be emptied: another one takes its place.
    st.session_state[_REMOVED] = st.session_state.get(_REMOVED, 0) + 1


def list_server_files(wanted: str = "") -> tuple[list[Path], list[str]]:
    """Return the files in the folder that the server's environment names, and notes on those that are not offered.

    The files are sorted by name, without hidden files, and without those in folders within. `wanted` are words that
    their names contain, in letters of any case.
    """
    folder = _server_folder()
    if folder is None:
        return [], []
    try:
        changed = folder.stat().st_mtime_ns
        # The time of a folder is coarse: what changes right after another change may leave it as it was.
        settled = time.time_ns() - changed > _SETTLED_NS
        files, links = _read_names(folder, changed, 0 if settled else time.time_ns())
    except OSError as error:
        return [], [f"The server cannot read the folder that {FILES} names: {error.strerror}."]
    notes = []
    if links:
        named = ", ".join(links[:MOST_NAMED]) + (", …" if len(links) > MOST_NAMED else "")
        notes.append(
            f"Links are not offered, as they may lead out of the folder: {named}. "
            "Copy the files into the folder instead."
        )
    words = wanted.casefold().split()
    found = [name for name in files if all(word in name.casefold() for word in words)]
    if words and not found:
        notes.append("No file has such a name.")
    elif len(found) > MOST_LISTED:
        such = "such files" if words else "files"
        notes.append(
            f"Only the first {MOST_LISTED:,} of {len(found):,} {such} are listed. Enter a part of the name above."
        )
    return [folder / name for name in found[:MOST_LISTED]], notes


@lru_cache(maxsize=1)
def _read_names(folder: Path, changed: int, moment: int) -> tuple[Sequence[str], Sequence[str]]:
    """Return the names of the files and of the links in a folder, sorted; read once for each change and moment."""
    with os.scandir(folder) as entries:
        shown = [entry for entry in entries if not entry.name.startswith(".")]
    links = sorted(entry.name for entry in shown if entry.is_symlink())
    files = (entry.name for entry in shown if not entry.is_symlink() and entry.is_file())
    return sorted(files, key=str.lower), links


def _server_folder() -> Path | None:
    """Return the folder of the server's files, without links in its own path."""
    named = os.environ.get(FILES)
    return Path(named).expanduser().resolve() if named else None


def _stat(path: Path) -> os.stat_result | None:
    """Return what the server knows of a file; None of one that has gone."""
    try:
        return path.stat()
    except OSError:
        return None


def file_identity(file: DataFile) -> str:
    """Return a text that identifies a file."""
    if isinstance(file, Path):
        known = _stat(file)
        return file.name if known is None else f"{file.name}_{known.st_mtime_ns}"
    return str(getattr(file, "file_id", file.name))


def file_bytes(file: DataFile) -> int:
    """Return the size of a file; 0 of one that has gone."""
    if not isinstance(file, Path):
        return file.seek(0, os.SEEK_END)
    known = _stat(file)
    return 0 if known is None else known.st_size


def _label(path: Path | None) -> str:
    return "none: upload one" if path is None else f"{path.name} ({say.size(file_bytes(path))})"


def rewind(file: DataFile) -> DataFile:
    """Return the file, ready to be read from its start; DataError if it has left the folder that is offered."""
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
    """Return the file for a reader of its own, which may continue while others read it."""
    if isinstance(file, Path):
        return file
    file.seek(0)
    own = io.BytesIO(file.read())  # the same bytes, not a copy of them
    own.name = file.name
    return own
