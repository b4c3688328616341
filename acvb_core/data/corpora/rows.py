"""The rows of a table with texts, and lines of long texts, for readers that can go on behind broken ones."""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Iterator, Set
from typing import Any, Protocol

from acvb_core.data.corpora.counts import only_names
from acvb_core.data.corpora.layout import CorpusLayout
from acvb_core.data.corpora.reading import Reading, changed_fault
from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.frames import FrameSource, read_texts
from acvb_core.data.sources.text_lines import MAX_TEXT, TextRecords, open_lines
from acvb_core.errors import DataError

#: Characters of a record of which some may have to be read again, when broken lines are left out.
_PATIENT_RECORD = 1 << 22
_TOO_LONG = "\0 too long\n"


class Rows(Protocol):
    """The rows of a table with texts, as many fields in each, and the facts about them once they have been read."""

    unreadable: Set[
        int
    ]  # columns whose values are neither numbers nor texts, dates or true / false: they come blank

    def __iter__(self) -> Iterator[list[str]]:
        """Give the fields of each row but those of the header."""
        ...

    def facts(self) -> list[Fact]:
        """Return the facts about the rows."""
        ...


def open_rows(reading: Reading) -> Rows:
    """Return the rows of a table with texts."""
    return _FrameRows(reading) if isinstance(reading.source, FrameSource) else _DelimitedRows(reading)


class _FrameRows:
    """Rows of columns that are no text."""

    def __init__(self, reading: Reading) -> None:
        assert isinstance(reading.source, FrameSource)
        self._source, self._layout = reading.source, reading.layout
        self._count = 0
        used = {self._layout.text_column, self._layout.name_column, self._layout.label_column}
        first = next(self._source.frame.batches(), None)
        further = () if first is None else (i for i in range(self._layout.n_fields) if i not in used)
        self.unreadable: Set[int] = {i for i in further if self._texts(first, i, strict=False) is None}

    def _texts(self, batch: Any, column: int, *, strict: bool = True) -> Any:
        return read_texts(batch.column(column), self._source, column, strict=strict)

    def __iter__(self) -> Iterator[list[str]]:
        layout, frame = self._layout, self._source.frame
        skip = layout.header and not frame.named
        for batch in frame.batches():
            blank = [""] * batch.num_rows
            columns = [
                blank if i in self.unreadable else self._texts(batch, i).to_pylist()
                for i in range(layout.n_fields)
            ]
            rows = zip(*columns, strict=True)
            if skip:
                next(rows, None)
                skip = False
            for row in rows:
                self._count += 1
                yield list(row)
        if not self._count:
            raise only_names(self._source.name)

    def facts(self) -> list[Fact]:
        """Return the facts about the rows."""
        frame = self._source.frame
        return [
            Fact("lines", self._count, f"Read {plural(self._count, 'row')} of {frame.what}."),
            *frame.facts,
        ]


class _DelimitedRows:
    """Rows of a delimited text; behind a broken one reading goes on with the next line."""

    unreadable: Set[int] = frozenset()

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        lines, _ = open_lines(reading.file, reading.encoding, whole=reading.whole)
        self._lines = _Remembered(bounded(lines), reading.faults.skip, reading.name)
        self._blank = 0

    def __iter__(self) -> Iterator[list[str]]:
        rows = self._rows()
        if self._reading.layout.header:
            next(rows, None)
        first = next(rows, None)
        if first is None:
            raise only_names(self._reading.name)
        yield first
        yield from rows

    def _rows(self) -> Iterator[list[str]]:
        lines, reading = self._lines, self._reading
        n_fields = reading.layout.n_fields
        while True:
            records = TextRecords(lines, reading.layout.delimiter or ",", reading.name)
            try:
                for _, fields in records:
                    if len(fields) != n_fields:
                        raise _ragged(fields, reading.layout, lines.start)
                    unfit = lines.first_with("\0")
                    if unfit is None:
                        yield fields
                    else:
                        reading.faults(unfit_line(reading.name, *unfit))
                    lines.forget()
            except DataError as fault:
                if not reading.faults.skip or not lines.log:
                    raise
                reading.faults(changed_fault(fault, line=lines.start))
                lines.go_back()
                continue
            finally:
                self._blank += records.blank_lines
            return

    def facts(self) -> list[Fact]:
        """Return the facts about the lines."""
        return line_facts(self._lines.count, self._reading.layout, self._blank)


