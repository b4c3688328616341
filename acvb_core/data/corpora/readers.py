"""Load a corpus from what people have: files and Python objects of texts, lists of words, word counts."""

from __future__ import annotations

import itertools
import operator
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.errors import DataError, ParameterError, shorten
from acvb_core.data.corpora.build import (
    Texts,
    batch_documents,
    corpus_facts,
    corpus_of_counts,
    corpus_of_texts,
    join_texts,
    read_documents,
)
from acvb_core.data.corpora.reading import (
    AddEntries,
    CountsFound,
    Reading,
    Vocabulary,
    is_object,
    list_values,
    read_counts,
    read_docword,
    read_ldac,
    read_matrix,
    read_vocabulary,
)
from acvb_core.data.corpora.schema import (
    CorpusOptions,
    CorpusSource,
    inspect_source,
    open_corpus_source,
    resolve_columns,
)
from acvb_core.data.corpora.tokenise import NO_PATTERN, TOKEN_PATTERN, Tokeniser, WordFunction, as_tokeniser
from acvb_core.data.corpus import Corpus, no_words_fault
from acvb_core.data.names import is_numbering
from acvb_core.data.report import Fact, LoadedData, ReadReport, tell_count
from acvb_core.data.schema import Schema
from acvb_core.data.sources.arrays import graph_library, refuse_graph
from acvb_core.data.sources.source import FileLike

#: Lists of words are taken as they are, except for how often a word must occur in them.
LISTS_OF_WORDS = Tokeniser(lowercase=False, token_pattern=NO_PATTERN, numbers=True, stop_words=())
_LISTS = (list, tuple, np.ndarray)


def as_frame(source: Any) -> Any:
    """Return a `datasets.Dataset`, told by its column_names, as an Arrow table; anything else as it is."""
    if not is_object(source) or not hasattr(source, "column_names"):
        return source
    import pyarrow as pa

    if isinstance(source.column_names, Mapping):
        names = ", ".join(source.column_names)
        raise ParameterError(f"This is a dictionary of data sets; choose one of {names}.")
    columns = {}
    for name in source.column_names:
        values = list(source[name])
        try:
            columns[name] = pa.array(values)
        except pa.ArrowException:  # pictures, say, which are no texts
            columns[name] = pa.nulls(len(values))
    return pa.table(columns)


def holds_documents(source: Any) -> bool:
    """Return whether an object is texts, lists of words or lists of (word number, count), with nothing said of it.

    Lists of two or three str each, which could be links as well, are a ParameterError.
    """
    if not is_object(source) or hasattr(source, "column_names") or getattr(source, "ndim", 1) != 1:
        return False
    if isinstance(source, Mapping | Set) or not hasattr(source, "__iter__") or graph_library(source):
        return False
    documents = list_values(source)
    first = next((one for one in documents if isinstance(one, str) or (isinstance(one, list) and one)), None)
    if first is None or isinstance(first, str):
        return first is not None
    if isinstance(first[0], str) and {np.size(one) for one in documents} in ({2}, {3}):
        raise ParameterError(
            f"lists of {len(first)} str each could be documents or links; read them with load_corpus or load_relation."
        )
    return isinstance(first[0], str) or (isinstance(first[0], tuple | list) and len(first[0]) == 2)


