"""The same corpus comes out of every form that people have it in."""

from __future__ import annotations

import csv
import io
import weakref
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

import acvb_core
from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.corpora.disk_build import read_to_disk
from acvb_core.data.corpora.readers import load_corpus
from acvb_core.data.corpora.tokenise import Tokeniser
from tests.loops import for_each

NAMES = ["first", "second", "third", "fourth", "fifth"]
TEXTS = [
    "The ship, and the sea: ships sail.",
    "A field of corn; the harvest of 1913!",
    "",
    "The sea is wide. The ship is old, the sea is not.",
    "Corn in the field, wind on the sea",
]
TOKENISER = Tokeniser(min_documents=1)
TOKENISER_OF_LETTERS = Tokeniser(function=str.split, min_documents=1)
#: The words of the texts as this tokeniser keeps them.
LISTS = [
    ["ship", "sea", "ships", "sail"],
    ["field", "corn", "harvest"],
    [],
    ["sea", "wide", "ship", "old", "sea"],
    ["corn", "field", "wind", "sea"],
]
VOCABULARY = sorted({word for words in LISTS for word in words})
COUNTS = np.array([[words.count(word) for word in VOCABULARY] for words in LISTS])
BAGS = [[(w, int(row[w])) for w in np.flatnonzero(row)] for row in COUNTS]
NUMBERS = {word: number for number, word in enumerate(VOCABULARY)}


