"""The tables a user takes away from an IRM run."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import betaincinv, xlogy

from acvb_core.core.protocols import Posterior
from acvb_core.data.relation import Relation
from acvb_core.models.irm.hyper import Hyper
from acvb_core.models.irm.kernels import Floats
from acvb_core.models.irm.layout import Layout


def result_tables(
    relation: Relation, posterior: Posterior, ones: Floats, entries: Floats, hyper: Hyper, layout: Layout
) -> dict[str, pd.DataFrame]:
    """Return the result frames; clusters are numbered from 1, the same number everywhere.

    Returns
    -------
    dict of DataFrame
        `rows`, and with two domains `columns`: object, cluster, probability (of that cluster), entropy (nats).
        `blocks`: row_cluster, column_cluster, ones and entries (expected counts), mean and the bounds low,
        high of the central 95 % interval of the block's link probability; in an undirected network each block
        once, the row cluster being the first.
    """
    frames = {"rows": assignments(relation.row_labels, posterior["rows"])}
    if not layout.one_domain:
        frames["columns"] = assignments(relation.column_labels, posterior["cols"])
    table = blocks(ones, entries, hyper)
    if layout.symmetric:
        table = table[table["row_cluster"] <= table["column_cluster"]].reset_index(drop=True)
    return frames | {"blocks": table}


def assignments(labels: np.ndarray, responsibilities: Floats) -> pd.DataFrame:
    """Return one line for each object: its most probable cluster, that probability, the entropy in nats."""
    best = responsibilities.argmax(axis=1)
    return pd.DataFrame(
        {
            "object": labels,
            "cluster": best + 1,
            "probability": responsibilities[np.arange(len(best)), best],
            "entropy": np.maximum(-xlogy(responsibilities, responsibilities).sum(axis=1), 0.0),
        }
    )


def blocks(ones: Floats, entries: Floats, hyper: Hyper) -> pd.DataFrame:
    """Return one line for each block with the posterior Beta(a + n, b + N) of its link probability."""
    n = np.maximum(ones, 0.0)
    alpha = np.broadcast_to(hyper.a, n.shape) + n
    beta = np.broadcast_to(hyper.b, n.shape) + np.maximum(entries - n, 0.0)
    row, column = np.indices(n.shape)
    return pd.DataFrame(
        {
            "row_cluster": row.ravel() + 1,
            "column_cluster": column.ravel() + 1,
            "ones": n.ravel(),
            "entries": np.maximum(entries, n).ravel(),
            "mean": (alpha / (alpha + beta)).ravel(),
            "low": betaincinv(alpha, beta, 0.025).ravel(),
            "high": betaincinv(alpha, beta, 0.975).ravel(),
        }
    )
