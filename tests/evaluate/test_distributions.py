"""Jensen-Shannon distances by hand, against SciPy, and as a metric."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

from acvb_core.core.errors import DataError
from acvb_core.evaluate.ranking import distributions, jensen_shannon
from tests.loops import for_each


def test_by_hand() -> None:
    one, other = [0.5, 0.5, 0.0], [0.5, 0.0, 0.5]
    # The mean is (1/2, 1/4, 1/4) of entropy 3/2 bits; each has an entropy of 1 bit.
    assert jensen_shannon([one], [other])[0, 0] == pytest.approx(math.sqrt(0.5), rel=1e-14)


def test_disjoint_is_one_and_identical_is_zero() -> None:
    rows = np.array([[0.3, 0.7, 0.0, 0.0], [0.0, 0.0, 0.1, 0.9], [0.3, 0.7, 0.0, 0.0]])
    expected = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    np.testing.assert_allclose(jensen_shannon(rows), expected, rtol=0, atol=1e-14)
    assert jensen_shannon(rows)[0, 2] == 0.0


def test_against_scipy(rng: np.random.Generator) -> None:
    one = rng.dirichlet(np.full(37, 0.05), size=6)
    other = rng.dirichlet(np.full(37, 0.5), size=4)
    one[one < 1e-4] = 0.0
    one /= one.sum(axis=1, keepdims=True)
    expected = [[jensenshannon(p, q, base=2) for q in other] for p in one]
    np.testing.assert_allclose(jensen_shannon(one, other), expected, rtol=1e-10)
    own = [[jensenshannon(p, q, base=2) for q in one] for p in one]
    np.testing.assert_allclose(jensen_shannon(one), own, rtol=1e-10, atol=1e-7)


def test_with_itself_is_the_same_with_and_without_naming_it(rng: np.random.Generator) -> None:
    rows = rng.dirichlet(np.full(20, 0.1), size=5)
    np.testing.assert_allclose(jensen_shannon(rows), jensen_shannon(rows, rows), rtol=1e-12)
    assert (np.diag(jensen_shannon(rows, rows)) == 0).all()


def test_is_a_metric(rng: np.random.Generator) -> None:
    d = jensen_shannon(rng.dirichlet(np.full(8, 0.1), size=12))
    assert (d == d.T).all()
    assert ((d >= 0) & (d <= 1)).all()
    assert (d[:, :, None] + d[None, :, :] >= d[:, None, :] - 1e-12).all()


def test_small_differences_are_not_lost_in_large_entropies() -> None:
    n = 10_000
    even = np.full(n, 1.0 / n)
    moved = even.copy()
    moved[0] += 1e-7
    moved[1] -= 1e-7
    # To the second order the divergence is the sum of (difference)^2 / (8 p) nats.
    expected = math.sqrt(2 * 1e-14 * n / 8 / math.log(2))
    assert jensen_shannon([even], [moved])[0, 0] == pytest.approx(expected, rel=1e-3)


def test_renaming_words_changes_nothing(rng: np.random.Generator) -> None:
    rows = rng.dirichlet(np.full(30, 0.1), size=4)
    words = rng.permutation(30)
    np.testing.assert_allclose(jensen_shannon(rows[:, words]), jensen_shannon(rows), rtol=1e-12)


def test_single_precision_is_taken() -> None:
    assert distributions(np.full((2, 50_000), 1 / 50_000, dtype=np.float32)).dtype == np.float64


@for_each(
    "given, message",
    [
        ([0.5, 0.5], r"shape \(2,\)"),
        (np.empty((0, 3)), r"shape \(0, 3\)"),
        ([[1.0, 0.0], [0.5, 0.4]], "row 2 is not a distribution"),
        ([[1.5, -0.5]], "row 1 is not a distribution"),
        ([[np.nan, 1.0]], "row 1 is not a distribution"),
    ],
)
def test_what_is_no_distribution_is_refused(given: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        distributions(given)  # type: ignore[arg-type]


def test_other_vocabularies_are_refused() -> None:
    with pytest.raises(DataError, match="over 3 words where 2 are expected"):
        jensen_shannon([[0.5, 0.5]], [[0.5, 0.5, 0.0]])
