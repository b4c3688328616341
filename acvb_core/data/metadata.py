"""Metadata of objects beside their data: columns of numbers, dates or strings, one value for each object."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.errors import DataError
from acvb_core.data.names import mend_text
from acvb_core.data.sources.values import MISSING_WORDS

Kind = Literal["integer", "number", "day", "time", "string"]

# 007 is a name, and more digits than these are an id that a float would round.
_WHOLE = r"[+-]?(0|[1-9]\d{0,14})"
_DAY = r"\d{4}[-/]\d{2}[-/]\d{2}"
_PATTERNS: dict[Kind, re.Pattern[str]] = {
    "integer": re.compile(_WHOLE, re.ASCII),
    "number": re.compile(rf"({_WHOLE}(\.\d*)?|[+-]?\.\d+)([eE][+-]?\d{{1,3}})?", re.ASCII),
    # Midnight throughout: these are dates that went through a library which knows times only.
    "day": re.compile(rf"{_DAY}([T ]00:00(:00(\.0{{1,9}})?)?Z?)?", re.ASCII),
    "time": re.compile(rf"{_DAY}([T ]\d{{2}}:\d{{2}}(:\d{{2}}(\.\d{{1,9}})?)?Z?)?", re.ASCII),
}
#: For each kind of date: its unit, and how many characters of a value it takes.
_UNITS = {"day": ("D", 10), "time": ("us", 26)}


class KindGuess:
    """Find out what the strings of a column are, some at a time; blank, NA, NaN, … are missing values."""

    def __init__(self) -> None:
        self._left: list[Kind] = list(_PATTERNS)
        self._any = False

    def add(self, values: Sequence[str]) -> None:
        """Look at some values."""
        known = [value for value in map(_strip_known, values) if value]
        self._any = self._any or bool(known)
        self._left = [
            kind
            for kind in self._left
            if all(map(_PATTERNS[kind].fullmatch, known))
            and not (kind == "integer" and len(known) < len(values))
            and (kind not in _UNITS or _are_dates(known, kind))
        ]

    @property
    def kind(self) -> Kind:
        """The narrowest kind that all values have."""
        return self._left[0] if self._left and self._any else "string"


def _are_dates(values: Sequence[str], kind: Kind) -> bool:
    try:
        typed_values(values, kind)
    except ValueError:  # such as February 30
        return False
    return True


def typed_values(values: Sequence[str], kind: Kind) -> NDArray[Any]:
    """Return strings as an array: int64, float64 (NaN: missing), datetime64 in days or µs (NaT), or objects of str."""
    if kind == "string":
        found = np.empty(len(values), dtype=object)
        found[:] = values
        return found
    stripped = [_strip_known(value) for value in values]
    if kind == "integer":
        return np.array([int(value) for value in stripped], dtype=np.int64)
    if kind == "number":
        return np.array([float(value or "nan") for value in stripped], dtype=np.float64)
    unit, length = _UNITS[kind]
    dates = [value.removesuffix("Z")[:length].replace("/", "-") or "NaT" for value in stripped]
    return np.array(dates, dtype=f"datetime64[{unit}]")


def _strip_known(value: str) -> str:
    """Return a value without the blanks around it, "" where it is missing."""
    stripped = value.strip()
    return "" if stripped.lower() in MISSING_WORDS else stripped


def typed_column(values: Sequence[str]) -> NDArray[Any]:
    """Return strings as an array of what they are (`typed_values`)."""
    guess = KindGuess()
    guess.add(values)
    return typed_values(values, guess.kind)


def kind_of(column: NDArray[Any]) -> Kind:
    """Return what the values of a typed column are."""
    if column.dtype.kind == "M":
        return "day" if np.datetime_data(column.dtype)[0] == "D" else "time"
    kinds: dict[str, Kind] = {"i": "integer", "f": "number"}
    return kinds.get(column.dtype.kind, "string")


def string_values(column: NDArray[Any]) -> list[str]:
    """Return the values of a typed column as strings that `typed_values` reads back; "" for missing."""
    if column.dtype.kind == "M":
        return ["" if text == "NaT" else text for text in np.datetime_as_string(column).tolist()]
    if column.dtype.kind == "f":
        return ["" if value != value else repr(value) for value in column.tolist()]
    return [str(value) for value in column.tolist()]


def check_metadata(metadata: Mapping[str, Any] | None, n: int, source: str) -> dict[str, NDArray[Any]]:
    """Return columns as typed arrays of `n` values each; a DataError refuses more or fewer.

    Whole numbers become int64, other numbers float64, dates datetime64 in days or µs, all else strings (None and NaN
    among them: "").
    """
    found = {mend_text(str(name)): _type_column(values) for name, values in (metadata or {}).items()}
    for name, column in found.items():
        if column.shape != (n,):
            what = f"the column {name!r} has the shape {column.shape} for {n:,} documents"
            raise DataError(what, source=source, remedy="Give one value for each document.")
    return found


def _type_column(values: Any) -> NDArray[Any]:
    array = np.asarray(values)
    if array.dtype.kind == "M":
        return array if np.datetime_data(array.dtype)[0] == "D" else array.astype("datetime64[us]")
    if array.dtype.kind in "iuf":
        return array.astype(np.float64 if array.dtype.kind == "f" else np.int64)
    found = np.empty(array.shape, dtype=object)
    found.flat[:] = [
        "" if value is None or value != value else mend_text(str(value)) for value in array.ravel().tolist()
    ]
    return found
