"""What every method in the registry keeps to, whatever it is given."""

from __future__ import annotations

import time
import tracemalloc
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import pytest

from acvb_core.clusters import order_by_size
from acvb_core.data.relation import Relation
from acvb_core.data.split import HeldOut
from acvb_core.data.synthetic import large_planted, planted
from acvb_core.engine.problem import pose
from acvb_core.engine.run import Schedule, run
from acvb_core.engine.threads import one_thread
from acvb_core.errors import ParameterError
from acvb_core.irm import cvb, gibbs
from acvb_core.irm.state import block_counts
from acvb_core.parameters import Parameter
from acvb_core.protocols import Inference, Posterior, SweepInfo
from acvb_core.registry import METHODS, method_row, model_row
from acvb_core.rows import Method

SWEEPS = 6
every_method = pytest.mark.parametrize("row", METHODS, ids=[f"{m.model}-{m.name}" for m in METHODS])


def few(links: list[list[int]], missing: list[list[int]] | None = None) -> Relation:
    return Relation.build(np.array(links), None if missing is None else np.array(missing))


def relations() -> dict[str, Relation]:
    some = planted(25, 18, 3, 2, 4)
    nothing = np.zeros((9, 7), dtype=bool)
    holes = np.arange(63).reshape(9, 7) % 3 == 0
    empty_sides = np.zeros((12, 10), dtype=bool)
    empty_sides[2:6, 3:7] = True
    return {
        "planted": some.relation,
        "missing entries": planted(25, 18, 3, 2, 4, missing_share=0.3).relation,
        "mostly missing": planted(25, 18, 3, 2, 4, missing_share=0.95).relation,
        "no links": Relation.build(nothing),
        "no links and missing": Relation.build(nothing, holes),
        "links only": Relation.build(~nothing),
        "links only and missing": Relation.build(~holes, holes),
        "nothing observed": Relation.build(nothing, ~nothing),
        "empty rows and columns": Relation.build(empty_sides),
        "1 x 1, linked": few([[1]]),
        "1 x 1, not linked": few([[0]]),
        "1 x 1, missing": few([[0]], [[1]]),
        "1 x N": few([[1, 0, 0, 1, 1, 0, 1]]),
        "N x 1": few([[1], [0], [1], [1], [0], [0]]),
        "3 x 2": few([[1, 0], [0, 1], [1, 1]]),
        "identical rows": Relation.build(np.tile([True, False, True, False, False], (8, 1))),
    }


RELATIONS = relations()


def built(row: Method, relation: Relation, **values: Any) -> Inference:
    known = {p.name for p in row.parameters}
    given = {"k_rows": 4, "k_cols": 3, "burn_in": 2} | values
    return row.build(relation, row.values({k: v for k, v in given.items() if k in known}))


def course(inference: Inference, sweeps: int = SWEEPS, seed: int = 1) -> list[tuple[Any, SweepInfo | None]]:
    """Return the first state and the one after each sweep."""
    state = inference.init(np.random.default_rng([seed, 0]))
    found: list[tuple[Any, SweepInfo | None]] = [(state, None)]
    for sweep in range(1, sweeps + 1):
        state, info = inference.sweep(state, np.random.default_rng([seed, sweep]))
        found.append((state, info))
    return found


def assert_posterior(posterior: Posterior, domains: dict[str, int]) -> None:
    assert set(posterior.averaged) == set(domains)
    assert set(posterior.axes) == set(posterior.arrays)
    clusters = posterior.n_clusters()
    for domain, n_objects in domains.items():
        q = posterior[domain]
        assert q.shape == (n_objects, clusters[domain])
        assert clusters[domain] >= 1
        assert (q >= 0).all()
        np.testing.assert_allclose(q.sum(axis=1), 1.0, atol=1e-9)
        assert posterior.axes[domain] == (None, domain)
        assert posterior.labels(domain).max() < clusters[domain]
    for name, array in posterior.arrays.items():
        assert np.isfinite(array).all(), name
        assert array.ndim == len(posterior.axes[name])
        for length, domain in zip(array.shape, posterior.axes[name], strict=True):
            assert domain is None or length == clusters[domain]
    assert set(posterior.derived) <= set(posterior.arrays) | set(domains)
    assert all(np.isfinite(value) and value > 0 for value in posterior.hyper.values())


