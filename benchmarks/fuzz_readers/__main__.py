"""Give random inputs to every reader of files: each must be read as valid data, or refused in words.

    python -m benchmarks.fuzz_readers --inputs 1000000

An input is a small file of some format with random changes, or a random table, graph or text. It counts as a fault that
a reader raises anything but the package's own errors, warns, returns data that are not valid, ends the process, needs
more than 2 CPU seconds, or more than 1 GB of memory. The input of each new fault is kept in the folder --out, and

    python -m benchmarks.fuzz_readers --replay FILE...

gives it again.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.fuzz_readers.judge import faults_raised, judge
from benchmarks.fuzz_readers.readers import READERS
from benchmarks.fuzz_readers.seeds import memory_folder
from benchmarks.fuzz_readers.worker import Report, Task, last_input, work
from benchmarks.harness import make_parser

#: Inputs that one process is given: what it keeps of them is bounded.
PER_PROCESS = 20_000
#: Seconds without a report after which a process is ended: something in it waits.
SILENCE = 300.0


class Process:
    """A process with a task, and the task that is left of it."""

    def __init__(self, task: Task, folder: Path, number: int) -> None:
        self.task, self.note, self.seen = task, folder / f"input-{number}", time.monotonic()
        start: Any = multiprocessing.get_context("forkserver")
        self.results, sending = start.Pipe(duplex=False)
        self._process = start.Process(target=work, args=(task, self.note, sending), daemon=True)
        self._process.start()
        sending.close()

    def receive(self) -> tuple[Report, Task | None, bool]:
        """Return what came, the task that is left of one that ended before its time, and whether it has ended."""
        try:
            report, last = self.results.recv()
        except EOFError:
            self._process.join()
            return self._crash_report()
        self.seen = time.monotonic()
        self.task = replace(self.task, inputs=self.task.inputs - report.inputs)
        if last:
            self._process.join()
        return report, self._left() if last else None, last

    def _left(self) -> Task | None:
        return replace(self.task, seed=self.task.seed + 1_000_003) if self.task.inputs > 0 else None

    def _crash_report(self) -> tuple[Report, Task | None, bool]:
        code = self._process.exitcode or 0
        name = signal.Signals(-code).name if code < 0 else f"exit status {code}"
        words = "more than 10 CPU s" if name == "SIGPROF" else f"the process ended: {name}"
        # What it did since its last report is not known; at least this input was given.
        self.task = replace(self.task, inputs=self.task.inputs - 1)
        return Report(inputs=1, faults=[(last_input(self.note), words, words)]), self._left(), True

    def end_if_silent(self) -> None:
        if time.monotonic() - self.seen > SILENCE:
            self._process.kill()


def share_out(names: Sequence[str], inputs: int, seed: int) -> Iterator[Task]:
    """Yield tasks of every reader, by its share."""
    chosen = [reader for reader in READERS if reader.name in names]
    shares = sum(reader.share for reader in chosen)
    for reader in chosen:
        left = -(-inputs * reader.share // shares)
        for number in range(-(-left // PER_PROCESS)):
            given = min(PER_PROCESS, left - number * PER_PROCESS)
            yield Task(reader.name, given, seed * 1_000 + number)


class Tally:
    """All reports, and the faults of different forms as files."""

    def __init__(self, out: Path) -> None:
        self.out, self.reports = out, dict[str, Report]()
        self.faults = Counter[tuple[str, str]]()
        self.files: dict[tuple[str, str], tuple[Path, str]] = {}

    def add(self, reader: str, report: Report) -> None:
        self.reports.setdefault(reader, Report()).add(report)
        for content, form, words in report.faults:
            self.faults[reader, form] += 1
            if (reader, form) not in self.files:
                self.out.mkdir(parents=True, exist_ok=True)
                path = self.out / f"{reader}.{hashlib.sha256(content).hexdigest()[:12]}"
                path.write_bytes(content)
                self.files[reader, form] = path, words
                print(f"FAULT {path}: {words}", flush=True)

    def show(self, seconds: float) -> None:
        """Print a line for each reader, one for all, and the faults."""
        total = Report()
        columns = ("inputs", "read", "refused", "faults", "answers", "ms each", "slowest s", "memory MB")
        print(f"{'':14}" + "".join(f"{column:>11}" for column in columns))
        for name, report in self.reports.items():
            print(_line(name, report))
            total.add(report)
        print(_line("all", total))
        print(f"{total.cpu / 60:.1f} CPU minutes, {seconds / 60:.1f} minutes")
        for key, (path, words) in self.files.items():
            print(f"{self.faults[key]:,} x {path}: {words}")


def _line(name: str, report: Report) -> str:
    numbers = (report.inputs, report.read, report.refused, len(report.faults), report.forms)
    each = 1e3 * report.cpu / max(1, report.inputs)
    figures = f"{each:11.2f}{report.slowest:11.2f}{report.memory / 1e6:11,.0f}"
    return f"{name:14}" + "".join(f"{number:11,}" for number in numbers) + figures


def run(tasks: list[Task], workers: int, tally: Tally) -> None:
    """Work on tasks in processes until none is left."""
    multiprocessing.set_forkserver_preload(["benchmarks.fuzz_readers.readers"])
    with TemporaryDirectory(dir=memory_folder()) as folder:
        waiting, running, number = tasks[::-1], dict[Any, Process](), 0
        while waiting or running:
            while waiting and len(running) < workers:
                process = Process(waiting.pop(), Path(folder), number := number + 1)
                running[process.results] = process
            for ready in wait(list(running), timeout=5.0):
                assert isinstance(ready, Connection)
                process = running[ready]
                report, left, ended = process.receive()
                tally.add(process.task.reader, report)
                if left is not None:
                    waiting.append(left)
                if ended:
                    del running[ready]
            for process in running.values():
                process.end_if_silent()


def replay(paths: Sequence[Path]) -> int:
    """Give inputs that were kept to their readers again; return the number of faults."""
    faults = 0
    for path in paths:
        reader = next(reader for reader in READERS if reader.name == path.name.partition(".")[0])
        with faults_raised() as unseen:
            kind, words, seconds = judge(reader.read, path.read_bytes())
        print(f"{path}: {kind} in {seconds:.2f} CPU s: {unseen or words}")
        faults += kind == "fault" or bool(unseen)
    return faults


def main() -> int:
    """Return 1 if there was a fault."""
    names = [reader.name for reader in READERS]
    parser = make_parser(__doc__, inputs=10000, seed=0)
    parser.add_argument("--reader", action="append", choices=names, help="only this one; may be given again")
    parser.add_argument("--workers", type=int, default=multiprocessing.cpu_count())
    parser.add_argument(
        "--out", type=Path, default=Path("test-output/fuzz"), help="folder for inputs with faults"
    )
    parser.add_argument("--replay", type=Path, nargs="+", metavar="FILE", help="inputs to give again")
    args = parser.parse_args()
    if args.replay:
        return min(1, replay(args.replay))
    began, tally = time.monotonic(), Tally(args.out)
    run(list(share_out(args.reader or names, args.inputs, args.seed)), args.workers, tally)
    tally.show(time.monotonic() - began)
    return min(1, len(tally.files))


if __name__ == "__main__":
    sys.exit(main())
