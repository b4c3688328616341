"""Entries of a corpus in temporary files, given back document by document: a counting sort in bounded memory."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

#: Entries that are sorted in memory at once: about 50 MB with what the sorting needs.
AT_ONCE = 1 << 20
_TYPE = np.dtype("<i4")


@njit(nogil=True, cache=True)
def _order(keys: Any, n_keys: Any) -> Any:
    """Return the order that sorts keys 0 to n_keys - 1; equal ones stay as they are (a counting sort)."""
    places = np.zeros(n_keys + 1, dtype=np.int64)
    for i in range(keys.shape[0]):
        places[keys[i] + 1] += 1
    for key in range(n_keys):
        places[key + 1] += places[key]
    order = np.empty(keys.shape[0], dtype=np.int64)
    for i in range(keys.shape[0]):
        order[places[keys[i]]] = i
        places[keys[i]] += 1
    return order


class Entries(NamedTuple):
    """Entries of consecutive documents: those of document i are `pointers[i]` to `pointers[i + 1] - 1`."""

    pointers: NDArray[np.int64]
    words: NDArray[np.int32]
    counts: NDArray[np.int32]


class EntrySpool:
    """Take (document, word, count) entries in any order, and give them back by document.

    Use as a context, which removes the files. On disk: 12 bytes an entry, twice that while entries that did not come
    in order are sorted. In memory: 16 bytes a document.

    Parameters
    ----------
    folder : Path
        Where the files lie.
    at_once : int
        Entries in memory at once (more only when a single document has more).
    """

    def __init__(self, folder: Path, at_once: int = AT_ONCE) -> None:
        self._folder = folder / "entries"
        self._folder.mkdir()
        self._files = [self._path(part).open("wb") for part in range(3)]
        self._at_once = at_once
        self._tallies = np.zeros(1024, dtype=np.int64)
        self._last = -1
        self._sorted = True
        self.n_entries = 0

    def add(self, documents: NDArray[Any], words: NDArray[Any], counts: NDArray[Any]) -> None:
        """Append entries; documents and words are numbers from 0, counts below 2^31."""
        if not len(documents):
            return
        for file, array in zip(self._files, (documents, words, counts), strict=True):
            file.write(array.astype(_TYPE).tobytes())
        self.n_entries += len(documents)
        self._sorted &= int(documents[0]) >= self._last and bool((documents[1:] >= documents[:-1]).all())
        self._last = int(documents[-1])
        low, high = int(documents.min()), int(documents.max())
        if high >= len(self._tallies):
            self._tallies = np.pad(
                self._tallies, (0, max(high + 1, 2 * len(self._tallies)) - len(self._tallies))
            )
        if high - low < 4 * len(documents):
            self._tallies[low : high + 1] += np.bincount(documents - low)
        else:
            np.add.at(self._tallies, documents, 1)

    def __enter__(self) -> EntrySpool:
        return self

    def __exit__(self, *exception: object) -> None:
        for file in self._files:
            with suppress(OSError):  # a full disk, which what is being raised tells of
                file.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def documents(self, n_documents: int) -> Iterator[Entries]:
        """Give the entries of documents 0 to `n_documents` - 1 in some pieces, each of whole documents; once."""
        for file in self._files:
            file.close()
        tallies = np.zeros(n_documents, dtype=np.int64)
        used = min(n_documents, len(self._tallies))
        tallies[:used] = self._tallies[:used]
        bounds = np.concatenate([[0], np.cumsum(tallies)])
        groups = self._groups(bounds)
        if not self._sorted:
            self._distribute(bounds, groups)
        for begin, end in zip(groups[:-1], groups[1:], strict=True):
            first, last = int(bounds[begin]), int(bounds[end])
            words, counts = (self._read(part, first, last) for part in (1, 2))
            if not self._sorted:
                order = _order(self._read(0, first, last) - np.int32(begin), end - begin)
                words, counts = words[order], counts[order]
            yield Entries(bounds[begin : end + 1] - first, words, counts)

    def _groups(self, bounds: NDArray[np.int64]) -> list[int]:
        """Return where pieces of the documents begin, and the number of documents."""
        n = len(bounds) - 1
        groups = [0]
        while groups[-1] < n:
            at = groups[-1]
            end = int(np.searchsorted(bounds, bounds[at] + self._at_once, side="right")) - 1
            groups.append(min(max(end, at + 1), at + self._at_once, n))
        return groups

    def _distribute(self, bounds: NDArray[np.int64], groups: list[int]) -> None:
        """Put the entries of each piece of documents side by side, in new files."""
        places = bounds[groups].copy()  # where the next entry of each piece goes
        targets = [self._path(part, "sorted").open("wb") for part in range(3)]
        try:
            for begin in range(0, self.n_entries, self._at_once):
                parts = [
                    self._read(part, begin, min(begin + self._at_once, self.n_entries)) for part in range(3)
                ]
                home = np.searchsorted(groups, parts[0], side="right") - 1
                order = _order(home, len(groups))
                home = home[order]
                starts = np.flatnonzero(np.diff(home, prepend=-1))
                ends = [*starts[1:].tolist(), len(home)]
                for file, part in zip(targets, parts, strict=True):
                    values = part[order]
                    for start, end in zip(starts.tolist(), ends, strict=True):
                        file.seek(int(places[home[start]]) * _TYPE.itemsize)
                        file.write(values[start:end].tobytes())
                places[home[starts]] += np.array(ends) - starts
        finally:
            for file in targets:
                file.close()
        for number in range(3):
            self._path(number, "sorted").replace(self._path(number))

    def _read(self, part: int, begin: int, end: int) -> NDArray[np.int32]:
        return np.fromfile(self._path(part), dtype=_TYPE, count=end - begin, offset=begin * _TYPE.itemsize)

    def _path(self, part: int, kind: str = "given") -> Path:
        return self._folder / f"{kind}-{('documents', 'words', 'counts')[part]}.i4"
