"""Runs cases in turns, A B A B …, each in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.peers.cases import Case

ROOT = Path(__file__).resolve().parents[2]
WORKER = str(Path(__file__).with_name("worker.py"))
#: One thread each: times are compared as processor time.
THREADS = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
#: What a worker says of a case: its curve, or "absent" or "failed" with the reason.
Outcome = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """One repetition of a case, and what came of it."""

    case: Case
    repetition: int
    outcome: Outcome


def start_worker(case: Case, repetition: int, limit: float) -> Outcome:
    """Run one repetition in a process of its own, for at most `limit` seconds of the clock."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "outcome.json")
        command = [sys.executable, "-P", WORKER, json.dumps(asdict(case)), str(repetition)]
        with subprocess.Popen(
            [*command, str(file)],
            cwd=folder,  # some peers write logs
            env={**os.environ, **THREADS, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process:
            try:
                _, errors = process.communicate(timeout=limit)
            except BaseException as error:
                os.killpg(process.pid, signal.SIGKILL)  # what it has started ends with it
                if isinstance(error, subprocess.TimeoutExpired):
                    return {"failed": f"not done in {limit:g} s"}
                raise
        if not file.exists():
            last = (errors.strip().splitlines() or ["without a word"])[-1]
            return {"failed": f"its process ended with {process.returncode}: {last}"}
        return dict(json.loads(file.read_text()))


def run_cases(
    cases: Iterable[Case], start: Callable[[Case, int], Outcome], tell: Callable[[Run], None]
) -> list[Run]:
    """Run all cases, those of one task and data set in turns; what fails once is not tried again."""
    runs = []
    for _, group in groupby(cases, key=lambda case: (case.task, case.data)):
        left = list(group)
        for repetition in range(max(case.repetitions for case in left)):
            for case in [one for one in left if repetition < one.repetitions]:
                run = Run(case, repetition, start(case, repetition))
                runs.append(run)
                tell(run)
                if "curve" not in run.outcome:
                    left.remove(case)
    return runs
