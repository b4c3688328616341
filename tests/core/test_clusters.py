"""Clusters are ordered, dropped and compared the same way everywhere."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.core import clusters
from acvb_core.core.clusters import mean_l1_change, order_by_size, rearrange
from acvb_core.core.parallel import use_threads
from acvb_core.core.protocols import Posterior


def test_drops_below_the_share_and_keeps_what_is_at_it() -> None:
    mass = np.array([1.0, 89.0, 0.999, 9.001])
    assert order_by_size(mass, 0.01).tolist() == [1, 3, 0]
    assert order_by_size(mass, 0.0).tolist() == [1, 3, 0, 2]
    assert order_by_size(mass, 0.5).tolist() == [1]
    assert order_by_size(np.ones(3), 0.9).tolist() == [0]  # never empty
    assert order_by_size(np.array([1.0, 2.0, 1.0, 2.0])).tolist() == [1, 3, 0, 2]


def test_one_permutation_moves_everything_with_a_cluster_axis(rng: np.random.Generator) -> None:
    names = {
        "rows": (None, "rows"),
        "cols": (None, "cols"),
        "ones": ("rows", "cols"),
        "turned": ("cols", "rows"),
    }
    # Each array holds its own clusters' numbers, so that what belongs together can be told afterwards.
    number = np.add.outer(100 * np.arange(4), np.arange(3)).astype(float)
    posterior = Posterior(
        {
            "rows": rng.dirichlet(np.ones(4), size=6),
            "cols": rng.dirichlet(np.ones(3), size=5),
            "ones": number,
            "turned": np.ascontiguousarray(number.T),
            "size": np.arange(4.0),
            "elsewhere": np.arange(7.0),
        },
        names | {"size": ("rows",), "elsewhere": (None,)},
        averaged=("rows", "cols"),
        derived=("ones",),
        hyper={"alpha": 2.0},
    )
    orders = {"rows": np.array([3, 1, 0, 2]), "cols": np.array([2, 0, 1])}
    moved = rearrange(posterior, orders)
    np.testing.assert_array_equal(moved["rows"], posterior["rows"][:, orders["rows"]])
    np.testing.assert_array_equal(moved["cols"], posterior["cols"][:, orders["cols"]])
    np.testing.assert_array_equal(moved["ones"] // 100, np.tile(orders["rows"][:, None], (1, 3)))
    np.testing.assert_array_equal(moved["ones"] % 100, np.tile(orders["cols"], (4, 1)))
    np.testing.assert_array_equal(moved["turned"], moved["ones"].T)
    np.testing.assert_array_equal(moved["size"], orders["rows"])
    np.testing.assert_array_equal(moved["elsewhere"], posterior["elsewhere"])
    assert (moved.averaged, moved.derived, moved.hyper) == (("rows", "cols"), ("ones",), {"alpha": 2.0})


def test_mean_l1_change_is_over_the_objects_of_all_domains(monkeypatch: pytest.MonkeyPatch) -> None:
    old = {"rows": np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]), "cols": np.array([[1.0, 0.0, 0.0]])}
    new = {"rows": np.array([[0.0, 1.0], [0.5, 0.5], [0.1, 0.9]]), "cols": np.array([[0.7, 0.2, 0.1]])}
    assert mean_l1_change(new, old) == pytest.approx((2.0 + 0.0 + 0.2 + 0.6) / 4)
    monkeypatch.setattr(clusters, "_AT_ONCE", 2)
    found = set()
    for threads in (1, 2, 3):
        with use_threads(threads):
            found.add(mean_l1_change(new, old))
    assert len(found) == 1
    assert found.pop() == pytest.approx((2.0 + 0.0 + 0.2 + 0.6) / 4)
    assert mean_l1_change({"rows": new["rows"]}, {"rows": np.ones((3, 1))}) == 2.0  # the most there can be
