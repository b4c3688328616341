"""The plans of workspaces, experiments or searches: kept run by run, to go on where they were after an interruption."""

from __future__ import annotations

import json
import logging
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Generic

from acvb_core.core.errors import AcvbError
from acvb_core.engine.background import ExecutorChoice
from acvb_core.engine.study import StudyJob, StudyT
from acvb_core.store.codecs import is_moment
from acvb_core.store.files import DAMAGE, LimitedLock, StoreError, explain_error, file_bytes, replace_file
from acvb_core.store.index import choose_id
from acvb_core.store.runs import RunStore
from acvb_core.store.studies.study_folder import PlanT, StudyFolder

_ABOUT = "about.json"
_LOG = logging.getLogger(__name__)


class StudyStore(Generic[PlanT, StudyT]):
    """All plans of one kind in a store.

    The data of a plan are kept with those of runs, in a row of their own.

    `kind`: the folder of one plan.
    `version`: of the package.
    """

    def __init__(
        self, kind: type[StudyFolder[PlanT, StudyT]], executor: ExecutorChoice, store: RunStore, version: str
    ) -> None:
        self.kind = kind
        self._executor, self._store, self._version = executor, store, version
        self._folder = store.folder / kind.place
        self._lock = LimitedLock(f"A plan ({kind.noun}) is being listed, saved or deleted")
        self._jobs: dict[str, dict[str, StudyJob[StudyT]]] = {}
        self._unreadable: dict[str, dict[str, str]] = {}
        self._folders: dict[str, StudyFolder[PlanT, StudyT]] = {}
        self._names: dict[str, str] = {}

    def jobs(self, workspace: str) -> list[StudyJob[StudyT]]:
        """Return the jobs of a workspace, oldest first; one that was interrupted can go on."""
        with self._lock:
            return sorted(self._shelf(workspace).values(), key=lambda job: job.created)

    def unreadable(self, workspace: str) -> dict[str, str]:
        """Return why plans could not be read, by id."""
        with self._lock:
            self._shelf(workspace)
            return dict(self._unreadable[workspace])

    def owners(self, workspace: str) -> list[str]:
        """Return the names under which the store keeps the data of a workspace's plans."""
        return [self._data_row(job.id) for job in self.jobs(workspace)]

    def used_bytes(self, workspace: str) -> int:
        """Return the bytes of the files of a workspace's plans, without their data."""
        return sum(file_bytes(self._folder / job.id) for job in self.jobs(workspace))

    def name(self, job_id: str) -> str:
        """Return the name of a plan's data."""
        return self._names.get(job_id, "")  # another session may have deleted it just now

    def folder(self, job_id: str) -> StudyFolder[PlanT, StudyT]:
        """Return the folder of a plan.

        Raises StoreError: it is gone; another session may have deleted it just now.
        """
        folder = self._folders.get(job_id)
        if folder is None:
            raise StoreError(f"This {self.kind.noun} is not there any more; it was deleted.")
        return folder

    def find_owner(self, job_id: str) -> str | None:
        """Return the workspace of a plan, "" where it does not say whose it is; None where there is no such plan."""
        folder = self._folder / job_id
        if not folder.exists():
            return None
        try:
            return str(json.loads((folder / _ABOUT).read_text(encoding="utf-8"))["workspace"])
        except (OSError, *DAMAGE):
            return ""

    def add(self, workspace: str, plan: PlanT, name: str) -> StudyJob[StudyT]:
        """Start a plan on data of this name.

        Raises StoreError: it cannot be kept.
        """
        job_id = uuid.uuid4().hex[:12]
        with self._lock:
            self._claim(job_id)
            with self._undo_faults(job_id):
                self._shelf(workspace)
                folder = self._make_folder(job_id, plan, self._version)
                job = self._build_job(folder, job_id, workspace, begun=False)
                self._place(workspace, folder, job, name)
        job.start()
        return job

    def adopt(
        self, workspace: str, job_id: str, kept: StudyFolder[PlanT, StudyT], created: float, name: str
    ) -> str | None:
        """Take a plan that another store kept, with its runs, which were read before; return its id here.

        Returns None if the workspace has it already. If another workspace has a plan of this id, this one gets
        another id. What interrupts this leaves nothing of the plan.

        Raises StoreError: it cannot be kept.
        """
        with self._lock:
            chosen = choose_id(self.find_owner, workspace, job_id)
            if chosen is None:
                return None
            self._claim(chosen)
            with self._undo_faults(chosen):
                self._shelf(workspace)
                folder = self._make_folder(chosen, kept.plan, kept.version)
                folder.copy_lines(kept)
                job = self._build_job(folder, chosen, workspace, begun=True)
                job.created = created
                self._place(workspace, folder, job, name)
        return chosen

    def remove(self, workspace: str, job_id: str) -> None:
        """Stop a job and delete its plan with its runs.

        Raises StoreError: it cannot be deleted.
        """
        with self._lock:
            job = self._shelf(workspace).pop(job_id, None)
            known = job is not None or self._unreadable[workspace].pop(job_id, None) is not None
            if not known:
                return
            self._folders.pop(job_id, None)
            self._names.pop(job_id, None)
        if job is not None:
            job.stop()
            job.wait(10.0)  # so that it writes no last line
        with self._lock:  # nobody takes a plan of this id until its data are forgotten, too
            if self.find_owner(job_id) not in (None, "", workspace):
                raise StoreError(f"This {self.kind.noun} belongs to another workspace. Nothing was deleted.")
            try:
                shutil.rmtree(self._folder / job_id)
            except OSError as error:
                raise StoreError(
                    f"{self._folder / job_id} cannot be deleted: {error.strerror or error}."
                ) from None
            self._store.forget_dataset(self._data_row(job_id))

    def close(self) -> None:
        """Stop all jobs; the runs that are over are kept already."""
        with self._lock:
            jobs = [job for shelf in self._jobs.values() for job in shelf.values()]
        for job in jobs:
            if job.inspect().status.active:
                job.stop()

    @contextmanager
    def _undo_faults(self, job_id: str) -> Iterator[None]:
        """Leave nothing of a plan that could not be kept."""
        try:
            yield
        except BaseException:
            shutil.rmtree(self._folder / job_id, ignore_errors=True)
            with suppress(StoreError):
                self._store.forget_dataset(self._data_row(job_id))
            raise

    def _claim(self, job_id: str) -> None:
        """Make the folder of a plan: whoever makes it has the id.

        Raises StoreError: it is there already, or cannot be made.
        """
        try:
            (self._folder / job_id).mkdir(parents=True)
        except OSError as error:
            raise StoreError(
                f"The folder of the {self.kind.noun} {job_id} cannot be made: {error.strerror or error}."
            ) from None

    def _make_folder(self, job_id: str, plan: PlanT, version: str) -> StudyFolder[PlanT, StudyT]:
        folder = self.kind(self._folder / job_id, plan, version)
        self._store.save_dataset(self._data_row(job_id), folder.data, [], {})
        return folder

    def _build_job(
        self, folder: StudyFolder[PlanT, StudyT], job_id: str, workspace: str, *, begun: bool
    ) -> StudyJob[StudyT]:
        """Return the job of a plan.

        Raises StoreError: a run that was kept is damaged.
        """
        return StudyJob(
            folder.plan,
            folder.read(),
            self._executor,
            folder.append,
            begun=begun,
            job_id=job_id,
            owner=workspace,
        )

    def _place(
        self, workspace: str, folder: StudyFolder[PlanT, StudyT], job: StudyJob[StudyT], name: str
    ) -> None:
        """Put a job on a shelf; from now on it is found again."""
        about = {"workspace": workspace, "created": job.created, "name": name}
        with replace_file(self._folder / job.id / _ABOUT) as file:
            file.write(json.dumps(about).encode())
        self._jobs[workspace][job.id] = job
        self._folders[job.id], self._names[job.id] = folder, name

    def _shelf(self, workspace: str) -> dict[str, StudyJob[StudyT]]:
        if workspace not in self._jobs:
            self._jobs[workspace], self._unreadable[workspace] = {}, {}
            for path in sorted(self._folder.glob(f"*/{_ABOUT}")):
                self._read(workspace, path)
        return self._jobs[workspace]

    def _read(self, workspace: str, path: Path) -> None:
        folder, job_id = path.parent, path.parent.name
        try:
            about: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            owner = about["workspace"]
        except (OSError, ValueError, TypeError, KeyError) as error:
            # Nobody may see or delete what may be another's.
            _LOG.warning("%s does not say whose it is, and is left alone: %s", path, error)
            return
        if owner != workspace:
            return
        try:
            stored = self._store.load_dataset(self._data_row(job_id))
            if stored is None:
                raise StoreError("Its data are gone.")
            kept = self.kind.reopen(folder, stored[0])
            job = self._build_job(kept, job_id, workspace, begun=True)
            job.created = float(about.get("created", time.time()))
            if not is_moment(job.created):
                raise StoreError(f"It was made {job.created!r} s after 1970, which cannot be.")
        except (AcvbError, OSError, ValueError, TypeError, AttributeError) as error:
            self._unreadable[workspace][job_id] = explain_error(error)
            return
        self._jobs[workspace][job_id] = job
        self._folders[job_id], self._names[job_id] = kept, str(about.get("name", stored[0].name))

    def _data_row(self, job_id: str) -> str:
        """Return the name under which the data of a plan are kept, where workspaces keep theirs."""
        return f"{self.kind.noun} {job_id}"
