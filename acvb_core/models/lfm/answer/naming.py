"""Names of features, made of their columns, and the columns of tables that have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from acvb_core.core.display import cut_label
from acvb_core.engine.result import Result
from acvb_core.models.lfm.answer.describe import find_ranges, find_regions
from acvb_core.models.lfm.features import FeatureAnswer, are_in_order

if TYPE_CHECKING:
    import pandas as pd

#: Columns that a name consists of, and characters of one.
_NAMED, _LONGEST = 2, 20
#: Objects by which a feature is recognised.
_MARKS = 200


def name_parts(result: Result) -> dict[str, tuple[str, ...]]:
    """Return a name for every feature: what it changes most, by its standard deviations, with the sign."""
    prepared = result.prepared
    answer = FeatureAnswer(result.posterior, prepared.data, prepared.train)
    return {"features": tuple(_name_feature(answer, feature) for feature in range(1, answer.n_features + 1))}


def _name_feature(answer: FeatureAnswer, feature: int) -> str:
    """Return the name of a feature: of pixels their place, of ordered columns a range, of others the first ones."""
    weights, columns = answer.weights[feature - 1], answer.data.columns
    if not np.any(weights):
        return "no effect"
    if answer.data.image is not None:
        places = zip("+−", find_regions(answer, feature), strict=True)
        return ", ".join(f"{sign}{place}" for sign, place in places if place)
    if are_in_order(columns):
        first, last = find_ranges(weights)[0]
        ends = columns[first] if first == last else f"{columns[first]} to {columns[last]}"
        return f"{'higher' if weights[first] > 0 else 'lower'} in {ends}"
    chosen = [j for j in answer.strongest_columns(feature, _NAMED) if weights[j]]
    return ", ".join(f"{'+' if weights[j] > 0 else '−'}{cut_label(columns[j], _LONGEST)}" for j in chosen)


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
