"""Corpora from files and objects: every form gives the same corpus, and its size is estimated from its head."""

from __future__ import annotations

import csv
import gzip
import io
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

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.corpora import build
from acvb_core.data.corpora import estimate as estimates
from acvb_core.data.corpora.disk_build import read_to_disk
from acvb_core.data.corpora.estimate import estimate, head_texts
from acvb_core.data.corpora.readers import inspect_corpus, load_corpus, read_texts
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.sources import parse, source
from tests.data.support import EVERYTHING, zipped
from tests.loops import for_each


def test_counts_by_hand():
    source = b"word;id;x\ncat;a;2\ndog;a;0\ncat;b;1\ncat;a;3\n"
    loaded = load_corpus(source, filename="pets.csv", document_column="id", vocabulary=b"cow\ncat\ndog\n")
    assert loaded.data.counts.toarray().tolist() == [[0, 5, 0], [0, 1, 0]]
    assert loaded.data.name == "pets"
    assert load_corpus(pd.Series(TEXTS, name="")).data.name == "corpus"
    other_digits = "doc,sea,ship,corn\na,٢,0,1\nb,0,1,0\n"
    assert inspect_corpus(other_digits.encode()).format == "table"
    assert loaded.report.count("repeated_pairs") == 1
    assert loaded.report.count("zero_counts") == 1
    assert loaded.report.count("unused_words") == 2
    without = load_corpus(b"a\tcat\na\tcat\nb\tdog\n")
    assert without.data.counts.toarray().tolist() == [[2, 0], [0, 1]]
    assert without.report.count("lines_as_tokens") == 3


GUESSES = {
    "docword": (b"2\n3\n2\n1 1 4\n2 3 1\n", "docword", {}),
    "ldac": (b"2 0:1 5:2\n0\n1 3:1\n", "ldac", {}),
    "long list": (b"doc,word,count\na,x,1\na,y,2\n", "counts", {"count_column": 2}),
    "other order": (b"term\tn\tdocument\nx\t1\ta\n", "counts", {"word_column": 0, "document_column": 2}),
    "labels that are all different": (
        b"id,label,party,abstract\n" + b"".join(b"%d,n%d,p%d,Some text\n" % (i, i, i % 2) for i in range(12)),
        "table",
        {"text_column": 3, "label_column": 2, "name_column": 0},
    ),
    "unnamed": (
        b"a1;The first text of them all\na2;And the second, with a comma\n",
        "table",
        {"text_column": 1, "name_column": 0, "header": False, "delimiter": ";"},
    ),
    "one column": (
        b'review\n"Good, really."\n"Bad.\nVery bad."\n',
        "table",
        {"text_column": 0, "header": True},
    ),
    "counts of words in files": (
        b"source,sea,ship,corn\nchapter-01-introduction.txt,2,0,1\nchapter-02-the-journey.txt,0,1,0\n",
        "matrix",
        {"document_column": 0},
    ),
    "counts of words, labelled": (
        b"sea,ship,corn,class\n2,0,1,a\n0,1,0,b\n",
        "matrix",
        {"document_column": None, "label_column": 3},
    ),
    "numbers beside texts and ids": (
        b"id,says,likes,shares,views\n"
        b"1,Some text that is a bit longer than names are,2,0,1\n2,Another one of that kind and of that length,0,1,0\n",
        "table",
        {"text_column": 1, "name_column": 0},
    ),
    "no names": (
        b"stars,text\n1,Some text of words\n1,More text\n",
        "table",
        {"text_column": 1, "name_column": None},
    ),
    "prose": (b"Well, that is it.\nOne, two.\nThree, four.\n", "lines", {}),
}


@for_each("case", list(GUESSES))
def test_format_is_guessed(case):
    source, wanted, details = GUESSES[case]
    layout = inspect_corpus(source)
    assert layout.format == wanted
    assert {name: getattr(layout, name) for name in details} == details
    assert layout.rows
    load_corpus(source, tokeniser=EVERYTHING if layout.has_texts else None)


NAMES = ["first", "second", "third", "fourth", "fifth"]
TEXTS = [
    "The ship, and the sea: ships sail.",
    "A field of corn; the harvest of 1913!",
    "",
    "The sea is wide. The ship is old, the sea is not.",
    "Corn in the field, wind on the sea",
]
TOKENISER = Tokeniser(min_documents=1)
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


def written(rows: list[list[Any]], delimiter: str = ",") -> bytes:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows(rows)
    return out.getvalue().encode()


TABLE = [["id", "text"], *map(list, zip(NAMES, TEXTS, strict=True))]
FRAME = pd.DataFrame({"id": NAMES, "text": TEXTS})

