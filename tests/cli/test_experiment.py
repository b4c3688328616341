"""`acvb experiment`: a table with its conclusion, files that say the same, and an end by force that loses no run."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.cli.support import WOMEN, Run
from tests.loops import for_each

SMALL = ("--methods", "cvb0,vb", "--k", "2,4", "--splits", "3", "--max-sweeps", "5")


def test_the_json_has_the_runs_the_summary_and_the_conclusion(run: Run, tmp_path: Path) -> None:
    told = run("experiment", WOMEN, *SMALL, "--json", "--out", str(tmp_path / "out"))
    assert told.code == 0
    assert len(told.json["runs"]) == 12
    both = pd.DataFrame(told.json["summary"])
    assert both["best"].sum() == 1
    summary = both[both["predicts_by"] == "clusters"]
    assert both["condition"].tolist()[4:] == [
        "CVB0 · K 2 / VB · K 2 · Gibbs samples of the start",
        "CVB0 · K 4 / VB · K 4 · Gibbs samples of the start",
    ]
    assert {"method", "k", "n", "mean", "sd", "best", "significant", "p"} <= set(summary)
    assert summary["k"].tolist() == [2, 4, 2, 4]
    assert "has the best mean" in told.json["conclusion"]
    # Three lines give every mean and standard deviation of the table.
    runs = pd.read_csv(tmp_path / "out" / "runs.csv")
    again = runs.groupby("condition", sort=False)["heldout_log_likelihood"].agg(["mean", "std"])
    assert again["mean"].tolist() == pytest.approx(summary["mean"].tolist(), rel=1e-12)
    assert again["std"].tolist() == pytest.approx(summary["sd"].tolist(), rel=1e-12)


def test_the_same_experiment_continues_and_another_is_refused(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    whole = run("experiment", WOMEN, *SMALL, "--json", "--out", str(out)).json
    lines = (out / "runs.jsonl").read_text().splitlines(keepends=True)
    # Two processes once wrote to it at the same time: each made the first runs, in times of its own.
    twice = [json.dumps(json.loads(line) | {"cpu_seconds": 9.5}) + "\n" for line in lines[:2]]
    cut_off = lines[5][:40]
    (out / "runs.jsonl").write_text("".join([*twice, *lines[:5], cut_off]))
    again = run("experiment", WOMEN, *SMALL, "--json", "--out", str(out)).json
    assert "5 of 12 runs were made before." in again["report"]
    assert [_timeless(row) for row in again["runs"]] == [_timeless(row) for row in whole["runs"]]
    told = run("experiment", WOMEN, *SMALL, "--seed", "5", "--out", str(out))
    assert told.code == 2
    assert (
        "holds another experiment: with other data, methods, settings, seeds or of another version"
        in told.err
    )
    (out / "runs.jsonl").write_text(lines[0] + "{}\n")
    told = run("experiment", WOMEN, *SMALL, "--out", str(out))
    assert told.code == 2
    assert "runs.jsonl, line 2: this is not a run of the experiment" in told.err


def _timeless(row: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in row.items() if "seconds" not in name}


@for_each(
    "typed, message",
    [
        (("--k", "2,x"), "--k is 'x'; it must be a whole number"),
        (("--splits", "0"), "--splits"),
        (("--heldout", "0"), "hold out a share above 0"),
        (("--score", "heldout_perplexity", "--splits", "1", "--max-sweeps", "2"), "No run has the score"),
    ],
)
def test_wrong_settings_of_an_experiment_are_refused(run: Run, typed: tuple[str, ...], message: str) -> None:
    told = run("experiment", WOMEN, *typed)
    assert told.code == 2
    assert message in told.err
    assert told.err.splitlines()[-1].startswith("acvb: ")