def read_object(
    source: Any, options: CorpusOptions, *, name: str | None, vocabulary: Any, tokeniser: Tokeniser | None
) -> LoadedData[Corpus]:
    """Read a Python object; the arguments and errors are those of `load_corpus`."""
    refuse_graph(source, "texts")
    kind = type(source).__name__
    if columns := resolve_columns(options):
        raise ParameterError(f"{next(iter(columns))} is for a table; this is a {kind}.")
    for option, value in options.items():
        if value not in (None, "auto"):
            raise ParameterError(f"{option} is for files; this is a {kind}.")
    words = None if vocabulary is None else read_vocabulary(vocabulary).words
    own = getattr(source, "name", None)
    name = name or (own if isinstance(own, str) and own else "corpus")
    if sparse.issparse(source) or getattr(source, "ndim", 1) == 2:
        return _build_of_matrix(source, words, None, name, tokeniser)
    if isinstance(source, Mapping | Set) or not hasattr(source, "__iter__"):
        raise ParameterError(
            "A corpus is a file, a list or column of texts, of lists of words or of lists of (word number, count), a "
            f"matrix of counts or a data frame; this is of the type {kind}."
        )
    names = _find_names(source)
    documents, of, facts = plain_documents(source, name)
    if of is tuple:
        return _build_of_matrix(_read_bags(documents, name, words), words, names, name, tokeniser)
    if vocabulary is not None:
        raise ParameterError(f"A vocabulary is for word counts; {name} holds texts.")
    called = zip(documents, names or itertools.repeat(None), strict=False)
    batches = batch_documents(((text, own, None, ()) for text, own in called), facts)
    read = join_texts(batches, name, Schema("corpus", "lines", name), facts)
    return corpus_of_texts(read, tokeniser if of is str else _adapt_to_lists(tokeniser))


def plain_documents(given: Any, name: str) -> tuple[Iterable[Any], type, list[Fact]]:
    """Return the documents of an object, what they are, and the facts about them.

    They are texts (str) or lists of words (list), with an empty one in place of a missing one; or lists of pairs
    (tuple), one after another. DataError: one of them is something else, or all are missing or empty.
    """
    documents = iter(list_values(given))
    head: list[Any] = []
    for one in documents:
        head.append(one)
        if isinstance(one, str) or (isinstance(one, _LISTS) and len(one)):
            break
        if not isinstance(one, _LISTS) and not _is_missing(one):
            raise _no_document(one, len(head), name, "a text or a list of words")
    else:
        raise no_words_fault(name)
    documents = itertools.chain(head, documents)
    if not isinstance(one, str) and not isinstance(one[0], str) and np.ndim(one[0]) == 1:
        return documents, tuple, []
    kind: type = str if isinstance(one, str) else list
    found: list[Any] = []
    missing = []
    for number, one in enumerate(documents, 1):
        if isinstance(one, str if kind is str else _LISTS):
            found.append(kind(one))
        elif _is_missing(one):
            found.append(kind())
            missing.append(number)
        else:
            raise _no_document(one, number, name, "a text" if kind is str else "a list of words")
    told = "{document} without a text (None, NaN): taken as empty."
    return found, kind, tell_count("missing_texts", len(missing), told, first=missing[:5])


def _no_document(one: Any, number: int, name: str, wanted: str) -> DataError:
    what = f"document {number:,} is of the type {type(one).__name__}, not {wanted}"
    remedy = "Give texts (str), or for every document a list of its words; None for an empty one."
    return DataError(what, source=name, value=shorten(str(one)), remedy=remedy)


def _adapt_to_lists(tokeniser: Tokeniser | None) -> Tokeniser:
    """Return the tokeniser for lists of words: all of its settings, but for how to cut."""
    if tokeniser is None:
        return LISTS_OF_WORDS
    if tokeniser.function is not None or tokeniser.token_pattern not in (NO_PATTERN, TOKEN_PATTERN):
        raise ParameterError(
            "The documents are lists of words already; leave the pattern and the function out."
        )
    return replace(tokeniser, token_pattern=NO_PATTERN)


def _build_of_matrix(
    matrix: Any, words: Sequence[str] | None, names: Sequence[str] | None, name: str,
    tokeniser: Tokeniser | None,
) -> LoadedData[Corpus]:  # fmt: skip
    if tokeniser is not None:
        raise ParameterError(f"A tokeniser is for texts; {name} holds word counts.")
    corpus = Corpus.build(matrix, vocabulary=words, documents=names, name=name)
    report = ReadReport(name, tuple(corpus_facts(corpus)))
    return LoadedData(corpus, report, Schema("corpus", "counts", name))


