"""The arrays of a run of latent features that are written with its tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from acvb_core.engine.result import Result
from acvb_core.models.lfm.features import own_units
from acvb_core.store.export import has_heading
from acvb_core.store.files import labels_bytes

#: Files that a run may leave, and how each is recognised: by the columns that it begins with.
OWN_FILES = (
    ("columns.csv", has_heading("column", "baseline", "noise_sd")),
    ("features.csv", has_heading("feature", "name", "share", "objects")),
    ("features.csv", has_heading("feature", "share", "objects")),  # of an earlier version
    ("objects.csv", has_heading("object", "feature_1")),
    ("objects.csv", has_heading("object")),  # of a run without features
)


def arrays(result: Result) -> dict[str, Any]:
    """Return the arrays of posterior.npz, features in the order of the tables.

    objects, shape (N, K): probability that an object has a feature; weights, shape (K, D): what a feature adds to each
    column, and weight_sd, its standard deviation given the run's features, from methods that have it; share, shape
    (K,): share of the objects that have a feature; in_samples, shape (K,): share of a sampler's kept samples that have
    it; baseline and noise_sd, shape (D,): all in the columns' units; scale_mean and scale_sd, shape (D,): the method
    worked on (value - scale_mean) / scale_sd (scale_sd is 1 for columns that were not standardised); object_names,
    column_names: names (`labels_bytes`).
    """
    posterior, table = result.posterior, result.prepared.train
    own, scale = own_units(table, posterior), table.scale
    exported = {
        "objects": posterior["objects"],
        "weights": own.weights,
        "share": posterior["pi"],
        "baseline": own.baseline,
        "noise_sd": own.noise_sd,
        "scale_mean": scale.mean,
        "scale_sd": scale.sd,
        "object_names": labels_bytes(table.rows),
        "column_names": labels_bytes(table.columns),
    }
    if "weight_variance" in posterior.arrays:
        exported["weight_sd"] = scale.undo_weights(np.sqrt(posterior["weight_variance"]))
    if "in_samples" in posterior.arrays:
        exported["in_samples"] = posterior["in_samples"]
    return exported


def facts(result: Result) -> dict[str, Any]:
    """Return the facts of run.json that only this model has: none."""
    return {}


def files(result: Result, folder: Path) -> list[Path]:
    """Write nothing: tables and arrays hold all of the answer."""
    return []
