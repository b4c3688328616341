"""Runs and relations that the figures are tried on."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.data.relation import Relation
from acvb_core.data.samples import load_sample
from acvb_core.engine.fitting import fit
from acvb_core.engine.history import History
from acvb_core.engine.result import Result


@pytest.fixture(scope="session")
def survey() -> Result:
    """150 x 40 with missing entries, entries held out, averaged."""
    return fit(load_sample("survey").relation, "acvb0", heldout=0.1)


@pytest.fixture(scope="session")
def women() -> Result:
    """18 x 14, nothing missing, nothing held out."""
    return fit(load_sample("southern_women").relation, "vb")


@pytest.fixture(scope="session")
def games() -> Result:
    """937 x 178: more rows than are named, one pixel an entry."""
    return fit(load_sample("debtag_games").relation, "vb", k_rows=10, k_cols=10)


@pytest.fixture
def awkward() -> Relation:
    """Names that a browser or Plotly might take for something else; one object without links."""
    ones = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 0]])
    missing = np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0], [0, 0, 1]])
    names = ["<b>bold</b>", '<a href="http://x">link</a>', "%{x} & 50%", "$x^2$"]
    return Relation.build(
        ones, missing, row_labels=names, column_labels=["a<br>b", "=1+1", "c"], row_kind="<i>kind</i>"
    )


def history_of(**columns: list[float]) -> History:
    """Return a history with some columns; the others are what a run without them has."""
    import pandas as pd

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
