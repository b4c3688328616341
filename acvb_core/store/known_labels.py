"""Agreement of the clusters of a run with labels that are known beforehand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acvb_core.data.relation import Relation
from acvb_core.engine.result import Result
from acvb_core.evaluate.agreement import attribute_agreement

if TYPE_CHECKING:
    import pandas as pd


def compare_known_labels(result: Result) -> pd.DataFrame:
    """Return the agreement of the row objects' clusters with each attribute of the data.

    Returns: attribute; labels: how many different ones; known, unknown: objects with and without a label, the latter
      being left out; ari, nmi: adjusted Rand index and normalised mutual information, NaN where no label is known.
    """
    data = result.prepared.data
    attributes = data.attributes if isinstance(data, Relation) else {}
    table, _ = attribute_agreement(result.posterior.labels("rows") if attributes else [], attributes)
    return table


def add_known_labels(result: Result) -> pd.DataFrame:
    """Return the table of the row objects with a column `known_ATTRIBUTE` for each attribute, "" where unknown."""
    return result.rows.assign(
        **{f"known_{name}": values for name, values in result.prepared.data.attributes.items()}
    )
