"""Files of columns as frames: Parquet, Arrow, workbooks, JSON Lines, SQLite; and the one way to open a source."""

from __future__ import annotations

import functools
import itertools
import json
import os
import re
import sqlite3
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from xml.parsers import expat

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.report import Fact, list_first, plural, tell_count
from acvb_core.data.schema import Kind, Schema
from acvb_core.data.sources.frames import (
    TRIMMED,
    Frame,
    FrameChoices,
    FrameRecords,
    FrameSource,
    batch_texts,
    is_frame,
    name_parts,
    open_object,
    place_index,
    report_damage,
    write_cell,
)
from acvb_core.data.sources.parse import RecordReader, count_titles
from acvb_core.data.sources.source import MAX_TEXT, ByteSource, FileLike, Utf8Stream, open_lines, parse_json
from acvb_core.data.sources.values import PLAIN

_ONE_SELECT = "Give one SELECT that only reads, such as SELECT person, item FROM orders."
_FASTER_QUERY = (
    "Give a query that takes less, for instance with a condition for each table that it joins, or save its answer as a "
    "table."
)
#: Seconds that a query may take until its first row, and from row to row; a join can take years.
QUERY_SECONDS = 60.0
_QUERY_STEPS = 100_000
_TABLES = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER BY name"


def read_database(source: ByteSource, choices: FrameChoices) -> Frame:
    """Return the columns of a table, or of the answer to a query."""
    if choices.table is not None and choices.query is not None:
        raise ParameterError("Give a table or a query, not both.")
    query, what = choices.query, "the answer to a query"
    with _open_database(source, choices.query) as base:
        if query is None:
            table = _wanted_table(_table_names(base), choices.table, source)
            query, what = _whole_table(table), f"the table {table!r} of a database"
        names = tuple(column[0] for column in base.execute(query).description or ())

    def rows() -> Iterator[tuple[int, list[str | None]]]:
        with _open_database(source, choices.query) as base:
            for number, row in enumerate(base.execute(query), start=1):
                if any(isinstance(value, bytes) for value in row):
                    what = "this row holds bytes, not a number or a text"
                    raise source.fault(what, "Choose other columns with a query.", number)
                yield number, [None if value is None else write_cell(value) for value in row]
                _limit_seconds(base)

    return Frame("sqlite", what, names, True, lambda: batch_texts(rows(), len(names)))


@contextmanager
def _open_database(source: ByteSource, query: str | None = None) -> Iterator[sqlite3.Connection]:
    """Give a connection that can only read, and reaches no other file; a fault of the user's query is named so."""
    with report_damage(source, "an SQLite database", sqlite3.Error):
        if source.path is not None and not source.gzipped:
            uri = f"{Path(os.path.abspath(source.path)).as_uri()}?mode=ro&immutable=1"
            base = sqlite3.connect(uri, uri=True, check_same_thread=False)
        else:
            base = sqlite3.connect(":memory:", check_same_thread=False)
            base.deserialize(source.seekable().read())
        with closing(base):
            base.set_authorizer(_authorise)
            _limit_seconds(base)
            try:
                yield base
            except sqlite3.Error as problem:
                if getattr(problem, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
                    what = f"the query found no further row within {QUERY_SECONDS:g} seconds"
                    raise source.fault(what, _FASTER_QUERY) from None
                if query is None:
                    raise
                what = f"the query cannot be run ({problem})"
                raise source.fault(what, _ONE_SELECT, value=query) from None


def _limit_seconds(base: sqlite3.Connection) -> None:
    """End a query whose next row takes too long, from now on."""
    end = time.monotonic() + QUERY_SECONDS
    base.set_progress_handler(lambda: time.monotonic() > end, _QUERY_STEPS)


def _authorise(action: int, first: str | None, second: str | None, *_: object) -> int:
    # Not allowed is, among others, a recursive query, which need not end.
    allowed = action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION)
    loads = action == sqlite3.SQLITE_FUNCTION and second == "load_extension"
    return sqlite3.SQLITE_OK if allowed and not loads else sqlite3.SQLITE_DENY


