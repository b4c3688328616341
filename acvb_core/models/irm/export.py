"""Files of a run of the infinite relational model, of one domain or two, in addition to its tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from acvb_core.core.errors import ParameterError
from acvb_core.engine.result import Result
from acvb_core.models.irm import scores
from acvb_core.models.irm.answer.naming import insert_names
from acvb_core.models.irm.scores import Among, Places, block_matrix, block_shape
from acvb_core.store.export import csv_text, has_heading, name_headings
from acvb_core.store.files import labels_bytes

if TYPE_CHECKING:
    import pandas as pd

#: Files that a run may leave, and how each is recognised: by the columns that it begins with.
OWN_FILES = (
    ("rows.csv", has_heading("object", "cluster")),
    ("columns.csv", has_heading("object", "cluster")),
    ("blocks.csv", has_heading("row_cluster", "row_name", "column_cluster", "column_name")),
    ("blocks.csv", has_heading("row_cluster", "column_cluster", "ones", "entries")),  # of an earlier version
    ("agreement.csv", has_heading("attribute", "labels", "known", "unknown")),
    ("links.csv", has_heading("pair", "row", "column", "row_cluster")),
    ("surprising.csv", has_heading("row", "column", "row_cluster")),
)


def responsibilities_frame(result: Result, domain: str) -> pd.DataFrame:
    """Return the probability of each cluster for every object of a domain: "rows", or "cols" (not of a network).

    The columns are object, "cluster_1: name" … "cluster_K: name". Another domain raises a ParameterError.
    """
    import pandas as pd

    sides = result.posterior.averaged
    if domain not in sides:
        raise ParameterError(f"there is no domain {domain!r}; there are {', '.join(sides)}.")
    responsibilities = result.posterior[domain]
    names = [f"cluster_{k + 1}" for k in range(responsibilities.shape[1])]
    frame = pd.DataFrame(responsibilities, columns=names)
    frame.insert(0, "object", result.prepared.data.ids[list(_ONE).index(domain)])
    return name_headings(frame, "cluster", result.names[domain])


def add_degrees(result: Result, domain: str) -> pd.DataFrame:
    """Return the table of a domain's objects with the number of their links, and the sum of their weights if any.

    `domain`: "rows" or "cols". A directed network has both directions apart: links_out, links_in.
    """
    data, table = result.prepared.data, result.rows if domain == "rows" else result.columns
    directions = {"rows": {"": 1}, "cols": {"": 0}}[domain]
    if scores.has_directions(data) and "cols" not in result.posterior.averaged:
        directions = {"_out": 1, "_in": 0}
    sums = {"links": data.ones.astype(np.int64)}
    if data.weights is not None:
        sums["weight"] = data.links
    return table.assign(
        **{
            f"{name}{end}": matrix.sum(axis=axis)
            for name, matrix in sums.items()
            for end, axis in directions.items()
        }
    )


#: The name of one object of a domain, in the names of arrays.
_ONE = {"rows": "row", "cols": "column"}


def arrays(result: Result, sums: tuple[str, str] = ("ones", "entries")) -> dict[str, Any]:
    """Return the arrays of posterior.npz, of one domain (a network: rows alone) or of two (rows and cols).

    rows, cols: responsibilities, column k - 1 for cluster k; row_cluster, column_cluster: most probable cluster of
    each object; ones, entries: expected counts of each block, and strengths: posterior mean of its link probability,
    shape (K_rows, K_cols), or (K_rows, K_rows) for a network: symmetric if it is undirected, each pair of objects
    counted once; row_labels, column_labels: names (`labels_bytes`).

    `sums`: the names of the two sums of each block.
    """
    posterior, data = result.posterior, result.prepared.data
    sides, shape = posterior.averaged, block_shape(posterior)
    found: dict[str, Any] = {domain: posterior[domain] for domain in sides}
    found |= {f"{_ONE[domain]}_cluster": posterior.labels(domain) + 1 for domain in sides}
    for name in sums:
        found[name] = block_matrix(result.blocks, name, shape)
    found["strengths"] = block_matrix(result.blocks, "mean", shape)
    return found | {
        f"{one}_labels": labels_bytes(getattr(data, f"{one}_labels")) for one in map(_ONE.get, sides)
    }


def facts(result: Result) -> dict[str, Any]:
    """Return the facts of run.json that only this model has: none."""
    return {}


def text_facts(result: Result) -> list[tuple[str, str]]:
    """Return the facts that the command line prints of this model alone: none."""
    return []


def files(result: Result, folder: Path) -> list[Path]:
    """Write nothing: tables and arrays have all of the answer."""
    return []


def likely_links(result: Result, n: int, among: Among = "missing", averaged: bool = True) -> pd.DataFrame:
    """Return the pairs without an observed link that are most likely links (`scores.likely_links`), with names."""
    strengths = result.prepared.model.strengths(result.posterior)  # type: ignore[attr-defined]
    data = result.prepared.data
    table = scores.likely_links(data, result.posterior, strengths, n, among=among, averaged=averaged)
    return name_ends(result, table)


def surprising_links(result: Result, n: int, averaged: bool = True) -> pd.DataFrame:
    """Return the observed links that were least expected (`scores.surprising_links`), with names."""
    strengths = result.prepared.model.strengths(result.posterior)  # type: ignore[attr-defined]
    table = scores.surprising_links(result.prepared.data, result.posterior, strengths, n, averaged=averaged)
    return name_ends(result, table)


def predict_pairs(result: Result, rows: Places, columns: Places, averaged: bool = True) -> pd.DataFrame:
    """Return the columns of `scores.likely_links` for given pairs, linked or not, in their order."""
    strengths = result.prepared.model.strengths(result.posterior)  # type: ignore[attr-defined]
    pairs = scores.choose_predictor(result.posterior, strengths, averaged)
    probability = scores.clip_probability(pairs.of(rows, columns))
    table = scores.pair_table(result.prepared.data, result.posterior, strengths, probability, rows, columns)
    return name_ends(result, table)


def name_ends(result: Result, table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of pairs with row_name and column_name after the numbers of the clusters."""
    for one, domain in zip(("row", "column"), scores.sides(result.posterior), strict=True):
        table = insert_names(table, f"{one}_cluster", f"{one}_name", result.names[domain])
    return table


