"""Rows of Python values, which some libraries give, as batches of texts; and what they raise at a damaged file."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from acvb_core.data.sources.byte_source import ByteSource
from acvb_core.data.sources.frames import LINES

#: Rows that are turned into Arrow at a time, where a library gives Python values.
_ROWS = 1 << 14
#: Cells of such rows at most, but for one row.
_CELLS = 1 << 22
#: Names of sheets or tables that a message lists.
_SHOWN = 8


@contextmanager
def report_damage(source: ByteSource, what: str, *errors: type[Exception]) -> Iterator[None]:
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


def batch_texts(rows: Iterable[tuple[int, Sequence[str | None]]], width: int) -> Iterator[Any]:
    """Give rows of texts, each with its number, as record batches with the numbers behind the columns."""
    import pyarrow as pa

    names = [f"column {i + 1}" for i in range(width)]
    left = iter(rows)
    while part := list(itertools.islice(left, max(1, min(_ROWS, _CELLS // max(width, 1))))):
        columns = [pa.array([row[i] for _, row in part], pa.large_string()) for i in range(width)]
        lines = pa.array([number for number, _ in part], pa.int64())
        yield pa.RecordBatch.from_arrays([*columns, lines], names=[*names, LINES])


def write_cell(value: Any) -> str:
    """Return a value as text; a whole number without its point."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))  # a workbook, and often JSON, keeps every number as a float
    return str(value)


def name_parts(names: Sequence[str]) -> str:
    """Return the first names of sheets or tables, for a message."""
    shown = ", ".join(repr(name) for name in names[:_SHOWN])
    return f"{shown}, …" if len(names) > _SHOWN else shown or "none"
