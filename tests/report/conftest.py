"""Runs of every model with names that a program could take for code, and what a report and a workbook make of them."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.data.corpus import Corpus
from acvb_core.data.report import Fact, ReadReport
from acvb_core.data.table import Table
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from tests.store.support import network, odd_relation

#: Text that is a formula, a tag, the end of a script, or no whole character.
ODD = [
    "=1+1",
    "<script>alert(1)</script>",
    "</script><b>",
    "@SUM(A1)",
    "bell\x07",
    "\ud83d",
    "x" * 40_000,
    "日本",
]


def _corpus() -> Corpus:
    counts = np.random.default_rng(0).poisson(2.0, (8, 6)) + np.eye(8, 6, dtype=int) * 6
    dates = np.array(["2024-01-01", "2024-02-01T12:30", "NaT", *["1600-01-01"] * 5], dtype="datetime64[s]")
    metadata = {"date": dates, "topic": np.arange(8), "note": ODD, "amount": np.linspace(0.0, 1.0, 8) / 3}
    words = [*ODD[:5], "word"]
    return Corpus.build(counts, vocabulary=words, documents=ODD, texts=ODD, metadata=metadata, name=ODD[1])


def _table() -> Table:
    rng = np.random.default_rng(0)
    has = rng.random((40, 2)) < 0.5
    values = has @ np.array([[3.0, 3.0, 0.0, 0.0], [0.0, 0.0, 5.0, 5.0]]) + rng.normal(0.0, 0.2, (40, 4))
    values[rng.random((40, 4)) < 0.1] = np.nan
    return Table.build(values, columns=["=A1", "<i>b</i>", "name", "d"], name="=1+1", labels=["x", "y"] * 20)


@pytest.fixture(scope="session")
def runs() -> dict[str, Result]:
    """A short run of each kind, with a read report."""
    relation = odd_relation()
    report = ReadReport(
        "file.csv", (Fact("lines", 3, "Read 3 lines of <b>."), Fact("blank", 1, "1 blank line."))
    )
    found = {
        "relation": fit(relation, "acvb0", k_rows=4, k_cols=2, max_sweeps=8),
        "network": fit(network(True, False), "acvb0", k_rows=4, heldout=0.1, max_sweeps=30),
        "topics": fit(_corpus(), "acvb0", k=3, max_sweeps=8),
        "table": fit(_table(), "fab", max_sweeps=30),
    }
    return {name: Result(run.state, run.name, report) for name, run in found.items()}
