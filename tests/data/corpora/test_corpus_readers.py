"""What is written in each format is read back the same, and the report tells what was done."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zipfile

from hypothesis import given
from hypothesis import strategies as st

from acvb_core.data.corpora.build import corpus_of_texts
from acvb_core.data.corpora.readers import inspect_corpus, load_corpus, read_texts
from acvb_core.data.corpora.tokenise import Tokeniser
from tests.loops import for_each

EVERYTHING = Tokeniser(stop_words=(), numbers=True, min_documents=1, max_share=1.0)

# Anything a person can type; a name can neither begin nor end with a blank.
characters = st.characters(exclude_categories=["Cc", "Cs"])
names = st.text(characters | st.sampled_from('",;\t|\n'), min_size=1).filter(
    lambda text: text == text.strip() and "\r" not in text and not text.startswith("\ufeff")
)
# Files that begin like RTF, PDF or HTML are refused.
texts = st.text(characters | st.sampled_from('",;\t|\n '), max_size=60).filter(
    lambda text: "\r" not in text and not text.lstrip().startswith(("\ufeff", "{\\rtf", "%PDF", "<"))
)


def as_csv(rows, delimiter=",", newline="\r\n") -> bytes:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator=newline, quoting=csv.QUOTE_ALL).writerows(rows)
    return out.getvalue().encode()


def test_counts_by_hand():
    source = b"word;id;x\ncat;a;2\ndog;a;0\ncat;b;1\ncat;a;3\n"
    loaded = load_corpus(source, filename="pets.csv", document_column="id", vocabulary=b"cow\ncat\ndog\n")
    assert loaded.data.counts.toarray().tolist() == [[0, 5, 0], [0, 1, 0]]
    assert loaded.data.name == "pets"
    assert loaded.report.count("repeated_pairs") == 1
    assert loaded.report.count("zero_counts") == 1
    assert loaded.report.count("unused_words") == 2
    without = load_corpus(b"a\tcat\na\tcat\nb\tdog\n")
    assert without.schema.format == "counts"
    assert without.data.counts.toarray().tolist() == [[2, 0], [0, 1]]
    assert without.report.count("lines_as_tokens") == 3
    whole = load_corpus(b"doc,word,count\na,x,2.0\n")
    assert whole.data.n_tokens == 2


@given(
    st.lists(st.tuples(names, texts, names), min_size=1, max_size=6),
    st.sampled_from(",;\t|"),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_table(rows, delimiter, newline, encoding):
    source = as_csv([("title", "text", "label"), *rows], delimiter, newline).decode().encode(encoding)
    read = read_texts(source, filename="a.csv", delimiter=delimiter, format="table")
    assert read.texts == tuple(row[1] for row in rows)
    assert read.labels.tolist() == [row[2] for row in rows]
    assert len(set(read.documents)) == len(rows)
    renamed = sum(fact.count for fact in read.facts if fact.name == "renamed_documents")
    assert renamed == len(rows) - len({row[0] for row in rows})
    assert [a for a, b in zip(read.documents, rows, strict=True) if a != b[0]] == [] or renamed


def test_a_text_longer_than_any_field_of_a_relation():
    text = "the river, " * 200_000 + '"quoted"\nand a second line'
    read = read_texts(as_csv([("id", "text"), ("a", text), ("b", "short")]))
    assert read.texts == (text, "short")
    assert read.documents.tolist() == ["a", "b"]


def test_read_once_and_cut_often():
    read = read_texts(b"The river bank\nthe river boat\n\nof the\n", name="rivers")
    first = corpus_of_texts(read, EVERYTHING)
    assert first.data.vocabulary.tolist() == ["bank", "boat", "of", "river", "the"]
    assert first.data.counts.toarray().tolist() == [
        [1, 0, 0, 1, 1], [0, 1, 0, 1, 1], [0, 0, 0, 0, 0], [0, 0, 1, 0, 1],
    ]  # fmt: skip
    assert (first.data.name, first.data.texts, first.data.tokeniser) == ("rivers", read.texts, EVERYTHING)
    second = corpus_of_texts(read, Tokeniser())
    assert second.data.vocabulary.tolist() == ["river"]
    assert second.report.count("dropped_stop_word") == 2
    assert second.report.count("dropped_too_rare") == 2
    assert second.report.count("empty_documents") == 2
    assert (second.report.count("documents"), second.report.count("tokens")) == (4, 2)
    json.dumps(second.report.to_dict())
    json.dumps(second.schema.to_dict())


def archive(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as writer:
        for path, content in files.items():
            writer.writestr(path, content)
    return out.getvalue()


def test_zip_with_folders():
    files = {
        "news/sport/a.txt": b"the match",
        "news/sport/b.v2.TXT": "\ufeffthe goal".encode("utf-16"),
        "news/oil/a.txt": b"",
        "news/readme.md": b"x",
        "news/.draft.txt": b"x",
        "__MACOSX/news/sport/._a.txt": b"\0\0",
        "news/": b"",
    }
    loaded = load_corpus(archive(files), filename="news.zip", tokeniser=EVERYTHING)
    assert loaded.schema.format == "zip"
    assert loaded.data.documents.tolist() == ["news/sport/a", "news/sport/b.v2", "news/oil/a"]
    assert loaded.data.labels.tolist() == ["news/sport", "news/sport", "news/oil"]
    assert loaded.data.texts == ("the match", "the goal", "")
    assert loaded.data.name == "news"
    assert loaded.report.count("other_files") == 3
    assert loaded.report.count("files") == 3
    assert "news/readme.md" in " ".join(loaded.report.lines())


GUESSES = {
    "docword": (b"2\n3\n2\n1 1 4\n2 3 1\n", "docword", {}),
    "ldac": (b"2 0:1 5:2\n0\n1 3:1\n", "ldac", {}),
    "long list": (b"doc,word,count\na,x,1\na,y,2\n", "counts", {"count_column": 2}),
    "long list, no header": (b"1 cat 2\n1 dog 1\n".replace(b" ", b","), "counts", {"header": False}),
    "other order": (b"term\tn\tdocument\nx\t1\ta\n", "counts", {"word_column": 0, "document_column": 2}),
    "texts": (
        b"id,category,abstract\n1,a,Some text\n",
        "table",
        {"text_column": 2, "label_column": 1, "name_column": 0},
    ),
    "labels that are all different": (
        b"id,label,party,abstract\n" + b"".join(b"%d,n%d,p%d,Some text\n" % (i, i, i % 2) for i in range(12)),
        "table",
        {"text_column": 3, "label_column": 2, "name_column": 0},
    ),
    "dates, which come again now and then": (
        b"nr,day,desk,abstract\n"
        + b"".join(b"%d,%d May,desk %d,Some text of a few words\n" % (i, i % 30, i % 3) for i in range(90)),
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
    "counts of words": (
        b"doc,sea,ship,corn\na,2,0,1\nb,0,1,0\n",
        "matrix",
        {"document_column": 0, "label_column": None},
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
    "numbers beside texts": (
        b"text,likes,shares,views\nSome text,2,0,1\nMore,0,1,0\n",
        "table",
        {"text_column": 0, "label_column": None},
    ),
    "numbers beside texts and ids": (
        b"id,says,likes,shares,views\n"
        b"1,Some text that is a bit longer than names are,2,0,1\n2,Another one of that kind and of that length,0,1,0\n",
        "table",
        {"text_column": 1, "name_column": 0},
    ),
    "prose": (b"Well, that is it.\nOne, two.\nThree, four.\n", "lines", {}),
    "a line": (b"Just words", "lines", {}),
}


@for_each("case", list(GUESSES))
def test_format_is_guessed(case):
    source, wanted, details = GUESSES[case]
    layout = inspect_corpus(source)
    assert layout.format == wanted
    assert {name: getattr(layout, name) for name in details} == details
    assert layout.rows
    assert inspect_corpus(gzip.compress(source)).rows == layout.rows
    load_corpus(source, tokeniser=EVERYTHING if layout.has_texts else None)


def test_names_that_come_again():
    read = read_texts(b"id,text\na,one two\na (2),one\na,two\n,three\n", name="x")
    assert read.documents.tolist() == ["a", "a (2)", "a (3)", "4"]
    assert {fact.name: fact.count for fact in read.facts}["renamed_documents"] == 1
    assert {fact.name: fact.count for fact in read.facts}["unnamed_documents"] == 1
