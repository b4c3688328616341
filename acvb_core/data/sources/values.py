"""What a value in a cell means: a link, an observed 0, missing, or nothing that can be read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.sources.label_table import LabelTable
from acvb_core.data.sources.records import RecordBatch
from acvb_core.errors import DataError, ParameterError

ZERO, LINK, MISSING, ILLEGAL = range(4)

YES_WORDS = {"y", "yes", "t", "true"}
NO_WORDS = {"n", "no", "f", "false"}
MISSING_WORDS = frozenset({"", "?", "na", "n/a", "nan", "null"})

_MAX_REMEMBERED = (
    100_000  # distinct values kept at a time; more means continuous numbers, which do not repeat
)


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


def value_kind(texts: Iterable[str]) -> str:
    """Return "0/1", "yes/no", "counts", "numbers", "missing" (nothing else) or "text"."""
    values = [read_value(text) for text in texts]
    if any(value.verdict == ILLEGAL for value in values):
        return "text"
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
    """What the numbers of a file look like as a whole.

    Attributes
    ----------
    threshold : float
    lowest, highest : float
        Smallest and largest number so far (inf, -inf when there is none).
    whole : bool
        Every number so far is a whole number.
    """

    threshold: float
    lowest: float = math.inf
    highest: float = -math.inf
    whole: bool = True

    @property
    def counts(self) -> bool:
        """Whether the numbers are counts: whole, none negative and one above 1."""
        return self.whole and self.lowest >= 0 and self.highest > 1

    def observe(self, numbers: NDArray[np.float64]) -> None:
        """Take note of some numbers; nan is passed over."""
        real = numbers[~np.isnan(numbers)]
        if len(real):
            self.lowest = min(self.lowest, float(real.min()))
            self.highest = max(self.highest, float(real.max()))
            self.whole = self.whole and bool((real == np.floor(real)).all())


class ValueReader:
    """Turn fields into verdicts, batch by batch: each distinct text is looked at once."""

    def __init__(self, threshold: float | None, source: str) -> None:
        self.summary = ValueSummary(checked_threshold(threshold))
        self._source = source
        self._table = LabelTable()
        self._verdicts: NDArray[np.uint8] = np.empty(0, dtype=np.uint8)
        self._numbers: NDArray[np.float64] = np.empty(0)

    def read(self, batch: RecordBatch, column: int) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
        """Return each record's verdict and number (nan where it is none).

        Raises
        ------
        DataError
            A field is no value; names its line and field.
        """
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
        self._verdicts = np.concatenate([self._verdicts, verdicts])
        self._numbers = np.concatenate([self._numbers, numbers])
        self.summary.observe(numbers)


def illegal_value(text: str, source: str, line: int, column: int) -> DataError:
    """Return the error for a cell that holds no value."""
    return DataError(
        "this is neither a number, nor yes / no, nor missing (blank, NA, NaN, ?)",
        source=source,
        line=line,
        column=column,
        value=text,
        remedy="Correct the cell (with a decimal point, not a comma), or choose another value column.",
    )


def checked_threshold(threshold: float | None) -> float:
    """Return the threshold, 0 when none is given."""
    if threshold is None:
        return 0.0
    if not math.isfinite(threshold) or threshold < 0:
        # Below 0 the pairs that the file does not list would be links as well.
        raise ParameterError(f"The threshold must be a finite number of at least 0, not {threshold}.")
    return float(threshold)
