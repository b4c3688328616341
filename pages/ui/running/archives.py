"""Runs, experiments, searches and data as one file: to download, and to import elsewhere."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from tempfile import TemporaryFile
from typing import Any, BinaryIO, cast

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.uploaded_file_manager import UploadedFile

from acvb_core import __version__
from acvb_core.core.errors import AcvbError
from acvb_core.core.files import scratch_prefix
from acvb_core.engine.executor import BackgroundTask
from acvb_core.engine.job import Job
from acvb_core.engine.run import StopRun
from acvb_core.store.archives import Chosen, ImportReport, read_archive, write_archive
from acvb_core.store.datasets import kind_of, without_original
from acvb_core.store.files import StoreError, explain_error
from acvb_core.store.studies import StudyStore
from pages.ui.shared import format as say
from pages.ui.shared import services
from pages.ui.shared.workspace import Workspace
from pages.ui.workspace.kept_data import build_dataset, shelf_of

_REFUSAL, _ROUND = "import_refusal", "import_round"
_LOG = logging.getLogger(__name__)
#: Seconds between two looks at an import.
_LOOK_SECONDS = 0.1
_ONE_FILE = "One file with {}, which another installation of ACVB can import."
_NOT_IN_IT = "The file leaves out texts that are kept on disk, and the runs on them."


def show_archives(workspace: Workspace, place: DeltaGenerator) -> None:
    """Draw a menu in its place: a file of the whole workspace, and the upload of such a file. Draw what came of it."""
    importing = None if workspace.view_only else services.imports().get(workspace.key)
    if importing is not None:
        importing.follow()
        services.imports().pop(workspace.key, None)
    # Another key each time: the menu closes over what came of the import, and does not offer the same file again.
    number = st.session_state.setdefault(_ROUND, 0)
    with place.popover("Export and import", icon=":material/drive_file_move:", key=f"archives_{number}"):
        _show_workspace_button(workspace)
        if workspace.view_only:
            return
        label = "Choose a file that was downloaded from this page"
        given = st.file_uploader(label, type=["zip"], key=f"archive_file_{number}")
        st.caption(
            "Nothing you have changes, and what you already have is skipped. Import files only from people you trust."
        )
        st.button(
            "Import", icon=":material/upload:", key="archive_import", disabled=given is None,
            on_click=_start_import, args=(workspace, given),
        )  # fmt: skip
    if _REFUSAL in st.session_state:
        _show_outcome(st.session_state.pop(_REFUSAL))
    if importing is not None:
        _show_outcome(importing.outcome)


def _show_workspace_button(workspace: Workspace) -> None:
    """Draw the button for a file of all that the workspace has."""
    books: tuple[tuple[StudyStore[Any, Any], Sequence[BackgroundTask[Any]]], ...] = (
        (services.experiments(), workspace.experiments.jobs(workspace.key)),
        (services.searches(), workspace.searches.jobs(workspace.key)),
    )
    plans = [(book, job) for book, jobs in books for job in jobs if _can_be_in_file(book, job)]
    owners = [shelf_of(workspace.key).find_owner(fingerprint) for fingerprint in workspace.removable_data]
    if workspace.jobs or plans or owners:
        jobs = _choose_able(workspace, workspace.jobs)
        st.download_button(
            "Download workspace", partial(_write_file, jobs, plans, owners), "runs.acvb.zip", "application/zip",
            key="archive_all", icon=":material/archive:", on_click="ignore", disabled=not (jobs or plans or owners),
            help=_ONE_FILE.format("all data, runs, experiments and searches") + _explain_absent(workspace.jobs, jobs),
        )  # fmt: skip
        st.caption(_NOT_IN_IT)


def _can_be_in_file(book: StudyStore[Any, Any], job: BackgroundTask[Any]) -> bool:
    try:
        return not kind_of(book.folder(job.id).plan.data).elsewhere
    except StoreError:  # another tab has just deleted it
        return False


def _choose_able(workspace: Workspace, jobs: Sequence[Job]) -> list[Job]:
    """Return the runs that can be in a file."""
    unsaved = workspace.runs.unsaved_runs(workspace.key)
    return [job for job in jobs if job.id not in unsaved and not job.outline.on_disk]


def _explain_absent(jobs: Sequence[Job], able: Sequence[Job]) -> str:
    absent = len(jobs) - len(able)
    if not absent:
        return ""
    return f" It leaves out {say.count(absent, 'run')}: not saved, or on texts that are kept on disk."


def show_archive_button(workspace: Workspace, label: str, jobs: Sequence[Job], key: str) -> None:
    """Draw the button for a file of some runs, which is written when it is pressed."""
    able = _choose_able(workspace, jobs)
    st.download_button(
        label, partial(_write_file, able), "runs.acvb.zip", "application/zip", key=key,
        icon=":material/archive:", on_click="ignore", disabled=not able,
        help=_ONE_FILE.format("these runs and their data") + _explain_absent(jobs, able),
    )  # fmt: skip


def _write_file(jobs: Sequence[Job], plans: Sequence[Chosen] = (), owners: Sequence[str] = ()) -> BinaryIO:
    file = cast(BinaryIO, TemporaryFile(prefix=scratch_prefix()))  # noqa: SIM115 - Streamlit reads it
    write_archive(services.store(), {job.id: job.label for job in jobs}, file, __version__, plans, owners)
    file.seek(0)
    return file


class Import:
    """An archive that is imported on a thread; it continues without its page. `outcome` says how it ended."""

    def __init__(self, workspace: Workspace, given: UploadedFile) -> None:
        self._workspace, self._given = workspace, given
        self._share, self.outcome = 0.0, cast("ImportReport | str", "")
        self._stop, self._over = threading.Event(), threading.Event()

    def start(self) -> None:
        """Begin."""
        threading.Thread(target=self._run, name="acvb-import", daemon=True).start()

    def stop(self) -> None:
        """End the import before its next run; what it has imported stays."""
        self._stop.set()

    def _run(self) -> None:
        try:
            self.outcome = read_archive(
                services.job_manager(), services.store(), self._workspace.key, self._given, self._given.name,
                (services.experiments(), services.searches()), partial(_keep_data, self._workspace), self._note_share,
            )  # fmt: skip
        except Exception as error:
            self.outcome = explain_error(error)
            if not isinstance(error, AcvbError):
                _LOG.exception("An archive could not be imported.")
        finally:
            self._over.set()

    def _note_share(self, share: float) -> None:
        self._share = share
        if self._stop.is_set():
            raise StopRun

    def follow(self) -> None:
        """Draw the progress and the button that stops it, until the import is over or the page is left."""
        with st.empty():
            with st.container(border=True, gap="xsmall", key="importing"):
                st.text(self._given.name)
                place = st.empty()
                st.button(
                    "Stop", icon=":material/stop:", key="import_stop", on_click=self.stop,
                    help="What was imported before stays, each run as a whole.",
                )  # fmt: skip
                while not self._over.wait(_LOOK_SECONDS):
                    place.progress(self._share, f"{self._share:.0%} imported")
            st.empty()


def _start_import(workspace: Workspace, given: UploadedFile) -> None:
    workspace.check_owner()
    st.session_state[_ROUND] += 1
    if refusal := workspace.explain_no_room(given.size):
        st.session_state[_REFUSAL] = refusal
    elif workspace.key in services.imports():
        st.session_state[_REFUSAL] = "Another file is being imported. Import this one when that is over."
    else:
        importing = services.imports()[workspace.key] = Import(workspace, given)
        importing.start()


def _keep_data(workspace: Workspace, data: Any, lines: Sequence[str], settings: Mapping[str, Any]) -> bool:
    """Put data of an archive aside, for the user to choose; return False where the workspace has them already."""
    if data.fingerprint in workspace.data_names:
        return False
    shelf_of(workspace.key).put_aside(build_dataset(data, lines, without_original(settings)))
    return True


def _show_outcome(report: ImportReport | str) -> None:
    """Draw what became of an import."""
    if isinstance(report, str):
        st.error("The file was not imported.", icon=":material/error:")
        st.text(report)
        return
    said = []
    parts = {"run": report} | report.others
    for noun, part in parts.items():
        plural = "searches" if noun == "search" else None
        if part.imported or part is report:
            said.append(f"{say.count(len(part.imported), noun, plural)} imported.")
        if part.known:
            here = "is" if len(part.known) == 1 else "are"
            deleted = ", or deleted today" if part is report else ""
            said.append(f"{say.count(len(part.known), noun, plural)} {here} here already{deleted}.")
    if report.was_stopped:
        said.append("Stopped before the end of the file: import it again to have the rest.")
    st.success(" ".join(said), icon=":material/check:")
    refused = [line for part in parts.values() for line in part.refused.items()]
    if refused:
        st.warning(f"{len(refused):,} could not be imported:", icon=":material/warning:")
        st.text("\n".join(f"{name}: {why}" for name, why in refused))
