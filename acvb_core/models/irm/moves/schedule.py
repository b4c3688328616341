"""When moves are made, and up to how many clusters."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acvb_core.core.rows import Values
    from acvb_core.data.relation import Relation

#: Sweeps before the first moves: earlier, clusters that are still taking shape would be lost. A chain has shaped them.
MOVES_FROM, MOVES_FROM_AFTER_CHAIN = 15, 5
#: Sweeps between moves, for the objects to find their places.
MOVES_EVERY = 5
#: No more moves after this sweep, so that a run can settle; earlier after a chain, which has left little to find.
MOVES_UNTIL, MOVES_UNTIL_AFTER_CHAIN = 200, 60
#: Splits may always go up to so many times the starting number of clusters.
_FACTOR = 2
#: They go further while there are two objects for each cluster, and while a sweep costs no more than this: a unit for
#: every object and block, and this for every cluster at either end of a link. It takes up to three seconds.
_WORK, _LINK = 1e8, 1 / 30


def limit_clusters(relation: Relation, values: Values) -> dict[str, int]:
    """Return the most clusters that a run may have of each domain; of a sampler none, which has no limit.

    That is the starting number, unless splits may raise it.
    """
    if "split" not in values:
        return {}
    if not values["split"]:
        return starting_clusters(values)
    return limit_splits(relation, values)


def limit_splits(relation: Relation, values: Values) -> dict[str, int]:
    """Return the number of clusters of each domain that splits stop at."""
    starts = starting_clusters(values)
    n_objects, links = sum(relation.shape), _LINK * (relation.n_ones + relation.n_missing)
    # The clusters k of which n_objects * k**2 + 2 * links * k is _WORK.
    affordable = int((math.sqrt(links**2 + n_objects * _WORK) - links) / n_objects)
    if len(starts) == 1 and values.get("variance") == "exact":  # pairs of nodes times pairs of clusters
        affordable = 0
    return {
        domain: max(_FACTOR * k, min(affordable, n // 2))
        for (domain, k), n in zip(starts.items(), relation.shape, strict=False)
    }


def starting_clusters(values: Values) -> dict[str, int]:
    """Return the starting number of clusters of each domain; a network has one."""
    return {domain: values[f"k_{domain}"] for domain in ("rows", "cols") if f"k_{domain}" in values}
