"""The command line: one JSON object, files, and the same numbers as the library."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import acvb_core
from acvb_core.cli.progress import ProgressLine
from acvb_core.registry import METHODS
from tests.cli.support import SMALL, WOMEN, Run


def test_methods_lists_every_row(run: Run) -> None:
    shown = run("methods")
    assert shown.code == 0
    for row in METHODS:
        assert f"\n{row.name} " in shown.out
        assert row.describe_convergence() in shown.out
    listed = run("methods", "--json").json["methods"]
    assert [row["method"] for row in listed] == [row.name for row in METHODS]
    assert [p["flag"] for p in listed[0]["parameters"]] == [p.flag for p in METHODS[0].parameters]
    fields = {"model", "method", "label", "ends", "summary", "reference", "streams", "tuned", "parameters"}
    assert fields == listed[0].keys()


def test_the_numbers_are_the_librarys(run: Run) -> None:
    told = run(
        "fit", WOMEN, "--method", "cvb0", "--json", "--heldout", "0.1", "--heldout-seed", 4, "--seed", 5,
        "--init", "random", "--hyper", "fixed", "--alpha", "0.7", "--tol", "1e-4", "--no-merge", *SMALL,
    ).json  # fmt: skip
    same = acvb_core.fit(
        acvb_core.load_sample("southern_women").relation, "cvb0", heldout=0.1, heldout_seed=4, seed=5,
        init="random", hyper="fixed", alpha=0.7, tol=1e-4, merge=False, k_rows=4, k_cols=3, max_sweeps=6,
    )  # fmt: skip
    assert told["lower_bound"] == same.snapshot.lower_bound
    assert told["heldout"]
    assert told["heldout"] == same.summary()["heldout"]
    assert told["settings"] == same.prepared.spec.to_dict()


def test_progress_is_on_stderr_and_short_where_there_is_no_terminal(run: Run) -> None:
    done = run("fit", WOMEN, "--json", *SMALL)
    assert done.err.startswith("ACVB0 · K 4 × 3 · seed 0  sweep 6/6  MAX_SWEEPS  bound -")
    assert done.err.count("\n") == 1
    assert "\x1b" not in done.err
    assert run("fit", WOMEN, "--json", "--quiet", *SMALL).err == ""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class TickingClock:
    """Stands in for the module `time`: two hundredths of a second pass from one look to the next."""

    now = 0.0

    def monotonic(self) -> float:
        self.now += 0.02
        return self.now


def test_on_a_terminal_one_line_is_rewritten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    clock = TickingClock()
    monkeypatch.setattr("acvb_core.cli.progress.time", clock)
    terminal = Terminal()
    relation = acvb_core.load_sample("southern_women").relation
    acvb_core.fit(relation, "gibbs", watch=ProgressLine(terminal), k_rows=4, k_cols=3, max_sweeps=40)
    assert terminal.getvalue().count("\n") == 1
    assert terminal.getvalue().endswith("\x1b[K\n")
    shown = terminal.getvalue().rstrip("\n").split("\r")[1:]
    assert 2 <= len(shown) <= 10 * clock.now + 2 < 30, "ten lines a second at most, the first and the last"
    assert all(len(line.removesuffix("\x1b[K")) < 70 for line in shown)
    assert "[####################]  sweep 40/40" in shown[-1]


def test_the_files_of_a_run(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "some" / "where"
    told = run("fit", WOMEN, "--json", "--out", out, *SMALL).json
    assert told["out"] == str(out)
    assert {path.name for path in out.iterdir()} == {
        "run.json", "history.csv", "rows.csv", "columns.csv", "blocks.csv", "posterior.npz", "result.acvb",
    }  # fmt: skip
    saved = json.loads((out / "run.json").read_text())
    assert saved == {name: told[name] for name in saved}
    # One number for each cluster: in the tables, in the blocks and in the arrays.
    rows, blocks = (pd.read_csv(out / f"{name}.csv") for name in ("rows", "blocks"))
    with np.load(out / "posterior.npz", allow_pickle=False) as file:
        assert (file["row_cluster"] == rows["cluster"]).all()
        assert (file["rows"].argmax(axis=1) + 1 == rows["cluster"]).all()
        assert np.allclose(file["ones"].ravel(), blocks["ones"])
        sizes = file["rows"].sum(axis=0)
    entries = blocks.groupby("row_cluster")["entries"].sum()
    assert np.allclose(entries, sizes * 14), "14 events, none missing"


def test_reading_options(run: Run, tmp_path: Path) -> None:
    path, people = tmp_path / "visits.txt", tmp_path / "people.txt"
    path.write_bytes("lieu;n;qui\nfête;3;Ann\nfoire;1;Ann\nfoire;4;Bob\n".encode("latin-1"))
    people.write_text("Ann\nBob\nCyd\n")
    told = run(
        "fit", path, "--json", "--row-column", "qui", "--column-column", 0, "--value-column", "n",
        "--threshold", 2, "--delimiter", "semicolon", "--encoding", "latin-1", "--row-nodes", people,
        "--format", "edges", "--header", "--name", "visits", *SMALL,
    ).json  # fmt: skip
    assert told["data"]["name"] == "visits"
    assert told["data"]["shape"] == [3, 2]
    assert told["data"]["ones"] == 2
    numbers = tmp_path / "numbers.csv"
    numbers.write_text("0,1\n1,2\n2,0\n")
    for flags, shape in (
        (("--shape", "4x5"), [4, 5]),
        (("--same-nodes",), [3, 3]),
        (("--unlisted", "missing"), [3, 3]),
        (("--value-column", "none", "--no-header"), [3, 3]),
    ):
        told = run("fit", numbers, "--json", "--domains", "two", *flags, *SMALL).json
        assert told["data"]["shape"] == shape, flags


def test_compare(run: Run, tmp_path: Path) -> None:
    arguments = ("compare", WOMEN, "--methods", "vb,acvb0", "--seeds", 2, "--heldout", "0.2", *SMALL)
    done = run(*arguments, "--burn-in", 2, "--json", "--out", tmp_path)
    assert done.code == 0
    told = done.json
    runs = told["runs"]
    assert [(r["method"], r["seed"]) for r in runs] == [("vb", 0), ("vb", 1), ("acvb0", 0), ("acvb0", 1)]
    assert all(r["heldout"]["log_likelihood"] < 0 for r in runs)
    assert told["agreement"]["labels"][2:] == ["ACVB0 · K 4 × 3 · seed 0", "ACVB0 · K 4 × 3 · seed 1"]
    matrix = np.array(told["agreement"]["cols"]["nmi"])
    assert matrix.shape == (4, 4)
    assert np.allclose(np.diag(matrix), 1.0)
    folders = ["acvb0-seed0", "acvb0-seed1", "comparison.csv", "vb-seed0", "vb-seed1"]
    assert sorted(path.name for path in tmp_path.iterdir()) == folders
    table = pd.read_csv(tmp_path / "comparison.csv")
    assert list(table["lower_bound"]) == [r["lower_bound"] for r in runs]
    saved = json.loads((tmp_path / "vb-seed1" / "run.json").read_text())
    assert saved["lower_bound"] == runs[1]["lower_bound"]
    assert done.err.splitlines()[3].startswith("4/4  ACVB0 · K 4 × 3 · seed 1  sweep 6/6")
