"""Python objects as corpora: texts, lists of words and word counts."""

from __future__ import annotations

import itertools
import operator
import os
from array import array
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np
from scipy import sparse

from acvb_core.core.errors import DataError, ParameterError, shorten
from acvb_core.data.corpora.cutting import NO_PATTERN, TOKEN_PATTERN
from acvb_core.data.corpora.documents import collect_documents
from acvb_core.data.corpora.reading import CorpusLayout, CorpusOptions, resolve_columns
from acvb_core.data.corpora.texts import LoadedCorpus, MemorySink, corpus_facts, corpus_of_texts
from acvb_core.data.corpora.tokeniser import Tokeniser
from acvb_core.data.corpus import Corpus
from acvb_core.data.names import is_numbering
from acvb_core.data.report import Fact, ReadReport, plural
from acvb_core.data.sources.objects import graph_library, is_frame, refuse_graph
from acvb_core.data.sources.text_lines import read_vocabulary

#: Lists of words are taken as they are, but for how often a word must stand in them.
LISTS_OF_WORDS = Tokeniser(lowercase=False, token_pattern=NO_PATTERN, numbers=True, stop_words=())
_LISTS = (list, tuple, np.ndarray)


def is_object(source: Any) -> bool:
    """Return whether a source is a Python object, and neither a file nor a data frame."""
    file = isinstance(source, str | os.PathLike | bytes | bytearray | memoryview) or hasattr(source, "read")
    return not (file or is_frame(source))


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
    documents = _list_values(source)
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
) -> LoadedCorpus:
    """Read a Python object; the arguments and errors are those of `load_corpus`."""
    refuse_graph(source, "texts")
    kind = type(source).__name__
    if columns := resolve_columns(options):
        raise ParameterError(f"{next(iter(columns))} is for a table; this is a {kind}.")
    for option, value in options.items():
        if value not in (None, "auto"):
            raise ParameterError(f"{option} is for files; this is a {kind}.")
    own = getattr(source, "name", None)
    name = name or (own if isinstance(own, str) and own else "corpus")
    if sparse.issparse(source) or getattr(source, "ndim", 1) == 2:
        return _build_of_matrix(source, _list_words(vocabulary), None, name, tokeniser)
    if isinstance(source, Mapping | Set) or not hasattr(source, "__iter__"):
        raise ParameterError(
            "A corpus is a file, a list or column of texts, of lists of words or of lists of (word number, count), a "
            f"matrix of counts or a data frame; this is of the type {kind}."
        )
    names = _find_names(source)
    documents, of = _recognise(source, name)
    if of is tuple:
        words = _list_words(vocabulary)
        return _build_of_matrix(_read_bags(documents, name, words), words, names, name, tokeniser)
    if vocabulary is not None:
        raise ParameterError(f"A vocabulary is for word counts; {name} holds texts.")
    texts, facts = _fill_missing(documents, of, name)
    sink = MemorySink()
    called = itertools.repeat(None) if names is None else names
    facts += collect_documents(
        sink, ((text, own, None, ()) for text, own in zip(texts, called, strict=False))
    )
    read = sink.read_texts(name, CorpusLayout("lines", name), facts)
    return corpus_of_texts(read, tokeniser if of is str else _adapt_to_lists(tokeniser))


def plain_documents(given: Iterable[Any], name: str) -> tuple[list[Any], bool]:
    """Return texts, or lists of words, with nothing in place of a missing one; and whether they are lists of words."""
    documents, kind = _recognise(given, name)
    return _fill_missing(documents, kind, name)[0], kind is list


def _recognise(source: Any, name: str) -> tuple[Iterable[Any], type]:
    """Return the documents, and what they are: str, list (of words) or tuple (lists of pairs)."""
    documents = iter(_list_values(source))
    head: list[Any] = []
    for one in documents:
        head.append(one)
        if isinstance(one, str):
            return itertools.chain(head, documents), str
        if isinstance(one, _LISTS):
            if len(one):
                pairs = not isinstance(one[0], str) and np.ndim(one[0]) == 1
                return itertools.chain(head, documents), tuple if pairs else list
        elif not _is_missing(one):
            raise _no_document(one, len(head), name, "a text or a list of words")
    raise DataError("the corpus has no words", source=name, remedy="Give at least one document with a word.")


def _fill_missing(documents: Iterable[Any], kind: type, name: str) -> tuple[list[Any], list[Fact]]:
    """Return texts or lists of words, empty ones for what is missing, and the fact about these."""
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
    if not missing:
        return found, []
    told = f"{plural(len(missing), 'document')} without a text (None, NaN): taken as empty."
    return found, [Fact("missing_texts", len(missing), told, {"first": missing[:5]})]


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
    return Tokeniser.from_dict(tokeniser.to_dict() | {"token_pattern": NO_PATTERN})


def _build_of_matrix(
    matrix: Any, words: Sequence[str] | None, names: Sequence[str] | None, name: str,
    tokeniser: Tokeniser | None,
) -> LoadedCorpus:  # fmt: skip
    if tokeniser is not None:
        raise ParameterError(f"A tokeniser is for texts; {name} holds word counts.")
    documents = names or [str(i + 1) for i in range(matrix.shape[0])]
    corpus = Corpus.build(matrix, vocabulary=words, documents=documents, name=name)
    report = ReadReport(name, tuple(corpus_facts(corpus)))
    return LoadedCorpus(corpus, report, CorpusLayout("counts", name))


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


def _list_words(vocabulary: Any) -> list[str] | None:
    """Return the words of a list, file, vectoriser or dictionary (of words or of numbers), by their numbers."""
    if vocabulary is None:
        return None
    if not is_object(vocabulary):
        return read_vocabulary(vocabulary).words
    if hasattr(vocabulary, "get_feature_names_out"):
        return [str(word) for word in vocabulary.get_feature_names_out()]
    vocabulary = getattr(vocabulary, "token2id", vocabulary)
    if not isinstance(vocabulary, Mapping):
        return [str(word) for word in _list_values(vocabulary)]
    pairs = [(at, word) if isinstance(word, str) else (word, at) for at, word in vocabulary.items()]
    found = {operator.index(number): word for number, word in pairs}
    gap = next((n for n in range(len(pairs)) if n not in found), None)
    if gap is not None:
        what = f"the vocabulary has {len(pairs):,} words, and none of number {gap:,}"
        raise DataError(what, remedy="Number the words from 0 without gaps (compactify() of gensim does).")
    return [found[number] for number in range(len(pairs))]


def _list_values(column: Any) -> Any:
    """Return a column as a list; anything else as it is."""
    for method in ("to_list", "to_pylist", "tolist"):
        if hasattr(column, method):
            return getattr(column, method)()
    return column


def _find_names(source: Any) -> list[str] | None:
    """Return the names that the index of a pandas column gives, None where it only numbers from 0."""
    import pandas as pd

    index = getattr(source, "index", None)
    if not isinstance(index, pd.Index):
        return None
    if is_numbering(index):
        return None
    labels = index.tolist()
    return [" · ".join(map(str, one)) if isinstance(one, tuple) else str(one).strip() for one in labels]


def _is_missing(one: Any) -> bool:
    import pandas as pd

    return one is None or (np.ndim(one) == 0 and not isinstance(one, str) and pd.isna(one) is True)
