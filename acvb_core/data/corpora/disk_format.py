"""The form of a corpus on disk: what its files are called, and reading and writing them with distrust."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from acvb_core.data.sources.objects import to_array
from acvb_core.errors import DataError

FORMAT = "acvb corpus on disk"
VERSION = 1
META = "meta.json"
_READ_AGAIN = "Read the corpus to disk again"


class Stored(NamedTuple):
    """The documents of one piece as they lie on disk: small whole numbers, mapped into memory."""

    pointers: NDArray[Any]
    words: NDArray[Any]
    counts: NDArray[Any]


def shard_file(number: int, part: str) -> str:
    """Return the name of a file of a shard ("pointers", "words" or "counts")."""
    return f"shard-{number:05d}-{part}.npy"


def stored_shard(folder: Path, number: int, n_documents: int) -> Stored:
    """Return a shard as it lies on disk; every call opens the files anew, so threads do not meet.

    Raises
    ------
    DataError
        It cannot be read, or its pointers would lead a compiled loop out of the arrays.
    """
    try:
        stored = Stored(
            *(
                np.load(folder / shard_file(number, part), mmap_mode="r", allow_pickle=False)
                for part in Stored._fields
            )
        )
    except FileNotFoundError as problem:
        if not folder.is_dir():
            raise DataError(
                "this corpus on disk is not there any more; its folder was deleted or moved",
                source=str(folder),
                remedy="Put it back, or read the corpus to disk again.",
            ) from None
        raise damaged(folder, f"{Path(problem.filename).name} is missing") from None
    except (OSError, ValueError) as problem:
        raise damaged(folder, str(problem)) from None
    pointers, words, counts = stored
    sound = (
        len(pointers) == n_documents + 1
        and int(pointers[0]) == 0
        and bool((pointers[1:] >= pointers[:-1]).all())
        and int(pointers[-1]) == len(words) == len(counts)
    )
    if not sound:
        raise damaged(folder, f"the numbers of shard {number} contradict each other")
    return stored


def check_words(folder: Path, number: int, words: NDArray[np.int32], n_words: int) -> None:
    """Raise DataError where word numbers of a shard are beyond the vocabulary."""
    if len(words) and not 0 <= int(words.min()) <= int(words.max()) < n_words:
        raise damaged(folder, f"the numbers of shard {number} contradict each other")


def chosen_pairs(
    folder: Path, begins: NDArray[np.int64], n_words: int, chosen: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Return the lengths of documents, and their words and counts in a row; only these are read.

    Parameters
    ----------
    folder : Path
    begins : int64 array, shape (n_shards + 1,)
        The first document of each shard, and the number of documents.
    n_words : int
    chosen : int64 array
        Numbers of documents.
    """
    home = np.searchsorted(begins, chosen, side="right") - 1
    lengths = np.zeros(len(chosen), dtype=np.int64)
    found: list[tuple[NDArray[np.intp], NDArray[np.int32], NDArray[np.int32]]] = []
    for number in np.unique(home):
        places = np.flatnonzero(home == number)
        stored = stored_shard(folder, int(number), int(begins[number + 1] - begins[number]))
        local = chosen[places] - begins[number]
        starts = stored.pointers[local].astype(np.int64)
        sizes = stored.pointers[local + 1].astype(np.int64) - starts
        at = _ranges(starts, sizes)
        lengths[places] = sizes
        some = stored.words[at].astype(np.int32)
        check_words(folder, int(number), some, n_words)
        found.append((places, some, stored.counts[at].astype(np.int32)))
    total = int(lengths.sum())
    words, counts = np.empty(total, dtype=np.int32), np.empty(total, dtype=np.int32)
    pointers = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    for places, some_words, some_counts in found:
        at = _ranges(pointers[places], lengths[places])
        words[at], counts[at] = some_words, some_counts
    return lengths, words, counts


def _ranges(starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return start, start + 1, …, start + size - 1 of every range, in a row."""
    ends = np.cumsum(sizes)
    return np.repeat(starts - (ends - sizes), sizes) + np.arange(ends[-1] if len(ends) else 0)


def read_meta(folder: Path) -> dict[str, Any]:
    """Return what the folder says of itself.

    Raises
    ------
    DataError
        It holds no corpus, or one of a later version.
    """
    path = folder / META
    try:
        meta = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise DataError(
            "this folder holds no corpus on disk",
            source=str(folder),
            remedy="Choose a folder that read_to_disk has written.",
        ) from None
    except ValueError as problem:
        raise damaged(folder, f"{META}: {problem}") from None
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise DataError(
            f"{META} is not that of a corpus on disk",
            source=str(folder),
            remedy="Choose a folder that read_to_disk has written.",
        )
    if meta.get("version") != VERSION:
        raise DataError(
            f"this corpus is of version {meta.get('version')} of the form, and {VERSION} is read here",
            source=str(folder),
            remedy=f"{_READ_AGAIN}, or use a later ACVB.",
        )
    return meta


def damaged(folder: Path, problem: str) -> DataError:
    """Return the error for a folder whose files are not as they were written."""
    return DataError(
        f"this corpus on disk is damaged ({problem})", source=str(folder), remedy=f"{_READ_AGAIN}."
    )


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
