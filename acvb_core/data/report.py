"""Reports of what a reader found and did: a list of structured facts, each with its sentence."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import wraps
from itertools import islice
from typing import Any, Generic, TypeVar

from acvb_core.core.errors import shorten
from acvb_core.data.schema import Schema

#: Facts by which data differ from what was given, and the options of a reader that ask for it.
_CHANGES: dict[str, tuple[str, ...]] = {
    "values": ("threshold",),
    "negative": ("threshold",),
    "duplicates": (),
    "repeated_pairs": (),
    "known_over_missing": (),
    "one_way": ("directed",),
    "denied_one_way": ("directed",),
    "known_one_way": ("directed",),
    "undirected_as_directed": (),
    "self_links_left_out": ("self_links",),
    "unused_columns": (
        *("row_column", "column_column", "value_column", "source", "target", "value"),
        *("text_column", "document_column", "word_column", "text", "document", "word"),
    ),
    "other_sheets": ("sheet",),
    "other_files": (),
    "title_lines": (),
    "merged_cells": (),
    "renamed_documents": (),
    "unknown_names": (),
    "unread_dates": ("column_kinds",),
    "unread_numbers": ("column_kinds",),
}
_PACKAGE = __name__.partition(".")[0]
Data = TypeVar("Data")
_Reader = TypeVar("_Reader", bound=Callable[..., Any])


class DataChangedWarning(UserWarning):
    """Reading changed the data: values became links, equal lines were merged, columns were left out, or the like.

    The report of the data (`Result.report`, or `report` of what was loaded) has all of it. An option that asks for a
    change, such as threshold=0, is not warned of.
    """


@dataclass(frozen=True)
class Fact:
    """One thing a reader found or did."""

    name: str  # a stable key ("links", "duplicates", …) for programs
    count: int  # how many lines, pairs or objects it concerns
    sentence: str  # the same for people, with a full stop
    details: Mapping[str, Any] = field(default_factory=dict)  # JSON-able, such as the threshold that was used


#: Sentences of a report that are printed, and facts that are taken from elsewhere.
_SHOWN, _MOST_FACTS = 4, 1_000


@dataclass(frozen=True, repr=False)
class ReadReport:
    """Everything a reader found, merged or set aside, in the order it should be told."""

    source: str
    facts: tuple[Fact, ...]
    #: Options that the reader was given, by which the same file gives the same data again.
    options: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __repr__(self) -> str:
        return "\n".join([f"ReadReport of {self.source}:", *self._describe()])

    def _describe(self) -> list[str]:
        """Return the first sentences, indented, and how many follow."""
        lines = [f"  {shorten(line, 120)}" for line in self.lines()]
        if len(lines) > _SHOWN:
            lines[_SHOWN - 1 :] = [f"  … {len(lines) - _SHOWN + 1} more"]
        return lines

    def lines(self) -> list[str]:
        """Return one plain sentence for each fact."""
        return [fact.sentence for fact in self.facts]

    def count(self, name: str) -> int:
        """Return the count of the fact called `name`, 0 when there is no such fact."""
        return sum(fact.count for fact in self.facts if fact.name == name)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-able values, without options that are none."""
        facts = [asdict(fact) for fact in self.facts]
        options = {name: value for name, value in self.options.items() if _is_plain(value)}
        return {"source": self.source, "facts": facts, "options": options}

    @classmethod
    def from_dict(cls, given: Any) -> ReadReport | None:
        """Return the report that `to_dict` gave, without details of facts; None for anything else."""
        try:
            facts = [(str(one["name"]), int(one["count"]), str(one["sentence"])) for one in given["facts"]]
            # Options become a part of Python that people run.
            options = {
                name: value
                for name, value in given.get("options", {}).items()
                if name.isidentifier() and _is_plain(value)
            }
            return cls(str(given["source"]), tuple(Fact(*one) for one in facts[:_MOST_FACTS]), options)
        except (AttributeError, KeyError, TypeError, ValueError):
            return None


@dataclass(frozen=True, eq=False, repr=False)
class LoadedData(Generic[Data]):
    """Data, what reading them found, and how the source was understood."""

    data: Data
    report: ReadReport
    schema: Schema | None = None

    def __repr__(self) -> str:
        return "\n".join([f"{type(self).__name__}({self.data!r})", *self.report._describe()])


def warn_of_changes(report: ReadReport, asked: Iterable[str] = ()) -> None:
    """Issue a `DataChangedWarning`, at the line that called this package, if reading changed the data.

    `asked`: the options that were given; what one of them asks for is no surprise.
    """
    chosen = set(asked)
    told = [
        fact.sentence
        for fact in report.facts
        if fact.name in _CHANGES and chosen.isdisjoint(_CHANGES[fact.name])
    ]
    if told:
        frame, level = sys._getframe(), 1
        while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_PACKAGE):
            frame, level = frame.f_back, level + 1
        message = f"{report.source}: reading changed the data. {' '.join(told)}"
        warnings.warn(message, DataChangedWarning, stacklevel=level)


def warning_of_changes(read: _Reader) -> _Reader:
    """Return a function that reads, as users call it: it warns of what it changed (`warn_of_changes`)."""

    @wraps(read)
    def read_and_warn(*given: Any, **options: Any) -> Any:
        loaded = read(*given, **options)
        chosen = {name: value for name, value in options.items() if value is not None}
        warn_of_changes(loaded.report, chosen)
        if not isinstance(loaded, LoadedData):
            return loaded
        chosen.pop("filename", None)  # the report has it
        return replace(loaded, report=replace(loaded.report, options=chosen))

    return read_and_warn  # type: ignore[return-value]


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return isinstance(value, str | int | float)


def take_apart(given: Any) -> tuple[Any, ReadReport | None]:
    """Return the data and the report of what `load_sample`, `load_relation` and the like return.

    Anything else comes back as it is, without a report.
    """
    return (given.data, given.report) if isinstance(given, LoadedData) else (given, None)


def plural(count: int, one: str, many: str | None = None) -> str:
    """Return "1 line" or "2,000 lines"."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def list_first(names: Collection[str], most: int = 5) -> str:
    """Return the first names, with … for those that are left out."""
    return ", ".join(islice(names, most)) + (", …" if len(names) > most else "")


def tell_count(name: str, n: int, sentence: str, **details: Any) -> list[Fact]:
    """Return a fact about `n` things, none if there are none; "{thing is|things are}" becomes their number.

    The sentence holds no text of a user, which may have braces.

    >>> tell_count("blank_lines", 2, "{blank line}: skipped.")[0].sentence
    '2 blank lines: skipped.'
    """
    told = re.sub(r"\{(.*?)(?:\|(.*?))?\}", lambda words: plural(n, words[1], words[2]), sentence)
    return [Fact(name, n, told, details)] if n else []
