"""Arrays and matrices in memory: what their numbers mean, and which are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.corpus import Corpus
from acvb_core.data.network import as_network
from acvb_core.data.relation import Relation
from acvb_core.data.table import Table
from acvb_core.data.table_build import load_table
from tests.loops import for_each

CELLS = [[1.0, np.nan, 0.0], [0.0, 1.0, 1.0]]
SHAPES: dict[str, Callable[[Any], Any]] = {
    "lists": list,
    "array": np.array,
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
    "coo": sparse.coo_array,
    "matrix": sparse.csr_matrix,
    "frame": pd.DataFrame,
    "nullable frame": lambda cells: pd.DataFrame(cells).astype("Float64"),
    "masked": np.ma.masked_invalid,
    "objects": lambda cells: np.array(cells, dtype=object),
}


@for_each("form", list(SHAPES))
def test_nan_is_a_missing_entry(form: str) -> None:
    relation = Relation.build(SHAPES[form](CELLS))
    np.testing.assert_array_equal(relation.ones.toarray(), [[1, 0, 0], [0, 1, 1]])
    np.testing.assert_array_equal(relation.missing.toarray(), [[0, 1, 0], [0, 0, 0]])


@for_each("type_", ["<f2", ">f8", "<g", ">i2", "|b1"])
def test_numbers_of_any_size_and_byte_order_are_links(type_: str) -> None:
    assert Relation.build(np.eye(2).astype(type_)).n_ones == 2


@for_each("form", list(SHAPES))
@for_each("value", [-3.0, 0.5, 2.0])
def test_a_value_that_is_neither_0_nor_1_needs_a_threshold(form: str, value: float) -> None:
    cells = SHAPES[form]([[1.0, 0.0, 0.0], [0.0, 1.0, value]])
    with pytest.raises(DataError, match=r"row 2, column 3 is neither 0 .*threshold=0") as caught:
        Relation.build(cells, name="upload")
    assert caught.value.value == f"{value:g}"
    assert caught.value.source == "upload"
    linked = Relation.build(cells, threshold=1).ones.toarray()
    np.testing.assert_array_equal(linked, [[0, 0, 0], [0, 0, value > 1]])


def test_a_threshold_takes_missing_entries_and_repeated_ones() -> None:
    given = sparse.coo_array(([2, 2, np.nan, -5], ([0, 0, 0, 1], [0, 0, 1, 1])), shape=(2, 3))
    relation = Relation.build(given, threshold=3)
    np.testing.assert_array_equal(relation.ones.toarray(), [[1, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(relation.missing.toarray(), [[0, 1, 0], [0, 0, 0]])
    assert given.nnz == 4  # what was given stays as it is
    for threshold in (-1, np.inf, np.nan):
        with pytest.raises(ParameterError):
            Relation.build(given, threshold=threshold)


def test_masked_entries_are_missing_whatever_is_below_the_mask() -> None:
    masked = np.ma.array([[1, 7], [0, 1]], mask=[[0, 1], [0, 0]])
    np.testing.assert_array_equal(Relation.build(masked).missing.toarray(), [[0, 1], [0, 0]])
    cells = np.ma.array([[1.0, 7.0], [0.0, 1.0], [3.0, 4.0]], mask=[[0, 1], [0, 0], [0, 0]])
    assert Table.build(cells).n_missing == 1
    assert load_table(cells).data.n_missing == 1
    with pytest.raises(DataError, match="row 1, column 2 is missing"):
        Corpus.build(cells)


def test_missing_entries_of_both_kinds_are_joined_and_marks_are_0_or_1() -> None:
    relation = Relation.build([[np.nan, 0, 1]], [[0, 1, 0]])
    np.testing.assert_array_equal(relation.missing.toarray(), [[1, 1, 0]])
    with pytest.raises(DataError, match="marks missing entries holds NaN"):
        Relation.build([[0, 0]], [[np.nan, 0]])
    with pytest.raises(DataError, match="neither 0"):
        Relation.build([[0, 0]], [[2, 0]])
    with pytest.raises(DataError, match="both 1 and missing"):
        Relation.build(sparse.coo_array(([1, np.nan], ([0, 0], [0, 0])), shape=(1, 1)))


@for_each("given", [[[1, np.inf]], [[1j, 0]], [["a", "b"]], [1, 0], [[1], [0, 1]], np.zeros((2, 2, 2))])
def test_what_is_no_matrix_of_numbers_is_refused(given: Any) -> None:
    for build in (
        lambda: Relation.build(given, threshold=0),
        lambda: Corpus.build(given),
        lambda: Table.build(given),
    ):
        with pytest.raises(DataError) as caught:
            build()
        assert caught.value.remedy


def tampered(kind: str, **parts: Any) -> Any:
    """A sound matrix whose arrays were changed behind SciPy's back."""
    matrix = sparse.csr_array(np.eye(3)).asformat(kind)
    for name, part in parts.items():
        setattr(matrix, name, np.array(part))
    return matrix


