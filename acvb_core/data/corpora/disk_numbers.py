"""Columns of whole numbers of any length: parsed where they lie, nothing is remembered."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from acvb_core.data.corpora.counts import whole_number
from acvb_core.data.corpora.disk_broken import Broken
from acvb_core.data.sources.records import RecordBatch
from acvb_core.errors import DataError


class NumberColumn(NamedTuple):
    """A column of whole numbers.

    Attributes
    ----------
    column : int
        0-based.
    what : str
        What the number is, for messages ("count", "document id").
    low, high : int
        Inclusive range.
    remedy : str
        What to do about a number outside it.
    """

    column: int
    what: str
    low: int
    high: int
    remedy: str

    def read(
        self, batch: RecordBatch, source: str, broken: Broken, good: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Return each record's number; records whose number is broken are no longer `good`.

        Raises
        ------
        DataError
            A field of a good record is no whole number or out of range, and broken lines are refused.
        """
        found = np.zeros(batch.n_records, dtype=np.int64)
        fields = batch.text, batch.starts, batch.ends, batch.n_fields, self.column
        at = int(_parse(*fields, self.low, self.high, 0, found))
        while at < batch.n_records:
            if good[at]:
                try:
                    found[at] = whole_number(
                        batch.field(at, self.column), *self[1:], self._place(batch, source, at)
                    )
                except DataError as fault:
                    broken(fault)
                    good[at] = False
            at = int(_parse(*fields, self.low, self.high, at + 1, found))
        return found

    def _place(self, batch: RecordBatch, source: str, record: int) -> dict[str, Any]:
        return {"source": source, "line": int(batch.lines[record]), "column": self.column + 1}


def refuse_blank(
    batch: RecordBatch, column: int, what: str, source: str, broken: Broken, good: NDArray[np.bool_]
) -> None:
    """Take records whose field is blank out of the good ones, or raise DataError where such are refused."""
    for at in np.flatnonzero(batch.blank(column) & good).tolist():
        broken(
            DataError(
                f"the {what} is blank",
                source=source,
                line=int(batch.lines[at]),
                column=column + 1,
                remedy=f"Name the {what}, or remove the line.",
            )
        )
        good[at] = False


def chosen_records(batch: RecordBatch, chosen: NDArray[np.bool_]) -> RecordBatch:
    """Return some of a batch's records."""
    if chosen.all():
        return batch
    used = batch.n_records * batch.n_fields
    starts, ends = (
        np.ascontiguousarray(side[:used].reshape(-1, batch.n_fields)[chosen]).ravel()
        for side in (batch.starts, batch.ends)
    )
    return RecordBatch(batch.text, starts, ends, batch.lines[chosen], batch.n_fields)


@njit(nogil=True, cache=True)
def _parse(
    text: Any, starts: Any, ends: Any, n_fields: Any, column: Any, low: Any, high: Any, begin: Any, found: Any
) -> Any:
    """Parse the plain numbers of a column from record `begin` on; return the first record that is none, or n."""
    for record in range(begin, found.shape[0]):
        at = record * n_fields + column
        place = starts[at]
        end = ends[at]
        number = 0
        digits = 0
        while place < end and digits < 16 and 48 <= text[place] <= 57:
            number = number * 10 + (text[place] - 48)
            digits += 1
            place += 1
        if digits > 0 and place < end and text[place] == 46:  # 3.0 is 3
            place += 1
            while place < end and text[place] == 48:
                place += 1
        if digits == 0 or digits > 15 or place < end or number < low or number > high:
            return record
        found[record] = number
    return found.shape[0]
