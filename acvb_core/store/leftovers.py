"""Files that an earlier run left in a folder, and that would be taken for those of the run written there now."""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection
from pathlib import Path

from acvb_core.registry import MODELS


def has_heading(*columns: str) -> Callable[[Path], bool]:
    """Return a test for a CSV file that begins with these columns; a single column is all that it may have."""

    def is_table(path: Path) -> bool:
        with path.open(encoding="utf-8", errors="replace", newline="") as lines:
            first = next(csv.reader([lines.readline(1 << 16)]), [])
        return tuple(first[: len(columns)] if columns[1:] else first) == columns

    return is_table


def own_files() -> list[tuple[str, Callable[[Path], bool]]]:
    """Return the names of the files that runs may leave, each with a test: other files of such names are not ours."""
    shared = [
        ("history.csv", has_heading("sweep", "cpu_seconds")),
        ("race.csv", has_heading("seed", "sweeps", "cpu_seconds")),
    ]
    parts = dict.fromkeys(row.part("export") for row in MODELS)
    return shared + [file for part in parts for file in part.OWN_FILES]


def remove_leftovers(folder: Path, own: Collection[Path]) -> list[Path]:
    """Remove the files of an earlier run from a folder, and return them.

    `own` is what this run wrote and read: it stays, and so does every file that is not of a run.
    """
    stays = {path.resolve() for path in own}
    removed = []
    for name, is_own in own_files():
        path = folder / name
        if path.is_file() and path.resolve() not in stays and is_own(path):
            path.unlink()
            removed.append(path)
    return removed
