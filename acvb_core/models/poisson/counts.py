"""Weights of links as counts, and the activity of the objects."""

from __future__ import annotations

from typing import Literal
from weakref import WeakKeyDictionary

import numba as nb
import numpy as np
from scipy import sparse

from acvb_core.core.errors import DataError
from acvb_core.core.special import OPTIONS, lgamma
from acvb_core.data.relation import CountRelation, Relation
from acvb_core.models.irm.kernels import Floats, sum_weights

Degree = Literal["corrected", "none"]

#: Counts of relations that are in use: methods that are compared share them.
_COUNTED: WeakKeyDictionary[Relation, dict[tuple[Degree, float], CountRelation]] = WeakKeyDictionary()


def count_links(relation: Relation, degree: Degree, unit: float = 1.0) -> CountRelation:
    """Return a relation's links as counts, with the activity of its objects; the same object at every call.

    The exposures of the known entries add up to the counts. So an exposure is the count that an entry would have if
    clusters made no difference, and a block's rate is relative to that.

    `degree`: "corrected": an object is as active as its counts add up to, plus 1; "none": all objects are alike.
    `unit`: the weight that counts as 1.

    Raises
    ------
    DataError
        The data have values below 0.
    """
    known = _COUNTED.setdefault(relation, {})
    counted = known.get((degree, unit))
    if counted is None:
        counted = known[degree, unit] = _count_links(relation, degree, unit)
    return counted


def forget_counts(relation: Relation, degree: Degree, unit: float) -> None:
    """Let go of all counts of a relation but these: each has a transpose and all counts."""
    known = _COUNTED.setdefault(relation, {})
    for other in [choice for choice in known if choice != (degree, unit)]:
        known.pop(other, None)


def _count_links(relation: Relation, degree: Degree, unit: float) -> CountRelation:
    check_counts(relation)
    counts = None if relation.weights is None else round_weights(relation.weights, unit)
    values = np.ones(relation.n_ones) if counts is None else counts
    matrix = sparse.csr_array((values, relation.ones.indices, relation.ones.indptr), shape=relation.shape)
    rows, columns = (np.asarray(matrix.sum(axis=axis), dtype=np.float64).ravel() + 1.0 for axis in (1, 0))
    if degree == "none":
        rows, columns = np.ones(len(rows)), np.ones(len(columns))
    exposure = rows.sum() * columns.sum()
    if relation.n_observed:
        exposure -= rows @ (relation.missing.astype(np.float64) @ columns)
    scale = np.sqrt(max(values.sum(), 1.0) / exposure)
    return CountRelation.of(relation, counts, scale * rows, scale * columns)


def check_counts(relation: Relation) -> None:
    """Raise DataError for data with values below 0, which cannot be counts."""
    if relation.negative:
        what = f"{relation.negative:,} values are below 0, and counts cannot be"
        remedy = "Choose a model of links, which takes them as no link, or remove them from the data."
        raise DataError(what, source=relation.name, remedy=remedy)


def are_whole(weights: Floats) -> bool:
    """Return whether weights are whole numbers, and so counts as they are."""
    return bool((weights == np.floor(weights)).all())


def measure_dispersion(counts: Floats, expected: Floats, explained: Floats) -> float:
    """Return the variance of counts as a multiple of their means: about 1 for Poisson counts, sparse ones too.

    `counts`: shape (n,); some of those above 0. `expected`: what all the others let expect of each. `explained`: what
    all together do; of all pairs this adds up to the counts.

    Reference: Fletcher, Biometrika 99 (2012).
    """
    excess = float((counts**2 / expected).sum() - counts.sum() - (explained - expected).sum())
    return excess / max(float((counts / expected).sum()), 1e-300)


def round_weights(weights: Floats, unit: float) -> Floats:
    """Return weights in a unit, as whole numbers; one above 0 is at least 1."""
    return np.where(weights > 0.0, np.maximum(np.rint(weights / unit), 1.0), 0.0)


def log_base(relation: CountRelation) -> float:
    """Return the part of log p(X) that does not depend on the clusters: the sum of x log(exposure) - log x! (nats).

    Pairs of an undirected network count once.
    """
    total, own = _sum_base(relation)
    is_undirected = relation.network is not None and not relation.network.directed
    return (total + own) / 2.0 if is_undirected else total


def loo_base(relation: CountRelation) -> float:
    """Return that part of the pseudo leave-one-out (nats): a pair counts for both objects, a self-link for one."""
    total, own = _sum_base(relation)
    if relation.network is None:
        return 2.0 * total
    return 2.0 * total - own if relation.network.directed else total


def _sum_base(relation: CountRelation) -> tuple[float, float]:
    """Return the sum over all stored links, and of a network that over self-links."""
    total = -_sum_log_factorials(relation.factors)
    for side in (relation, relation.transposed):
        total += float(sum_weights(side.ones, side.factors) @ np.log(side.row_activity))
    if relation.network is None:
        return total, 0.0
    counts, exposures = relation.self_links[relation.self_links[:, 0] > 0.0].T.copy()
    return total, float(counts @ np.log(exposures)) - _sum_log_factorials(counts)


@nb.njit(**OPTIONS)
def _sum_log_factorials(counts: Floats) -> float:
    total = 0.0
    for at in range(counts.shape[0]):
        total += lgamma(counts[at] + 1.0)
    return total
