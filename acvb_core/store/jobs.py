"""The jobs of every workspace: kept in the store while they run and when they end, found again after a restart."""

from __future__ import annotations

import threading
import time
import traceback
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

from acvb_core.core.errors import AcvbError
from acvb_core.core.protocols import can_keep
from acvb_core.data.report import plural
from acvb_core.engine.executor import ExecutorChoice, Status
from acvb_core.engine.job import Job
from acvb_core.engine.prepared import PreparedRun, RunLabel, RunSpec, clean_name, name_run, number_name
from acvb_core.engine.run import CheckpointWriter
from acvb_core.store.files import LimitedLock, StoreError, explain_error
from acvb_core.store.results import RunIdentity
from acvb_core.store.runs import DAY, RunStore, TakenRun


class UnreadableRunError(AcvbError):
    """A stored run that was listed and cannot be read; from then on it is among those that cannot."""


@dataclass(frozen=True)
class AbsentRun:
    """A run that is not among the jobs: it was deleted, or cannot be read."""

    job_id: str
    name: str
    why: str  #: why it cannot be read; empty of a deleted run
    since: float  #: when that was seen, in seconds since the epoch
    job: Job | None = None  #: the handle of a deleted run, where it is still at hand


class Shelf:
    """The jobs of one workspace."""

    def __init__(self, workspace: str) -> None:
        self.workspace = workspace
        self.jobs: dict[str, Job] = {}
        self.unreadable: dict[str, AbsentRun] = {}
        self.deleted: dict[str, AbsentRun] = {}
        self.faults: dict[str, str] = {}
        self.restored = False
        self.lock = LimitedLock("The runs of this workspace are being listed")
        self.storing = LimitedLock("A run of this workspace is being saved or deleted")

    @contextmanager
    def note_faults(self, job_id: str) -> Iterator[None]:
        """Note why a run could not be stored, or that it could."""
        try:
            yield
        except Exception as error:
            self.faults[job_id] = explain_error(error)
            traceback.print_exc()
        else:
            self.faults.pop(job_id, None)

    def put_aside(self, job_id: str, name: str, error: Exception) -> None:
        """Note a run that cannot be read."""
        if not isinstance(error, AcvbError):  # a fault of the program's: its place belongs in the log
            traceback.print_exception(error)
        self.unreadable[job_id] = AbsentRun(job_id, name, explain_error(error), time.time())

    def free_name(self, job: Job, name: str) -> str:
        """Return a name for a job: the one asked for, with a number where another run on the same data has it."""
        absent = [*self.unreadable.copy().values(), *self.deleted.copy().values()]
        taken = {run.name for run in absent if run.job_id != job.id}
        data = job.outline.fingerprint
        others = (other for other in self.jobs.copy().values() if other.id != job.id)
        taken |= {other.label.name for other in others if other.outline.fingerprint == data}
        return number_name(name, taken)


