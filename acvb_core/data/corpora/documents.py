"""Texts read one by one: a line each, a column of a table, or .txt files."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from acvb_core.data.corpora.reading import Reading, changed_fault
from acvb_core.data.corpora.text_files import choose_files, open_files, read_text
from acvb_core.data.names import make_unique
from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.frames import FrameSource, read_texts
from acvb_core.data.sources.text_lines import MAX_TEXT, TextRecords, open_lines, refuse_too_large
from acvb_core.errors import DataError

if TYPE_CHECKING:
    from acvb_core.data.corpora.disk_sink import DiskSink
    from acvb_core.data.corpora.texts import MemorySink

_SHOWN = 5
#: Texts that are handed on at once, and characters after which a batch is closed.
_BATCH_TEXTS = 5_000
_BATCH_CHARACTERS = 1 << 21
#: Characters of a record of which some may have to be read again, when broken lines are left out.
_PATIENT_RECORD = 1 << 22
_TOO_LONG = "\0 too long\n"

#: A text, its name (None: it is called by its position), its label (None: there are no groups) and further values.
Document = tuple[str, str | None, str | None, tuple[str, ...]]


class DocumentBatch(NamedTuple):
    """Some texts, what they are called, and what stands beside them.

    Attributes
    ----------
    texts : sequence of str
    names : sequence of str
    labels : sequence of str
        Empty: there are no groups.
    columns : mapping of str to sequence of str
        Further columns by name.
    """

    texts: Sequence[str]
    names: Sequence[str]
    labels: Sequence[str] = ()
    columns: Mapping[str, Sequence[str]] = {}


def read_documents(reading: Reading, sink: MemorySink | DiskSink) -> list[Fact]:
    """Read the texts of a file into a sink and return the facts about them."""
    facts: list[Fact] = []
    columns, documents = _READERS[reading.layout.format](reading, facts)
    position = unnamed = 0
    with reading.offering():
        for batch in _batches(documents):
            texts, given, labels, values = zip(*batch, strict=True)
            names = []
            for name in given:
                position += 1
                unnamed += name is not None and not name.strip()
                names.append((name or "").strip() or str(position))
            known = [label for label in labels if label is not None]
            further = dict(zip(columns, zip(*values, strict=True), strict=True))
            sink.add_documents(DocumentBatch(texts, names, known, further))
            reading.report_read()
    return facts + settle_names(sink, unnamed)


def settle_names(sink: MemorySink | DiskSink, unnamed: int) -> list[Fact]:
    """Make the names of the documents of a sink unique; return the facts about names."""
    facts = []
    if unnamed:
        told = f"{plural(unnamed, 'document')} without a name: called by the position in the file."
        facts.append(Fact("unnamed_documents", unnamed, told))
    count, first = sink.number_names()
    if count:
        told = f"{plural(count, 'document')} with a name that stood before: a number was appended."
        facts.append(Fact("renamed_documents", count, told, {"first": first}))
    return facts


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    batch: list[Document] = []
    size = 0
    for document in documents:
        batch.append(document)
        size += len(document[0])
        if len(batch) == _BATCH_TEXTS or size > _BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _read_lines(reading: Reading, facts: list[Fact]) -> Iterator[Document]:
    """Give one document a line; a blank line is an empty document, so that line numbers name documents."""
    number = 0
    for number, line in enumerate(_bounded_lines(reading), start=1):
        if "\0" in line:
            reading.leave_out(_unfit_line(reading, number, line))
        else:
            yield line.rstrip("\r\n"), str(number), None, ()
    facts += _line_facts(reading, number, 0)


def _read_files(reading: Reading, facts: list[Fact]) -> Iterator[Document]:
    """Give the .txt files of a zip archive or a folder, one in memory at a time."""
    with open_files(reading.source) as files:
        chosen, found = choose_files(files, reading.source)
        facts += found
        if reading.whole:
            refuse_too_large(sum(file.size for file in chosen), reading.name)
        folders = [str(file.place.parent) for file in chosen]
        several = len(set(folders)) > 1
        for file, folder in zip(chosen, folders, strict=True):
            try:
                text = read_text(file, reading.name, reading.encoding)
            except DataError as fault:
                reading.leave_out(fault)
                continue
            yield text, str(file.place.with_suffix("")), folder if several else None, ()


def _open_table(reading: Reading, facts: list[Fact]) -> tuple[Sequence[str], Iterator[Document]]:
    """Return the names of the columns that are kept beside the texts of a table, and its documents."""
    layout = reading.layout
    text, name, label = layout.text_column, layout.name_column, layout.label_column
    if text is None:
        raise reading.fault(
            "there is no column of texts",
            "Say which column holds the texts, or choose another format.",
            value=", ".join(layout.column_names[:10]),
        )
    titles = make_unique([title or f"column {i}" for i, title in enumerate(layout.column_names, start=1)])[0]
    further = [i for i in range(len(titles)) if i not in (text, name, label)]
    unread: Collection[int] = ()
    if isinstance(reading.source, FrameSource):
        unread = _unreadable_columns(reading.source, further)
        further = [i for i in further if i not in unread]
        rows = _frame_rows(reading, reading.source, unread, facts)
    else:
        rows = _delimited_rows(reading, facts)
    columns = [titles[i] for i in further]

    def documents() -> Iterator[Document]:
        row: Sequence[str] | None = None
        for row in rows:
            yield (
                row[text],
                None if name is None else row[name],
                None if label is None else row[label].strip(),
                tuple([row[i] for i in further]),
            )
        if row is None:
            raise reading.no_rows()
        if columns:
            told = plural(len(columns), "other column is", "other columns are")
            facts.append(Fact("kept_columns", len(columns), f"{told} kept: {_listed(columns)}."))
        if unread:
            told = f"{plural(len(unread), 'column')} of lists, bytes or the like not used"
            facts.append(
                Fact("unused_columns", len(unread), f"{told}: {_listed([titles[i] for i in unread])}.")
            )

    return columns, documents()


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")


def _unreadable_columns(source: FrameSource, columns: Sequence[int]) -> list[int]:
    """Return the columns of a frame whose values are neither numbers nor texts, dates or true / false."""
    first = next(source.frame.batches(), None)
    if first is None:
        return []
    return [i for i in columns if read_texts(first.column(i), source, i, strict=False) is None]


def _frame_rows(
    reading: Reading, source: FrameSource, unread: Collection[int], facts: list[Fact]
) -> Iterator[Sequence[str]]:
    """Give the rows of columns that are no text, blank fields in place of the columns that are not read."""
    layout, frame = reading.layout, source.frame
    header = layout.header and not frame.named
    count = 0
    for batch in frame.batches():
        blank = [""] * batch.num_rows
        columns: list[Any] = [
            blank if i in unread else read_texts(batch.column(i), source, i).to_pylist()
            for i in range(layout.n_fields)
        ]
        for row in zip(*columns, strict=True):
            count += 1
            if count > header:
                yield row
    count -= header
    facts += [Fact("lines", count, f"Read {plural(count, 'row')} of {frame.what}."), *frame.facts]


def _delimited_rows(reading: Reading, facts: list[Fact]) -> Iterator[Sequence[str]]:
    """Give the rows of a delimited text below its header; behind a broken one reading goes on with the next line."""
    layout = reading.layout
    lines = _RecordLines(reading)
    header = layout.header
    while True:
        try:
            for _, fields in TextRecords(lines, layout.delimiter or ",", reading.name):
                if len(fields) != layout.n_fields:
                    raise _ragged_row(reading, fields, lines.before + 1)
                unfit = next((at for at, line in enumerate(lines.record) if "\0" in line), None)
                if unfit is not None:
                    reading.leave_out(_unfit_line(reading, lines.before + unfit + 1, lines.record[unfit]))
                elif header:
                    header = False
                else:
                    yield fields
                lines.end_record()
            break
        except DataError as fault:
            if not reading.skip or not lines.record:
                raise
            reading.leave_out(changed_fault(fault, line=lines.before + 1))
            lines.go_back()
    facts += _line_facts(reading, lines.before, lines.blank)


class _RecordLines:
    """Lines, those of the record that is being read kept, so that it can be read again from its second.

    Attributes
    ----------
    record : list of str
        The lines of the record so far.
    before : int
        Lines in front of them.
    blank : int
        Blank lines between records, which are passed over.
    """

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._lines = _bounded_lines(reading)
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


def _bounded_lines(reading: Reading) -> Iterator[str]:
    """Give lines, `_TOO_LONG` for one that would fill the memory."""
    lines, _ = open_lines(reading.file, reading.encoding, whole=reading.whole)
    while line := lines.readline(MAX_TEXT):
        if len(line) < MAX_TEXT or line.endswith(("\n", "\r")):
            yield line
            continue
        while line and not line.endswith(("\n", "\r")):
            line = lines.readline(MAX_TEXT)
        yield _TOO_LONG


def _unfit_line(reading: Reading, number: int, line: str) -> DataError:
    """Return the error for a line with a NUL, which stands for all that no text holds."""
    if line == _TOO_LONG:
        what = f"this line is longer than {MAX_TEXT:,} characters"
        return reading.fault(what, "Check the line ends; give one document on each line.", line=number)
    what = "there is a NUL byte, or one that the encoding does not allow"
    remedy = "This is not plain text: save it as text, or choose another encoding."
    return reading.fault(what, remedy, line=number)


def _ragged_row(reading: Reading, fields: list[str], line: int) -> DataError:
    layout = reading.layout
    return reading.fault(
        f"this record has {plural(len(fields), 'field')} where the first has {layout.n_fields:,}",
        "Quote a text that holds the delimiter; choose the format lines when each line is one document.",
        line=line,
        column=min(len(fields), layout.n_fields) + 1,
        value=(layout.delimiter or " ").join(fields),
    )


def _line_facts(reading: Reading, lines: int, blank: int) -> list[Fact]:
    layout = reading.layout
    details = {"header": layout.header, "delimiter": layout.delimiter, "encoding": layout.encoding}
    first = f"; the first holds {'names' if layout.header else 'data'}" if layout.delimiter else ""
    facts = [Fact("lines", lines, f"Read {plural(lines, 'line')}{first}.", details)]
    if layout.encoding not in ("utf-8-sig", "utf-8"):
        facts.append(Fact("encoding", 0, f"The text was decoded as {layout.encoding}."))
    if blank:
        facts.append(Fact("blank_lines", blank, f"{plural(blank, 'blank line')}: passed over."))
    return facts


_READERS: dict[str, Callable[[Reading, list[Fact]], tuple[Sequence[str], Iterator[Document]]]] = {
    "lines": lambda reading, facts: ((), _read_lines(reading, facts)),
    "table": _open_table,
    "zip": lambda reading, facts: ((), _read_files(reading, facts)),
}
