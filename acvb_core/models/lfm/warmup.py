"""Warm-up case of tables: tiny data on which every compiled function is used once."""

from __future__ import annotations

import numpy as np

from acvb_core.core.rows import Values, WarmUp
from acvb_core.data.table import Table


def tiny_table() -> tuple[Table, Values]:
    """Return two features in four columns with some noise, and the settings of a run."""
    values = np.random.default_rng(0).normal(size=(24, 4))
    values[::2, :2] += 4.0
    values[::3, 2:] += 4.0
    return Table.build(values, name="tiny"), {"k_max": 3}


#: Features are merged and dropped within these sweeps.
CASES = {"lfm": WarmUp(tiny_table, 16)}
