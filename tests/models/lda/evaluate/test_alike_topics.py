"""Topics over several seeds: which come back, and the range of their shares and words."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from acvb_core.core.errors import ParameterError
from acvb_core.engine.experiments.answers import combine
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.models.lda.topics import ALIKE, count_alike_topics, count_repeats, measure_spread
from acvb_core.samples.planted_mixtures import planted_topics
from acvb_core.samples.planted_relations import planted_relation

CORPUS = planted_topics(120, 60, 4, 60, 0.1, 0.05, 3).corpus


def fit_seeds(k: int) -> list[Result]:
    return [fit(CORPUS, "cvb0", k=k, seed=seed, heldout=0.0) for seed in range(4)]


def test_planted_topics_come_back_from_every_seed_and_superfluous_ones_do_not() -> None:
    right = combine(fit_seeds(4)).spread()["topics"]
    assert right["found"].tolist() == [4, 4, 4, 4]
    assert (right["runs"] == 4).all()
    assert ((right["low"] <= right["share"]) & (right["share"] <= right["high"])).all()
    assert (right["high"] - right["low"]).max() < 0.05
    many = combine(fit_seeds(12)).spread()["topics"]
    assert (many["found"] < 4).sum() >= 4
    alone = many["found"] == 1
    assert many.loc[alone, ["low", "high"]].isna().all(axis=None)
    assert many.loc[~alone, ["low", "high"]].notna().all(axis=None)


def test_topics_that_are_the_same_come_back_once() -> None:
    """Six short texts by CVB0: all topics are one, and none of the others is found again."""
    texts = [
        "river lake water",
        "water river boat",
        "lake boat river",
        "bank money loan",
        "loan bank",
        "money bank",
    ]
    runs = [fit(texts, "cvb0", k=4, seed=seed) for seed in range(3)]
    posteriors = [run.posterior for run in runs]
    found = combine(runs).spread()["topics"]["found"]
    assert len(found) > 1
    assert found.tolist() == [3, *[1] * (len(found) - 1)]
    assert count_alike_topics(posteriors) == (1, len(found))
    assert count_repeats(posteriors[0]) == len(found) - 1
    assert [count_repeats(run.posterior) for run in fit_seeds(4)] == [0, 0, 0, 0]


def test_ranges_are_those_of_the_best_pairing_of_all() -> None:
    """Every pairing of five topics is tried, and the range taken of the runs one by one."""
    runs = fit_seeds(5)
    spread, posteriors = combine(runs).spread(), [run.posterior for run in runs]
    phi = [
        (p["words"] + p.hyper["beta"]).T / (p["words"] + p.hyper["beta"]).sum(axis=0)[:, None]
        for p in posteriors
    ]
    mass = [p["words"].sum(axis=0) for p in posteriors]
    pairings = [tuple(range(5))]
    for other in phi[1:]:
        alike = np.array([[similarity(one, another) for another in other] for one in phi[0]])
        pairings.append(max(permutations(range(5)), key=lambda order: alike[range(5), order].sum()))
    for topic, row in enumerate(spread["topics"].itertuples()):
        partners = [(at, order[topic]) for at, order in enumerate(pairings)]
        partners = [(at, k) for at, k in partners if similarity(phi[0][topic], phi[at][k]) >= ALIKE]
        assert row.found == len(partners)
        words = spread["words"][spread["words"]["topic"] == topic + 1]
        first = CORPUS.vocabulary.tolist().index(words["word"].iloc[0])
        tops = [first in np.argsort(-phi[at][k], kind="stable")[:10] for at, k in partners]
        assert words["in_top_ten"].iloc[0] == sum(tops)
        if len(partners) > 1:
            shares = [mass[at][k] / mass[at].sum() for at, k in partners]
            chances = [phi[at][k][first] for at, k in partners]
            assert (row.low, row.high) == pytest.approx((min(shares), max(shares)), rel=1e-4)
            assert words[["low", "high"]].iloc[0].tolist() == pytest.approx(
                [min(chances), max(chances)], rel=1e-4
            )
    assert count_alike_topics(posteriors)[0] == (spread["topics"]["found"] == 4).sum()
    assert spread["topics"]["found"].max() > 1


def similarity(p: np.ndarray, q: np.ndarray) -> float:
    """1 - Jensen-Shannon distance (base 2)."""
    middle = (p + q) / 2
    divergence = (p * np.log2(p / middle)).sum() / 2 + (q * np.log2(q / middle)).sum() / 2
    return 1.0 - float(np.sqrt(divergence))


def test_one_run_measures_no_spread() -> None:
    run = fit(CORPUS, "vb", k=3, heldout=0.0, max_sweeps=20)
    spread = measure_spread([run.snapshot.posterior], CORPUS.vocabulary)
    assert spread["topics"]["found"].tolist() == spread["topics"]["runs"].tolist() == [1, 1, 1]
    assert all(frame[["low", "high"]].isna().all(axis=None) for frame in spread.values())


def test_only_models_that_have_such_parts_measure_their_spread() -> None:
    relation = planted_relation(8, 8, 2, 2, 0).relation
    runs = [fit(relation, "vb", seed=seed, heldout=0.0, init="random", max_sweeps=3) for seed in range(2)]
    with pytest.raises(ParameterError, match="consensus"):
        combine(runs).spread()
