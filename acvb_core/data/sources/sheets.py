"""Sheets of a workbook before they are read: their reader makes room for every cell between the first and the last."""

from __future__ import annotations

import functools
import re
import zipfile
from xml.parsers import expat

from acvb_core.data.sources.byte_source import ByteSource

#: Cells of a sheet, blank ones too; each takes about 32 bytes.
_MOST_CELLS = 25_000_000
#: The place of a cell, such as r="B12"; one of many letters or digits may go on behind this piece of the sheet.
_CELL = re.compile(
    rb"\br\s*=\s*[\"'](?:([A-Za-z]{1,9})([0-9]{1,19})[\"']|([A-Za-z]{10}|[A-Za-z]{1,9}[0-9]{20}))"
)


def check_sheets(source: ByteSource) -> None:
    """Refuse a sheet whose cells lie so far apart that the rectangle around them does not fit: it ends the process."""
    archive = source.archive()
    for entry in archive.infolist():
        if entry.filename == "content.xml":
            _check_form(archive, entry)
        if not entry.filename.startswith("xl/"):
            continue
        last_row, columns, rest = 0, set[bytes](), b""
        with archive.open(entry) as sheet:
            while piece := sheet.read(1 << 20):
                cells = _CELL.findall(rest + piece)
                if far := next((place for *_, place in cells if place), None):
                    what = f"{entry.filename} has a cell at the place {far.decode()}…, which no sheet has"
                    raise source.fault(what, "Correct its place, or save the sheet as CSV.")
                last_row = max(last_row, *(int(digits) for _, digits, _ in cells), 0)
                columns |= {letters for letters, _, _ in cells}
                rest = piece[-40:]
        last_column = max(map(_column_number, columns), default=0)
        if last_row * last_column > _MOST_CELLS:
            raise source.fault(
                f"{entry.filename} has cells up to row {last_row:,} and column {last_column:,}",
                f"A sheet may span {_MOST_CELLS:,} cells at most: delete the cells that lie far away, or save the "
                "sheet as CSV.",
            )


def _check_form(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> None:
    """Refuse a sheet of OpenDocument that is not well-formed XML by a ValueError: its reader would never end."""

    def refuse(*_: object) -> None:
        raise ValueError(f"{entry.filename} declares an entity")

    parser = expat.ParserCreate()
    parser.EntityDeclHandler = refuse
    try:
        with archive.open(entry) as sheet:
            parser.ParseFile(sheet)
    except expat.ExpatError as problem:
        raise ValueError(f"{entry.filename} is not well-formed XML ({problem})") from None
    except LookupError as problem:  # of the encoding that it declares
        raise ValueError(f"{entry.filename} cannot be decoded: {problem}") from None


def _column_number(letters: bytes) -> int:
    return functools.reduce(lambda number, letter: 26 * number + (letter & 31), letters, 0)
