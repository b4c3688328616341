"""Arrays and sparse matrices, in memory and in NumPy's files: their claims are checked first."""

from __future__ import annotations

import math
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.report import plural
from acvb_core.data.sources.frames import is_frame, report_damage
from acvb_core.data.sources.source import ByteSource

#: Objects of a side that a matrix or a shape may claim without naming them: each costs about 100 bytes.
MAX_SIDE = 50_000_000
#: Cells of a dense table that a sparse matrix may claim whatever it stores; 8 bytes each.
MAX_DENSE_CELLS = 100_000_000
#: Attributes of the graphs of each library, which need not be imported to recognise them.
_GRAPHS = {
    "networkx": ("is_directed", "is_multigraph", "nodes", "edges", "adj"),
    "igraph": ("is_directed", "vcount", "vs", "es"),
    "graph-tool": ("is_directed", "num_vertices", "vertex_properties", "edge_properties"),
}


def check_size(
    number: int, what: str, entries: int, place: dict[str, Any], *, allowed: int = 1_000_000
) -> None:
    """Refuse a number of objects that a few entries claim: each costs memory, used or not.

    As many as `allowed` need no entries.
    """
    if number > max(allowed, 100 * entries):
        raise DataError(
            f"this claims {number:,} {what} for {plural(entries, 'entry', 'entries')}",
            **place,
            remedy="Correct the number; leave out what never occurs.",
        )


def check_sparse(matrix: Any, name: str) -> Any:
    """Return a SciPy matrix as a sound array of its format, or of one without lists: DataError says what is wrong."""
    try:
        if matrix.format == "lil" and list(map(len, matrix.rows)) != list(map(len, matrix.data)):
            raise ValueError("a row has more indices than entries, or fewer")
        if matrix.format in ("lil", "dok"):
            matrix = matrix.tocoo()
        places = [getattr(matrix, part) for part in _PLACES[matrix.format]]
        return _build_sparse(matrix.format, matrix.data, places, matrix.shape)
    except (ValueError, TypeError, IndexError, OverflowError) as problem:
        raise DataError(f"the sparse matrix is broken: {problem}", source=name, remedy=_BUILD_AGAIN) from None


def _build_sparse(kind: str, data: NDArray[Any], places: list[Any], shape: tuple[int, ...]) -> Any:
    """Return a sparse array whose structure is sound; a ValueError or the like says what is not."""
    if len(shape) != 2 or min(shape) < 0:
        raise ValueError(f"it has the shape {shape}")
    if data.dtype.kind not in "biuf":
        raise ValueError(f"its entries are of type {data.dtype}")
    if any(np.asarray(part).dtype.kind not in "iu" for part in places):
        raise ValueError("the places of its entries are no whole numbers")
    block = data.shape[1:]
    # SciPy looks at neither, and reads memory that is not of the matrix.
    if kind == "bsr" and (len(block) != 2 or 0 in block or shape[0] % block[0] or shape[1] % block[1]):
        raise ValueError(f"blocks of {block} do not fill a matrix of {shape}")
    if kind == "dia" and not all(-shape[0] < offset < shape[1] for offset in places[0].tolist()):
        raise ValueError(f"a diagonal is outside a matrix of {shape[0]:,} x {shape[1]:,}")
    where = places[0] if len(places) == 1 else tuple(places)
    parts = (machine_numbers(data), where) if kind in ("coo", "dia") else (machine_numbers(data), *places)
    matrix = getattr(sparse, f"{kind}_array")(parts, shape=shape)
    if kind in ("csr", "csc", "bsr"):
        matrix.check_format(full_check=True)
        if (
            matrix.indptr[1:] < matrix.indptr[:-1]
        ).any():  # SciPy does not look if the last one is 0 or below
            raise ValueError("indptr must be a non-decreasing sequence")
    return matrix


