"""`acvb fit --restarts`: one run out, with its own seed, and what the others cost."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pandas as pd
import pytest

import acvb_core
from acvb_core.cli.progress import ProgressLine
from acvb_core.engine.history import SweepRecord
from acvb_core.engine.prepared import PreparedRun
from tests.cli.support import WOMEN, Run

RACE = (
    "--method", "cvb0", "--init", "random", "--seed", "2", "--restarts", "4", "--max-sweeps", "30", "--tol", "1e-12",
)  # fmt: skip


def test_the_winner_is_reported_with_the_cost_of_all(run: Run, tmp_path: Path) -> None:
    told = run("fit", WOMEN, *RACE, "--json", "--out", str(tmp_path))
    assert told.code == 0
    found = told.json
    wanted = acvb_core.fit(
        acvb_core.load_sample("southern_women").relation, "cvb0", seed=2, restarts=4, init="random",
        max_sweeps=30, tol=1e-12,
    )  # fmt: skip
    assert found["seed"] == found["settings"]["seed"] == found["race"]["winner"] == wanted.prepared.spec.seed
    assert found["lower_bound"] == wanted.snapshot.lower_bound
    assert (found["race"]["restarts"], found["race"]["sweeps"]) == (4, 20 + 20 + 30 + 30)
    assert found["sweeps"] == 30
    table = pd.read_csv(tmp_path / "race.csv")
    assert table["seed"].tolist() == [2, 3, 4, 5]
    assert table["out_after"].isna().sum() == 1
    assert json.loads((tmp_path / "run.json").read_text())["race"] == found["race"]


def test_a_score_that_chose_the_winner_is_called_too_good(run: Run) -> None:
    short = ("--model", "lfm", "--k-max", "3", "--max-sweeps", "3", "--restarts", "2", "--heldout", "0.1")
    told = run("fit", "sample:planted_features", "--method", "fab", *short)
    assert "of CPU in all. Its held-out score chose it, and is too good on average.\n" in told.out
    compared = run("experiment", "sample:planted_features", "--methods", "vb", "--splits", "1", *short)
    assert (
        "Each run is the best of its restarts by what is held out: all scores are too good." in compared.out
    )


def test_ctrl_c_keeps_who_is_ahead(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = ProgressLine.__call__

    def watched(self: ProgressLine, prepared: PreparedRun, snapshot: SweepRecord) -> None:
        watch(self, prepared, snapshot)
        if prepared.spec.seed == 4 and snapshot.sweep == 7 and snapshot.verdict is None:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(ProgressLine, "__call__", watched)
    told = run("fit", WOMEN, *RACE, "--json")
    assert told.code == 130
    assert told.json["verdict"] == "STOPPED"
    assert [candidate["sweeps"] for candidate in told.json["race"]["entrants"]] == [20, 20, 7, 0]
    assert told.json["race"]["winner"] is None
    assert told.json["seed"] in (2, 3)
