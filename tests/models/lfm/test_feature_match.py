"""Features of two runs are matched by their activations, and the spread over runs is that of the matched ones."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.core.errors import DataError
from acvb_core.data.table import Table
from acvb_core.models.lfm.features import count_alike_features, match_features, measure_spread
from acvb_core.models.lfm.state import build_posterior


def activations(seed: int, k: int, n: int = 40) -> np.ndarray:
    return np.random.default_rng(seed).random((n, k))


def test_features_in_another_order_or_flipped_are_found_and_others_stay_alone() -> None:
    z = activations(0, 5)
    other = z[:, [4, 2]]
    other[:, 1] = 1.0 - other[:, 1]
    found = match_features(z, other)
    assert (found.one.tolist(), found.other.tolist()) == ([2, 4], [1, 0])
    np.testing.assert_allclose(found.correlation, [-1.0, 1.0])
    np.testing.assert_allclose(found.alike, 1.0)
    np.testing.assert_allclose(found.correlations, np.corrcoef(z.T, other.T)[:5, 5:])
    assert (found.unmatched_one.tolist(), found.unmatched_other.tolist()) == ([0, 1, 3], [])
    z[:, 0] = 0.3  # a constant goes with no feature
    assert match_features(z, z).correlations[0].tolist() == [0.0] * 5
    with pytest.raises(DataError, match="not of the same objects"):
        match_features(z, activations(0, 2, n=39))


def test_spread_is_over_the_runs_that_have_a_feature_flipped_or_not() -> None:
    """The second run has the first feature flipped, the third run lacks it; nobody else has the second feature."""
    z = (np.random.default_rng(0).random((60, 3)) < [0.6, 0.4, 0.3]).astype(float)
    table = Table.build(np.random.default_rng(1).normal(size=(60, 2)), standardise=False)
    one, more = np.zeros(2), np.ones(2)
    weights = np.array([[1.0, 2.0], [3.0, 4.0]])
    flipped = z[:, [0, 2]].copy()
    flipped[:5, 0] = 1.0 - flipped[:5, 0]
    runs = [
        build_posterior(z[:, :2], weights, z[:, :2].mean(axis=0), one, more),
        build_posterior(1.0 - flipped, -weights - 0.5, (1.0 - flipped).mean(axis=0), one, more),
        build_posterior(z[:, 2:], weights[:1], z[:, 2:].mean(axis=0), one, more),
    ]
    spread = measure_spread(runs, table)
    features, weights_of = spread["features"], spread["weights"]
    assert features["found"].tolist() == [2, 1]
    shares = sorted([z[:, 0].mean(), flipped[:, 0].mean()])
    assert features.loc[0, ["low", "high"]].tolist() == pytest.approx(shares)
    assert features.loc[1, ["low", "high"]].isna().all()
    assert weights_of[["low", "high"]].to_numpy()[:2].tolist() == [[1.0, 1.5], [2.0, 2.5]]
    assert weights_of[["low", "high"]].iloc[2:].isna().all(axis=None)


def test_features_that_come_back_in_every_run_are_counted() -> None:
    """A flipped feature comes back; one whose partner is noise does not."""
    first, noise = activations(4, 3), activations(5, 1)
    other = np.column_stack([first[:, 2], 1.0 - first[:, 0], noise])
    runs = [{"objects": z} for z in (first, other, first[:, :1])]
    assert count_alike_features(runs[:2]) == (2, 3)  # type: ignore[arg-type]
    assert count_alike_features(runs) == (1, 3)  # type: ignore[arg-type]
