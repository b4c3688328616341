"""Tables drawn from planted features are what they say."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.core.errors import ParameterError
from acvb_core.samples.planted_mixtures import block_images, planted_features
from tests.loops import for_each


def test_rows_are_sums_of_their_features_and_noise():
    drawn = planted_features(4_000, 12, 3, share=0.3, noise=0.5, seed=4)
    assert (drawn.table.shape, drawn.activations.shape, drawn.weights.shape) == (
        (4_000, 12),
        (4_000, 3),
        (3, 12),
    )
    assert set(np.unique(drawn.activations)) == {0.0, 1.0}
    rest = drawn.table.values - drawn.activations @ drawn.weights
    assert abs(rest.mean()) < 4 * 0.5 / np.sqrt(rest.size)
    assert abs(rest.std() - 0.5) < 4 * 0.5 / np.sqrt(2 * rest.size)
    np.testing.assert_allclose(drawn.activations.mean(axis=0), 0.3, atol=4 * np.sqrt(0.21 / 4_000))
    # The noise has nothing to do with the features.
    assert abs(np.corrcoef(rest[:, 0], drawn.activations[:, 0])[0, 1]) < 0.08
    assert drawn.table.columns[[0, -1]].tolist() == ["x1", "x12"]
    assert (drawn.table.n_missing, drawn.table.image, drawn.table.standardise) == (0, None, True)


def test_weights_are_standard_normal():
    weights = planted_features(2, 300, 30, seed=1).weights
    assert abs(weights.mean()) < 4 / np.sqrt(9_000)
    assert abs(weights.std() - 1) < 4 / np.sqrt(18_000)


def test_the_seed_decides():
    first, again, other = (planted_features(20, 4, 2, seed=seed).table for seed in (1, 1, 2))
    assert first.fingerprint == again.fingerprint != other.fingerprint
    assert block_images(20, seed=1).table.fingerprint == block_images(20, seed=1).table.fingerprint


def test_the_blocks_overlap_nowhere():
    drawn = block_images(3_000, noise=0.1, seed=2)
    assert drawn.weights.shape == (4, 36)
    assert set(np.unique(drawn.weights)) == {0.0, 1.0}
    assert (drawn.weights.sum(axis=0) <= 1).all()
    pictures = drawn.weights.reshape(4, 2, 3, 2, 3)
    # Each in a quarter of its own.
    assert [tuple(np.argwhere(p.any(axis=(1, 3)))[0]) for p in pictures] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert all(p.any(axis=(1, 3)).sum() == 1 for p in pictures)
    rest = drawn.table.values - drawn.activations @ drawn.weights
    assert abs(rest.std() - 0.1) < 0.002
    np.testing.assert_allclose(drawn.activations.mean(axis=0), 0.5, atol=0.04)


def test_a_pixel_stands_where_its_name_says():
    table = block_images(10, seed=0).table
    assert (table.image.height, table.image.width) == (6, 6)
    names = np.array([list(map(int, name[1:].split("c"))) for name in table.columns])
    row, column = names.T
    np.testing.assert_array_equal(table.image.picture(10.0 * row + column)[1], 20 + np.arange(1, 7))


@for_each(
    "arguments",
    [
        {"n_rows": 1},
        {"n_columns": 0},
        {"n_features": 0},
        {"share": 0.0},
        {"share": 1.0},
        {"noise": 0.0},
        {"noise": np.inf},
        {"noise": np.nan},
        {"seed": -1},
    ],
)
def test_what_is_refused(arguments):
    with pytest.raises(ParameterError):
        planted_features(**{"n_rows": 5, "n_columns": 3, "n_features": 2, **arguments})
    for name in ("n_rows", "noise", "seed"):
        if name in arguments:
            with pytest.raises(ParameterError):
                block_images(**{"n_rows": 5, name: arguments[name]})
