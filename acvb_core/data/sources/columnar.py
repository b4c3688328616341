"""Files of columns as frames: Parquet, Arrow and Feather, workbooks, JSON Lines, SQLite databases."""

from __future__ import annotations

import json
import os
import sqlite3
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.byte_source import ByteSource, FileLike, Utf8Stream
from acvb_core.data.sources.frames import LINES, Frame, FrameChoices
from acvb_core.errors import DataError, ParameterError

#: Rows that are turned into Arrow at a time, where a library gives Python values.
_ROWS = 1 << 14
#: Lines of JSON that are looked at for the names of the fields.
_JSON_HEAD = 10_000
_JSON_BLOCK = 1 << 20
#: Names of sheets or tables that a message lists.
_SHOWN = 8


class FileChoices(NamedTuple):
    """What can be said of how a file is read, before its layout is known.

    Attributes
    ----------
    container : str
        Name of its format of columns; "text" where it has none.
    options : tuple of str
        Arguments of the readers; that of its sheets or tables first.
    parts : tuple of str
        Names of its sheets or tables.
    first : str or None
        The first of them with data.
    """

    container: str = "text"
    options: tuple[str, ...] = ("encoding", "delimiter", "header")
    parts: tuple[str, ...] = ()
    first: str | None = None


def inspect_choices(source: FileLike, filename: str | None = None) -> FileChoices:
    """Say what can be chosen of how a file is read; of one that cannot be read, what a text has."""
    try:
        with ByteSource(source, filename, columns=True) as opened:
            if opened.format is not None:
                name = opened.format.name
                parts, first = _PARTS[name](opened) if name in _PARTS else ((), None)
                return FileChoices(name, opened.format.options, parts, first)
    except DataError:
        pass  # whoever reads it says what is wrong
    return FileChoices()


def open_file(source: ByteSource, choices: FrameChoices) -> Frame | None:
    """Return the columns of a file that holds such; None for every other kind of file.

    Raises
    ------
    DataError
        The file is damaged, or which sheet or table is meant has to be said.
    ParameterError
        A choice that this kind of file does not have.
    """
    found = source.format
    if found is None or found.family != "columns":
        return None
    for option, value in choices._asdict().items():
        if value is not None and option not in found.options:
            raise ParameterError(f"{source.name} is {found.noun}: it has no choice {option}={value!r}.")
    return _READERS[found.name](source, choices)


def _damaged(source: ByteSource, what: str, problem: object) -> DataError:
    told = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
    return DataError(
        f"this is {what} that cannot be read ({told})",
        source=source.name,
        remedy="It may be damaged or truncated: save, copy or download it again.",
    )


def _read_parquet(source: ByteSource, choices: FrameChoices) -> Frame:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(source.seekable())
        names, n_rows = tuple(file.schema_arrow.names), int(file.metadata.num_rows)
    except (pa.ArrowException, OSError) as problem:
        raise _damaged(source, "a Parquet file", problem) from None

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            file = pq.ParquetFile(source.seekable())
            for group in range(file.num_row_groups):
                source.check_room(file.metadata.row_group(group).total_byte_size)
            yield from file.iter_batches(1 << 16)
        except (pa.ArrowException, OSError) as problem:
            raise _damaged(source, "a Parquet file", problem) from None

    return Frame("parquet", "a Parquet file", names, True, batches, n_rows=n_rows)


def _read_arrow(source: ByteSource, choices: FrameChoices) -> Frame:
    import pyarrow as pa
    from pyarrow import feather, ipc

    def opened() -> Any:
        stream = source.seekable()
        if source.head.startswith(b"ARROW1"):
            return ipc.open_file(pa.PythonFile(stream, mode="r"))
        return feather.read_table(pa.PythonFile(stream, mode="r"))

    try:
        names = tuple(opened().schema.names)
    except (pa.ArrowException, OSError) as problem:
        raise _damaged(source, "an Arrow file", problem) from None

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            file = opened()
            if isinstance(file, pa.Table):
                yield from file.to_batches()
                return
            for at in range(file.num_record_batches):
                batch = file.get_batch(at)
                batch.validate(full=True)
                yield batch
        except (pa.ArrowException, OSError) as problem:
            raise _damaged(source, "an Arrow file", problem) from None

    return Frame("arrow", "an Arrow file", names, True, batches)


