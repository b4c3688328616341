"""Many strings in two files: their UTF-8 bytes in a row, and where each begins."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.names import number_repeated

_AT_ONCE = 4096
_SHOWN = 5


class StringWriter:
    """Append strings to a file; what stays in memory is 16 bytes each (place and hash).

    Parameters
    ----------
    folder : Path
    stem : str
        The files are <stem>.utf8 and <stem>.npy.
    """

    def __init__(self, folder: Path, stem: str) -> None:
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
