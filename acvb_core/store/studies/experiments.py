"""An experiment in a folder: its plan, a line for every run that is over, and tables for people."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from acvb_core.core.errors import ParameterError
from acvb_core.engine.experiments.plan import Plan, rebuild_plan
from acvb_core.engine.experiments.report import Experiment
from acvb_core.registry import method_row
from acvb_core.store.codecs import MOST_SECONDS, is_number
from acvb_core.store.export import csv_text, latex_table, to_plain
from acvb_core.store.files import StoreError, replace_file
from acvb_core.store.studies.study_folder import StudyFolder

#: What the table of runs holds: numbers are worked with, and names are shown.
_NUMBERS, _TEXTS = ("heldout_", "cpu_seconds"), ("verdict", "error")


class ExperimentFolder(StudyFolder[Plan, Experiment]):
    """A folder that keeps the runs of one experiment."""

    noun, run_noun = "experiment", "run"
    differences = "data, methods, settings, seeds"
    place, plan_file, lines_file = "experiments", "experiment.json", "runs.jsonl"
    remedy = "Remove the line to have that run made again."

    def read(self) -> Experiment:
        """Return the runs that are over.

        Raises StoreError: a line is damaged, or two are of one run.
        """
        rows = self.read_lines()
        twice = [run for run, n in Counter(row["run"] for row in rows).items() if n > 1]
        if twice:
            raise StoreError(
                f"{self.folder / self.lines_file} has several lines of run {twice[0]:,}. Remove all but one."
            )
        return Experiment(self.plan, tuple(rows))

    def _fix(self, identity: dict[str, Any]) -> dict[str, Any]:
        fixed = super()._fix(identity)
        with suppress(KeyError, TypeError, AttributeError, ParameterError):  # a damaged plan is another one
            fixed["conditions"] = [
                {**one, "values": method_row(fixed["model"], one["method"]).drop_retired(one["values"])}
                for one in fixed["conditions"]
            ]
        return fixed

    @staticmethod
    def _rebuild(data: Any, identity: Mapping[str, Any]) -> Plan:
        return rebuild_plan(data, identity)

    def _encode(self, run: Any) -> Any:
        return run

    def _decode(self, line: Any, number: int) -> Any:
        expected = self.plan.identify_run(line["run"] - 1)
        if {name: line[name] for name in expected} != to_plain(expected):
            raise ValueError("it is of another plan")
        for name, value in line.items():
            if not re.fullmatch(r"\w{1,100}", name) or not isinstance(value, str | int | float | None):
                raise ValueError(f"{name[:100]!r} is no value of a run")
            if name.startswith(_NUMBERS) and name not in expected and not _is_score(name, value):
                raise ValueError(f"{name} is {value!r}, and no number")
            if isinstance(value, float | int) and not (isinstance(value, bool) or is_number(value)):
                raise ValueError(f"{name} is {value!r}, and no number that can be shown")
            if name in _TEXTS and not isinstance(value, str):
                raise ValueError(f"{name} is {value!r}, and no text")
        return line

    def write_tables(self, experiment: Experiment, score: str) -> list[Path]:
        """Write runs.csv, summary.csv and summary.tex (for the package booktabs), and return them."""
        summary = experiment.summary(score)
        texts = {
            "runs.csv": csv_text(experiment.table()),
            "summary.csv": csv_text(summary),
            "summary.tex": latex_table(summary),
        }
        for name, text in texts.items():
            with replace_file(self.folder / name) as file:
                file.write(text.encode())
        return [self.folder / name for name in texts]


def _is_score(name: str, value: Any) -> bool:
    """Return whether a value is a score or a time; a score may be missing."""
    is_score = name.startswith("heldout_")
    return is_score if value is None else is_number(value, math.inf if is_score else MOST_SECONDS)
