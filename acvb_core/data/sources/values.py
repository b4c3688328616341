"""Delimited text as batches of records, in bounded memory, with errors that name line and field."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from acvb_core.core.errors import DataError, ParameterError


@dataclass(frozen=True, eq=False)
class RecordBatch:
    """Some consecutive records, all with the same number of fields; void once the next batch is asked for.

    Field f of record r is text[starts[r * n_fields + f] : ends[r * n_fields + f]].
    """

    text: NDArray[np.uint8]  # the fields' bytes (UTF-8, without quotes)
    starts: NDArray[np.int32]  # shape (>= n_records * n_fields,), as `ends`
    ends: NDArray[np.int32]
    lines: NDArray[np.int64]  # the 1-based line each record starts on, shape (n_records,)
    n_fields: int

    @property
    def n_records(self) -> int:
        """Number of records."""
        return len(self.lines)

    def field(self, record: int, column: int) -> str:
        """Return one field (record and column are 0-based)."""
        at = record * self.n_fields + column
        return self.text[self.starts[at] : self.ends[at]].tobytes().decode("utf-8")

    def record(self, record: int) -> list[str]:
        """Return one record's fields."""
        return [self.field(record, column) for column in range(self.n_fields)]

    def blank(self, column: int) -> NDArray[np.bool_]:
        """Return whether field `column` is empty, shape (n_records,)."""
        at = slice(column, self.n_records * self.n_fields, self.n_fields)
        return self.starts[at] == self.ends[at]

    def interleave(self, *columns: int) -> RecordBatch:
        """Return the fields of some columns, record by record, as a batch of one field a record."""
        used = self.n_records * self.n_fields
        starts, ends = (
            side[:used].reshape(-1, self.n_fields)[:, columns].ravel() for side in (self.starts, self.ends)
        )
        return RecordBatch(self.text, starts, ends, np.repeat(self.lines, len(columns)), 1)

    def without_first(self) -> RecordBatch:
        """Return the records below the first one."""
        n = self.n_fields
        return RecordBatch(self.text, self.starts[n:], self.ends[n:], self.lines[1:], n)


