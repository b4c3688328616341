"""Load a corpus from what people have: word counts in three forms, and texts in three."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Unpack

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.corpora.counts import AddEntries, CountsFound, read_counts
from acvb_core.data.corpora.cutting import WordFunction
from acvb_core.data.corpora.documents import read_documents
from acvb_core.data.corpora.numbered import read_docword, read_ldac
from acvb_core.data.corpora.objects import as_frame, is_object, read_object
from acvb_core.data.corpora.reading import CorpusLayout, CorpusOptions, Reading
from acvb_core.data.corpora.sniff import inspect_source
from acvb_core.data.corpora.text_files import CorpusSource, open_corpus_source
from acvb_core.data.corpora.texts import LoadedCorpus, MemorySink, Texts, corpus_of_texts
from acvb_core.data.corpora.tokeniser import Tokeniser, as_tokeniser
from acvb_core.data.sources.byte_source import FileLike
from acvb_core.data.sources.text_lines import Vocabulary, read_vocabulary

if TYPE_CHECKING:
    from acvb_core.data.corpora.disk_sink import DiskSink

_COUNT_READERS: dict[str, Callable[[Reading, Vocabulary | None, AddEntries], CountsFound]] = {
    "counts": read_counts,
    "docword": read_docword,
    "ldac": read_ldac,
}

#: Names of the options of this reader.
OPTIONS = frozenset({*CorpusOptions.__annotations__, "filename", "name", "vocabulary", "tokeniser"})


def inspect_corpus(
    source: FileLike | Any, filename: str | None = None, **options: Unpack[CorpusOptions]
) -> CorpusLayout:
    """Look at the head of a file and propose how to read it; what the options of `load_corpus` say is not guessed."""
    with open_corpus_source(source, filename, options) as opened:
        return inspect_source(opened, options)


def read_texts(
    source: FileLike | Any,
    *,
    filename: str | None = None,
    name: str | None = None,
    **options: Unpack[CorpusOptions],
) -> Texts:
    """Read the texts of a file once; `corpus_of_texts` cuts them as often as the tokeniser changes."""
    with open_corpus_source(source, filename, options) as opened:
        layout = inspect_source(opened, options)
        if not layout.has_texts:
            what = f"this is read as {layout.format}, which holds counts and no texts"
            raise DataError(what, source=opened.name, remedy="Use load_corpus, or say which format it is.")
        return _texts_of(opened, layout, options, name)


def load_corpus(
    source: FileLike | Any,
    *,
    filename: str | None = None,
    name: str | None = None,
    vocabulary: FileLike | Any | None = None,
    tokeniser: Tokeniser | WordFunction | None = None,
    **options: Unpack[CorpusOptions],
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
    name : str, optional
        Name of the corpus (default: the file's name without extensions).
    vocabulary : path, bytes or binary file object, optional
        One word a line: what the numbers of docword and ldac stand for; for counts, all words in order. For objects
        also a list, a mapping of words to numbers or back, a dictionary of gensim, a vectoriser of scikit-learn.
    tokeniser : Tokeniser or callable, optional
        How texts are cut into words (default: `Tokeniser()`). A callable takes a text and gives its words; it stands
        for `Tokeniser(function=…)`. Of lists of words only such words are left out by default as stand in too few or
        too many documents: `objects.LISTS_OF_WORDS`.
    format : "auto", "counts", "docword", "ldac", "table", "lines" or "zip"
    text_column, name_column, label_column : str or int, optional
        Table: the columns of the texts, their names and their groups, by header name or by 0-based position.
        None: guessed. False: there is none.
    document_column, word_column, count_column : str or int, optional
        Counts: the same for document, word and count. `count_column=False`: each line is one token.
    text, document, word, count
        Short for text_column, document_column, word_column, count_column.
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
    source = as_frame(source)
    if is_object(source):
        return read_object(source, options, name=name or filename, vocabulary=vocabulary, tokeniser=cutting)
    with open_corpus_source(source, filename, options) as opened:
        layout = inspect_source(opened, options)
        check_arguments(layout, cutting, vocabulary)
        if layout.has_texts:
            return corpus_of_texts(_texts_of(opened, layout, options, name), cutting)
        sink = MemorySink()
        reading = Reading(opened, layout, options.get("encoding"), whole=True)
        found = read_entries(reading, vocabulary, sink)
        return sink.build_corpus(found, layout, name or opened.stem)


def _texts_of(source: CorpusSource, layout: CorpusLayout, options: CorpusOptions, name: str | None) -> Texts:
    sink = MemorySink()
    facts = read_documents(Reading(source, layout, options.get("encoding"), whole=True), sink)
    return sink.read_texts(name or source.stem, layout, facts)


def check_arguments(layout: CorpusLayout, tokeniser: Tokeniser | None, vocabulary: FileLike | None) -> None:
    """Raise ParameterError for a tokeniser of counts, or a vocabulary of texts."""
    if tokeniser is not None and not layout.has_texts:
        raise ParameterError(f"A tokeniser is for texts; {layout.filename} is read as {layout.format}.")
    if vocabulary is not None and layout.has_texts:
        raise ParameterError(
            f"A vocabulary is for word counts; {layout.filename} is read as {layout.format}."
        )


def read_entries(reading: Reading, vocabulary: FileLike | None, sink: MemorySink | DiskSink) -> CountsFound:
    """Read word counts into a sink."""
    words = None if vocabulary is None else read_vocabulary(vocabulary)
    return _COUNT_READERS[reading.layout.format](reading, words, sink.add_entries)
