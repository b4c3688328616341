"""Where FAB begins: principal components, independent ones, and the two sides of each."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core import fit
from acvb_core.data.table import Table
from acvb_core.models.lfm.kernels import StandardisedTable
from acvb_core.models.lfm.start import (
    independent_start,
    random_start,
    suitable_start,
)
from acvb_core.samples.planted_mixtures import planted_features
from tests.loops import for_each
from tests.models.lfm.fab.cases import with_holes

TRUTH = planted_features(300, 20, 4, noise=0.5, share=0.3, seed=2)


def cells(missing: float = 0.0) -> StandardisedTable:
    return StandardisedTable.of(with_holes(TRUTH.table, missing))


def agreement(sides: np.ndarray) -> np.ndarray:
    """Of each planted feature, the largest correlation of its objects with a side; with its sign."""
    k = len(sides)
    return np.corrcoef(sides, TRUTH.activations.T)[:k, k:].max(axis=0)


@for_each("missing", [0.0, 0.2])
def test_every_feature_is_a_side_of_an_independent_component(missing: float) -> None:
    """On the side that has it: the rarer one."""
    for seed in range(3):
        sides = independent_start(cells(missing), 0, np.random.default_rng(seed))
        assert sides.shape == (4, 300)
        assert ((sides >= 0) & (sides <= 1)).all()
        assert agreement(sides).min() > (0.55 if missing else 0.95)


def test_random_start_is_uniform() -> None:
    for k_max, wanted in ((0, 20), (3, 3), (900, 300)):
        mu = random_start(cells(), k_max, np.random.default_rng(0))
        assert mu.shape == (wanted, 300)
        assert np.quantile(mu, [0.1, 0.5, 0.9]) == pytest.approx([0.1, 0.5, 0.9], abs=0.05)


def test_the_start_suits_the_table() -> None:
    """At random where the components leave little noise, or where columns are few; independent components elsewhere."""
    rng = np.random.default_rng(0)
    planted = rng.random((200, 6)) < 0.4
    values = planted @ rng.normal(size=(6, 24))
    for noise, columns, is_random in ((0.05, 24, True), (1.0, 24, False), (1.0, 8, True)):
        table = StandardisedTable.of(
            Table.build(values[:, :columns] + noise * rng.normal(size=(200, columns)))
        )
        mu = suitable_start(table, 0, np.random.default_rng(1))
        make = random_start if is_random else independent_start
        np.testing.assert_array_equal(mu, make(table, 0, np.random.default_rng(1)))


def test_a_small_table_keeps_the_better_of_two_starts() -> None:
    table = planted_features(178, 14, 4, seed=0).table
    run = {init: fit(table, "fab", init=init) for init in ("auto", "ica")}
    found = {init: one.snapshot.effective_k["features"] for init, one in run.items()}
    assert found == {"auto": 4, "ica": 2}
    assert run["auto"].snapshot.lower_bound > run["ica"].snapshot.lower_bound
