"""Which run a results page shows first, why, and what it remembers of an earlier visit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from acvb_core.data.relation import Relation
from acvb_core.engine.executor import Executor
from acvb_core.engine.fitting import fit
from acvb_core.engine.job import Job
from acvb_core.engine.result import Result
from pages.ui.shared.picking import order_runs

EXECUTOR = Executor(1)


def relation(seed: int, name: str = "same", **more: Any) -> Relation:
    ones = np.random.default_rng(seed).random((14, 14)) < 0.4
    np.fill_diagonal(ones, False)
    return Relation.build(ones, name=name, **more)


def job(number: int, result: Result) -> Job:
    return Job.restore(result, EXECUTOR, job_id=f"{number:012x}", created=1e9 + number)


def found(data: Relation, method: str = "vb", **more: Any) -> Result:
    return fit(data, method, **{"k_rows": 3, "k_cols": 3, "heldout": 0.3, **more})


def score(result: Result) -> float:
    return float(result.snapshot.heldout.log_likelihood)


@pytest.fixture(scope="module")
def runs() -> list[Result]:
    """Three runs on one data set, the one that predicts best in the middle, and the newest run on another."""
    three = sorted((found(relation(0), seed=seed, init="random") for seed in range(3)), key=score)
    assert score(three[0]) < score(three[1]) < score(three[2])
    return [three[0], three[2], three[1], found(relation(1, "other"))]


def test_the_best_held_out_score_comes_first(runs: list[Result]) -> None:
    jobs = [job(number, result) for number, result in enumerate(runs)]
    order, reason = order_runs(jobs, relation(0).fingerprint)
    assert order == [jobs[1], jobs[2], jobs[0], jobs[3]]
    assert reason == "Shown first: the best held-out score of 3 runs on same."
    order, reason = order_runs(jobs, relation(1).fingerprint)
    assert order == [jobs[3], jobs[2], jobs[1], jobs[0]]
    assert reason == "Shown first: the only run on other."
    assert order_runs(jobs, "of data without runs") == (order, reason)
    assert order_runs(jobs[:1], None) == (jobs[:1], "")


def test_without_scores_the_best_bound_of_the_newest_method_comes_first() -> None:
    vb = [found(relation(0), seed=seed, init="random", heldout=0.0) for seed in range(2)]
    vb.sort(key=lambda result: -float(result.snapshot.lower_bound or 0))
    jobs = [
        job(number, result) for number, result in enumerate([found(relation(0), "cvb0", heldout=0.0), *vb])
    ]
    order, reason = order_runs(jobs, None)
    assert order == [jobs[1], jobs[2], jobs[0]]
    assert reason == "Shown first: the best lower bound of 2 VB runs on same."
    order, reason = order_runs(jobs[:2], None)
    assert order == [jobs[1], jobs[0]]
    assert reason == "Shown first: the newest of 2 runs on same."
