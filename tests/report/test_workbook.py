"""The workbook opens in another program with the tables of the run, and no cell of it is a formula."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import openpyxl
import pandas as pd
import pytest

from acvb_core.engine.result import Result
from acvb_core.report import workbook
from acvb_core.report.contents import list_sheets
from acvb_core.report.workbook import workbook_bytes
from acvb_core.store.export import csv_text
from tests.loops import for_each
from tests.report.conftest import ODD

KINDS = ["relation", "network", "topics", "table"]


def read_cells(content: bytes) -> dict[str, list[list[Any]]]:
    book = openpyxl.load_workbook(io.BytesIO(content))
    return {page.title: [[cell.value for cell in row] for row in page.rows] for page in book}


@for_each("kind", KINDS)
def test_every_table_is_there_with_the_numbers_of_the_csv_file(kind: str, runs: dict[str, Result]) -> None:
    result = runs[kind]
    cells = read_cells(workbook_bytes(result))
    sheets = list_sheets(result)
    assert list(cells) == ["About", *(sheet.title for sheet in sheets)]
    for title, table, exact in ((sheet.title, sheet.table, sheet.exact) for sheet in sheets):
        head, *lines = cells[title]
        assert head == [str(name).replace("\x07", "\ufffd") for name in table.columns], title
        assert len(lines) == len(table), title
        text = pd.read_csv(io.StringIO(csv_text(table, exact=exact)), names=range(len(head)), header=0)
        for at in range(len(head)):
            if pd.api.types.is_numeric_dtype(table.dtypes.iloc[at]):
                found = pd.Series([line[at] for line in lines], dtype=float)
                pd.testing.assert_series_equal(
                    found, text[at].astype(float), check_names=False, rtol=1e-15, atol=0.0
                )
    shown = "\n".join(str(line[1]) for line in cells["About"])
    assert result.label in shown
    assert result.prepared.fingerprint in shown


@for_each("kind", KINDS)
def test_text_is_no_formula_and_comes_back(kind: str, runs: dict[str, Result]) -> None:
    content = workbook_bytes(runs[kind])
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        pages = [archive.read(name) for name in archive.namelist() if "worksheets/sheet" in name]
    assert len(pages) > 8
    for page in pages:
        assert b"<f>" not in page
        assert b"<hyperlink" not in page
        assert b'state="frozen"' in page or page is pages[0]
    if kind == "topics":
        head, *lines = read_cells(content)["Data with results"]
        names = [line[head.index("document")] for line in lines]
        assert names[:5] == [*ODD[:4], "bell\ufffd"]
        assert (len(names[6]), names[6][-1]) == (32_767, "…")
        dates = [line[head.index("date")] for line in lines]
        assert [str(date) for date in dates[:2]] == ["2024-01-01 00:00:00", "2024-02-01 12:30:00"]
        assert dates[2:4] == [None, "1600-01-01 00:00:00"], "Excel has no such year"
        assert [line[head.index("topic (read)")] for line in lines] == list(range(8)), (
            "a column named like ours"
        )


def test_a_long_table_is_cut_and_the_first_sheet_says_so(
    runs: dict[str, Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workbook, "MOST_CELLS", 30)
    cells = read_cells(workbook_bytes(runs["network"]))
    head, *lines = cells["Rows"]
    assert len(lines) == 30 // len(head)
    about = next(line[1] for line in cells["About"] if line[0] == "Rows")
    assert about.endswith(f"24 rows. The first {len(lines)} are here; the CSV file has all.")