def to_dense(matrix: Any, name: str) -> NDArray[Any]:
    """Return a SciPy matrix as a dense array; one that has far more cells than entries is a DataError."""
    matrix = check_sparse(matrix, name)
    n_rows, n_columns = map(int, matrix.shape)
    stored = int(np.prod(matrix.data.shape))
    if n_rows * n_columns > max(MAX_DENSE_CELLS, 100 * stored):
        raise DataError(
            f"the sparse matrix is {n_rows:,} x {n_columns:,} with {plural(stored, 'entry', 'entries')}: "
            f"as a table it would need {8 * n_rows * n_columns:,} bytes",
            source=name,
            remedy="Keep fewer rows and columns. A table holds every cell, zeros too.",
        )
    dense: NDArray[Any] = matrix.toarray()
    return dense


def to_sparse(given: Any, name: str) -> Any:
    """Return a matrix of SciPy, NumPy, pandas or lists as a sound SciPy matrix of numbers; masked and None are NaN."""
    if sparse.issparse(given):
        matrix = check_sparse(given, name)
        if max(matrix.shape) > MAX_SIDE:
            remedy = f"Each side may have {MAX_SIDE:,} objects at most."
            what = f"the matrix is {matrix.shape[0]:,} x {matrix.shape[1]:,}"
            raise DataError(what, source=name, remedy=remedy)
        return matrix
    array = to_array(given, name)
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        what = f"the array has the shape {array.shape} and the type {array.dtype}"
        remedy = "Give real numbers in two dimensions: rows and columns."
        raise DataError(what, source=name, remedy=remedy)
    return sparse.csr_array(machine_numbers(array))


def machine_numbers(array: NDArray[Any]) -> NDArray[Any]:
    """Return numbers in a type that SciPy computes with: in the machine's byte order, floats of 4 or 8 bytes."""
    odd = array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8)
    with np.errstate(over="ignore"):  # what is infinite then, the readers find
        found: NDArray[Any] = array.astype(np.float64 if odd else array.dtype.newbyteorder("="), copy=False)
    return found


