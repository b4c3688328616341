"""What is asked of documents before they are written, and of shards once they are."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from acvb_core.data.corpora.disk_format import shard_file
from acvb_core.data.sources.matrix_checks import to_array
from acvb_core.errors import DataError


def disk_fault(problem: OSError, folder: Path) -> DataError:
    """Return what a fault of the disk means to the user."""
    return DataError(
        f"the corpus cannot be written ({problem.strerror or problem})",
        source=str(folder),
        remedy="Check the free space and the right to write there, or choose another folder.",
    )


def checked_counts(pointers: ArrayLike, words: ArrayLike, counts: ArrayLike, name: str) -> sparse.csr_array:
    """Return counts of documents as a matrix, words given twice and zeros included.

    Raises
    ------
    DataError
        The arrays contradict each other, or hold something else than whole numbers.
    """
    bounds, columns, values = (to_array(part, name) for part in (pointers, words, counts))
    fault = None
    if bounds.dtype.kind not in "iu" or columns.ndim != 1 or values.ndim != 1:
        fault = "the pointers are no whole numbers, or the words and counts no plain lists"
    elif bounds.ndim != 1 or not len(bounds) or bounds[0] != 0 or (bounds[1:] < bounds[:-1]).any():
        fault = "the pointers do not begin at 0 or fall"
    elif not int(bounds[-1]) == len(columns) == len(values):
        fault = f"the pointers end at {bounds[-1]:,}, with {len(columns):,} words and {len(values):,} counts"
    elif len(columns) and (
        columns.dtype.kind not in "iu" or int(columns.min()) < 0 or int(columns.max()) >= 2**31
    ):
        fault = "a word is no number from 0 to 2,147,483,646"
    elif (
        values.dtype.kind not in "biuf"
        or not ((values >= 0) & (values == np.floor(values)) & (values < 2**53)).all()
    ):
        fault = "a word count is negative or no whole number"
    if fault:
        raise DataError(
            fault, source=name, remedy="Give pointers, words and counts of documents as whole numbers."
        )
    n_words = int(columns.max()) + 1 if len(columns) else 1
    return sparse.csr_array(
        (values.astype(np.int64), columns.astype(np.int32), bounds.astype(np.int64)),
        shape=(len(bounds) - 1, n_words),
    )


def disk_fingerprint(folder: Path, shape: tuple[int, int], n_shards: int) -> str:
    """Return the fingerprint of the same corpus in memory (`Corpus.fingerprint`), shard by shard."""
    digest = hashlib.sha256(b"corpus" + repr(shape).encode())
    base = 0
    digest.update(np.zeros(1, dtype="<i8").tobytes())
    for pointers in _parts(folder, "pointers", n_shards):
        digest.update((pointers[1:].astype("<i8") + base).tobytes())
        base += int(pointers[-1])
    for part in ("words", "counts"):
        for array in _parts(folder, part, n_shards):
            digest.update(array.astype("<i4").tobytes())
    return digest.hexdigest()


def _parts(folder: Path, part: str, n_shards: int) -> Iterator[NDArray[Any]]:
    for number in range(n_shards):
        yield np.load(folder / shard_file(number, part))
