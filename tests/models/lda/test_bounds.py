"""Bounds: below the log evidence, which few tokens allow to be added up; and never falling where theory says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from acvb_core.core.spec import MethodSpec
from acvb_core.registry import methods_of, model_row
from acvb_core.samples.planted_mixtures import planted_topics
from tests.contract.cases import known, name_of
from tests.oracles.lda_cases import LdaCase, random_case
from tests.oracles.lda_enumeration import joint_table, log_evidence

TINY = {f"seed {seed}": random_case(seed) for seed in range(3)} | {
    "one document": random_case(11, (7,), 4, 2),
    "three topics": random_case(12, (3, 0, 2), 3, 3),
    "one word": random_case(13, (3, 0, 1, 2), 1, 2),
}
#: Streams have none: they know nothing of the documents that have gone by.
BOUNDED = [row for row in methods_of("lda") if not row.streams]
every_method = pytest.mark.parametrize("row", BOUNDED, ids=map(name_of, BOUNDED))


def evidence(case: LdaCase, alpha: Any, beta: float) -> float:
    return log_evidence(joint_table(case.triplets, np.asarray(alpha, dtype=np.float64), float(beta)))


@every_method
@pytest.mark.parametrize("hyper", ["fixed", "minka"])
@pytest.mark.parametrize("name", TINY)
def test_bounds_are_below_the_evidence(row: MethodSpec, name: str, hyper: str) -> None:
    case = TINY[name]
    model = model_row("lda").build(case.corpus)
    values = {"k": case.size, "alpha": 0.4, "beta": 0.3, "hyper": hyper, "shrink": 0.0, "burn_in": 3}
    algorithm = row.build(case.corpus, row.values(known(row, values)))
    state = algorithm.init(np.random.default_rng(5))
    exact = evidence(case, np.full(case.size, 0.4), 0.3) if hyper == "fixed" else None
    for sweep in range(1, 41):
        state, _ = algorithm.sweep(state, np.random.default_rng([5, sweep]))
        if hyper == "minka" and sweep not in (12, 40):
            continue
        posterior = algorithm.posterior(state)
        bound = model.lower_bound(posterior, algorithm.responsibilities(state))
        assert bound is not None
        limit = exact or evidence(case, posterior["alpha"], posterior.hyper["beta"])
        assert bound <= limit + 1e-5 * (1 + abs(limit))
        assert bound > limit - 20  # … and not merely far below


@pytest.mark.parametrize("name", ["vb", "cvb0", "cvb", "acvb0"])
def test_bounds_are_below_the_evidence_where_topics_are_dropped(name: str) -> None:
    """That of the model with the topics that are left; none is given where it is not known."""
    (row,) = (row for row in methods_of("lda") if row.name == name)
    dropped = 0
    for seed in range(12):
        case = random_case(seed, (3, 0, 1, 2), 4, 4)
        model = model_row("lda").build(case.corpus)
        values = {"k": 4, "alpha": 0.05, "beta": 0.1, "hyper": "fixed", "shrink": 0.1, "burn_in": 1}
        algorithm = row.build(case.corpus, row.values(known(row, values)))
        state = algorithm.init(np.random.default_rng(seed))
        for sweep in range(40):
            state, info = algorithm.sweep(state, np.random.default_rng(sweep))
            posterior = algorithm.posterior(state)
            bound = model.lower_bound(posterior, algorithm.responsibilities(state))
            if info.cluster_permutation is None:
                assert bound is not None
                continue
            dropped += 1
            assert (bound is None) == (name == "vb")
            assert bound is None or bound <= evidence(case, posterior["alpha"], 0.1) + 1e-4
    assert dropped > 2


@pytest.mark.parametrize("hyper", ["fixed", "minka"])
@pytest.mark.parametrize("inner", [1, 3])
@pytest.mark.parametrize("sizes", [(60, 80, 4, 20, 10), (40, 200, 6, 60, 3), (30, 10, 2, 5, 6)], ids=str)
def test_bound_of_plain_variational_bayes_never_falls(
    sizes: tuple[int, int, int, int, int], inner: int, hyper: str
) -> None:
    documents, words, topics, length, k = sizes
    corpus = planted_topics(documents, words, topics, length, 0.3, 0.1, 3).corpus
    (row,) = (row for row in methods_of("lda") if row.name == "vb")
    algorithm = row.build(corpus, row.values({"k": k, "inner": inner, "hyper": hyper, "shrink": 0.0}))
    model, state, bounds = model_row("lda").build(corpus), algorithm.init(np.random.default_rng(0)), []
    for sweep in range(160):
        state, _ = algorithm.sweep(state, np.random.default_rng(sweep))
        bounds.append(model.lower_bound(algorithm.posterior(state)))
    steps = np.diff(bounds)
    assert steps.min() >= -1e-9 * abs(bounds[-1])
    assert bounds[-1] - bounds[0] > 10
