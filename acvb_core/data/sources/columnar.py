"""Files of columns as frames: Parquet, Arrow and Feather, workbooks, JSON Lines, SQLite databases."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.sources.byte_source import ByteSource, FileLike
from acvb_core.data.sources.cells import batch_texts, report_damage, write_cell
from acvb_core.data.sources.databases import list_tables, read_database
from acvb_core.data.sources.frames import Frame, FrameChoices
from acvb_core.data.sources.sheets import list_sheets, read_workbook
from acvb_core.data.sources.text_lines import MAX_TEXT, open_lines, parse_json

#: Rows of a Parquet file that tell how large rows are, and bytes that are read of it at a time.
_PARQUET_HEAD, _PARQUET_BYTES = 1 << 10, 1 << 26
#: Lines of JSON that are looked at for the names of the fields.
_JSON_HEAD = 10_000
#: Fields of all lines of JSON at most: each line has a cell for each of them. Spreadsheets have fewer, too.
MAX_JSON_FIELDS = 20_000
_GIVE_OBJECTS = 'Give an object on each line, such as {"text": "…"}.'


class FileChoices(NamedTuple):
    """Choices of how a file is read, before its layout is known."""

    container: str = "text"  # name of its format of columns; "text" where it has none
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
        names = tuple(read().schema.names)
    return Frame("arrow", what, names, True, batches)


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