def assert_tables(tables: dict[str, Any], relation: Relation, posterior: Posterior) -> None:
    assert set(tables) == {"rows", "columns", "blocks"}
    for side, domain, labels in (
        ("rows", "rows", relation.row_labels), ("columns", "cols", relation.column_labels)
    ):  # fmt: skip
        frame, k = tables[side], posterior.n_clusters()[domain]
        assert list(frame.columns) == ["object", "cluster", "probability", "entropy"]
        assert frame["object"].tolist() == labels.tolist()
        assert frame["cluster"].between(1, k).all()
        assert (frame["cluster"] == posterior.labels(domain) + 1).all()
        assert frame["probability"].between(1 / k - 1e-12, 1 + 1e-12).all()
        assert frame["entropy"].between(0.0, np.log(k) + 1e-9).all()
    blocks, clusters = tables["blocks"], posterior.n_clusters()
    assert list(blocks.columns) == ["row_cluster", "column_cluster", "ones", "entries", "mean", "low", "high"]
    assert len(blocks) == clusters["rows"] * clusters["cols"]
    assert sorted(set(blocks["row_cluster"])) == list(range(1, clusters["rows"] + 1))
    assert sorted(set(blocks["column_cluster"])) == list(range(1, clusters["cols"] + 1))
    assert not blocks.duplicated(["row_cluster", "column_cluster"]).any()
    assert (blocks["ones"] >= 0).all()
    assert (blocks["ones"] <= blocks["entries"] + 1e-9).all()
    assert blocks["ones"].sum() == pytest.approx(relation.n_ones, abs=1e-6)
    assert blocks["entries"].sum() == pytest.approx(relation.n_observed, abs=1e-6)
    assert blocks["mean"].between(0, 1).all()
    assert (blocks["low"] <= blocks["high"]).all()
    assert blocks["low"].between(0, 1).all()
    assert blocks["high"].between(0, 1).all()


@every_method
@pytest.mark.parametrize("init", ["spectral", "random"])
@pytest.mark.parametrize("name", RELATIONS)
def test_any_relation(row: Method, init: str, name: str) -> None:
    relation = RELATIONS[name]
    domains = dict(zip(model_row(row.model).domains, relation.shape, strict=True))
    inference, model = built(row, relation, init=init), model_row(row.model).build(relation)
    everything = HeldOut(
        *(index.ravel().astype(np.int32) for index in np.indices(relation.shape)), np.zeros(0, bool)
    )
    for state, info in course(inference):
        for posterior in (inference.posterior(state), inference.current(state)):
            assert_posterior(posterior, domains)
            assert np.isfinite(model.lower_bound(posterior))
            assert np.isfinite(model.pseudo_loo(posterior))
            probability = model.predict(posterior, everything)
            assert ((probability > 0) & (probability < 1)).all()
        if info is not None:
            assert info.pseudo_loo is None or np.isfinite(info.pseudo_loo)
            assert info.change is None or 0 <= info.change <= 2
            assert 0 < info.progress <= 1
    assert_tables(model.tables(posterior), relation, posterior)
    assert_tables(model.tables(inference.posterior(state)), relation, inference.posterior(state))


@every_method
@pytest.mark.parametrize("sizes", [(1, 1), (1, 5), (6, 1), (40, 30), (2, 9)], ids=str)
def test_any_number_of_clusters(row: Method, sizes: tuple[int, int]) -> None:
    relation = RELATIONS["missing entries"]
    for init in ("spectral", "random"):
        inference = built(row, relation, k_rows=sizes[0], k_cols=sizes[1], init=init)
        states = course(inference, 20)
        for state, _ in states:
            assert_posterior(inference.posterior(state), {"rows": 25, "cols": 18})
        clusters = inference.posterior(states[-1][0]).n_clusters()
        if not row.sampled:
            assert clusters["rows"] <= sizes[0]
            assert clusters["cols"] <= sizes[1]


@every_method
@pytest.mark.parametrize("sizes", [(2, 5), (5, 2)], ids=str)
def test_intervals_hold_the_mean_of_every_block(row: Method, sizes: tuple[int, int]) -> None:
    """With a and b of at least one the posterior of a block is no U, and its mean is inside the central interval."""
    relation = RELATIONS["planted"]
    inference = built(row, relation, k_rows=sizes[0], k_cols=sizes[1], hyper="fixed", a=1.0, b=1.0)
    blocks = (
        model_row(row.model).build(relation).tables(inference.posterior(course(inference)[-1][0]))["blocks"]
    )
    assert (blocks["low"] <= blocks["mean"]).all()
    assert (blocks["mean"] <= blocks["high"]).all()
    assert (blocks["low"] < blocks["high"]).all()


