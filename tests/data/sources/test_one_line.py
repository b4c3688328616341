"""A file with a line of column names and nothing below it holds no data."""

from __future__ import annotations

import pytest

from acvb_core.core.errors import DataError
from acvb_core.data.corpora.readers import load_corpus
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.relation_readers import inspect_source, load_relation
from acvb_core.data.table_build import load_table
from tests.loops import for_each

EVERY_WORD = Tokeniser(min_documents=1, max_share=1.0)
HEADERS = ["a,b\n", "id,height,width\n", "title;body;year", "# made by hand\nx\ty\n", "\ufeffAnn,Bob\r\n\r\n"]


@for_each("text", HEADERS)
def test_a_line_of_words_alone_is_no_relation(text: str) -> None:
    for read in (load_relation, inspect_source):
        with pytest.raises(DataError, match="no rows below") as caught:
            read(text.encode(), filename="upload.csv")
        assert (caught.value.source, caught.value.line) == ("upload.csv", 1)
        assert "first line is data" in caught.value.remedy
    assert load_relation(text.encode(), header=False).data.n_ones == 1
    with pytest.raises(DataError, match="column names and no data"):
        load_relation(text.encode(), header=True)


@for_each("text", ["1,2\n", "Ann,Fair,1\n", "Ann,Fair,0.5\n", "Ann,Ann\n"])
def test_a_line_that_cannot_name_columns_is_data(text: str) -> None:
    assert load_relation(text.encode()).data.n_ones == 1


def test_a_second_line_of_another_length_is_named_by_itself() -> None:
    with pytest.raises(DataError, match="1 field where the first has 2"):
        load_relation(b"a,b\nc\n")


@for_each("text", HEADERS)
def test_a_line_of_words_alone_is_no_table(text: str) -> None:
    with pytest.raises(DataError, match="column names and no data"):
        load_table(text.encode())


@for_each("text", ["id,height,width\n", "name;score", "text,label\n", "doc,word,count\n", "x\ty\n"])
def test_a_line_of_words_alone_is_no_corpus(text: str) -> None:
    with pytest.raises(DataError, match=r"no rows below|column names and no data"):
        load_corpus(text.encode())


@for_each("text", ["The quick, brown fox\n", "river\n", "river, bank\n"])
def test_one_text_is_a_corpus(text: str) -> None:
    assert load_corpus(text.encode(), tokeniser=EVERY_WORD, format="lines").data.n_documents == 1
