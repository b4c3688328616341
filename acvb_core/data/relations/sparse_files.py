"""Sparse matrix files: MatrixMarket (.mtx) and SciPy's .npz."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from scipy import io as scipy_io
from scipy import sparse

from acvb_core.data.relations.assemble import Assembled, ContradictionError, Entries, assemble
from acvb_core.data.relations.nodes import side_by_position
from acvb_core.data.relations.options import ReadOptions
from acvb_core.data.relations.sides import Says
from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.byte_source import ByteSource
from acvb_core.data.sources.objects import MAX_SIDE, check_size, check_sparse, is_sparse, load_sparse
from acvb_core.data.sources.values import LINK, MISSING, ZERO, ValueSummary, checked_threshold
from acvb_core.errors import DataError

#: Entries taken over at a time.
_PIECE = 1 << 20
_SAVE_NPZ = "Save it with scipy.sparse.save_npz"


def read_matrix_market(source: ByteSource, options: ReadOptions) -> Assembled:
    """Read a MatrixMarket file: an entry that is not listed is 0, nan is missing.

    Raises
    ------
    DataError
        Junk, with the line where it stands.
    """
    _check_market_head(source, options)
    try:
        matrix = scipy_io.mmread(source.seekable())
    except (ValueError, OverflowError, TypeError, EOFError, MemoryError) as problem:
        message = str(problem)
        place = re.match(r"Line (\d+): *(.*)", message, re.DOTALL)
        raise DataError(
            f"this is no readable MatrixMarket file ({place[2] if place else message})",
            source=source.name,
            line=int(place[1]) if place else None,
            remedy="Write it again with scipy.io.mmwrite or the program it comes from.",
        ) from None
    matrix = check_sparse(sparse.coo_array(matrix), source.name)
    _check_claim(matrix, source.name, options)
    found = relation_of_matrix(matrix, source.name, options, "MatrixMarket file")
    if source.head.split(b"\n")[0].lower().split()[-1:] == [b"symmetric"]:
        return found._replace(says=Says("one", False, "the file says that the matrix is symmetric"))
    return found


def read_npz(source: ByteSource, options: ReadOptions) -> Assembled:
    """Read a file of `scipy.sparse.save_npz`; nothing in it is ever run (no pickle).

    Raises
    ------
    DataError
        The archive holds no sparse matrix, or a damaged one.
    """
    names = source.zip_names()
    if not is_sparse(names):
        held = ", ".join(name.removesuffix(".npy") for name in sorted(names)[:5])
        raise DataError(
            f"this .npz holds {held} and no sparse matrix", source=source.name, remedy=f"{_SAVE_NPZ}."
        )
    matrix = load_sparse(source)
    _check_claim(matrix, source.name, options)
    return relation_of_matrix(matrix, source.name, options, "SciPy npz file")


def checked_shape(found: tuple[int, int], wanted: tuple[int, int] | None, source: str) -> None:
    """Raise DataError when a shape was given and the file has another."""
    if wanted is not None and tuple(wanted) != tuple(found):
        raise DataError(
            f"the matrix is {found[0]:,} x {found[1]:,}, the given shape {wanted[0]:,} x {wanted[1]:,}",
            source=source,
            remedy="Leave the shape out, or correct it.",
        )


def relation_of_matrix(stored: Any, source: str, options: ReadOptions, kind: str) -> Assembled:
    """Return a sound SciPy matrix as a relation: what it does not store is 0, nan is missing.

    Raises
    ------
    DataError
        It has another shape than was given, or an infinite entry, or a pair is a link and none.
    """
    n_rows, n_columns = stored.shape
    checked_shape((n_rows, n_columns), options.shape, source)
    matrix = sparse.coo_array(stored)
    summary = ValueSummary(checked_threshold(options.threshold))
    entries = Entries()
    # Piece by piece, so that no second copy of a large matrix stands beside it in wider types.
    for begin in range(0, matrix.nnz, _PIECE):
        piece = slice(begin, begin + _PIECE)
        numbers = matrix.data[piece].astype(np.float64)
        infinite = np.isinf(numbers)
        if infinite.any():
            at = begin + int(infinite.argmax())
            raise DataError(
                f"the entry in row {int(matrix.row[at]) + 1:,}, column {int(matrix.col[at]) + 1:,} is infinite",
                source=source,
                remedy="Give finite numbers; nan stands for missing.",
            )
        summary.observe(numbers)
        verdicts = np.where(
            np.isnan(numbers), MISSING, np.where(numbers > summary.threshold, LINK, ZERO)
        ).astype(np.uint8)
        rows, columns = matrix.row[piece].astype(np.int32), matrix.col[piece].astype(np.int32)
        entries.add(rows, columns, verdicts, numbers)
    try:
        found = assemble(
            entries,
            side_by_position(n_rows, options.row_nodes, "row", source),
            side_by_position(n_columns, options.column_nodes, "column", source),
            summary,
            name=options.name,
            row_kind="row",
            column_kind="column",
        )
    except ContradictionError as clash:
        raise DataError(
            f"row {clash.row + 1:,}, column {clash.column + 1:,} is given as a link and as no link",
            source=source,
            remedy="Keep one of the two.",
        ) from None
    read = f"Read {plural(matrix.nnz, 'entry', 'entries')} of a {kind}."
    return found._replace(facts=[Fact("entries", matrix.nnz, read), *found.facts])


def _check_claim(matrix: Any, source: str, options: ReadOptions) -> None:
    checked_shape(matrix.shape, options.shape, source)
    _check_sides(matrix.shape, int(np.prod(matrix.data.shape)), options, {"source": source})


def _check_sides(shape: tuple[int, int], entries: int, options: ReadOptions, place: dict[str, Any]) -> None:
    """Refuse sides that are empty or too large, and those that a few entries claim unless the user gave them."""
    if min(shape) < 1 or max(shape) > MAX_SIDE:
        raise DataError(
            f"the matrix is {shape[0]:,} x {shape[1]:,}",
            **place,
            remedy=f"Each side needs 1 to {MAX_SIDE:,} objects.",
        )
    nodes = options.row_nodes, options.column_nodes
    for number, what, given in zip(shape, ("rows", "columns"), nodes, strict=True):
        if given is None and options.shape is None:
            check_size(number, what, entries, place)


def _check_market_head(source: ByteSource, options: ReadOptions) -> None:
    """Refuse a size line that promises more than the file can hold, before anything is allocated for it."""
    head = source.open().read(1 << 16).decode("utf-8", errors="replace").splitlines()
    banner = head[0].lower().split()
    if len(banner) < 5 or banner[1] != "matrix" or banner[3] == "complex":
        raise DataError(
            "the first line must read %%MatrixMarket matrix coordinate|array pattern|integer|real "
            "general|symmetric",
            source=source.name,
            line=1,
            value=head[0],
            remedy="Write it again with scipy.io.mmwrite or the program it comes from.",
        )
    for number, text in enumerate(head[1:], start=2):
        if not text.strip() or text.startswith("%"):
            continue
        parts = text.split()
        wanted = 3 if banner[2] == "coordinate" else 2
        if len(parts) != wanted or not all(part.isascii() and part.isdigit() for part in parts):
            raise DataError(
                f"the size line must hold {wanted} whole numbers",
                source=source.name,
                line=number,
                value=text,
                remedy="Give rows, columns and, for coordinate, the number of entries.",
            )
        cells = int(parts[2]) if wanted == 3 else int(parts[0]) * int(parts[1])
        # Gzip packs at most about 1,000 to 1, and an entry takes 2 bytes at least.
        available = source.size() * (1_000 if source.gzipped else 1)
        if 2 * cells > available + 64:
            raise DataError(
                f"the size line promises {cells:,} entries, more than the file can hold",
                source=source.name,
                line=number,
                value=text,
                remedy="Correct the size line, or copy the file again.",
            )
        source.check_room(16 * cells if source.gzipped else 0)
        place = {"source": source.name, "line": number, "value": text}
        _check_sides((int(parts[0]), int(parts[1])), cells, options, place)
        return
    raise DataError(
        "there is no size line", source=source.name, remedy="Write it again with scipy.io.mmwrite."
    )
