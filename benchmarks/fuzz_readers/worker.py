"""A process that gives inputs to one reader, so that a crash is that of the process alone."""

from __future__ import annotations

import mmap
import random
import resource
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

#: CPU seconds after which an input is ended; bytes of address space above what the process begins with.
LAST_SECONDS = 10.0
MOST_ADDRESSES = 4 << 30
_NOTE = 1 << 20
#: Inputs between two reports, and inputs that are kept as seeds because they were answered in a new way.
_EVERY = 200
_MOST_SEEDS = 3_000


@dataclass
class Report:
    """How a reader answered: numbers of inputs, the slowest CPU time, memory beyond the start, and faults."""

    inputs: int = 0
    read: int = 0
    refused: int = 0
    faults: list[tuple[bytes, str, str]] = field(default_factory=list)  # input, form, words
    slowest: float = 0.0
    memory: int = 0
    cpu: float = 0.0
    forms: int = 0

    def add(self, other: Report) -> None:
        """Take in what came later."""
        for name in ("inputs", "read", "refused", "faults", "cpu", "forms"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.slowest, self.memory = max(self.slowest, other.slowest), max(self.memory, other.memory)


@dataclass(frozen=True)
class Task:
    """Inputs for one reader."""

    reader: str
    inputs: int
    seed: int


class _EnoughInputs(BaseException):
    pass


def last_input(note: Path) -> bytes:
    """Return the input that a process that is no more was given last."""
    content = note.read_bytes()
    return content[8 : 8 + int.from_bytes(content[:8], "little")]


def work(task: Task, note: Path, results: Connection) -> None:
    """Give inputs to a reader, and send reports; `note` holds the input that is being read."""
    from benchmarks.fuzz_readers.judge import faults_raised
    from benchmarks.fuzz_readers.readers import READERS

    reader = next(one for one in READERS if one.name == task.reader)
    seeds = list(reader.seeds())
    note.write_bytes(bytes(_NOTE))
    with note.open("r+b") as file, mmap.mmap(file.fileno(), _NOTE) as noted, faults_raised() as unseen:
        for content in seeds:  # whatever is compiled or imported at the first use
            try:
                reader.read(content)
            except Exception:
                continue
        unseen.clear()
        _limit_memory()
        trial = _Trial(reader.read, task, noted, unseen, results)
        with suppress(_EnoughInputs):
            _run(trial, reader, seeds)
        trial.send(last=True)


class _Trial:
    """Inputs of one reader, and what they came to."""

    def __init__(
        self,
        read: Callable[[bytes], Any],
        task: Task,
        noted: mmap.mmap,
        unseen: list[str],
        results: Connection,
    ) -> None:
        from benchmarks.fuzz_readers.judge import MOST_MEMORY, judge
        from benchmarks.harness import peak_bytes

        self.judge, self.peak, self.most = judge, peak_bytes, MOST_MEMORY
        self.read, self.noted, self.unseen, self.results = read, noted, unseen, results
        self.rng = random.Random(f"{task.reader} {task.seed}")
        self.left, self.start = task.inputs, peak_bytes()
        self.began = time.process_time()
        self.report, self.forms = Report(), set[str]()

    def give(self, content: bytes) -> bool:
        """Read an input; return whether the answer is a new one."""
        self.noted[:8] = len(content).to_bytes(8, "little")
        self.noted[8 : 8 + len(content)] = content
        # A signal that nobody handles ends the process, also inside of compiled code.
        signal.setitimer(signal.ITIMER_PROF, LAST_SECONDS)
        found = self.judge(self.read, content)
        if found.kind == "fault" and "CPU s" in found.words:  # not again what was only compiled
            found = self.judge(self.read, content)
        signal.setitimer(signal.ITIMER_PROF, 0)
        report, memory = self.report, self.peak() - self.start
        report.inputs += 1
        report.slowest, report.memory = max(report.slowest, found.seconds), max(report.memory, memory)
        fault, form = found.words, found.form
        if self.unseen:
            fault, form = self.unseen[0], f"unseen {type(self.unseen[0])}"
            self.unseen.clear()
        elif memory > self.most:
            fault, form = f"{memory:,} bytes of memory", "memory"
        elif found.kind != "fault":
            fault = ""
        if fault:
            report.faults.append((content, form, fault))
        elif found.kind == "read":
            report.read += 1
        else:
            report.refused += 1
        self.left -= 1
        new = form not in self.forms
        if new and len(self.forms) < 20_000:
            self.forms.add(form)
            report.forms += 1
        if report.inputs >= _EVERY:
            self.send()
        if self.left <= 0 or memory > self.most:
            raise _EnoughInputs
        return new

    def send(self, last: bool = False) -> None:
        self.report.cpu, self.began = time.process_time() - self.began, time.process_time()
        self.results.send((self.report, last))
        self.report = Report()


def _run(trial: _Trial, reader: Any, seeds: list[bytes]) -> None:
    """Change seeds at random; what is answered in a new way becomes a seed."""
    from benchmarks.fuzz_readers.mutations import MOST_BYTES, draw_input

    rng, first = trial.rng, len(seeds)
    for content in list(seeds):
        trial.give(content[:MOST_BYTES])
    while True:
        content = draw_input(rng, reader.draw, seeds, first)
        if trial.give(content) and len(seeds) < _MOST_SEEDS and len(content) < 8_000:
            seeds.append(content)


def _limit_memory() -> None:
    """Let what asks for far too much memory fail instead of the machine."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        used = int(statm.read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MOST_ADDRESSES, resource.RLIM_INFINITY))
