"""What a run of the infinite relational model leaves beside its tables: responsibilities and counts of blocks."""

from __future__ import annotations

from typing import Any

import pandas as pd

from acvb_core.engine.result import Result
from acvb_core.errors import ParameterError
from acvb_core.store.files import labels_bytes


def responsibilities_frame(result: Result, domain: str) -> pd.DataFrame:
    """Return who belongs where, and how surely.

    Parameters
    ----------
    result : Result
    domain : "rows" or "cols"

    Returns
    -------
    DataFrame, one row an object
        object, cluster_1 … cluster_K: probability of each cluster, numbered as everywhere.

    Raises
    ------
    ParameterError
        There is no such domain.
    """
    labels = _labels(result)
    if domain not in labels:
        raise ParameterError(f"there is no domain {domain!r}; there are {', '.join(labels)}.")
    responsibilities = result.posterior[domain]
    names = [f"cluster_{k + 1}" for k in range(responsibilities.shape[1])]
    frame = pd.DataFrame(responsibilities, columns=names)
    frame.insert(0, "object", labels[domain])
    return frame


def _labels(result: Result) -> dict[str, Any]:
    relation = result.problem.data
    return {"rows": relation.row_labels, "cols": relation.column_labels}


def irm_arrays(result: Result) -> dict[str, Any]:
    """Return the arrays of posterior.npz.

    rows, cols: responsibilities, column k - 1 for cluster k; row_cluster, column_cluster: most probable cluster of
    each object; ones, entries: expected counts of each block, shape (K_rows, K_cols); row_labels, column_labels:
    names (`labels_bytes`).
    """
    posterior, blocks = result.posterior, result.blocks
    shape = posterior["rows"].shape[1], posterior["cols"].shape[1]
    labels = _labels(result)
    return {
        "rows": posterior["rows"],
        "cols": posterior["cols"],
        "row_cluster": posterior.labels("rows") + 1,
        "column_cluster": posterior.labels("cols") + 1,
        "ones": blocks["ones"].to_numpy().reshape(shape),
        "entries": blocks["entries"].to_numpy().reshape(shape),
        "row_labels": labels_bytes(labels["rows"]),
        "column_labels": labels_bytes(labels["cols"]),
    }
