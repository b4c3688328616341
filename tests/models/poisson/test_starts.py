"""Where runs of counts begin: at the best of several chains."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from acvb_core.core.protocols import no_poll
from acvb_core.data.relation import Relation
from acvb_core.evaluate.agreement import label_agreement
from acvb_core.models.irm import gibbs, moves
from acvb_core.models.irm.gibbs import one_hot, run_chain
from acvb_core.models.irm.hyper import Hyper
from acvb_core.models.irm.kernels import Floats
from acvb_core.models.irm.state import IrmState, block_counts, lower_bound
from acvb_core.models.poisson.methods import CollapsedPoisson, GibbsPoisson, build_cvb0
from acvb_core.registry import method_row
from acvb_core.samples.planted_relations import large_relation


def method_of(relation: Relation, **values: Any) -> CollapsedPoisson:
    defaults = {parameter.name: parameter.default for parameter in method_row("poisson", "cvb0").parameters}
    return build_cvb0(relation, defaults | {"k_rows": 8, "k_cols": 8, "degree": "none"} | values)


def bound_of(method: CollapsedPoisson, q: dict[str, Floats], hyper: Hyper) -> float:
    return lower_bound(IrmState(q, *block_counts(method.relation, q), hyper))


def test_the_start_is_the_sample_that_sweeps_and_merges_lead_highest() -> None:
    planted = large_relation(60, 50, 900, 3, 3, 0)
    method = method_of(planted.relation, split=False)
    truth = {
        "rows": np.unique(planted.row_clusters, return_inverse=True)[1],
        "cols": np.unique(planted.column_clusters, return_inverse=True)[1],
    }
    coarse = {domain: one_hot(np.minimum(labels, 1)) for domain, labels in truth.items()}
    fine = {domain: one_hot(2 * labels + np.arange(len(labels)) % 2) for domain, labels in truth.items()}
    hyper = method.hyper
    for starts in ([(coarse, hyper), (fine, hyper)], [(fine, hyper), (coarse, hyper)]):
        q, _ = method._try_starts(starts, {}, no_poll)
        for domain, labels in truth.items():
            found = q[domain].argmax(axis=1).astype(str)
            assert label_agreement(found, labels.astype(str)).ari > 0.8


def test_every_chain_has_its_best_sample_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gibbs, "MANY_OBJECTS", 100)
    method = method_of(large_relation(60, 50, 300, 3, 3, 1).relation)
    sampler = GibbsPoisson(method.relation, method.start, method.hyper, "tied", method.layout)
    chains = run_chain(sampler, np.random.default_rng(0), no_poll)
    starts = [(chains.q, chains.hyper), *chains.others]
    assert len(starts) == 4
    heights = [bound_of(method, *start) for start in starts]
    assert heights == sorted(heights, reverse=True)
    tried = [
        bound_of(method, *method._try_starts([start, start], chains.samples, no_poll)) for start in starts
    ]
    state = method.init(np.random.default_rng(0))
    assert lower_bound(state) == pytest.approx(max(tried))
    assert max(tried) > tried[0] + 0.5, "another chain than the first"


def test_after_several_chains_no_move_is_tried_that_lowers_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    relation, tried = large_relation(60, 50, 300, 3, 3, 1).relation, []

    def try_none(_: Any, state: IrmState, candidates: Any, rejected: Any) -> tuple[IrmState, int, Any]:
        tried.append(candidates)
        return state, 0, rejected

    monkeypatch.setattr(moves._Trials, "best_of", try_none)
    for many, expected in ((100, False), (1_000, True)):
        monkeypatch.setattr(gibbs, "MANY_OBJECTS", many)
        method = method_of(relation, degree="corrected")
        state = method.init(np.random.default_rng(0))
        while state.moves is not None:
            state, _ = method.sweep(state, np.random.default_rng(state.age))
        assert bool(tried) == expected
