"""The sampler against the posterior of few tokens, every assignment of which can be listed."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.core.averaging import AveragedAlgorithm
from acvb_core.models.lda.gibbs import GibbsLda
from tests.loops import for_each
from tests.models.lda.adapters import entries_of, hyper_of
from tests.oracles.lda_cases import LdaCase, random_case
from tests.oracles.lda_enumeration import joint_table, posterior, posterior_counts, token_marginals

SWEEPS, BURN_IN = 15_000, 50
CASES = {
    "8 tokens": random_case(1)._replace(alpha=np.array([0.3, 1.2]), beta=0.4),
    "more topics than are gathered at once": random_case(4, (2, 0, 1), 3, 17)._replace(
        alpha=np.linspace(0.02, 0.4, 17), beta=0.5
    ),
}


@pytest.mark.long
@for_each("name", list(CASES))
def test_frequencies_and_averages(name: str) -> None:
    """How often each assignment is drawn, and the averaged counts, which are the exact expectations."""
    case: LdaCase = CASES[name]
    table = joint_table(case.triplets, case.alpha, case.beta)
    chain = AveragedAlgorithm(
        GibbsLda(entries_of(case.triplets), case.size, hyper_of(case)), BURN_IN, track=False
    )
    state = chain.init(np.random.default_rng(0))
    drawn = np.empty((SWEEPS, len(table.tokens.words)), dtype=np.int64)
    rng = np.random.default_rng(7)
    for sweep in range(SWEEPS):
        state, _ = chain.sweep(state, rng)
        drawn[sweep] = state.inner.labels
    code = case.size ** np.arange(drawn.shape[1])
    number = {int(z @ code): i for i, z in enumerate(table.labels)}
    frequency = np.bincount([number[int(c)] for c in drawn[BURN_IN:] @ code], minlength=len(table.labels))
    frequency = frequency / frequency.sum()
    exact = posterior(table)
    # The distance to expect of as many independent draws, and as much again for those that are not.
    expected = 0.5 * np.sqrt(2 * exact * (1 - exact) / np.pi / SWEEPS).sum()
    assert 0.5 * np.abs(frequency - exact).sum() < 2 * expected
    marginal = np.stack([(drawn == k).mean(axis=0) for k in range(case.size)], axis=1)
    np.testing.assert_allclose(marginal, token_marginals(table, case.size), atol=0.015)
    counts, mean = posterior_counts(table, case.size), chain.posterior(state)
    assert chain.phase(state).samples == SWEEPS - BURN_IN
    np.testing.assert_allclose(mean["documents"], counts.documents, atol=0.06)
    np.testing.assert_allclose(mean["words"], counts.words, atol=0.06)
