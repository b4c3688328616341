"""Fill the disk, damage files and turn the clock while runs are kept, and see that nothing is lost or silently wrong.

    python -m benchmarks.fault_runs --faults 200

Each fault meets a store of ten runs (`benchmarks.kill_runs` has them). A full disk is a small tmpfs: that needs Linux
and root; `--without-disk` leaves it out. After each fault a new book opens the same folder. Every run must be there
with the bits that it had, or be named with the reason why not.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from acvb_core.engine import run as observer
from acvb_core.engine.executor import Executor, Status
from acvb_core.store.files import StoreError
from acvb_core.store.jobs import JobManager
from acvb_core.store.runs import RunStore
from benchmarks.harness import make_parser
from benchmarks.kill_runs import end_of, name_of, prepared_runs, uninterrupted

_SECONDS = 300
Wanted = dict[str, Any]
Fault = Callable[[Path, np.random.Generator, Wanted], list[str]]


def fill_disk(folder: Path, rng: np.random.Generator, wanted: Wanted) -> list[str]:
    """Keep ten runs on a disk that is too small for them, then make room and open the folder again."""
    with _mount(folder, int(rng.integers(20, 1500))) as disk:
        try:
            book = JobManager(Executor(2), RunStore(disk / "home"))
            jobs = [book.add("mine", prepared) for prepared in prepared_runs()]
        except StoreError:  # a folder that cannot be used at all is refused
            return []
        assert all(job.wait(_SECONDS) for job in jobs)
        different = [name_of(job) for job in jobs if end_of(job) != wanted[name_of(job)]]
        faults = [f"{name}: other bits on a full disk" for name in different]
        assert book.close(_SECONDS)  # all is saved now that can be
        unsaved = book.unsaved_runs("mine")
        saved = {name_of(job) for job in jobs if job.id not in unsaved}
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        return faults + _open_again(disk / "home", wanted, saved)


def damage_file(folder: Path, rng: np.random.Generator, wanted: Wanted) -> list[str]:
    """Flip a bit of one file, cut it short, or overwrite a part with zeros; then open the folder again."""
    copy = folder / "damaged"
    shutil.copytree(folder / "whole", copy)
    files = sorted(path for path in copy.rglob("*") if path.is_file() and path.stat().st_size)
    path = files[rng.integers(len(files))]
    data = bytearray(path.read_bytes())
    where = int(rng.integers(len(data)))
    kind = rng.integers(3)
    if kind == 0:
        data[where] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        del data[where:]
    else:
        data[where : where + 512] = bytes(len(data[where : where + 512]))
    path.write_bytes(data)
    try:
        return [f"{path.name}: {fault}" for fault in _open_again(copy, wanted, set(), named=set(wanted))]
    finally:
        shutil.rmtree(copy)


def turn_clock(folder: Path, rng: np.random.Generator, wanted: Wanted) -> list[str]:
    """Let the clock jump by up to ten years, forwards and back, while runs are kept."""
    real, home = time.time, folder / "clock"
    jumps = rng.normal(0.0, 3e8, 1000)

    def jumping() -> float:
        return real() + float(jumps[int(real() * 50) % len(jumps)])

    with patch("time.time", jumping):
        book = JobManager(Executor(2), RunStore(home))
        jobs = [book.add("mine", prepared) for prepared in prepared_runs()]
        assert all(job.wait(_SECONDS) for job in jobs)
        assert book.close(_SECONDS)
    try:
        return _open_again(home, wanted, set(wanted))
    finally:
        shutil.rmtree(home)


def _open_again(home: Path, wanted: Wanted, saved: set[str], named: set[str] | None = None) -> list[str]:
    """Open a folder in a new book; return what is wrong.

    `saved`: names of runs that must be there as they ended.
    `named`: names of runs that must be there, or be named as unreadable.
    """
    faults = []
    book = JobManager(Executor(2), RunStore(home))
    jobs = {name_of(job): job for job in book.jobs("mine")}
    unreadable = book.unreadable_runs("mine")
    for job in jobs.values():
        if job.inspect().status is Status.INTERRUPTED and job.can_continue:
            job.continue_run()
    for name, job in jobs.items():
        assert job.wait(_SECONDS)
        seen = job.inspect()
        if seen.status is Status.INTERRUPTED:
            continue
        if seen.error is not None:
            faults += [] if len(seen.error) > 20 and name not in saved else [f"{name}: {seen.error}"]
            continue
        try:
            if name in wanted and end_of(job) != wanted[name]:
                faults.append(f"{name}: other bits")
        except StoreError as error:  # a damaged file that is read now
            faults += [] if name not in saved else [f"{name}: {error}"]
    faults += [f"{name}: gone" for name in sorted(saved - jobs.keys())]
    if named is not None and len(jobs) + len(unreadable) < len(named):
        faults.append(f"{len(jobs)} runs and {len(unreadable)} named of {len(named)}")
    assert book.close(_SECONDS)
    return faults


@contextmanager
def _mount(folder: Path, kilobytes: int) -> Iterator[Path]:
    disk = folder / "disk"
    disk.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(disk)], check=True)
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def main() -> None:
    parser = make_parser(__doc__, faults=200, seed=0)
    parser.add_argument("--without-disk", action="store_true", help="leave the full disk out")
    given = parser.parse_args()
    observer.WRITE_EVERY, observer.WRITE_RATIO = 0.02, 2.0
    wanted, rng = uninterrupted(), np.random.default_rng(given.seed)
    kinds: list[Fault] = [damage_file, damage_file, damage_file, damage_file, turn_clock]
    kinds += [] if given.without_disk else [fill_disk]
    tried: Counter[str] = Counter()
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        book = JobManager(Executor(2), RunStore(folder / "whole"))
        jobs = [book.add("mine", prepared) for prepared in prepared_runs()]
        assert all(job.wait(_SECONDS) for job in jobs[::2])
        assert book.close(_SECONDS)  # the others are stopped on their way
        ends = {name_of(job): end_of(job) for job in jobs if job.inspect().snapshot is not None}
        for number in range(given.faults):
            fault = kinds[number % len(kinds)]
            faults = fault(folder, rng, ends if fault is damage_file else wanted)
            tried[fault.__name__] += 1
            wrong += bool(faults)
            for line in faults:
                print(f"{fault.__name__} {number}: {line}", flush=True)
    print(", ".join(f"{kind} {count}" for kind, count in sorted(tried.items())), f"- {wrong} with faults")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
