"""A table with a column of long texts is not taken for links unless somebody says so."""

from __future__ import annotations

import pytest

from acvb_core.core.errors import DataError
from acvb_core.data.corpora.readers import load_corpus
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.relation_readers import load_relation
from tests.loops import for_each

EVERY_WORD = Tokeniser(min_documents=1, max_share=1.0)
TEXT = "The quick brown fox number {} jumps over a lazy dog by the river bank"
REVIEWS = "author,date,review\n" + "".join(
    f"a{n % 3},2020-01-{n + 1:02},{TEXT.format(n)}\n" for n in range(25)
)
NOTES = "".join(f"p{n},{TEXT.format(n)}\n" for n in range(12))
TITLES = "".join(
    f"author {n},On the Convergence of Variational Bayes for Blocks {n % 4}\n" for n in range(20)
)


@for_each("table, text, row, column", [(REVIEWS, "review", "author", "date"), (NOTES, 1, 0, 1)])
def test_it_asks_and_names_both_ways_to_read_it(table, text, row, column):
    with pytest.raises(DataError) as caught:
        load_relation(table.encode(), filename="notes.csv")
    message = str(caught.value)
    assert "documents or links" in message
    assert f"load_corpus (text_column={text!r})" in message
    assert f"(row_column={row!r}) (column_column={column!r})" in message
    assert "The quick brown fox number 0" in message


def test_both_answers_are_taken():
    source = REVIEWS.encode()
    for answer in ({"row_column": "author", "column_column": "date"}, {"format": "edges"}, {"row_column": 0}):
        assert load_relation(source, **answer).data.shape == (3, 25)
    assert load_corpus(source, text_column="review", tokeniser=EVERY_WORD).data.n_documents == 25


@for_each(
    "table",
    [
        TITLES,
        "".join(f"person {n},A Town Meeting {n}\n" for n in range(20)),
        "".join(f"user{n},item{n % 5},{n % 3}\n" for n in range(20)),
        "".join(f"https://example.org/a/very/long/path/to/the/page/number/{n},b{n % 3}\n" for n in range(20)),
    ],
)
def test_names_of_objects_are_no_texts(table):
    load_relation(table.encode())


def test_long_names_in_a_list_of_objects_are_no_texts() -> None:
    long = "The history of the decline and fall of the Roman Empire"
    links = f"row,col\na,{long}\n".encode()
    with pytest.raises(DataError, match="documents or links"):
        load_relation(links)
    assert load_relation(links, column_nodes=[long]).data.column_labels.tolist() == [long]