TAMPERED = {
    "index beyond": tampered("csr", indices=[0, 1, 99_999_999]),
    "negative index": tampered("csr", indices=[0, 1, -1]),
    "pointers that fall": tampered("csr", indptr=[0, 3, 1, 3]),
    "pointers beyond": tampered("csr", indptr=[0, 1, 2, 9]),
    "pointers too few": tampered("csr", indptr=[0, 1, 3]),
    "values too few": tampered("csr", data=[1.0]),
    "indices too few": tampered("csc", indices=[0]),
    "fractional indices": tampered("csr", indices=[0.0, 1.0, 2.0]),
    "row beyond": tampered("csc", indices=[0, 1, 3]),
    "coordinates beyond": tampered("coo", row=[0, 1, 3]),
    "coordinates too few": tampered("coo", row=[0, 1]),
    "blocks beyond": tampered("bsr", indices=[0, 1, 3]),
    "diagonal beyond": tampered("dia", offsets=[9]),
    "offsets too few": tampered("dia", offsets=[]),
    "the same offset twice": tampered("dia", offsets=[0, 0], data=np.ones((2, 3))),
}


@for_each("case", list(TAMPERED))
def test_a_broken_matrix_is_refused_at_every_door(case: str) -> None:
    given = TAMPERED[case]
    sound = Relation.build(np.eye(3))
    doors: list[Callable[[], Any]] = [
        lambda: Relation.build(given),
        lambda: Relation.build(np.zeros((3, 3)), given),
        lambda: Corpus.build(given),
        lambda: Table.build(given),
        lambda: load_table(given),
        lambda: as_network(sound, zeros=given),
    ]
    for door in doors:
        with pytest.raises(DataError) as caught:
            door()
        assert caught.value.remedy


def test_a_broken_matrix_of_lists_is_refused() -> None:
    matrix = sparse.lil_array(np.eye(3))
    matrix.rows[1] = [7]
    with pytest.raises(DataError, match="index 7 exceeds"):
        Relation.build(matrix)
    matrix.rows[1] = [0, 1, 2]
    with pytest.raises(DataError, match="more indices than entries"):
        Relation.build(matrix)


def test_room_that_a_matrix_keeps_for_more_entries_is_left_out() -> None:
    roomy = sparse.csr_array(np.eye(2))
    roomy.indices, roomy.data = np.array([0, 1, 77]), np.array([1.0, 1.0, -8.0])
    assert Relation.build(roomy).n_ones == 2
    assert len(roomy.data) == 3


def test_a_matrix_that_claims_far_too_many_objects_is_refused() -> None:
    vast = sparse.coo_array(([1.0], ([0], [1])), shape=(2**31 - 2, 2**31 - 2))
    for door in (Relation.build, Corpus.build, Table.build, load_table):
        with pytest.raises(DataError, match="2,147,483,646 x 2,147,483,646"):
            door(vast)


@for_each(
    "value, what",
    [
        (np.nan, "missing"),
        (-1, "negative"),
        (0.5, "not a whole number"),
        (np.inf, "larger"),
        (2.0**40, "larger"),
    ],
)
def test_a_word_count_that_is_none_is_named_with_its_place(value: float, what: str) -> None:
    for form in (np.array, sparse.csr_array, sparse.coo_array):
        with pytest.raises(DataError, match=f"row 2, column 1 is {what}"):
            Corpus.build(form([[1, 2], [value, 0]]))


def test_word_counts_beyond_whole_numbers_of_64_bits_are_refused() -> None:
    with pytest.raises(DataError, match="larger than 2,147,483,647"):
        Corpus.build(np.array([[2**63 + 5, 1]], dtype=np.uint64))
