"""A table of a paper that is made up: small, with data of which one set cannot be had."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.papers.paper import Claim, PaperData, PaperSource, PaperTable
from benchmarks.papers.parts import PaperLimits, PaperPart, PaperResult, plan_part
from benchmarks.papers.report import to_plain, write_report
from benchmarks.papers.runs import KeptRuns

WOMEN = PaperData("Women", (PaperSource("women.csv"), PaperSource("southern_women", real="A sample")))
TABLE = PaperTable(
    "made up", "Table 1", "Scores", "irm", ("cvb0", "vb"), (2, 3), (WOMEN, PaperData("Lost")),
    {"init": "random", "max_sweeps": 5}, {"vb": {"max_sweeps": 7}}, splits=2,
    printed={2: {"Women": (-0.5, -0.625)}}, claims=(Claim("CVB0 is better", "cvb0", ("vb",)),),
    quick_settings={"max_sweeps": 3},
)  # fmt: skip
ALL = PaperLimits()


def plan_women(out: Path, table: PaperTable = TABLE, limits: PaperLimits = ALL) -> PaperPart:
    """Return a table on its first data."""
    return plan_part(table, table.data[0], None, limits, KeptRuns(out))


def with_runs(part: PaperPart, runs: Mapping[tuple[int, str, int], Mapping[str, Any]]) -> PaperPart:
    """Return a part with made-up runs, by k, method and split."""
    for (k, method, split), run in runs.items():
        part.runs[k, method].by_split[split] = {"split": split, "courses": {}, "call": {}, "error": "", **run}
    return part


def write_page(*results: PaperResult) -> str:
    """Return the page of some tables."""
    return write_report(results, to_plain("made up", results))
