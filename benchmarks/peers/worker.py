"""Runs one case in a process of its own, for the runner: arguments CASE (JSON), REPETITION and FILE."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.peers.answers import PeerAbsentError
from benchmarks.peers.cases import Case
from benchmarks.peers.scores import judge
from benchmarks.peers.trials import prepare_trial

#: Significant digits of a figure.
_DIGITS = 6


def solve_case(case: Case, repetition: int) -> dict[str, Any]:
    """Return the scores of all answers of a case, or why there are none: "absent" or "failed".

    The repetition is the seed of what is held out and of the method.
    """
    try:
        module, name = case.run.split(":")
        trial = prepare_trial(case.task, case.data, repetition)
        answers = getattr(import_module(module), name)(trial, repetition, **case.options)
        curve = [
            {"cpu_seconds": cpu, "step": step, **judge(predicted, trial, clusters)}
            for predicted, cpu, step, clusters in answers
        ]
    except PeerAbsentError as error:
        return {"absent": str(error)}
    except ModuleNotFoundError as error:
        return {"absent": f"{error.name} is not installed"}
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}"}
    return {"curve": [_round(point) for point in curve]} if curve else {"failed": "it gave no answer"}


def _round(point: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value if isinstance(value, str) else float(f"{value:.{_DIGITS}g}")
        for name, value in point.items()
    }


def main() -> None:
    case, repetition, file = sys.argv[1:]
    Path(file).write_text(json.dumps(solve_case(Case(**json.loads(case)), int(repetition))))


if __name__ == "__main__":
    main()
