"""The price of topics that are a sweep behind: held-out score and sweeps for several numbers of shards."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import acvb_core
from acvb_core.data.corpus import Corpus
from acvb_core.data.relation import Relation
from acvb_core.engine.problem import build_problem
from acvb_core.engine.run import Schedule
from acvb_core.engine.run import run as sweeps
from acvb_core.evaluate.agreement import agreement
from acvb_core.samples.planted_relations import (
    PlantedRelation,
    groups_of_all_kinds,
    planted_network,
    planted_relation,
    sparse_relation,
)

#: A run is there when it predicts held-out words within this share of the end of the run on one shard.
NEAR = 0.01


def scores_of(corpus: Corpus, method: str, values: dict[str, Any], seed: int) -> list[float]:
    """Return the held-out perplexity after each sweep."""
    problem = build_problem(corpus, method, values, heldout_documents=0.1, seed=seed)
    return [last.heldout.perplexity for last in sweeps(problem, schedule=Schedule(values["max_sweeps"], 1))]


def compare(corpus: Corpus, method: str, values: dict[str, Any], numbers: list[int], seeds: int) -> None:
    """Print, for each number of shards, the score at the end and how many sweeps it takes to come near."""
    found = {
        shards: [scores_of(corpus, method, {**values, "shards": shards}, seed) for seed in range(seeds)]
        for shards in numbers
    }
    sys.stdout.write(f"{corpus.size_text}; {method}, {values}, seeds {seeds}\n")
    goals = [run[-1] * (1 + NEAR) for run in found[numbers[0]]]
    for shards, runs in found.items():
        sweeps_to = [
            next((i + 1 for i, score in enumerate(run) if score <= goal), len(run) + 1)
            for run, goal in zip(runs, goals, strict=True)
        ]
        ratio = np.mean([run[-1] / first[-1] for run, first in zip(runs, found[numbers[0]], strict=True)])
        half = np.mean(
            [
                run[len(run) // 4 - 1] / first[len(run) // 4 - 1]
                for run, first in zip(runs, found[numbers[0]], strict=True)
            ]
        )
        sys.stdout.write(
            f"P = {shards:3}: perplexity {np.mean([run[-1] for run in runs]):9.2f} at the end ({ratio:.4f} of the "
            f"first row's), {half:.4f} of it after a quarter of the sweeps; within {NEAR:.0%} of the first row's end "
            f"after {np.mean(sweeps_to):.1f} sweeps\n"
        )


def take_objects(file: str | None, *, network: bool, hard: bool) -> tuple[Relation, NDArray[np.int64] | None]:
    """Return the relation of a file or a planted one, whose row clusters are known; print what it is."""
    if file is None:
        what, planted = _draw_objects(network, hard)
        sys.stdout.write(f"{what}; ")
        return planted.relation, planted.row_clusters
    relation = acvb_core.load_relation(file, domains="one" if network else "two").relation
    sys.stdout.write(f"{Path(file).name}, {relation.size_text}; ")
    return relation, None


def _draw_objects(network: bool, hard: bool) -> tuple[str, PlantedRelation]:
    """Return planted blocks of two kinds of objects, or groups of a network; with `hard`, ones that hide."""
    if network and hard:
        sizes = {f"group {number}": 30 for number in range(12)}
        return "12 groups of 30 nodes, 25 % and 3 % linked", planted_network(
            sizes, np.where(np.eye(12), 0.25, 0.03), 0
        )
    if network:
        return "a network of 360 nodes", groups_of_all_kinds(0)
    if hard:
        return "600 x 600 sparse, 20 x 20 blocks", sparse_relation(0, 600, 20, 0.02)
    return "1,000 x 800, 8 x 6 blocks", planted_relation(1_000, 800, 8, 6, 0)


def compare_relations(
    relation: Relation,
    truth: NDArray[np.int64] | None,
    method: str,
    values: dict[str, Any],
    numbers: list[int],
    seeds: int,
) -> None:
    """Print, for each number of shards, the held-out score, how far it is from the first row's, and the sweeps.

    Run r of every number has seed r and split r. With `truth`, clusters of the row objects to compare with, all have
    the first split.
    """
    sys.stdout.write(f"{method}, {values}, seeds {seeds}\n")
    first = np.zeros(seeds)
    for shards in numbers:
        runs = [
            acvb_core.fit(
                relation,
                method,
                heldout=0.1,
                heldout_seed=seed if truth is None else 0,
                seed=seed,
                shards=shards,
                **values,
            )
            for seed in range(seeds)
        ]
        skills = np.array([run.snapshot.heldout.skill for run in runs])
        first = skills if shards == numbers[0] else first
        apart = skills - first
        taken = np.mean([run.snapshot.sweep for run in runs])
        found = [run.snapshot.effective_k for run in runs]
        clusters = " ".join("x".join(str(k) for k in one.values()) for one in found)
        near = ""
        if truth is not None:
            near = f"ARI {np.mean([agreement(run.labels('rows'), truth)['ari'] for run in runs]):.3f}, "
        bound = np.mean([run.snapshot.lower_bound for run in runs])
        sys.stdout.write(
            f"P = {shards:3}: held-out skill by the clusters {skills.mean():.4f} ({apart.mean():+.4f}, from "
            f"{apart.min():+.4f} to {apart.max():+.4f}), bound {bound:,.0f}, {taken:.1f} sweeps; "
            f"{near}clusters {clusters}\n"
        )
        sys.stdout.flush()


def compare_streams(
    corpus: Corpus, method: str, values: dict[str, Any], numbers: list[int], seeds: int
) -> None:
    """Print, for each number of shards and of merges in a window, the perplexity after one epoch and at the end."""
    sys.stdout.write(f"{corpus.size_text}; {method}, {values}, seeds {seeds}\n")
    first = np.zeros(2)
    for shards, merges in [(1, 1), *((shards, merges) for shards in numbers[1:] for merges in (1, 4))]:
        scores = []
        for seed in range(seeds):
            given = {**values, "shards": shards, "merges": merges}
            problem = build_problem(corpus, method, given, heldout_documents=0.1, seed=seed)
            stream: Any = problem.inference
            found = [
                last.heldout.perplexity
                for last in sweeps(problem, schedule=Schedule(problem.max_sweeps, stream.sweeps_of(1.0)))
                if last.heldout is not None
            ]
            scores.append((found[0], found[-1]))
        mean = np.mean(scores, axis=0)
        first = mean if shards == 1 else first
        after, end = mean / first - 1.0
        sys.stdout.write(
            f"P = {shards:3}, {merges} merges a window: perplexity {mean[0]:.1f} ({after:+.1%}) after an epoch, "
            f"{mean[1]:.1f} ({end:+.1%}) at the end\n"
        )
        sys.stdout.flush()
