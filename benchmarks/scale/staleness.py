"""The price of topics that are a sweep behind: held-out score and sweeps for several numbers of shards."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from acvb_core.data.corpus import Corpus
from acvb_core.engine.prepared import prepare_run
from acvb_core.engine.run import Schedule
from acvb_core.engine.run import run as sweeps

#: A run is there when it predicts held-out words within this share of the end of the run on one shard.
NEAR = 0.01


def scores_of(corpus: Corpus, method: str, values: dict[str, Any], seed: int) -> list[float]:
    """Return the held-out perplexity after each sweep."""
    prepared = prepare_run(corpus, method, values, heldout_documents=0.1, seed=seed)
    return [last.heldout.perplexity for last in sweeps(prepared, schedule=Schedule(values["max_sweeps"], 1))]


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
        of_first = np.array(runs) / np.array(found[numbers[0]])
        ratio, half = of_first[:, -1].mean(), of_first[:, of_first.shape[1] // 4 - 1].mean()
        sys.stdout.write(
            f"P = {shards:3}: perplexity {np.mean([run[-1] for run in runs]):9.2f} at the end ({ratio:.4f} of the "
            f"first row's), {half:.4f} of it after a quarter of the sweeps; within {NEAR:.0%} of the first row's end "
            f"after {np.mean(sweeps_to):.1f} sweeps\n"
        )


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
            prepared = prepare_run(corpus, method, given, heldout_documents=0.1, seed=seed)
            schedule = Schedule(prepared.max_sweeps, prepared.count_sweeps(1.0))
            states = [state for state in sweeps(prepared, schedule=schedule) if state.heldout is not None]
            found = [state.heldout.perplexity for state in states]
            scores.append((found[0], found[-1]))
        mean = np.mean(scores, axis=0)
        first = mean if shards == 1 else first
        after, end = mean / first - 1.0
        sys.stdout.write(
            f"P = {shards:3}, {merges} merges a window: perplexity {mean[0]:.1f} ({after:+.1%}) after an epoch, "
            f"{mean[1]:.1f} ({end:+.1%}) at the end\n"
        )
        sys.stdout.flush()
