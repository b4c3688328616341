"""Names of objects and clusters do not matter, nor which side is called rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from acvb_core.data.relation import Relation
from acvb_core.engine.fitting import fit
from acvb_core.evaluate.agreement import agreement
from acvb_core.models.irm.kernels import TWO_DOMAINS, log_prior
from acvb_core.models.irm.start import Start
from acvb_core.models.irm.sweep import CoordinateSweep
from acvb_core.models.irm.vb import VariationalIrm
from acvb_core.samples.planted_relations import planted_relation, synth1
from tests.loops import for_each
from tests.models.irm.adapters import NO_MOVES, collapsed, counted, hyper_of, relation_of, state_of
from tests.oracles.cases import random_case

ORDERS = ["zeroth", "paper", "exact"]


@for_each("order", ORDERS)
def test_permuting_objects_permutes_the_sweep(order: str) -> None:
    case = random_case(5, (12, 9), (3, 4), 0.2)
    relation, state = relation_of(case.data), state_of(case)
    a, b = state.hyper.blocks(state.ones.shape)
    visit, mixed = np.arange(12), np.random.default_rng(0).permutation(12)
    shuffled = Relation.build(relation.ones[mixed], relation.missing[mixed])
    straight = CoordinateSweep(relation, state.q["rows"].copy(), state.q["cols"], a, b, 1.2)
    moved = CoordinateSweep(shuffled, state.q["rows"][mixed], state.q["cols"], a, b, 1.2)
    one = straight.run(order, visit)
    other = moved.run(order, np.argsort(mixed))  # the same objects in the same order
    np.testing.assert_allclose(moved.own, straight.own[mixed], atol=1e-12)
    assert one == pytest.approx(other, abs=1e-9)


@for_each("order", ORDERS)
def test_relabelling_the_other_domain_changes_nothing(order: str) -> None:
    case = random_case(6, (10, 11), (3, 4), 0.2)
    relation, state = relation_of(case.data), state_of(case)
    a, b = state.hyper.blocks(state.ones.shape)
    plain = CoordinateSweep(relation, state.q["rows"].copy(), state.q["cols"], a, b, 1.2)
    renamed = CoordinateSweep(relation, state.q["rows"].copy(), state.q["cols"][:, ::-1], a, b, 1.2)
    plain.run(order, np.arange(10))
    renamed.run(order, np.arange(10))
    np.testing.assert_allclose(renamed.own, plain.own, atol=1e-12)


@for_each("order", [*ORDERS, "vb"])
def test_transposing_swaps_the_domains_of_a_fixed_point(order: str) -> None:
    """Rows are swept first, so sweeps differ; where they lead on clear data does not."""
    rng = np.random.default_rng(0)
    row_labels, col_labels = rng.integers(3, size=60), rng.integers(2, size=50)
    strengths = np.array([[0.9, 0.1], [0.1, 0.8], [0.5, 0.5]])[row_labels][:, col_labels]
    missing = rng.random((60, 50)) < 0.1
    relation = Relation.build((rng.random((60, 50)) < strengths) & ~missing, missing)
    case = random_case(1, (60, 50), (3, 2), 0.0)
    rows = 0.8 * np.eye(3)[row_labels] + 0.2 / 3
    cols = 0.8 * np.eye(2)[col_labels] + 0.2 / 2
    ends = []
    for side, q1, q2 in ((relation, rows, cols), (relation.transposed, cols, rows)):
        start = Start(q1.shape[1], q2.shape[1])
        hyper = replace(hyper_of(case), alpha={"rows": 1.0, "cols": 1.0})
        state = counted(side, {"rows": q1, "cols": q2}, hyper)
        if order == "vb":
            method = VariationalIrm(side, start, hyper, "fixed", 0.0, NO_MOVES)
        else:
            method = replace(collapsed(case, order), relation=side, start=start, hyper=hyper)
        for _ in range(60):
            state, _ = method.sweep(state, rng)
        ends.append(state)
    np.testing.assert_allclose(ends[0].q["rows"], ends[1].q["cols"], atol=1e-6)
    np.testing.assert_allclose(ends[0].q["cols"], ends[1].q["rows"], atol=1e-6)


def test_prior_sums_to_one() -> None:
    rng = np.random.default_rng(0)
    for n_clusters in (1, 2, 5, 30):
        for alpha in (1e-3, 0.7, 40.0):
            out = np.empty(n_clusters)
            log_prior(np.sort(rng.gamma(1.0, 20.0, n_clusters))[::-1].copy(), alpha, out)
            assert np.exp(out).sum() == pytest.approx(1.0, abs=1e-12)


@for_each("method", ["cvb0", "cvb", "acvb", "acvb0", "vb"])
def test_synth1_is_recovered(method: str) -> None:
    truth = synth1(0)
    found = fit(truth.relation, method, k_rows=10, k_cols=10)
    assert agreement(truth.row_clusters, found.labels("rows"))["ari"] > 0.95
    assert agreement(truth.column_clusters, found.labels("cols"))["ari"] > 0.95


def test_spectral_start_finds_clear_clusters() -> None:
    truth = planted_relation(200, 160, 3, 4, 5, beta=(0.3, 0.3))
    found = Start(3, 4).responsibilities(truth.relation, TWO_DOMAINS, np.random.default_rng(0))
    assert agreement(truth.row_clusters, found["rows"].argmax(axis=1))["ari"] > 0.95
    assert agreement(truth.column_clusters, found["cols"].argmax(axis=1))["ari"] > 0.95
