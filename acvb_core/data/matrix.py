"""Matrices: as columns of cells, as MatrixMarket and SciPy's files, and in memory."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from acvb_core.core.errors import DataError
from acvb_core.data.names import refuse_repeated
from acvb_core.data.relation import Relation, check_links
from acvb_core.data.relation_build import (
    Entries,
    assemble,
    find_unused_categories,
    make_side,
    open_entries,
    open_list,
    open_values,
    read_values,
)
from acvb_core.data.relation_schema import ReadOptions, no_data_fault
from acvb_core.data.report import Fact, plural
from acvb_core.data.schema import Schema, Sides
from acvb_core.data.sources.arrays import (
    MAX_SIDE,
    check_size,
    check_sparse,
    is_sparse,
    load_sparse,
    to_sparse,
)
from acvb_core.data.sources.containers import reading_facts
from acvb_core.data.sources.frames import FrameSource
from acvb_core.data.sources.source import ByteSource
from acvb_core.data.sources.values import MISSING

#: Entries taken over at a time.
_PIECE = 1 << 20
_SIZE = re.compile(r"\d{1,18}", re.ASCII)
_WRITE_MARKET = "Write it again with scipy.io.mmwrite"


def read_matrix(
    source: ByteSource | FrameSource, schema: Schema, options: ReadOptions
) -> tuple[Relation, Entries]:
    """Read a dense matrix: every cell is a value, a blank or NA cell is missing."""
    if schema.row_column not in (None, 0):
        remedy = "Put the row labels first, or say that rows have none."
        raise DataError("row labels are not in the first column", source=source.name, remedy=remedy)
    n_labels = 0 if schema.row_column is None else 1
    n_rows, n_columns = 0, schema.n_fields - n_labels
    cells = range(n_labels, schema.n_fields)
    values, entries = open_values(source, schema, options, cells)
    reader = open_list(source, schema, options)
    row_labels: list[str] = []
    row_lines: list[int] = []
    for batch in reader:
        verdicts, numbers = read_values(batch, values, cells)
        rows = np.repeat(np.arange(n_rows, n_rows + batch.n_records, dtype=np.int32), n_columns)
        columns = np.tile(np.arange(n_columns, dtype=np.int32), batch.n_records)
        entries.add(rows, columns, verdicts, numbers, keep_zeros=False)
        row_labels += [batch.field(record, 0) for record in range(batch.n_records)] if n_labels else []
        row_lines += batch.lines.tolist()
        n_rows += batch.n_records
    if not n_rows:
        raise no_data_fault(source.name)
    if n_labels and options.row_nodes is None:
        unused = find_unused_categories(source, 0, row_labels, entries.facts)
        row_labels += unused
        n_rows += len(unused)
    check_shape((n_rows, n_columns), options.shape, source.name)

    def place_row(at: int) -> dict[str, Any]:
        return {"source": source.name, "line": row_lines[at] if at < len(row_lines) else None, "column": 1}

    def place_column(at: int) -> dict[str, Any]:
        return {"source": source.name, "line": reader.header_line or 1, "column": at + 1 + n_labels}

    header = reader.header or []
    sides = (
        ("row", row_labels or None, options.row_nodes, place_row, n_rows),
        ("column", header[n_labels:] or None, options.column_nodes, place_column, n_columns),
    )
    objects = []
    for side, names, nodes, place, n in sides:
        refuse_repeated(names or [], side, place)
        objects.append(make_side(names, nodes, place, None if names else n))
    corner = (header[0] if header and n_labels else "") or "row"
    entries.facts = [*reading_facts(reader, schema), *entries.facts]
    relation = assemble(entries, objects, _contradiction(source.name), options.name, (corner, "column"))
    entries.given_zeros = None  # every cell was given: what is no link and not missing is known to be 0
    entries.named = tuple(names is not None or nodes is not None for _, names, nodes, *_ in sides)
    return relation, entries


def _contradiction(source: str) -> Callable[[int, int], DataError]:
    """Return the error for an entry, by its indices, that is given as a link and as no link."""

    def fault(row: int, column: int) -> DataError:
        what = f"row {row + 1:,}, column {column + 1:,} is given as a link and as no link"
        return DataError(what, source=source, remedy="Keep one of the two.")

    return fault


class _MarketText:
    """A MatrixMarket file as SciPy's compiled reader needs it: with an end of its last line, and without a NUL byte.

    That reader looks for the end of each line, and if there is none it reads on outside of its memory.
    """

    def __init__(self, source: ByteSource) -> None:
        self._source, self._stream = source, source.open()
        self._line, self._ended = 1, False

    def read(self, size: int) -> bytes:
        """Return the next bytes; after the last ones a line end."""
        content = self._stream.read(size)
        at = content.find(b"\0")
        self._line += content.count(b"\n", 0, at if at >= 0 else None)
        if at >= 0:
            raise self._source.fault("there is a NUL byte", f"{_WRITE_MARKET}, as plain text.", self._line)
        if not content and not self._ended:
            self._ended = True
            return b"\n"
        return content


def read_matrix_market(source: ByteSource, options: ReadOptions) -> tuple[Relation, Entries]:
    """Read a MatrixMarket file: an entry that is not listed is 0, nan is missing."""
    _check_market_head(source, options)
    try:
        from scipy.io import mmread

        matrix = mmread(_MarketText(source))
    except (ValueError, OverflowError, TypeError, EOFError, MemoryError) as problem:
        message = str(problem)
        place = re.match(r"Line (\d+): *(.*)", message, re.DOTALL)
        what = f"this is not a readable MatrixMarket file ({place[2] if place else message})"
        remedy = f"{_WRITE_MARKET} or the program it comes from."
        raise source.fault(what, remedy, int(place[1]) if place else None) from None
    matrix = check_sparse(sparse.coo_array(matrix), source.name)
    relation, entries = _relation_of_matrix(matrix, source.name, options, "MatrixMarket file")
    if source.head.split(b"\n")[0].lower().split()[-1:] == [b"symmetric"]:
        entries.declared = Sides("one", "the file says that the matrix is symmetric", directed=False)
    return relation, entries


def read_npz(source: ByteSource, options: ReadOptions) -> tuple[Relation, Entries]:
    """Read a file of `scipy.sparse.save_npz`; nothing in it is ever run (no pickle)."""
    names = source.zip_names()
    if not is_sparse(names):
        held = ", ".join(name.removesuffix(".npy") for name in sorted(names)[:5])
        what = f"this .npz holds {held} and no sparse matrix"
        raise source.fault(what, "Save it with scipy.sparse.save_npz.")
    matrix = load_sparse(source)
    _check_sides(matrix.shape, int(np.prod(matrix.data.shape)), options, {"source": source.name})
    return _relation_of_matrix(matrix, source.name, options, "SciPy npz file")


def read_array(given: Any, options: ReadOptions) -> tuple[Relation, Entries]:
    """Return an array or a sparse matrix as a relation: 1 is a link, 0 is no link, NaN or masked is missing."""
    name, is_stored = options.name, sparse.issparse(given)
    matrix = to_sparse(given, name)
    if min(matrix.shape) < 1:
        what = f"the matrix is {matrix.shape[0]:,} x {matrix.shape[1]:,}"
        raise DataError(what, source=name, remedy="Give at least one row object and one column object.")
    check_shape(matrix.shape, options.shape, name)
    kind, limit = "sparse matrix" if is_stored else "matrix", None if options.threshold is None else 0.0
    relation, entries = _relation_of_matrix(matrix, name, options, kind, limit)
    if not is_stored:  # every cell is given: what is no link and not missing is known to be 0
        entries.given_zeros = None
    return relation, entries


def _relation_of_matrix(
    stored: Any, source: str, options: ReadOptions, kind: str, limit: float | None = 0.0
) -> tuple[Relation, Entries]:
    """Return a sound SciPy matrix as a relation: what it does not store is 0, nan is missing."""
    matrix = sparse.coo_array(stored)
    check_links(matrix, limit, source)
    entries = open_entries(options.threshold, source, [matrix.data])
    # Piece by piece, so that there is no second copy of a large matrix in wider types.
    for begin in range(0, matrix.nnz, _PIECE):
        piece = slice(begin, begin + _PIECE)
        numbers = matrix.data[piece].astype(np.float64)
        rows, columns = matrix.row[piece].astype(np.int32), matrix.col[piece].astype(np.int32)
        entries.add(rows, columns, MISSING, numbers)
    nodes = options.row_nodes, options.column_nodes
    sides = [make_side(None, nodes[i], lambda _: {"source": source}, n) for i, n in enumerate(matrix.shape)]
    read = f"Read {plural(matrix.nnz, 'entry', 'entries')} of a {kind}."
    entries.facts = [Fact("entries", matrix.nnz, read), *entries.facts]
    entries.named = tuple(given is not None for given in nodes)
    return assemble(entries, sides, _contradiction(source), options.name), entries


def check_shape(shape: tuple[int, int], wanted: tuple[int, int] | None, source: str) -> None:
    """Raise DataError if a shape was given and the source has another."""
    if wanted is not None and tuple(wanted) != tuple(shape):
        what = f"the matrix is {shape[0]:,} x {shape[1]:,}, the given shape {wanted[0]:,} x {wanted[1]:,}"
        raise DataError(what, source=source, remedy="Leave the shape out, or correct it.")


def _check_sides(shape: tuple[int, int], entries: int, options: ReadOptions, place: dict[str, Any]) -> None:
    """Refuse sides that are not as given, empty or too large, and those that a few entries claim by themselves."""
    check_shape(shape, options.shape, place["source"])
    if min(shape) < 1 or max(shape) > MAX_SIDE:
        what = f"the matrix is {shape[0]:,} x {shape[1]:,}"
        raise DataError(what, **place, remedy=f"Each side needs 1 to {MAX_SIDE:,} objects.")
    nodes = options.row_nodes, options.column_nodes
    for number, what, given in zip(shape, ("rows", "columns"), nodes, strict=True):
        if given is None and options.shape is None:
            check_size(number, what, entries, place)


def _check_market_head(source: ByteSource, options: ReadOptions) -> None:
    """Refuse a size line that promises more than the file can hold, before anything is allocated for it."""
    head = source.open().read(1 << 16).decode("utf-8", errors="replace").split("\n")
    banner = head[0].lower().split()
    if len(banner) < 5 or banner[1] != "matrix" or banner[3] == "complex":
        expected = "%%MatrixMarket matrix coordinate|array pattern|integer|real general|symmetric"
        what = f"the first line must read {expected}"
        raise source.fault(what, f"{_WRITE_MARKET} or the program it comes from.", 1, head[0])
    lines = enumerate(head[1:], start=2)
    number, text = next(((n, text) for n, text in lines if text.strip() and text[0] != "%"), (0, ""))
    if not number:
        raise source.fault("there is no size line", f"{_WRITE_MARKET}.")
    parts = text.split()
    wanted = 3 if banner[2] == "coordinate" else 2
    if len(parts) != wanted or not all(_SIZE.fullmatch(part) for part in parts):
        remedy = "Give rows, columns and, for coordinate, the number of entries."
        what = f"the size line must hold {wanted} whole numbers of at most 18 digits"
        raise source.fault(what, remedy, number, text)
    n_rows, n_columns, general = int(parts[0]), int(parts[1]), banner[4] == "general"
    if not general and (n_rows != n_columns or (n_rows == 1 and banner[4] == "skew-symmetric")):
        # SciPy's compiled reader believes it, and writes outside of its memory.
        what = f"a matrix of {n_rows:,} x {n_columns:,} cannot be {banner[4]}"
        raise source.fault(what, f"Correct the size line, or write general for {banner[4]}.", number, text)
    cells = int(parts[2]) if wanted == 3 else n_rows * n_columns if general else n_rows * (n_rows - 1) // 2
    # Gzip packs at most about 1,000 to 1, and an entry takes 2 bytes at least.
    available = source.size() * (1_000 if source.gzipped else 1)
    if 2 * cells > available + 64:
        what = f"the size line promises {cells:,} entries, more than the file can hold"
        raise source.fault(what, "Correct the size line, or copy the file again.", number, text)
    source.check_room(16 * cells if source.gzipped else 0)
    place = {"source": source.name, "line": number, "value": text}
    _check_sides((n_rows, n_columns), cells, options, place)
