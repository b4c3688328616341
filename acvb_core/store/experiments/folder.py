"""An experiment in a folder: its plan, a line for every run that is over, and tables for people."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pandas as pd

from acvb_core.engine.experiments.plan import Plan
from acvb_core.engine.experiments.report import Experiment
from acvb_core.store.csv_text import csv_text
from acvb_core.store.export import to_plain
from acvb_core.store.files import StoreError, replace_file

PLAN, RUNS = "experiment.json", "runs.jsonl"
#: What LaTeX takes for its own, and how it is written.
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
}
_LATEX |= {letter: f"\\{letter}" for letter in "&%$#_{}"}


class ExperimentFolder:
    """A folder that keeps the runs of one plan: an experiment that was interrupted goes on from it.

    `version` is that of the package: another one may give other numbers.

    Raises
    ------
    StoreError
        The folder cannot be written to, or holds runs of another plan.
    """

    def __init__(self, folder: Path, plan: Plan, version: str) -> None:
        self.folder, self.plan = folder, plan
        identity = json.dumps({"version": version, **to_plain(plan.identity())}, indent=2) + "\n"
        path = folder / PLAN
        try:
            folder.mkdir(parents=True, exist_ok=True)
            known = path.read_text(encoding="utf-8") if path.exists() else None
        except (OSError, UnicodeDecodeError) as error:
            raise StoreError(f"{path} cannot be read ({error}). Give another folder.") from None
        if known is None:
            with replace_file(path) as file:
                file.write(identity.encode())
        elif known != identity:
            raise StoreError(
                f"{folder} holds an experiment with other data, methods, settings, seeds or another version. Give "
                "another folder, or the same command to go on with it."
            )

    def read(self) -> Experiment:
        """Return the runs that are over; a last line that was cut off counts as not run.

        Raises StoreError: another line is damaged.
        """
        path = self.folder / RUNS
        if not path.exists():
            return Experiment(self.plan)
        whole, _, _ = path.read_bytes().rpartition(b"\n")
        rows: list[dict[str, Any]] = []
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                row = json.loads(line)
                expected = self.plan.describe_run(row["run"] - 1)
                if {name: row[name] for name in expected} != to_plain(expected):
                    raise ValueError("it is of another plan")
            except (ValueError, KeyError, TypeError, IndexError) as error:
                raise StoreError(
                    f"{path}, line {number:,}: this is not a run of the experiment ({error}). Remove the line to have "
                    "that run made again."
                ) from None
            rows.append(row)
        path.write_bytes(whole + b"\n" if rows else b"")
        return Experiment(self.plan, tuple(rows))

    def append(self, row: Any) -> None:
        """Write one more run, which is on the disk when this returns.

        Raises StoreError: it cannot be written.
        """
        path = self.folder / RUNS
        try:
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(to_plain(row), allow_nan=False) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StoreError(f"{path} cannot be written: {error.strerror or error}.") from None

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


def latex_table(summary: pd.DataFrame) -> str:
    """Return a summary as a LaTeX table for the package booktabs: the best in bold, and those level with it starred."""
    lines = [r"\begin{tabular}{lrrrr}", r"\toprule", r"Method & $n$ & Mean & SD & $p$ \\", r"\midrule"]
    for row in summary.to_dict("records"):
        mean = "--" if pd.isna(row["mean"]) else f"{row['mean']:.4g}"
        if row["best"]:
            mean = rf"\textbf{{{mean}}}"
        elif row["n"] > 1 and not row["significant"]:
            mean += "$^*$"
        sd, p = ("--" if pd.isna(row[name]) else f"{row[name]:.3g}" for name in ("sd", "p"))
        lines.append(rf"{_escape_latex(row['condition'])} & {row['n']} & {mean} & {sd} & {p} \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _escape_latex(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text)