def _table_names(base: sqlite3.Connection) -> tuple[str, ...]:
    try:
        names = tuple(name for (name,) in base.execute(_TABLES))
    except MemoryError:  # SQLite's word for a list of tables that claims to be longer than any memory
        raise sqlite3.DatabaseError("its list of tables is damaged") from None
    if not all(isinstance(name, str) for name in names):
        raise sqlite3.DatabaseError("the name of a table is no text")
    return names


def list_tables(source: ByteSource) -> tuple[tuple[str, ...], str | None]:
    """Return the names of the tables, and the first of them with data."""
    with _open_database(source) as base:
        names = _table_names(base)
        first = (name for name in names if base.execute(f"{_whole_table(name)} LIMIT 1").fetchone())
        return names, next(first, None)


def _wanted_table(tables: Sequence[str], choice: str | None, source: ByteSource) -> str:
    if choice in tables or (choice is None and len(tables) == 1):
        return choice or tables[0]
    what = "say which table of the database is to be read" if tables else "the database has no tables"
    what = what if choice is None else "the database has no table of this name"
    remedy = f"Choose one (table=...) among {name_parts(tables)}, or give a query (query='SELECT ...')."
    raise source.fault(what, remedy, value=choice)


def _whole_table(name: str) -> str:
    """Return the query for all rows of a table."""
    quoted = name.replace('"', '""')
    return f'SELECT * FROM "{quoted}"'  # noqa: S608 (the name is quoted)


#: Cells of a sheet, blank ones too; each takes about 32 bytes.
_MOST_CELLS = 25_000_000
#: The place of a cell, such as r="B12"; one of many letters or digits may continue behind this piece of the sheet.
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
        try:
            yield CalamineWorkbook.from_filelike(source.seekable())
        except BaseException as problem:
            if type(problem).__name__ != "PanicException":  # of Rust, which no module has
                raise
            raise CalamineError(str(problem)) from None


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
        if name is None:
            raise source.fault(
                f"the {plural(len(counts), 'sheet')} that would be read {'is' if len(counts) == 1 else 'are'} empty",
                f"Choose another sheet (sheet=...) among {name_parts(sheets)}, or fill it.",
                value=", ".join(counts),
            )
        sheet, rows = book.get_sheet_by_name(name), _numbered_rows(book, name)
        merged, left = sheet.merged_cell_ranges or [], sheet.start[1]
    texts = {number: [write_cell(value).strip() for value in row] for number, row in rows}
    width = len(rows[0][1])
    filled = [(number, row) for number, row in texts.items() if any(row)]
    n_titles = count_titles([row for _, row in filled], [width] * len(filled), width)
    first = filled[n_titles][0] if n_titles else 0
    facts = tell_count("title_lines", n_titles, TITLES.format("row"))
    n_merged = _fill_merged(texts, merged, first, left, source)
    told = "{cell|cells} of merged cells in the sheet: filled with the value of the first one."
    facts += tell_count("merged_cells", n_merged, told)
    full = [(number, row) for number, row in texts.items() if any(row) and number >= first]
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


def _fill_merged(
    rows: dict[int, list[str]], ranges: Sequence[Any], first: int, left: int, source: ByteSource
) -> int:
    """Give every cell of merged ones the value of the first, below the titles; return how many cells were filled."""
    n_filled = looked_at = 0
    width, last = len(next(iter(rows.values()))), max(rows)
    for (top, start), (bottom, end) in ranges:
        if not (first <= top + 1 <= last and top + 1 in rows and left <= start < left + width):
            continue  # among the titles, or outside the cells
        value = rows[top + 1][start - left]
        columns = range(start - left, min(end - left + 1, width))
        for number in range(top + 1, min(bottom + 1, last) + 1):
            looked_at += len(columns)
            for column in columns:
                if value and not rows[number][column]:
                    rows[number][column] = value
                    n_filled += 1
            if looked_at > _MOST_CELLS:
                what = f"its merged cells cover more than {_MOST_CELLS:,} cells"
                raise source.fault(what, "Undo the merging, or save the sheet as CSV.")
    return n_filled


