"""Texts read one by one: a line each, a column of a table, or .txt files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from acvb_core.core.errors import DataError
from acvb_core.data.corpora.reading import Reading, RecordLines, change_fault
from acvb_core.data.corpora.text_files import choose_files, list_first, open_files, read_text
from acvb_core.data.names import make_unique
from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.frames import FrameSource, read_texts
from acvb_core.data.sources.text_lines import read_records, refuse_too_large

if TYPE_CHECKING:
    from acvb_core.data.corpora.disk_sink import DiskSink
    from acvb_core.data.corpora.texts import MemorySink

#: Texts that are handed on at once, and characters after which a batch is closed.
_BATCH_TEXTS = 5_000
_BATCH_CHARACTERS = 1 << 21
_RAGGED_REMEDY = (
    "Quote a text that holds the delimiter; choose the format lines when each line is one document."
)

#: A text, its name (None: it is called by its position), its label (None: there are no groups) and further values.
Document = tuple[str, str | None, str | None, tuple[str, ...]]


class DocumentBatch(NamedTuple):
    """Some texts, what they are called, their groups (none, or one each) and what the further columns hold."""

    texts: Sequence[str]
    names: Sequence[str]
    labels: Sequence[str]
    columns: Mapping[str, Sequence[str]]


def read_documents(reading: Reading, sink: MemorySink | DiskSink) -> list[Fact]:
    """Read the texts of a file into a sink and return the facts about them."""
    facts: list[Fact] = []
    columns, documents = _READERS[reading.layout.format](reading, facts)
    with reading.offering():
        about_names = collect_documents(sink, documents, columns, reading.report_read)
    return facts + about_names


def collect_documents(
    sink: MemorySink | DiskSink,
    documents: Iterable[Document],
    columns: Sequence[str] = (),
    report: Callable[[], None] | None = None,
) -> list[Fact]:
    """Put documents with these further columns into a sink, batch by batch; return the facts about their names."""
    position = unnamed = 0
    for batch in _batches(documents):
        texts, given, labels, values = zip(*batch, strict=True)
        names = [(name or "").strip() or str(position + at) for at, name in enumerate(given, start=1)]
        unnamed += sum(name is not None and not name.strip() for name in given)
        position += len(batch)
        known = [label for label in labels if label is not None]
        further = dict(zip(columns, zip(*values, strict=True), strict=True))
        sink.add_documents(DocumentBatch(texts, names, known, further))
        if report is not None:
            report()
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
    for number, line in enumerate(reading.lines(), start=1):
        if "\0" in line:
            reading.leave_out(reading.unfit_line(number, line))
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
        remedy = "Say which column holds the texts, or choose another format."
        raise reading.fault("there is no column of texts", remedy, value=", ".join(layout.column_names[:10]))
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
            told = (
                f"{plural(len(columns), 'other column is', 'other columns are')} kept: {list_first(columns)}."
            )
            facts.append(Fact("kept_columns", len(columns), told))
        if unread:
            unused = list_first([titles[i] for i in unread])
            told = f"{plural(len(unread), 'column')} of lists, bytes or the like not used: {unused}."
            facts.append(Fact("unused_columns", len(unread), told))

    return columns, documents()


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
    lines = RecordLines(reading)
    header = layout.header
    while True:
        try:
            for fields in read_records(lines, layout.delimiter or ",", reading.name):
                if len(fields) != layout.n_fields:
                    what = f"this record has {plural(len(fields), 'field')} where the first has {layout.n_fields:,}"
                    place = {"line": lines.before + 1, "column": min(len(fields), layout.n_fields) + 1}
                    raise reading.fault(
                        what, _RAGGED_REMEDY, **place, value=(layout.delimiter or " ").join(fields)
                    )
                unfit = next((at for at, line in enumerate(lines.record) if "\0" in line), None)
                if unfit is not None:
                    reading.leave_out(reading.unfit_line(lines.before + unfit + 1, lines.record[unfit]))
                elif header:
                    header = False
                else:
                    yield fields
                lines.end_record()
            break
        except DataError as fault:
            if not reading.skip or not lines.record:
                raise
            reading.leave_out(change_fault(fault, line=lines.before + 1))
            lines.go_back()
    facts += _line_facts(reading, lines.before, lines.blank)


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
