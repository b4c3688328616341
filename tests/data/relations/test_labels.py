"""Known labels from a table: each beside its object, and what did not fit is told."""

from __future__ import annotations

import gzip

import pytest

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.relation import Relation
from acvb_core.data.relation_readers import load_labels
from tests.loops import for_each

RELATION = Relation.build([[0, 1], [1, 0], [1, 1]], row_labels=["Ann", "Bob", "3"])


def test_labels_stand_beside_their_objects():
    found = load_labels(gzip.compress(b"name;club;age\n3;go;\nAnn;chess;41\nBob;go;7\n"), RELATION)
    assert {name: values.tolist() for name, values in found.items()} == {
        "club": ["chess", "go", "go"],
        "age": ["41", "7", ""],
    }
    assert found.report.lines() == [
        "Read 4 lines of labels; the first holds names.",
        "3 of 3 objects have labels: club, age.",
    ]


@for_each("header", ["auto", False])
def test_a_first_line_with_an_object_is_data(header):
    found = load_labels(b"Ann\tchess\nBob\tgo\n", RELATION, header=header)
    assert found["column 2"].tolist() == ["chess", "go", ""]
    assert "the first holds data" in found.report.lines()[0]
    assert found.report.count("unlabelled") == 1


def test_names_that_are_no_objects_are_counted():
    found = load_labels(b"name,club\nAnn,chess\nZed,go\nYan,go\nXi,go\nWu,go\nZed,go\n", RELATION)
    assert found["club"].tolist() == ["chess", "", ""]
    assert (found.report.count("unknown_names"), found.report.count("labelled")) == (4, 1)
    assert "Zed (line 3), Yan (line 4), Xi (line 5), …; skipped." in found.report.lines()[-1]


def test_no_object_at_all_is_an_error():
    with pytest.raises(DataError, match=r"none of the 2 names.*'Ann', 'Bob', '3'.*'zed, yan'") as told:
        load_labels(b"name,club\nzed,go\nyan,chess\n", RELATION, filename="clubs.csv")
    assert (told.value.source, told.value.line, told.value.column) == ("clubs.csv", 2, 1)


def test_two_lines_of_one_object():
    assert load_labels(b"name,club\nAnn,go\nAnn,go\n", RELATION)["club"].tolist() == ["go", "", ""]
    with pytest.raises(DataError, match=r"other labels on line 2") as told:
        load_labels(b"name,club\nAnn,go\nBob,go\nAnn,chess\n", RELATION)
    assert (told.value.line, told.value.value) == (4, "Ann")


@for_each("choice", [1, "who"])
def test_the_names_can_be_in_another_column(choice):
    found = load_labels(b"club,who\ngo,Ann\nchess,Bob\n", RELATION, name_column=choice)
    assert found["club"].tolist() == ["go", "chess", ""]
    with pytest.raises(DataError, match="no column"):
        load_labels(b"club,who\ngo,Ann\n", RELATION, name_column="person")


def test_tables_that_are_none():
    with pytest.raises(DataError, match="one field"):
        load_labels(b"Ann\nBob\n", RELATION)
    with pytest.raises(DataError, match="same name"):
        load_labels(b"name,club,club\nAnn,go,chess\n", RELATION)
    with pytest.raises(DataError, match="empty"):
        load_labels(b"", RELATION)
    with pytest.raises(DataError, match="no labels"):
        load_labels(b"name,club\n", RELATION)


@for_each("column", [False, None])
def test_names_need_a_column(column):
    relation = Relation.build([[0, 1], [1, 0]], row_labels=["Ann", "Bob"])
    with pytest.raises(ParameterError, match="name_column"):
        load_labels(b"name,club\nBob,chess\nAnn,go\n", relation, name_column=column)


def test_a_sparse_matrix_holds_no_labels():
    matrix = b"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n"
    with pytest.raises(DataError, match="a MatrixMarket file"):
        load_labels(matrix, Relation.build([[0, 1], [1, 0]]))
