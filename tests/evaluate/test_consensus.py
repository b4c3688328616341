"""The clustering that runs agree on, against every clustering there is, and against the truth."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.evaluate.consensus import count_together, expected_rand, find_consensus
from tests.loops import for_each
from tests.oracles.enumeration import partitions


def one_hot(labels: list[int]) -> np.ndarray:
    return np.eye(max(labels) + 1)[labels]


RUNS = [one_hot(labels) for labels in ([0, 0, 1, 1, 2], [0, 0, 1, 1, 1], [0, 1, 1, 1, 2])]


def test_pairs_are_counted_over_runs() -> None:
    together = count_together(RUNS)
    assert together[0, 1] == pytest.approx(2 / 3)
    assert together[2, 3] == pytest.approx(1.0)
    assert together[1, 2] == pytest.approx(1 / 3)
    assert together[0, 4] == pytest.approx(0.0)
    np.testing.assert_allclose(together.diagonal(), 1.0)


@for_each("seed", range(10))
def test_the_consensus_is_the_best_of_all_clusterings_or_nearly_so(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = np.array([0, 0, 0, 1, 1, 2])
    runs = []
    for _ in range(5):
        labels = truth.copy()
        labels[rng.integers(6)] = rng.integers(3)
        runs.append(one_hot([*labels.tolist()]))
    together = count_together(runs)
    best = max(expected_rand(np.array(labels), together) for labels in partitions(6))
    assert expected_rand(find_consensus(runs).labels, together) > best - 0.02


def test_a_run_with_samples_counts_by_these() -> None:
    """Objects 0 and 1 share the run's cluster for certain, and a cluster in half of its samples."""
    q = one_hot([0, 0, 1])
    samples = np.array([[0, 0, 1], [0, 1, 1], [0, 0, 1], [0, 1, 2]], dtype=np.int16)
    assert count_together([q])[0, 1] == 1.0
    assert count_together([q], [samples])[[0, 0, 1], [1, 2, 2]].tolist() == [0.5, 0.0, 0.25]
    # The other run has none.
    assert count_together([q, q], [samples, None])[0, 1] == 0.75
    assert find_consensus([one_hot([0, 0, 1])] * 2).certainty[2] == 1.0  # always apart from the others
    agreed = find_consensus([q, q], [samples, samples])
    assert agreed.certainty[:2].tolist() == [0.5, 0.5]