def _wanted_sheets(sheets: Sequence[str], choice: str | int | None, source: ByteSource) -> Sequence[str]:
    if choice is None or choice in sheets:
        return sheets if choice is None else [str(choice)]
    at = int(choice) if isinstance(choice, int) or re.fullmatch("[0-9]{1,9}", choice) else None
    if at is not None and 0 <= at < len(sheets):  # typed on a command line, the position is a text
        return [sheets[at]]
    what = f"there is no sheet {'of this name' if at is None else 'at this position'}"
    raise source.fault(what, f"Choose among {name_parts(sheets)}.", value=str(choice))


def _count_rows(book: Any, names: Sequence[str]) -> dict[str, int]:
    """Return how many rows of each sheet are not blank."""
    return {
        name: sum(any(write_cell(value).strip() for value in row) for _, row in _numbered_rows(book, name))
        for name in names
    }


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
    rows = [] if sheet.start is None else sheet.to_python(skip_empty_area=True)
    return list(enumerate(rows, 1 + int(sheet.start[0]) if rows else 1))


#: The sentence about titles above a table.
TITLES = "{{{}}} above the table: taken for titles, skipped."
#: Rows of a Parquet file that tell how large rows are, and bytes that are read of it at a time.
_PARQUET_HEAD, _PARQUET_BYTES = 1 << 10, 1 << 26
#: Lines of JSON that are looked at for the names of the fields.
_JSON_HEAD = 10_000
#: Fields of all lines of JSON at most: each line has a cell for each of them. Spreadsheets have fewer, too.
MAX_JSON_FIELDS = 20_000
_GIVE_OBJECTS = 'Give an object on each line, such as {"text": "…"}.'


class FileChoices(NamedTuple):
    """Choices of how a file is read, before its schema is known."""

    container: str = "text"  # name of its format of columns; "text" if it has none
    #: Arguments of the readers; that of its sheets or tables first.
    options: tuple[str, ...] = ("encoding", "delimiter", "header")
    parts: tuple[str, ...] = ()  # names of its sheets or tables
    default: str | None = None  # the one that is read unless another is chosen; None: none has data


def inspect_choices(source: FileLike, filename: str | None = None) -> FileChoices:
    """Say what can be chosen of how a file is read; of one that cannot be read, what a text has."""
    try:
        with ByteSource(source, filename, columns=True) as opened:
            if opened.format is not None:
                name, options = opened.format.name, opened.format.options
                return FileChoices(name, options, *(_PARTS[name](opened) if name in _PARTS else ()))
    except DataError:
        pass  # whoever reads it says what is wrong
    return FileChoices()


