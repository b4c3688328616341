"""A corpus in memory, made of texts or of word counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.errors import DataError
from acvb_core.data.corpora.metadata import type_columns
from acvb_core.data.corpora.reading import (
    SHOWN,
    CountsFound,
    Reading,
    further_columns,
    name_facts,
    unused_facts,
)
from acvb_core.data.corpora.schema import choose_files, read_text
from acvb_core.data.corpora.tokenise import NO_PATTERN, CutTexts, Tokeniser
from acvb_core.data.corpus import Corpus, no_words_fault
from acvb_core.data.names import make_unique, typed_values
from acvb_core.data.relation_schema import no_data_fault
from acvb_core.data.report import Fact, LoadedData, ReadReport, plural, tell_count
from acvb_core.data.schema import Schema
from acvb_core.data.sources.containers import encoding_facts, reading_facts
from acvb_core.data.sources.source import MAX_TEXT, ByteSource, refuse_too_large

if TYPE_CHECKING:
    from acvb_core.data.disk import DiskCorpus


#: Texts that are handed on at once, and characters after which a batch is closed.
_BATCH_TEXTS = 5_000
_BATCH_CHARACTERS = 1 << 21
#: Bytes of a text at most where broken lines are left out: a quote that is never closed is then read again.
_PATIENT_TEXT = 1 << 22
#: A text, its name (None: it is called by its position), its label (None: there are no groups) and further values.
Document = tuple[str, str | None, str | None, tuple[str, ...]]


class DocumentBatch(NamedTuple):
    """Some texts, what they are called, their groups (none, or one each) and what the further columns hold."""

    texts: Sequence[str]
    names: Sequence[str]
    labels: Sequence[str]
    columns: Mapping[str, Sequence[str]]


def read_documents(reading: Reading, facts: list[Fact]) -> Iterator[DocumentBatch]:
    """Give the texts of a file in batches, and at the end the facts about them."""
    columns, documents = _READERS[reading.schema.format](reading, facts)
    with reading.offering():
        for batch in batch_documents(documents, facts, columns):
            yield batch
            reading.report_read()


def batch_documents(
    documents: Iterable[Document], facts: list[Fact], columns: Sequence[str] = ()
) -> Iterator[DocumentBatch]:
    """Give documents with these further columns in batches, and at the end the fact about those without a name."""
    position = unnamed = 0
    for batch in _batches(documents):
        texts, given, labels, values = zip(*batch, strict=True)
        names = [(name or "").strip() or str(position + at) for at, name in enumerate(given, start=1)]
        unnamed += sum(name is not None and not name.strip() for name in given)
        position += len(batch)
        known = [label for label in labels if label is not None]
        yield DocumentBatch(texts, names, known, dict(zip(columns, zip(*values, strict=True), strict=True)))
    facts += name_facts(unnamed)


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
    details = {"header": False, "delimiter": None, "encoding": reading.schema.encoding}
    facts += [
        Fact("lines", number, f"Read {plural(number, 'line')}.", details),
        *encoding_facts(reading.schema),
    ]


def _read_files(reading: Reading, facts: list[Fact]) -> Iterator[Document]:
    """Give the .txt files of a zip archive or a folder, one in memory at a time."""
    chosen, found = choose_files(reading.source)
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
    """Return the names of the columns that are kept with the texts of a table, and its documents."""
    schema = reading.schema
    text, name, label = schema.text_column, schema.name_column, schema.label_column
    if text is None:
        remedy = "Say which column holds the texts, or choose another format."
        raise reading.fault("there is no column of texts", remedy, value=", ".join(schema.column_names[:10]))
    kept, unused = further_columns(reading, (text, name, label))
    used = [at for at in (text, name, label, *kept) if at is not None]

    def documents() -> Iterator[Document]:
        longest = _PATIENT_TEXT if reading.skip else MAX_TEXT
        reader = reading.open_records(used=used, trim=False, longest=longest, whole=reading.whole)
        for batch in reader:
            for line, row in zip(batch.lines.tolist(), batch.records(), strict=True):
                before, nul, _ = "".join(row).partition("\0")
                if nul and isinstance(reading.source, ByteSource):
                    reading.leave_out(reading.unfit_line(line + before.count("\n"), before))
                    continue
                of_label = None if label is None else row[label].strip()
                yield row[text], None if name is None else row[name], of_label, tuple([row[i] for i in kept])
        if not reader.records:
            raise no_data_fault(reading.name)
        facts.extend(reading_facts(reader, schema))
        facts.extend(unused_facts(unused, "lists, bytes or the like"))

    return list(kept.values()), documents()


_READERS: dict[str, Callable[[Reading, list[Fact]], tuple[Sequence[str], Iterator[Document]]]] = {
    "lines": lambda reading, facts: ((), _read_lines(reading, facts)),
    "table": _open_table,
    "zip": lambda reading, facts: ((), _read_files(reading, facts)),
}


@dataclass(frozen=True, eq=False)
class Texts:
    """The texts of a file with the unique names of their documents, and what else the file says of these.

    The texts are read once and cut as often as the tokeniser changes; `name` is what the user calls the corpus,
    `facts` is what reading found.
    """

    texts: tuple[str, ...]
    documents: NDArray[Any]
    labels: NDArray[Any] | None
    name: str
    schema: Schema
    facts: tuple[Fact, ...]
    columns: Mapping[str, Sequence[str]]  # the further columns, as they were read

    @cached_property
    def metadata(self) -> dict[str, NDArray[Any]]:
        """The further columns, as what they are recognised as."""
        return type_columns(self.columns)[0]

    @cached_property
    def cut(self) -> CutTexts:
        """The texts, cut into words by the last tokeniser."""
        return CutTexts(self.texts)


def join_texts(batches: Iterable[DocumentBatch], name: str, schema: Schema, facts: list[Fact]) -> Texts:
    """Return the texts of batches; `facts` are complete once these were read."""
    texts: list[str] = []
    names: list[str] = []
    labels: list[str] = []
    columns: dict[str, list[str]] = {}
    for batch in batches:
        texts += batch.texts
        names += batch.names
        labels += batch.labels
        for column, values in batch.columns.items():
            columns.setdefault(column, []).extend(values)
    names, renamed = make_unique(names)
    return Texts(
        tuple(texts),
        typed_values(names, "string"),
        typed_values(labels, "string") if labels else None,
        name,
        schema,
        (*facts, *name_facts(0, len(renamed), renamed)),
        columns,
    )


def corpus_of_counts(
    entries: list[NDArray[np.int32]],
    found: CountsFound,
    schema: Schema,
    name: str,
    kinds: Mapping[str, str] | Iterable[str] | None = None,
) -> LoadedData[Corpus]:
    """Return the corpus of word counts; DataError if there is no token. `kinds` are those of `type_columns`."""
    if not any(counts.any() for _, _, counts in entries):
        raise no_words_fault(schema.filename)
    rows, columns, counts = np.concatenate(entries, axis=1)
    entries.clear()
    shape = found.n_documents, len(found.words)
    matrix = sparse.csr_array((counts.astype(np.int64), (rows, columns)), shape=shape)
    metadata, kept = type_columns(found.columns, kinds, schema.filename)
    corpus = Corpus.build(
        matrix,
        vocabulary=found.words,
        documents=None if found.names is None else found.names.labels(),
        name=name,
        labels=found.labels or None,
        label_name=schema.label_name if found.labels else "",
        metadata=metadata,
    )
    repeated = entry_facts(len(counts) - matrix.nnz, int(np.count_nonzero(counts == 0)))
    facts = (*found.facts, *kept, *repeated, *corpus_facts(corpus))
    return LoadedData(corpus, ReadReport(schema.filename, facts), schema)


def corpus_of_texts(
    texts: Texts,
    tokeniser: Tokeniser | None = None,
    *,
    name: str | None = None,
    kinds: Mapping[str, str] | Iterable[str] | None = None,
) -> LoadedData[Corpus]:
    """Return the corpus that a tokeniser (default: `Tokeniser()`) makes of texts, called as they are by default.

    `kinds`: of the further columns, as `type_columns` takes them.
    DataError if no word is left: it says which setting dropped most.
    """
    tokeniser = tokeniser or Tokeniser()
    source = texts.schema.filename
    metadata, kept = type_columns(texts.columns, kinds, source)
    counts, vocabulary, preview = texts.cut.select(tokeniser)
    if not len(vocabulary):
        raise preview.explain_nothing_left(tokeniser, source)
    corpus = Corpus.build(
        counts,
        vocabulary=vocabulary,
        documents=texts.documents,
        name=name or texts.name,
        texts=None if tokeniser.token_pattern == NO_PATTERN else texts.texts,
        labels=texts.labels,
        label_name="" if texts.labels is None else texts.schema.label_name,
        tokeniser=tokeniser,
        metadata=metadata,
    )
    report = ReadReport(source, (*texts.facts, *preview.facts(), *kept, *corpus_facts(corpus)))
    return LoadedData(corpus, report, texts.schema)


def entry_facts(repeated: int, zeros: int) -> list[Fact]:
    """Return the facts about entries that were added up, and about counts of 0."""
    return [
        *tell_count(
            "repeated_pairs", repeated, "{entry|entries} for a document and word given before: added up."
        ),
        *tell_count("zero_counts", zeros, "{count} of 0: not stored."),
    ]


def corpus_facts(corpus: Corpus) -> list[Fact]:
    """Return the facts about the corpus as a whole."""
    empty = np.flatnonzero(corpus.lengths == 0)
    return size_facts(corpus, len(empty), corpus.documents[empty[:SHOWN]].tolist())


def size_facts(corpus: Corpus | DiskCorpus, n_empty: int, first_empty: list[str]) -> list[Fact]:
    """Return the facts about a corpus with `n_empty` documents without a word."""
    unused = np.flatnonzero(corpus.frequencies == 0)
    first = corpus.vocabulary[unused[:SHOWN]].tolist()
    empty = "{document} without any word: kept as an empty row."
    return [
        Fact("documents", corpus.n_documents, f"{plural(corpus.n_documents, 'document')}."),
        Fact("words", corpus.n_words, f"{plural(corpus.n_words, 'word')} in the vocabulary."),
        Fact("tokens", corpus.n_tokens, f"{plural(corpus.n_tokens, 'token')} in all documents."),
        *tell_count("empty_documents", n_empty, empty, first=first_empty),
        *tell_count(
            "unused_words", len(unused), "{word} of the vocabulary in no document: kept.", first=first
        ),
    ]
