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


def lda_history_of(**columns: list[float]) -> History:
    """Return a history as a run of LDA has it: no clusters of rows and columns, one number of topics."""
    n = len(next(iter(columns.values())))
    given = {"alpha_total": [0.8] * n, "beta": [0.01] * n} | columns
    frame = history_of(**given).frame().drop(columns=["effective_k_rows", "effective_k_cols"])
    return History.from_frame(
        pd.DataFrame({"effective_k_topics": [8.0] * n} | frame.to_dict("list"))[
            [*frame.columns, "effective_k_topics"]
        ]
    )
