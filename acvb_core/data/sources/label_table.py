"""Label -> code tables that grow while a file streams past: compiled hashing over the fields' bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

if TYPE_CHECKING:
    from acvb_core.data.sources.records import RecordBatch


class LabelTable:
    """Codes 0, 1, … for labels in the order in which they first appear.

    Memory: the labels' bytes once, and about 28 bytes a label.
    """

    def __init__(self) -> None:
        self._slots = np.full(1024, -1, dtype=np.int32)
        self._hashes = np.empty(512, dtype=np.uint64)
        self._lines = np.empty(512, dtype=np.int64)
        self._offsets = np.zeros(513, dtype=np.int64)
        self._pool = np.empty(1 << 14, dtype=np.uint8)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def codes(self, batch: RecordBatch, column: int) -> NDArray[np.int32]:
        """Return the code of field `column` (0-based) of every record, adding labels not met before.

        Returns
        -------
        int32 array, shape (batch.n_records,)
        """
        self._reserve(batch.n_records, batch.n_bytes)
        found = np.empty(batch.n_records, dtype=np.int32)
        fields = batch.text, batch.starts, batch.ends, batch.n_fields, column, batch.lines
        table = self._slots, self._hashes, self._lines, self._offsets, self._pool
        self._size = int(_intern(*fields, *table, self._size, found))
        return found

    def labels(self, start: int = 0) -> list[str]:
        """Return the labels with codes `start`, `start` + 1, …"""
        bounds = self._offsets[start : self._size + 1].tolist()
        pool = self._pool[bounds[0] : bounds[-1]].tobytes()
        first = bounds[0]
        return [pool[a - first : b - first].decode("utf-8") for a, b in zip(bounds, bounds[1:], strict=False)]

    def packed(self, start: int = 0) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return the bytes of all labels in a row, and where those of `start`, `start` + 1, … begin; read only."""
        return self._pool, self._offsets[start : self._size + 1]

    def first_line(self, code: int) -> int:
        """Return the 1-based line on which the label with this code first appeared."""
        return int(self._lines[code])

    def _reserve(self, labels: int, n_bytes: int) -> None:
        # Room for the worst case (every field is new) before the compiled loop starts: it never has to grow.
        size = self._size + labels
        if size > len(self._hashes):
            room = max(size, 2 * len(self._hashes))
            self._hashes = _grown(self._hashes, room)
            self._lines = _grown(self._lines, room)
            self._offsets = _grown(self._offsets, room + 1)
        used = int(self._offsets[self._size])
        if used + n_bytes > len(self._pool):
            self._pool = _grown(self._pool, max(used + n_bytes, len(self._pool) * 3 // 2))
        if 2 * size > len(self._slots):
            slots = len(self._slots)
            while slots < 2 * size:
                slots *= 2
            self._slots = np.full(slots, -1, dtype=np.int32)
            _rehash(self._slots, self._hashes, self._size)


def _grown(array: NDArray[Any], size: int) -> NDArray[Any]:
    larger = np.empty(size, dtype=array.dtype)
    larger[: len(array)] = array
    return larger


@njit(nogil=True, cache=True)
def _intern(
    text: Any, starts: Any, ends: Any, n_fields: Any, column: Any, lines: Any, slots: Any, hashes: Any,
    label_lines: Any, offsets: Any, pool: Any, size: Any, found: Any,
) -> Any:  # fmt: skip
    """Look every field up in the open-addressing table, append the new ones, return the table's new size."""
    mask = np.uint64(slots.shape[0] - 1)
    for record in range(found.shape[0]):
        at = record * n_fields + column
        start = starts[at]
        length = ends[at] - start
        if record > 0:  # lists often give all lines of an object one after another
            before = starts[at - n_fields]
            repeated = ends[at - n_fields] - before == length
            for p in range(length):
                if not repeated or text[before + p] != text[start + p]:
                    repeated = False
                    break
            if repeated:
                found[record] = found[record - 1]
                continue
        key = np.uint64(14695981039346656037)  # FNV-1a, 64 bits
        for p in range(start, start + length):
            key = (key ^ np.uint64(text[p])) * np.uint64(1099511628211)
        key ^= key >> np.uint64(29)  # FNV's low bits are weak and the table masks exactly those
        slot = np.int64(key & mask)
        while True:
            code = slots[slot]
            if code < 0:
                code = size
                slots[slot] = code
                hashes[code] = key
                label_lines[code] = lines[record]
                begin = offsets[code]
                for p in range(length):
                    pool[begin + p] = text[start + p]
                offsets[code + 1] = begin + length
                size += 1
                break
            if hashes[code] == key and offsets[code + 1] - offsets[code] == length:
                begin = offsets[code]
                same = True
                for p in range(length):
                    if pool[begin + p] != text[start + p]:
                        same = False
                        break
                if same:
                    break
            slot = np.int64(np.uint64(slot + 1) & mask)
        found[record] = code
    return size


@njit(nogil=True, cache=True)
def _rehash(slots: Any, hashes: Any, size: Any) -> None:
    mask = np.uint64(slots.shape[0] - 1)
    for code in range(size):
        slot = np.int64(hashes[code] & mask)
        while slots[slot] >= 0:
            slot = np.int64(np.uint64(slot + 1) & mask)
        slots[slot] = code
