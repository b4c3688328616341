"""Files of a run of the infinite relational model, of one domain or two, beside its tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.errors import ParameterError
from acvb_core.engine.result import Result
from acvb_core.models.irm.scores import count_samples, likely_links, surprising_links
from acvb_core.store.export import csv_text, has_heading
from acvb_core.store.files import labels_bytes

if TYPE_CHECKING:
    import pandas as pd

#: Files that a run may leave, and how each is recognised: by the columns that it begins with.
OWN_FILES = (
    ("rows.csv", has_heading("object", "cluster", "probability")),
    ("columns.csv", has_heading("object", "cluster", "probability")),
    ("blocks.csv", has_heading("row_cluster", "column_cluster", "ones", "entries")),
    ("agreement.csv", has_heading("attribute", "labels", "known", "unknown")),
    ("links.csv", has_heading("pair", "row", "column", "row_cluster")),
    ("surprising.csv", has_heading("row", "column", "row_cluster")),
)


def responsibilities_frame(result: Result, domain: str) -> pd.DataFrame:
    """Return the probability of each cluster for every object of a domain: "rows", or "cols" (not of a network).

    The columns are object, cluster_1 … cluster_K, numbered as everywhere. Another domain raises a ParameterError.
    """
    import pandas as pd

    sides = result.posterior.averaged
    if domain not in sides:
        raise ParameterError(f"there is no domain {domain!r}; there are {', '.join(sides)}.")
    responsibilities = result.posterior[domain]
    names = [f"cluster_{k + 1}" for k in range(responsibilities.shape[1])]
    frame = pd.DataFrame(responsibilities, columns=names)
    frame.insert(0, "object", result.prepared.data.ids[list(_ONE).index(domain)])
    return frame


#: The name of one object of a domain, in the names of arrays.
_ONE = {"rows": "row", "cols": "column"}


def _labels(result: Result, domain: str) -> NDArray[Any]:
    labels: NDArray[Any] = getattr(result.prepared.data, f"{_ONE[domain]}_labels")
    return labels


def arrays(result: Result) -> dict[str, Any]:
    """Return the arrays of posterior.npz, of one domain (a network: rows alone) or of two (rows and cols).

    rows, cols: responsibilities, column k - 1 for cluster k; row_cluster, column_cluster: most probable cluster of
    each object; ones, entries: expected counts of each block, and strengths: posterior mean of its link probability,
    shape (K_rows, K_cols), or (K_rows, K_rows) for a network, symmetric where it is undirected, in which case each
    pair of objects counts once; row_labels, column_labels: names (`labels_bytes`).
    """
    posterior = result.posterior
    sides = posterior.averaged
    arrays_of_run: dict[str, Any] = {domain: posterior[domain] for domain in sides}
    arrays_of_run |= {f"{_ONE[domain]}_cluster": posterior.labels(domain) + 1 for domain in sides}
    arrays_of_run |= _blocks(result, sides)
    return arrays_of_run | {
        f"{_ONE[domain]}_labels": labels_bytes(_labels(result, domain)) for domain in sides
    }


def _blocks(result: Result, sides: tuple[str, ...]) -> dict[str, NDArray[np.float64]]:
    """Return the numbers of the table of blocks as matrices."""
    table, posterior = result.blocks, result.posterior
    row, column = table["row_cluster"].to_numpy() - 1, table["column_cluster"].to_numpy() - 1
    blocks = {}
    for name, values in (("ones", "ones"), ("entries", "entries"), ("strengths", "mean")):
        matrix = np.full((posterior[sides[0]].shape[1], posterior[sides[-1]].shape[1]), np.nan)
        if len(sides) == 1:
            # The table of an undirected network has each block once; of a directed one the next line has the last say.
            matrix[column, row] = table[values]
        matrix[row, column] = table[values]
        blocks[name] = matrix
    return blocks


def facts(result: Result) -> dict[str, Any]:
    """Return what run.json tells of this model's runs alone: nothing."""
    return {}


def files(result: Result, folder: Path) -> list[Path]:
    """Write nothing: tables and arrays hold all of the answer."""
    return []


def links_table(result: Result, number: int) -> pd.DataFrame:
    """Return the pairs that are most likely linked: first of the unknown ones, then of those known to be unlinked.

    At most `number` of each, with a column pair ("unknown" or "unlinked") before those of `likely_links`. The mean of
    the samples predicts where a run has some. Held-out scores do not choose: one that did would no longer be unbiased.
    """
    import pandas as pd

    data, posterior = result.prepared.data, result.posterior
    strengths = result.prepared.model.strengths(posterior)  # type: ignore[attr-defined]
    averaged = count_samples(posterior) > 0
    unknown = likely_links(data, posterior, strengths, number, among="missing", averaged=averaged)
    unlinked = likely_links(data, posterior, strengths, number, among="unlinked", averaged=averaged)
    unknown.insert(0, "pair", "unknown")
    unlinked.insert(0, "pair", "unlinked")
    return pd.concat([unknown, unlinked], ignore_index=True) if len(unknown) else unlinked


def write_links(result: Result, number: int, folder: Path) -> list[Path]:
    """Write links.csv (`links_table`) and surprising.csv, the links that were least to be expected, to a folder.

    Held-out pairs count as what they are in the data. A pair of an undirected network stands there once. Each file has
    at most `number` pairs of each sort.

    Raises OSError: the folder cannot be written to.
    """
    data, posterior = result.prepared.data, result.posterior
    strengths = result.prepared.model.strengths(posterior)  # type: ignore[attr-defined]
    tables = {
        "links.csv": links_table(result, number),
        "surprising.csv": surprising_links(
            data, posterior, strengths, number, averaged=count_samples(posterior) > 0
        ),
    }
    for name, table in tables.items():
        (folder / name).write_text(csv_text(table), encoding="utf-8", newline="")
    return [folder / name for name in tables]
