"""The experiments of workspaces: kept run by run, so that one which was interrupted goes on where it was."""

from __future__ import annotations

import json
import shutil
import threading
import time
import uuid
from pathlib import Path
from typing import Any

from acvb_core.core.errors import AcvbError
from acvb_core.engine.executor import Executor
from acvb_core.engine.experiments.job import ExperimentJob
from acvb_core.engine.experiments.plan import Plan, rebuild_plan
from acvb_core.engine.experiments.report import Experiment
from acvb_core.store.experiments.folder import PLAN, ExperimentFolder
from acvb_core.store.files import StoreError, replace_file
from acvb_core.store.runs import RunStore

#: Folder of all experiments, below that of the store; in it one folder each.
EXPERIMENTS = "experiments"
_ABOUT = "about.json"


class ExperimentBook:
    """All experiments of a store; `version` is that of the package.

    The data of an experiment are kept with those of runs, in a row of their own.
    """

    def __init__(self, executor: Executor, store: RunStore, version: str) -> None:
        self._executor, self._store, self._version = executor, store, version
        self._folder = store.folder / EXPERIMENTS
        self._lock = threading.RLock()
        self._jobs: dict[str, dict[str, ExperimentJob]] = {}
        self._unreadable: dict[str, dict[str, str]] = {}
        self._names: dict[str, str] = {}

    def jobs(self, workspace: str) -> list[ExperimentJob]:
        """Return the experiments of a workspace, oldest first; one that was interrupted can go on."""
        with self._lock:
            return sorted(self._shelf(workspace).values(), key=lambda job: job.created)

    def unreadable(self, workspace: str) -> dict[str, str]:
        """Return why experiments could not be read, by id."""
        with self._lock:
            self._shelf(workspace)
            return dict(self._unreadable[workspace])

    def owners(self, workspace: str) -> list[str]:
        """Return the names under which the store keeps the data of a workspace's experiments."""
        return [_data_row(job.id) for job in self.jobs(workspace)]

    def name(self, job_id: str) -> str:
        """Return the name of an experiment's data."""
        return self._names[job_id]

    def add(self, workspace: str, plan: Plan, name: str) -> ExperimentJob:
        """Start an experiment on data of this name.

        Raises StoreError: it cannot be kept.
        """
        job_id = uuid.uuid4().hex[:12]
        with self._lock:
            shelf = self._shelf(workspace)
            self._store.save_dataset(_data_row(job_id), plan.data, [], {})
            folder = ExperimentFolder(self._folder / job_id, plan, self._version)
            job = ExperimentJob(
                Experiment(plan), self._executor.for_owner(workspace), folder.append, job_id=job_id
            )
            about = {"workspace": workspace, "created": job.created, "name": name}
            with replace_file(folder.folder / _ABOUT) as file:
                file.write(json.dumps(about).encode())
            shelf[job_id], self._names[job_id] = job, name
        return job.start()

    def remove(self, workspace: str, job_id: str) -> None:
        """Stop an experiment and delete it with its runs.

        Raises StoreError: it cannot be deleted.
        """
        with self._lock:
            job = self._shelf(workspace).pop(job_id, None)
            known = job is not None or self._unreadable[workspace].pop(job_id, None) is not None
            if not known:
                return
        if job is not None:
            job.stop()
            job.wait(10.0)  # a last line must not make the folder anew
        try:
            shutil.rmtree(self._folder / job_id)
        except OSError as error:
            raise StoreError(
                f"{self._folder / job_id} cannot be deleted: {error.strerror or error}."
            ) from None
        self._store.forget_dataset(_data_row(job_id))

    def close(self) -> None:
        """Stop all experiments; the runs that are over are kept already."""
        with self._lock:
            jobs = [job for shelf in self._jobs.values() for job in shelf.values()]
        for job in jobs:
            if job.inspect().status.active:
                job.stop()

    def _shelf(self, workspace: str) -> dict[str, ExperimentJob]:
        if workspace not in self._jobs:
            self._jobs[workspace], self._unreadable[workspace] = {}, {}
            for path in sorted(self._folder.glob(f"*/{_ABOUT}")):
                self._read(workspace, path)
        return self._jobs[workspace]

    def _read(self, workspace: str, path: Path) -> None:
        folder, job_id = path.parent, path.parent.name
        try:
            about: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            if about.get("workspace") != workspace:
                return
            stored = self._store.load_dataset(_data_row(job_id))
            if stored is None:
                raise StoreError("Its data are gone.")
            identity = json.loads((folder / PLAN).read_text(encoding="utf-8"))
            kept = ExperimentFolder(folder, rebuild_plan(stored[0], identity), str(identity.get("version")))
            experiment = kept.read()
        except (AcvbError, OSError, ValueError, AttributeError) as error:
            self._unreadable[workspace][job_id] = str(error)
            return
        job = ExperimentJob.restore(
            experiment, self._executor.for_owner(workspace), kept.append, job_id=job_id
        )
        job.created = float(about.get("created", time.time()))
        self._jobs[workspace][job_id] = job
        self._names[job_id] = str(about.get("name", stored[0].name))


def _data_row(job_id: str) -> str:
    """Return the name under which the data of an experiment are kept, where workspaces keep theirs."""
    return f"experiment {job_id}"