def _read_bags(documents: Iterable[Any], name: str, words: Sequence[str] | None) -> sparse.csr_array:
    """Return lists of (word number, count) as a matrix; what is gone through is not held."""
    numbers, counts, ends = array("q"), array("d"), array("q", [0])
    for document, bag in enumerate(documents, 1):
        for entry in () if _is_missing(bag) else bag:
            try:
                word, count = entry
                number = operator.index(word)
                counts.append(count)
            except (TypeError, ValueError, OverflowError):
                number = -1
            if number < 0 or (words is not None and number >= len(words)):
                which = "whole number" if words is None else f"number below {len(words):,}"
                what = f"document {document:,} has an entry that is not a (word number, count)"
                remedy = f"Give a {which} and a count for each word, and the vocabulary the numbers are of."
                raise DataError(what, source=name, value=str(entry), remedy=remedy)
            numbers.append(number)
        ends.append(len(numbers))
    width = len(words) if words is not None else max(numbers, default=-1) + 1
    parts = np.frombuffer(counts), np.frombuffer(numbers, dtype=np.int64), np.frombuffer(ends, dtype=np.int64)
    return sparse.csr_array(parts, shape=(len(ends) - 1, width))


def _find_names(source: Any) -> list[str] | None:
    """Return the names that the index of a pandas column gives, None if it only numbers from 0."""
    import pandas as pd

    index = getattr(source, "index", None)
    if not isinstance(index, pd.Index) or is_numbering(index):
        return None
    return [
        " · ".join(map(str, one)) if isinstance(one, tuple) else str(one).strip() for one in index.tolist()
    ]


def _is_missing(one: Any) -> bool:
    import pandas as pd

    return one is None or (np.ndim(one) == 0 and not isinstance(one, str) and pd.isna(one) is True)


_COUNT_READERS: dict[str, Callable[[Reading, Vocabulary | None, AddEntries], CountsFound]] = {
    "counts": read_counts,
    "matrix": read_matrix,
    "docword": read_docword,
    "ldac": read_ldac,
}
#: Names of the options of this reader.
OPTIONS = frozenset({*CorpusOptions.__annotations__, "filename", "name", "vocabulary", "tokeniser"})


def inspect_corpus(
    source: FileLike | Any, filename: str | None = None, **options: Unpack[CorpusOptions]
) -> Schema:
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
        schema = inspect_source(opened, options)
        require_texts(schema)
        return _texts_of(opened, schema, options, name)


