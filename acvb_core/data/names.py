"""Names of objects (strings, one each, none twice), and metadata: one value for each object.

Metadata are typed columns, or further columns of a list of links that say the same of an object on every line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acvb_core.core.errors import DataError
from acvb_core.data.sources.values import MISSING_WORDS, LabelTable, RecordBatch

Test = Callable[[str], bool]


def mend_text(text: str) -> str:
    """Return text that can be written to any file: half of a surrogate pair becomes its escape in JSON."""
    if is_text(text):
        return text
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return whole.encode(errors="backslashreplace").decode()


def text_of(value: Any) -> str:
    """Return a value as a label: 3.0 and 3 are the same, and "" means nothing (None, NaN, pandas' NA)."""
    if isinstance(value, str):
        return mend_text(value)
    if value is None or type(value).__name__ in ("NAType", "NaTType", "MaskedConstant"):
        return ""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float | np.floating):
        number = float(value)
        if np.isnan(number):
            return ""
        if number.is_integer():  # from 2^53 on it may have been rounded, which `plain_ids` refuses
            return str(int(number)) if abs(number) < 2**53 else f"{number:.16e}"
        return f"{number:.12g}"
    return str(value)


def text_array(values: ArrayLike) -> NDArray[Any]:
    """Return values as an object array of str that can be written to any file; 1.0 and 1 are the same."""
    given = np.asarray(values, dtype=object)
    texts = [text_of(value) if isinstance(value, float) else str(value) for value in given]
    return np.array(texts if is_text("".join(texts)) else list(map(mend_text, texts)), dtype=object)


def unique_names(
    names: ArrayLike | None, count: int, kind: str, source: str, *, first: int = 0
) -> NDArray[Any]:
    """Return names as an object array of str; if none are given, numbers that begin with `first`.

    A DataError refuses more or fewer names than `count`, and one that is repeated. `kind` says what is named ("row",
    "word").
    """
    if names is None:
        return np.array([str(i) for i in range(first, first + count)], dtype=object)
    found = text_array(names)
    if len(found) != count:
        what = f"{len(found):,} {kind} labels were given for {count:,} {kind}s"
        raise DataError(what, source=source, remedy=f"Give one label for each {kind}.")
    for name in np.asarray(names, dtype=object).tolist():
        if isinstance(name, float) and abs(name) >= 2**53:
            raise _rounded_fault(text_of(name), {"source": source})
    if len(set(found)) < count:
        value, times = Counter(found).most_common(1)[0]
        what = f"a {kind} label occurs {times} times"
        raise DataError(what, value=value, source=source, remedy=f"Give every {kind} a name of its own.")
    return found


_WHOLE_ID = re.compile(r"-?\d+(\.0)?", re.ASCII)
_NUMBER_ID = re.compile(r"[-+]?[\d.]+([eE][-+]?\d+)?", re.ASCII)
_POWER = re.compile(r"-?\d\.(\d+)[eE]\+(\d{1,3})", re.ASCII)


def plain_ids(labels: Sequence[str], place: Callable[[int], dict[str, Any]]) -> list[str]:
    """Return ids without a .0, which a column of whole numbers gets if a cell was blank; others as they are.

    A DataError refuses an id that was rounded, as others were to the same: 1.23457E+11, or from 2^53 on. `place` gives
    source and line of label i.

    >>> plain_ids(["1.0", "1", "", "20.0"], lambda _: {}), plain_ids(["1.0", "b"], lambda _: {})
    (['1', '1', '', '20'], ['1.0', 'b'])
    """
    known = [label for label in labels if label]
    # Quick: there may be millions.
    rounded = (i for i, label in enumerate(labels) if "+" in label and _is_rounded(label))
    if (found := next(rounded, None)) is not None and all(map(_NUMBER_ID.fullmatch, known)):
        raise _rounded_fault(labels[found], place(found))
    if not any(label.endswith(".0") for label in known) or not all(map(_WHOLE_ID.fullmatch, known)):
        return list(labels)
    return [label.partition(".")[0] for label in labels]


def _is_rounded(label: str) -> bool:
    match = _POWER.fullmatch(label)
    return match is not None and (int(match[2]) > len(match[1]) or float(label) >= 2**53)


def _rounded_fault(label: str, place: dict[str, Any]) -> DataError:
    what = "this id is a rounded number, which others may be written as too"
    remedy = "Give ids as texts or whole numbers: in a spreadsheet as text, in pandas with dtype=str."
    return DataError(what, **place, value=label, remedy=remedy)


def refuse_repeated(labels: Sequence[str], side: str, place: Callable[[int], dict[str, Any]]) -> None:
    """Refuse labels of a file if one is blank or occurs twice; `place` gives source and line of label i.

    It may give the column too. The DataError names the place of the second one, and of the first. `side` says what is
    named ("row", "column"; "object" if there is one side; "word", which is its own name).
    """
    seen: dict[str, int] = {}
    noun = {"object": "label", "word": "word"}.get(side, f"{side} label")
    for i, label in enumerate(labels):
        if not label:
            remedy = "Give every word." if side == "word" else f"Give every {side} a name."
            raise DataError(f"a {noun} is blank", **place(i), remedy=remedy)
        if label in seen:
            first = place(seen[label])
            column = f", column {first['column']:,}" if "column" in first else ""
            what = f"this {noun} is already on line {first['line']:,}{column}"
            remedy = "Give every word once." if side == "word" else f"Give every {side} a name of its own."
            raise DataError(what, **place(i), value=label, remedy=remedy)
        seen[label] = i


