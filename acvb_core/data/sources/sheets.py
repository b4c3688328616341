"""Sheets of a workbook as frames; their reader makes room for every cell between the first and the last."""

from __future__ import annotations

import functools
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from xml.parsers import expat

from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.byte_source import ByteSource
from acvb_core.data.sources.cells import batch_texts, name_parts, report_damage, write_cell
from acvb_core.data.sources.frames import Frame, FrameChoices

#: Cells of a sheet, blank ones too; each takes about 32 bytes.
_MOST_CELLS = 25_000_000
#: The place of a cell, such as r="B12"; one of many letters or digits may go on behind this piece of the sheet.
_CELL = re.compile(
    rb"\br\s*=\s*[\"'](?:([A-Za-z]{1,9})([0-9]{1,19})[\"']|([A-Za-z]{10}|[A-Za-z]{1,9}[0-9]{20}))"
)


def _check_sheets(source: ByteSource) -> None:
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


@contextmanager
def _open_workbook(source: ByteSource) -> Iterator[Any]:
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError:
        assert source.format is not None
        raise source.fault(
            f"this is {source.format.noun}, and python-calamine is not installed, which reads it",
            f'Install it: pip install "acvb-core[{source.format.extra}]".',
        ) from None
    if source.is_zip:
        source.check_room(sum(entry.file_size for entry in source.archive().infolist()))
    what = "an Excel workbook (xlsx)" if source.is_zip else "an old Excel workbook (xls) or Word document"
    damage = (CalamineError, ValueError, RuntimeError, EOFError, zipfile.BadZipFile, zlib.error)
    with report_damage(source, what, *damage):
        if source.is_zip:
            _check_sheets(source)
        yield CalamineWorkbook.from_filelike(source.seekable())


def list_sheets(source: ByteSource) -> tuple[tuple[str, ...], str | None]:
    """Return the names of the sheets, and the one that is read unless another is chosen; None if all are empty."""
    with _open_workbook(source) as book:
        names = tuple(book.sheet_names)
        return names, _usual_sheet(book, _count_rows(book, names))


def read_workbook(source: ByteSource, choices: FrameChoices) -> Frame:
    """Return the columns of a sheet: the one that was chosen, or the visible one with most rows."""
    with _open_workbook(source) as book:
        sheets = tuple(book.sheet_names)
        counts = _count_rows(book, _wanted_sheets(sheets, choices.sheet, source))
        name = _usual_sheet(book, counts)
        rows = [] if name is None else _numbered_rows(book, name)
    if name is None:
        raise source.fault(
            f"the {plural(len(counts), 'sheet')} that would be read {'is' if len(counts) == 1 else 'are'} empty",
            f"Choose another sheet (sheet=...) among {name_parts(sheets)}, or fill it.",
            value=", ".join(counts),
        )
    texts = [(number, [write_cell(value).strip() for value in row]) for number, row in rows]
    full = [(number, row) for number, row in texts if any(row)]
    width = len(texts[0][1])
    facts = []
    others = [other for other, count in counts.items() if count and other != name]
    if others:
        told = (
            f"The workbook has {len(others) + 1:,} sheets with data; {name!r} was read, {name_parts(others)} not. "
            "Unless you choose a sheet, it is the visible one with most rows."
        )
        facts.append(Fact("other_sheets", len(others), told))
    return Frame(
        "excel",
        f"the sheet {name!r} of a workbook",
        tuple(f"column {i + 1}" for i in range(width)),
        False,
        lambda: batch_texts(full, width),
        n_rows=len(full),
        facts=tuple(facts),
    )


def _wanted_sheets(sheets: Sequence[str], choice: str | int | None, source: ByteSource) -> Sequence[str]:
    if choice is None:
        return sheets
    if choice in sheets:
        return [str(choice)]
    if isinstance(choice, int) or re.fullmatch("[0-9]{1,9}", choice):  # typed on a command line
        if 0 <= int(choice) < len(sheets):
            return [sheets[int(choice)]]
        what = "there is no sheet at this position"
    else:
        what = "there is no sheet of this name"
    raise source.fault(what, f"Choose among {name_parts(sheets)}.", value=str(choice))


def _count_rows(book: Any, names: Sequence[str]) -> dict[str, int]:
    """Return how many rows of each sheet are not blank."""
    return {name: sum(any(map(_is_filled, row)) for _, row in _numbered_rows(book, name)) for name in names}


def _is_filled(value: Any) -> bool:
    return not isinstance(value, str) or bool(value.strip())


def _usual_sheet(book: Any, counts: dict[str, int]) -> str | None:
    """Return the sheet with most rows, the first of equal ones; a hidden one only if no other has data.

    Workbooks often begin with a sheet of explanations, and hide one with the lists that their cells choose from.
    """
    filled = [name for name, count in counts.items() if count]
    hidden = {sheet.name for sheet in book.sheets_metadata if "Hidden" in str(sheet.visible)}
    shown = [name for name in filled if name not in hidden]
    return max(shown or filled, key=counts.__getitem__, default=None)


def _numbered_rows(book: Any, name: str) -> list[tuple[int, list[Any]]]:
    """Return the rows of a sheet from the first that is not empty on, with their numbers."""
    sheet = book.get_sheet_by_name(name)
    return (
        []
        if sheet.start is None
        else list(enumerate(sheet.to_python(skip_empty_area=True), int(sheet.start[0]) + 1))
    )
