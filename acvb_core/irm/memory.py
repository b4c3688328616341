"""Memory a run of the IRM will need, known before it starts."""

from __future__ import annotations

from typing import Any

from acvb_core.data.relation import Relation


def memory_bytes(relation: Relation, method: str, values: dict[str, Any]) -> int:
    """Return the peak memory of a run in bytes, beyond the relation and its transpose.

    Counted at the full number of clusters, for whichever is larger, the start or a sweep: responsibilities before,
    now and in the making, the sums over links and zeros of both passes, the mean of an averaged run; block by block
    work is small beside them. A sampler's clusters have no upper limit: it is counted at the number it starts from.
    """
    n_rows, n_cols = relation.shape
    if "k_cols" not in values:
        return _network_bytes(n_rows, method, values)
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
    if values["init"] == "spectral":
        start += 4 * (n_rows + n_cols) * (max(values["k_rows"], values["k_cols"]) + 10)
    return 8 * max(start, sweep)


def _network_bytes(n_nodes: int, method: str, values: dict[str, Any]) -> int:
    """Return the peak memory of a run with one domain: no sums over links are kept, they are made node by node."""
    own = n_nodes * values["k_rows"]
    sweep = 4 * own + (own if method in ("acvb", "acvb0") else 0)
    if method in ("acvb", "cvb"):
        sweep += 2 * own
    if method == "gibbs":
        sweep += 5 * own
    start = 2 * own
    if values["init"] == "spectral":
        start += 8 * n_nodes * (values["k_rows"] + 10)
    return 8 * max(start, sweep)
