"""Runs with their data as one file: to download, and to import from another installation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from tempfile import TemporaryFile
from typing import BinaryIO, cast

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.uploaded_file_manager import UploadedFile

from acvb_core import __version__
from acvb_core.core.errors import AcvbError
from acvb_core.engine.job import Job
from acvb_core.store.archives.reading import ImportReport, read_archive
from acvb_core.store.archives.writing import write_archive
from acvb_core.store.datasets import kind_of
from pages.ui.shared import format as say
from pages.ui.shared import services
from pages.ui.shared.workspace import Workspace

_REPORT, _ROUND = "import_report", "import_round"
_ONE_FILE = "One file with these runs and their data, which another installation of ACVB can import."


def show_archives(workspace: Workspace, place: DeltaGenerator) -> None:
    """Draw a menu in its place: a file of the whole workspace, and the upload of such a file. Draw what came of it."""
    with place.popover("Export and import", icon=":material/drive_file_move:", key="archives"):
        jobs = workspace.jobs
        if jobs:
            show_archive_button(workspace, "Download workspace", jobs, "archive_all")
        if workspace.view_only:
            return
        # Another key each time: the file that was imported is not offered again.
        number = st.session_state.setdefault(_ROUND, 0)
        given = st.file_uploader(
            "Choose a file of runs that was downloaded from this page",
            type=["zip"],
            key=f"archive_file_{number}",
        )
        st.caption(
            "Your runs stay as they are. Runs that you already have are left out. Import files only from people you "
            "trust."
        )
        st.button(
            "Import", icon=":material/upload:", key="archive_import", disabled=given is None,
            on_click=_import_runs, args=(workspace, given),
        )  # fmt: skip
    _show_report()


def show_archive_button(workspace: Workspace, label: str, jobs: Sequence[Job], key: str) -> None:
    """Draw the button for a file of some runs, which is written when it is pressed."""
    unsaved = workspace.unsaved
    able = [job for job in jobs if job.id not in unsaved and not kind_of(job.problem.data).elsewhere]
    absent = len(jobs) - len(able)
    left_out = f" It leaves out {say.count(absent, 'run')}: not saved, or on texts that are kept on disk."
    st.download_button(
        label, partial(_write_file, able), "runs.acvb.zip", "application/zip", key=key,
        icon=":material/archive:", on_click="ignore", disabled=not able,
        help=_ONE_FILE + (left_out if absent else ""),
    )  # fmt: skip


def _write_file(jobs: Sequence[Job]) -> BinaryIO:
    file = cast(BinaryIO, TemporaryFile())  # noqa: SIM115 - Streamlit reads it
    write_archive(services.store(), {job.id: job.label for job in jobs}, file, __version__)
    file.seek(0)
    return file


def _import_runs(workspace: Workspace, given: UploadedFile) -> None:
    workspace.check_owner()
    st.session_state[_ROUND] += 1
    if refusal := workspace.explain_no_room(given.size):
        st.session_state[_REPORT] = refusal
        return
    try:
        st.session_state[_REPORT] = read_archive(
            services.job_book(), services.store(), workspace.key, given, given.name
        )
    except AcvbError as error:
        st.session_state[_REPORT] = str(error)


def _show_report() -> None:
    """Draw what became of the last import, once."""
    report = st.session_state.pop(_REPORT, None)
    if report is None:
        return
    if not isinstance(report, ImportReport):
        st.error("The file was not imported.", icon=":material/error:")
        st.text(report)
        return
    said = [f"{say.count(len(report.imported), 'run')} imported."]
    if report.known:
        here = "is" if len(report.known) == 1 else "are"
        said.append(f"{say.count(len(report.known), 'run')} {here} here already, or deleted today.")
    st.success(" ".join(said), icon=":material/check:")
    if report.refused:
        st.warning(
            f"{say.count(len(report.refused), 'run')} could not be imported:", icon=":material/warning:"
        )
        st.text("\n".join(f"{name}: {why}" for name, why in report.refused.items()))