@contextmanager
def _open_workbook(source: ByteSource) -> Iterator[Any]:
    """Give the workbook; what its library raises becomes a DataError."""
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError:
        raise _missing_library(source, "python-calamine") from None
    stream = source.seekable()
    if source.is_zip:
        with zipfile.ZipFile(stream) as archive:
            source.check_room(sum(entry.file_size for entry in archive.infolist()))
        stream.seek(0)
    try:
        yield CalamineWorkbook.from_filelike(stream)
    except (CalamineError, OSError, ValueError) as problem:
        what = "an Excel workbook (xlsx)" if source.is_zip else "an old Excel workbook (xls) or Word document"
        raise _damaged(source, what, problem) from None


def _sheets(source: ByteSource) -> tuple[tuple[str, ...], str | None]:
    with _open_workbook(source) as book:
        names = tuple(book.sheet_names)
        return names, next((name for name in names if _cells(book.get_sheet_by_name(name))[1]), None)


def _read_workbook(source: ByteSource, choices: FrameChoices) -> Frame:
    import pyarrow as pa

    with _open_workbook(source) as book:
        sheets = tuple(book.sheet_names)
        rows = {
            name: _cells(book.get_sheet_by_name(name)) for name in _wanted_sheets(sheets, choices, source)
        }
    filled = [name for name, (_, cells) in rows.items() if cells]
    if not filled:
        raise DataError(
            f"the {plural(len(rows), 'sheet')} that would be read {'is' if len(rows) == 1 else 'are'} empty",
            source=source.name,
            value=", ".join(rows),
            remedy=f"Choose another sheet (sheet=...) among {_listed(sheets)}, or fill it.",
        )
    name = filled[0]
    first, cells = rows[name]
    width = max(len(row) for row in cells)
    texts = [[_cell_text(value) for value in row] + [""] * (width - len(row)) for row in cells]
    full = [(at, row) for at, row in enumerate(texts, start=first) if any(row)]

    def batches() -> Iterator[pa.RecordBatch]:
        for begin in range(0, len(full), _ROWS):
            part = full[begin : begin + _ROWS]
            yield _text_batch([row for _, row in part], width, [at for at, _ in part])

    facts = []
    if len(filled) > 1 and choices.sheet is None:
        told = f"The workbook has {len(filled):,} sheets with data; {name!r} was read, {_listed(filled[1:])} not."
        facts.append(Fact("other_sheets", len(filled) - 1, told))
    names = tuple(f"column {i + 1}" for i in range(width))
    what = f"the sheet {name!r} of a workbook"
    return Frame("excel", what, names, False, batches, n_rows=len(full), parts=sheets, facts=tuple(facts))


def _wanted_sheets(sheets: Sequence[str], choices: FrameChoices, source: ByteSource) -> list[str]:
    choice = choices.sheet
    if choice is None:
        return list(sheets)
    if isinstance(choice, str) and choice not in sheets and choice.isascii() and choice.isdigit():
        choice = int(choice)  # typed on a command line
    if isinstance(choice, int) and 0 <= choice < len(sheets):
        return [sheets[choice]]
    if choice not in sheets:
        raise DataError(
            "there is no sheet of this name"
            if isinstance(choice, str)
            else "there is no sheet at this position",
            source=source.name,
            value=str(choice),
            remedy=f"Choose among {_listed(sheets)}.",
        )
    return [str(choice)]


def _cells(sheet: Any) -> tuple[int, list[list[Any]]]:
    """Return the number of a sheet's first row that is not empty, and its cells from there on."""
    if sheet.start is None:
        return 1, []
    return int(sheet.start[0]) + 1, sheet.to_python(skip_empty_area=True)