class DataSet:
    """What `load_corpus` looks for in a `datasets.Dataset`."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self.column_names = list(columns)
        self._columns = columns

    def __getitem__(self, column: str) -> list[Any]:
        return self._columns[column]


class Streamed:
    """What `load_corpus` looks for in a `gensim.corpora.MmCorpus`: documents one by one, again and again."""

    def __iter__(self) -> Iterator[list[tuple[int, float]]]:
        return ([(word, float(count)) for word, count in bag] for bag in BAGS)

    def __len__(self) -> int:
        return len(BAGS)


def stored(write: Callable[[io.BytesIO], Any]) -> bytes:
    out = io.BytesIO()
    write(out)
    return out.getvalue()


def written(rows: list[list[Any]], delimiter: str = ",") -> bytes:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows(rows)
    return out.getvalue().encode()


def packed() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in zip(NAMES, TEXTS, strict=True):
            archive.writestr(f"{name}.txt", text)
    return out.getvalue()


TABLE = [["id", "text"], *map(list, zip(NAMES, TEXTS, strict=True))]
FRAME = pd.DataFrame({"id": NAMES, "text": TEXTS})

#: Form -> what is loaded, how, and whether the names of the documents are in it.
TEXT_FORMS: dict[str, tuple[Callable[[], Any], dict[str, Any], bool]] = {
    "csv": (lambda: written(TABLE), {}, True),
    "csv, column named": (lambda: written(TABLE), {"text": "text"}, True),
    "tsv": (lambda: written(TABLE, "\t"), {}, True),
    "lines": (lambda: "\n".join(TEXTS).encode(), {"format": "lines"}, False),
    "zip": (packed, {}, True),
    "list": (lambda: TEXTS, {}, False),
    "tuple, None for no text": (lambda: tuple(text or None for text in TEXTS), {}, False),
    "iterator": (lambda: iter(TEXTS), {}, False),
    "array": (lambda: np.array(TEXTS), {}, False),
    "masked array": (lambda: np.ma.array(np.array(TEXTS, object), mask=[not text for text in TEXTS]), {}, False),
    "pandas column": (lambda: pd.Series(TEXTS, index=NAMES), {}, True),
    "pandas column, numbered": (lambda: pd.Series(TEXTS), {}, False),
    "pandas column, NaN for no text": (lambda: pd.Series([text or np.nan for text in TEXTS], NAMES), {}, True),
    "pandas column, NA for no text": (
        lambda: pd.Series([text or pd.NA for text in TEXTS], NAMES, dtype="string"), {}, True,
    ),
    "pandas frame": (lambda: FRAME, {}, True),
    "pandas frame, NaN for no text": (lambda: FRAME.replace("", np.nan), {}, True),
    "pandas frame, index of names": (lambda: FRAME.set_index("id"), {}, True),
    "polars frame": (lambda: pytest.importorskip("polars").from_pandas(FRAME), {}, True),
    "arrow table": (lambda: pa.Table.from_pandas(FRAME), {"text": "text"}, True),
    "parquet": (lambda: FRAME.to_parquet(), {}, True),
    "feather": (lambda: stored(FRAME.to_feather), {}, True),
    "json lines": (lambda: FRAME.to_json(orient="records", lines=True).encode(), {}, True),
    "pandas categories": (lambda: pd.Series(TEXTS, index=NAMES).astype("category"), {}, True),
    "polars column": (lambda: pytest.importorskip("polars").Series([t or None for t in TEXTS]), {}, False),
    "arrow column": (lambda: pa.chunked_array([TEXTS[:2], TEXTS[2:]]), {}, False),
    "data set": (lambda: DataSet({"id": NAMES, "text": TEXTS, "picture": [object()] * 5}), {}, True),
    "data set, column named": (lambda: DataSet({"of": NAMES, "x": TEXTS}), {"text": "x", "name_column": "of"}, True),
    "lists of words": (lambda: LISTS, {}, False),
    "iterator of lists of words": (lambda: iter(LISTS), {}, False),
    "pandas column of lists": (lambda: pd.Series(LISTS, index=NAMES), {}, True),
    "pandas column of arrays": (lambda: pd.Series([np.array(words, object) for words in LISTS], NAMES), {}, True),
    "arrow column of lists": (lambda: pa.array(LISTS), {}, False),
    "column of lists of a data set": (lambda: DataSet({"words": LISTS, "id": NAMES})["words"], {}, False),
}  # fmt: skip


@for_each("form", list(TEXT_FORMS))
def test_texts(form: str) -> None:
    make, options, named = TEXT_FORMS[form]
    loaded = load_corpus(make(), tokeniser=TOKENISER, **options)
    wanted = load_corpus(TEXTS, tokeniser=TOKENISER).data
    assert loaded.data.vocabulary.tolist() == VOCABULARY
    assert loaded.data.counts.toarray().tolist() == COUNTS.tolist()
    assert loaded.data.fingerprint == wanted.fingerprint
    assert loaded.data.documents.tolist() == (NAMES if named else ["1", "2", "3", "4", "5"])
    assert loaded.report.count("empty_documents") == 1
    missing = "no text" in form or form in ("masked array", "polars column")
    assert loaded.report.count("missing_texts") == (missing and "frame" not in form)
    of_words = "list" in form.removeprefix("list") or "of arrays" in form
    assert loaded.data.texts == (None if of_words or form == "lists of words" else tuple(TEXTS))


def docword() -> bytes:
    lines = [f"{d + 1} {w + 1} {n}" for d, bag in enumerate(BAGS) for w, n in bag]
    return "\n".join(map(str, [len(BAGS), len(VOCABULARY), len(lines), *lines])).encode()


def ldac() -> bytes:
    return "\n".join(" ".join([str(len(bag)), *(f"{w}:{n}" for w, n in bag)]) for bag in BAGS).encode()


WORDS = "\n".join(VOCABULARY).encode()
VECTORISER = SimpleNamespace(get_feature_names_out=lambda: np.array(VOCABULARY, dtype=object))
DICTIONARY = SimpleNamespace(token2id=NUMBERS, id2token={})

LONG = pd.DataFrame(
    [[NAMES[d], VOCABULARY[w], n] for d, bag in enumerate(BAGS) for w, n in bag or [(0, 0)]],
    columns=["document", "word", "count"],
)

MATRIX = pd.DataFrame(COUNTS, index=pd.Index(NAMES, name="document"), columns=VOCABULARY)

COUNT_FORMS: dict[str, tuple[Callable[[], Any], dict[str, Any], bool]] = {
    "counts": (lambda: LONG.to_csv(index=False).encode(), {"vocabulary": WORDS}, True),
    "counts, columns named": (
        lambda: LONG.to_csv(index=False).encode(),
        {"vocabulary": WORDS, "document": 0, "word": "word", "count": "count"}, True,
    ),
    "frame of counts": (lambda: LONG, {"vocabulary": WORDS}, True),
    "parquet of counts": (lambda: LONG.to_parquet(), {"vocabulary": WORDS}, True),
    "frame of counts, filtered": (
        lambda: pd.concat([LONG.assign(count=-1), LONG]).query("count >= 0").iloc[::-1].iloc[::-1].set_index(
            pd.Index(range(3, 3 + len(LONG)))
        ), {"vocabulary": WORDS}, True,
    ),
    "table of counts": (lambda: MATRIX.to_csv().encode(), {"format": "matrix"}, True),
    "table of counts, recognised": (lambda: MATRIX.reset_index().to_csv(index=False).encode(), {}, True),
    "table of counts, its words named": (lambda: MATRIX.to_csv(sep="\t").encode(), {"vocabulary": VECTORISER}, True),
    "table of counts without words": (
        lambda: written(COUNTS.tolist()), {"format": "matrix", "header": False, "vocabulary": VOCABULARY}, False,
    ),
    "frame of counts, a column for each word": (lambda: MATRIX, {}, True),
    "frame of counts, ids": (lambda: MATRIX.astype(float).reset_index(), {"document": "document"}, True),
    "frame of counts, numbered": (lambda: MATRIX.reset_index(drop=True), {}, False),
    "parquet, a column for each word": (lambda: MATRIX.to_parquet(), {}, True),
    "json lines, a column for each word": (
        lambda: MATRIX.reset_index().to_json(orient="records", lines=True).encode(), {"format": "matrix"}, True,
    ),
    "data set, a column for each word": (
        lambda: DataSet({column: MATRIX.reset_index()[column].tolist() for column in ["document", *VOCABULARY]}), {},
        True,
    ),
    "docword": (docword, {"vocabulary": WORDS}, False),
    "ldac": (ldac, {"vocabulary": WORDS}, False),
    "array": (lambda: COUNTS, {"vocabulary": VOCABULARY}, False),
    "array of floats": (lambda: COUNTS.astype(float), {"vocabulary": WORDS}, False),
    "csr": (lambda: sparse.csr_matrix(COUNTS), {"vocabulary": np.array(VOCABULARY)}, False),
    "coo": (lambda: sparse.coo_array(COUNTS), {"vocabulary": pd.Series(VOCABULARY)}, False),
    "scikit-learn": (lambda: sparse.csr_matrix(COUNTS), {"vocabulary": VECTORISER}, False),
    "scikit-learn, vocabulary_": (lambda: sparse.csr_matrix(COUNTS), {"vocabulary": NUMBERS}, False),
    "gensim": (lambda: BAGS, {"vocabulary": DICTIONARY}, False),
    "gensim, id2word": (lambda: BAGS, {"vocabulary": {n: word for word, n in NUMBERS.items()}}, False),
    "gensim, numbers of NumPy": (
        lambda: [[(np.int32(w), np.int64(n)) for w, n in bag] for bag in BAGS], {"vocabulary": DICTIONARY}, False,
    ),
    "gensim, streamed": (Streamed, {"vocabulary": DICTIONARY}, False),
    "gensim, iterator": (lambda: iter(BAGS), {"vocabulary": DICTIONARY}, False),
}  # fmt: skip


@for_each("form", list(COUNT_FORMS))
def test_counts(form: str) -> None:
    make, options, named = COUNT_FORMS[form]
    loaded = load_corpus(make(), **options)
    assert loaded.data.vocabulary.tolist() == VOCABULARY
    assert loaded.data.counts.toarray().tolist() == COUNTS.tolist()
    assert loaded.data.fingerprint == load_corpus(TEXTS, tokeniser=TOKENISER).data.fingerprint
    if "ldac" not in form:
        assert loaded.data.documents.tolist() == (NAMES if named else ["1", "2", "3", "4", "5"])
    assert loaded.report.count("empty_documents") == 1


def test_a_table_of_counts_has_labels_and_names_of_its_own(tmp_path: Path) -> None:
    table = MATRIX.assign(label=["sea", "land", "", "sea", "land"]).rename({"second": "first"})
    for given in (table, table.to_csv().encode()):
        loaded = load_corpus(given)
        assert loaded.schema.format == "matrix"
        assert loaded.schema.roles == {"document_column": 0, "label_column": len(VOCABULARY) + 1}
        assert loaded.data.labels.tolist() == ["sea", "land", "", "sea", "land"]
        assert loaded.data.documents.tolist()[:2] == ["first", "first (2)"]
        assert loaded.report.count("renamed_documents") == 1
        disk = read_to_disk(given, tmp_path / type(given).__name__)
        assert disk.data.identity() == loaded.data.identity()
        assert disk.report.to_dict() == loaded.report.to_dict()
        assert disk.data.in_memory().labels.tolist() == loaded.data.labels.tolist()


def test_columns_with_one_value_for_each_document_are_kept(tmp_path: Path) -> None:
    beside = LONG.assign(
        day=LONG["document"].map(dict(zip(NAMES, pd.date_range("2024-02-28", periods=5), strict=True))),
        stars=LONG["document"].map(dict(zip(NAMES, [1, 5, 2, 4, 3], strict=True))),
        page=range(len(LONG)),
    )
    for number, given in enumerate((beside, beside.to_csv(index=False).encode(), beside.to_parquet())):
        loaded = load_corpus(given, vocabulary=WORDS, word="word")
        assert loaded.data.fingerprint == load_corpus(LONG, vocabulary=WORDS).data.fingerprint
        assert loaded.data.metadata["stars"].tolist() == [1, 5, 2, 4, 3]
        assert loaded.data.metadata["day"].astype("datetime64[D]")[:2].astype(str).tolist() == [
            "2024-02-28",
            "2024-02-29",
        ]
        assert set(loaded.data.metadata) == {"day", "stars"}
        told = " ".join(loaded.report.lines())
        assert "2 other columns are kept: day, stars." in told
        assert "1 column not used (several values in one document, or no texts or numbers): page." in told
        disk = read_to_disk(given, tmp_path / str(number), vocabulary=WORDS, word="word").data.in_memory()
        assert disk.metadata["stars"].tolist() == [1, 5, 2, 4, 3]


def test_words_without_a_vocabulary_are_numbers() -> None:
    assert load_corpus(BAGS).data.vocabulary.tolist() == [str(n) for n in range(len(VOCABULARY))]
    assert load_corpus(COUNTS).data.fingerprint == load_corpus(BAGS).data.fingerprint


def test_a_matrix_is_a_corpus_where_the_model_says_so() -> None:
    for given in (COUNTS, sparse.csr_array(COUNTS), BAGS):
        result = acvb_core.fit(given, "cvb0", model="lda", k=2, max_sweeps=2)
        assert result.prepared.data.shape == COUNTS.shape
    with pytest.raises(ParameterError, match="documents or links"):
        acvb_core.fit([["ann", "bob"], ["bob", "eve"]], "acvb0")
    links = [["ann", "bob"], ["bob", "eve"], ["eve", "eve"]]
    assert acvb_core.fit(links, "cvb0", model="lda", k=2, max_sweeps=2).prepared.data.n_words == 2


@for_each("given, options, error, told", [
        (["a text", 3], {}, DataError, r"document 2 is of the type int, not a text \(found '3'\)"),
        (["a text", ["words"]], {}, DataError, "document 2 is of the type list, not a text"),
        ([["words"], "a text"], {}, DataError, "document 2 is of the type str, not a list of words"),
        ([1.5, 2.5], {}, DataError, "document 1 is of the type float, not a text or a list of words"),
        ([None, float("nan")], {}, DataError, "no words"),
        ([], {}, DataError, "no words"),
        ({"a text", "another"}, {}, ParameterError, "of the type set"),
        ({"first": "a text"}, {}, ParameterError, "of the type dict"),
        (5, {}, ParameterError, "A corpus is a file, a list or column of texts"),
        ([[(0, 1)], [(0, "x")]], {}, DataError, "document 2 has an entry that is not"),
        ([[(0, 1)], [(0.5, 1)]], {}, DataError, "document 2 has an entry that is not"),
        ([[(0, 1)], [(-1, 1)]], {}, DataError, "document 2 has an entry that is not"),
        ([[(0, 1)], [(2, 1)]], {"vocabulary": ["a", "b"]}, DataError, "a number below 2"),
        ([[(0, 1.5)]], {}, DataError, "not a whole number"),
        ([[(10**12, 1)]], {}, DataError, "objects at most"),
        (BAGS, {"vocabulary": {"a": 0, "b": 2}}, DataError, "none of number 1"),
        (COUNTS, {"vocabulary": ["a", "b"]}, DataError, "2 word labels were given"),
        (COUNTS / 3, {}, DataError, "not a whole number"),
        (COUNTS, {"tokeniser": str.split}, ParameterError, "A tokeniser is for texts"),
        (TEXTS, {"vocabulary": ["a"]}, ParameterError, "A vocabulary is for word counts"),
        (TEXTS, {"text": "body"}, ParameterError, "text_column is for a table"),
        (TEXTS, {"delimiter": ","}, ParameterError, "delimiter is for files"),
        (DataSet({"a": [1, 2, 3]}), {}, DataError, "no column of texts"),
        (DataSet({"a": TEXTS}), {"text": "b"}, DataError, "b"),
        (DataSet({"a": TEXTS}), {"word": "a"}, ParameterError, "word_column does not apply"),
        (SimpleNamespace(column_names={"train": ["a"], "test": ["a"]}), {}, ParameterError, "one of train, test"),
        (written(TABLE), {"text": 1, "text_column": 1}, ParameterError, "text and text_column are the same"),
    ])  # fmt: skip
def test_what_is_no_corpus_is_refused_in_one_sentence(
    given: Any, options: dict[str, Any], error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        load_corpus(given, **options)


def test_names_of_an_index() -> None:
    levels = pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])
    assert load_corpus(pd.Series(["x y", "y z"], levels), tokeniser=TOKENISER_OF_LETTERS).data.documents.tolist() == [
        "a · 1", "a · 2",
    ]  # fmt: skip
    twice = load_corpus(pd.Series(TEXTS, list("abcab"), name="body"))
    assert twice.data.documents.tolist() == ["a", "b", "c", "a (2)", "b (2)"]
    assert (twice.data.name, twice.report.count("renamed_documents")) == ("body", 2)
    for index in ([0, 3, 4, 7, 8], list("abcde")):
        frame = pd.DataFrame({"title": NAMES, "text": TEXTS}, index=index)
        for given in (frame, frame.to_parquet(), frame.drop(columns="title")):
            assert load_corpus(given, tokeniser=TOKENISER).data.documents.tolist() == list(map(str, index))
        assert load_corpus(frame, tokeniser=TOKENISER, name_column="title").data.documents.tolist() == NAMES
    kept = pd.Series(TEXTS)[[0, 3, 4]]
    assert load_corpus(kept).data.documents.tolist() == ["0", "3", "4"]
    assert load_corpus(kept.reset_index(drop=True)).data.documents.tolist() == ["1", "2", "3"]


def test_a_stream_of_bags_is_not_held() -> None:
    class Bag(list[tuple[int, int]]):
        pass

    seen: list[weakref.ref[Bag]] = []

    def stream() -> Iterator[Bag]:
        for bag in BAGS * 10:
            one = Bag(bag)
            seen.append(weakref.ref(one))
            assert sum(reference() is not None for reference in seen) <= 5
            yield one

    assert load_corpus(stream()).data.n_documents == 50
