"""What it costs to begin: processor time of whole processes, imports and all."""

from __future__ import annotations

import importlib.util
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.peers.answers import Answer, PeerAbsentError
from benchmarks.peers.trials import Trial

LINKS = "person,event\nann,a\nann,b\nbob,a\nbob,b\ncid,c\ndee,c\ndee,d\n"


def _time_process(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["it ended without a word"])[-1])
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def time_import(trial: Trial, seed: int, *, module: str) -> Iterator[Answer]:
    """Time a process that only imports a module, `sys` for the bare interpreter."""
    if importlib.util.find_spec(module.split(".")[0]) is None:
        raise PeerAbsentError(f"{module} is not installed")
    seconds = _time_process([sys.executable, "-c", f"import {module}"])
    yield Answer(np.empty(0), seconds, "whole process")


def time_command(trial: Trial, seed: int, *, arguments: list[str]) -> Iterator[Answer]:
    """Time a call of the command line; LINKS stands for a file of seven links."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "links.csv")
        file.write_text(LINKS)
        arguments = [str(file) if argument == "LINKS" else argument for argument in arguments]
        seconds = _time_process([sys.executable, "-m", "acvb_core", *arguments])
    yield Answer(np.empty(0), seconds, "whole process")
