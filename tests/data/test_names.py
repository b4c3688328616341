"""Names that no file could hold are mended where data are made."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from acvb_core.data.corpus import Corpus
from acvb_core.data.names import mend_text
from acvb_core.data.relation import Relation
from acvb_core.data.table import Table
from acvb_core.engine.fitting import fit
from acvb_core.store.export import write_run

HALF, MENDED = "half \ud800 pair", "half \\ud800 pair"
NAMES = [HALF, "b", "c"]


@pytest.mark.parametrize(
    ("given", "mended"),
    [
        (HALF, MENDED),
        ("\ud83d\ude00", "\U0001f600"),
        ("\U0001f600 \x00 \u202e", "\U0001f600 \x00 \u202e"),
        ("", ""),
    ],
)
def test_halves_of_pairs_become_their_escapes(given: str, mended: str) -> None:
    assert mend_text(given) == mended


@pytest.mark.parametrize("kind", ["relation", "corpus", "table"])
def test_a_run_on_such_names_can_be_written(kind: str, tmp_path: Path) -> None:
    counts = np.array([[1, 0, 1], [0, 1, 1], [0, 0, 2]])
    if kind == "relation":
        links = counts > 0
        data = Relation.build(
            links, row_labels=NAMES, column_labels=NAMES, name=HALF, row_kind=HALF, attributes={HALF: NAMES}
        )
    elif kind == "corpus":
        data = Corpus.build(
            counts,
            vocabulary=NAMES,
            documents=NAMES,
            texts=NAMES,
            labels=NAMES,
            name=HALF,
            metadata={HALF: NAMES},
        )
        assert data.texts == (MENDED, "b", "c")
    else:
        data = Table.build(counts, rows=NAMES, columns=NAMES, labels=NAMES, name=HALF)
    assert data.name == MENDED
    result = fit(
        data, "em" if kind == "table" else "vb", max_sweeps=2, **({"k": 2} if kind == "corpus" else {})
    )
    write_run(result, tmp_path)
    assert MENDED in json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))["data"]["name"]


def test_names_that_differ_in_such_halves_alone_stay_apart() -> None:
    table = Table.build([[0.0], [1.0]], rows=["\ud800", "\ud801"])
    assert table.rows.tolist() == ["\\ud800", "\\ud801"]
