"""The conclusion about runs: planted agreement, disagreement and scores are told as they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from acvb_core.core.display import write_number
from acvb_core.engine.fitting import fit
from acvb_core.engine.history import Verdict
from acvb_core.engine.result import Result
from acvb_core.evaluate.heldout import LinkScore
from acvb_core.models.lda.topics import count_alike_topics
from acvb_core.models.lda.trained import trained_topics
from acvb_core.samples.catalogue import load_sample
from acvb_core.samples.planted_mixtures import planted_features
from acvb_core.views.conclusion import (
    describe_found,
    describe_run,
    describe_runs,
    order_compared,
)
from tests.loops import for_each


@pytest.fixture(scope="module")
def planted() -> list[Result]:
    """Runs of three methods that all find the 4 x 5 planted groups."""
    relation = load_sample("synth1").relation
    return [fit(relation, method, k_rows=8, k_cols=8, heldout=0.1) for method in ("acvb0", "cvb0", "vb")]


def scored(result: Result, skill: float, verdict: Verdict = Verdict.CONVERGED) -> Result:
    """The same run with another held-out score."""
    score = LinkScore(-1.0 + skill, skill, 0.9, 0.9)
    return result.with_state(snapshot=replace(result.snapshot, heldout=score, verdict=verdict))


def shuffled(result: Result, domain: str) -> Result:
    """The same run with the objects of one domain in groups drawn at random."""
    posterior = result.snapshot.posterior
    some = np.random.default_rng(0).permutation(posterior[domain])
    return result.with_state(
        snapshot=replace(result.snapshot, posterior=posterior.with_arrays({domain: some}))
    )


def test_runs_that_agree_and_one_that_predicts_worse(planted: list[Result]) -> None:
    runs = [scored(planted[0], 0.642), scored(planted[1], 0.639), scored(planted[2], 0.5)]
    said = describe_runs(runs, ["ACVB0", "CVB0", "VB"])
    assert said == (
        "4 × 5 clusters. Three methods agree well (ARI 1.00 on rows, 1.00 on columns). "
        "Best held-out prediction: ACVB0 (skill 64.2 %, CVB0 level with it)."
    )


def test_runs_that_did_not_converge_or_diverged_are_named(planted: list[Result]) -> None:
    runs = [
        scored(planted[0], 0.6),
        scored(planted[1], 0.5, Verdict.MAX_SWEEPS),
        scored(planted[2], 0.9, Verdict.DIVERGED),
    ]
    said = describe_runs(runs, ["A", "B", "C"])
    assert "Not converged: B." in said
    assert "Left out, as diverged: C." in said
    assert "Best held-out prediction: A" in said


def test_other_splits_and_other_data_are_not_compared(planted: list[Result]) -> None:
    other = fit(planted[0].prepared.data, "vb", k_rows=8, k_cols=8, heldout=0.2)
    said = describe_runs([planted[0], other], ["A", "B"])
    assert "agree well" in said
    assert "held-out" not in said
    women = fit(load_sample("southern_women").relation, "vb")
    assert describe_runs([planted[0], women], ["A", "B"]) == ""


def test_one_run_says_what_it_found_and_how_it_ended(planted: list[Result]) -> None:
    assert describe_run(scored(planted[2], 0.642)) == (
        "4 × 5 clusters. Converged. Another seed may end elsewhere. Held-out skill 64.2 %."
    )
    assert "Not converged: it reached its limit first." in describe_run(
        scored(planted[2], 0.6, Verdict.MAX_SWEEPS)
    )
    moving = replace(planted[0].snapshot, scaled_change=0.5)
    said = describe_run(planted[0].with_state(snapshot=moving))
    assert f"Converged after {moving.sweep} sweeps (fluctuations remain). Another seed may" in said


def test_topics_agree_as_far_as_they_come_back() -> None:
    corpus = load_sample("bars").corpus
    runs = [fit(corpus, method, k=10, heldout=0.1, max_sweeps=60) for method in ("cvb0", "vb")]
    said = describe_runs(runs, ["CVB0", "VB"])
    found, n = count_alike_topics([runs[at].snapshot.posterior for at in order_compared(runs)])
    assert describe_found(found, n, ("topic", "topics"), n) in said
    assert "lower bounds" not in said  # their bounds are not of the same kind
    assert "(perplexity " in said
    alone = describe_runs([runs[0], shuffled(runs[0], "words")], ["A", "B"])
    assert "hardly agree. " in alone
    assert "do not present" in alone


def test_runs_that_differ_in_the_seed_alone_say_how_far_apart_their_bounds_are() -> None:
    novel = load_sample("les_miserables").relation
    runs = [fit(novel, "vb", seed=seed) for seed in range(3)]
    bounds = sorted(run.snapshot.lower_bound for run in runs)
    assert bounds[-1] - bounds[0] > 0.2
    said = describe_runs(runs, ["a", "b", "c"], reference=0)
    assert said.startswith("Three seeds ")  # what the first of them found is said elsewhere
    assert f" to {bounds[-1] - bounds[0]:.1f} nats." in said
    assert "Their lower bounds differ by " in said
    other = fit(novel, "vb", seed=3, alpha=2.0)
    assert "lower bounds" not in describe_runs([*runs, other], ["a", "b", "c", "d"])


@for_each(
    "found, n, fewest, said",
    [
        (20, 20, 20, "All 20 topics are found by every run."),
        (1, 1, 1, "The topic is found by every run."),
        (1, 20, 20, "Only 1 of 20 topics is found by every run: do not present the others as certain."),
        (
            2, 20, 5,
            "Only 2 of 20 topics are found by every run: do not present the others as certain. One of the runs has "
            "only 5 topics.",
        ),
    ],
)  # fmt: skip
def test_parts_that_not_every_run_finds_are_not_certain(found: int, n: int, fewest: int, said: str) -> None:
    assert describe_found(found, n, ("topic", "topics"), fewest) == said


def test_a_run_with_fewer_topics_is_named_where_topics_do_not_come_back() -> None:
    corpus = load_sample("bars").corpus
    runs = [fit(corpus, "cvb0", k=k, max_sweeps=60) for k in (10, 2)]
    assert "do not present them as certain. One of the runs has only 2 topics." in describe_runs(
        runs, ["A", "B"]
    )


def test_a_run_that_predicted_better_before_overfits() -> None:
    """EM with a feature for each column learns the noise; FAB on the same cells does not."""
    table = planted_features(200, 14, 3, seed=0).table
    em, fab = (fit(table, method, heldout=0.3) for method in ("em", "fab"))
    scores = em.state.history.column("heldout_log_likelihood")
    assert em.heldout_peak == (scores.argmax() + 1, scores.max(), scores[-1])
    said = describe_run(em)
    assert f"were predicted best after sweep {scores.argmax() + 1} (log likelihood -1." in said
    assert f"This is no better than the column means ({write_number(em.snapshot.heldout[3])})" in said
    assert "overfits" not in describe_run(fab)
    both = describe_runs([em, fab], ["EM", "FAB"])
    assert both.endswith("Overfitting (better held-out score in earlier sweeps): EM.")


def test_a_run_from_given_topics_has_nothing_random_and_agrees_with_no_other_seed() -> None:
    corpus = load_sample("bars").corpus
    topics = trained_topics(fit(corpus, "cvb0", k=10, max_sweeps=30))
    runs = [fit(corpus, "cvb0", start=topics, seed=seed) for seed in (0, 1)]
    assert [run.verdict for run in runs] == [Verdict.CONVERGED] * 2
    np.testing.assert_array_equal(*(run.snapshot.posterior["words"] for run in runs))
    assert "another seed" not in describe_run(runs[0]).lower()
    said = describe_runs(runs, ["a", "b"])
    assert "agree" not in said
    assert "with the same answer count once" in said


def test_a_larger_number_is_advised_if_all_clusters_are_in_use(planted: list[Result]) -> None:
    """Without splits a run has no more than it starts with; splits find the others."""
    few = {"k_rows": 2, "k_cols": 8, "heldout": 0.1}
    runs = [fit(planted[0].prepared.data, "cvb0", split=split, **few) for split in (False, True)]
    assert ["are in use; start with more" in describe_run(run) for run in runs] == [True, False]
