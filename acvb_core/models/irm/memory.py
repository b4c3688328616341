"""Memory a run of the IRM will need, and time of its sweeps, known before it starts."""

from __future__ import annotations

from typing import Any

from acvb_core.data.relation import Relation
from acvb_core.models.irm.gibbs.chain import KEPT
from acvb_core.models.irm.moves.moves import TRIALS
from acvb_core.models.irm.moves.schedule import limit_splits

#: Nanoseconds of an idle processor for a block of one object, and for a cluster at one end of a link.
_NS, _LINK_NS = {"vb": 3, "gibbs": 15, "cvb0": 30, "acvb0": 30, "cvb": 40, "acvb": 40}, 1


def sweep_seconds(relation: Relation, method: str, values: dict[str, Any]) -> float:
    """Return about how long a sweep takes at most: objects times blocks, and links of either side times clusters."""
    values = _at_most(relation, values)
    k_rows = values["k_rows"]
    k_cols = values.get("k_cols", k_rows)
    blocks = sum(relation.shape) * k_rows * k_cols
    if "k_cols" not in values and values.get("variance") == "exact":
        return 1e-8 * k_rows**2 * relation.shape[0] ** 2
    links = (relation.n_ones + relation.n_missing) * (k_rows + k_cols)
    return 1e-9 * (_NS[method] * blocks + _LINK_NS * links)


def _at_most(relation: Relation, values: dict[str, Any]) -> dict[str, Any]:
    """Return the values with the most clusters that the run may get by splits; a chain makes as many as it likes."""
    if not values.get("split", True) and values["init"] != "gibbs":
        return values
    return values | {f"k_{domain}": most for domain, most in limit_splits(relation, values).items()}


def memory_bytes(relation: Relation, method: str, values: dict[str, Any]) -> int:
    """Return the peak memory of a run in bytes, beyond the relation and its transpose.

    Counted at the most clusters that splits may lead to, for whichever is largest: the start; a sweep, with
    responsibilities before, now and in the making, the sums over links and zeros of both passes, and the mean of an
    averaged run; a split, with the states that wait for their trial. Block by block work is small beside them. A
    sampler's clusters have no upper limit, but seldom are more than that.
    """
    n_rows, n_cols = relation.shape
    fewest = min(values["k_rows"], values.get("k_cols", values["k_rows"]))
    values = _at_most(relation, values)
    if "k_cols" not in values:
        return _network_bytes(relation, method, values, fewest)
    own = n_rows * values["k_rows"] + n_cols * values["k_cols"]
    across = n_rows * values["k_cols"] + n_cols * values["k_rows"]
    sweep = 4 * own + 2 * across
    if method in ("acvb", "acvb0"):
        sweep += own
    if method == "gibbs":
        sweep += 5 * own
    if method in ("acvb", "cvb"):
        sweep += own + across
        if values["variance"] == "exact":
            sweep += own + 7 * across
    start = 2 * own
    if values["init"] != "random":
        start += 4 * (n_rows + n_cols) * (max(values["k_rows"], values["k_cols"]) + 10)
    if values["init"] == "gibbs":
        start = max(start, 9 * own + 2 * across)
    split = 0
    if values.get("split", False):
        split = (4 + TRIALS) * own + across + 9 * _largest(relation, fewest)
    return 8 * max(start, sweep, split) + _sample_bytes(n_rows + n_cols, values)


def _sample_bytes(n_objects: int, values: dict[str, Any]) -> int:
    """Return the memory of the samples of a chain, which a run keeps: labels of two bytes, strengths of four."""
    if values["init"] != "gibbs":
        return 0
    return KEPT * (2 * n_objects + 4 * values["k_rows"] * values.get("k_cols", values["k_rows"]))


def _largest(relation: Relation, k: int) -> int:
    """Return how many links and unknown entries the members of the largest cluster may have, which a split weighs.

    Thrice the share that all would have if they were alike.
    """
    return (relation.n_ones + relation.n_missing) * min(3, k) // k


def _network_bytes(relation: Relation, method: str, values: dict[str, Any], fewest: int) -> int:
    """Return the peak memory of a run with one domain: no sums over links are kept, they are made node by node.

    For whichever is largest: the start, a sweep, or a split. `fewest`: the starting number of clusters.
    """
    n_nodes, k = relation.shape[0], values["k_rows"]
    own = n_nodes * k
    sweep = 6 * own
    if method in ("acvb", "acvb0"):
        sweep += own
    if method in ("acvb", "cvb"):
        sweep += own
        if values["variance"] == "exact":  # dense pairs of three kinds, and products of responsibilities
            sweep += 8 * n_nodes**2 + 4 * own * k
    if method == "gibbs":
        sweep = 14 * n_nodes * max(k, 8)  # there is room for eight clusters at least
    start = 3 * own
    if values["init"] != "random":
        start = 2 * own + 9 * n_nodes * (k + 10) // 2
    if values["init"] == "gibbs":
        start = max(start, 11 * n_nodes * max(k, 8))
    split = 0
    if values.get("split", False):
        both_ways = relation.network is None or relation.network.directed
        # A chain leaves several clusters, however few it began with.
        clusters = max(fewest, 8) if values["init"] == "gibbs" else fewest
        split = (4 + TRIALS) * own + 6 * _largest(relation, clusters) * (2 if both_ways else 1)
    return 8 * max(start, sweep, split) + _sample_bytes(n_nodes, values)
