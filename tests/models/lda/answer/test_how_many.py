"""The recommended number of topics: planted numbers are found, and noise and perplexity alone decide nothing."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from acvb_core.data.corpus import Corpus
from acvb_core.evaluate.ranking import jensen_shannon
from acvb_core.models.lda.answer.how_many import measure_stability, recommend_k
from acvb_core.models.lda.grid import grid
from tests.loops import for_each


def plant(n_topics: int, seed: int) -> Corpus:
    """300 documents of 60 words, with topics that have few words each."""
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(500, 0.05), n_topics)
    shares = rng.dirichlet(np.full(n_topics, 0.1), 300)
    return Corpus.build(np.array([rng.multinomial(60, share @ phi) for share in shares]))


@for_each("n_topics", [5, 10])
def test_the_planted_number_is_in_the_range(n_topics: int) -> None:
    runs = grid(plant(n_topics, n_topics), [2, 5, 10, 20, 40], seeds=2, max_sweeps=40)
    stable = measure_stability(runs.results)
    found = recommend_k(runs.table(), stable)
    assert found is not None
    assert found.low <= n_topics <= found.high < 40
    assert found.knee in (5, 10)
    assert max(stable, key=stable.__getitem__) == n_topics
    again = measure_stability([*runs.results, *runs.results])
    assert again[n_topics] > stable[n_topics]  # each run is paired with its copy, too


def test_stability_is_what_the_best_pairing_has_above_any_pair() -> None:
    runs = grid(plant(3, 1), [3], seeds=2, max_sweeps=3).results
    weights = [(run.posterior["words"] + run.posterior.hyper["beta"]).T for run in runs]
    one, other = (rows / rows.sum(axis=1, keepdims=True) for rows in weights)
    alike = 1.0 - jensen_shannon(one, other)
    best = max(alike[[0, 1, 2], order].mean() for order in permutations(range(3)))
    assert measure_stability(runs)[3] == pytest.approx((best - alike.mean()) / (1 - alike.mean()), rel=1e-5)
    assert measure_stability([runs[0], runs[0]])[3] == pytest.approx(1.0)
    assert measure_stability(runs[:1]) == {}


def table(npmi: list[float], heldout: list[float], exclusivity: list[float] | None = None) -> pd.DataFrame:
    """One run with each of 5, 10, 20 and 40 topics."""
    columns = {"k": [5, 10, 20, 40], "npmi": npmi, "heldout_perplexity": heldout}
    alone = exclusivity or [0.5 + 0.5 / k for k in columns["k"]]  # as much above chance with all numbers
    return pd.DataFrame(columns | {"exclusivity": alone, "loo_perplexity": [9.0, 8.0, 7.0, 6.0]})


def test_the_largest_number_is_not_taken_for_its_perplexity() -> None:
    found = recommend_k(table([0.3, 0.32, 0.1, 0.05], [1000.0, 820.0, 790.0, 780.0]), {})
    assert found is not None
    assert (found.low, found.high, found.knee) == (10, 10, 10)
    assert found.sentence == (
        "10 topics do best by all measures together (coherence is best at 10, held-out perplexity at 40)."
    )


def test_opposed_measures_are_said_to_disagree() -> None:
    found = recommend_k(table([0.3, 0.2, 0.1, 0.0], [1000.0, 874.0, 763.0, 667.0]), {})
    assert found is not None
    assert (found.low, found.high) == (5, 40)
    assert found.knee in (10, 20)
    assert "The measures disagree (coherence is best at 5, held-out perplexity at 40)" in found.sentence


@for_each(
    "heldout, said",
    [
        ([1000.0, 900.0, 800.0, 600.0], "as 40 is the largest number tried"),
        ([600.0, 800.0, 900.0, 1000.0], "as 5 is the smallest number tried"),
    ],
)
def test_the_ends_of_what_was_tried_are_named(heldout: list[float], said: str) -> None:
    found = recommend_k(table([0.1] * 4, heldout), {})
    assert found is not None
    assert said in found.sentence


def test_measures_of_noise_alone_do_not_count() -> None:
    """Coherence differs between seeds as much as between numbers; perplexity does not."""
    rows = table([0.1, 0.2, 0.1, 0.15], [1000.0, 800.0, 900.0, 950.0])
    others = rows.assign(npmi=[0.2, 0.1, 0.2, 0.1], heldout_perplexity=rows["heldout_perplexity"] + 1.0)
    found = recommend_k(pd.concat([rows, others]), {})
    assert found is not None
    assert found.sentence.startswith(
        "10 topics do best by all measures together (held-out perplexity is best at 10)"
    )
    assert recommend_k(rows.iloc[:2], {}) is None
    assert recommend_k(table([0.1] * 4, [800.0] * 4).assign(loo_perplexity=np.nan), {}) is None


def test_scores_are_means_of_scaled_measures() -> None:
    found = recommend_k(
        table([0.0, 0.1, 0.4, 0.3], [8.0, 4.0, 2.0, 1.0]), {5: 0.2, 10: 0.6, 20: 0.4, 40: 0.2}
    )
    assert found is not None
    assert found.scores.tolist() == pytest.approx(
        [0.0, (0.25 + 1 / 3 + 1) / 3, (1 + 2 / 3 + 0.5) / 3, 1.75 / 3]
    )
