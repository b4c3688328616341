"""Columns beside the documents of a corpus on disk: written as strings, typed once all are known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.corpora.disk_spool import StringFile, StringWriter
from acvb_core.data.metadata import Kind, KindGuess, kind_of, string_values, typed_values

_AT_ONCE = 1 << 14


class ColumnWriter:
    """Append the values of one column.

    Parameters
    ----------
    folder : Path
    number : int
        Place of the column among all, which names its files.
    """

    def __init__(self, folder: Path, number: int) -> None:
        self._folder, self._stem = folder, _stem(number)
        self._strings = StringWriter(folder, self._stem)
        self._guess = KindGuess()
        self._kinds: set[Kind] = set()

    def __len__(self) -> int:
        return len(self._strings)

    def extend(self, values: Sequence[str] | NDArray[Any]) -> None:
        """Append values: strings that are still to be typed, or a typed array."""
        if isinstance(values, np.ndarray):
            self._kinds.add(kind_of(values))
            values = string_values(values)
        else:
            self._guess.add(values)
        self._strings.extend(values)

    def abandon(self) -> None:
        """Close the file and remove what was written."""
        self._strings.abandon()

    def close(self) -> Kind:
        """Write the values as what they are, and return that."""
        self._strings.close()
        kind = _common_kind(self._kinds) if self._kinds else self._guess.kind
        if kind == "string":
            return kind
        given = StringFile(self._folder, self._stem)
        typed = None
        for begin in range(0, len(self), _AT_ONCE):
            values = typed_values(given.between(begin, min(begin + _AT_ONCE, len(self))), kind)
            if typed is None:
                path = self._folder / f"{self._stem}-{kind}.npy"
                typed = np.lib.format.open_memmap(path, "w+", values.dtype, (len(self),))
            typed[begin : begin + len(values)] = values
        self._strings.abandon()
        return kind


def read_column(folder: Path, number: int, kind: Kind, chosen: NDArray[np.int64]) -> NDArray[Any]:
    """Return the values of chosen documents, as `typed_values` types them."""
    if kind == "string":
        return typed_values(StringFile(folder, _stem(number)).at(chosen), kind)
    values = np.load(folder / f"{_stem(number)}-{kind}.npy", mmap_mode="r", allow_pickle=False)
    return np.array(values[chosen])


def _common_kind(kinds: set[Kind]) -> Kind:
    """Return the kind that holds the values of several."""
    if len(kinds) == 1:
        return next(iter(kinds))
    if kinds == {"integer", "number"}:
        return "number"
    return "time" if kinds == {"day", "time"} else "string"


def _stem(number: int) -> str:
    return f"column-{number}"
