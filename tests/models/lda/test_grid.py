"""A grid over the number of topics: its runs, its table, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.core.errors import ParameterError
from acvb_core.engine.fitting import fit
from acvb_core.engine.history import Verdict
from acvb_core.engine.run import StopRun
from acvb_core.models.lda.grid import Grid, grid, prepare_grid
from acvb_core.models.lda.topics import coherence, topic_diversity
from acvb_core.samples.planted_mixtures import bars
from tests.loops import for_each

PLANTED = bars()
CORPUS = PLANTED.corpus


@pytest.fixture(scope="module")
def found() -> Grid:
    return grid(CORPUS, [10, 2, 10], seeds=2, heldout=0.2, heldout_seed=3, max_sweeps=30)


def test_a_row_is_what_the_run_says(found: Grid) -> None:
    result = fit(CORPUS, "cvb0", k=10, seed=1, heldout=0.2, heldout_seed=3, max_sweeps=30)
    table = found.table()
    assert list(zip(table["k"], table["seed"], strict=True)) == [(2, 0), (2, 1), (10, 0), (10, 1)]
    row = table.iloc[3]
    assert row["verdict"] == str(result.verdict)
    assert row["sweeps"] == result.snapshot.sweep
    assert row["effective_k"] == result.posterior["words"].shape[1]
    np.testing.assert_allclose(row["heldout_perplexity"], np.exp(-result.snapshot.heldout.log_likelihood))
    # Written out again: the perplexity of the training words, the coherence of the ten most probable ones.
    per_token = result.snapshot.pseudo_loo / result.prepared.train.n_tokens
    np.testing.assert_allclose(row["loo_perplexity"], np.exp(-per_token), rtol=1e-6)
    phi = result.posterior["words"] + result.posterior.hyper["beta"]
    words = np.argsort(-(phi / phi.sum(axis=0)), axis=0, kind="stable")[:10].T
    expected = coherence(CORPUS.counts, words)
    np.testing.assert_allclose(row["npmi"], expected.npmi.mean())
    np.testing.assert_allclose(row["u_mass"], expected.u_mass.mean())
    assert row["diversity"] == topic_diversity(words)


def test_a_stopped_grid_keeps_what_it_has() -> None:
    sweeps: list[object] = []

    def poll() -> None:
        if len(sweeps) >= 7:
            raise StopRun

    found = grid(CORPUS, [2, 3, 4], max_sweeps=5, watch=lambda *at: sweeps.append(at), poll=poll)
    assert [result.verdict for result in found.results] == [Verdict.MAX_SWEEPS, Verdict.STOPPED]
    assert found.table()["k"].tolist() == [2, 3]


@for_each(
    "ks, options, says",
    [([], {}, "No number of topics"), ([2], {"seeds": []}, "a number of seeds"), ([2, 0], {}, "k is 0")],
)
def test_what_is_refused(ks: list[int], options: dict[str, object], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        prepare_grid(CORPUS, ks, **options)  # type: ignore[arg-type]
