"""Experiments: paired splits, every combination of what is varied, failures as rows, a summary in plain words."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import acvb_core
from acvb_core.core.display import write_number
from acvb_core.core.errors import ParameterError
from acvb_core.engine import study
from acvb_core.engine.experiments.answers import measure_stability
from acvb_core.engine.experiments.plan import plan_experiment, rebuild_plan
from acvb_core.engine.experiments.report import Experiment
from acvb_core.engine.study import make_runs
from acvb_core.evaluate.significance import compare_with_best
from acvb_core.samples.planted_mixtures import planted_features
from acvb_core.store.export import csv_text
from tests.loops import for_each

SHORT = {"max_sweeps": 5, "splits": 3}


@pytest.fixture(scope="module")
def women() -> Any:
    return acvb_core.load_sample("southern_women").relation


@pytest.fixture(scope="module")
def experiment(women: Any) -> Experiment:
    return acvb_core.experiment(women, ["cvb0", "vb"], k=[2, 4], seed=7, **SHORT)


def test_a_run_is_what_fit_gives(experiment: Experiment, women: Any) -> None:
    table = experiment.table()
    assert set(table.groupby("condition").size()) == {3}
    assert table.groupby("split")["seed"].unique().map(list).tolist() == [[7], [8], [9]]
    with pytest.raises(
        ParameterError, match="No run has the score 'heldout_perplexity'; they have heldout_l"
    ):
        experiment.summary("heldout_perplexity")
    row = experiment.table().query("condition == 'VB · K 4' and split == 2").iloc[0]
    alone = acvb_core.fit(women, "vb", seed=8, heldout=0.1, heldout_seed=8, k_rows=4, k_cols=4, max_sweeps=5)
    assert row["heldout_log_likelihood"] == alone.snapshot.heldout.log_likelihood
    assert row["lower_bound"] == alone.snapshot.lower_bound
    assert row["effective_k_rows"] == alone.snapshot.effective_k["rows"]


def test_both_predictions_of_a_run_are_compared(women: Any) -> None:
    """The samples of its start predict otherwise than its clusters; methods that share them have one row."""
    made = acvb_core.experiment(women, ["cvb0", "vb", "gibbs"], splits=5)
    summary = made.summary().set_index("condition")
    assert summary.index.tolist() == [
        "CVB0 · clusters", "VB · clusters", "Gibbs", "CVB0 / VB · Gibbs samples of the start",
    ]  # fmt: skip
    scores = made.table().groupby("method")["heldout_averaged_log_likelihood"].mean()
    samples = summary.loc["CVB0 / VB · Gibbs samples of the start"]
    assert samples["mean"] == pytest.approx(scores["cvb0"])
    assert summary["p"].notna().sum() == 3
    assert "Gibbs samples of the start" in made.conclusion()
    alone = acvb_core.experiment(women, ["vb"], splits=2, init="random", max_sweeps=5)
    assert alone.summary()["condition"].tolist() == ["VB"], "without samples there is one way"


def test_a_setting_that_a_method_does_not_have_is_not_varied_for_it(women: Any) -> None:
    plan = plan_experiment(women, ["acvb0", "vb"], burn_in=[2, 4], tol=1e-3, splits=1)
    assert [one.label for one in plan.conditions] == ["ACVB0 · burn in 2", "ACVB0 · burn in 4", "VB"]
    assert [one.values["tol"] for one in plan.conditions] == [1e-3] * 3
    assert plan_experiment(women, ["vb"], splits=3, restarts=4, seed=1).seeds == (1, 5, 9), "races share none"


def test_a_stored_plan_that_names_other_settings_is_refused(women: Any) -> None:
    plan = plan_experiment(women, ["vb"], k=[2, 4], **SHORT)
    assert rebuild_plan(women, plan.identity()).identity() == plan.identity()
    for factors, label in (({"k": 4}, "VB · K 4"), ({"wings": 2}, "VB · wings 2"), ({"k": 2}, "Best")):
        stored = plan.identity()
        stored["conditions"][0] |= {"factors": factors, "label": label}
        with pytest.raises(ParameterError, match="damaged"):
            rebuild_plan(women, stored)


def test_a_stopped_experiment_continues(women: Any, experiment: Experiment) -> None:
    plan = plan_experiment(women, ["cvb0", "vb"], k=[2, 4], seed=7, **SHORT)
    *_, part = islice(make_runs(plan, Experiment(plan)), 5)
    assert not part.is_complete
    *_, whole = make_runs(plan, part)
    same = [name for name in experiment.table() if "seconds" not in name]
    pd.testing.assert_frame_equal(whole.table()[same], experiment.table()[same])


def test_a_run_that_fails_is_a_row_with_its_reason(women: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_experiment(women, ["cvb0", "vb"], **SHORT)
    solve = study.solve

    def fail_once(prepared: Any, *rest: Any, **more: Any) -> Any:
        if prepared.spec.method == "vb" and prepared.spec.seed == 1:
            raise FloatingPointError("no number")
        return solve(prepared, *rest, **more)

    monkeypatch.setattr(study, "solve", fail_once)
    *_, experiment = make_runs(plan, Experiment(plan))
    failed = experiment.table().query("verdict == 'FAILED'")
    assert failed["error"].tolist() == ["FloatingPointError: no number"]
    summary = experiment.summary().query("predicts_by == 'clusters'").set_index("method")
    assert summary["n"].to_dict() == {"cvb0": 3, "vb": 2}
    assert summary["failed"].to_dict() == {"cvb0": 0, "vb": 1}
    assert not summary.loc["vb", "best"], "a mean over fewer splits may be of easier ones"


def _with_scores(scores: dict[str, list[float]], women: Any) -> Experiment:
    plan = plan_experiment(women, list(scores), splits=len(next(iter(scores.values()))))
    rows = []
    for run in range(plan.n_runs):
        about = plan.identify_run(run)
        rows.append({**about, "heldout_log_likelihood": scores[about["method"]][about["split"] - 1]})
    return Experiment(plan, tuple(rows))


def test_the_conclusion_says_what_the_tests_show(women: Any) -> None:
    rng = np.random.default_rng(0)
    base = rng.normal(-0.5, 0.1, 12)
    level, worse = base + rng.normal(-1e-4, 0.01, 12), base - 0.05 + rng.normal(0, 0.01, 12)
    experiment = _with_scores({"acvb0": list(base), "cvb0": list(level), "vb": list(worse)}, women)
    summary = experiment.summary().set_index("method")
    text = experiment.conclusion()
    best, other = ("ACVB0", "CVB0") if summary.loc["acvb0", "best"] else ("CVB0", "ACVB0")
    assert text.startswith(f"{best} has the best mean (")
    assert f"No difference from it was found for {other}, which does not show that there is none." in text
    assert f"VB is worse by {write_number(-summary.loc['vb', 'difference'])} (95 % interval " in text
    assert "p < .001, 12 splits)" in text
    assert summary["significant"].to_dict() == {"acvb0": False, "cvb0": False, "vb": True}


def test_few_splits_conclude_nothing(women: Any) -> None:
    text = _with_scores({"acvb0": [-0.5], "vb": [-0.9]}, women).conclusion()
    assert text.endswith("Differences are tested from 5 splits on: run more.")
    four = _with_scores({"acvb0": [-0.5, -0.6, -0.5, -0.6], "vb": [-9.0, -9.1, -9.0, -9.2]}, women)
    assert four.summary()["significant"].sum() == 0
    empty = Experiment(four.plan)
    assert (empty.conclusion(), empty.table().empty) == ("No run has a score yet.", True)


@for_each(
    "options, message",
    [
        ({"methods": []}, "needs methods"),
        ({"k": []}, "k has no value"),
        ({"heldout": 0.0}, "hold out a share above 0"),
        ({"splits": 0}, "splits is 0; it must be a whole number, at least 1"),
        ({"beta": [0.1, 0.2]}, "acvb0 and cvb0 and vb have no setting 'beta'"),
        ({"k": [2, 0]}, "k_rows is 0"),
        ({"methods": ["sdm"]}, "has no method 'sdm'"),
        ({"heldout_documents": 0.1}, "no documents to hold out"),
    ],
)
def test_wrong_plans_are_refused_at_once(women: Any, options: dict[str, Any], message: str) -> None:
    methods = options.pop("methods", ["acvb0", "cvb0", "vb"])
    with pytest.raises(ParameterError, match=message):
        plan_experiment(women, methods, model="irm", **options)


def test_a_split_counts_once_all_methods_have_met_it(women: Any) -> None:
    """The first method has seen a harder split more than the second: its mean must not fall for that."""
    experiment = _with_scores({"acvb0": [-0.5, -0.5, -9.0], "vb": [-0.6, -0.7, -9.0]}, women)
    part = Experiment(experiment.plan, experiment.rows[:5])
    summary = part.summary().set_index("method")
    assert summary[["n", "failed"]].to_numpy().tolist() == [[2, 0], [2, 0]]
    assert summary.loc["acvb0", "best"]


def test_five_lines_of_the_documentation_give_the_table_again(
    women: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that has failed has neither score nor CPU seconds."""
    plan = plan_experiment(women, ["cvb0", "vb"], k=[2, 4], seed=7, splits=6, max_sweeps=5)
    *_, experiment = make_runs(plan, Experiment(plan))
    failed = {**plan.identify_run(0), "verdict": "FAILED", "error": "no memory"}
    experiment = Experiment(plan, (failed, *experiment.rows[1:]))
    text = (Path(__file__).parents[3] / "docs" / "python.md").read_text(encoding="utf-8")
    lines = text.split("<!-- five lines -->\n```python\n")[1].split("```")[0]
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "runs.csv").write_text(csv_text(experiment.table(), exact=True), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    printed: list[Any] = []
    names = {"pd": pd, "compare_with_best": compare_with_best, "measure_stability": measure_stability}
    exec(lines, names | {"print": lambda *given: printed.extend(given)})
    described, failures, seconds, against_best, alike = printed
    ways, tests = described.columns, against_best.tests
    conditions, of_clusters = ways.get_level_values(1), ways.get_level_values(0) == "clusters"
    same = ("difference", "low", "high", "p_uncorrected", "p_wilcoxon")
    again = {name: getattr(tests, name) for name in same} | {
        "n": described.loc["count"], "mean": described.loc["mean"], "sd": described.loc["std"], "failed": failures,
        "best": np.arange(len(ways)) == against_best.best, "p": tests.p_t, "significant": tests.p_t < 0.05,
        "stability": np.where(of_clusters, alike[conditions], np.nan),
    }  # fmt: skip
    rows = [(one.by, one.conditions[0].label) for one in experiment.list_predictors()]
    table = experiment.summary().set_index(pd.MultiIndex.from_tuples(rows)).loc[ways]
    np.testing.assert_allclose(table["cpu_seconds"][of_clusters], seconds[conditions][of_clusters])
    for name, values in again.items():
        np.testing.assert_allclose(np.asarray(values, float), table[name].astype(float), err_msg=name)
    assert table["failed"].sum() == 2, "both predictions of a run"


def test_the_score_of_the_column_means_is_reported_apart_from_runs() -> None:
    table = planted_features(60, 8, 2, noise=0.3, seed=0).table
    made = acvb_core.experiment(table, ["fab"], splits=2, heldout=0.3)
    assert made.scores == ["heldout_log_likelihood", "heldout_rmse", "heldout_explained"]
    means = np.mean([row["heldout_means_log_likelihood"] for row in made.rows])
    assert f"2 splits); the column means have {write_number(means)}." in made.conclusion()
    assert "column means" not in made.conclusion("heldout_rmse")
