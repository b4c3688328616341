"""CVB with exact expectations: against the law of every count, and against all assignments of a few tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from acvb_core.models.lda.exact import exact_order, transform_counts
from acvb_core.models.lda.kernels import SinglePrior
from tests.models.lda.adapters import counts_of, entries_of, given_of, hyper_of, model_of, posterior_of_case
from tests.oracles import dense_lda as dense
from tests.oracles.lda_cases import LdaCase, edge_cases, random_case, small_case
from tests.oracles.lda_enumeration import exact_update, expected_log_joint, joint_table

CASES = {f"small {seed}": small_case(seed, 3.0) for seed in range(2)} | edge_cases()
every_case = pytest.mark.parametrize("name", CASES)


def updated(case: LdaCase, first: bool = False) -> Any:
    """Return the responsibilities after a sweep in double precision, or after the first document alone."""
    tokens, q = entries_of(case.triplets), np.array(case.gamma)
    nodes, transforms = transform_counts(tokens, q, hyper_of(case))
    prior = SinglePrior(
        np.asarray(case.alpha, dtype=float), float(case.beta), tokens.n_words * float(case.beta)
    )  # type: ignore[arg-type]
    end = 1 if first else tokens.n_documents
    exact_order(0, end, tokens.documents, q, counts_of(case), transforms, nodes, prior)
    return q


@every_case
def test_sweep_is_that_by_the_law_of_every_count(name: str) -> None:
    """The reference goes through the Poisson-binomial law of every count without one token (TNW07 appendix)."""
    case = CASES[name]
    gamma = case.gamma.copy()
    for d in range(case.triplets.shape[0]):
        for p in case.triplets.of_document(d):
            gamma[p] = dense.cvb_exact_update(case.triplets, gamma, p, case.alpha, case.beta)
    np.testing.assert_allclose(updated(case), gamma, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_first_update_is_the_best_one_by_enumeration(seed: int) -> None:
    case = random_case(seed)
    first = case.triplets.of_document(0)[0]
    alone = case._replace(triplets=case.triplets)
    wanted = exact_update(case.triplets, case.gamma, first, case.alpha, case.beta)
    gamma = case.gamma.copy()
    for p in case.triplets.of_document(0):
        gamma[p] = exact_update(case.triplets, gamma, p, case.alpha, case.beta)
    found = updated(alone, first=True)
    np.testing.assert_allclose(found[first], wanted, atol=1e-9)
    np.testing.assert_allclose(found, gamma, atol=1e-9)


@every_case
def test_exact_bound(name: str) -> None:
    case = CASES[name]
    wanted = dense.collapsed_bound_exact(case.triplets, case.gamma, case.alpha, case.beta)
    found = model_of(case).exact_bound(posterior_of_case(case), given_of(case))
    assert found == pytest.approx(wanted, rel=1e-6, abs=1e-5)  # the responsibilities are in single precision


def test_exact_bound_is_that_of_all_assignments() -> None:
    case = random_case(1)
    table = joint_table(case.triplets, case.alpha, case.beta)
    wanted = expected_log_joint(table, case.gamma) + dense.entropy(case.triplets, case.gamma)
    found = model_of(case).exact_bound(posterior_of_case(case), given_of(case))
    assert found == pytest.approx(wanted, rel=1e-6)
