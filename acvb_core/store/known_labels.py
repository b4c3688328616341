"""How the clusters of a run agree with what is known of the objects beforehand."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from acvb_core.data.relation import Relation
from acvb_core.engine.result import Result
from acvb_core.evaluate.agreement import agreement

_COLUMNS = ["attribute", "objects", "groups", "ari", "nmi"]


def known_labels(result: Result) -> pd.DataFrame:
    """Return the agreement of the row objects' clusters with each attribute of the data.

    Returns
    -------
    DataFrame, one row an attribute; none where nothing is known
        attribute; objects: how many have a label, the others being left out; groups: how many labels there are;
        ari, nmi: adjusted Rand index and normalised mutual information, NaN with fewer than two objects.
    """
    data = result.problem.data
    attributes = data.attributes if isinstance(data, Relation) else {}
    lines: list[tuple[Any, ...]] = []
    for name, values in attributes.items():
        is_known = values != ""
        groups, names = pd.factorize(values[is_known])
        scores = {"ari": math.nan, "nmi": math.nan}
        if len(groups) > 1:
            scores = agreement(groups, result.labels("rows")[is_known])
        lines.append((name, len(groups), len(names), scores["ari"], scores["nmi"]))
    return pd.DataFrame(lines, columns=_COLUMNS)


def with_known_labels(result: Result) -> pd.DataFrame:
    """Return the table of the row objects with a column `known_ATTRIBUTE` for each attribute, "" where unknown."""
    return result.rows.assign(
        **{f"known_{name}": values for name, values in result.problem.data.attributes.items()}
    )