#: Form -> what is loaded, how, and whether the names of the documents are in it.
TEXT_FORMS: dict[str, tuple[Callable[[], Any], dict[str, Any], bool]] = {
    "csv": (lambda: written(TABLE), {}, True),
    "lines": (lambda: "\n".join(TEXTS).encode(), {"format": "lines"}, False),
    "zip": (lambda: zipped({f"{name}.txt": text for name, text in zip(NAMES, TEXTS, strict=True)}), {}, True),
    "list": (lambda: TEXTS, {}, False),
    "iterator": (lambda: iter(TEXTS), {}, False),
    "masked array": (lambda: np.ma.array(np.array(TEXTS, object), mask=[not text for text in TEXTS]), {}, False),
    "pandas column": (lambda: pd.Series(TEXTS, index=NAMES), {}, True),
    "pandas column, NA for no text": (
        lambda: pd.Series([text or pd.NA for text in TEXTS], NAMES, dtype="string"), {}, True,
    ),
    "pandas frame, NaN for no text": (lambda: FRAME.replace("", np.nan), {}, True),
    "pandas frame, index of names": (lambda: FRAME.set_index("id"), {}, True),
    "parquet": (lambda: FRAME.to_parquet(), {"text": "text"}, True),
    "pandas categories": (lambda: pd.Series(TEXTS, index=NAMES).astype("category"), {}, True),
    "polars column": (lambda: pytest.importorskip("polars").Series([t or None for t in TEXTS]), {}, False),
    "arrow column": (lambda: pa.chunked_array([TEXTS[:2], TEXTS[2:]]), {}, False),
    "data set": (lambda: DataSet({"id": NAMES, "text": TEXTS, "picture": [object()] * 5}), {}, True),
    "iterator of lists of words": (lambda: iter(LISTS), {}, False),
    "pandas column of arrays": (lambda: pd.Series([np.array(words, object) for words in LISTS], NAMES), {}, True),
    "arrow column of lists": (lambda: pa.array(LISTS), {}, False),
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
    of_words = "lists" in form or "of arrays" in form
    assert loaded.data.texts == (None if of_words else tuple(TEXTS))


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
    "frame of counts, filtered": (
        lambda: LONG.set_axis(pd.Index(range(3, 3 + len(LONG)))), {"vocabulary": WORDS}, True,
    ),
    "table of counts, recognised": (lambda: MATRIX.reset_index().to_csv(index=False).encode(), {}, True),
    "table of counts, its words named": (lambda: MATRIX.to_csv(sep="\t").encode(), {"vocabulary": VECTORISER}, True),
    "table of counts without words": (
        lambda: written(COUNTS.tolist()), {"format": "matrix", "header": False, "vocabulary": VOCABULARY}, False,
    ),
    "frame of counts, ids": (lambda: MATRIX.astype(float).reset_index(), {"document": "document"}, True),
    "frame of counts, numbered": (lambda: MATRIX.reset_index(drop=True), {}, False),
    "parquet, a column for each word": (lambda: MATRIX.to_parquet(), {}, True),
    "docword": (docword, {"vocabulary": WORDS}, False),
    "ldac": (ldac, {"vocabulary": WORDS}, False),
    "array": (lambda: COUNTS, {"vocabulary": VOCABULARY}, False),
    "coo": (lambda: sparse.coo_array(COUNTS), {"vocabulary": pd.Series(VOCABULARY)}, False),
    "scikit-learn": (lambda: sparse.csr_matrix(COUNTS), {"vocabulary": VECTORISER}, False),
    "scikit-learn, vocabulary_": (lambda: sparse.csr_matrix(COUNTS), {"vocabulary": NUMBERS}, False),
    "gensim": (lambda: BAGS, {"vocabulary": DICTIONARY}, False),
    "gensim, numbers of NumPy": (
        lambda: [[(np.int32(w), np.int64(n)) for w, n in bag] for bag in BAGS], {"vocabulary": DICTIONARY}, False,
    ),
    "gensim, streamed": (Streamed, {"vocabulary": DICTIONARY}, False),
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


def test_a_table_of_counts_has_labels_and_names_of_its_own() -> None:
    table = MATRIX.assign(label=["sea", "land", "", "sea", "land"]).rename({"second": "first"})
    for given in (table, table.to_csv().encode()):
        loaded = load_corpus(given)
        assert loaded.schema.format == "matrix"
        assert loaded.schema.roles == {"document_column": 0, "label_column": len(VOCABULARY) + 1}
        assert loaded.data.labels.tolist() == ["sea", "land", "", "sea", "land"]
        assert loaded.data.documents.tolist()[:2] == ["first", "first (2)"]
        assert loaded.report.count("renamed_documents") == 1


def test_columns_with_one_value_for_each_document_are_kept(tmp_path: Path) -> None:
    beside = LONG.assign(
        day=LONG["document"].map(dict(zip(NAMES, pd.date_range("2024-02-28", periods=5), strict=True))),
        stars=LONG["document"].map(dict(zip(NAMES, [1, 5, 2, 4, 3], strict=True))),
        page=range(len(LONG)),
    )
    for number, given in enumerate((beside, beside.to_csv(index=False).encode())):
        loaded = load_corpus(given, vocabulary=WORDS, word="word")
        assert loaded.data.fingerprint == load_corpus(LONG, vocabulary=WORDS).data.fingerprint
        assert loaded.data.metadata["stars"].tolist() == [1, 5, 2, 4, 3]
        assert str(loaded.data.metadata["day"][1])[:10] == "2024-02-29"
        assert set(loaded.data.metadata) == {"day", "stars"}
        told = " ".join(loaded.report.lines())
        assert "2 other columns are kept: day (date), stars (number)." in told
        assert "1 column not used (several values in one document, or no texts or numbers): page." in told
        disk = read_to_disk(given, tmp_path / str(number), vocabulary=WORDS, word="word").data.in_memory()
        assert disk.metadata["stars"].tolist() == [1, 5, 2, 4, 3]


@for_each("given, options, error, told", [
        (["a text", 3], {}, DataError, r"document 2 is of the type int, not a text \(found '3'\)"),
        ([["words"], "a text"], {}, DataError, "document 2 is of the type str, not a list of words"),
        ([1.5, 2.5], {}, DataError, "document 1 is of the type float, not a text or a list of words"),
        ([None, float("nan")], {}, DataError, "no words"),
        ({"a text", "another"}, {}, ParameterError, "of the type set"),
        ([[(0, 1)], [(0.5, 1)]], {}, DataError, "document 2 has an entry that is not"),
        ([[(0, 1)], [(-1, 1)]], {}, DataError, "document 2 has an entry that is not"),
        ([[(0, 1)], [(2, 1)]], {"vocabulary": ["a", "b"]}, DataError, "a number below 2"),
        ([[(10**12, 1)]], {}, DataError, "objects at most"),
        (BAGS, {"vocabulary": {"a": 0, "b": 2}}, DataError, "none of number 1"),
        (COUNTS, {"vocabulary": ["a", "b"]}, DataError, "2 word labels were given"),
        (COUNTS, {"tokeniser": str.split}, ParameterError, "A tokeniser is for texts"),
        (TEXTS, {"text": "body"}, ParameterError, "text_column is for a table"),
        (TEXTS, {"delimiter": ","}, ParameterError, "delimiter is for files"),
        (DataSet({"a": [1, 2, 3]}), {}, DataError, "no column of texts"),
        (DataSet({"a": TEXTS}), {"word": "a"}, ParameterError, "word_column does not apply"),
        (SimpleNamespace(column_names={"train": ["a"], "test": ["a"]}), {}, ParameterError, "one of train, test"),
        (written(TABLE), {"text": 1, "text_column": 1}, ParameterError, "text and text_column are the same"),
    ])  # fmt: skip
def test_objects_that_are_not_a_corpus_are_refused(
    given: Any, options: dict[str, Any], error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        load_corpus(given, **options)


FILES = {
    "oil/a.txt": b"the river bank",
    "oil/b.v2.TXT": "\ufeffthe goal".encode("utf-16"),
    "sport/empty.txt": b"",
    "sport/readme.md": b"no",
    ".hidden/x.txt": b"no",
}


@pytest.fixture
def folder(tmp_path) -> Path:
    for path, content in FILES.items():
        (tmp_path / "news" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "news" / path).write_bytes(content)
    return tmp_path / "news"


def test_a_folder_of_texts_is_read_as_its_zip_archive_is(folder, tmp_path):
    packed = load_corpus(zipped(dict(sorted(FILES.items()))), filename="news.zip", tokeniser=EVERYTHING)
    loaded = load_corpus(folder, tokeniser=EVERYTHING)
    assert loaded.data.identity() == packed.data.identity()
    assert loaded.data.documents.tolist() == ["oil/a", "oil/b.v2", "sport/empty"]
    assert loaded.data.labels.tolist() == packed.data.labels.tolist() == ["oil", "oil", "sport"]
    assert loaded.data.texts == packed.data.texts
    assert loaded.report.lines() == [line.replace("zip archive", "folder") for line in packed.report.lines()]
    disk = read_to_disk(str(folder), tmp_path / "disk", tokeniser=EVERYTHING)
    assert disk.report.to_dict() == loaded.report.to_dict()
    assert read_texts(folder).texts[0] == head_texts(folder).texts[0] == "the river bank"


def test_folders_without_texts_are_refused(folder, tmp_path):
    (tmp_path / "none").mkdir()
    with pytest.raises(DataError, match=r"no \.txt file among the 0 files of this folder"):
        load_corpus(tmp_path / "none")
    read_to_disk(folder, tmp_path / "disk", tokeniser=EVERYTHING)
    with pytest.raises(DataError, match="holds a corpus on disk") as caught:
        load_corpus(tmp_path / "disk")
    assert "DiskCorpus.open" in caught.value.remedy


N = 2000


@pytest.fixture
def small_heads(monkeypatch):
    monkeypatch.setattr(estimates, "_HEAD_CHARACTERS", 60_000)
    monkeypatch.setattr(estimates, "_HEAD_ENTRIES", 5_000)
    # Files of a few kilobytes are read in blocks and batches that are as much smaller.
    monkeypatch.setattr(build, "_BATCH_TEXTS", 50)
    monkeypatch.setattr(source, "_BLOCK", 1000)
    given = parse.RecordReader.__init__
    monkeypatch.setattr(
        parse.RecordReader, "__init__", lambda *args, **kw: given(*args, **({"block_bytes": 4000} | kw))
    )


@pytest.fixture(scope="module")
def files():
    """A corpus of 2,000 documents and a vocabulary by Zipf's law, in every format."""
    rng = np.random.default_rng(3)
    chance = 1.0 / np.arange(5, 3005)
    draws = rng.choice(3000, size=(N, 20), p=chance / chance.sum())
    counted = [list(zip(*np.unique(row, return_counts=True), strict=True)) for row in draws]
    pairs = [(d, w, c) for d, document in enumerate(counted) for w, c in document]
    mixed = [pairs[i] for i in rng.permutation(len(pairs))]
    texts = [" ".join(f"w{w:04d}" for w in row) for row in draws]
    ldac = [" ".join(f"{w}:{c}" for w, c in document) for document in counted]
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        for i, text in enumerate(texts):
            packed.writestr(f"{i}.txt", text)
    return {
        "mixed counts": "doc,word,count\n" + "".join(f"d{d},w{w},{c}\n" for d, w, c in mixed),
        "docword": f"{N}\n3000\n{len(pairs)}\n" + "".join(f"{d + 1} {w + 1} {c}\n" for d, w, c in pairs),
        "ldac": "".join(f"{len(document)} {line}\n" for document, line in zip(counted, ldac, strict=True)),
        "lines": "".join(f"{text}\n" for text in texts),
        "table": "id,text\n" + "".join(f'"n,{i}","{text}"\n' for i, text in enumerate(texts)),
        "zip": archive.getvalue(),
    }


def assert_near(found, corpus, within: float) -> None:
    sizes = {"documents": corpus.n_documents, "pairs": corpus.n_pairs, "tokens": corpus.n_tokens}
    for what, size in sizes.items():
        assert abs(getattr(found, what) / size - 1) < within, what
    assert 0.5 < found.words / corpus.n_words < 2.0  # rough by its nature


@pytest.mark.usefixtures("small_heads")
@for_each("packed", [False, True])
@for_each("name", ["mixed counts", "docword", "ldac", "lines", "table", "zip"])
def test_an_estimate_is_near(files, name, packed):
    given = files[name]
    content = given if isinstance(given, bytes) else given.encode()
    whole = load_corpus(content, filename="x.txt").data
    found = estimate(gzip.compress(content) if packed else content, filename="x.txt")
    # Packed bytes are read 8 kB at a time, much of a file as small as this.
    assert_near(found, whole, 0.5 if packed else 0.15)
    assert found.head_bytes < found.text_bytes / 2
    if name != "zip":
        assert abs(found.text_bytes / len(content) - 1) < (0.4 if packed else 0.001)
    assert not found.exact
    assert found.sentence.startswith("About ")


@pytest.mark.usefixtures("small_heads")
def test_an_estimate_of_a_table_of_counts_is_near(rng, monkeypatch):
    monkeypatch.setattr("acvb_core.data.sources.frames.BATCH_ROWS", 100)
    frame = pd.DataFrame(rng.poisson(0.3, size=(N, 50)), columns=[f"word{i}" for i in range(50)])
    frame.insert(0, "document", [f"d{i}" for i in range(N)])
    assert_near(estimate(frame, format="matrix"), load_corpus(frame, format="matrix").data, 0.15)
    assert estimate(frame, format="matrix").documents == N


@pytest.mark.usefixtures("small_heads")
@for_each("name", ["mixed counts", "table"])
def test_an_estimate_of_a_short_file_is_exact(files, name, monkeypatch):
    monkeypatch.setattr(estimates, "_HEAD_CHARACTERS", 10**7)
    monkeypatch.setattr(estimates, "_HEAD_ENTRIES", 10**7)
    content = files[name].encode()
    whole = load_corpus(content, filename="x.txt").data
    found = estimate(content, filename="x.txt")
    sizes = (*whole.shape, whole.n_pairs, whole.n_tokens)
    assert (found.documents, found.words, found.pairs, found.tokens) == sizes
    assert found.exact
    assert found.sentence.startswith("2,000 documents, ")
