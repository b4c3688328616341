"""What every method keeps to that clusters relations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from acvb_core.core.clusters import order_by_size
from acvb_core.core.errors import ParameterError
from acvb_core.core.spec import MethodSpec
from acvb_core.data.relation import Network, Relation
from acvb_core.engine.prepared import prepare_run, rebuild_run
from acvb_core.models.irm.kernels import TWO_DOMAINS, network_layout
from acvb_core.models.irm.spec import MOVES_EVERY
from acvb_core.models.irm.state import block_counts
from acvb_core.registry import methods_of, model_row
from acvb_core.samples.planted_relations import PlantedRelation, planted_relation, sparse_relation

from .cases import CASES, arrays_in, built, course, data_of, last_of, name_of, usual
from .test_every_method import assert_posterior

ROWS = [*methods_of("irm"), *methods_of("network")]
every_method = pytest.mark.parametrize("row", ROWS, ids=map(name_of, ROWS))


def each_of(**names: tuple[str, ...]) -> pytest.MarkDecorator:
    """Run a test for every method on data of its model, given by name."""
    found = [
        pytest.param(row, name, id=f"{name_of(row)}-{name}") for row in ROWS for name in names[row.model]
    ]
    return pytest.mark.parametrize(("row", "name"), found)


def network_of(truth: PlantedRelation, directed: bool) -> Relation:
    """Return a square planted relation as a network; of links either way an undirected one makes one."""
    links = truth.relation.ones.toarray() & ~np.eye(len(truth.row_clusters), dtype=bool)
    return Relation.build(links, network=Network(directed))


def drawn(row: MethodSpec) -> list[Relation]:
    """Return data of the method's model with clear clusters: of networks one of either kind."""
    if row.model == "irm":
        return [planted_relation(60, 50, 3, 3, 5).relation]
    truth = sparse_relation(5, 60, 3, 0.3)
    return [network_of(truth, directed) for directed in (True, False)]


@every_method
@pytest.mark.parametrize("sizes", [(2, 5), (5, 2)], ids=str)
def test_intervals_hold_the_mean_of_every_block(row: MethodSpec, sizes: tuple[int, int]) -> None:
    """With a and b of at least one the posterior of a block is no U, and its mean is inside the central interval."""
    relation = usual(row)
    algorithm = built(
        row, relation, k_rows=sizes[0], k_cols=sizes[1], hyper="fixed", a=1.0, b=1.0, init="random"
    )
    blocks = model_row(row.model).build(relation).tables(algorithm.posterior(last_of(algorithm)))["blocks"]
    low, high = blocks["low_given_clusters"], blocks["high_given_clusters"]
    assert (low <= blocks["mean"]).all()
    assert (blocks["mean"] <= high).all()
    assert (low < high).all()


@each_of(irm=("missing entries",), network=("missing pairs", "missing pairs, undirected", "self-links"))
def test_state_can_be_swept_again_with_the_same_bits(row: MethodSpec, name: str) -> None:
    relation = data_of(row.model)[name]
    # From the chain once: it is the same whatever comes after it.
    for options in ({}, {"hyper": "per-block", "init": "random"}, {"variance": "exact", "init": "random"}):
        if not row.sampled or "hyper" not in options:
            algorithm = built(row, relation, **options)
            state = CASES[row.model].due_for_moves(algorithm.init(np.random.default_rng(0)))
            data = [relation.ones.indices.copy(), relation.missing.indices.copy()]
            for sweep in range(MOVES_EVERY + 2):  # with moves in the first one and once more
                arrays = arrays_in(state)
                assert len(arrays) >= 2
                before = [array.copy() for array in arrays]
                posterior = {k: v.copy() for k, v in algorithm.posterior(state).arrays.items()}
                new, _ = algorithm.sweep(state, np.random.default_rng(sweep))
                for array, copy in zip(arrays, before, strict=True):
                    np.testing.assert_array_equal(array, copy)
                for name, array in algorithm.posterior(state).arrays.items():
                    np.testing.assert_array_equal(array, posterior[name])
                again, _ = algorithm.sweep(state, np.random.default_rng(sweep))
                for one, other in zip(arrays_in(new), arrays_in(again), strict=True):
                    assert one.tobytes() == other.tobytes()
                state = new
            np.testing.assert_array_equal(relation.ones.indices, data[0])
            np.testing.assert_array_equal(relation.missing.indices, data[1])


@every_method
@pytest.mark.parametrize("moves", [False, True])
def test_order_says_where_every_cluster_has_gone(row: MethodSpec, moves: bool) -> None:
    """An order names the old clusters that are left, each once; without one nothing but a move has changed them."""
    if not row.sampled:
        for relation in drawn(row):
            check_orders(row, relation, moves)