def _cell_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))  # a workbook keeps every number as a float
    return str(value).strip()


def _text_batch(rows: Sequence[Sequence[Any]], width: int, lines: Sequence[int]) -> Any:
    """Return rows of texts as a record batch, with the number of each row behind the columns."""
    import pyarrow as pa

    columns = [pa.array([row[i] for row in rows], pa.large_string()) for i in range(width)]
    names = [f"column {i + 1}" for i in range(width)]
    return pa.RecordBatch.from_arrays([*columns, pa.array(lines, pa.int64())], names=[*names, LINES])


def _read_json_lines(source: ByteSource, choices: FrameChoices) -> Frame:
    names: dict[str, None] = {}
    for at, (_, fields) in enumerate(_json_rows(source)):
        names.update(dict.fromkeys(fields))
        if at == _JSON_HEAD:
            break
    if not names:
        raise DataError(
            "the lines of this JSON Lines file hold no fields",
            source=source.name,
            remedy='Give an object on each line, such as {"text": "…"}.',
        )
    known = tuple(names)

    def batches() -> Iterator[Any]:
        rows: list[list[str | None]] = []
        lines: list[int] = []
        for line, fields in _json_rows(source):
            new = next((name for name in fields if name not in names), None)
            if new is not None:
                raise DataError(
                    f"the field {new!r} does not stand in the first {_JSON_HEAD:,} lines",
                    source=source.name,
                    line=line,
                    remedy="Give it in one of the first lines too, with the value null.",
                )
            rows.append([fields.get(name) for name in known])
            lines.append(line)
            if len(rows) == _ROWS:
                yield _text_batch(rows, len(known), lines)
                rows, lines = [], []
        if rows:
            yield _text_batch(rows, len(known), lines)

    return Frame("json-lines", "a JSON Lines file", known, True, batches, unit="line")


