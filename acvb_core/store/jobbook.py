"""The jobs of every workspace: kept while they run, saved when they end, found again after a restart."""

from __future__ import annotations

import threading
import traceback
import uuid
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Protocol

from acvb_core.engine.executor import Executor
from acvb_core.engine.job import Job
from acvb_core.engine.problem import Problem
from acvb_core.engine.result import Result


class StoredRow(Protocol):
    """What the book reads of a stored run before it loads it."""

    @property
    def job_id(self) -> str:
        """Id of the job."""
        ...


class JobStore(Protocol):
    """Where runs are kept for good."""

    def save(self, workspace: str, job_id: str, created: float, result: Result) -> None:
        """Keep a run, in place of what was kept of it before."""
        ...

    def runs(self, workspace: str) -> Sequence[StoredRow]:
        """Return what is kept for a workspace."""
        ...

    def load(self, job_id: str, executor: Executor) -> Job:
        """Return the handle of a kept run."""
        ...

    def delete(self, job_id: str) -> None:
        """Forget a run; one that is not kept is none to forget."""
        ...


class _Shelf:
    """The jobs of one workspace."""

    def __init__(self) -> None:
        self.jobs: dict[str, Job] = {}
        self.unreadable: list[str] = []
        self.restored = False
        self.lock = threading.Lock()
        self.storing = threading.Lock()


class _ThenSave(Executor):
    """The shared executor, with something to do on the same thread when the work is over.

    A job hands its work to whichever executor it was made with, each time it is started or extended; so this is
    where its end is noticed without anyone waiting for it.
    """

    def __init__(self, inner: Executor, begun: Callable[[], None], ended: Callable[[], None]) -> None:
        self.limit = inner.limit
        self._inner, self._begun, self._ended = inner, begun, ended

    def submit(self, work: Callable[[], None], name: str) -> None:
        """Start `work` as soon as there is room."""

        def both() -> None:
            try:
                work()
            finally:
                self._ended()

        self._begun()
        self._inner.submit(both, name)

    def stepping_aside(self) -> AbstractContextManager[None]:
        """Leave the place in the shared executor to whoever waits."""
        return self._inner.stepping_aside()


class JobBook:
    """Registry of jobs by workspace, for any number of threads.

    Parameters
    ----------
    executor : Executor
        Where the jobs run.
    store : JobStore
        Where finished ones are kept.
    """

    def __init__(self, executor: Executor, store: JobStore) -> None:
        self._executor, self._store = executor, store
        self._shelves: dict[str, _Shelf] = {}
        self._lock = threading.Lock()
        self._at_work = 0
        self._idle = threading.Condition()

    def jobs(self, workspace: str) -> list[Job]:
        """Return the jobs of a workspace, oldest first; stored ones are loaded at the first call."""
        return sorted(self._shelf(workspace).jobs.copy().values(), key=lambda job: (job.created, job.id))

    def unreadable(self, workspace: str) -> list[str]:
        """Return why stored runs of a workspace could not be loaded, one line each."""
        return list(self._shelf(workspace).unreadable)

    def add(self, workspace: str, problem: Problem) -> Job:
        """Start a run and keep its handle."""
        shelf = self._shelf(workspace)
        job_id = uuid.uuid4().hex[:12]
        job = Job(problem, self._saving(workspace, job_id), job_id=job_id)
        shelf.jobs[job_id] = job
        return job.start()

    def remove(self, workspace: str, job_id: str) -> None:
        """Stop a job if it goes on, and forget it, stored or not."""
        shelf = self._shelf(workspace)
        job = shelf.jobs.pop(job_id, None)
        if job is None:
            return
        job.stop()
        with shelf.storing:
            self._store.delete(job_id)

    def close(self, timeout: float = 5.0) -> bool:
        """Stop everything and wait until it is saved; False when that took longer than `timeout` seconds.

        A run cut short is saved as stopped; its state is not kept, so it cannot be extended afterwards.
        """
        with self._lock:
            shelves = list(self._shelves.values())
        for job in [job for shelf in shelves for job in list(shelf.jobs.values())]:
            if job.inspect().status.active:
                job.stop()
        with self._idle:
            return self._idle.wait_for(lambda: self._at_work == 0, timeout)

    def _shelf(self, workspace: str) -> _Shelf:
        with self._lock:
            shelf = self._shelves.setdefault(workspace, _Shelf())
        with shelf.lock:
            if not shelf.restored:
                self._restore(workspace, shelf)
                shelf.restored = True
        return shelf

    def _restore(self, workspace: str, shelf: _Shelf) -> None:
        """Load every stored run; one that cannot be read does not hide the others."""
        for row in self._store.runs(workspace):
            try:
                job = self._store.load(row.job_id, self._saving(workspace, row.job_id))
            except Exception as error:
                shelf.unreadable.append(f"{row.job_id}: {type(error).__name__}: {error}")
            else:
                shelf.jobs[job.id] = job

    def _saving(self, workspace: str, job_id: str) -> Executor:
        return _ThenSave(self._executor, self._count_up, partial(self._ended, workspace, job_id))

    def _count_up(self) -> None:
        with self._idle:
            self._at_work += 1

    def _ended(self, workspace: str, job_id: str) -> None:
        try:
            self._save(workspace, job_id)
        except Exception:
            # The run itself is fine and can still be looked at; what went wrong belongs in the server's log.
            traceback.print_exc()
        finally:
            with self._idle:
                self._at_work -= 1
                self._idle.notify_all()

    def _save(self, workspace: str, job_id: str) -> None:
        shelf = self._shelves[workspace]
        with shelf.storing:
            # Looked up under the lock: a run extended meanwhile is saved as it is now, a removed one not at all.
            job = shelf.jobs.get(job_id)
            if job is None or job.inspect().verdict is None:
                return
            self._store.save(workspace, job_id, job.created, job.result())
