"""Clusters are ordered, dropped and compared the same way everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acvb_core.core import clusters
from acvb_core.core.clusters import mean_l1_change, order_by_size, rearrange, renormalise, take
from acvb_core.core.parallel import use_threads
from acvb_core.core.protocols import Posterior
from tests.loops import for_each


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60))
def test_order_is_the_stable_sort(mass: list[int]) -> None:
    expected = sorted(range(len(mass)), key=lambda k: (-mass[k], k))
    assert order_by_size(np.array(mass, dtype=float)).tolist() == expected


def test_drops_below_the_share_and_keeps_what_is_at_it() -> None:
    mass = np.array([1.0, 89.0, 0.999, 9.001])
    assert order_by_size(mass, 0.01).tolist() == [1, 3, 0]
    assert order_by_size(mass, 0.0).tolist() == [1, 3, 0, 2]
    assert order_by_size(mass, 0.5).tolist() == [1]


@for_each("mass", [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0], [2.0]])
def test_never_empty(mass: list[float]) -> None:
    order = order_by_size(np.array(mass), 0.9)
    assert order.dtype == np.int64
    assert order.tolist() == ([0] if sum(mass) else list(range(len(mass))))


def test_where_nothing_is_left_nothing_is_in_order() -> None:
    order = order_by_size(np.empty(0), 0.1)
    assert (order.dtype, order.shape) == (np.int64, (0,))
    arrays = {"objects": np.empty((5, 0)), "weights": np.empty((0, 3)), "bias": np.ones(3)}
    axes = {"objects": (None, "features"), "weights": ("features", None), "bias": (None,)}
    posterior = Posterior(arrays, axes, ("objects",), normalised=False)
    assert (posterior.n_clusters(), posterior.masses()["features"].shape) == ({"features": 0}, (0,))
    moved = rearrange(posterior, {"features": order})
    assert {name: array.shape for name, array in moved.arrays.items()} == {
        "objects": (5, 0), "weights": (0, 3), "bias": (3,)
    }  # fmt: skip
    assert mean_l1_change({"objects": arrays["objects"]}, {"objects": moved["objects"]}) == 0.0
    assert mean_l1_change({"objects": arrays["objects"]}, {"objects": np.ones((5, 1))}) == 0.0


def test_take_follows_each_axis_domain() -> None:
    array = np.arange(24.0).reshape(2, 3, 4)
    orders = {"rows": np.array([2, 0]), "cols": np.array([3, 1, 0])}
    moved = take(array, (None, "rows", "cols"), orders)
    assert moved.flags.c_contiguous
    np.testing.assert_array_equal(moved, array[:, [2, 0]][:, :, [3, 1, 0]])
    np.testing.assert_array_equal(take(array, (None, None, None), orders), array)
    np.testing.assert_array_equal(take(array, (None, "other", "cols"), orders), array[:, :, [3, 1, 0]])


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
    assert (moved.averaged, moved.derived, moved.hyper) == (
        posterior.averaged,
        posterior.derived,
        {"alpha": 2.0},
    )
    assert moved.axes == posterior.axes
    # The one given is as it was.
    np.testing.assert_array_equal(posterior["ones"], number)


def test_dropping_makes_rows_sum_to_one_again() -> None:
    q = np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0]])
    counts = np.array([3.0, 2.0, 1.0])
    posterior = Posterior(
        {"rows": q, "size": counts}, {"rows": (None, "rows"), "size": ("rows",)}, averaged=("rows",)
    )
    kept = rearrange(posterior, {"rows": np.array([2, 0])})
    np.testing.assert_allclose(kept["rows"], [[1 / 3, 2 / 3], [0.5, 0.5]])
    np.testing.assert_array_equal(kept["size"], [1.0, 3.0])
    assert kept.n_clusters() == {"rows": 2}


def test_renormalise() -> None:
    given_rows = np.array([[1.0, 3.0], [0.0, 0.0]])
    np.testing.assert_array_equal(renormalise(given_rows), [[0.25, 0.75], [0.5, 0.5]])
    np.testing.assert_array_equal(given_rows, [[1.0, 3.0], [0.0, 0.0]])


def test_mean_l1_change_is_over_the_objects_of_all_domains() -> None:
    old = {"rows": np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]), "cols": np.array([[1.0, 0.0, 0.0]])}
    new = {"rows": np.array([[0.0, 1.0], [0.5, 0.5], [0.1, 0.9]]), "cols": np.array([[0.7, 0.2, 0.1]])}
    assert mean_l1_change(new, old) == pytest.approx((2.0 + 0.0 + 0.2 + 0.6) / 4)
    assert mean_l1_change(new, new) == 0.0
    nothing = {"rows": np.zeros((2, 3))}
    assert mean_l1_change(nothing, nothing) == 0.0


def test_mean_l1_change_is_that_of_its_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """And has the same bits with any number of threads."""
    rng = np.random.default_rng(0)
    old, new = ({name: rng.random((n, 3)) for name, n in (("rows", 50), ("cols", 7))} for _ in range(2))
    whole = mean_l1_change(new, old)
    monkeypatch.setattr(clusters, "_AT_ONCE", 12)
    found = set()
    for threads in (1, 2, 3):
        with use_threads(threads):
            found.add(mean_l1_change(new, old))
    assert len(found) == 1
    assert found.pop() == pytest.approx(whole, rel=1e-12)
    assert mean_l1_change({"rows": new["rows"]}, {"rows": np.ones((50, 1))}) == pytest.approx(2.0)


def test_other_widths_count_as_the_most_there_can_be() -> None:
    old = {"rows": np.array([[1.0, 0.0], [0.5, 0.5]]), "cols": np.array([[1.0, 0.0]])}
    new = {"rows": np.ones((2, 1)), "cols": np.array([[0.5, 0.5]])}
    assert mean_l1_change(new, old) == pytest.approx((2.0 + 2.0 + 1.0) / 3)