def _json_rows(source: ByteSource) -> Iterator[tuple[int, dict[str, str | None]]]:
    """Give the number of each line that is not blank, and its fields as texts; those of nested objects as a.b."""
    for number, line in enumerate(_lines(source), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as problem:
            told = "it is nested too deeply"
            if isinstance(problem, json.JSONDecodeError):
                told = f"{problem.msg} at character {problem.colno:,}"
            raise DataError(
                f"this line is no JSON ({told})",
                source=source.name,
                line=number,
                value=line.decode("utf-8", errors="replace"),
                remedy="Correct the line: one JSON object on each.",
            ) from None
        if isinstance(value, list):
            value = {f"column {i + 1}": item for i, item in enumerate(value)}
        if not isinstance(value, dict):
            raise DataError(
                "this line holds no JSON object",
                source=source.name,
                line=number,
                value=line.decode("utf-8", errors="replace"),
                remedy='Give an object on each line, such as {"text": "…"}.',
            )
        fields: dict[str, str | None] = {}
        _flatten(value, "", fields)
        yield number, fields


def _lines(source: ByteSource) -> Iterator[bytes]:
    stream = Utf8Stream(source)
    rest = b""
    while chunk := stream.read(_JSON_BLOCK):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines
    if rest:
        yield rest


def _flatten(value: dict[str, Any], prefix: str, into: dict[str, str | None]) -> None:
    for key, item in value.items():
        name = f"{prefix}{key}"
        if isinstance(item, dict):
            _flatten(item, f"{name}.", into)
        elif item is None or isinstance(item, str):
            into[name] = item
        elif isinstance(item, float | int) and not isinstance(item, bool):
            into[name] = str(int(item)) if float(item).is_integer() and abs(item) < 2**53 else repr(item)
        else:
            into[name] = json.dumps(item, ensure_ascii=False)


def _read_sqlite(source: ByteSource, choices: FrameChoices) -> Frame:
    if choices.table is not None and choices.query is not None:
        raise ParameterError("Give a table or a query, not both.")
    base = _connect(source)
    try:
        tables = _table_names(base)
        query, what = _query(tables, choices, source)
        names = tuple(column[0] for column in base.execute(query).description or ())
    except sqlite3.Error as problem:
        if choices.query is not None:
            raise DataError(
                f"the query cannot be run ({problem})",
                source=source.name,
                value=choices.query,
                remedy="Give one SELECT that only reads, such as SELECT person, item FROM orders.",
            ) from None
        raise _damaged(source, "an SQLite database", problem) from None
    finally:
        base.close()

    def batches() -> Iterator[Any]:
        base = _connect(source)
        line = 1
        try:
            found = base.execute(query)
            while rows := found.fetchmany(_ROWS):
                texts = [[_sql_text(value, source, line + i) for value in row] for i, row in enumerate(rows)]
                yield _text_batch(texts, len(names), range(line, line + len(rows)))
                line += len(rows)
        except sqlite3.Error as problem:
            raise _damaged(source, "an SQLite database", problem) from None
        finally:
            base.close()

    return Frame("sqlite", what, names, True, batches, parts=tables)


def _table_names(base: sqlite3.Connection) -> tuple[str, ...]:
    query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER BY name"
    return tuple(name for (name,) in base.execute(query))


def _tables(source: ByteSource) -> tuple[tuple[str, ...], str | None]:
    base = _connect(source)
    try:
        names = _table_names(base)
        return names, next(
            (name for name in names if base.execute(f"{_whole(name)} LIMIT 1").fetchone()), None
        )
    except sqlite3.Error as problem:
        raise _damaged(source, "an SQLite database", problem) from None
    finally:
        base.close()


def _whole(table: str) -> str:
    """Return the query for all rows of a table."""
    quoted = table.replace('"', '""')
    return f'SELECT * FROM "{quoted}"'  # noqa: S608 (the name is quoted)


def _connect(source: ByteSource) -> sqlite3.Connection:
    """Return a connection that can only read, and reaches no other file."""
    if source.path is not None and not source.gzipped:
        uri = f"{Path(os.path.abspath(source.path)).as_uri()}?mode=ro&immutable=1"
        base = sqlite3.connect(uri, uri=True, check_same_thread=False)
    else:
        base = sqlite3.connect(":memory:", check_same_thread=False)
        base.deserialize(source.seekable().read())
    allowed = {
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_FUNCTION,
    }  # a recursive query need not end

    def authorise(action: int, first: str | None, second: str | None, *_: object) -> int:
        loads = action == sqlite3.SQLITE_FUNCTION and second == "load_extension"
        return sqlite3.SQLITE_OK if action in allowed and not loads else sqlite3.SQLITE_DENY

    base.set_authorizer(authorise)
    return base


def _query(tables: Sequence[str], choices: FrameChoices, source: ByteSource) -> tuple[str, str]:
    if choices.query is not None:
        return choices.query, "the answer to a query"
    table = choices.table
    if table is None and len(tables) == 1:
        table = tables[0]
    if table is None or table not in tables:
        what = "the database has no tables" if not tables else "say which table of the database is to be read"
        if table is not None:
            what = "there is no table of this name in the database"
        raise DataError(
            what,
            source=source.name,
            value=table,
            remedy=f"Choose one (table=...) among {_listed(tables)}, or give a query (query='SELECT ...').",
        )
    return _whole(table), f"the table {table!r} of a database"


def _sql_text(value: Any, source: ByteSource, row: int) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes):
        raise DataError(
            "this row holds bytes, not a number or a text",
            source=source.name,
            line=row,
            remedy="Choose other columns with a query.",
        )
    return str(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(value)


def _missing_library(source: ByteSource, package: str) -> DataError:
    """Return the error for a file whose reader is not installed: the row of its format knows the extra."""
    assert source.format is not None
    return DataError(
        f"this is {source.format.noun}, and {package} is not installed, which reads it",
        source=source.name,
        remedy=f'Install it: pip install "acvb-core[{source.format.extra}]".',
    )


def _listed(names: Sequence[str]) -> str:
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
    "excel": _sheets,
    "sqlite": _tables,
}
