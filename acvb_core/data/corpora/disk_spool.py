"""What a corpus on disk is made of while it is written: entries that are sorted by document, and many strings."""

from __future__ import annotations

import shutil
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from acvb_core.data.names import number_repeated

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
        for file, numbers in zip(self._files, (documents, words, counts), strict=True):
            file.write(numbers.astype(_TYPE).tobytes())
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


_AT_ONCE = 4096
_SHOWN = 5


class StringWriter:
    """Append strings to a file; what stays in memory is 8 bytes each (its place), or 16 with its hash.

    Parameters
    ----------
    folder : Path
    stem : str
        The files are <stem>.utf8 and <stem>.npy.
    hashed : bool
        Keep hashes, for `make_unique`.
    """

    def __init__(self, folder: Path, stem: str, *, hashed: bool = False) -> None:
        self._hashed = hashed
        self._folder, self._stem = folder, stem
        self._file = (folder / f"{stem}.utf8").open("wb")
        self._offsets = array("q", [0])
        self._hashes = array("q")

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def extend(self, strings: Iterable[str]) -> None:
        """Append strings."""
        end = self._offsets[-1]
        for string in strings:
            piece = string.encode("utf-8")
            self._file.write(piece)
            end += len(piece)
            self._offsets.append(end)
            if self._hashed:
                self._hashes.append(hash(string))

    def extend_packed(self, pool: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        """Append strings that are packed alike (bytes in a row and n + 1 places), known to be unique."""
        base = self._offsets[-1]
        self._file.write(pool[offsets[0] : offsets[-1]].tobytes())
        self._offsets.frombytes((offsets[1:] - offsets[0] + base).astype(np.int64).tobytes())
        self._hashes.frombytes(np.arange(len(self._hashes), len(self), dtype=np.int64).tobytes())

    def close(self) -> None:
        """Write what is left; the strings can be read from now on."""
        if self._file.closed:
            return
        self._file.close()
        np.save(self._folder / f"{self._stem}.npy", np.frombuffer(self._offsets, dtype=np.int64))

    def abandon(self) -> None:
        """Close the file and remove what was written."""
        with suppress(OSError):  # a full disk, which what is being raised tells of
            self._file.close()
        for end in ("utf8", "npy"):
            (self._folder / f"{self._stem}.{end}").unlink(missing_ok=True)

    def counts_from(self, first: int) -> bool:
        """Whether the strings, which are closed, are the numbers first, first + 1, …"""
        found = iter(StringFile(self._folder, self._stem))
        return all(string == str(number) for number, string in enumerate(found, first))

    def make_unique(self) -> tuple[int, list[str]]:
        """Close, append a number to every string that stood before; return how many those are and the first of them.

        The names given are those of `unique_documents`; what tells two strings apart is their hash of 64 bits.
        """
        self.close()
        hashes = np.frombuffer(self._hashes, dtype=np.int64)
        known = np.sort(hashes)
        twice = set(known[1:][known[1:] == known[:-1]].tolist())
        if not twice:
            return 0, []
        old = StringFile(self._folder, self._stem)
        new = StringWriter(self._folder, f"{self._stem}-unique")
        changed: list[str] = []
        try:
            new.extend(
                number_repeated(
                    old, lambda name: hash(name) in twice, lambda name: _holds(known, hash(name)), changed
                )
            )
            new.close()
        except BaseException:
            new.abandon()
            raise
        for end in ("utf8", "npy"):
            (self._folder / f"{new._stem}.{end}").replace(self._folder / f"{self._stem}.{end}")
        return len(changed), changed[:_SHOWN]


def _holds(known: NDArray[np.int64], value: int) -> bool:
    at = int(np.searchsorted(known, value))
    return at < len(known) and int(known[at]) == value


class StringFile:
    """Strings in a file, read by their number; every read opens the file anew, so threads do not meet."""

    def __init__(self, folder: Path, stem: str) -> None:
        self._text = folder / f"{stem}.utf8"
        self._offsets = folder / f"{stem}.npy"

    def __iter__(self) -> Iterator[str]:
        count = len(np.load(self._offsets, mmap_mode="r")) - 1
        for begin in range(0, count, _AT_ONCE):
            yield from self.between(begin, min(begin + _AT_ONCE, count))

    def between(self, begin: int, end: int) -> list[str]:
        """Return strings `begin` to `end` - 1."""
        bounds = np.load(self._offsets, mmap_mode="r")[begin : end + 1].tolist()
        with self._text.open("rb") as file:
            file.seek(bounds[0])
            text = file.read(bounds[-1] - bounds[0])
        first = bounds[0]
        return [text[a - first : b - first].decode("utf-8") for a, b in zip(bounds, bounds[1:], strict=False)]

    def at(self, numbers: Sequence[int] | NDArray[np.int64]) -> list[str]:
        """Return chosen strings, in the order of the numbers."""
        offsets = np.load(self._offsets, mmap_mode="r")
        found = []
        with self._text.open("rb") as file:
            for number in numbers:
                begin, end = int(offsets[number]), int(offsets[number + 1])
                file.seek(begin)
                found.append(file.read(end - begin).decode("utf-8"))
        return found
