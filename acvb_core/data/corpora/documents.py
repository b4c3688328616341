"""Texts read one by one: a line each, a column of a table, or .txt files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from acvb_core.data.corpora.reading import Reading
from acvb_core.data.corpora.rows import bounded, line_facts, open_rows, unfit_line
from acvb_core.data.corpora.text_files import choose_files, open_files, read_text
from acvb_core.data.names import make_unique
from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.text_lines import open_lines, refuse_too_large
from acvb_core.errors import DataError

_SHOWN = 5
#: Texts that are handed on at once, and characters after which a batch is closed.
_BATCH_TEXTS = 5_000
_BATCH_CHARACTERS = 1 << 21


class Document(NamedTuple):
    """One text, and what stands beside it.

    Attributes
    ----------
    text : str
    name : str or None
        None: it is called by its position.
    label : str or None
        None: there are no groups.
    values : tuple of str
        What the further columns hold.
    """

    text: str
    name: str | None
    label: str | None = None
    values: tuple[str, ...] = ()


class DocumentSink(Protocol):
    """What takes documents."""

    def add_documents(self, documents: list[Document], names: list[str], columns: Sequence[str]) -> None:
        """Append documents, called by these names; `columns` are what their values are called."""
        ...

    def number_names(self) -> tuple[int, list[str]]:
        """Append a number to names that stood before; return how many there were, and the first of them."""
        ...


def read_documents(reading: Reading, sink: DocumentSink) -> list[Fact]:
    """Read the texts of a file into a sink and return the facts about them.

    Raises
    ------
    DataError
        A record with more or fewer fields than the first, a quote that is not closed, a file of an archive that
        cannot be read, no data.
    """
    source = _READERS[reading.layout.format](reading)
    position = unnamed = 0
    with reading.faults.offering():
        for batch in _batches(source):
            names = []
            for document in batch:
                position += 1
                name = None if document.name is None else document.name.strip()
                unnamed += name == ""
                names.append(name or str(position))
            sink.add_documents(batch, names, source.columns)
            reading.progress.reading()
    facts = source.facts()
    return facts + settle_names(sink, unnamed)


def settle_names(sink: DocumentSink, unnamed: int) -> list[Fact]:
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
        size += len(document.text)
        if len(batch) == _BATCH_TEXTS or size > _BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


class _Documents(Protocol):
    """Documents of a file one by one, and the facts about it once it has been read."""

    columns: Sequence[str]  # what their values are called

    def __iter__(self) -> Iterator[Document]: ...

    def facts(self) -> list[Fact]: ...


class _TextLines:
    """One document a line; a blank line is an empty document, so that line numbers name documents."""

    columns: Sequence[str] = ()

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._count = 0

    def __iter__(self) -> Iterator[Document]:
        reading = self._reading
        lines, _ = open_lines(reading.file, reading.encoding, whole=reading.whole)
        for line in bounded(lines):
            self._count += 1
            if "\0" in line:
                reading.faults(unfit_line(reading.name, self._count, line))
                continue
            yield Document(line.rstrip("\r\n"), str(self._count))

    def facts(self) -> list[Fact]:
        return line_facts(self._count, self._reading.layout, 0)


class _Table:
    """Rows with a column of texts."""

    def __init__(self, reading: Reading) -> None:
        self._layout = layout = reading.layout
        if layout.text_column is None:
            raise DataError(
                "there is no column of texts",
                source=layout.filename,
                value=", ".join(layout.column_names[:10]),
                remedy="Say which column holds the texts, or choose another format.",
            )
        self._text: int = layout.text_column
        used = layout.text_column, layout.name_column, layout.label_column
        self._rows = open_rows(reading)
        names = make_unique([name or f"column {i}" for i, name in enumerate(layout.column_names, start=1)])[0]
        self._further = [i for i in range(len(names)) if i not in used and i not in self._rows.unreadable]
        self.columns: Sequence[str] = [names[i] for i in self._further]
        self._unused = [names[i] for i in sorted(self._rows.unreadable)]

    def __iter__(self) -> Iterator[Document]:
        text, name, label = self._text, self._layout.name_column, self._layout.label_column
        for row in self._rows:
            yield Document(
                row[text],
                None if name is None else row[name],
                None if label is None else row[label].strip(),
                tuple(row[i] for i in self._further),
            )

    def facts(self) -> list[Fact]:
        facts = self._rows.facts()
        if n := len(self.columns):
            told = f"{plural(n, 'other column is', 'other columns are')} kept: {_listed(self.columns)}."
            facts.append(Fact("kept_columns", n, told))
        if n := len(self._unused):
            told = f"{plural(n, 'column')} of lists, bytes or the like not used: {_listed(self._unused)}."
            facts.append(Fact("unused_columns", n, told))
        return facts


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")


class _TextFiles:
    """The .txt files of a zip archive or a folder, one in memory at a time."""

    columns: Sequence[str] = ()

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._facts: list[Fact] = []
        reading.faults.what = "file"

    def __iter__(self) -> Iterator[Document]:
        reading = self._reading
        with open_files(reading.source) as files:
            chosen = choose_files(files, reading.source)
            self._facts = chosen.facts
            if reading.whole:
                refuse_too_large(sum(file.size for file in chosen.files), reading.name)
            several = len(set(chosen.folders)) > 1
            for file, name, folder in zip(chosen.files, chosen.names, chosen.folders, strict=True):
                try:
                    text = read_text(file, reading.name, reading.encoding)
                except DataError as fault:
                    reading.faults(fault)
                    continue
                yield Document(text, name, folder if several else None)

    def facts(self) -> list[Fact]:
        return list(self._facts)


_READERS: dict[str, Callable[[Reading], _Documents]] = {
    "lines": _TextLines,
    "table": _Table,
    "zip": _TextFiles,
}
