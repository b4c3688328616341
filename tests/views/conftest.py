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


def lda_history_of(**columns: list[float]) -> History:
    """Return a history as a run of LDA has it: no clusters of rows and columns, one number of topics."""
    import pandas as pd

    n = len(next(iter(columns.values())))
    given = {"alpha_total": [0.8] * n, "beta": [0.01] * n} | columns
    frame = history_of(**given).frame().drop(columns=["effective_k_rows", "effective_k_cols"])
    return History.from_frame(
        pd.DataFrame({"effective_k_topics": [8.0] * n} | frame.to_dict("list"))[
            [*frame.columns, "effective_k_topics"]
        ]
    )


#: Words and names that a browser, Plotly or a spreadsheet might take for something else, or that need room.
AWKWARD_WORDS = [
    "<b>bold</b>", "%{x}", "$a$", "=1+1", "&amp;", '"quoted"', "naïve", "東京都知事選挙", "كتاب", "a" * 60,
]  # fmt: skip


def texts_of(figure: dict) -> list[str]:
    """Return every text of a figure that Plotly draws: names, hovers, ticks, titles, notes."""
    shown = (
        "text",
        "hovertext",
        "ticktext",
        "name",
        "title",
        "hovertemplate",
        "texttemplate",
        "x",
        "y",
        "label",
    )
    found: list[str] = []

    def collect(value: object, inside: bool) -> None:
        if isinstance(value, dict):
            for key, part in value.items():
                collect(part, key in shown)
        elif isinstance(value, (list, tuple)):
            for part in value:
                collect(part, inside)
        elif isinstance(value, str) and inside:
            found.append(value)

    collect(figure, False)
    return found
