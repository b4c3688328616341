"""Random data, written as a file of each format, come back as they were."""

from __future__ import annotations

import csv
import io
import random
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from acvb_core.data.relation_readers import load_relation
from acvb_core.data.sources.parse import MAX_FIELD, RecordReader
from acvb_core.data.sources.source import MAX_TEXT, ByteSource, Utf8Stream
from tests.loops import for_each

FEW = settings(max_examples=15)
# Blanks around a name are taken off, control characters are refused, and a few words stand for what is missing.
LETTERS = st.characters(exclude_categories=["Cc", "Cs"]) | st.sampled_from(list("a1 ,;|\"'#%\t\n"))
NAME = st.text(LETTERS, min_size=1, max_size=8).map(lambda text: f"n{text}n")


def names(count: int) -> st.SearchStrategy[list[str]]:
    return st.lists(NAME, min_size=count, max_size=count, unique=True)


def delimited(rows: list[list[Any]], mark: str) -> bytes:
    out = io.StringIO()
    csv.writer(out, delimiter=mark).writerows(rows)
    return out.getvalue().encode()


@st.composite
def relations(draw: st.DrawFn) -> tuple[list[str], list[str], np.ndarray]:
    """Draw names of both sides, and cells: 1, 0, or NaN where it is not known; with a link and a zero at least."""
    n_rows, n_columns = draw(st.integers(1, 4)), draw(st.integers(2, 4))
    cells = draw(
        st.lists(st.sampled_from([0, 1, np.nan]), min_size=n_rows * n_columns, max_size=n_rows * n_columns)
    )
    matrix = np.array(cells, dtype=np.float64).reshape(n_rows, n_columns)
    matrix[0, :2] = 0, 1
    return draw(names(n_rows)), draw(names(n_columns)), matrix


def assert_same(
    loaded: Any, cells: np.ndarray, rows: list[str] | None = None, columns: list[str] | None = None
) -> None:
    relation = loaded.data
    np.testing.assert_array_equal(relation.ones.toarray(), cells == 1)
    np.testing.assert_array_equal(relation.missing.toarray(), np.isnan(cells))
    for labels, expected in ((relation.row_labels, rows), (relation.column_labels, columns)):
        assert expected is None or list(labels) == expected


@FEW
@given(relations(), st.sampled_from([",", ";", "\t", "|"]))
def test_relations_come_back_from_delimited_text(drawn: Any, mark: str) -> None:
    rows, columns, cells = drawn
    shown = [["" if np.isnan(cell) else int(cell) for cell in row] for row in cells]
    options: dict[str, Any] = {"delimiter": mark, "header": True, "domains": "two"}
    edges = [[row, column, shown[i][j]] for i, row in enumerate(rows) for j, column in enumerate(columns)]
    text = delimited([["person", "event", "value"], *edges], mark)
    assert_same(load_relation(text, format="edges", **options), cells, rows, columns)
    table = [["", *columns], *([row, *shown[i]] for i, row in enumerate(rows))]
    loaded = load_relation(delimited(table, mark), format="matrix", row_column=0, **options)
    assert_same(loaded, cells, rows, columns)


PIECES = ["a", "b", ",", ";", '"', "\n", "\r\n", "\r", " ", "é", "漢", "\x01", "\t", "#", "%", ""]


def read_texts(
    content: bytes, delimiter: str, block_bytes: int, **options: Any
) -> list[tuple[int, list[str]]]:
    with ByteSource(content, "f.csv", patient="on_fault" in options) as source:
        reader = RecordReader(Utf8Stream(source), "f.csv", delimiter, block_bytes=block_bytes, **options)
        return [(int(line), batch.record(at)) for batch in reader for at, line in enumerate(batch.lines)]


@for_each("seed", range(3))
def test_tables_of_texts_are_read_as_csv_reads_them(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(150):
        width = rng.randint(2, 4)
        rows = [["".join(rng.choices(PIECES, k=rng.randint(0, 6))) for _ in range(width)] for _ in range(4)]
        out, delimiter, end = io.StringIO(newline=""), rng.choice(",;\t"), rng.choice(["\n", "\r\n", "\r"])
        csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL).writerows(rows)
        size = rng.choice([1, 3, 7, 64, 1 << 19])
        found = read_texts(out.getvalue().encode(), delimiter, size, longest=MAX_TEXT, n_fields=width)
        assert [record for _, record in found] == rows


@for_each("seed", range(3))
def test_broken_lines_are_the_same_wherever_blocks_end(seed: int) -> None:
    rng, pieces = random.Random(seed), [*PIECES[:9], "\0", ",", "#"]
    for _ in range(150):
        content = "x" + "".join(rng.choices(pieces, k=rng.randint(1, 40)))
        longest, titles = rng.choice([MAX_FIELD, MAX_TEXT]), rng.choice([0, 0, 1, 2])
        outcomes = []
        for size in (1, 2, 5, 1 << 19):
            faults: list[Any] = []
            options = {"longest": longest, "title_lines": titles, "n_fields": 2}
            found = read_texts(content.encode(), ",", size, on_fault=faults.append, **options)
            outcomes.append((found, [(fault.line, fault.what) for fault in faults]))
        assert outcomes.count(outcomes[0]) == 4
