"""The benchmark beside the peers: its scores by hand, its turns, and its report. No peer is needed."""

from __future__ import annotations

import json
import math
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acvb_core.data.corpus import Corpus
from acvb_core.data.relation import Network, Relation
from acvb_core.data.table import Table
from acvb_core.evaluate.split import HeldOut, HeldOutWords
from acvb_core.samples.catalogue import load_sample
from benchmarks.peers import __main__ as command
from benchmarks.peers import clusters
from benchmarks.peers.cases import Case, list_cases
from benchmarks.peers.clusters import block_probability, degree_corrected_probability
from benchmarks.peers.report import summarise_runs, write_table
from benchmarks.peers.runner import Run, run_cases, start_worker
from benchmarks.peers.scores import judge
from benchmarks.peers.trials import Trial, find_files, find_labels
from tests.loops import for_each

ROOT = Path(__file__).resolve().parents[1]
FACTS = {"command": "script/bench", "machine": "2 cores", "load": [1.0, 2.0], "versions": {"lda": "3.0.2"}}


def held_links(rows: list[int], columns: list[int], values: list[bool]) -> HeldOut:
    return HeldOut(np.array(rows, np.int32), np.array(columns, np.int32), np.array(values))


def test_words_are_scored_token_by_token() -> None:
    held = HeldOutWords(*(np.array(one, np.int32) for one in ([0, 1], [1, 0], [3, 1])))
    trial = Trial("topics", Corpus.build(np.eye(2, dtype=int)), held)
    score = judge(np.array([0.5, 0.25]), trial)
    assert score["log_likelihood"] == pytest.approx((3 * math.log(0.5) + math.log(0.25)) / 4)
    assert score["perplexity"] == pytest.approx((2**3 * 4) ** 0.25)


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


def test_labels_stand_in_the_data_or_beside_them(tmp_path: Path) -> None:
    clubs = find_labels(load_sample("karate").data, "karate")
    assert clubs is not None
    assert len(set(clubs)) == 2
    (tmp_path / "pets_labels.csv").write_text("pet,kind\nc,cat\na,dog\nb,dog\nd,cat\n")
    links = Relation.build(np.eye(4), row_labels=["a", "b", "c", "d"])
    beside = find_labels(links, str(tmp_path / "pets_4x4.csv"))
    assert beside is not None
    assert beside.tolist() == ["dog", "dog", "cat", "cat"]
    assert find_labels(links, str(tmp_path / "others.csv")) is None


def test_cells_are_scored_on_the_standardised_scale() -> None:
    table = Table.build([[0.0, 1.0], [2.0, 3.0], [4.0, 8.0]])
    trial = Trial("features", table, HeldOut(np.zeros(1, np.int32), np.zeros(1, np.int32), np.array([4.0])))
    truth = (4.0 - 2.0) / math.sqrt(8 / 3)
    score = judge(np.array([[0.1, truth / 2]]), trial)
    assert score == pytest.approx({"log_likelihood": math.log(0.1), "explained": 0.75})


def test_blocks_predict_by_observed_pairs() -> None:
    train = Relation.build([[1, 1, 0], [1, np.nan, 0], [0, 0, 1]])
    held = held_links([1, 2], [1, 1], [True, False])
    density = 4 / 8
    expected = [(3 + density) / (3 + 1), (0 + density) / (2 + 1)]
    assert block_probability(train, [5, 5, 7], [0, 0, 1], held) == pytest.approx(expected)


def test_degrees_predict_as_karrer_and_newman() -> None:
    """A star of four nodes in one group: expected links d_i d_j / (all ends)."""
    star = np.zeros((4, 4))
    star[0, 1:] = 1
    train = Relation.build(star, network=Network(directed=False))
    predicted = degree_corrected_probability(train, [0, 0, 0, 0], held_links([0, 1], [1, 2], [True, False]))
    assert predicted == pytest.approx([1 - math.exp(-3 * 1 * 6 / 36), 1 - math.exp(-1 * 1 * 6 / 36)])


