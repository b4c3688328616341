"""What the tests of the command line share."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
WOMEN = "sample:southern_women"
SMALL = ("--k-rows", "4", "--k-cols", "3", "--max-sweeps", "6")
NUMBER = (int, float)


@dataclass
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.out.count("\n") == 1, "exactly one object"

        def refuse(name: str) -> None:
            raise AssertionError(f"{name} is no JSON")

        return json.loads(self.out, parse_constant=refuse)


Run = Callable[..., Outcome]
#: Held-out scores of a run on a relation that has samples, as the command line prints them.
LINK_SCORES = {
    "log_likelihood",
    "skill",
    "roc_auc",
    "average_precision",
    "averaged_log_likelihood",
    "averaged_skill",
    "averaged_roc_auc",
}
