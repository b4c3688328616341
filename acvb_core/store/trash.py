"""Files of deleted runs: they lie in a folder of their own for a day, and can be put back until then."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

from acvb_core.store.datasets import STREAMS
from acvb_core.store.files import remove_file, sync_folder
from acvb_core.store.listing.run_rows import RUNS, TRASH, run_path, trash_path
from acvb_core.store.streams import find_unused_folders

DAY = 24 * 3600.0  # seconds


class Trash:
    """The deleted runs of a store. Where a run's file lies says whether it is deleted, and nothing else does.

    `folder`: of the store.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def job_ids(self) -> set[str]:
        """Return the ids of the deleted runs."""
        trash, runs = ({file.stem for file in (self.folder / name).glob("*.npz")} for name in (TRASH, RUNS))
        return trash - runs

    def outdated_ids(self) -> list[str]:
        """Return the ids of the runs that were deleted more than a day ago."""
        return [job_id for job_id in self.job_ids() if is_stale(trash_path(self.folder, job_id))]

    def put(self, job_id: str) -> bool:
        """Move a run's file here; False where there is none."""
        path, aside = run_path(self.folder, job_id), trash_path(self.folder, job_id)
        if not path.exists():
            return aside.exists()
        os.utime(path)  # the day begins now
        _move(path, aside)
        return True

    def take(self, job_id: str) -> bool:
        """Move a run's file back; return whether the run has one."""
        path, aside = run_path(self.folder, job_id), trash_path(self.folder, job_id)
        if aside.exists() and not path.exists():
            _move(aside, path)
        return path.exists()

    def remove(self, job_id: str) -> None:
        """Remove a run's file for good; one that is not here is no error."""
        remove_file(trash_path(self.folder, job_id))


def is_stale(path: Path) -> bool:
    """Return whether a file or folder was last changed more than a day ago; one that is gone is not."""
    try:
        return time.time() - path.stat().st_mtime > DAY
    except FileNotFoundError:
        return False


def remove_cut_off_writes(folder: Path) -> None:
    """Remove what writes to a store that were cut off long ago left behind."""
    for path in folder.glob("*/*.part"):
        if is_stale(path):
            path.unlink(missing_ok=True)
    for streamed in find_unused_folders(folder / STREAMS):
        if is_stale(streamed):
            shutil.rmtree(streamed, ignore_errors=True)


def _move(path: Path, to: Path) -> None:
    os.replace(path, to)
    sync_folder(to.parent)
    sync_folder(path.parent)