@for_each("predict_by, expected", [("clusters", 1.0), ("samples", 0.5)])
def test_graph_tool_predicts_by_its_groups_or_by_its_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, predict_by: str, expected: float
) -> None:
    """As ours do, so that clusters are compared with clusters and samples with samples."""
    python = tmp_path / "python"
    groups, one_group = [0, 0, 0, 1, 1, 1], [0] * 6
    reply = {"labels": groups, "cpu_seconds": 1.0, "version": "2"}
    with_samples = json.dumps(reply | {"samples": [groups, one_group]})
    without = json.dumps(reply | {"samples": []})
    python.write_text(f"#!/bin/sh\ngrep -q '\"samples\": 0' && echo '{without}' || echo '{with_samples}'\n")
    python.chmod(0o755)
    monkeypatch.setattr(clusters, "GRAPH_TOOL_PYTHON", str(python))
    links = np.kron(np.eye(2), np.ones((3, 3))) - np.eye(6)
    train = Relation.build(links, network=Network(directed=False))
    trial = Trial("networks", train, held_links([0], [4], [False]))
    (answer,) = clusters.fit_graph_tool(trial, 0, degrees=False, predict_by=predict_by)
    density = 12 / 30
    apart, together = density / (9 + 1), (12 + density) / (30 + 1)
    assert answer.predicted == pytest.approx([expected * apart + (1 - expected) * together])
    assert answer.clusters == groups


def fake(name: str, repetitions: int = 2) -> Case:
    return Case("topics", "made up", name, "nowhere:none", {}, repetitions)


def outcome(*points: tuple[float, float]) -> dict[str, Any]:
    curve = [
        {"cpu_seconds": cpu, "step": "a pass", "perplexity": value, "log_likelihood": -math.log(value)}
        for cpu, value in points
    ]
    return {"curve": curve}


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
    case = next(
        one for one in list_cases(quick=True) if one.data == "les_miserables" and "samples" in one.method
    )
    (point,) = start_worker(case, 0, 300.0)["curve"]
    assert 0.5 < point["auc"] <= 1.0
    assert point["cpu_seconds"] > 0.0


def test_files_of_a_folder(tmp_path: Path) -> None:
    for name, head in {
        "relations/net.csv": "source,target",
        "relations/rel.csv": "row,col",
        "relations/net_labels.csv": "source,label",
        "features/numbers.csv": "a,b",
        "corpora/words/long.csv.gz": "",
    }.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{head}\n")
    names = [(task, Path(path).name) for task, path in find_files(tmp_path)]
    assert names == [
        ("features", "numbers.csv"),
        ("networks", "net.csv"),
        ("relations", "rel.csv"),
        ("topics", "long.csv.gz"),
    ]
    assert {case.data for case in list_cases(quick=False, folder=tmp_path)} >= {
        str(tmp_path / "features" / "numbers.csv")
    }


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(SystemExit, match=r"nothing is called 'cats'; there are .*survey"):
        command.choose_cases(command.read_arguments(["--quick", "--only", "survey", "--only", "cats"]))


def test_the_script_installs_the_peers_one_by_one(tmp_path: Path) -> None:
    """A stand-in for Python that cannot install lda: the rest continues, and lda is tried again the next time."""
    for name in ("script", "requirements.txt", "requirements-bench.txt"):
        os.symlink(ROOT / name, tmp_path / name)
    python = tmp_path / ".venv-bench/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho "$@" >>asked\ncase "$*" in *lda==*) exit 1 ;; esac\nexit 0\n')
    python.chmod(0o755)
    (tmp_path / ".venv-bench/installed-requirements.txt").write_text((ROOT / "requirements.txt").read_text())
    done = subprocess.run(
        [tmp_path / "script/bench", "--quick"], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    asked = (tmp_path / "asked").read_text()
    assert done.returncode == 0, done.stderr
    assert "sparsebm==" in asked
    assert asked.splitlines()[-1] == "-m benchmarks.peers --quick"
    assert "tried again: lda==" in done.stdout
    assert not (tmp_path / ".venv-bench/installed-requirements-bench.txt").exists()
