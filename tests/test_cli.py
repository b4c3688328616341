"""The command line: one JSON object, one line for an error, the same numbers as the library's."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import acvb_core
from acvb_core.cli import main
from acvb_core.cli.progress import Progress
from acvb_core.data.samples import SAMPLES
from acvb_core.engine.problem import Problem
from acvb_core.engine.snapshot import Snapshot
from acvb_core.registry import METHODS

ROOT = Path(__file__).resolve().parents[1]
WOMEN = "sample:southern_women"
SMALL = ("--k-rows", "4", "--k-cols", "3", "--max-sweeps", "6")
NUMBER = (int, float)


@dataclass
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.out.count("\n") == 1, "exactly one object"

        def refuse(name: str) -> None:
            raise AssertionError(f"{name} is no JSON")

        return json.loads(self.out, parse_constant=refuse)


Run = Callable[..., Outcome]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def runner(*arguments: object) -> Outcome:
        code = main([str(argument) for argument in arguments])
        return Outcome(code, *capsys.readouterr())

    return runner


def test_methods_lists_every_row(run: Run) -> None:
    shown = run("methods")
    assert shown.code == 0
    for row in METHODS:
        assert f"\n{row.name} " in shown.out
        assert row.converges_by() in shown.out
    listed = run("methods", "--json").json["methods"]
    assert [row["method"] for row in listed] == [row.name for row in METHODS]
    assert [p["flag"] for p in listed[0]["parameters"]] == [p.flag for p in METHODS[0].parameters]
    assert {"model", "method", "label", "ends", "summary", "reference", "parameters"} == listed[0].keys()


def test_samples_are_listed(run: Run) -> None:
    shown = run("samples")
    assert shown.code == 0
    assert all(f"sample:{name}" in shown.out for name in SAMPLES)
    assert [sample["name"] for sample in run("samples", "--json").json["samples"]] == list(SAMPLES)


@pytest.mark.parametrize("heldout", [0.0, 0.2])
@pytest.mark.parametrize("method", [row.name for row in METHODS])
def test_fit_prints_one_object_with_these_fields(run: Run, method: str, heldout: float) -> None:
    more = ("--burn-in", 2) if method == "gibbs" else ()
    done = run("fit", WOMEN, "--method", method, "--json", "--heldout", heldout, "--seed", 3, *SMALL, *more)
    assert done.code == 0
    told = done.json
    assert (told["model"], told["method"], told["seed"]) == ("irm", method, 3)
    assert told["verdict"] in ("CONVERGED", "MAX_SWEEPS")
    assert 1 <= told["sweeps"] <= 6
    for name in ("cpu_seconds", "wall_seconds", "diagnostics_seconds", "peak_memory_mb"):
        assert isinstance(told[name], NUMBER), name
        assert told[name] > 0
    assert 20 < told["peak_memory_mb"] < 20_000
    for name in ("lower_bound", "pseudo_loo"):
        assert isinstance(told[name], float), name
        assert told[name] < 0
    assert told["effective_k"].keys() == {"rows", "cols"}
    assert told["hyper"].keys() == {"alpha_rows", "alpha_cols", "a", "b"}
    assert told["report"]
    assert (told["heldout_seed"], told["heldout_share"]) == (0, heldout)
    assert told["out"] is None
    if heldout:
        assert told["heldout"].keys() == {"log_likelihood", "skill", "roc_auc", "average_precision"}
        assert all(isinstance(value, float) for value in told["heldout"].values())
    else:
        assert told["heldout"] is None


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
    assert same.snapshot.heldout is not None
    assert told["heldout"] == same.snapshot.heldout._asdict()
    assert told["settings"] == same.problem.settings.to_dict()


def test_undefined_numbers_are_null(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "ones.csv"
    path.write_text("row,column\n" + "".join(f"r{i},c{j}\n" for i in range(5) for j in range(5)))
    told = run("fit", path, "--method", "vb", "--json", "--heldout", "0.3", *SMALL).json
    assert told["heldout"]["roc_auc"] is None
    assert told["heldout"]["log_likelihood"] < 0


def test_without_json_a_summary_for_people(run: Run) -> None:
    done = run("fit", WOMEN, "--heldout", "0.1", *SMALL)
    assert done.code == 0
    for words in (
        "southern_women: 18 x 14", "ACVB0 · seed 0", "row clusters", "reached the cap", "nats", "ROC AUC", "MB",
    ):  # fmt: skip
        assert words in done.out
    assert "did its 6 sweeps" in run("fit", WOMEN, "--method", "gibbs", "--burn-in", 1, *SMALL).out


def test_progress_is_on_stderr_and_short_where_there_is_no_terminal(run: Run) -> None:
    done = run("fit", WOMEN, "--json", *SMALL)
    assert done.err.startswith("ACVB0 · seed 0  sweep 6/6  MAX_SWEEPS  bound -")
    assert done.err.count("\n") == 1
    assert "\x1b" not in done.err
    assert run("fit", WOMEN, "--json", "--quiet", *SMALL).err == ""


class Terminal:
    """A stream that says that it is a terminal."""

    def __init__(self) -> None:
        self.text = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        pass


def test_on_a_terminal_one_line_is_rewritten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    terminal: Any = Terminal()
    relation = acvb_core.load_sample("southern_women").relation
    acvb_core.fit(relation, "cvb0", watch=Progress(terminal), k_rows=4, k_cols=3, max_sweeps=40, tol=1e-12)
    assert terminal.text.count("\n") == 1
    assert terminal.text.endswith("\x1b[K\n")
    shown = terminal.text.rstrip("\n").split("\r")[1:]
    assert 2 <= len(shown) < 20, "ten lines a second at most"
    assert all(len(line.removesuffix("\x1b[K")) < 70 for line in shown)
    assert "[####################]  sweep 40/40" in shown[-1]


def test_the_files_of_a_run(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "some" / "where"
    told = run("fit", WOMEN, "--json", "--out", out, *SMALL).json
    assert told["out"] == str(out)
    assert {path.name for path in out.iterdir()} == {
        "run.json", "history.csv", "rows.csv", "columns.csv", "blocks.csv", "posterior.npz",
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
        assert run("fit", numbers, "--json", *flags, *SMALL).json["data"]["shape"] == shape, flags


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fit"], "FILE"),
        ([], "COMMAND"),
        (["explode"], "invalid choice: 'explode'"),
        (["fit", "nowhere.csv"], "nowhere.csv: the file cannot be opened"),
        (["fit", "sample:nothing"], "no sample 'nothing'; choose among southern_women"),
        (["fit", WOMEN, "--shape", "3x3"], "leave --shape out"),
        (["fit", WOMEN, "--method", "magic"], "has no method 'magic'; it has acvb0"),
        (["fit", WOMEN, "--model", "lda"], "no model 'lda'; there are irm"),
        (["fit", WOMEN, "--method", "vb", "--burn-in", "3"], "is no setting of vb; acvb0, acvb, gibbs have it"),
        (["fit", WOMEN, "--method", "cvb0", "--variance", "exact"], "--variance is no setting of cvb0; acvb, cvb"),
        (["fit", WOMEN, "--k-rows", "0"], "k_rows is 0; it must be from 1 to 1000"),
        (["fit", WOMEN, "--k-rows", "many"], "--k-rows is 'many'; it must be a whole number"),
        (["fit", WOMEN, "--k-rows", "inf"], "--k-rows is 'inf'; it must be a whole number"),
        (["fit", WOMEN, "--tol", "small"], "--tol is 'small'; it must be a number"),
        (["fit", WOMEN, "--tol", "nan"], "tol is nan; it must be a number"),
        (["fit", WOMEN, "--init", "magic"], "init is 'magic'; it must be one of spectral, random"),
        (["fit", WOMEN, "--heldout", "1"], "at least 0 and below 1"),
        (["fit", WOMEN, "--heldout", "x"], "'x' is no number"),
        (["fit", WOMEN, "--heldout-seed", "-1"], "must be at least 0"),
        (["fit", WOMEN, "--seed", "-1"], "--seed is -1; it must be at least 0"),
        (["fit", WOMEN, "--seed", "x"], "invalid int value: 'x'"),
        (["fit", "FILE", "--shape", "3by3"], "write it as 1892x1892"),
        (["fit", "FILE", "--format", "word"], "invalid choice: 'word'"),
        (["fit", "FILE", "--unlisted", "maybe"], "invalid choice: 'maybe'"),
        (["fit", WOMEN, "--k-row", "3"], "unrecognized arguments: --k-row 3"),
        (["fit", "two\nlines.csv"], "two lines.csv"),
        (["compare", WOMEN, "--methods", "vb,magic"], "no method 'magic'"),
        (["compare", WOMEN, "--methods", ","], "name at least one"),
        (["compare", WOMEN, "--seeds", "0"], "'0' is neither a number of seeds"),
        (["compare", WOMEN, "--seeds", "a"], "'a' is neither a number of seeds"),
        (["compare", WOMEN, "--methods", "vb,cvb0", "--burn-in", "3"], "--burn-in is no setting of vb and cvb0"),
        (["compare", WOMEN, "--methods", "vb,gibbs", "--hyper", "per-block"], "hyper is 'per-block'"),
    ],
)  # fmt: skip
def test_every_mistake_is_one_line(run: Run, arguments: list[str], words: str) -> None:
    failed = run(*arguments)
    assert failed.code == 2
    assert failed.out == ""
    assert failed.err.startswith("acvb: ")
    assert failed.err.count("\n") == 1
    assert words in failed.err


def test_a_fault_in_the_file_is_named_by_line(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("a,b,value\nx,y,1\nx,z\n")
    failed = run("fit", path)
    assert failed.code == 2
    assert failed.err.startswith("acvb: bad.csv, line 3")


def test_a_folder_that_cannot_be_made_is_an_error_before_the_run(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    failed = run("fit", WOMEN, "--out", tmp_path / "file" / "below")
    assert failed.code == 2
    assert str(tmp_path / "file") in failed.err
    assert failed.err.count("\n") == 1


def test_compare(run: Run, tmp_path: Path) -> None:
    arguments = ("compare", WOMEN, "--methods", "vb,acvb0", "--seeds", 2, "--heldout", "0.2", *SMALL)
    done = run(*arguments, "--burn-in", 2, "--json", "--out", tmp_path)
    assert done.code == 0
    told = done.json
    runs = told["runs"]
    assert [(r["method"], r["seed"]) for r in runs] == [("vb", 0), ("vb", 1), ("acvb0", 0), ("acvb0", 1)]
    assert all(r["heldout"]["log_likelihood"] < 0 for r in runs)
    assert told["agreement"]["labels"] == ["VB · seed 0", "VB · seed 1", "ACVB0 · seed 0", "ACVB0 · seed 1"]
    for domain in ("rows", "cols"):
        for measure in ("ari", "nmi"):
            matrix = np.array(told["agreement"][domain][measure])
            assert matrix.shape == (4, 4)
            assert np.allclose(matrix, matrix.T)
            assert np.allclose(np.diag(matrix), 1.0)
    folders = ["acvb0-seed0", "acvb0-seed1", "comparison.csv", "vb-seed0", "vb-seed1"]
    assert sorted(path.name for path in tmp_path.iterdir()) == folders
    table = pd.read_csv(tmp_path / "comparison.csv")
    assert list(table["lower_bound"]) == [r["lower_bound"] for r in runs]
    saved = json.loads((tmp_path / "vb-seed1" / "run.json").read_text())
    assert saved["lower_bound"] == runs[1]["lower_bound"]
    assert done.err.splitlines()[3].startswith("4/4  ACVB0 · seed 1  sweep 6/6")


def test_compare_for_people(run: Run) -> None:
    done = run("compare", WOMEN, "--methods", "vb,cvb0", "--seeds", "1,", *SMALL)
    assert done.code == 0
    assert "lower_bound" in done.out
    assert "Agreement of row clusters" in done.out
    assert "VB · seed 1" in done.out


def press_ctrl_c_at(sweep: int, monkeypatch: pytest.MonkeyPatch, times: int = 1) -> None:
    watch = Progress.__call__

    def watched(self: Progress, problem: Problem, snapshot: Snapshot) -> None:
        watch(self, problem, snapshot)
        if snapshot.sweep == sweep and snapshot.verdict is None:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Progress, "__call__", watched)


def test_ctrl_c_keeps_what_there_is(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    press_ctrl_c_at(3, monkeypatch)
    before = signal.getsignal(signal.SIGINT)
    stopped = run("fit", WOMEN, "--json", "--heldout", "0.2", "--out", tmp_path, *SMALL)
    assert stopped.code == 130
    assert (stopped.json["verdict"], stopped.json["sweeps"]) == ("STOPPED", 3)
    assert stopped.json["heldout"]["log_likelihood"] < 0
    assert len(pd.read_csv(tmp_path / "history.csv")) == 3
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_ends_a_comparison_with_the_run_it_is_in(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    press_ctrl_c_at(4, monkeypatch)
    stopped = run("compare", WOMEN, "--methods", "vb,cvb0", "--seeds", 2, "--json", *SMALL)
    assert stopped.code == 130
    assert [(r["verdict"], r["sweeps"]) for r in stopped.json["runs"]] == [("STOPPED", 4)]


def test_ctrl_c_twice_ends_at_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    press_ctrl_c_at(2, monkeypatch, times=2)
    stopped = run("fit", WOMEN, "--quiet", *SMALL)
    assert (stopped.code, stopped.out, stopped.err) == (130, "", "acvb: interrupted\n")


def test_ctrl_c_before_the_first_sweep(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    init = acvb_core.engine.run._Runner.start  # type: ignore[attr-defined]

    def start(self: Any) -> Snapshot:
        signal.raise_signal(signal.SIGINT)
        self.checkpoint()
        return init(self)

    monkeypatch.setattr("acvb_core.engine.run._Runner.start", start)
    for command in ("fit", "compare"):
        stopped = run(command, WOMEN, "--json", *SMALL)
        assert (stopped.code, stopped.out) == (130, "")
        assert stopped.err == "acvb: interrupted before the first sweep; there is nothing to report\n"


def test_help_names_every_setting(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["fit", "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    for row in METHODS:
        for parameter in row.parameters:
            assert parameter.flag in shown


def test_as_a_process() -> None:
    command = [sys.executable, "-m", "acvb_core", "fit", WOMEN, "--json", *SMALL]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=ROOT)
    assert done.returncode == 0
    assert json.loads(done.stdout)["sweeps"] == 6
    assert done.stderr.count("\n") == 1


def test_a_reader_that_has_had_enough_is_no_error() -> None:
    command = f"'{sys.executable}' -m acvb_core methods --json | head -c 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, cwd=ROOT)
    assert done.stdout == "{"
    assert done.stderr == ""
