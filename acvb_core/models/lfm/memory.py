"""Memory a run for latent features will need, known before it starts."""

from __future__ import annotations

from typing import Any

from acvb_core.data.table import Table


def most_features(table: Table, values: dict[str, Any]) -> int:
    """Return the number of features a run begins with, or may have at most."""
    return int(values["k_max"]) or min(table.shape)


def memory_bytes(table: Table, method: str, values: dict[str, Any]) -> int:
    """Return the peak memory of a run in bytes, beyond the table.

    Counted at the most features, for E[z] before, now and in the making, and their products; the standardised cells;
    and where cells are missing, which are known, the residual and its change. IBP keeps the covariance of the weights
    of every column.
    """
    n, d = table.shape
    k = most_features(table, values)
    cells = 2 * n * d if not table.n_missing else 5 * n * d
    if method == "meibp":  # which tries changes beside what it has
        cells += 2 * n * d
    covariances = 3 * (k + 1) ** 2 * d if method == "ibp" else 0
    return 8 * (cells + 6 * n * k + 4 * k * d + k * k + covariances)
