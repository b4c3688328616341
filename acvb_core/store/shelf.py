"""The jobs of one workspace, those that were deleted or cannot be read, and the names of all of them."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any

from acvb_core.core.errors import AcvbError
from acvb_core.engine.job import Job
from acvb_core.engine.problem import Settings, name_run
from acvb_core.engine.run_label import number_name
from acvb_core.store.files import LimitedLock


class UnreadableRunError(AcvbError):
    """A stored run that was listed and cannot be read; from then on it is among those that cannot."""


@dataclass(frozen=True)
class AbsentRun:
    """A run that is not among the jobs: it was deleted, or cannot be read."""

    job_id: str
    settings: Mapping[str, Any]  #: as `Settings.to_dict` gives them; empty where they are not known
    why: str  #: why it cannot be read; empty of a deleted run
    since: float  #: when that was seen, in seconds since the epoch
    job: Job | None = None  #: the handle of a deleted run, where it is still at hand
    name: str = ""


class Shelf:
    """The jobs of one workspace."""

    def __init__(self) -> None:
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

    def find(self, job_id: str) -> Job | None:
        """Return the handle of a job, also of a deleted one."""
        absent = self.deleted.get(job_id)
        return self.jobs.get(job_id) or (None if absent is None else absent.job)

    def free_name(self, job: Job, name: str) -> str:
        """Return a name for a job: the one asked for, with a number where another run on the same data has it."""
        absent = [*self.unreadable.copy().values(), *self.deleted.copy().values()]
        taken = {run.name for run in absent if run.job_id != job.id}
        data = job.outline.fingerprint
        others = (other for other in self.jobs.copy().values() if other.id != job.id)
        taken |= {other.label.name for other in others if other.outline.fingerprint == data}
        return number_name(name, taken)


def name_settings(settings: Mapping[str, Any]) -> str:
    """Return the usual name of a run of which only the settings are at hand, as far as they are known."""
    known = {field.name for field in fields(Settings)}
    try:
        return name_run(Settings(**{name: value for name, value in settings.items() if name in known}))
    except (TypeError, ValueError, AttributeError, AcvbError):
        return "a run"


def explain_error(error: Exception) -> str:
    """Return why something could not be stored or read, in one sentence."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}."
    return str(error) if isinstance(error, AcvbError) else f"{type(error).__name__}: {error}"
