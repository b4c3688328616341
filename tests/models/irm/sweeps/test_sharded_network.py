"""CVB0 and VB of networks over shards: the textbook's sweep of each part, and one shard is the run without."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import acvb_core
from acvb_core.data.relation import Network, Relation
from acvb_core.evaluate.agreement import agreement
from acvb_core.models.irm.layout import network_layout
from acvb_core.models.irm.start import Start
from acvb_core.models.irm.state import block_counts
from acvb_core.models.irm.sweeps.sharded import cut
from acvb_core.models.irm.sweeps.sharded_network import ShardedNetwork
from acvb_core.models.irm.sweeps.sharded_vb import ShardedVb
from acvb_core.samples.planted_relations import groups_of_all_kinds
from acvb_core.shards.place import shard_workers
from tests.models.irm.network.adapters import hyper_of, relation_of, state_of
from tests.oracles.dense_irm import log_prior_terms
from tests.oracles.dense_network import block_log_evidence, counts, each_block, vb_update
from tests.oracles.dense_network_score import vb_posterior
from tests.oracles.network_cases import KINDS, NetworkCase, random_network_case
from tests.shards.outcomes import frail_workers, outcome

_RUN: dict[str, Any] = {"k_rows": 7, "max_sweeps": 25, "heldout": 0.1}


def dense_sweep(case: NetworkCase, bounds: Any, order: Any, n_exchanges: int) -> tuple[np.ndarray, float]:
    """Return the responsibilities after one sweep over shards, every count made afresh, and the sum of log C_i.

    Between exchanges a shard sees the others as they were; the counts are then those before with all changes added.
    """
    data, q, total = case.data, case.q.copy(), 0.0
    ones, entries, mass = counts(data, q)
    for some in np.array_split(order, n_exchanges):
        after, changes = q.copy(), []
        for begin, end in zip(bounds[:-1], bounds[1:], strict=True):
            own, before = q.copy(), counts(data, q)
            for i in some[(some >= begin) & (some < end)]:
                emptied = own.copy()
                emptied[i] = 0.0
                places = np.eye(q.shape[1])
                here = [ones, entries, mass]
                here = [
                    c + new - old for c, new, old in zip(here, counts(data, emptied), before, strict=True)
                ]
                least = block_log_evidence(here[0], here[1], case.a, case.b)
                weights = log_prior_terms(here[2], case.alpha)
                for k, place in enumerate(places):
                    put = emptied.copy()
                    put[i] = place
                    added = [
                        h + new - old
                        for h, new, old in zip(here, counts(data, put), counts(data, emptied), strict=True)
                    ]
                    gain = block_log_evidence(added[0], added[1], case.a, case.b) - least
                    weights[k] += each_block(gain, data.directed).sum()
                log_normaliser = float(np.logaddexp.reduce(weights))
                own[i] = np.exp(weights - log_normaliser)
                total += log_normaliser
            changes.append([new - old for new, old in zip(counts(data, own), before, strict=True)])
            after[begin:end] = own[begin:end]
        q = after
        ones, entries, mass = (
            c + sum(parts) for c, parts in zip((ones, entries, mass), zip(*changes, strict=True), strict=True)
        )
    return q, total


def check_sweep(
    method: type[ShardedNetwork | ShardedVb], case: NetworkCase, shards: int, wanted: Any
) -> None:
    """Compare a sweep with `dense_sweep`, or another one of the same form."""
    relation = relation_of(case.data)
    settings: dict[str, Any] = {"hyper_rule": "fixed", "shrink": 0.0, "layout": network_layout(relation)}
    made = method(relation, Start(3, 3, "random"), hyper_of(case), **settings, n_shards=shards)
    state, loo = made.update(state_of(case, relation), np.random.default_rng(5), lambda: None)
    order = np.random.default_rng(5).permutation(len(case.q))
    q, wanted_loo = wanted(case, cut(shards, relation, relation.transposed), order, shards)
    assert state.q["rows"] == pytest.approx(q, abs=1e-9)
    assert loo == (None if wanted_loo is None else pytest.approx(wanted_loo, abs=1e-9))
    recounted = block_counts(relation, state.q, state.layout)
    assert state.ones == pytest.approx(recounted[0], abs=1e-9)
    assert state.entries == pytest.approx(recounted[1], abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shards", [1, 3])
def test_a_sweep_equals_the_dense_one(kind: Any, shards: int) -> None:
    check_sweep(ShardedNetwork, random_network_case(2, kind, n=11, size=3), shards, dense_sweep)


def dense_climb(case: NetworkCase, bounds: Any, order: Any, n_exchanges: int) -> tuple[np.ndarray, None]:
    """Return the responsibilities after one sweep of VB over shards, q(v) and q(theta) as they were before it."""
    q, posterior = case.q, vb_posterior(case.data, case.q, *case.hyper)
    for some in np.array_split(order, n_exchanges):
        after = q.copy()
        for begin, end in zip(bounds[:-1], bounds[1:], strict=True):
            own = q.copy()
            for i in some[(some >= begin) & (some < end)]:
                own[i] = vb_update(case.data, own, i, *case.hyper, posterior)
            after[begin:end] = own[begin:end]
        q = after
    return q, None


@pytest.mark.parametrize("kind", KINDS)
def test_a_sweep_of_vb_equals_the_dense_one(kind: Any) -> None:
    check_sweep(ShardedVb, random_network_case(2, kind, n=11, size=3), 3, dense_climb)


@pytest.fixture(scope="module")
def network() -> Relation:
    rng = np.random.default_rng(0)
    groups = rng.integers(4, size=100)
    ones = rng.random((100, 100)) < rng.beta(0.5, 1.0, (4, 4))[groups][:, groups]
    missing = rng.random(ones.shape) < 0.1
    return Relation.build(ones & ~missing, missing, network=Network(True, True))


@pytest.mark.parametrize(
    ("method", "init"),
    [("cvb0", "random"), ("cvb0", "gibbs"), ("acvb0", "spectral"), ("vb", "spectral")],
)
def test_one_shard_gives_the_bits_of_a_run_without(network: Relation, method: str, init: str) -> None:
    one, none = (outcome(network, method, shards=n, init=init, **_RUN) for n in (1, 0))
    assert one == none


def test_neither_workers_nor_the_loss_of_one_change_a_bit(network: Relation) -> None:
    given: dict[str, Any] = _RUN | {"shards": 3}
    for method in ("vb", "acvb0"):
        with shard_workers(1):
            wanted = outcome(network, method, **given)
        with shard_workers(3):
            assert outcome(network, method, **given) == wanted
    with frail_workers("update", 5):  # the shards keep nothing that could be lost
        assert outcome(network, method, **given) == wanted


@pytest.mark.parametrize("method", ["cvb0", "vb"])
def test_groups_of_all_kinds_are_found_over_any_number_of_shards(method: str) -> None:
    relation = groups_of_all_kinds().relation
    whole = acvb_core.fit(relation, method, k_rows=12)
    for shards in (2, 5, 17):
        spread = acvb_core.fit(relation, method, k_rows=12, shards=shards)
        assert agreement(spread.labels("rows"), whole.labels("rows"))["ari"] > 0.95
        assert spread.snapshot.lower_bound == pytest.approx(whole.snapshot.lower_bound, rel=1e-3)
