"""Names of objects: strings, one each, none twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acvb_core.core.errors import DataError

Test = Callable[[str], bool]


#: Half of a surrogate pair, in words: JSON can say it, and no file can be written with it.
HALF_LETTER = "half of a letter (an escape such as \\ud83d without the other half)"


def mend_text(text: str) -> str:
    """Return text that can be written to any file: half of a surrogate pair becomes its escape in JSON."""
    if is_text(text):
        return text
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return whole.encode(errors="backslashreplace").decode()


def text_of(value: Any) -> str:
    """Return a value as a label: 3.0 and 3 are the same, and "" stands for nothing (None, NaN, pandas' NA)."""
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
        return str(int(number)) if number.is_integer() and abs(number) < 1e15 else f"{number:.12g}"
    return str(value)


def text_array(values: ArrayLike) -> NDArray[Any]:
    """Return values as an object array of str that can be written to any file."""
    texts = list(map(str, np.asarray(values, dtype=object)))
    if not is_text("".join(texts)):
        texts = list(map(mend_text, texts))
    return np.array(texts, dtype=object)


def frame_labels(given: Any) -> tuple[list[str] | None, list[str] | None]:
    """Return what a pandas frame calls its rows and columns; None, None for anything else."""
    if not hasattr(given, "iloc") or getattr(given, "ndim", 0) != 2:
        return None, None
    return [text_of(label) for label in given.index], [text_of(label) for label in given.columns]


def unique_names(
    names: ArrayLike | None, count: int, kind: str, source: str, *, first: int = 0
) -> NDArray[Any]:
    """Return names as an object array of str; where none are given, numbers that begin with `first`.

    A DataError refuses more or fewer names than `count`, and one that is repeated. `kind` says what is named ("row",
    "word").
    """
    if names is None:
        return np.array([str(i) for i in range(first, first + count)], dtype=object)
    found = text_array(names)
    if len(found) != count:
        what = f"{len(found):,} {kind} labels were given for {count:,} {kind}s"
        raise DataError(what, source=source, remedy=f"Give one label for each {kind}.")
    if len(set(found)) < count:
        value, times = Counter(found).most_common(1)[0]
        what = f"a {kind} label stands {times} times"
        raise DataError(what, value=value, source=source, remedy=f"Give every {kind} a name of its own.")
    return found


def refuse_repeated(labels: Sequence[str], side: str, place: Callable[[int], dict[str, Any]]) -> None:
    """Refuse labels of a file of which one is blank or stands twice; `place` gives source and line of label i.

    It may give the column too. The DataError names the place of the second one, and of the first. `side` says what is
    named ("row", "column"; "object" where there is one side).
    """
    seen: dict[str, int] = {}
    noun = "label" if side == "object" else f"{side} label"
    for i, label in enumerate(labels):
        if not label:
            raise DataError(f"a {noun} is blank", **place(i), remedy=f"Give every {side} a name.")
        if label in seen:
            first = place(seen[label])
            column = f", column {first['column']:,}" if "column" in first else ""
            what = f"this {noun} already stands on line {first['line']:,}{column}"
            raise DataError(what, **place(i), value=label, remedy=f"Give every {side} a name of its own.")
        seen[label] = i


def make_unique(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return names made unique by a number appended to each that stood before, and those that had to change."""
    counted = Counter(names)
    if len(counted) == len(names):
        return list(names), []
    changed: list[str] = []
    made = number_repeated(names, lambda name: counted[name] > 1, counted.__contains__, changed)
    return list(made), changed


def number_repeated(
    names: Iterable[str], is_repeated: Test, is_taken: Test, changed: list[str]
) -> Iterator[str]:
    """Give names made unique, a number appended to each that stood before; `changed` receives those that had to change.

    `is_repeated` says whether a name may stand more than once, `is_taken` whether a new name is one of those given.
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
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_numbering(index: Any) -> bool:
    """Return whether a pandas index only counts from 0, and has no name: it names nothing."""
    import pandas as pd

    return index.nlevels == 1 and index.name is None and bool(index.equals(pd.RangeIndex(len(index))))
