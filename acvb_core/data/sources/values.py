"""Records of fields: labels as codes, and what a field says: a number in one of several styles, a link, nothing."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from acvb_core.core.errors import DataError, ParameterError

ZERO, LINK, MISSING, ILLEGAL = range(4)
YES_WORDS = {"y", "yes", "t", "true"}
NO_WORDS = {"n", "no", "f", "false"}
MISSING_WORDS = frozenset({"", "?", "na", "n/a", "nan", "null"})
Floats = NDArray[np.float64]
#: A number in some style, perhaps (one class of signs: others would be tried in all ways that a long field is cut).
_NUMBER_LIKE = re.compile(r"(?=\D*\d)[+-]?[\d.,'\u2019\s]+([eE][+-]?\d+)?")


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

    def records(self) -> list[list[str]]:
        """Return the fields of all records."""
        used, width = self.n_records * self.n_fields, self.n_fields
        text = self.text[: self.ends[:used].max(initial=0)].tobytes()
        places = zip(self.starts[:used].tolist(), self.ends[:used].tolist(), strict=True)
        fields = [text[start:end].decode("utf-8") for start, end in places]
        return [fields[at : at + width] for at in range(0, used, width)]

    def numbers(
        self, columns: Sequence[int], style: NumberStyle, missing: frozenset[str] = MISSING_WORDS
    ) -> Floats:
        """Return some columns as numbers (`parse_numbers`), shape (n_records, n_columns)."""
        import pyarrow as pa  # a tenth of a second, which links need not wait for

        def fields(starts: NDArray[np.int32], ends: NDArray[np.int32]) -> Any:
            text, offsets = self.text, np.append(starts, ends[-1:])
            if (starts[1:] != ends[:-1]).any():
                offsets = np.append(np.int32(0), np.cumsum(ends - starts, dtype=np.int32))
                text = text[np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], ends - starts)]
            return pa.StringArray.from_buffers(len(starts), pa.py_buffer(offsets), pa.py_buffer(text))

        starts, ends = (side[: self.n_records * self.n_fields] for side in (self.starts, self.ends))
        if (starts[1:] == ends[:-1]).all():  # of a text mostly: field follows field
            at = np.arange(len(starts)).reshape(-1, self.n_fields)[:, list(columns)]
            texts = fields(starts, ends).take(pa.array(at.ravel()))
            return parse_numbers(texts, style, missing).reshape(at.shape)
        n = self.n_fields  # of a frame, row follows row in each of its columns
        read = [parse_numbers(fields(starts[i::n], ends[i::n]), style, missing) for i in columns]
        return np.array(read).reshape(len(columns), -1).T

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

    def pack(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return the bytes of all labels in a row, and where each begins; read only."""
        return self._pool, self._offsets[: self._size + 1]

    def first_line(self, code: int) -> int:
        """Return the 1-based line on which the label with this code first appeared."""
        return int(self._lines[code])

    def _reserve(self, labels: int, n_bytes: int) -> None:
        # Room for the worst case (every field is new) before the compiled loop starts: it never has to grow.
        size, n_bytes = self._size + labels, int(self._offsets[self._size]) + n_bytes
        sizes = {"_hashes": size, "_lines": size, "_offsets": size + 1, "_pool": n_bytes}
        for name, needed in sizes.items():
            array = getattr(self, name)
            if needed > len(array):
                setattr(self, name, np.resize(array, max(needed, len(array) * 3 // 2)))
        if 2 * size > len(self._slots):
            self._slots = np.full(1 << (2 * size - 1).bit_length(), -1, dtype=np.int32)
            _rehash(self._slots, self._hashes, self._size)


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


class NumberStyle(NamedTuple):
    """How numbers are written: the decimal sign, and the sign between groups of three digits ("": none)."""

    decimal: str = "."
    thousands: str = ""

    @property
    def pattern(self) -> str:
        """Return what a finite number looks like, in the syntax of Python and of RE2 (1e999 is one)."""
        digits, mark = "[0-9]+", re.escape(self.decimal)
        if self.thousands:
            digits = f"(?:[1-9][0-9]{{0,2}}(?:{_GROUP_SIGNS[self.thousands]}[0-9]{{3}})+|[0-9]+)"
        return rf"[+-]?(?:{digits}(?:{mark}[0-9]*)?|{mark}[0-9]+)(?:[eE][+-]?[0-9]+)?"

    def number(self, text: str) -> float:
        """Return a text as a number, perhaps an infinite one; NaN if it is none in this style."""
        if not _compiled(self).fullmatch(text):
            return math.inf if _INFINITE.fullmatch(text) else math.nan
        if self.thousands:
            text = re.sub(_GROUP_SIGNS[self.thousands], "", text)
        return float(text.replace(self.decimal, "."))

    @property
    def sentence(self) -> str:
        """Return what a report says of numbers in this style."""
        sign = {" ": "blanks", "'": "apostrophes"}.get(self.thousands, self.thousands)
        between = f" and {sign} between thousands" if sign else ""
        return f"Numbers are read with a decimal {_SIGN_NAMES[self.decimal]}{between}."


PLAIN = NumberStyle()
_SIGN_NAMES = {".": "point", ",": "comma"}
_GROUP_SIGNS = {",": ",", ".": r"\.", " ": "[ \u00a0\u2009\u202f]", "'": "['\u2019]"}
#: All styles; of two that give the same numbers, the first is taken.
STYLES = tuple(NumberStyle(*signs) for signs in (".", ",", ".,", ",.", ". ", ", ", ".'", ",'"))
_compiled = functools.cache(lambda style: re.compile(style.pattern))
_INFINITE = re.compile("[+-]?inf(inity)?", re.IGNORECASE)
#: Group i + 1 is a number in style i, and in none before it.
_ANY = re.compile("|".join(f"({style.pattern})" for style in STYLES))


def find_style(columns: Iterable[Iterable[str]], decimal: str | None = None) -> NumberStyle:
    """Return how the numbers in the heads of columns are written.

    It is the plain style unless other signs are beyond doubt: 1.234 is a number with a point; 1,234 alone may be two
    numbers, so that whoever reads it asks. Of styles that contradict each other, that of most columns is taken. Columns
    that mostly hold something else do not count. With a given `decimal` sign the other sign may be between thousands.
    """
    found: list[list[str]] = []
    for column in columns:
        known = {text for text in map(str.strip, column) if text.lower() not in MISSING_WORDS}
        like = [text for text in known if _NUMBER_LIKE.fullmatch(text)]
        if 2 * len(like) > len(known):
            found.append(like)
    if decimal is None and all(map(_compiled(PLAIN).fullmatch, itertools.chain.from_iterable(found))):
        return PLAIN
    styles = [style for style in STYLES if decimal in (None, style.decimal)]
    read = [[np.array([style.number(text) for text in texts]) for texts in found] for style in styles]
    # How much of each column is a number in each style, shape (n_styles, n_columns).
    shares = np.array([[1 - np.isnan(column).mean() for column in columns] for columns in read])
    whole = shares == 1.0
    best = np.flatnonzero(whole.sum(axis=1) == whole.sum(axis=1).max())
    if decimal is None and (whole[best] != whole[best[0]]).any():
        return PLAIN  # as many columns say the one as the other
    total = shares[best].sum(axis=1)
    first, *others = best[total == total.max()].tolist()
    if decimal is not None:
        return (
            styles[first] if styles[first].thousands else NumberStyle(decimal, "," if decimal == "." else ".")
        )
    numbers = np.concatenate(read[first])
    alike = (np.array_equal(numbers, np.concatenate(read[i]), equal_nan=True) for i in others)
    return styles[first] if all(alike) else PLAIN


def check_decimal(decimal: str | None) -> None:
    """Refuse a decimal sign that is none."""
    if decimal not in (None, *_SIGN_NAMES):
        raise ParameterError(f"decimal is '.' or ',', not {decimal!r}.")


def _read_in_all(text: str) -> dict[str, float]:
    """Return the numbers that a text may be by their decimal signs."""
    read: dict[str, float] = {}
    for style in reversed(STYLES if _ANY.fullmatch(text.strip()) else ()):
        if not math.isnan(number := style.number(text.strip())):
            read[style.decimal] = number
    return read


def is_number(text: str, style: NumberStyle) -> bool:
    """Return whether a text is a number in a style, or may be two numbers in others."""
    return not math.isnan(style.number(text.strip())) or len(set(_read_in_all(text).values())) > 1


def ask_style(text: str, style: NumberStyle) -> str:
    """Return the remedy for a text that may be another number than it is in this style; "" if it may be none."""
    read = _read_in_all(text)
    if len(set(read.values())) > 1:
        told = " or ".join(f"{number:.15g} (decimal={sign!r})" for sign, number in read.items())
        return f"Say whether this is {told}."
    if not read or not math.isnan(style.number(text.strip())):
        return ""
    sign = list(read)[-1]
    return f"Say that numbers have a decimal {_SIGN_NAMES[sign]} (decimal={sign!r}), or correct the cell."


def parse_numbers(fields: Any, style: NumberStyle, missing: frozenset[str] = MISSING_WORDS) -> Floats:
    """Return Arrow strings as the doubles that float() gives: NaN for a missing one, infinity for any other text.

    `missing` holds the signs for a missing cell in lower case.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    def floats(texts: Any) -> Floats:
        return np.array(pc.cast(texts, pa.float64()).to_numpy(zero_copy_only=False))

    blank = pc.is_in(pc.utf8_lower(fields), pa.array(list(missing)))
    if style == PLAIN:
        try:
            values = floats(pc.if_else(blank, None, fields))
        except pa.ArrowInvalid:
            pass
        else:  # Arrow takes inf and -nan for numbers too
            if (np.isfinite(values) | blank.to_numpy(zero_copy_only=False)).all():
                return values
    number = pc.match_substring_regex(fields, f"^{style.pattern}$")
    texts = pc.if_else(number, fields, None)
    if style.thousands:
        texts = pc.replace_substring_regex(texts, _GROUP_SIGNS[style.thousands], "")
    known = pc.or_(number, blank).to_numpy(zero_copy_only=False)
    return np.where(known, floats(pc.replace_substring(texts, style.decimal, ".")), np.inf)


class Value(NamedTuple):
    """A cell's verdict, and its number (nan for words and missing cells)."""

    verdict: int
    number: float


def read_value(text: str, style: NumberStyle | None = None) -> Value:
    """Return what a cell says: yes / true and numbers above 0 are links.

    ILLEGAL for anything that is neither a finite number in the style (None: in any), nor a yes / no word, nor a sign
    for missing.
    """
    word = text.strip().lower()
    for verdict, words in ((MISSING, MISSING_WORDS), (LINK, YES_WORDS), (ZERO, NO_WORDS)):
        if word in words:
            return Value(verdict, math.nan)
    if style is None:
        match = _ANY.fullmatch(word)
        style = STYLES[match.lastindex - 1] if match and match.lastindex else PLAIN
    number = style.number(word)
    if not math.isfinite(number):
        return Value(ILLEGAL, math.nan)
    return Value(LINK if number > 0 else ZERO, number)


def value_kind(texts: Iterable[str]) -> str:
    """Return "0/1", "yes/no", "counts", "numbers", "missing" (nothing else) or "text"."""
    given = {text.strip().lower() for text in texts}
    # An infinite number does not make a column of numbers one of labels: whoever reads it refuses that number.
    finite = [text for text in given if not math.isinf(PLAIN.number(text))]
    values = [read_value(text) for text in finite]
    if any(value.verdict == ILLEGAL for value in values) or (given and not finite):
        return "text"
    known = [value.number for value in values if value.verdict != MISSING]
    if len(finite) < len(given):
        return "numbers"
    if not known:
        return "missing"
    if any(map(math.isnan, known)):
        return "yes/no"
    if all(number in (0.0, 1.0) for number in known):
        return "0/1"
    return "counts" if all(number >= 0 and number.is_integer() for number in known) else "numbers"


_NO_VALUE = "Correct the cell, or choose another value column."
_NO_BIT = (
    "Say which values are links: with threshold=0 every value above 0 is one. If this column holds something else, "
    "leave it out (value=False) or choose another."
)


class ValueReader:
    """Turn fields into verdicts, batch by batch: each distinct text is looked at once.

    With `only_bits` other numbers than 0 and 1 are refused.
    """

    def __init__(self, source: str, *, only_bits: bool = False, style: NumberStyle = PLAIN) -> None:
        self._source, self._only_bits, self._style = source, only_bits, style
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
        self._learn(self._table.labels(before), before, column)
        return self._verdicts[codes], self._numbers[codes]

    def _learn(self, texts: Sequence[str], before: int, column: int) -> None:
        values = [read_value(text, self._style) for text in texts]
        verdicts = np.array([value.verdict for value in values], dtype=np.uint8)
        numbers = np.array([value.number for value in values])
        illegal = verdicts == ILLEGAL
        other = self._only_bits & ~(np.isnan(numbers) | (numbers == 0) | (numbers == 1))
        if (illegal | other).any():
            bad = int((illegal | other).argmax())
            what, remedy = "this is neither 0 (no link) nor 1 (link) nor missing", _NO_BIT
            if illegal[bad]:
                what = "this is neither a number, nor yes / no, nor missing (blank, NA, NaN, ?)"
                remedy = ask_style(texts[bad], self._style) or _NO_VALUE
            line = self._table.first_line(before + bad)
            place: dict[str, Any] = {"source": self._source, "line": line, "column": column + 1}
            raise DataError(what, **place, value=texts[bad], remedy=remedy)
        self._verdicts = np.concatenate([self._verdicts, verdicts])
        self._numbers = np.concatenate([self._numbers, numbers])


def checked_threshold(threshold: float | None) -> float:
    """Return the threshold, 0 when none is given."""
    if threshold is None:
        return 0.0
    if not math.isfinite(threshold) or threshold < 0:
        # Below 0 the pairs that the file does not list would be links as well.
        raise ParameterError(f"The threshold must be a finite number of at least 0, not {threshold}.")
    return float(threshold)
