"""Texts read into a spool, batch by batch: one a line, a column of a table, or the files of a zip archive."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from acvb_core.data.corpora.disk_broken import Broken
from acvb_core.data.corpora.disk_lines import Remembered, bounded, unfit_line
from acvb_core.data.corpora.disk_reading import Reading, Spooled
from acvb_core.data.corpora.disk_words import WordCounter
from acvb_core.data.corpora.layout import CorpusLayout
from acvb_core.data.corpora.texts import line_facts, no_texts, only_names, ragged, unused_columns
from acvb_core.data.corpora.tokeniser import Tokeniser
from acvb_core.data.corpora.zip import archive_text, chosen_files
from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.byte_source import ByteSource
from acvb_core.data.sources.text_lines import TextRecords, open_lines
from acvb_core.errors import DataError

#: Texts that are cut at once, and characters after which a batch is closed.
_BATCH_TEXTS = 5_000
_BATCH_CHARACTERS = 1 << 21


class Document(NamedTuple):
    """One text; its name is None where it is called by its position."""

    text: str
    name: str | None


class _Source:
    """Documents of a file one by one, and the facts about it once it has been read."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.source: ByteSource = reading.source
        self.layout: CorpusLayout = reading.layout
        self.broken: Broken = reading.broken

    def __iter__(self) -> Iterator[Document]:
        raise NotImplementedError

    def facts(self) -> list[Fact]:
        raise NotImplementedError


class _TextLines(_Source):
    """One document a line; a blank line is an empty document, so that line numbers name documents."""

    def __iter__(self) -> Iterator[Document]:
        lines, _ = open_lines(self.source, self.reading.encoding, whole=False)
        self._count = 0
        for line in bounded(lines):
            self._count += 1
            if "\0" in line:
                self.broken(unfit_line(self.source.name, self._count, line))
                continue
            yield Document(line.rstrip("\r\n"), str(self._count))

    def facts(self) -> list[Fact]:
        return line_facts(self._count, self.layout, 0)


class _Table(_Source):
    """A delimited text with a column of texts."""

    def __iter__(self) -> Iterator[Document]:
        layout = self.layout
        if layout.text_column is None:
            raise no_texts(layout)
        lines, _ = open_lines(self.source, self.reading.encoding, whole=False)
        self._lines = Remembered(bounded(lines), self.broken.skip, self.source.name)
        self._blank = 0
        skip = layout.header
        found = False
        for fields in self._records():
            if skip:
                skip = False
                continue
            found = True
            name = None if layout.name_column is None else fields[layout.name_column]
            yield Document(fields[layout.text_column], name)
        if not found:
            raise only_names(self.source.name)

    def _records(self) -> Iterator[list[str]]:
        """Give the records; behind a broken one reading goes on with the next line."""
        lines, layout = self._lines, self.layout
        while True:
            records = TextRecords(lines, layout.delimiter or ",", self.source.name)
            try:
                for _, fields in records:
                    if len(fields) != layout.n_fields:
                        raise ragged(fields, layout, lines.start)
                    unfit = lines.first_with("\0")
                    if unfit is None:
                        yield fields
                    else:
                        self.broken(unfit_line(self.source.name, *unfit))
                    lines.forget()
            except DataError as fault:
                if not lines.log:
                    raise
                self.broken(_at_line(fault, lines.start))
                lines.go_back()
                continue
            finally:
                self._blank += records.blank_lines
            return

    def facts(self) -> list[Fact]:
        layout = self.layout
        facts = line_facts(self._lines.count, layout, self._blank)
        used = layout.text_column, layout.name_column, layout.label_column
        facts += unused_columns(layout, used)
        if layout.label_column is not None:
            told = (
                f"The groups in the column {layout.column_names[layout.label_column]} are not kept on disk."
            )
            facts.append(Fact("groups_not_kept", 1, told))
        return facts


class _Zip(_Source):
    """The .txt files of a zip archive, one in memory at a time."""

    def __iter__(self) -> Iterator[Document]:
        self.broken.what = "file"
        chosen = chosen_files(self.source)
        self._facts = chosen.facts
        with zipfile.ZipFile(self.source.seekable()) as archive:
            for file, name in zip(chosen.files, chosen.names, strict=True):
                try:
                    text = archive_text(archive, file, self.source.name, self.reading.encoding)
                except DataError as fault:
                    self.broken(fault)
                    continue
                yield Document(text, name)

    def facts(self) -> list[Fact]:
        return list(self._facts)


_SOURCES: dict[str, Callable[[Reading], _Source]] = {"lines": _TextLines, "table": _Table, "zip": _Zip}


def spool_texts(reading: Reading, tokeniser: Tokeniser, keep_texts: bool) -> Spooled:
    """Read texts, cut them into words in batches, and settle at the end which words are kept.

    Raises
    ------
    DataError
        As `read_table`, `read_text_lines` and `read_zip_texts`.
    """
    documents = _SOURCES[reading.layout.format](reading)
    counter = WordCounter(tokeniser, reading.spool)
    unnamed = 0
    with reading.broken.offering():
        for batch in _batches(documents):
            begin = counter.n_documents + 1
            texts = [document.text for document in batch]
            names = [(document.name or "").strip() for document in batch]
            if reading.layout.format != "table" or reading.layout.name_column is not None:
                unnamed += names.count("")
            reading.writer.names.extend(name or str(at) for at, name in enumerate(names, start=begin))
            if keep_texts:
                reading.writer.texts.extend(texts)
            counter.add(texts)
            reading.progress.reading()
    facts = documents.facts()
    if unnamed:
        told = f"{plural(unnamed, 'document')} without a name: called by the position in the file."
        facts.append(Fact("unnamed_documents", unnamed, told))
    count, first = reading.writer.names.make_unique()
    if count:
        told = f"{plural(count, 'document')} with a name that stood before: a number was appended."
        facts.append(Fact("renamed_documents", count, told, {"first": first}))
    return counter.settled(reading.source.name, facts)


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


def _at_line(fault: DataError, line: int) -> DataError:
    return DataError(
        fault.what,
        source=fault.source,
        line=line,
        column=fault.column,
        value=fault.value,
        remedy=fault.remedy,
    )