def check_orders(row: MethodSpec, relation: Relation, moves: bool) -> None:
    algorithm = built(
        row,
        relation,
        k_rows=9,
        k_cols=8,
        merge=moves,
        split=moves,
        init="random",
        shrink=1e-3 if moves else 3e-2,
        burn_in=1000,
    )
    domains = set(model_row(row.model).domains)
    dropped = moved = made = 0
    states = list(course(algorithm, 40))
    for (before, _), (after, info) in zip(states[:-1], states[1:], strict=True):
        assert info is not None
        old, new = algorithm.current(before), algorithm.current(after)
        if info.moves:
            assert moves
            assert info.cluster_permutation is None
            made += 1
        if info.cluster_permutation is None:
            if not info.moves:
                assert old.n_clusters() == new.n_clusters()
            continue
        assert set(info.cluster_permutation) == domains
        for domain, order in info.cluster_permutation.items():
            assert len(order) == new[domain].shape[1]
            assert len(set(order.tolist())) == len(order)
            assert order.min() >= 0
            assert order.max() < old[domain].shape[1]
            dropped += len(order) < old[domain].shape[1]
            moved += not (order == np.arange(len(order))).all()
        layout = TWO_DOMAINS if row.model == "irm" else network_layout(relation)
        ones, entries = block_counts(relation, {domain: new[domain] for domain in domains}, layout)
        np.testing.assert_allclose(new["ones"], ones, atol=1e-9)
        np.testing.assert_allclose(new["entries"], entries, atol=1e-9)
        if row.name != "vb":  # which keeps another order where sorting would lower its bound
            mass = new["rows"].sum(axis=0)
            assert order_by_size(mass).tolist() == list(range(len(mass)))
    assert made if moves else dropped and moved


@every_method
def test_order_is_the_one_the_sweep_applied(row: MethodSpec) -> None:
    """Clusters far apart keep their objects, so that each new cluster can be told from its members."""
    if row.sampled or row.name == "vb":  # VB sorts only where that does not lower its bound
        return
    for relation in drawn(row):
        algorithm = built(
            row, relation, k_rows=3, k_cols=3, smoothing=0.0, merge=False, split=False, burn_in=1000
        )
        state = last_of(algorithm, 5)
        inner = getattr(state, "inner", state)
        rows = np.ascontiguousarray(inner.q["rows"][:, ::-1])
        both = (slice(None, None, -1),) * inner.layout.axes.count(
            "rows"
        )  # the axes that are the rows' clusters
        turned = replace(
            inner,
            q={**inner.q, "rows": rows},
            ones=np.ascontiguousarray(inner.ones[both]),
            entries=np.ascontiguousarray(inner.entries[both]),
        )
        start = turned if inner is state else replace(state, inner=turned)
        after, info = algorithm.sweep(start, np.random.default_rng(9))
        assert info.cluster_permutation is not None
        sizes = rows.sum(axis=0)
        assert len(set(np.round(sizes))) == 3
        assert info.cluster_permutation["rows"].tolist() == order_by_size(sizes).tolist()
        moved = rows[:, info.cluster_permutation["rows"]]
        np.testing.assert_allclose(algorithm.current(after)["rows"], moved, atol=0.1)


@each_of(
    irm=("planted", "mostly missing", "links only"),
    network=(
        "directed",
        "undirected",
        "self-links, undirected",
        "mostly missing",
        "complete",
        "star",
        "two cliques",
    ),
)
def test_per_block_prior_stays_finite(row: MethodSpec, name: str) -> None:
    relation = data_of(row.model)[name]
    if row.sampled:
        with pytest.raises(ParameterError, match="hyper"):
            built(row, relation, hyper="per-block")
        return
    algorithm, model = built(row, relation, hyper="per-block"), model_row(row.model).build(relation)
    for state, _ in course(algorithm, 50):
        posterior = algorithm.posterior(state)
        assert_posterior(posterior, row, relation, True)
        if set(posterior.n_clusters().values()) != {1}:
            assert posterior.axes["a"] == posterior.axes["b"] == model.layout.axes
            if model.layout.symmetric:
                np.testing.assert_allclose(posterior["a"], posterior["a"].T, rtol=1e-9)
                np.testing.assert_allclose(posterior["b"], posterior["b"].T, rtol=1e-9)
        assert np.isfinite(model.lower_bound(posterior))
    CASES[row.model].check_tables(model.tables(posterior), relation, posterior)


@pytest.mark.parametrize("name", ["acvb", "cvb"])
def test_a_network_run_with_exact_variances_opens_without_them(name: str) -> None:
    relation = data_of("network")["directed"]
    settings = prepare_run(relation, name, {}, model="network").spec.to_dict()
    for variance, lost in (("paper", ""), ("exact", "Computed with variance exact")):
        old = {**settings, "values": {**settings["values"], "variance": variance}}
        again = rebuild_run(relation, old)
        assert again.spec.values == settings["values"]
        assert again.lost[: len("Computed with variance exact")] == lost


@every_method
def test_exact_variances_wherever_they_are_offered(row: MethodSpec) -> None:
    if "variance" not in {p.name for p in row.parameters}:
        return
    examples = data_of(row.model)
    names = {CASES[row.model].usual, "no links", "1 x 1, missing", "3 x 2", "two objects"} & examples.keys()
    assert len(names) > 1
    for name in sorted(names):
        relation = examples[name]
        algorithm = built(row, relation, variance="exact")
        for state, _ in course(algorithm):
            assert_posterior(algorithm.posterior(state), row, relation, True)
