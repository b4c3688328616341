"""What leaves the program: guarded text, exact numbers, one number for each cluster, and Python that repeats a run."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from acvb_core.data.corpus import Corpus
from acvb_core.data.relation import Relation
from acvb_core.data.table import Table
from acvb_core.engine.fitting import fit
from acvb_core.engine.history import Verdict
from acvb_core.engine.result import Result
from acvb_core.engine.run import StopRun
from acvb_core.models.irm.export import write_links
from acvb_core.samples.planted_mixtures import block_images
from acvb_core.store.export import (
    OWN_LINKS_FILE,
    RESULT_FILE,
    csv_text,
    latex_table,
    own_files,
    remove_leftovers,
    write_run,
)
from acvb_core.store.snippet import python_snippet
from tests.loops import for_each
from tests.store.support import SMALL, WOMEN, network


@pytest.fixture(scope="module")
def result() -> Result:
    return fit(WOMEN, "acvb0", k_rows=5, k_cols=4, heldout=0.1, shrink=0.0)


def read(text: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text, newline=""), keep_default_na=False, dtype={"object": str})


@for_each(
    "start",
    ["=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20", " =", "\x00@", "\u00a0+"],
)
def test_text_that_a_spreadsheet_would_run_is_guarded(start: str) -> None:
    frame = pd.DataFrame({f"{start}head": ["fine", f"{start}cmd|' /C calc'!A0", f"in{start}side"]})
    back = read(csv_text(frame))
    assert list(back.columns) == [f"'{start}head"]
    assert list(back.iloc[:, 0]) == ["fine", f"'{start}cmd|' /C calc'!A0", f"in{start}side"]


def test_numbers_have_six_digits_unless_they_are_asked_for_exactly() -> None:
    drawn = np.random.default_rng(0)
    small = drawn.normal(size=500) * 10.0 ** drawn.integers(-40, 5, 500)
    frame = pd.DataFrame({"small": small, "large": 123456.789 + np.arange(500.0), "whole": np.arange(500.0)})
    written = csv_text(frame, exact=["large"])
    assert written.splitlines()[2].endswith(",123457.789,1")
    lines = [line.split(",")[0] for line in written.splitlines()[1:]]
    assert [float(text) for text in lines] == [float(f"{value:.6g}") for value in small]
    assert max(len(text.split("e")[0].strip("-0.").replace(".", "")) for text in lines) == 6
    assert csv_text(frame[["large"]]).splitlines()[1:3] == ["123457", "123458"]
    pd.testing.assert_frame_equal(read(csv_text(frame, exact=True)).astype(float), frame, check_exact=True)


def repeated(snippet: str) -> Result:
    names: dict[str, Any] = {}
    exec(compile(snippet, "snippet", "exec"), names)
    assert isinstance(names["result"], Result)
    return names["result"]


def assert_same_answer(one: Result, other: Result) -> None:
    for domain in ("rows", "cols"):
        assert np.array_equal(one.posterior[domain], other.posterior[domain])
    assert one.snapshot.sweep == other.snapshot.sweep
    assert one.snapshot.heldout == other.snapshot.heldout


SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("acvb0", {}),
    ("acvb", {"variance": "exact", "k_rows": 4, "max_sweeps": 9, "burn_in": 3, "seed": 4}),
    ("cvb0", {"init": "random", "seed": 11, "alpha": 0.1 + 0.2, "merge": False, "heldout": 0.25, "heldout_seed": 6}),
]  # fmt: skip


@for_each("method, given", SETTINGS)
def test_the_snippet_repeats_the_run(
    method: str, given: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    result = fit(WOMEN, method, **given)
    snippet = python_snippet(result)
    for name in given:
        assert f"    {name}=" in snippet
    assert snippet.count("=") < 8 + len(given), "only what differs from the defaults is named"
    assert_same_answer(result, repeated(snippet))
    assert "sweeps" in capsys.readouterr().out


def test_the_snippet_of_a_stopped_run_repeats_what_it_did() -> None:
    seen: list[int] = []

    def poll() -> None:
        if len(seen) == 4:
            raise StopRun

    result = fit(
        WOMEN, "cvb0", init="random", watch=lambda _, snapshot: seen.append(snapshot.sweep), poll=poll
    )
    assert (result.verdict, result.snapshot.sweep) == (Verdict.STOPPED, 4)
    again = repeated(python_snippet(result))
    for domain in ("rows", "cols"):
        assert np.array_equal(result.posterior[domain], again.posterior[domain])


def test_the_snippet_of_a_run_that_won_a_race_repeats_it_alone(tmp_path: Path) -> None:
    result = fit(WOMEN, "cvb0", seed=3, restarts=3, init="random", k_rows=6, max_sweeps=24, tol=1e-12)
    snippet = python_snippet(result)
    seed = result.prepared.spec.seed
    assert f"# Seed {seed} won a race of restarts, which seed=3, restarts=3 repeats.\n" in snippet
    again = repeated(snippet)
    assert_same_answer(result, again)
    assert again.race is None
    write_run(result, tmp_path)
    table = pd.read_csv(tmp_path / "race.csv")
    assert table["seed"].tolist() == [3, 4, 5]
    assert json.loads((tmp_path / "run.json").read_text())["race"]["winner"] == seed


MAKE: dict[str, Callable[[], Result]] = {
    "topics": lambda: fit(Corpus.build([[1, 2, 0], [3, 0, 1]]), "vb", k=2, max_sweeps=3),
    "network": lambda: fit(network(True, False), "vb", k_rows=3, heldout=0.1, max_sweeps=5, restarts=2),
    "blocks": lambda: fit(WOMEN, "vb", **SMALL),
    "features": lambda: fit(
        block_images(40, noise=0.3, seed=0).table, "fab", heldout=0.1, max_sweeps=5, restarts=2
    ),
    "no features": lambda: fit(Table.build(np.random.default_rng(0).normal(size=(30, 2))), "fab"),
}


def written(result: Result, folder: Path) -> list[Path]:
    links = write_links(result, 2, folder) if isinstance(result.prepared.data, Relation) else []
    return write_run(result, folder) + links


def test_every_table_of_every_model_is_known_and_removed(tmp_path: Path) -> None:
    names: set[str] = set()
    for model, make in MAKE.items():
        (folder := tmp_path / model).mkdir()
        found = [path.name for path in written(make(), folder)]
        tables = [name for name in found if name.endswith(".csv") or name == "model.npz"]
        assert remove_leftovers(folder, [folder / name for name in tables]) == []
        assert {path.name for path in remove_leftovers(folder, [])} == set(tables), model
        assert {path.name for path in folder.iterdir()} == {"run.json", "posterior.npz"}
        names |= set(found)
    # The command line alone writes the run with its data, and the list that was read with clusters.
    assert {name for name, _ in own_files()} <= {*names, RESULT_FILE, OWN_LINKS_FILE}, (
        "a model writes every table that is known"
    )


def test_files_that_are_not_of_a_run_stay(tmp_path: Path) -> None:
    own = {
        "links.csv": "source,target\na,b\n",
        "rows.csv": "",
        "topics.csv": "topic\n1\n",
        "notes.txt": "object,cluster,probability,entropy\n",
        "documents.csv": "\x00\xff",
        "objects.csv": "object,weight\na,1\n",
    }
    for name, text in own.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "columns.csv").mkdir()
    assert remove_leftovers(tmp_path, []) == []
    assert {path.name for path in tmp_path.iterdir()} == {*own, "columns.csv"}


def test_a_summary_in_latex_marks_the_best_and_those_like_it() -> None:
    summary = pd.DataFrame(
        [
            ("A_1 & B", 5, -0.12345, 0.01, np.nan, True, False),
            ("C", 5, -0.2, 0.02, 0.3, False, False),
            ("D", 4, -0.9, 0.03, 0.001, False, True),
        ],
        columns=["condition", "n", "mean", "sd", "p", "best", "significant"],
    )
    rows = [r"A\_1 \& B & 5 & \textbf{-0.1235} & 0.01 & -- \\", r"C & 5 & -0.2$^*$ & 0.02 & 0.3 \\"]
    lines = latex_table(summary).splitlines()
    assert lines[-5:] == [*rows, r"D & 4 & -0.9 & 0.03 & 0.001 \\", r"\bottomrule", r"\end{tabular}"]
