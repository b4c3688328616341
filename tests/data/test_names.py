"""Names that no file could hold are mended where data are made."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from acvb_core.core.errors import DataError
from acvb_core.data.corpus import Corpus
from acvb_core.data.names import mend_text
from acvb_core.data.relation import Relation
from acvb_core.data.table import Table
from acvb_core.data.table_build import load_table
from acvb_core.engine.fitting import fit
from acvb_core.store.export import write_run
from tests.loops import for_each

HALF, MENDED = "half \ud800 pair", "half \\ud800 pair"
NAMES = [HALF, "b", "c"]


@for_each(
    "given, mended",
    [
        (HALF, MENDED),
        ("\ud83d\ude00", "\U0001f600"),
        ("\U0001f600 \x00 \u202e", "\U0001f600 \x00 \u202e"),
        ("", ""),
    ],
)
def test_halves_of_pairs_become_their_escapes(given: str, mended: str) -> None:
    assert mend_text(given) == mended


@for_each("kind", ["relation", "corpus", "table"])
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


CELLS = np.array([[1.0, 2.0], [3.0, 5.0], [4.0, 1.0]])
LARGE = [2.0**53, 2.0**53 + 2, 5.0]


def test_whole_numbers_are_one_name_with_and_without_a_point() -> None:
    ids = [1.0, 20.0, 3.0]
    frame = pd.DataFrame(CELLS, columns=["x", "y"])
    tables = [
        load_table(frame.set_axis(ids)).data,
        load_table(frame.set_axis([1, 20, 3])).data,
        load_table(frame.assign(key=ids), row_labels="key").data,
        load_table(b"key,x,y\n1.0,1,2\n20.0,3,5\n3,4,1\n", row_labels="key").data,
        load_table(np.column_stack([ids, CELLS]), row_labels=0).data,
        Table.build(CELLS, rows=ids),
        Table.build(frame, rows=np.array(ids)),
        Table.build(frame.set_axis(ids)),
    ]
    assert [table.rows.tolist() for table in tables] == [["1", "20", "3"]] * len(tables)
    grouped = [
        Table.build(CELLS, labels=[1.0, np.nan, 2.0]),
        load_table(frame.assign(label=[1.0, np.nan, 2.0]), label_column="label").data,
        load_table(b"label,x,y\n1.0,1,2\n,3,5\n2.0,4,1\n", label_column="label").data,
    ]
    for table in grouped:
        assert table.labels is not None
        assert table.labels.tolist() == ["1", "", "2"]


def test_numbers_that_were_rounded_name_nothing() -> None:
    frame = pd.DataFrame(CELLS, columns=["x", "y"])
    text = b"key,x,y\n1.23457E+11,1,2\n1.23458E+11,3,5\n7,4,1\n"
    doors: list[Callable[[], Any]] = [
        lambda: load_table(frame.set_axis(LARGE)),
        lambda: load_table(frame.assign(key=LARGE), row_labels="key"),
        lambda: load_table(frame.assign(key=LARGE), label_column="key"),
        lambda: load_table(text, row_labels="key"),
        lambda: load_table(np.column_stack([LARGE, CELLS]), row_labels=0),
        lambda: Table.build(CELLS, rows=LARGE),
        lambda: Table.build(frame.set_axis(LARGE)),
    ]
    for door in doors:
        with pytest.raises(DataError, match="this id is a rounded number"):
            door()
    wanted = [str(int(key)) for key in LARGE]
    assert (
        load_table(frame.assign(key=pd.array(LARGE, "int64")), row_labels="key").data.rows.tolist() == wanted
    )
