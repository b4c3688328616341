"""Topics that a corpus was drawn from are found again."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.data.synthetic_topics import topics_10
from acvb_core.engine.fitting import fit
from acvb_core.evaluate.alignment import align_topics

TRUTH = topics_10(0)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("method", ["acvb0", "cvb0"])
def test_planted_topics_are_found(method: str, seed: int) -> None:
    result = fit(TRUTH.corpus, method, k=10, seed=seed)
    phi = result.problem.model.topics(result.snapshot.posterior).word_probability
    pairs = align_topics(TRUTH.phi, phi)
    # About 5,000 tokens say what the 1,000 words of a topic are: even if it were known which, it would be as far off
    # as this. Other topics are four times as far.
    exact = TRUTH.word_topics.T + 0.1
    nearest = align_topics(TRUTH.phi, exact / exact.sum(axis=1, keepdims=True))
    assert pairs.distance.max() < 1.5 * nearest.distance.max()
    shares = result.problem.model.topics(result.snapshot.posterior).document_share
    matched = shares[:, pairs.other[np.argsort(pairs.one)]]
    assert np.abs(matched - TRUTH.theta).mean() < 0.02
    assert result.snapshot.cpu_seconds < 5
