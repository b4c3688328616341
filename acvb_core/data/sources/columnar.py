"""Files of columns as frames: Parquet, Arrow and Feather, workbooks, JSON Lines, SQLite databases."""

from __future__ import annotations

import itertools
import json
import os
import re
import sqlite3
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.byte_source import ByteSource, FileLike
from acvb_core.data.sources.frames import LINES, Frame, FrameChoices
from acvb_core.data.sources.sheets import check_sheets
from acvb_core.data.sources.text_lines import MAX_TEXT, open_lines, parse_json

#: Rows that are turned into Arrow at a time, where a library gives Python values.
_ROWS = 1 << 14
#: Rows of a Parquet file that tell how large rows are, and bytes that are read of it at a time.
_PARQUET_HEAD, _PARQUET_BYTES = 1 << 10, 1 << 26
#: Cells of those rows at most, but for one row.
_CELLS = 1 << 22
#: Lines of JSON that are looked at for the names of the fields.
_JSON_HEAD = 10_000
#: Fields of all lines of JSON at most: each line has a cell for each of them. Spreadsheets have fewer, too.
MAX_JSON_FIELDS = 20_000
#: Names of sheets or tables that a message lists.
_SHOWN = 8
_GIVE_OBJECTS = 'Give an object on each line, such as {"text": "…"}.'
_ONE_SELECT = "Give one SELECT that only reads, such as SELECT person, item FROM orders."
_FASTER_QUERY = (
    "Give a query that takes less, for instance with a condition for each table that it joins, or save its answer as a "
    "table."
)
#: Seconds that a query may take until its first row, and from row to row; a join can take years.
QUERY_SECONDS = 60.0
_QUERY_STEPS = 100_000
_TABLES = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER BY name"


class FileChoices(NamedTuple):
    """Choices of how a file is read, before its layout is known."""

    container: str = "text"  # name of its format of columns; "text" where it has none
    #: Arguments of the readers; that of its sheets or tables first.
    options: tuple[str, ...] = ("encoding", "delimiter", "header")
    parts: tuple[str, ...] = ()  # names of its sheets or tables
    first: str | None = None  # the first of them with data


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


def open_file(source: ByteSource, choices: FrameChoices) -> Frame | None:
    """Return the columns of a file that holds such; None for every other kind of file.

    A damaged file, and a sheet or table that has to be chosen, is a DataError; a choice that this kind of file does
    not have a ParameterError.
    """
    format = source.format
    if format is None or format.family != "columns":
        return None
    for option, value in choices.given_options().items():
        if option not in format.options:
            raise ParameterError(f"{source.name} is {format.noun}: it has no choice {option}={value!r}.")
    frame = _READERS[format.name](source, choices)
    if not frame.names:
        raise source.fault(f"{frame.what} has no columns", "Load a file with data in it.")
    return frame


@contextmanager
def _report_damage(source: ByteSource, what: str, *errors: type[Exception]) -> Iterator[None]:
    """Turn what a library raises while it reads a file into a DataError."""
    reported: tuple[type[Exception], ...] = (*errors, OSError, UnicodeDecodeError)
    try:
        yield
    except reported as problem:
        told = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise source.fault(
            f"this is {what} that cannot be read ({told})",
            "It may be damaged or truncated: save, copy or download it again.",
        ) from None