def make_unique(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return names made unique by a number appended to each that stood before, and those that had to change."""
    counted, changed = Counter(names), list[str]()
    made = number_repeated(names, lambda name: counted[name] > 1, counted.__contains__, changed)
    return list(made), changed


def number_repeated(
    names: Iterable[str], is_repeated: Test, is_taken: Test, changed: list[str]
) -> Iterator[str]:
    """Give names made unique, a number appended to each that stood before; `changed` receives those that had to change.

    `is_repeated` says whether a name may occur more than once, `is_taken` whether a new name is one of those given.
    """
    seen: dict[str, int] = {}
    made: set[str] = set()
    for name in names:
        new = name
        if is_repeated(name):
            seen[name] = seen.get(name, 0) + 1
            if seen[name] > 1:
                while (new := f"{name} ({seen[name]})") in made or is_taken(new):
                    seen[name] += 1
                made.add(new)
                changed.append(name)
        yield new


def is_text(text: str) -> bool:
    """Return whether a text has no half of a letter in it, so that it can be written in UTF-8."""
    return re.search("[\ud800-\udfff]", text) is None


def is_numbering(index: Any) -> bool:
    """Return whether a pandas index only counts from 0, and has no name: it names nothing."""
    import pandas as pd

    return index.nlevels == 1 and index.name is None and bool(index.equals(pd.RangeIndex(len(index))))


ValueKind = Literal["integer", "number", "day", "time", "string"]
# 007 is a name, and more digits than these are an id that a float would round.
_WHOLE = r"[+-]?(0|[1-9]\d{0,14})"
_DAY = r"\d{4}[-/]\d{2}[-/]\d{2}"
_PATTERNS: dict[ValueKind, re.Pattern[str]] = {
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
        self._left: list[ValueKind] = list(_PATTERNS)
        self._any = False

    def add(self, values: Sequence[str]) -> None:
        """Look at some values."""
        known = [value for value in map(_strip_known, values) if value]
        self._any |= bool(known)
        whole = len(known) == len(values)
        self._left = [kind for kind in self._left if _fits(known, kind) and (whole or kind != "integer")]

    @property
    def kind(self) -> ValueKind:
        """The narrowest kind that all values have."""
        return self._left[0] if self._left and self._any else "string"


def _fits(values: Sequence[str], kind: ValueKind) -> bool:
    try:
        return all(map(_PATTERNS[kind].fullmatch, values)) and len(typed_values(values, kind)) >= 0
    except ValueError:  # such as February 30
        return False


def typed_values(values: Sequence[str], kind: ValueKind) -> NDArray[Any]:
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
    """Return a value without the blanks around it, "" if it is missing."""
    stripped = value.strip()
    return "" if stripped.lower() in MISSING_WORDS else stripped


def typed_column(values: Sequence[str]) -> NDArray[Any]:
    """Return strings as an array of what they are (`typed_values`)."""
    guess = KindGuess()
    guess.add(values)
    return typed_values(values, guess.kind)


def kind_of(column: NDArray[Any]) -> ValueKind:
    """Return what the values of a typed column are."""
    if column.dtype.kind == "M":
        return "day" if np.datetime_data(column.dtype)[0] == "D" else "time"
    kinds: dict[str, ValueKind] = {"i": "integer", "f": "number"}
    return kinds.get(column.dtype.kind, "string")


def string_values(column: NDArray[Any]) -> list[str]:
    """Return the values of a typed column as strings that `typed_values` reads back; "" for missing."""
    if column.dtype.kind == "M":
        return ["" if text == "NaT" else text for text in np.datetime_as_string(column).tolist()]
    return ["" if value != value else str(value) for value in column.tolist()]


def check_metadata(
    metadata: Mapping[str, Any] | None, n: int, source: str, kind: str = "document"
) -> dict[str, NDArray[Any]]:
    """Return columns as typed arrays of `n` values each; a DataError refuses more or fewer.

    Whole numbers become int64, other numbers float64, dates datetime64 in days or µs, all else strings (None and NaN
    among them: "").
    """
    found = {mend_text(str(name)): _type_column(values) for name, values in (metadata or {}).items()}
    for name, column in found.items():
        if column.shape != (n,):
            what = f"the column {name!r} has the shape {column.shape} for {n:,} {kind}s"
            raise DataError(what, source=source, remedy=f"Give one value for each {kind}.")
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


@dataclass(frozen=True)
class EndLabels:
    """A column of a list of links that says one and the same thing of an object on each of its lines."""

    column: str  #: its name
    axis: int  #: 0 if it is about the first object of a line, 1 for the second
    of: dict[str, str]  #: what it says, by the object's name


#: Further columns that are looked at, and different texts of one.
_MOST_FURTHER, _MOST_TEXTS = 20, 10_000
#: For each object there must be so many lines, on average, that repeat what a column says of it.
_LEAST_REPEATED = 0.5


class FurtherColumns:
    """Columns of a list of links that have no role: they may say something of the objects at one end."""

    def __init__(self, names: Mapping[int, str]) -> None:
        """Begin with some columns, by their position."""
        self.at = list(names)[:_MOST_FURTHER]
        self._names = names
        self._tables = {i: LabelTable() for i in self.at}
        # By column and end: the code of what was said first of each object, -1 for nothing; None: it is contradicted.
        none: NDArray[np.int32] = np.zeros(0, dtype=np.int32)
        self._said: dict[tuple[int, int], NDArray[np.int32] | None] = {
            (i, axis): none for i in self.at for axis in (0, 1)
        }
        self._n_lines = 0

    def add(self, batch: RecordBatch, ends: tuple[NDArray[np.int32], NDArray[np.int32]]) -> None:
        """Compare what the columns say with what they said before of the same objects."""
        self._n_lines += batch.n_records
        for i in self.at:
            if all(self._said[i, axis] is None for axis in (0, 1)):
                continue
            texts = self._tables[i].codes(batch, i)
            known = ~batch.blank(i)
            for axis, objects in enumerate(ends):
                said = self._said[i, axis]
                if said is not None:
                    self._said[i, axis] = _agree(said, objects[known], texts[known])
            if len(self._tables[i]) > _MOST_TEXTS:
                self._said[i, 0] = self._said[i, 1] = None

    def find_labels(self, names: Sequence[NDArray[Any]]) -> list[EndLabels]:
        """Return what the columns say of objects, where it repeats and tells some of them from others.

        `names`: of the objects of each side, by the codes of `add`.
        """
        found = []
        for (i, axis), said in self._said.items():
            if said is None or not len(said):
                continue
            codes = np.flatnonzero(said >= 0)
            different = len(np.unique(said[codes]))
            repeated = self._n_lines - len(codes) >= _LEAST_REPEATED * len(codes)
            if repeated and different > 1:
                texts = self._tables[i].labels()
                of = {str(names[axis][code]): texts[said[code]].strip() for code in codes.tolist()}
                found.append(EndLabels(self._names[i], axis, of))
        return found


def _agree(
    said: NDArray[np.int32], objects: NDArray[np.int32], texts: NDArray[np.int32]
) -> NDArray[np.int32] | None:
    """Return what is said of every object with some more lines; None if one is contradicted."""
    if len(objects) and (n := int(objects.max()) + 1) > len(said):
        said = np.concatenate([said, np.full(n - len(said), -1, dtype=np.int32)])
    new = said[objects] < 0
    said[objects[new]] = texts[new]
    return said if (said[objects] == texts).all() else None


def name_ends(
    sides: Sequence[NDArray[Any]], found: Sequence[EndLabels]
) -> tuple[list[dict[str, list[str]]], dict[str, str]]:
    """Return labels of the objects of each side from columns of a list of links, and the attribute each column gave.

    In a network columns of both ends are one attribute if they agree about all objects that are at both:
    "importer_package" and "imported_package" become "package".

    `sides`: the names of the objects of each side; of a network, whose two sides are the same, once.
    """
    ends = [[one for one in found if one.axis == axis] for axis in (0, 1)]
    labels = [{one.column: one.of for one in own} for own in ends]
    given = {one.column: one.column for one in found}
    if len(sides) == 1:
        known, given = _merge_ends(*ends)
        labels = [known]
    return [
        {name: [of.get(label, "") for label in own] for name, of in known.items()}
        for own, known in zip(sides, labels, strict=True)
    ], given


def _merge_ends(
    first: Sequence[EndLabels], second: Sequence[EndLabels]
) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """Return what columns about either end of links say of the nodes, and the attribute that each column gave."""
    labels: dict[str, dict[str, str]] = {}
    given: dict[str, str] = {}
    for one in first:
        partner = next((other for other in second if _say_the_same(one, other)), None)
        name = one.column if partner is None else _common_name(one.column, partner.column)
        labels[name] = one.of if partner is None else {**partner.of, **one.of}
        given |= {own.column: name for own in (one, partner) if own is not None}
        second = [other for other in second if other is not partner]
    for other in second:
        labels.setdefault(other.column, other.of)
        given.setdefault(other.column, other.column)
    return labels, given


def _say_the_same(one: EndLabels, other: EndLabels) -> bool:
    both = one.of.keys() & other.of.keys()
    return bool(both) and all(one.of[name] == other.of[name] for name in both)


def _common_name(one: str, other: str) -> str:
    """Return the words that two names of columns end with, or begin with; the first name if there are none."""
    words, others = (re.split(r"[\s_.:-]+", name) for name in (one, other))
    if one == other:
        return one
    if words[-1] and words[-1] == others[-1]:
        n = next((k for k, (a, b) in enumerate(zip(words[::-1], others[::-1], strict=False)) if a != b), 1)
        return " ".join(words[-max(n, 1) :])
    return words[0] if words[0] and words[0] == others[0] else one
