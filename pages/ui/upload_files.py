"""The file that is brought: uploaded, or one of a folder of the server's, for files that are too big to upload."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

import streamlit as st

from pages.ui import format as say

#: Environment variable that names the folder.
FILES = "ACVB_FILES"
MOST_LISTED = 1000
_KEPT, _ON_SERVER = "upload_kept", "upload_server"

#: A file of the server's is known by its path; what is uploaded lies in memory.
Brought = BinaryIO | Path


def brought_file(help: str) -> Brought | None:
    """Draw the uploader, and the choice of a file on the server; the file stays chosen when the page is left."""
    listed = server_files()
    chosen = None
    if listed:
        chosen = st.selectbox(
            "File on the server",
            [None, *listed],
            format_func=lambda path: "none: upload one" if path is None else _told(path),
            key=_ON_SERVER,
            persist_state="session",
            help=f"Those in the folder that {FILES} names when the server is started: for files too big to upload.",
        )
    if chosen is not None:
        return chosen
    given = st.file_uploader("File", key="upload", help=help)
    if given is not None:
        st.session_state[_KEPT] = given
    kept = st.session_state.get(_KEPT)
    if kept is not None and given is None:
        with st.container(border=True, gap="xsmall"):
            st.text(kept.name)
            st.caption(f"{say.size(kept.size)}, uploaded before")
            st.button("Forget it", icon=":material/close:", key="forget", on_click=forget_file)
    return kept


def forget_file() -> None:
    """Let go of an uploaded file."""
    st.session_state.pop(_KEPT, None)


def server_files() -> list[Path]:
    """Return the files in the folder that the server's environment names, by name; folders within are left out."""
    named = os.environ.get(FILES)
    if not named:
        return []
    folder = Path(named).expanduser()
    try:
        found = [path for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")]
    except OSError:
        return []
    return sorted(found, key=lambda path: path.name.lower())[:MOST_LISTED]


def identity(file: Brought) -> str:
    """Return what tells a file from others."""
    if isinstance(file, Path):
        try:
            return f"{file.name}_{file.stat().st_mtime_ns}"
        except OSError:
            return file.name
    return str(getattr(file, "file_id", file.name))


def rewound(file: Brought) -> Brought:
    """Return the file, to be read from its start."""
    if not isinstance(file, Path):
        file.seek(0)
    return file


def _told(path: Path) -> str:
    try:
        return f"{path.name} ({say.size(path.stat().st_size)})"
    except OSError:
        return path.name