@every_method
def test_builds_with_defaults(row: Method) -> None:
    inference = row.build(RELATIONS["planted"], row.values({}))
    assert isinstance(inference, Inference)
    state = inference.init(np.random.default_rng(0))
    state, _ = inference.sweep(state, np.random.default_rng(1))
    assert_posterior(inference.posterior(state), {"rows": 25, "cols": 18})


@every_method
def test_row_is_complete(row: Method) -> None:
    assert method_row(row.model, row.name) is row
    assert row.summary.endswith(".")
    assert row.label
    assert row.reference
    assert row.converges_by()
    names = [p.name for p in row.parameters]
    assert len(set(names)) == len(names)
    assert "max_sweeps" in names
    assert ("tol" in names) == (row.monitored is not None)
    assert row.averaged == (row.monitored == "mean_change")
    if row.averaged or row.sampled:
        assert "burn_in" in names


def each_parameter() -> list[Any]:
    return [pytest.param(row, p, id=f"{row.name}-{p.name}") for row in METHODS for p in row.parameters]


@pytest.mark.parametrize(("row", "parameter"), each_parameter())
def test_defaults_pass_their_own_check(row: Method, parameter: Parameter) -> None:
    checked = parameter.check(parameter.default)
    assert checked == parameter.default
    assert type(checked) is {"int": int, "float": float, "choice": str, "bool": bool}[parameter.kind]
    assert row.values({})[parameter.name] == parameter.default
    assert parameter.help
    assert parameter.label


def wrong_values(parameter: Parameter) -> list[Any]:
    if parameter.kind == "choice":
        return ["no such choice", None, 3]
    if parameter.kind == "bool":
        return ["yes", 1, None]
    wrong = ["many", None, float("nan")]
    wrong += [] if parameter.low is None else [parameter.low - 1]
    wrong += [] if parameter.high is None else [parameter.high * 2 + 1]
    return wrong + ([1.5] if parameter.kind == "int" else [float("inf"), float("-inf")])


@pytest.mark.parametrize(("row", "parameter"), each_parameter())
def test_wrong_values_are_refused_by_name(row: Method, parameter: Parameter) -> None:
    for value in wrong_values(parameter):
        with pytest.raises(ParameterError) as caught:
            row.values({parameter.name: value})
        message = str(caught.value)
        assert parameter.name in message
        assert repr(value) in message
        if parameter.kind in ("int", "float") and value not in ("many", None, 1.5) and np.isfinite(value):
            assert parameter.range_text() in message
        if parameter.kind == "choice":
            assert parameter.range_text() in message


@every_method
def test_unknown_setting_is_refused_with_those_there_are(row: Method) -> None:
    with pytest.raises(ParameterError) as caught:
        row.values({"clusters": 3})
    assert "'clusters'" in str(caught.value)
    assert all(p.name in str(caught.value) for p in row.parameters)


@pytest.mark.parametrize("value", [float("inf"), float("-inf")])
def test_endless_whole_number_is_refused(value: Any) -> None:
    with pytest.raises(ParameterError, match="k_rows"):
        METHODS[0].values({"k_rows": value})


def arrays_in(value: Any, found: list[np.ndarray] | None = None) -> list[np.ndarray]:
    """Return every array of a state."""
    found = [] if found is None else found
    if isinstance(value, np.ndarray):
        found.append(value)
    elif is_dataclass(value):
        for field in fields(value):
            arrays_in(getattr(value, field.name), found)
    elif isinstance(value, dict):
        for one in value.values():
            arrays_in(one, found)
    return found


@every_method
def test_sweep_leaves_the_given_state_as_it_was(row: Method) -> None:
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
    states = course(inference, 40)
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
    state = course(inference, 5)[-1][0]
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
def test_fixed_hyper_parameters_stay(row: Method) -> None:
    inference = built(row, RELATIONS["planted"], hyper="fixed", alpha=1.7, a=0.3, b=2.5)
    for state, _ in course(inference, 20):
        assert inference.posterior(state).hyper == {"alpha_rows": 1.7, "alpha_cols": 1.7, "a": 0.3, "b": 2.5}
    learned = built(row, RELATIONS["planted"], hyper="tied", alpha=1.7, a=0.3, b=2.5)
    last = learned.posterior(course(learned)[-1][0]).hyper
    assert all(last[name] != value for name, value in {"alpha_rows": 1.7, "a": 0.3, "b": 2.5}.items())


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
        assert_posterior(posterior, dict(zip(("rows", "cols"), RELATIONS[name].shape, strict=True)))
        if posterior.n_clusters() != {"rows": 1, "cols": 1}:
            assert posterior.axes["a"] == posterior.axes["b"] == ("rows", "cols")
        assert np.isfinite(model.lower_bound(posterior))
    assert_tables(model.tables(posterior), RELATIONS[name], posterior)


