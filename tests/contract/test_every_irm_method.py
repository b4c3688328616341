"""What every method keeps to that clusters relations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from acvb_core.clusters import order_by_size
from acvb_core.data.synthetic import planted
from acvb_core.errors import ParameterError
from acvb_core.irm.state import block_counts
from acvb_core.registry import model_row
from acvb_core.rows import Method

from .cases import CASES, arrays_in, built, course, data_of, last_of, methods_for
from .test_every_method import assert_posterior

RELATIONS = data_of("irm")
every_method = methods_for("irm")


@every_method
@pytest.mark.parametrize("sizes", [(2, 5), (5, 2)], ids=str)
def test_intervals_hold_the_mean_of_every_block(row: Method, sizes: tuple[int, int]) -> None:
    """With a and b of at least one the posterior of a block is no U, and its mean is inside the central interval."""
    relation = RELATIONS["planted"]
    inference = built(row, relation, k_rows=sizes[0], k_cols=sizes[1], hyper="fixed", a=1.0, b=1.0)
    blocks = model_row(row.model).build(relation).tables(inference.posterior(last_of(inference)))["blocks"]
    assert (blocks["low"] <= blocks["mean"]).all()
    assert (blocks["mean"] <= blocks["high"]).all()
    assert (blocks["low"] < blocks["high"]).all()


@every_method
def test_state_can_be_swept_again_with_the_same_bits(row: Method) -> None:
    relation = RELATIONS["missing entries"]
    for options in ({}, {"hyper": "per-block"}, {"variance": "exact"}):
        if not row.sampled or "hyper" not in options:
            inference = built(row, relation, **options)
            state = inference.init(np.random.default_rng(0))
            data = [relation.ones.indices.copy(), relation.missing.indices.copy()]
            for sweep in range(20):  # merges included
                arrays = arrays_in(state)
                assert len(arrays) >= 2
                before = [array.copy() for array in arrays]
                posterior = {k: v.copy() for k, v in inference.posterior(state).arrays.items()}
                new, _ = inference.sweep(state, np.random.default_rng(sweep))
                for array, copy in zip(arrays, before, strict=True):
                    np.testing.assert_array_equal(array, copy)
                for name, array in inference.posterior(state).arrays.items():
                    np.testing.assert_array_equal(array, posterior[name])
                again, _ = inference.sweep(state, np.random.default_rng(sweep))
                for one, other in zip(arrays_in(new), arrays_in(again), strict=True):
                    assert one.tobytes() == other.tobytes()
                state = new
            np.testing.assert_array_equal(relation.ones.indices, data[0])
            np.testing.assert_array_equal(relation.missing.indices, data[1])


@every_method
@pytest.mark.parametrize("merge", [False, True])
def test_order_says_where_every_cluster_has_gone(row: Method, merge: bool) -> None:
    """An order names the old clusters that are left, each once; without one nothing has moved (or some were merged)."""
    if row.sampled:
        return
    relation = planted(60, 50, 3, 3, 5).relation
    inference = built(
        row, relation, k_rows=9, k_cols=8, merge=merge, init="random", shrink=1e-3, burn_in=1000
    )
    dropped = moved = 0
    states = list(course(inference, 40))
    for (before, _), (after, info) in zip(states[:-1], states[1:], strict=True):
        assert info is not None
        old, new = inference.current(before), inference.current(after)
        if info.order is None:
            if not merge:
                assert old.n_clusters() == new.n_clusters()
            continue
        assert set(info.order) == {"rows", "cols"}
        for domain, order in info.order.items():
            assert len(order) == new[domain].shape[1]
            assert len(set(order.tolist())) == len(order)
            assert order.min() >= 0
            assert order.max() < old[domain].shape[1]
            dropped += len(order) < old[domain].shape[1]
            moved += not (order == np.arange(len(order))).all()
        ones, entries = block_counts(relation, new["rows"], new["cols"])
        np.testing.assert_allclose(new["ones"], ones, atol=1e-9)
        np.testing.assert_allclose(new["entries"], entries, atol=1e-9)
        if row.name != "vb":  # which keeps another order where sorting would lower its bound
            mass = new["rows"].sum(axis=0)
            assert order_by_size(mass).tolist() == list(range(len(mass)))
    if not merge:
        assert dropped
        assert moved


@every_method
def test_order_is_the_one_the_sweep_applied(row: Method) -> None:
    """Clusters far apart keep their objects, so that each new cluster can be told from its members."""
    if row.sampled or row.name == "vb":  # VB sorts only where that does not lower its bound
        return
    truth = planted(60, 50, 3, 3, 5)
    inference = built(row, truth.relation, k_rows=3, k_cols=3, smoothing=0.0, merge=False, burn_in=1000)
    state = last_of(inference, 5)
    inner = getattr(state, "inner", state)
    turned = replace(
        inner,
        rows=np.ascontiguousarray(inner.rows[:, ::-1]),
        ones=np.ascontiguousarray(inner.ones[::-1]),
        entries=np.ascontiguousarray(inner.entries[::-1]),
    )
    start = turned if inner is state else replace(state, inner=turned)
    after, info = inference.sweep(start, np.random.default_rng(9))
    assert info.order is not None
    sizes = turned.rows.sum(axis=0)
    assert len(set(np.round(sizes))) == 3
    assert info.order["rows"].tolist() == order_by_size(sizes).tolist()
    np.testing.assert_allclose(inference.current(after)["rows"], turned.rows[:, info.order["rows"]], atol=0.1)


@every_method
@pytest.mark.parametrize("name", ["planted", "mostly missing", "links only"])
def test_per_block_prior_stays_finite(row: Method, name: str) -> None:
    if row.sampled:
        with pytest.raises(ParameterError, match="hyper"):
            built(row, RELATIONS[name], hyper="per-block")
        return
    inference, model = (
        built(row, RELATIONS[name], hyper="per-block"),
        model_row(row.model).build(RELATIONS[name]),
    )
    for state, _ in course(inference, 50):
        posterior = inference.posterior(state)
        assert_posterior(posterior, row, RELATIONS[name], True)
        if posterior.n_clusters() != {"rows": 1, "cols": 1}:
            assert posterior.axes["a"] == posterior.axes["b"] == ("rows", "cols")
        assert np.isfinite(model.lower_bound(posterior))
    CASES["irm"].check_tables(model.tables(posterior), RELATIONS[name], posterior)


@every_method
def test_exact_variances_wherever_they_are_offered(row: Method) -> None:
    if "variance" not in {p.name for p in row.parameters}:
        return
    for name in ("missing entries", "no links", "1 x 1, missing", "3 x 2"):
        inference = built(row, RELATIONS[name], variance="exact")
        for state, _ in course(inference):
            assert_posterior(inference.posterior(state), row, RELATIONS[name], True)