ZERO, LINK, MISSING, ILLEGAL = range(4)
YES_WORDS = {"y", "yes", "t", "true"}
NO_WORDS = {"n", "no", "f", "false"}
MISSING_WORDS = frozenset({"", "?", "na", "n/a", "nan", "null"})
#: Distinct values kept at a time; more means continuous numbers, which do not repeat.
_MAX_REMEMBERED = 100_000


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
        """Return the code of field `column` (0-based) of every record, adding labels not met before."""
        # Room for this column's text alone: a table has one of these for each of its columns.
        own = slice(column, batch.n_records * batch.n_fields, batch.n_fields)
        self._reserve(batch.n_records, int((batch.ends[own] - batch.starts[own]).sum()))
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

    def pack(self, start: int = 0) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
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
            self._hashes = _grow(self._hashes, room)
            self._lines = _grow(self._lines, room)
            self._offsets = _grow(self._offsets, room + 1)
        used = int(self._offsets[self._size])
        if used + n_bytes > len(self._pool):
            self._pool = _grow(self._pool, max(used + n_bytes, len(self._pool) * 3 // 2))
        if 2 * size > len(self._slots):
            slots = len(self._slots)
            while slots < 2 * size:
                slots *= 2
            self._slots = np.full(slots, -1, dtype=np.int32)
            _rehash(self._slots, self._hashes, self._size)


def _grow(array: NDArray[Any], size: int) -> NDArray[Any]:
    return np.concatenate([array, np.empty(size - len(array), dtype=array.dtype)])


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


class Value(NamedTuple):
    """A cell's verdict, and its number (nan for words and missing cells)."""

    verdict: int
    number: float


def read_value(text: str, threshold: float = 0.0) -> Value:
    """Return what a cell says: a number is a link when it exceeds `threshold`, yes / true always are.

    ILLEGAL for anything that is neither a finite number, nor a yes / no word, nor a sign for missing.
    """
    word = text.strip().lower()
    if word in MISSING_WORDS:
        return Value(MISSING, math.nan)
    if word in YES_WORDS:
        return Value(LINK, math.nan)
    if word in NO_WORDS:
        return Value(ZERO, math.nan)
    try:
        number = float(word)
    except ValueError:
        return Value(ILLEGAL, math.nan)
    # float() also takes "1_000", "inf" and digits of other scripts, which no data file means.
    if not word.isascii() or "_" in word or not math.isfinite(number):
        return Value(ILLEGAL, math.nan)
    return Value(LINK if number > threshold else ZERO, number)


def _is_infinite(text: str) -> bool:
    try:
        return math.isinf(float(text))
    except ValueError:
        return False


def value_kind(texts: Iterable[str]) -> str:
    """Return "0/1", "yes/no", "counts", "numbers", "missing" (nothing else) or "text"."""
    given = list(texts)
    # An infinite number does not make a column of numbers one of labels: whoever reads it refuses that number.
    values = [read_value(text) for text in given if not _is_infinite(text)]
    if any(value.verdict == ILLEGAL for value in values):
        return "text"
    if len(values) < len(given):
        return "numbers" if values else "text"
    known = [value.number for value in values if value.verdict != MISSING]
    if not known:
        return "missing"
    numbers = [number for number in known if not math.isnan(number)]
    if len(numbers) < len(known):
        return "yes/no"
    if all(number in (0.0, 1.0) for number in numbers):
        return "0/1"
    return "counts" if all(number >= 0 and number.is_integer() for number in numbers) else "numbers"


@dataclass
class ValueSummary:
    """Summary of the numbers of a file so far: the smallest, the largest, and whether all are whole numbers."""

    threshold: float
    lowest: float = math.inf
    highest: float = -math.inf
    whole: bool = True

    @property
    def counts(self) -> bool:
        """Return whether the numbers are counts: whole, none negative and one above 1."""
        return self.whole and self.lowest >= 0 and self.highest > 1

    def observe(self, numbers: NDArray[np.float64]) -> None:
        """Take note of some numbers; nan is passed over."""
        real = numbers[~np.isnan(numbers)]
        if len(real):
            self.lowest = min(self.lowest, float(real.min()))
            self.highest = max(self.highest, float(real.max()))
            self.whole = self.whole and bool((real == np.floor(real)).all())


class ValueReader:
    """Turn fields into verdicts, batch by batch: each distinct text is looked at once.

    A text file without a threshold is read with a threshold of 0. In columns of numbers (`typed`) other values than 0
    and 1 need a threshold: a year or a price would be taken for links.
    """

    def __init__(self, threshold: float | None, source: str, *, typed: bool = False) -> None:
        self.summary = ValueSummary(checked_threshold(threshold))
        self._only_bits = typed and threshold is None
        self._source = source
        self._table = LabelTable()
        self._verdicts: NDArray[np.uint8] = np.empty(0, dtype=np.uint8)
        self._numbers: NDArray[np.float64] = np.empty(0)

    def read(self, batch: RecordBatch, column: int) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
        """Return each record's verdict and number (nan unless it says one); a field that is no value is a DataError."""
        if len(self._table) > _MAX_REMEMBERED:
            self._table = LabelTable()
            self._verdicts, self._numbers = self._verdicts[:0], self._numbers[:0]
        before = len(self._table)
        codes = self._table.codes(batch, column)
        new = self._table.labels(before)
        if new:
            self._learn(new, before, column)
        return self._verdicts[codes], self._numbers[codes]

    def _learn(self, texts: Sequence[str], before: int, column: int) -> None:
        values = [read_value(text, self.summary.threshold) for text in texts]
        verdicts = np.array([value.verdict for value in values], dtype=np.uint8)
        if ILLEGAL in verdicts:
            bad = int(np.argmax(verdicts == ILLEGAL))
            raise illegal_value(texts[bad], self._source, self._table.first_line(before + bad), column + 1)
        numbers = np.array([value.number for value in values])
        other = ~(np.isnan(numbers) | (numbers == 0) | (numbers == 1))
        if self._only_bits and other.any():
            bad = int(other.argmax())
            raise DataError(
                "this is neither 0 (no link) nor 1 (link) nor missing",
                source=self._source,
                line=self._table.first_line(before + bad),
                column=column + 1,
                value=texts[bad],
                remedy="Say which values are links: with threshold=0 every value above 0 is one. If this column holds "
                "something else, leave it out (value=False) or choose another.",
            )
        self._verdicts = np.concatenate([self._verdicts, verdicts])
        self._numbers = np.concatenate([self._numbers, numbers])
        self.summary.observe(numbers)


def illegal_value(text: str, source: str, line: int, column: int) -> DataError:
    """Return the error for a cell that holds no value."""
    what = "this is neither a number, nor yes / no, nor missing (blank, NA, NaN, ?)"
    remedy = "Correct the cell (with a decimal point, not a comma), or choose another value column."
    return DataError(what, source=source, line=line, column=column, value=text, remedy=remedy)


def checked_threshold(threshold: float | None) -> float:
    """Return the threshold, 0 when none is given."""
    if threshold is None:
        return 0.0
    if not math.isfinite(threshold) or threshold < 0:
        # Below 0 the pairs that the file does not list would be links as well.
        raise ParameterError(f"The threshold must be a finite number of at least 0, not {threshold}.")
    return float(threshold)
