"""Load a corpus from what people have: word counts in three forms, and texts in three."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from acvb_core.data.corpora.counts import AddEntries, CountsFound, read_counts
from acvb_core.data.corpora.cutting import WordFunction
from acvb_core.data.corpora.documents import read_documents
from acvb_core.data.corpora.layout import ROLES, ColumnChoice, CorpusFormat, CorpusLayout
from acvb_core.data.corpora.numbered import read_docword, read_ldac
from acvb_core.data.corpora.objects import as_frame, is_object, read_object, with_aliases
from acvb_core.data.corpora.reading import Reading
from acvb_core.data.corpora.sniff import inspect_documents
from acvb_core.data.corpora.text_files import CorpusSource, open_corpus_source
from acvb_core.data.corpora.texts import LoadedCorpus, MemorySink, Texts, corpus_of_texts
from acvb_core.data.corpora.tokeniser import Tokeniser, as_tokeniser
from acvb_core.data.sources.byte_source import FileLike
from acvb_core.data.sources.formats import wanted_format
from acvb_core.data.sources.frames import FrameChoices
from acvb_core.data.sources.text_lines import Vocabulary, read_vocabulary
from acvb_core.errors import DataError, ParameterError

if TYPE_CHECKING:
    from acvb_core.data.corpora.disk_writer import DiskSink

_COUNT_READERS: dict[str, Callable[[Reading, Vocabulary | None, AddEntries], CountsFound]] = {
    "counts": read_counts,
    "docword": read_docword,
    "ldac": read_ldac,
}


def inspect_corpus(
    source: FileLike | Any,
    filename: str | None = None,
    *,
    format: CorpusFormat | Literal["auto"] = "auto",
    encoding: str | None = None,
    delimiter: str | None = None,
    header: Literal["auto"] | bool = "auto",
    sheet: str | int | None = None,
    table: str | None = None,
    query: str | None = None,
) -> CorpusLayout:
    """Look at the head of a file and propose how to read it.

    Parameters
    ----------
    source : path, bytes or binary file object
    filename : str, optional
        The name the user knows it by.
    format, encoding, delimiter, header, sheet, table, query
        As in `load_corpus`: what is given is not guessed.

    Raises
    ------
    DataError
        Nothing that is read: empty, binary, a foreign format.
    """
    with open_corpus_source(source, filename, FrameChoices(sheet, table, query)) as opened:
        return inspect_source(opened, format, encoding, delimiter, header)


def read_texts(
    source: FileLike | Any,
    *,
    filename: str | None = None,
    format: CorpusFormat | Literal["auto"] = "auto",
    name: str | None = None,
    text_column: ColumnChoice = None,
    name_column: ColumnChoice = None,
    label_column: ColumnChoice = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: Literal["auto"] | bool = "auto",
    sheet: str | int | None = None,
    table: str | None = None,
    query: str | None = None,
) -> Texts:
    """Read the texts of a file once; `corpus_of_texts` cuts them as often as the tokeniser changes.

    The arguments are those of `load_corpus`.

    Raises
    ------
    DataError
        The file cannot be read as asked, or holds counts and no texts.
    ParameterError
        An argument makes no sense for any file, or for this format.
    """
    with open_corpus_source(source, filename, FrameChoices(sheet, table, query)) as opened:
        layout = inspect_source(opened, format, encoding, delimiter, header)
        if not layout.has_texts:
            raise DataError(
                f"this is read as {layout.format}, which holds counts and no texts",
                source=opened.name,
                remedy="Use load_corpus, or say which format it is.",
            )
        choices = {"text_column": text_column, "name_column": name_column, "label_column": label_column}
        return _texts_of(opened, with_columns(layout, choices), encoding, name)


def load_corpus(
    source: FileLike | Any,
    *,
    filename: str | None = None,
    format: CorpusFormat | Literal["auto"] = "auto",
    name: str | None = None,
    vocabulary: FileLike | Any | None = None,
    tokeniser: Tokeniser | WordFunction | None = None,
    text: ColumnChoice = None,
    document: ColumnChoice = None,
    word: ColumnChoice = None,
    count: ColumnChoice = None,
    text_column: ColumnChoice = None,
    name_column: ColumnChoice = None,
    label_column: ColumnChoice = None,
    document_column: ColumnChoice = None,
    word_column: ColumnChoice = None,
    count_column: ColumnChoice = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: Literal["auto"] | bool = "auto",
    sheet: str | int | None = None,
    table: str | None = None,
    query: str | None = None,
) -> LoadedCorpus:
    r"""Read a corpus; gzip is recognised by itself.

    Empty documents keep their row and unused words of a vocabulary their column. A pair given more than once is
    added up. Documents of the same name get a number appended. The report tells each of these.

    Parameters
    ----------
    source : path, bytes, binary file object, data frame or other Python object; or a folder of .txt files
        A frame, Parquet, Arrow, workbook, JSON Lines or SQLite file holds a column of texts, or counts. Other objects:
        a list, column or iterator of texts, of lists of words or of lists of (word number, count), as gensim has them;
        a matrix of counts, documents by words; a `datasets.Dataset`. The index of a pandas column names the documents
        unless it only numbers them. None, NaN and NA are empty documents.
    filename : str, optional
        The name the user knows the source by.
    format : "auto", "counts", "docword", "ldac", "table", "lines" or "zip"
    name : str, optional
        Name of the corpus (default: the file's name without extensions).
    vocabulary : path, bytes or binary file object, optional
        One word a line: what the numbers of docword and ldac stand for; for counts, all words in order. For objects
        also a list, a mapping of words to numbers or back, a dictionary of gensim, a vectoriser of scikit-learn.
    tokeniser : Tokeniser or callable, optional
        How texts are cut into words (default: `Tokeniser()`). A callable takes a text and gives its words; it stands
        for `Tokeniser(function=…)`. Of lists of words only such words are left out by default as stand in too few or
        too many documents: `objects.LISTS_OF_WORDS`.
    text, document, word, count
        Short for text_column, document_column, word_column, count_column.
    text_column, name_column, label_column : str or int, optional
        Table: the columns of the texts, their names and their groups, by header name or by 0-based position.
        None: guessed. False: there is none.
    document_column, word_column, count_column : str or int, optional
        Counts: the same for document, word and count. `count_column=False`: each line is one token.
    encoding : str, optional
        Default: UTF-8, or UTF-16 / UTF-32 when a byte order mark says so.
    delimiter : str, optional
        One character; guessed among tab ; | and the comma.
    header : "auto" or bool
        Whether the first line holds names.
    sheet, table, query : optional
        As in `load_relation`: which part of a workbook or a database is read.

    Raises
    ------
    DataError
        The file cannot be read as asked; the message names file, line, column, value and a remedy.
    ParameterError
        An argument makes no sense for any file, or for this format.

    Examples
    --------
    >>> loaded = load_corpus(b"doc,word,count\na,cat,2\na,dog,1\nb,cat,1\n", name="pets")
    >>> loaded.corpus.size_text
    '2 documents · 2 words · 4 tokens'
    """
    cutting = as_tokeniser(tokeniser)
    given = {
        "text_column": text_column,
        "name_column": name_column,
        "label_column": label_column,
        "document_column": document_column,
        "word_column": word_column,
        "count_column": count_column,
    }
    columns = with_aliases(given, {"text": text, "document": document, "word": word, "count": count})
    source = as_frame(source)
    if is_object(source):
        for option, value in (
            ("format", format),
            ("encoding", encoding),
            ("delimiter", delimiter),
            ("header", header),
        ):
            if value not in (None, "auto"):
                raise ParameterError(f"{option} is for files; this is a {type(source).__name__}.")
        return read_object(source, columns, name=name or filename, vocabulary=vocabulary, tokeniser=cutting)
    with open_corpus_source(source, filename, FrameChoices(sheet, table, query)) as opened:
        layout = inspect_source(opened, format, encoding, delimiter, header)
        layout = with_columns(layout, columns)
        check_arguments(layout, cutting, vocabulary)
        if not layout.has_texts:
            sink = MemorySink()
            found = read_entries(Reading.in_memory(opened, layout, encoding), vocabulary, sink)
            return sink.build_corpus(found, layout, name or opened.stem)
        return corpus_of_texts(_texts_of(opened, layout, encoding, name), cutting)


def inspect_source(
    source: CorpusSource,
    format: CorpusFormat | Literal["auto"],
    encoding: str | None,
    delimiter: str | None,
    header: Literal["auto"] | bool,
) -> CorpusLayout:
    """Propose how to read an open source; the arguments are those of `load_corpus`."""
    return inspect_documents(
        source,
        format=wanted_format(format, "corpus"),
        encoding=encoding,
        delimiter=delimiter,
        header=None if header == "auto" else header,
    )


def with_columns(layout: CorpusLayout, choices: dict[str, ColumnChoice]) -> CorpusLayout:
    """Return the layout with the user's columns; a column for another format is a ParameterError."""
    needed, optional = ROLES.get(layout.format, ((), ()))
    for role, choice in choices.items():
        if choice is not None and role not in (*needed, *optional):
            raise ParameterError(f"{role} does not apply: {layout.filename} is read as {layout.format}.")
    return layout.with_columns(choices) if needed and any(c is not None for c in choices.values()) else layout


def check_arguments(layout: CorpusLayout, tokeniser: Tokeniser | None, vocabulary: FileLike | None) -> None:
    """Raise ParameterError for a tokeniser of counts, or a vocabulary of texts."""
    if tokeniser is not None and not layout.has_texts:
        raise ParameterError(f"A tokeniser is for texts; {layout.filename} is read as {layout.format}.")
    if vocabulary is not None and layout.has_texts:
        raise ParameterError(
            f"A vocabulary is for word counts; {layout.filename} is read as {layout.format}."
        )


def _texts_of(source: CorpusSource, layout: CorpusLayout, encoding: str | None, name: str | None) -> Texts:
    sink = MemorySink()
    facts = read_documents(Reading.in_memory(source, layout, encoding), sink)
    return sink.read_texts(name or source.stem, layout, facts)


def read_entries(reading: Reading, vocabulary: FileLike | None, sink: MemorySink | DiskSink) -> CountsFound:
    """Read word counts into a sink.

    Raises
    ------
    DataError
        The file, or the vocabulary, cannot be read as asked.
    """
    words = None if vocabulary is None else read_vocabulary(vocabulary)
    return _COUNT_READERS[reading.layout.format](reading, words, sink.add_entries)