def load_corpus(
    source: FileLike | Any,
    *,
    filename: str | None = None,
    name: str | None = None,
    vocabulary: FileLike | Any | None = None,
    tokeniser: Tokeniser | WordFunction | None = None,
    **options: Unpack[CorpusOptions],
) -> LoadedData[Corpus]:
    r"""Read a corpus; gzip is recognised by itself.

    Empty documents keep their row and unused words of a vocabulary their column. A pair given more than once is
    added up. Documents of the same name get a number appended. Columns without a role become metadata of the
    documents; of word counts those that have one value for each document. The report says which, and what they are:
    dates, groups (at most 50 values, two documents each on average), numbers or texts.

    Parameters
    ----------
    source : path, bytes, binary file object, data frame or other Python object; or a folder of .txt files
        A frame, Parquet, Arrow, workbook, JSON Lines or SQLite file holds a column of texts, or counts. Other objects:
        a list, column or iterator of texts, of lists of words or of lists of (word number, count), as gensim has them;
        a matrix of counts, documents by words; a `datasets.Dataset`. The index of a pandas column or frame names the
        documents unless it counts from 0. None, NaN and NA are empty documents.
    filename, name : str, optional
        Names that the user knows the source and the corpus by (default: the file's name).
    vocabulary : path, bytes or binary file object, list, mapping of words to numbers or back, …, optional
        All words, by number: a file has one on each line; a dictionary of gensim or a vectoriser of scikit-learn knows
        them. The words that numbers mean, or all that may occur, in this order.
    tokeniser : Tokeniser or callable, optional
        How texts are cut into words (default: `Tokeniser()`). A callable takes a text and gives its words; it means
        `Tokeniser(function=…)`. By default, lists of words lose only the words of too few or too many documents.
    format : "auto", "counts", "matrix", "docword", "ldac", "table", "lines" or "zip"
        Counts: one document and word in each row. Matrix: a document in each row, a word in each column.
    text_column, name_column, label_column : str or int, optional
        Table: the columns of the texts, their names and their groups, by header name or by 0-based position.
        None: guessed. False: there is none. Matrix: `label_column` holds the groups.
    document_column, word_column, count_column : str or int, optional
        Counts: the same for document, word and count. `count_column=False`: each line is one token. Matrix:
        `document_column` holds the names.
    column_kinds : mapping of str to str, optional
        Kinds of the further columns by name: "date", "group", "number", "text" or "none" (it is left out). Those of
        the others are recognised. Also texts such as "created=date".
    text, document, word, count
        Short for text_column, document_column, word_column, count_column.
    encoding, delimiter, decimal, header, sheet, table, query : optional
        As in `load_relation`.

    Raises
    ------
    DataError
        The file cannot be read as asked; the message names file, line, column, value and a remedy.
    ParameterError
        An argument makes no sense for any file, or for this format.

    Examples
    --------
    >>> loaded = load_corpus(b"doc,word,count\na,cat,2\na,dog,1\nb,cat,1\n", name="pets")
    >>> loaded.data.size_text
    '2 documents · 2 words · 4 tokens'
    """
    cutting = as_tokeniser(tokeniser)
    source = as_frame(source)
    if is_object(source):
        return read_object(source, options, name=name or filename, vocabulary=vocabulary, tokeniser=cutting)
    with open_corpus_source(source, filename, options) as opened:
        schema = inspect_source(opened, options)
        check_arguments(schema, cutting, vocabulary)
        if schema.has_texts:
            texts = _texts_of(opened, schema, options, name)
            return corpus_of_texts(texts, cutting, kinds=options.get("column_kinds"))
        reading = Reading(opened, schema, options.get("encoding"), whole=True)
        entries: list[NDArray[np.int32]] = []
        found = read_entries(reading, vocabulary, lambda *parts: entries.append(np.array(parts, np.int32)))
        return corpus_of_counts(entries, found, schema, name or opened.stem, options.get("column_kinds"))


def _texts_of(source: CorpusSource, schema: Schema, options: CorpusOptions, name: str | None) -> Texts:
    facts: list[Fact] = []
    reading = Reading(source, schema, options.get("encoding"), whole=True)
    return join_texts(read_documents(reading, facts), name or source.stem, schema, facts)


def require_texts(schema: Schema) -> None:
    """Raise DataError for a file of counts, which has no texts."""
    if not schema.has_texts:
        what = f"this is read as {schema.format}, which holds counts and no texts"
        raise DataError(what, source=schema.filename, remedy="Use load_corpus, or say which format it is.")


def check_arguments(schema: Schema, tokeniser: Tokeniser | None, vocabulary: FileLike | None) -> None:
    """Raise ParameterError for a tokeniser of counts, or a vocabulary of texts."""
    if tokeniser is not None and not schema.has_texts:
        raise ParameterError(f"A tokeniser is for texts; {schema.filename} is read as {schema.format}.")
    if vocabulary is not None and schema.has_texts:
        raise ParameterError(
            f"A vocabulary is for word counts; {schema.filename} is read as {schema.format}."
        )


def read_entries(reading: Reading, vocabulary: FileLike | Any | None, add: AddEntries) -> CountsFound:
    """Read word counts, and hand them on."""
    words = None if vocabulary is None else read_vocabulary(vocabulary)
    return _COUNT_READERS[reading.schema.format](reading, words, add)
