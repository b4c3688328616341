"""How one file of documents is read: what the user says of it, what is known of it, its lines, faults and progress."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.byte_source import ByteSource
from acvb_core.data.sources.formats import FileLayout, column_list, column_position
from acvb_core.data.sources.text_lines import MAX_TEXT, long_line_fault, open_lines

if TYPE_CHECKING:
    from acvb_core.data.corpora.text_files import CorpusSource

ColumnChoice = str | int | Literal[False] | None
#: The columns of a format, those it cannot do without first.
ROLES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "counts": (("document_column", "word_column"), ("count_column",)),
    "table": (("text_column",), ("name_column", "label_column")),
}
_SHOWN = 5
#: Share of the work that is reading; the rest is sorting and writing.
_READING = 0.9
_SECONDS = 0.25
#: Characters of a record of which some may have to be read again, when broken lines are left out.
_PATIENT_RECORD = 1 << 22
_TOO_LONG = "\0 too long\n"


class CorpusOptions(TypedDict, total=False):
    """How a file is read, in the words of `load_corpus`; what is left out is guessed."""

    format: str
    text: ColumnChoice
    document: ColumnChoice
    word: ColumnChoice
    count: ColumnChoice
    text_column: ColumnChoice
    name_column: ColumnChoice
    label_column: ColumnChoice
    document_column: ColumnChoice
    word_column: ColumnChoice
    count_column: ColumnChoice
    encoding: str | None
    delimiter: str | None
    header: Literal["auto"] | bool
    sheet: str | int | None
    table: str | None
    query: str | None


def resolve_columns(options: CorpusOptions) -> dict[str, ColumnChoice]:
    """Return the columns that were chosen by their roles; a ParameterError where one was given by both its names."""
    for name in options:
        if name not in CorpusOptions.__annotations__:
            raise TypeError(f"{name!r} is not an option of the readers of documents")
    given = cast(dict[str, ColumnChoice], options)
    found = {name: given[name] for name in given if name.endswith("_column") and given[name] is not None}
    for alias in ("text", "document", "word", "count"):
        if given.get(alias) is not None:
            if f"{alias}_column" in found:
                raise ParameterError(f"{alias} and {alias}_column are the same; give one of them.")
            found[f"{alias}_column"] = given[alias]
    return found


@dataclass(frozen=True)
class CorpusLayout(FileLayout):
    """How documents are (or would be) read; the fields of `rows` are cut.

    The encoding of a zip archive is None unless it was given: each of its files has its own. Its `rows` are the names
    and sizes of its files. Counts have a document and a word column; without a count column each line is one token. A
    table has a text column and perhaps those of names and labels.
    """

    document_column: int | None = None
    word_column: int | None = None
    count_column: int | None = None
    text_column: int | None = None
    name_column: int | None = None
    label_column: int | None = None

    @property
    def used_columns(self) -> set[int | None] | None:
        """The columns of word counts that are read."""
        used = {self.document_column, self.word_column, self.count_column}
        return used if self.format == "counts" else None

    @property
    def has_texts(self) -> bool:
        """Return whether the file holds texts, which a tokeniser cuts, and no counts."""
        return self.format in ("table", "lines", "zip")

    def with_columns(self, choices: Mapping[str, ColumnChoice]) -> CorpusLayout:
        """Return the layout with the user's columns, to which guesses give way.

        The choices are by role ("text_column", …): a header name, a 0-based position, False for none, None for a guess.
        """
        needed, optional = ROLES.get(self.format, ((), ()))
        given = {role: choice for role, choice in choices.items() if choice is not None}
        for role in given:
            if role not in (*needed, *optional):
                raise ParameterError(f"{role} does not apply: {self.filename} is read as {self.format}.")
        if not given:
            return self
        found = {role: column_position(self, choice) for role, choice in given.items()}
        for role in (*needed, *optional):
            guess = getattr(self, role)
            found.setdefault(role, None if guess in found.values() else guess)
        for role in needed:
            if found[role] is None:
                free = (at for at in range(self.n_fields) if at not in found.values())
                found[role] = next(free, None)
        used = [position for position in found.values() if position is not None]
        if len(set(used)) < len(used) or any(found[role] is None for role in needed):
            what = ", ".join(role.removesuffix("_column") for role in (*needed, *optional))
            raise DataError(
                f"{what} need a column each",
                source=self.filename,
                remedy=f"Choose different columns among {column_list(self)}.",
            )
        return replace(self, **found)  # type: ignore[arg-type]


class Reading:
    """One file that is being read.

    With `skip`, lines that cannot be read are left out and counted; otherwise the first of them is an error. `progress`
    takes the share that is done, from 0 to 1, a few times a second at most; what it raises ends the reading. What is
    read `whole` goes into memory: more than fits is refused, and errors do not offer to go on without such lines.
    """

    def __init__(
        self,
        source: CorpusSource,
        layout: CorpusLayout,
        encoding: str | None,
        *,
        skip: bool = False,
        progress: Callable[[float], None] | None = None,
        whole: bool = False,
    ) -> None:
        source.cut_short = None  # the look at the head may have met the end already
        self.source, self.layout, self.encoding = source, layout, encoding
        self.name = source.name
        self.skip, self.whole = skip, whole
        self._progress = progress
        self._size = max(source.size(), 1)
        self._next = 0.0
        self._left_out = 0
        self._first: list[DataError] = []

    @property
    def file(self) -> ByteSource:
        """The source of a format that is no columns."""
        assert isinstance(self.source, ByteSource)
        return self.source

    def fault(self, what: str, remedy: str, **place: Any) -> DataError:
        """Return the error for a fault of this file; `place` is its line, column and value."""
        return DataError(what, source=self.name, remedy=remedy, **place)

    def lines(self) -> Iterator[str]:
        """Give the lines of a text; for one that would fill the memory comes one with a NUL (`unfit_line`)."""
        lines, _ = open_lines(self.file, self.encoding, whole=self.whole)
        while line := lines.readline(MAX_TEXT):
            if len(line) < MAX_TEXT or line.endswith(("\n", "\r")):
                yield line
                continue
            while line and not line.endswith(("\n", "\r")):
                line = lines.readline(MAX_TEXT)
            yield _TOO_LONG

    def unfit_line(self, number: int, line: str) -> DataError:
        """Return the error for a line with a NUL, which stands for all that no text holds."""
        if line == _TOO_LONG:
            return long_line_fault(self.name, number)
        what = "there is a NUL byte, or one that the encoding does not allow"
        remedy = "This is not plain text: save it as text, or choose another encoding."
        return self.fault(what, remedy, line=number)

    def no_rows(self) -> DataError:
        """Return the error for a table of a header and nothing else."""
        remedy = "Load a file with data in it, or say that its first line is data."
        return self.fault("the file holds column names and no data", remedy, line=1)

    def leave_out(self, fault: DataError) -> None:
        """Count a line that cannot be read, or raise its fault."""
        if not self.skip:
            raise fault if self.whole else offer_skipping(fault)
        self._left_out += 1
        if len(self._first) < _SHOWN:
            self._first.append(fault)

    @contextmanager
    def offering(self) -> Iterator[None]:
        """Let faults through, with the offer to go on without such lines if that is possible."""
        try:
            yield
        except DataError as fault:
            raise fault if self.whole or self.skip else offer_skipping(fault) from None

    def left_out_facts(self) -> list[Fact]:
        """Return the facts about what was left out."""
        facts = []
        if self.source.cut_short is not None:
            told = f"The file ends too early ({self.source.cut_short.what}): what came before was read."
            facts.append(Fact("cut_short", 1, told))
        if self._left_out:
            what = "broken file" if self.layout.format == "zip" else "broken line"
            lines = [fault.line for fault in self._first if fault.line is not None]
            more = ", …" if self._left_out > len(lines) else ""
            where = f" ({', '.join(f'line {line:,}' for line in lines)}{more})" if lines else ""
            first = self._first[0]
            found = f", found {first.value!r}" if first.value is not None else ""
            told = f"{plural(self._left_out, what)} left out{where}; the first: {first.what}{found}."
            facts.append(Fact("broken_lines", self._left_out, told, {"lines": lines}))
        return facts

    def report_read(self) -> None:
        """Report the share of the bytes that is read, the writing still to come."""
        self._report(_READING * min(self.source.position() / self._size, 1.0))

    def report_written(self, share: float) -> None:
        """Report the share of the entries that is written."""
        self._report(_READING + (1.0 - _READING) * share)

    def _report(self, share: float) -> None:
        if self._progress is None or (time.monotonic() < self._next and share < 1.0):
            return
        self._next = time.monotonic() + _SECONDS
        self._progress(share)


def offer_skipping(fault: DataError) -> DataError:
    """Return the fault with the offer to go on without such lines as a further remedy."""
    if "broken=" in fault.remedy:
        return fault
    rest = "with what came before" if fault.line is None else "without such lines"
    return change_fault(fault, remedy=f'{fault.remedy.rstrip(".")}, or go on {rest} (broken="skip").')


def change_fault(fault: DataError, **changes: Any) -> DataError:
    """Return a fault with another remedy, line, …"""
    known = {name: getattr(fault, name) for name in ("remedy", "source", "line", "column", "value")}
    return DataError(fault.what, **(known | changes))


class RecordLines:
    """Lines; those of the record that is being read are kept, so that it can be read again from its second.

    `record` holds the lines of the record so far, `before` counts those in front of them, and `blank` the blank lines
    between records, which are passed over.
    """

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._lines = reading.lines()
        self._again: deque[str] = deque()
        self._size = 0
        self.record: list[str] = []
        self.before = self.blank = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if len(self.record) == 1 and not self.record[0].strip("\r\n"):
            self.blank += 1
            self.end_record()
        if self._reading.skip and self._size > _PATIENT_RECORD:
            raise self._reading.fault(
                f"a quote that opens in this record is not closed within {_PATIENT_RECORD:,} characters",
                "Close the quote, or double a literal one.",
            )
        line = self._again.popleft() if self._again else next(self._lines)
        self.record.append(line)
        self._size += len(line)
        return line

    def end_record(self) -> None:
        """Forget the record's lines."""
        self.before += len(self.record)
        self.record.clear()
        self._size = 0

    def go_back(self) -> None:
        """Let the lines behind the record's first come again."""
        self._again.extendleft(reversed(self.record[1:]))
        del self.record[1:]
        self.end_record()
