"""A run is not taken for converged on the plateau that many topics begin on."""

from __future__ import annotations

import pytest

from acvb_core.engine.fitting import fit
from acvb_core.models.lda.state import BEGINNING, RISING_UNTIL, is_beginning
from acvb_core.samples.planted_mixtures import planted_topics


@pytest.mark.parametrize("method", ["cvb0", "cvb", "vb"])
def test_many_topics_leave_their_even_start(method: str) -> None:
    corpus = planted_topics(600, 800, 8, 80, 0.1, 0.05, 0).corpus
    # So loose a tolerance is met by the first sweeps of such a start.
    result = fit(corpus, method, k=150, alpha=0.1, hyper="fixed", tol=1e-3)
    assert result.snapshot.sweep >= BEGINNING
    even = 1 / 150
    largest = result.prepared.model.topics(result.posterior).document_share.max(axis=1)
    assert largest.mean() > 10 * even


def test_a_run_that_moves_more_and_more_is_waited_for_but_not_for_ever() -> None:
    assert is_beginning(1, 0.1, 0.2)
    assert not is_beginning(BEGINNING, 0.1, 0.2)
    assert is_beginning(BEGINNING, 0.2, 0.1)
    assert not is_beginning(RISING_UNTIL, 0.2, 0.1)