class _Remembered:
    """Lines, with those of the record that is being read remembered, so that it can be read again from its second.

    Attributes
    ----------
    log : list of str
        The lines since the last `forget`.
    count : int
        Lines given so far.
    """

    def __init__(self, lines: Iterator[str], bounded: bool, name: str) -> None:
        self._lines = lines
        self._again: deque[str] = deque()
        self._bounded = bounded
        self._name = name
        self._size = 0
        self.log: list[str] = []
        self.count = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self._bounded and self._size > _PATIENT_RECORD:
            raise DataError(
                f"a quote that opens in this record is not closed within {_PATIENT_RECORD:,} characters",
                source=self._name,
                remedy="Close the quote, or double a literal one.",
            )
        line = self._again.popleft() if self._again else next(self._lines)
        self.log.append(line)
        self.count += 1
        self._size += len(line)
        return line

    @property
    def start(self) -> int:
        """The 1-based number of the record's first line."""
        return self.count - len(self.log) + self._blank() + 1

    def first_with(self, mark: str) -> tuple[int, str] | None:
        """Return the number of the record's first line that holds `mark`, and the line."""
        before = self.count - len(self.log)
        return next(((before + at, line) for at, line in enumerate(self.log, start=1) if mark in line), None)

    def forget(self) -> None:
        """The record is done."""
        self.log.clear()
        self._size = 0

    def go_back(self) -> None:
        """Let the lines behind the record's first come again."""
        again = self.log[self._blank() + 1 :]
        self._again.extendleft(reversed(again))
        self.count -= len(again)
        self.forget()

    def _blank(self) -> int:
        blank = 0
        while blank < len(self.log) - 1 and not self.log[blank].strip("\r\n"):
            blank += 1
        return blank


def bounded(lines: io.TextIOWrapper) -> Iterator[str]:
    """Give lines, `_TOO_LONG` for one that would fill the memory."""
    while line := lines.readline(MAX_TEXT):
        if len(line) < MAX_TEXT or line.endswith(("\n", "\r")):
            yield line
            continue
        while line and not line.endswith(("\n", "\r")):
            line = lines.readline(MAX_TEXT)
        yield _TOO_LONG


def unfit_line(name: str, number: int, line: str) -> DataError:
    """Return the error for a line with a NUL, which stands for all that no text holds."""
    what = "there is a NUL byte, or one that the encoding does not allow"
    remedy = "This is not plain text: save it as text, or choose another encoding."
    if line == _TOO_LONG:
        what = f"this line is longer than {MAX_TEXT:,} characters"
        remedy = "Check the line ends; give one document on each line."
    return DataError(what, source=name, line=number, remedy=remedy)


def _ragged(fields: list[str], layout: CorpusLayout, line: int) -> DataError:
    """Return the error for a record of more or fewer fields than the first."""
    return DataError(
        f"this record has {plural(len(fields), 'field')} where the first has {layout.n_fields:,}",
        source=layout.filename,
        line=line,
        column=min(len(fields), layout.n_fields) + 1,
        value=(layout.delimiter or " ").join(fields),
        remedy="Quote a text that holds the delimiter; choose the format lines when each line is one document.",
    )


def line_facts(lines: int, layout: CorpusLayout, blank: int) -> list[Fact]:
    """Return the facts about the lines of a file of texts."""
    details = {"header": layout.header, "delimiter": layout.delimiter, "encoding": layout.encoding}
    first = f"; the first holds {'names' if layout.header else 'data'}" if layout.delimiter else ""
    facts = [Fact("lines", lines, f"Read {plural(lines, 'line')}{first}.", details)]
    if layout.encoding not in ("utf-8-sig", "utf-8"):
        facts.append(Fact("encoding", 0, f"The text was decoded as {layout.encoding}."))
    if blank:
        facts.append(Fact("blank_lines", blank, f"{plural(blank, 'blank line')}: passed over."))
    return facts
