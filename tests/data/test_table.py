"""The table: what is refused, its scale, its fingerprint, its picture."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from acvb_core.core.errors import DataError
from acvb_core.data.table import Image, Table, same_valued
from tests.loops import for_each

NAN = np.nan


def small(**options):
    return Table.build([[1.0, 10.0], [3.0, NAN], [NAN, 20.0], [5.0, 60.0]], **options)


def test_what_a_table_tells():
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


def test_the_values_are_a_copy_of_their_own():
    given_values = np.asfortranarray([[1.0, 2.0], [3.0, 5.0]])
    table = Table.build(given_values)
    given_values[0, 0] = 9.0
    assert table.values[0, 0] == 1.0
    assert table.values.flags.c_contiguous
    assert table.values.dtype == np.float64


@for_each(
    "values, options, message",
    [
        (np.zeros(3), {}, r"shape \(3,\)"),
        (np.zeros((0, 3)), {}, "at least one row"),
        ([["a", "b"], ["c", "d"]], {}, "no real numbers"),
        ([[1j, 2], [3, 4]], {}, "no real numbers"),
        (np.array([["2020-01-01"], ["2021-01-01"]], dtype="datetime64[D]"), {}, "no real numbers"),
        ([[1, 2], [3, np.inf]], {}, r"row 2 of the column '1' is infinite .*found 'inf'"),
        ([[1, -2e100], [NAN, 1]], {}, r"row 1 of the column '1'"),
        ([[1, 2], [3, 2]], {"columns": ["x", "y"]}, r"1 column of 2 has no two different values: 'y'"),
        ([[NAN, NAN], [NAN, 2]], {}, r"2 columns of 2 have no two different values: '0', '1'"),
        ([[1, 2], [3, 4]], {"rows": ["a", "a"]}, "row label stands 2 times"),
        ([[1, 2], [3, 4]], {"columns": ["a", "a"]}, "column label stands 2 times"),
        ([[1, 2], [3, 4]], {"rows": ["a"]}, "1 row labels were given for 2 rows"),
        ([[1, 2], [3, 4]], {"labels": ["a"]}, "1 labels were given for 2 rows"),
        ([[1, 2], [3, 4]], {"image": Image.whole(2, 2)}, "do not make a picture of 2 x 2"),
    ],
)
def test_what_is_refused(values, options, message):
    with pytest.raises(DataError, match=message):
        Table.build(values, **options)


def test_the_scale_is_that_of_the_known_cells():
    table = small()
    np.testing.assert_allclose(table.scale.mean, [3, 30])
    np.testing.assert_allclose(table.scale.sd, [np.sqrt(8 / 3), np.sqrt((400 + 100 + 900) / 3)])
    scaled = table.scale.apply(table.values)
    np.testing.assert_allclose(np.nanmean(scaled, axis=0), 0, atol=1e-15)
    np.testing.assert_allclose(np.nanstd(scaled, axis=0), 1)
    plain = small(standardise=False)
    assert (plain.scale.mean.tolist(), plain.scale.sd.tolist()) == ([3, 30], [1, 1])  # centred only


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
    zeros = Table.build([[0.0, 1.0, 2.0], [-0.0, 3.0, 4.0], [1.0, 1.0, 1.0]])
    turned = Table.build([[-0.0, 1.0, 2.0], [0.0, 3.0, 4.0], [1.0, 1.0, 1.0]])
    assert zeros.fingerprint == turned.fingerprint
    long = np.arange(10_000.0).reshape(-1, 1)
    moved = long.copy()
    moved[[9_998, 9_999]] = moved[[9_999, 9_998]]
    assert Table.build(long).fingerprint != Table.build(moved).fingerprint


def test_other_values_have_another_scale_and_count():
    table = small(labels=list("uuvv"))
    assert table.n_missing == 2
    before = table.scale.mean.copy()
    values = table.values.copy()
    values[0, 0] = NAN
    other = table.with_values(values)
    assert (other.n_missing, table.n_missing) == (3, 2)
    assert other.scale.mean[0] == 4.0 != before[0]
    assert other.labels is table.labels


def test_columns_of_one_value():
    values = np.array([[1.0, NAN, 2.0, 7.0], [1.0, NAN, 3.0, NAN], [1.0, NAN, NAN, NAN]])
    assert same_valued(values).tolist() == [True, True, False, True]


def test_a_picture_has_its_pixels_where_they_belong():
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
    assert np.isnan(kept.background[[0, 2, 3, 5]]).all()


@for_each(
    "image",
    [
        Image(2, 2, np.array([0, 1, 1]), np.full(4, NAN)),
        Image(2, 2, np.array([0, 1, 4]), np.full(4, NAN)),
        Image(2, 2, np.array([0, 1, -1]), np.full(4, NAN)),
        Image(2, 2, np.array([0, 1]), np.full(4, NAN)),
        Image(2, 2, np.array([0, 1, 2]), np.full(3, NAN)),
        Image(-2, -2, np.array([0, 1, 2]), np.full(4, NAN)),
    ],
)
def test_pictures_that_are_none(image):
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
