"""Weights of links as counts, and the activity of the objects."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.errors import DataError
from acvb_core.data.relation import Relation

Floats = NDArray[np.float64]
Degree = Literal["corrected", "none"]


@dataclass(frozen=True, eq=False)
class CountRelation(Relation):
    """A relation whose links have whole numbers as weights, and whose objects differ in activity.

    An entry is Poisson distributed, with mean `row_activity` x `column_activity` x the rate of its block.

    Attributes
    ----------
    row_activity, column_activity : ndarray of float, shapes (n_rows,), (n_cols,)
        How active an object is, 1 on average. In an undirected network both are the same.
    """

    row_activity: Floats = field(default_factory=lambda: np.ones(0))
    column_activity: Floats = field(default_factory=lambda: np.ones(0))

    @cached_property
    def transposed(self) -> CountRelation:
        """The same relation with the two sides swapped."""
        turned = super().transposed
        if isinstance(turned, CountRelation):  # an undirected network
            return turned
        swapped = _extend(turned, self.column_activity, self.row_activity)
        swapped.__dict__["transposed"] = self
        return swapped

    @cached_property
    def self_links(self) -> Floats:
        """Each object's entry with itself, shape (n, 2): its count and its exposure, 0 if it is missing."""
        counts = sparse.csr_array((self.weights, self.ones.indices, self.ones.indptr), shape=self.shape)
        known = ~self.missing.diagonal()
        exposure = known * self.row_activity * self.column_activity
        return np.ascontiguousarray(np.stack([counts.diagonal(), exposure], axis=1))


def _extend(relation: Relation, row_activity: Floats, column_activity: Floats) -> CountRelation:
    values = {each.name: getattr(relation, each.name) for each in fields(Relation)}
    return CountRelation(**values, row_activity=row_activity, column_activity=column_activity)


def count_links(relation: Relation, degree: Degree) -> CountRelation:
    """Return a relation's links as counts, with the activity of its objects.

    `degree`: "corrected": an object is as active as its entries add up to, plus 1; "none": all are alike.

    Raises
    ------
    DataError
        The data have values below 0.
    """
    if relation.negative:
        what = f"{relation.negative:,} values are below 0, and counts cannot be"
        remedy = "Choose a model of links, which takes them as no link, or remove them from the data."
        raise DataError(what, source=relation.name, remedy=remedy)
    counts = np.ones(relation.n_ones) if relation.weights is None else round_weights(relation.weights)
    matrix = sparse.csr_array((counts, relation.ones.indices, relation.ones.indptr), shape=relation.shape)
    activity = (_measure_activity(np.asarray(matrix.sum(axis=axis)).ravel(), degree) for axis in (1, 0))
    counted = _extend(relation, *activity)
    object.__setattr__(counted, "weights", counts)
    return counted


def _measure_activity(totals: Floats, degree: Degree) -> Floats:
    if degree == "none":
        return np.ones(len(totals))
    return (totals + 1.0) / (totals + 1.0).mean()


def round_weights(weights: Floats) -> Floats:
    """Return weights as whole numbers, at least 1: themselves, or in units in which their variance is their mean.

    Amounts have no unit in which they are counts. In this one they are as uncertain as a Poisson count.
    """
    if (weights == np.floor(weights)).all():
        return weights
    mean, variance = float(weights.mean()), float(weights.var())
    unit = variance / mean if variance > 0.0 else mean
    return np.maximum(np.rint(weights / unit), 1.0)
