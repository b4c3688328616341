"""What lines of an experiment keep of answers: how alike they are, and scores over time."""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

import acvb_core
from acvb_core.engine.experiments.answers import measure_stability
from acvb_core.engine.experiments.report import Experiment
from acvb_core.evaluate.agreement import agreement


def topics(*words: str) -> dict[str, str]:
    """Return a line with topics, each given as words with spaces between."""
    return {"top_words": json.dumps([each.split() for each in words])}


def stability_of(*lines: dict[str, str]) -> float:
    return measure_stability(pd.DataFrame(lines))


@pytest.fixture(scope="module")
def women() -> Experiment:
    relation = acvb_core.load_sample("southern_women").relation
    return acvb_core.experiment(relation, ["vb", "cvb0"], k=6, splits=3, init="random", max_sweeps=8)


def test_stability_is_the_mean_agreement_of_pairs_of_runs(women: Experiment) -> None:
    options: dict[str, Any] = {"k_rows": 6, "k_cols": 6, "heldout": 0.1, "init": "random", "max_sweeps": 8}
    relation = acvb_core.load_sample("southern_women").relation
    runs = [acvb_core.fit(relation, "vb", seed=n, heldout_seed=n, **options) for n in range(3)]
    values = [
        agreement(one.labels(domain), other.labels(domain))["ari"]
        for domain in ("rows", "cols")
        for one, other in combinations(runs, 2)
    ]
    assert women.summary()["stability"][0] == pytest.approx(np.mean(values))
    assert np.mean(values) < 1.0


def test_names_of_clusters_and_runs_without_an_answer_do_not_matter() -> None:
    one, renamed, broken = {"labels_rows": "1 1 2 3"}, {"labels_rows": "3 3 1 2"}, {"error": "no memory"}
    assert stability_of(one, renamed, broken) == 1.0
    assert np.isnan(stability_of(broken, one))
    assert np.isnan(stability_of())


def test_topics_are_paired_whatever_their_order() -> None:
    one = topics("a b c d", "e f g h")
    assert stability_of(one, topics("h g f e", "d c b a")) == 1.0
    assert stability_of(one, topics("p q r s", "t u v w")) == 0.0
    assert stability_of(one, topics("a b x y", "e f g h")) == pytest.approx((2 / 6 + 1.0) / 2)
