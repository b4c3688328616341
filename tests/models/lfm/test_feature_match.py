from __future__ import annotations

import numpy as np
import pytest

from acvb_core.core.errors import DataError
from acvb_core.models.lfm.feature_match import match_features


def activations(seed: int, k: int, n: int = 40) -> np.ndarray:
    return np.random.default_rng(seed).random((n, k))


def test_features_in_another_order_are_found() -> None:
    z = activations(0, 5)
    order = np.array([3, 0, 4, 1, 2])
    found = match_features(z, z[:, order])
    assert order[found.other].tolist() == found.one.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(found.correlation, 1.0)


def test_the_contrary_of_a_feature_is_its_partner() -> None:
    z = activations(1, 3)
    other = z.copy()
    other[:, 1] = 1.0 - other[:, 1]
    found = match_features(z, other[:, ::-1])
    assert found.other.tolist() == [2, 1, 0]
    np.testing.assert_allclose(found.correlation, [1.0, -1.0, 1.0])
    np.testing.assert_allclose(found.alike, 1.0)


def test_correlations_are_those_of_pearson() -> None:
    one, other = activations(2, 3), activations(3, 4)
    expected = np.corrcoef(one.T, other.T)[:3, 3:]
    np.testing.assert_allclose(match_features(one, other).correlations, expected)


def test_pairs_are_best_in_all() -> None:
    one, other = activations(4, 4), activations(5, 4)
    found = match_features(one, other)
    from itertools import permutations

    best = max(sum(abs(found.correlations[i, j]) for i, j in enumerate(p)) for p in permutations(range(4)))
    assert found.alike.sum() == pytest.approx(best)


def test_numbers_that_differ_leave_some_alone() -> None:
    z = activations(6, 5)
    found = match_features(z, z[:, [4, 2]])
    assert found.one.tolist() == [2, 4]
    assert found.other.tolist() == [1, 0]
    assert found.unmatched_one.tolist() == [0, 1, 3]
    assert found.unmatched_other.tolist() == []
    back = match_features(z[:, [4, 2]], z)
    assert back.unmatched_other.tolist() == [0, 1, 3]


def test_a_constant_feature_goes_with_none() -> None:
    z = activations(7, 2)
    z[:, 0] = 0.3
    found = match_features(z, z)
    assert found.correlations[0].tolist() == [0.0, 0.0]
    assert found.correlation[1] == pytest.approx(1.0)


def test_a_run_without_features_has_no_pairs() -> None:
    found = match_features(np.empty((40, 0)), activations(8, 3))
    assert len(found.one) == 0
    assert found.unmatched_other.tolist() == [0, 1, 2]
    assert found.table().empty


def test_the_least_alike_come_first() -> None:
    z = activations(9, 3)
    other = z.copy()
    other[:, 1] += 3 * activations(10, 1)[:, 0]
    table = match_features(z, other).table()
    assert table["feature"].tolist()[0] == 2
    assert table["correlation"].abs().is_monotonic_increasing


def test_other_objects_are_refused() -> None:
    with pytest.raises(DataError, match="not of the same objects"):
        match_features(activations(0, 2), activations(0, 2, n=39))