def _read_parquet(source: ByteSource, choices: FrameChoices) -> Frame:
    import pyarrow as pa
    import pyarrow.parquet as pq

    what = "a Parquet file"

    def batches() -> Iterator[pa.RecordBatch]:
        with report_damage(source, what, pa.ArrowException):
            file = pq.ParquetFile(source.seekable())
            for group in range(file.num_row_groups):
                source.check_room(file.metadata.row_group(group).total_byte_size)
            head = next(file.iter_batches(_PARQUET_HEAD), None)
            # A column of one long text takes little room in the file, and much as rows.
            each = 0 if head is None else head.nbytes // max(head.num_rows, 1)
            yield from file.iter_batches(max(1, min(1 << 16, _PARQUET_BYTES // max(each, 1))))

    with report_damage(source, what, pa.ArrowException):
        file = pq.ParquetFile(source.seekable())
        schema, n_rows = file.schema_arrow, int(file.metadata.num_rows)
        return place_index(Frame("parquet", what, tuple(schema.names), True, batches, n_rows=n_rows), schema)


def _read_arrow(source: ByteSource, choices: FrameChoices) -> Frame:
    import pyarrow as pa
    from pyarrow import feather, ipc

    what = "an Arrow file"

    def read() -> Any:
        stream = pa.PythonFile(source.seekable(), mode="r")
        return ipc.open_file(stream) if source.head.startswith(b"ARROW1") else feather.read_table(stream)

    def batches() -> Iterator[pa.RecordBatch]:
        with report_damage(source, what, pa.ArrowException):
            file = read()
            if isinstance(file, pa.Table):
                yield from file.to_batches()
                return
            for at in range(file.num_record_batches):
                batch = file.get_batch(at)
                batch.validate(full=True)
                yield batch

    with report_damage(source, what, pa.ArrowException):
        schema = read().schema
        return place_index(Frame("arrow", what, tuple(schema.names), True, batches), schema)


def _read_json_lines(source: ByteSource, choices: FrameChoices) -> Frame:
    seen: dict[str, None] = {}
    for line, fields in itertools.islice(_json_rows(source), _JSON_HEAD + 1):
        seen.update(dict.fromkeys(fields))
        if len(seen) > MAX_JSON_FIELDS:
            what = (
                f"the lines so far hold {len(seen):,} different fields; at most {MAX_JSON_FIELDS:,} are read"
            )
            raise source.fault(what, "Give every line the same fields, and names of objects as values.", line)
    names = tuple(seen)
    if not names:
        raise source.fault("the lines of this JSON Lines file hold no fields", _GIVE_OBJECTS)
    known = set(names)

    def rows() -> Iterator[tuple[int, list[str | None]]]:
        for line, fields in _json_rows(source):
            if not fields.keys() <= known:
                new = next(name for name in fields if name not in known)
                what = f"the field {new!r} is not in the first {_JSON_HEAD:,} lines"
                raise source.fault(what, "Give it in one of the first lines too, with the value null.", line)
            yield line, [fields.get(name) for name in names]

    return Frame(
        "json-lines", "a JSON Lines file", names, True, lambda: batch_texts(rows(), len(names)), unit="line"
    )


def _json_rows(source: ByteSource) -> Iterator[tuple[int, dict[str, str | None]]]:
    """Give the number of each line that is not blank, and its fields as texts; those of nested objects as a.b."""
    lines, _ = open_lines(source, whole=False)
    for number, line in enumerate(iter(lambda: lines.readline(MAX_TEXT + 1), ""), start=1):
        if len(line) > MAX_TEXT:
            what = f"this line is longer than {MAX_TEXT:,} characters"
            raise source.fault(what, "Check the line ends: one JSON object on each line.", number)
        if not line.strip():
            continue
        value = parse_json(line, source, "Correct the line: one JSON object on each.", number)
        if isinstance(value, list):
            value = {f"column {i + 1}": item for i, item in enumerate(value)}
        if not isinstance(value, dict):
            raise source.fault("this line holds no JSON object", _GIVE_OBJECTS, number, line.rstrip("\r\n"))
        fields: dict[str, str | None] = {}
        _flatten(value, "", fields)
        yield number, fields


def _flatten(value: dict[str, Any], prefix: str, into: dict[str, str | None]) -> None:
    for key, item in value.items():
        name = prefix + key
        if item is None or isinstance(item, str):
            into[name] = item
        elif isinstance(item, dict):
            _flatten(item, f"{name}.", into)
        else:
            into[name] = json.dumps(item, ensure_ascii=False) if isinstance(item, list) else write_cell(item)


#: By the name of the format, whose row says how its files are recognised.
_READERS: dict[str, Callable[[ByteSource, FrameChoices], Frame]] = {
    "parquet": _read_parquet,
    "arrow": _read_arrow,
    "excel": read_workbook,
    "json-lines": _read_json_lines,
    "sqlite": read_database,
}
#: The names of a file's sheets or tables, and the one that is offered first: the visible sheet with most rows, or the
#: first table with data.
_PARTS: dict[str, Callable[[ByteSource], tuple[tuple[str, ...], str | None]]] = {
    "excel": list_sheets,
    "sqlite": list_tables,
}


def open_source(
    source: FileLike | Any,
    filename: str | None = None,
    *,
    kind: Kind | None = None,
    patient: bool = False,
    choices: FrameChoices | None = None,
) -> ByteSource | FrameSource:
    """Open a file, bytes, or a data frame: whatever has the Arrow stream or the dataframe protocol.

    `filename`, `kind` and `patient` as for `ByteSource`. A choice that the source does not have is a ParameterError.
    """
    choices = choices or FrameChoices()
    if is_frame(source):
        _refuse_choices(choices, filename or "a data frame", ())
        return FrameSource(open_object(source), filename or "the data frame", patient=patient)
    opened = ByteSource(source, filename, kind=kind, columns=True, patient=patient)
    try:
        format = opened.format
        _refuse_choices(choices, opened.name, () if format is None else format.options)
        if format is None or format.family != "columns":
            return opened
        frame = _READERS[format.name](opened, choices)
        if not frame.names:
            raise opened.fault(f"{frame.what} has no columns", "Load a file with data in it.")
        return FrameSource(frame, opened.name, patient=patient, below=opened)
    except BaseException:
        opened.close()
        raise


def _refuse_choices(choices: FrameChoices, name: str, options: Sequence[str]) -> None:
    for option, value in choices._asdict().items():
        if value is not None and option not in options:
            has = "sheets" if option == "sheet" else "tables"
            raise ParameterError(f"{name} has no {has}: leave out {option}={value!r}.")


def open_records(
    source: ByteSource | FrameSource,
    schema: Schema,
    *,
    encoding: str | None = None,
    used: Sequence[int] | None = None,
    trim: bool = True,
    whole: bool = False,
    **options: Any,
) -> RecordReader | FrameRecords:
    """Return the records of a frame, some of whose columns are `used` and trimmed or not, or of a delimited text.

    The other arguments are of a text, as for `Utf8Stream` and `RecordReader`.
    """
    if isinstance(source, FrameSource):
        return FrameRecords(source, header=schema.header, used=used, trim=trim)
    # More or fewer than the columns of the schema would lead compiled loops out of the fields.
    options |= {"header": schema.header, "title_lines": schema.title_lines, "n_fields": schema.n_fields}
    return RecordReader(
        Utf8Stream(source, encoding, whole=whole), source.name, schema.delimiter or ",", **options
    )


def reading_facts(reader: RecordReader | FrameRecords, schema: Schema) -> list[Fact]:
    """Return the facts about reading the columns, once the records were read to their end."""
    facts = reader.facts() if isinstance(reader, FrameRecords) else _text_facts(reader, schema)
    used = schema.used_columns
    unused = [] if used is None else [i for i in range(schema.n_fields) if i not in used]
    if isinstance(reader, FrameRecords) and reader.has_unnamed_index:
        unused = [i for i in unused if i]  # nobody put it there
    if unused:
        known = dict(enumerate(schema.column_names))
        names = [known.get(i, f"column {i + 1}") for i in unused]
        told = f"{plural(len(unused), 'column')} not used: {list_first(names)}."
        facts.append(Fact("unused_columns", len(unused), told))
    if schema.style != PLAIN:
        facts.append(Fact("number_style", 0, schema.style.sentence))
    return facts


def _text_facts(reader: RecordReader, schema: Schema) -> list[Fact]:
    first = f"line {schema.title_lines + 1:,}" if schema.title_lines else "the first"
    held = "names" if schema.header else "data"
    read = f"Read {plural(reader.lines_read, 'line')}; {first} holds {held}."
    details = {"header": schema.header, "delimiter": schema.delimiter, "encoding": schema.encoding}
    facts = [Fact("lines", reader.lines_read, read, details), *encoding_facts(schema)]
    facts += tell_count("title_lines", schema.title_lines, TITLES.format("line"))
    told = "{line that starts|lines that start} with # or % above the data: skipped."
    facts += tell_count("comment_lines", reader.comment_lines, told)
    facts += tell_count("blank_lines", reader.blank_lines, "{blank line}: skipped.")
    return facts + tell_count("trimmed", reader.trimmed, TRIMMED)


def encoding_facts(schema: Schema) -> list[Fact]:
    """Return the fact about the encoding of a text, none of one in UTF-8."""
    told = f"The text was decoded as {schema.encoding}."
    return [] if schema.encoding in ("utf-8-sig", "utf-8") else [Fact("encoding", 0, told)]
