"""What the book of jobs asks of a store, and how it tells of runs that it has no handle of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from acvb_core.engine.executor import Executor
from acvb_core.engine.job import Job
from acvb_core.engine.result import Result


class StoredRow(Protocol):
    """What the book reads of a stored run before it loads it."""

    @property
    def job_id(self) -> str:
        """Id of the job."""
        ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """As `Settings.to_dict` gives them; empty where they are not known."""
        ...


class JobStore(Protocol):
    """Where runs are kept for good."""

    def save(self, workspace: str, job_id: str, created: float, result: Result) -> None:
        """Keep a run, in place of what was kept of it before."""
        ...

    def runs(self, workspace: str) -> Sequence[StoredRow]:
        """Return what is kept for a workspace."""
        ...

    def trash(self, workspace: str) -> Sequence[StoredRow]:
        """Return the deleted runs of a workspace that can be brought back."""
        ...

    def load(self, job_id: str, executor: Executor) -> Job:
        """Return the handle of a kept run."""
        ...

    def move_to_trash(self, job_id: str) -> bool:
        """Delete a run; return whether it can be brought back. One that is not kept is none to delete."""
        ...

    def take_from_trash(self, job_id: str) -> bool:
        """Bring a deleted run back; return whether it is there again."""
        ...

    def delete(self, job_id: str) -> None:
        """Forget a run for good; one that is not kept is none to forget."""
        ...


@dataclass(frozen=True)
class AbsentRun:
    """A run that is not among the jobs: it was deleted, or cannot be read.

    Attributes
    ----------
    job_id : str
    settings : mapping
        As `Settings.to_dict` gives them; empty where they are not known.
    why : str
        Why it cannot be read; empty of a deleted run.
    since : float
        When that was found, in seconds since the epoch.
    job : Job or None
        The handle of a deleted run, where it is still at hand.
    """

    job_id: str
    settings: Mapping[str, Any]
    why: str
    since: float
    job: Job | None = None
