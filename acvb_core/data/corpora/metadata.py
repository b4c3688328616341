"""The further columns of documents: dates, groups, numbers or texts, as their values say or as the user chooses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.errors import DataError, ParameterError, shorten
from acvb_core.data.names import typed_column, typed_values
from acvb_core.data.report import Fact, list_first, plural
from acvb_core.data.sources.values import MISSING_WORDS

if TYPE_CHECKING:
    from acvb_core.data.corpus import Corpus

#: "none" leaves the column out.
ColumnKind = Literal["date", "group", "number", "text", "none"]
#: A column of texts with more different values than this is no group, nor one whose values hardly occur twice.
MOST_GROUPS = 50
#: A column is recognised as dates if this share of its values are.
_MOST_ARE = 0.9
#: Values of a column that are looked at before all of it is.
_FIRST = 200
_SHOWN = 5
#: Whole numbers in a column with one of these names are years.
_YEAR_NAMES = ("year", "years", "yr", "jahr", "année", "annee", "año", "anno")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_TIME = (
    r"(?:[T ,]+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.\d+)?)?\s*(?P<half>[AaPp][Mm])?"
)
_TIME += r"\s*(?:Z|UTC|GMT|[+-]\d{2}:?\d{2})?)?"
_MONTH = r"(?P<name>[A-Za-z]{3,9})\.?"
#: Forms of a date; in that of `left` and `right`, one is the day and the other the month.
_FORMS = tuple(
    re.compile(form + _TIME, re.ASCII)
    for form in (
        r"(?P<year>\d{4})[-/.](?P<month>\d{1,2})(?:[-/.](?P<day>\d{1,2}))?",
        r"(?P<left>\d{1,2})(?P<mark>[-/.])(?P<right>\d{1,2})[-/.](?P<year>\d{4}|\d{2})",
        r"(?:[A-Za-z]{3,9},?\s+)?(?P<day>\d{1,2})\.?[\s-]+" + _MONTH + r"[\s-]+(?P<year>\d{4})",
        _MONTH + r"\s+(?:(?P<day>\d{1,2})(?:st|nd|rd|th)?,?\s+)?(?P<year>\d{4})",
        r"(?P<year>\d{4})[\s-]*[Qq](?P<quarter>[1-4])",
    )
)
#: Forms that are dates only if the user says so, or the name of the column does.
_NUMBERS = tuple(
    re.compile(form, re.ASCII)
    for form in (r"(?P<year>\d{4})(?:\.0)?", r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})")
)


class TypedColumn(NamedTuple):
    """A column as an array, and what there is to report of it."""

    values: NDArray[Any]
    facts: tuple[Fact, ...]


def kind_of_column(column: NDArray[Any]) -> ColumnKind:
    """Return what a typed column is: dates, numbers, groups (a few values that come again) or texts."""
    if column.dtype.kind == "M":
        return "date"
    return "number" if column.dtype.kind in "iuf" else kind_of_strings(column.tolist())


def kind_of_strings(values: Iterable[str]) -> ColumnKind:
    """Return whether strings are groups, at most `MOST_GROUPS` values with two documents each on average, or texts."""
    different: set[str] = set()
    n_known = 0
    for value in values:
        if stripped := value.strip():
            n_known += 1
            if len(different) <= MOST_GROUPS:
                different.add(stripped)
    return "group" if len(different) <= min(MOST_GROUPS, n_known / 2) else "text"


def read_kinds(given: Mapping[str, str] | Iterable[str] | None) -> dict[str, str]:
    """Return the kinds of columns that the user chose, given as a mapping or as texts "column=kind".

    Raises ParameterError: one is no kind.
    """
    pairs = given.items() if isinstance(given, Mapping) else [_split(text) for text in given or ()]
    found = dict(pairs)
    for kind in found.values():
        if kind not in get_args(ColumnKind):
            raise ParameterError(
                f"{kind!r} is no kind of a column; choose {', '.join(get_args(ColumnKind))}."
            )
    return found


def check_columns(kinds: Collection[str], columns: Collection[str], source: str) -> None:
    """Raise DataError if there is no column for one of the kinds that the user chose."""
    for name in kinds:
        if name not in columns:
            remedy = f"Choose among {', '.join(map(repr, columns))}." if columns else "The file has none."
            raise DataError("no further column has this name", source=source, value=name, remedy=remedy)


def _split(text: str) -> tuple[str, str]:
    name, mark, kind = text.rpartition("=")
    if not mark:
        raise ParameterError(f"{text!r} does not say what the column is; write it as created=date.")
    return name.strip(), kind.strip()


def type_columns(
    columns: Mapping[str, Sequence[str]],
    kinds: Mapping[str, str] | Iterable[str] | None = None,
    source: str = "",
) -> tuple[dict[str, NDArray[Any]], list[Fact]]:
    """Return columns of strings as typed arrays, without those left out, and the facts about them.

    `kinds`: those that the user chose, by column; the others are recognised.
    """
    chosen = read_kinds(kinds)
    check_columns(chosen, columns, source)
    typed = {
        name: type_column(name, values, chosen.get(name), source)
        for name, values in columns.items()
        if chosen.get(name) != "none"
    }
    facts = [fact for column in typed.values() for fact in column.facts]
    found = {name: column.values for name, column in typed.items()}
    return found, [*kind_facts({name: kind_of_column(column) for name, column in found.items()}), *facts]


def kind_facts(kinds: Mapping[str, ColumnKind]) -> list[Fact]:
    """Return the fact about what columns are kept as, and the one about those that are no groups."""
    if not kinds:
        return []
    shown = list_first([f"{shorten(name, 40)} ({kind})" for name, kind in kinds.items()], 12)
    told = f"{plural(len(kinds), 'other column is', 'other columns are')} kept: {shown}."
    facts = [Fact("kept_columns", len(kinds), told, {"kinds": dict(kinds)})]
    texts = [name for name, kind in kinds.items() if kind == "text"]
    if texts:
        which = f"The column {texts[0]!r} is" if len(texts) == 1 else f"The columns {list_first(texts)} are"
        why = f"more than {MOST_GROUPS} different values, or hardly any that occurs twice"
        facts.append(Fact("no_groups", len(texts), f"{which} kept as text and not as groups: {why}."))
    return facts


def type_column(name: str, values: Sequence[str], kind: str | None = None, source: str = "") -> TypedColumn:
    """Return a column of strings as an array of its kind, which is recognised unless it is given."""
    if kind in ("group", "text"):
        return TypedColumn(typed_values(values, "string"), ())
    if kind in ("number", "date"):
        is_number = kind == "number"
        read = _read_numbers(name, values) if is_number else _read_dates(name, values, (*_FORMS, *_NUMBERS))
        first = next((value for value in values if not _is_missing(value)), None)
        if first is not None and not np.isfinite(read.values).any():
            what = f"no value of the column {name!r} is a {kind}"
            raise DataError(what, source=source, value=first, remedy="Choose another kind for this column.")
        return read
    typed = typed_column(values)
    if kind is None and typed.dtype.kind == "O" and looks_like_dates(values[:_FIRST]):
        dates = _read_dates(name, values, _FORMS)
        known = sum(not _is_missing(value) for value in values)
        if np.isfinite(dates.values).sum() >= _MOST_ARE * known:
            return dates
    return TypedColumn(typed, ())


def are_years(name: str, numbers: NDArray[np.floating]) -> bool:
    """Return whether a column of numbers is called years, and has nothing else."""
    known = numbers[np.isfinite(numbers)]
    is_called = name.strip().lower() in _YEAR_NAMES
    return is_called and bool(
        len(known) and ((known == np.floor(known)) & (known >= 1000) & (known < 2200)).all()
    )


def looks_like_dates(values: Sequence[str]) -> bool:
    """Return whether most of some values are dates in one of many forms."""
    known = [value.strip() for value in values if not _is_missing(value)]
    are = sum(_match(value, _FORMS) is not None for value in known)
    return bool(known) and are >= _MOST_ARE * len(known)


def _is_missing(value: str) -> bool:
    stripped = value.strip().lower()
    return not stripped or stripped in MISSING_WORDS


def _match(value: str, forms: Sequence[re.Pattern[str]]) -> dict[str, Any] | None:
    for form in forms:
        if (match := form.fullmatch(value)) is not None:
            return match.groupdict()
    return None


def _read_dates(name: str, values: Sequence[str], forms: Sequence[re.Pattern[str]]) -> TypedColumn:
    """Return dates in days, or µs if some have a time; values that are none are missing (NaT) and reported."""
    texts = [value.strip() for value in values]
    parts = {text: _match(text, forms) for text in dict.fromkeys(texts) if not _is_missing(text)}
    day_first, assumed = _choose_order([part for part in parts.values() if part and part.get("left")])
    dates = {text: None if part is None else _write_date(part, day_first) for text, part in parts.items()}
    has_time = any(date is not None and len(date) > 10 for date in dates.values())
    unit = "us" if has_time else "D"
    found = np.array([dates.get(text) or "NaT" for text in texts], dtype=f"datetime64[{unit}]")
    unread = [text for text in texts if text in dates and dates[text] is None]
    facts = _tell_unread("unread_dates", name, unread, "no date")
    if assumed:
        sentence = f"Dates such as {assumed} in the column {name!r} are read day first."
        facts = (*facts, Fact("day_first", 1, sentence, {"column": name}))
    return TypedColumn(found, facts)


def _tell_unread(fact: str, name: str, unread: Sequence[str], what: str) -> tuple[Fact, ...]:
    if not unread:
        return ()
    first = list(dict.fromkeys(unread))[:_SHOWN]
    shown = ", ".join(repr(shorten(value, 30)) for value in first)
    sentence = f"{plural(len(unread), 'value')} of the column {name!r} {'is' if len(unread) == 1 else 'are'} {what}: "
    return (
        Fact(fact, len(unread), f"{sentence}taken as missing ({shown}).", {"column": name, "first": first}),
    )


def _choose_order(parts: Sequence[Mapping[str, Any]]) -> tuple[bool, str]:
    """Return whether dates such as 3/4/2023 have the day first, and one of them if their values do not show it."""
    votes = Counter[bool]()
    for part in parts:
        first, second = int(part["left"]), int(part["right"])
        if part["mark"] == "." or first > 12:
            votes[True] += 1
        elif second > 12:
            votes[False] += 1
    if votes or not parts:
        return votes[True] >= votes[False], ""
    example = parts[0]
    return True, "{left}{mark}{right}{mark}{year}".format(**example)


def _write_date(part: Mapping[str, Any], day_first: bool) -> str | None:
    """Return the parts of a date in the form of ISO 8601; None if there is no such day."""
    month, day = part.get("month"), part.get("day")
    if part.get("left"):
        day, month = (part["left"], part["right"]) if day_first else (part["right"], part["left"])
    elif part.get("quarter"):
        month = 3 * int(part["quarter"]) - 2
    elif part.get("name"):
        beginning = part["name"][:3].lower()
        if beginning not in _MONTHS:
            return None
        month = _MONTHS.index(beginning) + 1
    year = int(part["year"])
    if len(part["year"]) == 2:
        year += 1900 if year >= 70 else 2000
    text = f"{year:04}-{int(month or 1):02}-{int(day or 1):02}"
    if part.get("hour"):
        hour, half = int(part["hour"]), (part.get("half") or "").lower()
        hour = hour % 12 + 12 * (half == "pm") if half else hour
        text += f"T{hour:02}:{part['minute']}:{part.get('second') or '00'}"
    try:
        np.datetime64(text)
    except ValueError:  # such as February 30
        return None
    return text


def _read_numbers(name: str, values: Sequence[str]) -> TypedColumn:
    """Return numbers; values that are none are missing (NaN) and reported."""
    found = np.full(len(values), np.nan)
    unread = []
    for at, value in enumerate(values):
        if _is_missing(value):
            continue
        try:
            found[at] = float(value)
        except ValueError:
            unread.append(value.strip())
    whole = not len(found) or bool(
        (np.isfinite(found) & (found == np.floor(found)) & (abs(found) < 2**53)).all()
    )
    return TypedColumn(
        found.astype(np.int64) if whole else found, _tell_unread("unread_numbers", name, unread, "no number")
    )


class Column(NamedTuple):
    """A column of the documents of a corpus, as they can be compared by it."""

    kind: str  #: "date", "group" or "number"
    values: NDArray[Any]  #: datetime64, str (object; "" is missing) or float64, shape (D,)

    @property
    def known(self) -> NDArray[np.bool_]:
        """The documents with a value."""
        if self.kind == "group":
            return np.array([value != "" for value in self.values], dtype=np.bool_)
        return np.isfinite(self.values)


#: Name of the known labels if their column has none.
_LABEL = "label"


def _name_columns(corpus: Corpus) -> dict[str, NDArray[Any]]:
    """Return the labels and the further columns of the documents, by names that all differ."""
    columns = {} if corpus.labels is None else {corpus.label_name or _LABEL: corpus.labels}
    return columns | {
        f"{name} (column)" if name in columns else name: of for name, of in corpus.metadata.items()
    }


def list_columns(corpus: Corpus) -> dict[str, Column]:
    """Return the columns of a corpus with two different values at least, by name: dates, groups, then numbers."""
    found = {}
    for name, values in _name_columns(corpus).items():
        kind = kind_of_column(values)
        if kind == "text":
            continue
        if kind == "group":
            values = _strip(values)
        if kind == "number":
            values = values.astype(np.float64)
            if are_years(name, values):
                kind, values = "date", _date_years(values)
        column = Column(kind, values)
        if len(np.unique(values[column.known])) > 1:
            found[name] = column
    return dict(sorted(found.items(), key=lambda item: item[1].kind))


def _strip(values: NDArray[Any]) -> NDArray[np.object_]:
    return np.array([value.strip() for value in values], dtype=object)


def _date_years(years: NDArray[np.float64]) -> NDArray[np.datetime64]:
    """Return the first days of years; NaT for NaN."""
    dates = np.full(len(years), "NaT", dtype="datetime64[D]")
    known = np.isfinite(years)
    dates[known] = (years[known].astype(np.int64) - 1970).astype("datetime64[Y]").astype("datetime64[D]")
    return dates


def list_groups(corpus: Corpus) -> dict[str, list[str]]:
    """Return the groups of the documents by the name of their column, in order."""
    columns = {name: column for name, column in list_columns(corpus).items() if column.kind == "group"}
    return {name: np.unique(of[of != ""]).tolist() for name, (_, of) in columns.items()}


def take_groups(corpus: Corpus, groups: Iterable[tuple[str, str]]) -> Corpus:
    """Return the documents that are in all of some groups, each given by its column and its name."""
    for column, group in groups:
        corpus = corpus.take_documents(np.flatnonzero(are_in(corpus, column, group)))
    return corpus


def are_in(corpus: Corpus, column: str, group: str) -> NDArray[np.bool_]:
    """Return which documents are in a group, shape (D,)."""
    return np.asarray(_strip(_name_columns(corpus)[column]) == group, dtype=np.bool_)
