"""Arrays and sparse matrices in NumPy's files: their claims are checked before anything is allocated for them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.errors import DataError
from acvb_core.data.sources.byte_source import ByteSource
from acvb_core.data.sources.objects import check_sparse, machine_numbers

#: Arrays of a sparse file that say where its entries are.
_POSITIONS = {"indices", "indptr", "row", "col", "coords", "offsets", "shape"}
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
#: Arrays in one file at most: the cells, and what may stand beside them.
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
    with _report_unreadable(source, "the array", _SAVE_ARRAYS):
        stream = source.seekable()
        size = stream.seek(0, 2)
        stream.seek(0)
        _check_header(stream, size, source)
        stream.seek(0)
        return _read_array(stream)


def _read_array(stream: BinaryIO | Any) -> NDArray[Any]:
    array: NDArray[Any] = npy.read_array(stream, allow_pickle=False)
    if array.dtype.kind == "U":
        # NumPy keeps whatever number stands for a letter, and Python fails at those that are none.
        codes = (
            np.ascontiguousarray(array).reshape(-1).view(np.dtype("u4").newbyteorder(array.dtype.byteorder))
        )
        if ((codes > _LAST_LETTER) | (codes - _HALVES < _N_HALVES)).any():
            raise ValueError("it holds numbers that are no letters")
    return array


def load_npz(source: ByteSource) -> dict[str, NDArray[Any]]:
    """Return the arrays of an npz file by name, as `load_npy` does; one that unpacks to too much is a DataError."""
    arrays = {}
    with _report_unreadable(source, "the array", _SAVE_ARRAYS):
        archive = source.archive()
        members = archive.infolist()
        if len(members) > MAX_ARRAYS:
            what = f"this .npz holds {len(members):,} arrays; at most {MAX_ARRAYS:,} are read"
            raise source.fault(what, "Save one array of cells, and beside it rows, columns and labels.")
        # The archive's own list of sizes is a limit: zipfile reads no more of a member than that.
        source.check_room(sum(member.file_size for member in members))
        for member in members:
            name = member.filename.removesuffix(".npy")
            with _report_unreadable(source, f"the array {name!r}", _SAVE_ARRAYS):
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
    with _report_unreadable(source, "the sparse matrix", "Save it with scipy.sparse.save_npz again."):
        kind = arrays["format"].item()
        kind = kind.decode("ascii") if isinstance(kind, bytes) else kind
        if kind not in ("csr", "csc", "bsr", "coo", "dia"):
            raise ValueError(f"there is no sparse format {kind!r}")
        wrong = [name for name in _POSITIONS & set(arrays) if arrays[name].dtype.kind not in "iu"]
        if wrong:
            raise ValueError(f"{wrong[0]!r} must hold whole numbers")
        shape = tuple(arrays["shape"].tolist())
        if kind == "coo":
            where: Any = tuple(arrays["coords"]) if "coords" in arrays else (arrays["row"], arrays["col"])
        else:
            where = arrays["offsets"] if kind == "dia" else (arrays["indices"], arrays["indptr"])
        data = machine_numbers(arrays["data"])
        parts = (data, *where) if kind in ("csr", "csc", "bsr") else (data, where)
        matrix = getattr(sparse, f"{kind}_array")(parts, shape=shape)
        try:
            return check_sparse(matrix, source.name)
        except DataError as fault:
            raise ValueError(fault.what) from None


@contextmanager
def _report_unreadable(source: ByteSource, what: str, remedy: str) -> Iterator[None]:
    """Turn whatever a damaged file makes NumPy, SciPy, zipfile and zlib raise into a DataError."""
    try:
        yield
    except DataError:
        raise
    except Exception as problem:
        why = (str(problem).splitlines() or [type(problem).__name__])[0]
        raise source.fault(f"{what} cannot be read ({why})", remedy) from None


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
