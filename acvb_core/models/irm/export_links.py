"""Single pairs of a relation that stand out, as files."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from acvb_core.engine.result import Result
from acvb_core.models.irm.evaluate.links import likely_links, surprising_links
from acvb_core.store.csv_text import csv_text


def links_table(result: Result, number: int) -> pd.DataFrame:
    """Return the pairs that are most likely linked: first of the unknown ones, then of those known to be unlinked.

    At most `number` of each, with a column pair ("unknown" or "unlinked") before those of `likely_links`.
    """
    data, posterior = result.problem.data, result.posterior
    strengths = result.problem.model.strengths(posterior)  # type: ignore[attr-defined]
    unknown = likely_links(data, posterior, strengths, number, among="missing")
    unlinked = likely_links(data, posterior, strengths, number, among="unlinked")
    unknown.insert(0, "pair", "unknown")
    unlinked.insert(0, "pair", "unlinked")
    return pd.concat([unknown, unlinked], ignore_index=True) if len(unknown) else unlinked


def write_links(result: Result, number: int, folder: Path) -> list[Path]:
    """Write links.csv (`links_table`) and surprising.csv, the links that were least to be expected, to a folder.

    Held-out pairs count as what they are in the data. A pair of an undirected network stands there once. Each file has
    at most `number` pairs of each sort.

    Raises
    ------
    OSError
        The folder cannot be written to.
    """
    data, posterior = result.problem.data, result.posterior
    strengths = result.problem.model.strengths(posterior)  # type: ignore[attr-defined]
    tables = {
        "links.csv": links_table(result, number),
        "surprising.csv": surprising_links(data, posterior, strengths, number),
    }
    for name, table in tables.items():
        (folder / name).write_text(csv_text(table), encoding="utf-8", newline="")
    return [folder / name for name in tables]
