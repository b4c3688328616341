"""Databases of SQLite as frames: a table or the answer to a query, which can only read and has a limit of time."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from acvb_core.core.errors import ParameterError
from acvb_core.data.sources.byte_source import ByteSource
from acvb_core.data.sources.cells import batch_texts, name_parts, report_damage, write_cell
from acvb_core.data.sources.frames import Frame, FrameChoices

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
            restart = _limit_seconds(base)
            for number, row in enumerate(base.execute(query), start=1):
                if any(isinstance(value, bytes) for value in row):
                    what = "this row holds bytes, not a number or a text"
                    raise source.fault(what, "Choose other columns with a query.", number)
                yield number, [None if value is None else write_cell(value) for value in row]
                restart()

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


def list_tables(source: ByteSource) -> tuple[tuple[str, ...], str | None]:
    """Return the names of the tables, and the first of them with data."""
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
        what = "the database has no table of this name"
    listed = name_parts(tables)
    remedy = f"Choose one (table=...) among {listed}, or give a query (query='SELECT ...')."
    raise source.fault(what, remedy, value=choice)


def _whole_table(name: str) -> str:
    """Return the query for all rows of a table."""
    quoted = name.replace('"', '""')
    return f'SELECT * FROM "{quoted}"'  # noqa: S608 (the name is quoted)
