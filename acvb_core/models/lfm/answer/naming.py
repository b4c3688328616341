"""Names of features, made of their columns, and the columns of tables that have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from acvb_core.core.display import cut_label
from acvb_core.engine.result import Result
from acvb_core.models.lfm.features import FeatureAnswer

if TYPE_CHECKING:
    import pandas as pd

#: Columns that a name consists of, and characters of one.
_NAMED, _LONGEST = 2, 20
#: Objects by which a feature is recognised.
_MARKS = 200


def name_parts(result: Result) -> dict[str, tuple[str, ...]]:
    """Return a name for every feature: the columns that it changes most, by their standard deviations, with signs."""
    prepared = result.prepared
    answer = FeatureAnswer(result.posterior, prepared.data, prepared.train)
    names = []
    for feature in range(1, answer.n_features + 1):
        weights = answer.weights[feature - 1]
        columns = [j for j in answer.strongest_columns(feature, _NAMED) if weights[j]]
        texts = [
            f"{'+' if weights[j] > 0 else '−'}{cut_label(answer.data.columns[j], _LONGEST)}" for j in columns
        ]
        names.append(", ".join(texts) or "no effect")
    return {"features": tuple(names)}


def mark_parts(result: Result) -> dict[str, list[list[int]]]:
    """Return the objects by which each feature is recognised: those that have it, of a common one some of them."""
    has = np.asarray(result.posterior["objects"]) >= 0.5
    rank = np.random.default_rng(0).permutation(len(has))
    members = [np.flatnonzero(own) for own in has.T]
    return {"features": [own[np.argsort(rank[own])][:_MARKS].tolist() for own in members]}


def add_names(tables: Mapping[str, pd.DataFrame], names: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the tables with the names of features beside their numbers."""
    features = tables["features"].copy()
    # A column of the data may have this name.
    features.insert(1, "name", list(names["features"]), allow_duplicates=True)
    return {**tables, "features": features}
