"""Tables: their scale, fingerprint and pictures, and what a table cannot be read from."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.table import Image, Table
from acvb_core.data.table_build import inspect_table, load_table
from tests.data.support import saved
from tests.loops import for_each, rotate

NAN = np.nan


def small(**options):
    return Table.build([[1.0, 10.0], [3.0, NAN], [NAN, 20.0], [5.0, 60.0]], **options)


def test_a_table_has_these_sizes_and_this_identity():
    table = small(rows=["a", "b", "c", "d"], columns=["x", "y"], name="small", labels=[1, 2, 1, ""])
    assert (table.shape, table.n_rows, table.n_columns) == ((4, 2), 4, 2)
    assert (table.n_missing, table.n_observed, table.share_missing) == (2, 6, 0.25)
    assert table.observed.tolist() == [[True, True], [True, False], [False, True], [True, True]]
    assert table.labels.tolist() == ["1", "2", "1", ""]
    assert table.size_text == "4 rows × 2 columns · 2 missing cells"
    assert table.identity() == {
        "name": "small",
        "shape": [4, 2],
        "missing": 2,
        "standardise": True,
        "fingerprint": table.fingerprint,
    }
    assert small().rows.tolist() == ["0", "1", "2", "3"]
    assert Table.build([[1, 2], [3, 4]]).size_text == "2 rows × 2 columns"


@for_each(
    "values, options, message",
    [
        (np.zeros(3), {}, r"shape \(3,\)"),
        (np.zeros((0, 3)), {}, "at least one row"),
        ([[1j, 2], [3, 4]], {}, "no real numbers"),
        ([[1, 2], [3, np.inf]], {}, r"row 2 of the column '1' is infinite .*found 'inf'"),
        ([[1, -2e100], [NAN, 1]], {}, r"row 1 of the column '1'"),
        ([[1, 2], [3, 2]], {"columns": ["x", "y"]}, r"1 column of 2 has no two different values: 'y'"),
        ([[NAN, NAN], [NAN, 2]], {}, r"2 columns of 2 have no two different values: '0', '1'"),
        ([[1, 2], [3, 4]], {"rows": ["a", "a"]}, "row label occurs 2 times"),
        ([[1, 2], [3, 4]], {"rows": ["a"]}, "1 row labels were given for 2 rows"),
        ([[1, 2], [3, 4]], {"labels": ["a"]}, "1 labels were given for 2 rows"),
        ([[1, 2], [3, 4]], {"image": Image.whole(2, 2)}, "do not make a picture of 2 x 2"),
    ],
)
def test_what_is_refused(values, options, message):
    with pytest.raises(DataError, match=message):
        Table.build(values, **options)


@given(
    arrays.arrays(
        np.float64,
        st.tuples(st.integers(3, 8), st.integers(1, 70)),
        elements=st.one_of(st.just(NAN), st.floats(-1e6, 1e6)),
    ),
    st.sampled_from([1.0, 1e-180, 1e90]),
)
def test_undoing_the_scale_gives_the_values_back(values, unit):
    values = values * unit
    values[0], values[1] = -unit, unit  # two different values in each column
    table = Table.build(values)
    scale = table.scale
    # Against NumPy, column by column, in units in which squares are neither 0 nor infinite.
    for i in range(values.shape[1]):
        known = values[~np.isnan(values[:, i]), i] / unit
        np.testing.assert_allclose(scale.mean[i] / unit, known.mean(), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(scale.sd[i] / unit, known.std(), rtol=1e-9)
    np.testing.assert_allclose(scale.undo(scale.apply(values)), values, rtol=1e-9, atol=1e-6 * unit)
    # A weight is a difference of two cells.
    difference = scale.apply(values[0]) - scale.apply(values[1])
    np.testing.assert_allclose(scale.undo_weights(difference), values[0] - values[1], rtol=1e-9)


def test_equal_data_have_equal_fingerprints():
    first = small()
    other_nan = first.values.copy()
    other_nan[1, 1] = -NAN
    assert first.with_values(other_nan).fingerprint == first.fingerprint
    assert small(rows=list("abcd"), name="other", labels=list("uuvv")).fingerprint == first.fingerprint
    changed = first.values.copy()
    changed[0, 0] = np.nextafter(1.0, 2.0)
    assert first.with_values(changed).fingerprint != first.fingerprint
    assert small(standardise=False).fingerprint != first.fingerprint
    signed = [Table.build([[zero, 1.0, 2.0], [0.0, 3.0, 4.0], [1.0, 1.0, 1.0]]) for zero in (0.0, -0.0)]
    assert signed[0].fingerprint == signed[1].fingerprint
    long = np.arange(10_000.0).reshape(-1, 1)
    moved = long.copy()
    moved[[9_998, 9_999]] = moved[[9_999, 9_998]]
    assert Table.build(long).fingerprint != Table.build(moved).fingerprint


def test_a_picture_has_its_pixels_in_the_right_places():
    image = Image.whole(2, 3)
    left_out = np.array([False, True, False, False, True, False])
    kept = image.without(left_out, np.array([NAN, 7.0, NAN, NAN, 9.0, NAN]))
    assert kept.pixels.tolist() == [0, 2, 3, 5]
    values = np.array([1.0, 2.0, 3.0, 4.0])
    assert kept.picture(values).tolist() == [[1, 7, 2], [3, 9, 4]]
    assert kept.picture(values, fill=0.0).tolist() == [[1, 0, 2], [3, 0, 4]]
    # A second time, from a picture that has a background already.
    again = kept.without(np.array([False, True, False, False]), np.array([0, 5.0, 0, 0]))
    assert again.picture(values[[0, 2, 3]]).tolist() == [[1, 7, 5], [3, 9, 4]]


@for_each(
    "image",
    [
        Image(2, 2, np.array([0, 1, 1]), np.full(4, NAN)),
        Image(2, 2, np.array([0, 1, -1]), np.full(4, NAN)),
        Image(2, 2, np.array([0, 1, 2]), np.full(3, NAN)),
    ],
)
def test_wrong_pictures_are_refused(image):
    with pytest.raises(DataError, match="3 columns do not make a picture"):
        image.check(3, "pictures")


@for_each("unit", [1e60, 1e-60, 1e-310])
def test_units_that_methods_cannot_work_in_are_refused(unit: float) -> None:
    values = np.array([[1.0, unit], [2.0, 3 * unit], [4.0, 2 * unit]])
    standardised = Table.build(values, columns=["fine", "odd"])
    wanted = "column 'odd' has the standard deviation .* outside 1e-50 to 1e\\+50. Standardise the columns"
    for not_standardised in (
        lambda: Table.build(values, columns=["fine", "odd"], standardise=False),
        lambda: standardised.with_standardise(False),
    ):
        with pytest.raises(DataError, match=wanted):
            not_standardised()


TEXTS = [
    # text, options, line, column, value, words of the message
    ("a,b\n1,2\n3,oops\n4,5\n", {}, 3, 2, "oops", "text among the numbers of the column 'b'"),
    ("a,b,c\n", {}, 1, None, None, "column names and no data"),
    ("a,b,a\n1,2,3\n4,5,6\n", {}, 1, 3, "a", "Give every column a name of its own"),
    ('n,a\n1,"1,250"\n2,"2,500"\n', {}, 2, 2, "1,250", "1.25 (decimal=',') or 1250 (decimal='.')"),
    ("a;b\n" + "1.5;2\n" * 300 + "1,234;3\n", {}, 302, 1, "1,234", "or 1234 (decimal='.')"),
    ("a;b\n1;2\n1.2345;3\n", {"decimal": ","}, 3, 1, "1.2345", "a decimal point (decimal='.')"),
    ('a,b\n1,2\n"x\ny",2\n3,nil\n', {"categories": "one-hot"}, 3, 1, "x\ny", "text among the numbers"),
    ("id,b\n1,2\n1,4\n2e101,5\n", {}, 4, 1, "2e101", "column 'id' is infinite"),
    ("a,b\n1,2\n3\n", {}, 3, 2, "3", "1 field where the first has 2, 'a,b'"),
    (",x\nA,1\nB,2\nA,3\n", {}, 4, 1, "A", "is already on line 2, column 1"),
    (",x\nA,1\nB,2\n,3\n", {}, 4, 1, None, "a row label is blank"),
    ("x,y\nA,1\nB,2\nA,3\n", {}, 2, 1, "A", "1 column of text among the columns of numbers: 'x'"),
    ("x,y\n1,2\n3,2\n", {}, 1, 2, None, r"1 column has no two different values: 'y'"),
    ("x,y\n1,2\n1,2\n", {"constants": "leave-out"}, 1, 1, None, "2 columns have no two different values"),
    ("a,b\n1,2\n", {"row_labels": "c"}, 1, None, "c", "Choose among 'a', 'b'"),
    ("a,b\n1,2\n2,3\n", {"leave_out": ["a", "b"]}, None, None, None, "no column of numbers"),
    ("a,b\n1,2\n2,3\n", {"image": "2x2"}, None, None, None, "2 x 2 has 4 pixels, but there are 2 columns"),
    (
        "a,b\nr1,1,2\nr2,3,4\n",
        {},
        1,
        None,
        "a,b",
        "most lines have 3, separated by commas: line 2 is 'r1,1,2'",
    ),
]


@for_each("case, block", rotate(TEXTS, [16, 1 << 19]))
def test_an_error_names_the_place_and_the_value(case, block):
    text, options, line, column, value, words = case
    with pytest.raises(DataError) as caught:
        load_table(text.encode(), filename="f.csv", block_bytes=block, **options)
    found = caught.value
    assert words in str(found)
    assert (found.line, found.column, found.value) == (line, column, value)
    assert found.source == "f.csv"
    assert found.remedy.endswith(".")


ARRAYS = [
    (saved(np.save, np.arange(3.0)), r"the shape \(3,\)"),
    (saved(np.save, np.array([[1j, 2]])), "the type complex128"),
    (saved(np.save, np.zeros((0, 3))), r"the shape \(0, 3\)"),
    (saved(np.save, np.array([[1, None]], dtype=object)), "cannot be read"),
    (saved(np.save, np.array([[1.0, np.inf], [2.0, 3.0]])), r"column 2: .*'x2' \(row 1\) is infinite"),
    (saved(np.savez, np.eye(2), np.eye(2)), "arr_0, arr_1: 2 arrays that may be the cells"),
    (saved(np.savez, rows=["a"]), "rows: 0 arrays that may be the cells"),
    (saved(np.savez, x=np.eye(2), rows=["a"]), "1 row labels were given for 2 rows"),
    (saved(np.savez, x=np.eye(2), labels=["a"]), "1 labels were given for 2 rows"),
    (saved(np.savez, x=np.eye(3))[:-30], "damaged zip archive"),
]


@for_each("data, words", ARRAYS)
def test_arrays_that_are_no_tables(data, words):
    with pytest.raises(DataError, match=words) as caught:
        load_table(data, filename="f.npz")
    assert caught.value.source in ("f.npz", "f")


FRAMES = [
    (pd.DataFrame({"x": [1.0, np.inf]}), r"row 2, column 'x': a number of the column 'x' is infinite"),
    (pd.DataFrame({"x": [1, 2]}, index=["a", "a"]), "row label occurs 2 times"),
    (pd.DataFrame([[1, 2], [3, 4]], columns=["x", "x"]), "column label occurs 2 times"),
    (pd.DataFrame({"x": []}), "0 rows and 1 columns"),
]


@for_each("frame, words", FRAMES)
def test_frames_that_are_no_tables(frame, words):
    with pytest.raises(DataError, match=words):
        load_table(frame, name="frame")


@for_each(
    "options",
    [
        {"categories": "drop"},
        {"image": "0x8"},
        {"image": (8, 8, 3)},
        {"image": (2.5, 2)},
        {"header": "yes"},
        {"decimal": "'"},
    ],
)
def test_options_that_make_no_sense(options):
    with pytest.raises(ParameterError):
        load_table(b"a,b\n1,2\n3,4\n", **options)


def test_looking_at_a_file():
    layout = inspect_table(b"name;a;b;c;d\nA;1,5;x;;3\nB;2;y;;z\n", "f.csv")
    assert (layout.delimiter, layout.decimal, layout.header, layout.row_column) == (";", ",", True, 0)
    assert layout.kinds == ("text", "numbers", "text", "missing", "mixed")
    assert layout.rows == (("A", "1,5", "x", "", "3"), ("B", "2", "y", "", "z"))
    ragged = inspect_table(b"a,b,c\n1,2,3\n4,5\n6,7,8,9\n1,5,3\n")
    assert (ragged.rows, ragged.lines) == ((("1", "2", "3"), ("1", "5", "3")), (2, 5))
