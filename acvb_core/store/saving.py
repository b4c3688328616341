"""Runs are put into the store: while they go on, and when they are over."""

from __future__ import annotations

from functools import partial

from acvb_core.core.protocols import can_keep
from acvb_core.engine.handle import Status
from acvb_core.engine.job import Job
from acvb_core.store.files import StoreError
from acvb_core.store.runs import RunStore
from acvb_core.store.shelf import Shelf


def keep_run(store: RunStore, shelf: Shelf, workspace: str, job_id: str) -> None:
    """Keep a run that is not over, so that it can go on should the process end.

    Raises StoreError: it cannot be written.
    """
    with shelf.storing:
        job = shelf.jobs.get(job_id)
        if job is not None:
            store.save(workspace, job_id, job.created, job.record())


def save_ended_run(
    store: RunStore, shelf: Shelf, workspace: str, job_id: str, *, leave_unbegun: bool = False
) -> None:
    """Save a run that is over; forget one that ended without a sweep, unless these are to be left as they are.

    Raises StoreError: it cannot be written.
    """
    with shelf.storing:
        # Looked up under the lock: a run extended meanwhile is saved as it is now, a deleted one deleted.
        job = shelf.find(job_id)
        if job is None:
            return
        seen = job.inspect()
        if seen.verdict is not None:
            _save_result(store, workspace, job)
            if job_id in shelf.deleted:
                store.move_to_trash(workspace, job_id)
        elif seen.status in (Status.FINISHED, Status.FAILED) and not leave_unbegun:
            store.delete(workspace, job_id)


def _save_result(store: RunStore, workspace: str, job: Job) -> None:
    """Save a run, with the state it can be extended from where there is room for that."""
    result = job.result()
    try:
        store.save(workspace, job.id, job.created, result)
    except StoreError:
        if result.snapshot.state is None:
            raise
        store.save(workspace, job.id, job.created, result, state=False)
    else:
        if result.snapshot.state is not None and can_keep(result.problem.inference, result.snapshot.state):
            job.release_state(partial(store.read_state, job.id))
    job.release_answer(partial(store.read_array, job.id))
