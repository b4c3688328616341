"""The price of topics that are a sweep behind: held-out score and sweeps for several numbers of shards."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import acvb_core
from acvb_core.data.corpus import Corpus
from acvb_core.engine.problem import build_problem
from acvb_core.engine.run import Schedule
from acvb_core.engine.run import run as sweeps
from acvb_core.evaluate.agreement import agreement
from acvb_core.samples.planted_relations import groups_of_all_kinds, planted_relation

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


def compare_relations(values: dict[str, Any], numbers: list[int], seeds: int, network: bool = False) -> None:
    """Print, for planted blocks and each number of shards, the held-out score and the sweeps until convergence.

    `network`: of groups of all kinds in an undirected network, in place of two kinds of objects.
    """
    planted = groups_of_all_kinds(0) if network else planted_relation(1_000, 800, 8, 6, 0)
    what = "a network of 360 nodes" if network else "1,000 x 800, 8 x 6 blocks"
    sys.stdout.write(f"{what}; {values}, seeds {seeds}\n")
    for shards in numbers:
        runs = [
            acvb_core.fit(planted.relation, "cvb0", heldout=0.1, seed=seed, shards=shards, **values)
            for seed in range(seeds)
        ]
        skill = np.mean([run.snapshot.heldout.skill for run in runs])
        taken = np.mean([run.snapshot.sweep for run in runs])
        near = np.mean([agreement(run.labels("rows"), planted.row_clusters)["ari"] for run in runs])
        found = [run.snapshot.effective_k for run in runs]
        clusters = " ".join("x".join(str(k) for k in one.values()) for one in found)
        sys.stdout.write(
            f"P = {shards:3}: held-out skill {skill:.4f}, {taken:.1f} sweeps; ARI {near:.3f}, clusters {clusters}\n"
        )
