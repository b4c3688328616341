"""Merges and splits of clusters of counts: their gains and sums against the dense bound."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from acvb_core.core.protocols import no_poll
from acvb_core.models.irm import moves
from acvb_core.models.irm.split import _Side
from acvb_core.models.irm.state import IrmState
from tests.loops import for_each
from tests.models.poisson.adapters import relation_of, state_of
from tests.oracles.dense_irm import entropy
from tests.oracles.dense_network import merged, sorted_by_size
from tests.oracles.dense_poisson import lower_bound, sums
from tests.oracles.poisson_cases import KINDS, CountCase, random_count_case


def case_of(kind: str) -> CountCase:
    return random_count_case(1, kind, (16, 14), (4, 3), mean=2.0)


def sorted_bound(case: CountCase, q: dict[str, np.ndarray]) -> float:
    return lower_bound(case.data, tuple(map(sorted_by_size, q.values())), *case.hyper)


def check_sums(case: CountCase, state: IrmState) -> None:
    n, exposure = sums(case.data, tuple(state.q.values()))
    np.testing.assert_allclose(state.ones, n, atol=1e-9)
    np.testing.assert_allclose(state.entries, n + exposure, atol=1e-9)


@for_each("kind", list(KINDS))
def test_gain_of_a_merge_is_what_the_dense_bound_gains(kind: str) -> None:
    case = case_of(kind)
    state = state_of(case)
    for domain, q in state.q.items():
        gains = moves.weigh_merges(state, domain, True, no_poll)
        for k, other in combinations(range(q.shape[1]), 2):
            joined = state.q | {domain: merged(q, k, other)}
            gained = sorted_bound(case, joined) - sorted_bound(case, state.q)
            lost = entropy(q) - entropy(joined[domain])
            assert gains[k, other] == pytest.approx(gained + lost, abs=1e-8)
            check_sums(case, moves._merge_pair(state, domain, k, other))


@for_each("kind", list(KINDS))
def test_gain_of_a_split_is_what_the_dense_bound_gains(kind: str) -> None:
    case, n_split = case_of(kind), 0
    state, relation = state_of(case), relation_of(case.data)
    for domain, q in state.q.items():
        side = _Side(state, relation, domain, largest_first=True, poll=no_poll)
        for k in range(q.shape[1]):
            trial = side.best_split(state, k, np.random.default_rng(0), no_poll)
            if trial is not None:
                gained = sorted_bound(case, trial.state.q) - sorted_bound(case, state.q)
                assert trial.gain == pytest.approx(gained, abs=1e-8)
                check_sums(case, trial.state)
                n_split += 1
    assert n_split >= 2
