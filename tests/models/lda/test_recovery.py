"""Topics that a corpus was drawn from are found again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from acvb_core.core.errors import ParameterError
from acvb_core.engine.fitting import fit
from acvb_core.engine.prepared import prepare_run
from acvb_core.engine.result import Result
from acvb_core.evaluate.alignment import align_topics
from acvb_core.models.lda.trained import trained_topics
from acvb_core.samples.planted_mixtures import topics_10
from tests.loops import for_each

TRUTH = topics_10(0)


@for_each("method", ["acvb0", "cvb0"])
def test_planted_topics_are_found(method: str) -> None:
    result = fit(TRUTH.corpus, method, k=10, seed=1)
    phi = result.prepared.model.topics(result.snapshot.posterior).word_probability
    pairs = align_topics(TRUTH.phi, phi)
    # About 5,000 tokens say what the 1,000 words of a topic are: even if it were known which, it would be as far off
    # as this. Other topics are four times as far.
    exact = TRUTH.word_topics.T + 0.1
    nearest = align_topics(TRUTH.phi, exact / exact.sum(axis=1, keepdims=True))
    assert pairs.distance.max() < 1.5 * nearest.distance.max()
    shares = result.prepared.model.topics(result.snapshot.posterior).document_share
    matched = shares[:, pairs.other[np.argsort(pairs.one)]]
    assert np.abs(matched - TRUTH.theta).mean() < 0.02


def distances(result: Result) -> np.ndarray:
    """Return how far each planted topic is from the one found for it."""
    phi = result.prepared.model.topics(result.snapshot.posterior).word_probability
    return np.asarray(align_topics(TRUTH.phi, phi).distance)


@for_each(
    "method, found, worse", [("sdm", 10, 1.06), ("asdm", 10, 1.03), ("scvb0", 7, 1.12), ("svb", 6, 1.25)]
)
def test_planted_topics_are_found_in_a_stream(method: str, found: int, worse: float) -> None:
    """By SDM all of them, nearly as well as by CVB0 that has all documents at once; most of them by the others.

    Plain VB is no better than SVB here; both put some topics together.
    """
    # The usual minibatches and steps are for streams that are much longer; those of the papers suit these.
    steps: dict[str, Any] = {} if "sdm" in method else {"batch": 20, "step_offset": 10.0, "preset": "paper"}
    steps |= {"step_scale": 5.0} if method == "scvb0" else {}
    batch = fit(TRUTH.corpus, "cvb0", k=10, heldout_documents=0.1)
    stream = fit(TRUTH.corpus, method, k=10, heldout_documents=0.1, epochs=20.0, **steps)
    assert (distances(batch) < 0.3).all()
    assert (distances(stream) < 0.3).sum() >= found
    assert stream.snapshot.heldout.perplexity < worse * batch.snapshot.heldout.perplexity


@for_each("method", ["sdm", "scvb0", "svb"])
def test_a_stream_continues_from_a_batch_method_without_losing_what_was_found(method: str) -> None:
    """Concentrations too: those of the batch method."""
    batch = fit(TRUTH.corpus, "cvb0", k=10, heldout_documents=0.1)
    trained = trained_topics(batch)
    with pytest.raises(ParameterError, match="k is 7, but there are 10 topics"):
        prepare_run(TRUTH.corpus, method, {"k": 7}, start=trained)
    given: dict[str, Any] = {"epochs": 1.0, "start": trained, "prior": "symmetric"}
    stream = fit(TRUTH.corpus, method, k=10, heldout_documents=0.1, **given)
    assert stream.snapshot.heldout.perplexity < 1.05 * batch.snapshot.heldout.perplexity
    assert (distances(stream) < 0.3).all()
    one, other = (run.snapshot.posterior for run in (stream, batch))
    np.testing.assert_allclose(one["alpha"], other["alpha"], rtol=1e-6)
    assert one.hyper["beta"] == other.hyper["beta"]