def to_array(given: Any, name: str) -> NDArray[Any]:
    """Return a dense array; masked cells, and None or NA among numbers, are NaN."""
    if np.ma.isMaskedArray(given):
        masked = np.ma.getmaskarray(given)
        given = given.data
        if masked.any() and given.dtype.kind in "biufO":
            given = given.astype(np.float64 if given.dtype.kind != "O" else object)
            given[masked] = np.nan
    try:
        array = np.asarray(given)
    except ValueError:
        raise DataError(
            "the rows have different lengths", source=name, remedy="Give every row as many cells."
        ) from None
    if array.dtype != object:
        return array
    import pandas as pd  # slow to import, and objects are rare

    try:
        if hasattr(given, "iloc"):  # a pandas frame, whose sign for missing NumPy does not know
            return np.asarray(given.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.where(pd.isna(array), np.nan, array).astype(np.float64)
    except (TypeError, ValueError):
        return array


def graph_library(source: Any) -> str | None:
    """Return the library that a graph in memory is of: networkx, igraph or graph-tool; None for anything else."""
    if isinstance(source, type) or is_frame(source):
        return None
    return next((name for name, parts in _GRAPHS.items() if all(hasattr(source, p) for p in parts)), None)


def refuse_graph(source: Any, wanted: str) -> None:
    """Raise ParameterError for a graph in memory where other data are wanted: "texts", say."""
    library = graph_library(source)
    if library is not None:
        raise ParameterError(
            f"A graph ({library}) holds nodes and links, and no {wanted}. Read it with load_relation."
        )


#: Arrays that say where the entries of a sparse matrix are, by its format.
_PLACES = {
    **dict.fromkeys(("csr", "csc", "bsr"), ("indices", "indptr")),
    "coo": ("coords",),
    "dia": ("offsets",),
}
_BUILD_AGAIN = "Give real numbers in two dimensions, and build the matrix again from correct indices."
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
#: Arrays in one file at most: the cells, and what may accompany them.
MAX_ARRAYS = 1_000
_SAVE_ARRAYS = (
    "Save real numbers with numpy.save or numpy.savez again; names and labels as texts (no objects)."
)
#: The last code of a letter; the first of those of half letters, and how many there are.
_LAST_LETTER, _HALVES, _N_HALVES = 0x10FFFF, 0xD800, 0x800


def load_npy(source: ByteSource) -> NDArray[Any]:
    """Return the array of an npy file; nothing in it is ever run (no pickle).

    A file that is damaged, holds objects, or claims more than it holds is a DataError.
    """
    with report_damage(source, "a NumPy file", Exception, remedy=_SAVE_ARRAYS):
        stream = source.seekable()
        size = stream.seek(0, 2)
        stream.seek(0)
        _check_header(stream, size, source)
        stream.seek(0)
        return _read_array(stream)


def _read_array(stream: BinaryIO | Any) -> NDArray[Any]:
    array: NDArray[Any] = npy.read_array(stream, allow_pickle=False)
    if array.dtype.kind == "U":
        # NumPy keeps any number as a letter, and Python fails at those that are none.
        codes = (
            np.ascontiguousarray(array).reshape(-1).view(np.dtype("u4").newbyteorder(array.dtype.byteorder))
        )
        if ((codes > _LAST_LETTER) | (codes - _HALVES < _N_HALVES)).any():
            raise ValueError("it holds numbers that are no letters")
    return array


def load_npz(source: ByteSource) -> dict[str, NDArray[Any]]:
    """Return the arrays of an npz file by name, as `load_npy` does; one that unpacks to too much is a DataError."""
    arrays = {}
    with report_damage(source, "a NumPy file", Exception, remedy=_SAVE_ARRAYS):
        archive = source.archive()
        members = archive.infolist()
        if len(members) > MAX_ARRAYS:
            what = f"this .npz holds {len(members):,} arrays; at most {MAX_ARRAYS:,} are read"
            raise source.fault(what, "Save one array of cells, and with it rows, columns and labels.")
        # The archive's own list of sizes is a limit: zipfile reads no more of a member than that.
        source.check_room(sum(member.file_size for member in members))
        for member in members:
            name = member.filename.removesuffix(".npy")
            with report_damage(
                source, f"a NumPy file with an array {name!r}", Exception, remedy=_SAVE_ARRAYS
            ):
                with archive.open(member) as stream:
                    _check_header(stream, member.file_size, source)
                with archive.open(member) as stream:
                    arrays[name] = _read_array(stream)
    return arrays


def is_sparse(names: list[str]) -> bool:
    """Return whether an npz file with arrays of these names was written by `scipy.sparse.save_npz`."""
    return {"format.npy", "shape.npy", "data.npy"} <= set(names)


def load_sparse(source: ByteSource) -> Any:
    """Return the matrix of `scipy.sparse.save_npz`, in its own format and sound; otherwise a DataError."""
    arrays = load_npz(source)
    # Arrays that do not belong together make SciPy raise all sorts.
    remedy = "Save it with scipy.sparse.save_npz again."
    with report_damage(source, "a sparse matrix", Exception, remedy=remedy):
        kind = arrays["format"].item()
        kind = kind.decode("ascii") if isinstance(kind, bytes) else kind
        if kind not in ("csr", "csc", "bsr", "coo", "dia"):
            raise ValueError(f"there is no sparse format {kind!r}")
        places: list[Any] = [arrays["row"], arrays["col"]] if "row" in arrays else []
        places = places or [arrays[part] for part in _PLACES[kind]]
        if arrays["shape"].dtype.kind not in "iu":
            raise ValueError("its shape is no whole numbers")
        return _build_sparse(kind, arrays["data"], places, tuple(arrays["shape"].tolist()))


def _check_header(stream: BinaryIO | Any, size: int, source: ByteSource) -> None:
    """Refuse an array whose header claims more than the file holds, or holds neither numbers nor text."""
    version = npy.read_magic(stream)
    if version not in _HEADERS:
        raise ValueError(f"its header is of version {version}")
    shape, _, dtype = _HEADERS[version](stream)
    cells = math.prod(int(n) for n in shape)
    n_bytes = cells * dtype.itemsize
    if dtype.hasobject or dtype.kind not in "biufcSU" or (dtype.itemsize == 0 and cells):
        raise ValueError(f"its entries are of type {dtype}")
    if min(shape, default=0) < 0:
        raise ValueError(f"it claims the shape {shape}")
    if n_bytes > size - stream.tell():
        raise ValueError(f"it claims the shape {shape}, {n_bytes:,} bytes; the file holds {size:,}")
    if dtype.kind in "biufc":
        source.check_room(8 * cells)  # as the doubles that they become
