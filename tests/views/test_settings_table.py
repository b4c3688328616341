"""Settings that differ between compared runs, and scores over runs that differ in their seeds alone."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.samples.planted_relations import planted_relation
from acvb_core.views.comparison_table import compare_settings, comparison_table


def run_with(method: str = "vb", seed: int = 0, **settings: object) -> Result:
    relation = planted_relation(30, 20, 2, 2, 1).relation
    usual = {"init": "random", "max_sweeps": 4, "heldout": 0.1}
    return fit(relation, method, seed=seed, **{**usual, **settings})


@pytest.fixture(scope="module")
def results() -> list[Result]:
    return [
        *(run_with(seed=seed, k_rows=4) for seed in range(3)),
        run_with(k_rows=6, merge=False),
        run_with("gibbs", burn_in=2),
    ]


def test_only_settings_that_differ_are_listed(results: list[Result]) -> None:
    table = compare_settings(results, list("abcde"))
    assert table.columns.tolist() == ["Starting number of row clusters", "Merge clusters"]
    assert table["Starting number of row clusters"].tolist() == ["4", "4", "4", "6", "20"]
    assert table["Merge clusters"].tolist() == ["yes", "yes", "yes", "no", None]


def test_runs_that_differ_in_their_seeds_are_summed_up(results: list[Result]) -> None:
    seeds = comparison_table(results, list("abcde")).seeds
    assert seeds is not None
    assert seeds["Runs"].tolist() == [3, 1, 1]
    assert seeds.index[0] == "VB · Starting number of row clusters: 4 · Merge clusters: yes"
    skills = np.array([result.snapshot.heldout.skill for result in results[:3]])
    mean, spread = map(float, seeds["Skill"].iloc[0].split(" ± "))
    assert mean == pytest.approx(skills.mean(), rel=1e-3)
    assert spread == pytest.approx(skills.std(ddof=1), rel=0.06)
    assert "±" not in seeds["Skill"].iloc[1]
    assert "Skill, averaged" in seeds.columns  # the sampler's own