class JobManager:
    """Registry of jobs by workspace, for any number of threads.

    `executor`: where the jobs run.
    `store`: where they are kept: each before it starts, every few seconds of its work, and when it is over.
    """

    def __init__(self, executor: ExecutorChoice, store: RunStore) -> None:
        self._executor, self._store = executor, store
        self._shelves: dict[str, Shelf] = {}
        self._lock = threading.Lock()
        self._at_work = 0  # submitted and not ended
        self._idle = threading.Condition()
        self._closing = False

    def jobs(self, workspace: str) -> list[Job]:
        """Return the jobs of a workspace, oldest first; stored ones are loaded at the first call."""
        return sorted(self._shelf(workspace).jobs.copy().values(), key=lambda job: (job.created, job.id))

    def unreadable_runs(self, workspace: str) -> list[AbsentRun]:
        """Return the stored runs of a workspace that could not be loaded."""
        return list(self._shelf(workspace).unreadable.copy().values())

    def deleted_runs(self, workspace: str) -> list[AbsentRun]:
        """Return the deleted runs of a workspace that can be brought back, the last one last."""
        runs = self._shelf(workspace).deleted.copy().values()
        return [run for run in runs if time.time() - run.since < DAY]

    def unsaved_runs(self, workspace: str) -> dict[str, str]:
        """Return why runs of a workspace could not be saved, by id; they are gone when the process ends."""
        shelf = self._shelf(workspace)
        return {job_id: why for job_id, why in shelf.faults.copy().items() if job_id in shelf.jobs}

    def add(self, workspace: str, prepared: PreparedRun) -> Job:
        """Start a run and keep its handle."""
        shelf = self._shelf(workspace)
        job_id = uuid.uuid4().hex[:12]
        job = Job(prepared, self._executor, job_id=job_id, owner=workspace)
        with shelf.lock:
            self._place(shelf, job)
        self._save(workspace, job_id)
        return job.start()

    def adopt(self, workspace: str, run: TakenRun) -> str | None:
        """Keep and show a run from elsewhere, with what it has there; return its id here (see `RunStore.take`).

        Returns None if the workspace has it already. What interrupts this leaves nothing of the run.

        Raises AcvbError: the store cannot be written to.
        """
        shelf, here = self._shelf(workspace), None
        with shelf.storing:
            try:
                here = self._store.take(workspace, run)
                if here is not None:
                    self._load(shelf, here, run.label.name)
                    self.relabel(workspace, here, **vars(run.label))
            except BaseException:
                if here is not None:
                    shelf.jobs.pop(here, None)
                    self._store.delete(workspace, here)
                raise
        return here

    def relabel(self, workspace: str, job_id: str, **changes: Any) -> None:
        """Change the name, note, tags or pin of a run: fields of `RunLabel`.

        A name that another run on the same data has gets a number. A blank one is not taken.

        Raises AcvbError: the store cannot be written to; nothing has changed.
        """
        shelf = self._shelf(workspace)
        with shelf.lock:
            job = shelf.jobs.get(job_id)
            if job is None:
                return
            name = clean_name(changes.get("name", "")) or job.label.name
            label = replace(job.label, **{**changes, "name": shelf.free_name(job, name)})
            self._store.save_label(workspace, job_id, label)
            job.label = label

    def remove(self, workspace: str, job_id: str) -> None:
        """Stop a job if it runs, and delete it, stored or not; `restore` brings it back for a day.

        Raises AcvbError: the store does not let it go; nothing has changed.
        """
        shelf = self._shelf(workspace)
        with shelf.storing:
            job, absent = shelf.jobs.get(job_id), shelf.unreadable.get(job_id)
            if job is None and absent is None:
                return
            stored = self._store.move_to_trash(workspace, job_id)
            # The handle of the last one is kept, to continue with it; those before it come back from the store.
            for other, gone in shelf.deleted.items():
                if gone.job is not None and other != job_id and self._store.is_in_trash(other):
                    shelf.deleted[other] = replace(gone, job=None)
            if job is not None:
                shelf.deleted[job_id] = AbsentRun(job_id, job.label.name, "", time.time(), job)
                job.stop()
            elif absent is not None and stored:
                shelf.deleted[job_id] = replace(absent, why="", since=time.time())
            shelf.jobs.pop(job_id, None)
            shelf.unreadable.pop(job_id, None)
            shelf.faults.pop(job_id, None)

    def restore(self, workspace: str, job_id: str) -> None:
        """Bring a deleted run back as it was; one that was running has stopped.

        Raises AcvbError: the store cannot be written to, and nothing has changed; or the run is gone by now.
        """
        shelf = self._shelf(workspace)
        with shelf.storing:
            absent = shelf.deleted.get(job_id)
            if absent is None:
                return
            stored = self._store.take_from_trash(workspace, job_id)
            del shelf.deleted[job_id]
            if absent.job is None and not stored:
                raise AcvbError("This run was deleted more than a day ago. It is gone.")
            if absent.job is not None:
                shelf.jobs[job_id] = absent.job
            else:
                self._load(shelf, job_id, absent.name)
        if absent.job is not None and not stored:
            self.save_again(workspace, job_id)

    def delete_for_good(self, workspace: str) -> None:
        """Delete all that `deleted_runs` returns, so that it takes no room any more.

        Raises AcvbError: the store cannot be written to.
        """
        shelf = self._shelf(workspace)
        with shelf.storing:
            for job_id in list(shelf.deleted):
                self._store.delete(workspace, job_id)
                del shelf.deleted[job_id]

    def load_again(self, workspace: str, job_id: str) -> None:
        """Try once more to load a run that could not be read; a copy may have been put back."""
        shelf = self._shelf(workspace)
        with shelf.storing:
            absent = shelf.unreadable.pop(job_id, None)
            if absent is not None:
                self._load(shelf, job_id, absent.name)

    def save_again(self, workspace: str, job_id: str) -> None:
        """Try to save a run that has ended; `unsaved_runs` says if it failed.

        One that ended without a sweep is forgotten, except while the process ends.
        """
        shelf = self._shelf(workspace)
        with shelf.note_faults(job_id), shelf.storing:
            # Looked up under the lock: a run extended meanwhile is saved as it is now, a deleted one deleted.
            gone = shelf.deleted.get(job_id)
            job = shelf.jobs.get(job_id) or (None if gone is None else gone.job)
            if job is None:
                return
            seen = job.inspect()
            if seen.verdict is not None:
                self._save_result(workspace, job)
                if job_id in shelf.deleted:
                    self._store.move_to_trash(workspace, job_id)
            elif seen.status in (Status.FINISHED, Status.FAILED) and not self._closing:
                self._store.delete(workspace, job_id)

    def close(self, timeout: float | None = None, tell: Callable[[str], object] = str) -> bool:
        """Stop everything and wait until it is saved; False when that took longer than `timeout` seconds.

        A run cut short is saved as stopped, and can be extended afterwards; one that waits for a place is found as
        interrupted.

        `timeout`: by default it waits as long as it takes.
        `tell`: takes what is going on, in sentences for the user.
        """
        self._closing = True
        with self._lock:
            shelves = dict(self._shelves)
        jobs = [job for shelf in shelves.values() for job in shelf.jobs.copy().values()]
        active = {job: status for job in jobs if (status := job.outline.status).active}
        stopped = [job for job, status in active.items() if status is not Status.QUEUED]
        if stopped:
            tell(f"Saving {plural(len(stopped), 'running run')}. Press Ctrl-C to leave without saving.")
        for job in sorted(active, key=stopped.__contains__):  # first what waits, or it would get a place
            job.stop()
        with self._idle:
            done = self._idle.wait_for(lambda: not self._at_work, timeout)
        for workspace, shelf in shelves.items():
            for job_id in list(shelf.faults):
                self.save_again(workspace, job_id)
        faults = {job_id: why for shelf in shelves.values() for job_id, why in shelf.faults.items()}
        if stopped:
            saved = [job for job in stopped if job.inspect().verdict is not None and job.id not in faults]
            tell(f"Saved {plural(len(saved), 'running run')}.")
            if empty := sum(job.inspect().snapshot is None for job in stopped):
                tell(f"{plural(empty, 'run')} stopped before the first sweep: there was nothing to save.")
        if queued := len(active) - len(stopped):
            tell(f"{plural(queued, 'run')} had not started.")
        for job_id, why in faults.items():
            tell(f"Run {job_id} could not be saved: {why}")
        return done

    def _shelf(self, workspace: str) -> Shelf:
        with self._lock:
            shelf = self._shelves.setdefault(workspace, Shelf(workspace))
        with shelf.lock:
            if not shelf.restored:
                self._restore(shelf)
                shelf.restored = True
        return shelf

    def _restore(self, shelf: Shelf) -> None:
        """List every stored run, and load those that changed since they were last listed."""
        runs, labels = self._store.runs(shelf.workspace), self._store.labels(shelf.workspace)

        def name(row: RunIdentity) -> str:
            return labels[row.job_id].name if row.job_id in labels else name_settings(row.settings)

        for row in self._store.trash(shelf.workspace):
            shelf.deleted[row.job_id] = AbsentRun(row.job_id, name(row), "", time.time())
        outlines = self._store.outlines(runs)
        for row in runs:
            outline = outlines.get(row.job_id)
            if outline is None:
                self._load(shelf, row.job_id, name(row))
                continue
            read = partial(self._read_listed, shelf, row.job_id)
            job = Job(outline, self._executor, job_id=row.job_id, owner=shelf.workspace, read=read)
            job.created = row.created
            self._place(shelf, job, labels.get(row.job_id))

    def _load(self, shelf: Shelf, job_id: str, name: str) -> None:
        """Load a stored run; one that cannot be read is put aside under a name."""
        try:
            self._place(shelf, self._store.load(job_id, self._executor, shelf.workspace))
        except Exception as error:
            shelf.put_aside(job_id, name, error)

    def _read_listed(self, shelf: Shelf, job_id: str) -> Job:
        """Load a run that was only listed so far; one that cannot be read is listed no more."""
        try:
            return self._store.load(job_id, self._executor, shelf.workspace)
        except Exception as error:
            if (job := shelf.jobs.pop(job_id, None)) is not None:  # else it was deleted at this moment
                shelf.put_aside(job_id, job.label.name, error)
            raise UnreadableRunError(explain_error(error)) from error

    def _place(self, shelf: Shelf, job: Job, label: RunLabel | None = None) -> None:
        """Put a job on a shelf, under the name it has in the store; a new name is stored if possible."""
        job.observer = _Saver(self, shelf.workspace, job.id)
        with shelf.lock:  # nobody takes the same name meanwhile
            label = label or self._stored_label(job.id)
            if label is not None:
                job.label = label
            else:
                job.label = replace(job.label, name=shelf.free_name(job, job.label.name))
                with suppress(StoreError):
                    self._store.save_label(shelf.workspace, job.id, job.label)
            shelf.jobs[job.id] = job

    def _stored_label(self, job_id: str) -> RunLabel | None:
        with suppress(StoreError):  # a run without a stored name gets the usual one
            return self._store.label(job_id)
        return None

    def count_work(self, change: int) -> None:
        """Count one run more, or less, that is at work."""
        with self._idle:
            self._at_work += change
            self._idle.notify_all()

    def _save(self, workspace: str, job_id: str) -> None:
        """Keep a run that is not over, so that it can continue should the process end."""
        shelf = self._shelves[workspace]
        with shelf.note_faults(job_id), shelf.storing:
            job = shelf.jobs.get(job_id)
            if job is not None:
                self._store.save(workspace, job_id, job.created, job.record())

    def _save_result(self, workspace: str, job: Job) -> None:
        """Save a run that is over, with the state it can be extended from if there is room for that."""
        result = job.result()
        try:
            self._store.save(workspace, job.id, job.created, result)
        except StoreError:
            if result.snapshot.state is None:
                raise
            self._store.save(workspace, job.id, job.created, result, state=False)
        else:
            if result.snapshot.state is not None and can_keep(
                result.prepared.algorithm, result.snapshot.state
            ):
                job.release_state(partial(self._store.read_state, job.id))
        job.release_answer(partial(self._store.read_array, job.id))


class _Saver(CheckpointWriter):
    """Keeps a run while it runs, and saves it when it is over."""

    def __init__(self, manager: JobManager, workspace: str, job_id: str) -> None:
        super().__init__(partial(manager._save, workspace, job_id))
        self._manager, self._run = manager, (workspace, job_id)

    def on_start(self) -> None:
        self._manager.count_work(1)

    def on_end(self) -> None:
        try:
            self._manager.save_again(*self._run)
        finally:
            self._manager.count_work(-1)


def name_settings(settings: Mapping[str, Any]) -> str:
    """Return the usual name of a run, as far as its settings are known."""
    known = {field.name for field in fields(RunSpec)}
    try:
        return name_run(RunSpec(**{name: value for name, value in settings.items() if name in known}))
    except (TypeError, ValueError, AttributeError, AcvbError):
        return "a run"
