"""Memory a run of the IRM will need, known before it starts."""

from __future__ import annotations

from typing import Any

from acvb_core.data.relation import Relation


def memory_bytes(relation: Relation, method: str, values: dict[str, Any]) -> int:
    """Return the peak memory of a run in bytes, beyond the relation and its transpose.

    Counted at the full number of clusters: responsibilities now, before and in the making, the sums over links
    (and over unknown entries), the mean of an averaged run; block by block work is small beside them.
    """
    n_rows, n_cols = relation.shape
    own = n_rows * values["k_rows"] + n_cols * values["k_cols"]
    across = max(n_rows * values["k_cols"], n_cols * values["k_rows"])
    arrays = 3 * own + across
    if relation.n_missing:
        arrays += 2 * across
    if method in ("acvb", "acvb0", "gibbs"):
        arrays += 3 * own
    if method in ("acvb", "cvb"):
        arrays += 2 * own + 2 * across
    if values.get("variance") == "exact":
        arrays += 4 * own + 6 * across
    if values["init"] == "spectral":
        arrays += 4 * (n_rows + n_cols) * max(values["k_rows"], values["k_cols"])
    return 8 * arrays
