"""CVB0 and VB of relations over shards: one shard is the run without, and the number of shards alone decides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import acvb_core
from acvb_core.data.relation import Relation
from acvb_core.evaluate.agreement import agreement
from acvb_core.shards.place import shard_workers

_TIMES = ["cpu_seconds", "wall_seconds", "diagnostics_seconds"]


@pytest.fixture(scope="module")
def relation() -> Relation:
    rng = np.random.default_rng(0)
    rows, columns = rng.integers(5, size=120), rng.integers(4, size=90)
    ones = rng.random((120, 90)) < rng.beta(0.5, 1.0, (5, 4))[rows][:, columns]
    missing = rng.random(ones.shape) < 0.1
    return Relation.build(ones & ~missing, missing)


def outcome(relation: Relation, method: str, shards: int, **given: Any) -> Any:
    values: dict[str, Any] = {"k_rows": 7, "k_cols": 7, "max_sweeps": 25} | given
    values = {name: value for name, value in values.items() if value is not None}
    result = acvb_core.fit(relation, method, heldout=0.1, shards=shards, **values)
    history = result.history.drop(columns=[*_TIMES, "lost"], errors="ignore").to_numpy().tobytes()
    return history, {name: array.tobytes() for name, array in result.snapshot.posterior.arrays.items()}


@pytest.mark.parametrize(
    ("method", "init"),
    [("cvb0", "random"), ("cvb0", "gibbs"), ("acvb0", "spectral"), ("vb", "spectral")],
)
def test_one_shard_gives_the_bits_of_a_run_without(relation: Relation, method: str, init: str) -> None:
    assert outcome(relation, method, 1, init=init) == outcome(relation, method, 0, init=init)


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
    def kill(problem: Any, snapshot: Any) -> None:
        if snapshot.sweep == 3:
            problem.inference.inner.group.workers[1].process.kill()

    with shard_workers(1):
        wanted = outcome(relation, "acvb0", 3)
    with shard_workers(3):
        assert outcome(relation, "acvb0", 3) == wanted
    with shard_workers(2, processes=True, save_every=0):  # the shards keep nothing that could be lost
        assert outcome(relation, "acvb0", 3, watch=kill) == wanted


def test_planted_clusters_are_found_over_any_number_of_shards(relation: Relation) -> None:
    whole = acvb_core.fit(relation, "cvb0", k_rows=7, k_cols=7)
    for shards in (2, 5, 200):  # more than there are objects
        spread = acvb_core.fit(relation, "cvb0", k_rows=7, k_cols=7, shards=shards)
        assert agreement(spread.labels("rows"), whole.labels("rows"))["ari"] > 0.95
        assert spread.snapshot.lower_bound == pytest.approx(whole.snapshot.lower_bound, rel=1e-3)
