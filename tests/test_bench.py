"""The benchmark beside the peers: its scores by hand, its turns, and its report. No peer is needed."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acvb_core.data.relation import Relation
from acvb_core.evaluate.split import HeldOut
from benchmarks.peers import __main__ as command
from benchmarks.peers.cases import Case, list_cases
from benchmarks.peers.clusters import block_probability
from benchmarks.peers.report import summarise_runs, write_table
from benchmarks.peers.runner import Run, run_cases, start_worker
from benchmarks.peers.scores import judge
from benchmarks.peers.trials import Trial
from tests.loops import for_each

ROOT = Path(__file__).resolve().parents[1]
FACTS = {"command": "script/bench", "machine": "2 cores", "load": [1.0, 2.0], "versions": {"lda": "3.0.2"}}


def held_links(rows: list[int], columns: list[int], values: list[bool]) -> HeldOut:
    return HeldOut(np.array(rows, np.int32), np.array(columns, np.int32), np.array(values))


def test_links_are_scored_against_one_block() -> None:
    train = Relation.build([[1, 0, np.nan], [0, 0, np.nan]])
    trial = Trial("relations", train, held_links([0, 1], [2, 2], [True, False]))
    score = judge(np.array([0.8, 0.4]), trial)
    one_block = (math.log(0.25) + math.log(0.75)) / 2
    expected = (math.log(0.8) + math.log(0.6)) / 2
    assert score == pytest.approx({"log_likelihood": expected, "skill": 1 - expected / one_block, "auc": 1.0})


def test_clusters_are_held_against_known_labels() -> None:
    train = Relation.build([[1, 0], [0, 1], [1, 0]])
    labels = np.array(["a", "b", ""], dtype=object)
    trial = Trial("relations", train, held_links([0], [0], [True]), labels)
    assert judge(np.array([0.5]), trial, [7, 3, 3])["ari"] == 1.0
    assert "ari" not in judge(np.array([0.5]), trial)
    assert "ari" not in judge(np.array([0.5]), Trial("relations", train, trial.heldout), [7, 3, 3])


def test_blocks_predict_by_observed_pairs() -> None:
    train = Relation.build([[1, 1, 0], [1, np.nan, 0], [0, 0, 1]])
    held = held_links([1, 2], [1, 1], [True, False])
    density = 4 / 8
    expected = [(3 + density) / (3 + 1), (0 + density) / (2 + 1)]
    assert block_probability(train, [5, 5, 7], [0, 0, 1], held) == pytest.approx(expected)


def fake(name: str, repetitions: int = 2) -> Case:
    return Case("topics", "made up", name, "nowhere:none", {}, repetitions)


def outcome(*points: tuple[float, float]) -> dict[str, Any]:
    names = ("cpu_seconds", "step", "perplexity", "log_likelihood")
    return {"curve": [dict(zip(names, (cpu, "a pass", p, -math.log(p)), strict=True)) for cpu, p in points]}


def test_cases_take_turns_and_a_failure_is_not_tried_again() -> None:
    order = []

    def start(case: Case, repetition: int) -> dict[str, Any]:
        order.append((case.method, repetition))
        return {"failed": "it broke"} if case.method == "C" else outcome((1.0, 10.0))

    runs = run_cases([fake("A"), fake("B"), fake("C")], start, lambda run: None)
    assert order == [("A", 0), ("B", 0), ("C", 0), ("A", 1), ("B", 1)]
    assert [run.case.method for run in runs] == [method for method, _ in order]


def two_peers() -> list[Run]:
    ours = [outcome((1.0, 200.0), (2.0, 100.0)), outcome((1.0, 200.0), (4.0, 90.0))]
    peer = [outcome((10.0, 110.0), (20.0, 111.0)), outcome((8.0, 100.0))]
    runs = [Run(fake("CVB0"), number, one) for number, one in enumerate(ours)]
    runs += [Run(fake("peer"), number, one) for number, one in enumerate(peer)]
    return [
        *runs,
        Run(fake("broken"), 0, {"failed": "ValueError: a|b"}),
        Run(fake("away"), 0, {"absent": "away is not installed"}),
    ]


def test_medians_spreads_and_reasons() -> None:
    ours, peer, broken, away = summarise_runs(two_peers())
    assert (ours["perplexity"], ours["cpu_seconds"], ours["spread"]) == (95.0, 3.0, [2.0, 4.0])
    assert (peer["perplexity"], peer["cpu_seconds"], peer["repetitions"]) == (105.0, 9.0, 2)
    assert peer["times_ours"] == pytest.approx((10 / 2 + 8 / 4) / 2)
    assert (broken["reason"], broken["repetitions"]) == ("failed: ValueError: a|b", 0)
    assert away["reason"] == "absent: away is not installed"


def test_files_agree_and_name_what_is_missing(tmp_path: Path) -> None:
    command.write_report(two_peers(), FACTS, tmp_path, "quick")
    stored = json.loads((tmp_path / "quick.json").read_text())
    text = (tmp_path / "quick.md").read_text()
    assert write_table(stored["table"], stored).rstrip() in text
    assert stored["table"] == summarise_runs(two_peers())
    assert len(stored["runs"]) == len(two_peers())
    assert "| made up | peer | 105 | 9 (8 to 10) | 3.5 | a pass |" in text
    assert "failed: ValueError: a/b |" in text
    assert "absent: away is not installed |" in text
    assert "![Topics, made up" in text
    picture = (tmp_path / "quick-topics-made_up.svg").read_text()
    assert picture.count("<polyline") >= 2
    assert "CVB0" in picture


@for_each(
    "body, limit, reason",
    [
        ("import os; os._exit(3)", 60.0, "its process ended with 3: without a word"),
        ("import subprocess; subprocess.run(['sleep', '60'])", 0.2, "not done in 0.2 s"),
    ],
)
def test_a_process_that_dies_or_hangs_is_a_failure(
    body: str, limit: float, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(tmp_path, "worker.py").write_text(body)
    monkeypatch.setattr("benchmarks.peers.runner.WORKER", str(tmp_path / "worker.py"))
    assert start_worker(Case("networks", "karate", "x", "a:b"), 0, limit) == {"failed": reason}


def test_a_worker_runs_one_of_our_methods() -> None:
    cases = [one for one in list_cases(quick=True) if one.data == "les_miserables"]
    case = next(one for one in cases if "samples" in one.method)
    (point,) = start_worker(case, 0, 300.0)["curve"]
    assert 0.5 < point["auc"] <= 1.0
    assert point["cpu_seconds"] > 0.0


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(SystemExit, match=r"nothing is called 'cats'; there are .*survey"):
        command.choose_cases(command.read_arguments(["--quick", "--only", "survey", "--only", "cats"]))