@every_method
def test_exact_variances_wherever_they_are_offered(row: Method) -> None:
    if "variance" not in {p.name for p in row.parameters}:
        return
    for name in ("missing entries", "no links", "1 x 1, missing", "3 x 2"):
        inference = built(row, RELATIONS[name], variance="exact")
        domains = dict(zip(("rows", "cols"), RELATIONS[name].shape, strict=True))
        for state, _ in course(inference):
            assert_posterior(inference.posterior(state), domains)


@pytest.fixture(scope="module")
def medium() -> Relation:
    relation = large_planted(3_000, 3_000, 300_000, 15, 15, 1).relation
    assert relation.transposed.n_ones > 250_000
    return relation


@every_method
def test_checkpoint_is_called_often(row: Method, medium: Relation) -> None:
    """A pause or a stop takes effect soon: in the start, in sweeps, in one that merges and in the diagnostics."""
    built(row, RELATIONS["planted"]).init(np.random.default_rng(0))  # whatever is loaded at first use
    gaps, last, calls = [0.0], time.perf_counter(), 0

    def checkpoint() -> None:
        nonlocal last, calls
        now = time.perf_counter()
        gaps.append(now - last)
        last, calls = now, calls + 1

    problem = pose(medium, row.name, {"k_rows": 20, "k_cols": 20, "max_sweeps": 3})
    last = time.perf_counter()
    *_, snapshot = run(problem, checkpoint=checkpoint, schedule=Schedule(1, 1))
    assert calls >= 12
    state = snapshot.state
    inner = getattr(state, "inner", state)
    if hasattr(inner, "age"):
        due = replace(inner, age=14, moves_over=False)
        last = time.perf_counter()
        with one_thread():
            problem.inference.sweep(
                due if inner is state else replace(state, inner=due), np.random.default_rng(4), checkpoint
            )
    checkpoint()
    assert max(gaps) < 1.0, f"{max(gaps):.2f} s between two checkpoints"


@every_method
def test_long_passes_are_cut_into_pieces(row: Method, monkeypatch: pytest.MonkeyPatch) -> None:
    """With pieces of ten objects a pass over many comes by the checkpoint many times."""
    if row.name == "vb":  # a batch of matrix products
        return
    for module in (cvb, gibbs):
        monkeypatch.setattr(module, "chunk_length", lambda *_: 10)
    calls = 0

    def checkpoint() -> None:
        nonlocal calls
        calls += 1

    inference = built(row, planted(200, 150, 3, 3, 5).relation)
    state = inference.init(np.random.default_rng(0))
    inference.sweep(state, np.random.default_rng(1), checkpoint)
    assert calls >= 35


MEMORY = [
    pytest.param(row, values, heldout, id=f"{row.name}-{name}-{heldout}")
    for row in METHODS
    for name, values in {
        "spectral": {"k_rows": 20, "k_cols": 20},
        "random": {"k_rows": 20, "k_cols": 20, "init": "random"},
        "lopsided": {"k_rows": 5, "k_cols": 40},
        "exact": {"k_rows": 20, "k_cols": 20, "variance": "exact", "init": "random"},
    }.items()
    for heldout in (0.0, 0.1)
    if (name != "exact" or "variance" in {p.name for p in row.parameters})
    and (heldout == 0.0 or (name == "spectral" and row.name in ("acvb0", "gibbs")))
]


@pytest.fixture(scope="module")
def wide() -> Relation:
    return large_planted(2_000, 3_000, 60_000, 8, 8, 1).relation


@pytest.mark.parametrize(("row", "values", "heldout"), MEMORY)
def test_memory_is_as_estimated(row: Method, values: dict[str, Any], heldout: float, wide: Relation) -> None:
    values = values | {"max_sweeps": 3} | ({"burn_in": 1} if row.averaged or row.sampled else {})
    problem = pose(wide, row.name, values, heldout=heldout)
    assert problem.train.transposed.shape == (3_000, 2_000)
    tracemalloc.start()
    try:
        for _ in run(problem):
            pass
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 0.3 <= peak / problem.memory_bytes <= 1.3