def links_table(result: Result, number: int) -> pd.DataFrame:
    """Return the pairs that are most likely linked: first unknown ones, then those known to be unlinked.

    At most `number` of each, with a column pair ("unknown" or "unlinked") before those of `likely_links`. The mean of
    the samples predicts if a run has some. Held-out scores do not choose, as the chosen one would then be biased.
    """
    import pandas as pd

    own, tables = result.prepared.model_row.part("export"), {}
    for pair, among in (("unknown", "missing"), ("unlinked", "unlinked")):
        tables[pair] = own.likely_links(result, number, among)
        tables[pair].insert(0, "pair", pair)
    unknown, unlinked = tables.values()
    return pd.concat([unknown, unlinked], ignore_index=True) if len(unknown) else unlinked


def write_links(result: Result, number: int, folder: Path) -> list[Path]:
    """Write links.csv (`links_table`) and surprising.csv, the links that were least expected, to a folder.

    Held-out pairs count as what they are in the data. A pair of an undirected network is listed once. Each file has at
    most `number` pairs of each sort.

    Raises OSError: the folder cannot be written to.
    """
    surprising = result.prepared.model_row.part("export").surprising_links(result, number)
    tables = {"links.csv": links_table(result, number), "surprising.csv": surprising}
    for name, table in tables.items():
        (folder / name).write_text(csv_text(table), encoding="utf-8", newline="")
    return [folder / name for name in tables]
