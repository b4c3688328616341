"""Result tables of latent features, in the user's units."""

from __future__ import annotations

import numpy as np
import pandas as pd

from acvb_core.core.protocols import Posterior
from acvb_core.data.table import Table


def result_tables(table: Table, posterior: Posterior) -> dict[str, pd.DataFrame]:
    """Return what a user takes away.

    Parameters
    ----------
    table : Table
        The one that was fitted.
    posterior : Posterior
        On the standardised scale.

    Returns
    -------
    dict of DataFrame
        features : feature (from 1), share of the objects that have it, objects (their expected number), and what it
            adds to each column, in the column's own units.
        objects : object, feature_1 …: probability that the object has each feature.
        columns : column, baseline (its value for an object without features), noise_sd, mean, sd: all in its units.
    """
    scale, objects = table.scale, np.asarray(posterior["objects"])
    numbers = np.arange(1, objects.shape[1] + 1)
    weights = pd.DataFrame(scale.undo_weights(posterior["weights"]), columns=list(table.columns))
    about = pd.DataFrame({"feature": numbers, "share": posterior["pi"], "objects": objects.sum(axis=0)})
    activations = pd.DataFrame(objects, columns=[f"feature_{k}" for k in numbers])
    activations.insert(0, "object", table.rows)
    moments = table.moments
    columns = pd.DataFrame(
        {
            "column": table.columns,
            "baseline": scale.undo(posterior["bias"]),
            "noise_sd": scale.undo_weights(np.sqrt(1.0 / posterior["precision"])),
            "mean": moments.mean,
            "sd": moments.sd,
        }
    )
    return {"features": _beside(about, weights), "objects": activations, "columns": columns}


def _beside(about: pd.DataFrame, weights: pd.DataFrame) -> pd.DataFrame:
    """Return both side by side; a column of the table may have the name of one of ours."""
    taken = set(about.columns)
    named = [f"{name} (column)" if name in taken else str(name) for name in weights.columns]
    return pd.concat([about, weights.set_axis(named, axis=1)], axis=1)
