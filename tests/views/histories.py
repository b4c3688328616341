"""Histories for the curves, column by column."""

from __future__ import annotations

import pandas as pd

from acvb_core.engine.history import History


def history_of(**columns: list[float]) -> History:
    """Return a history with some columns; the others are what a run without them has."""
    n = len(next(iter(columns.values())))
    nothing = [float("nan")] * n
    full: dict[str, list[float]] = {
        "sweep": [float(i + 1) for i in range(n)],
        "cpu_seconds": [0.1 * (i + 1) for i in range(n)],
        "lower_bound": nothing,
        "pseudo_loo": nothing,
        "change": nothing,
        "mean_change": nothing,
        "scaled_change": nothing,
        "samples": [0.0] * n,
        "burn_in": [0.0] * n,
        "effective_k_rows": [3.0] * n,
        "effective_k_cols": [4.0] * n,
        "heldout_log_likelihood": nothing,
    }
    return History.from_frame(pd.DataFrame(full | columns))
