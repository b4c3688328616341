"""CVB0 and VB of relations over shards: one shard is the run without, and the number of shards alone decides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import acvb_core
from acvb_core.core.protocols import no_checkpoint
from acvb_core.data.relation import Relation
from acvb_core.evaluate.agreement import agreement
from acvb_core.models.irm.start import Start
from acvb_core.models.irm.state import block_counts
from acvb_core.models.irm.sweeps.sharded import ShardedIrm, cut
from acvb_core.shards.place import shard_workers
from tests.models.irm.adapters import NO_MOVES, hyper_of, relation_of, state_of
from tests.oracles.cases import random_case
from tests.oracles.dense_irm import sweep, update_cvb0
from tests.shards.outcomes import frail_workers, outcome

_RUN: dict[str, Any] = {"k_rows": 7, "k_cols": 7, "max_sweeps": 25, "heldout": 0.1}


@pytest.fixture(scope="module")
def relation() -> Relation:
    rng = np.random.default_rng(0)
    rows, columns = rng.integers(5, size=120), rng.integers(4, size=90)
    ones = rng.random((120, 90)) < rng.beta(0.5, 1.0, (5, 4))[rows][:, columns]
    missing = rng.random(ones.shape) < 0.1
    return Relation.build(ones & ~missing, missing)


@pytest.mark.parametrize(
    ("method", "init"),
    [("cvb0", "random"), ("cvb0", "gibbs"), ("acvb0", "spectral"), ("vb", "spectral")],
)
def test_one_shard_gives_the_bits_of_a_run_without(relation: Relation, method: str, init: str) -> None:
    one, none = (outcome(relation, method, shards=n, init=init, **_RUN) for n in (1, 0))
    assert one == none


@pytest.mark.parametrize("shards", [1, 3])
def test_a_sweep_equals_the_dense_one(shards: int) -> None:
    """Each part is updated by itself, against all other objects as they were; then the columns given the rows."""
    case = random_case(2, (11, 9), (3, 4), per_block=True)
    relation = relation_of(case.data)
    method = ShardedIrm(
        relation, Start(3, 4), hyper_of(case), hyper_rule="fixed", shrink=0.0, moves=NO_MOVES, n_shards=shards
    )
    # A worker is lost after it has summed the links up, which the one in its place has to do again.
    with frail_workers("update", 1) if shards > 1 else shard_workers():
        state, loo = method.update(state_of(case), np.random.default_rng(5), no_checkpoint)
    rng, wanted = np.random.default_rng(5), 0.0
    orders = [rng.permutation(n) for n in relation.shape]
    for side, kind in enumerate((relation, relation.transposed)):
        bounds, q = cut(shards, kind), (case.q1.copy(), case.q2.copy())
        for begin, end in zip(bounds[:-1], bounds[1:], strict=True):
            part = [orders[side][(orders[side] >= begin) & (orders[side] < end)], []]
            *updated, log_normalisers = sweep(
                update_cvb0, case.data, case.q1, case.q2, *(part if side == 0 else part[::-1]),
                a=case.a, b=case.b, alpha1=case.alpha1, alpha2=case.alpha2,
            )  # fmt: skip
            q[side][begin:end] = updated[side][begin:end]
            wanted += log_normalisers
        case = case._replace(q1=q[0], q2=q[1])
    assert state.q["rows"] == pytest.approx(case.q1, abs=1e-9)
    assert state.q["cols"] == pytest.approx(case.q2, abs=1e-9)
    assert loo == pytest.approx(wanted, abs=1e-9)
    recounted = block_counts(relation, state.q)
    assert state.ones == pytest.approx(recounted[0], abs=1e-9)
    assert state.entries == pytest.approx(recounted[1], abs=1e-9)


def test_vb_loses_nothing_over_shards(relation: Relation) -> None:
    for schedule in ("domains", "paper"):
        one, many = (
            acvb_core.fit(relation, "vb", k_rows=7, k_cols=7, shards=n, schedule=schedule, init="random")
            for n in (0, 3)
        )
        assert many.history["lower_bound"].to_numpy() == pytest.approx(
            one.history["lower_bound"].to_numpy(), rel=1e-9
        )


def test_neither_workers_nor_the_loss_of_one_change_a_bit(relation: Relation) -> None:
    given: dict[str, Any] = _RUN | {"shards": 3}
    with shard_workers(1):
        wanted = outcome(relation, "acvb0", **given)
    with shard_workers(3):
        assert outcome(relation, "acvb0", **given) == wanted
    with frail_workers("block_sums", 5):  # the shards keep nothing that could be lost
        assert outcome(relation, "acvb0", **given) == wanted


def test_planted_clusters_are_found_over_any_number_of_shards(relation: Relation) -> None:
    whole = acvb_core.fit(relation, "cvb0", k_rows=7, k_cols=7)
    for shards in (2, 5, 200):  # more than there are objects
        spread = acvb_core.fit(relation, "cvb0", k_rows=7, k_cols=7, shards=shards)
        assert agreement(spread.labels("rows"), whole.labels("rows"))["ari"] > 0.95
        assert spread.snapshot.lower_bound == pytest.approx(whole.snapshot.lower_bound, rel=1e-3)
