"""What an earlier run left in a folder that another run has been written to since, and would be taken for its own."""

from __future__ import annotations

import csv
from collections.abc import Collection
from pathlib import Path

from acvb_core.store.trained import MODEL, is_model

#: The tables that a run may be written as, and the columns that each begins with, by model: a file of such a name that
#: begins otherwise is somebody else's.
TABLES: dict[str, tuple[tuple[str, ...], ...]] = {
    "history.csv": (("sweep", "cpu_seconds"),),
    "race.csv": (("seed", "sweeps", "cpu_seconds"),),
    "rows.csv": (("object", "cluster", "probability", "entropy"),),
    "columns.csv": (("object", "cluster", "probability", "entropy"), ("column", "baseline", "noise_sd")),
    "blocks.csv": (("row_cluster", "column_cluster", "ones", "entries"),),
    "agreement.csv": (("attribute", "labels", "known", "unknown"),),
    "topics.csv": (("topic", "rank", "word", "probability"),),
    "documents.csv": (("document", "topic_1"),),
    "features.csv": (("feature", "share", "objects"),),
    "objects.csv": (("object", "feature_1"), ("object",)),
    "links.csv": (("pair", "row", "column", "row_cluster"),),
    "surprising.csv": (("row", "column", "row_cluster"),),
}


def remove_leftovers(folder: Path, kept: Collection[Path]) -> list[Path]:
    """Remove tables and the trained topics of an earlier run from a folder; return what they were.

    Parameters
    ----------
    folder : Path
        Where a run was written to.
    kept : collection of Path
        What this run wrote and read; it stays, and so does every file that is no table of a run.

    Raises
    ------
    OSError
        A file cannot be read or removed.
    """
    stays = {path.resolve() for path in kept}
    found = [path for path in map(folder.joinpath, TABLES) if path.resolve() not in stays and _is_table(path)]
    model = folder / MODEL
    if model.resolve() not in stays and is_model(model):
        found.append(model)
    for path in found:
        path.unlink()
    return found


def _is_table(path: Path) -> bool:
    """Whether a file is there and begins with the columns of the table of its name."""
    if not path.is_file():
        return False
    with path.open(encoding="utf-8", errors="replace", newline="") as lines:
        first = next(csv.reader([lines.readline(1 << 16)]), [])
    heads = TABLES[path.name]
    # A heading of one column is the whole of it: a run may have found no feature.
    return any(tuple(first[: len(head)] if head[1:] else first) == head for head in heads)