def _read_parquet(source: ByteSource, choices: FrameChoices) -> Frame:
    import pyarrow as pa
    import pyarrow.parquet as pq

    what = "a Parquet file"

    def batches() -> Iterator[pa.RecordBatch]:
        with _report_damage(source, what, pa.ArrowException):
            file = pq.ParquetFile(source.seekable())
            for group in range(file.num_row_groups):
                source.check_room(file.metadata.row_group(group).total_byte_size)
            head = next(file.iter_batches(_PARQUET_HEAD), None)
            # A column of one long text takes little room in the file, and much as rows.
            each = 0 if head is None else head.nbytes // max(head.num_rows, 1)
            yield from file.iter_batches(max(1, min(1 << 16, _PARQUET_BYTES // max(each, 1))))

    with _report_damage(source, what, pa.ArrowException):
        file = pq.ParquetFile(source.seekable())
        names, n_rows = tuple(file.schema_arrow.names), int(file.metadata.num_rows)
    return Frame("parquet", what, names, True, batches, n_rows=n_rows)


def _read_arrow(source: ByteSource, choices: FrameChoices) -> Frame:
    import pyarrow as pa
    from pyarrow import feather, ipc

    what = "an Arrow file"

    def read() -> Any:
        stream = pa.PythonFile(source.seekable(), mode="r")
        return ipc.open_file(stream) if source.head.startswith(b"ARROW1") else feather.read_table(stream)

    def batches() -> Iterator[pa.RecordBatch]:
        with _report_damage(source, what, pa.ArrowException):
            file = read()
            if isinstance(file, pa.Table):
                yield from file.to_batches()
                return
            for at in range(file.num_record_batches):
                batch = file.get_batch(at)
                batch.validate(full=True)
                yield batch

    with _report_damage(source, what, pa.ArrowException):
        names = tuple(read().schema.names)
    return Frame("arrow", what, names, True, batches)


def _text_batches(rows: Iterable[tuple[int, Sequence[str | None]]], width: int) -> Iterator[Any]:
    """Give rows of texts, each with its number, as record batches with the numbers behind the columns."""
    import pyarrow as pa

    names = [f"column {i + 1}" for i in range(width)]
    left = iter(rows)
    while part := list(itertools.islice(left, max(1, min(_ROWS, _CELLS // max(width, 1))))):
        columns = [pa.array([row[i] for _, row in part], pa.large_string()) for i in range(width)]
        lines = pa.array([number for number, _ in part], pa.int64())
        yield pa.RecordBatch.from_arrays([*columns, lines], names=[*names, LINES])


def _text_of(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))  # a workbook, and often JSON, keeps every number as a float
    return str(value)


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
    with _report_damage(source, what, *damage):
        if source.is_zip:
            check_sheets(source)
        yield CalamineWorkbook.from_filelike(source.seekable())


def _list_sheets(source: ByteSource) -> tuple[tuple[str, ...], str | None]:
    with _open_workbook(source) as book:
        names = tuple(book.sheet_names)
        return names, next((name for name in names if _numbered_rows(book, name)), None)


def _read_workbook(source: ByteSource, choices: FrameChoices) -> Frame:
    with _open_workbook(source) as book:
        sheets = tuple(book.sheet_names)
        rows = {name: _numbered_rows(book, name) for name in _wanted_sheets(sheets, choices.sheet, source)}
    filled = [name for name in rows if rows[name]]
    if not filled:
        raise source.fault(
            f"the {plural(len(rows), 'sheet')} that would be read {'is' if len(rows) == 1 else 'are'} empty",
            f"Choose another sheet (sheet=...) among {_list_names(sheets)}, or fill it.",
            value=", ".join(rows),
        )
    name = filled[0]
    texts = [(number, [_text_of(value).strip() for value in row]) for number, row in rows[name]]
    full = [(number, row) for number, row in texts if any(row)]
    width = len(texts[0][1])
    facts = []
    if len(filled) > 1 and choices.sheet is None:
        others = _list_names(filled[1:])
        told = f"The workbook has {len(filled):,} sheets with data; {name!r} was read, {others} not."
        facts.append(Fact("other_sheets", len(filled) - 1, told))
    return Frame(
        "excel",
        f"the sheet {name!r} of a workbook",
        tuple(f"column {i + 1}" for i in range(width)),
        False,
        lambda: _text_batches(full, width),
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
    raise source.fault(what, f"Choose among {_list_names(sheets)}.", value=str(choice))


def _numbered_rows(book: Any, name: str) -> list[tuple[int, list[Any]]]:
    """Return the rows of a sheet from the first that is not empty on, with their numbers."""
    sheet = book.get_sheet_by_name(name)
    return (
        []
        if sheet.start is None
        else list(enumerate(sheet.to_python(skip_empty_area=True), int(sheet.start[0]) + 1))
    )


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
                what = f"the field {new!r} does not stand in the first {_JSON_HEAD:,} lines"
                raise source.fault(what, "Give it in one of the first lines too, with the value null.", line)
            yield line, [fields.get(name) for name in names]

    return Frame(
        "json-lines", "a JSON Lines file", names, True, lambda: _text_batches(rows(), len(names)), unit="line"
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
            into[name] = json.dumps(item, ensure_ascii=False) if isinstance(item, list) else _text_of(item)


def _read_sqlite(source: ByteSource, choices: FrameChoices) -> Frame:
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
            restart = _limit_seconds(base)
            for number, row in enumerate(base.execute(query), start=1):
                if any(isinstance(value, bytes) for value in row):
                    what = "this row holds bytes, not a number or a text"
                    raise source.fault(what, "Choose other columns with a query.", number)
                yield number, [None if value is None else _text_of(value) for value in row]
                restart()

    return Frame("sqlite", what, names, True, lambda: _text_batches(rows(), len(names)))


@contextmanager
def _open_database(source: ByteSource, query: str | None = None) -> Iterator[sqlite3.Connection]:
    """Give a connection that can only read, and reaches no other file; a fault of the user's query is named so."""
    with _report_damage(source, "an SQLite database", sqlite3.Error):
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


def _limit_seconds(base: sqlite3.Connection) -> Callable[[], None]:
    """End a query whose next row takes too long; return what starts the time anew."""
    end = time.monotonic() + QUERY_SECONDS

    def restart() -> None:
        nonlocal end
        end = time.monotonic() + QUERY_SECONDS

    base.set_progress_handler(lambda: time.monotonic() > end, _QUERY_STEPS)
    return restart


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


def _list_tables(source: ByteSource) -> tuple[tuple[str, ...], str | None]:
    with _open_database(source) as base:
        names = _table_names(base)
        first = (name for name in names if base.execute(f"{_whole_table(name)} LIMIT 1").fetchone())
        return names, next(first, None)


def _wanted_table(tables: Sequence[str], choice: str | None, source: ByteSource) -> str:
    if choice is None and len(tables) == 1:
        return tables[0]
    if choice is not None and choice in tables:
        return choice
    what = "the database has no tables" if not tables else "say which table of the database is to be read"
    if choice is not None:
        what = "there is no table of this name in the database"
    listed = _list_names(tables)
    remedy = f"Choose one (table=...) among {listed}, or give a query (query='SELECT ...')."
    raise source.fault(what, remedy, value=choice)


def _whole_table(name: str) -> str:
    """Return the query for all rows of a table."""
    quoted = name.replace('"', '""')
    return f'SELECT * FROM "{quoted}"'  # noqa: S608 (the name is quoted)


def _list_names(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_SHOWN])
    return f"{shown}, …" if len(names) > _SHOWN else shown or "none"


#: By the name of the format, whose row says how its files are recognised.
_READERS: dict[str, Callable[[ByteSource, FrameChoices], Frame]] = {
    "parquet": _read_parquet,
    "arrow": _read_arrow,
    "excel": _read_workbook,
    "json-lines": _read_json_lines,
    "sqlite": _read_sqlite,
}
#: The names of a file's sheets or tables, and the first of them with data.
_PARTS: dict[str, Callable[[ByteSource], tuple[tuple[str, ...], str | None]]] = {
    "excel": _list_sheets,
    "sqlite": _list_tables,
}
