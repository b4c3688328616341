"""The command line on tables: read, fitted, compared, printed and written; what is for other data is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import acvb_core
from acvb_core.samples.planted_mixtures import block_images
from tests.cli.support import Run


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Blocks in pictures of 6 x 6, in units of their own: one cell missing, one pixel constant, names, groups, text."""
    planted = block_images(60, noise=0.2, seed=3)
    frame = pd.DataFrame(100 + 10 * planted.table.values, columns=[f"p{d}" for d in range(36)])
    frame.insert(0, "name", [f"row {n}" for n in range(60)])
    frame["p0"] = 5.0
    frame["kind"] = ["odd", "even"] * 30
    frame["level"] = [1, 2, 3] * 20
    frame.loc[4, "p7"] = -999
    path = tmp_path / "pictures.csv"
    frame.to_csv(path, index=False)
    return path


TAKEN = (
    "--label-column", "kind", "--leave-out", "level", "--constants", "leave-out", "--image", "6x6", "--missing=-999",
    "--row-labels", "name",
)  # fmt: skip


def test_the_numbers_are_the_librarys(run: Run, table: Path) -> None:
    told = run(
        "fit", table, "--model", "lfm", "--method", "fab", "--json", "--heldout", "0.2", "--heldout-seed", 4,
        "--seed", 5, "--k-max", 9, "--mode", "paper", "--warmup", 2, "--no-accelerate", "--no-merge", "--tol", "0.01",
        "--max-sweeps", 9, "--no-standardise", "--name", "pictures!", "--category-columns", "level", "--categories",
        "one-hot", "--row-labels", 0, "--label-column", "kind", "--constants", "leave-out", "--missing=-999,x",
        "--leave-out", "p1,3", "--decimal", ".", "--delimiter", "comma", "--header", "--encoding", "utf-8",
    ).json  # fmt: skip
    loaded = acvb_core.load_table(
        table, standardise=False, name="pictures!", category_columns=["level"], categories="one-hot", row_labels=0,
        label_column="kind", constants="leave-out", missing=["-999", "x"], leave_out=["p1", 3], decimal=".",
    ).data  # fmt: skip
    assert loaded.shape == (60, 36 - 3 + 3), (
        "two pixels are left out, one is constant; there are three levels"
    )
    assert told["data"] == loaded.identity()
    same = acvb_core.fit(
        loaded, "fab", heldout=0.2, heldout_seed=4, seed=5, k_max=9, mode="paper", warmup=2, accelerate=False,
        merge=False, tol=0.01, max_sweeps=9,
    )  # fmt: skip
    assert same.snapshot.heldout is not None
    assert told["heldout"] == same.snapshot.heldout._asdict()
    assert told["lower_bound"] == same.snapshot.lower_bound
    assert told["train_log_likelihood"] == same.snapshot.extras["train_log_likelihood"]
    assert told["settings"] == same.prepared.spec.to_dict()


def test_a_table_end_to_end(run: Run, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run("fit", table, "--method", "fab", "--heldout", "0.1", "--out", out, *TAKEN)
    assert done.code == 0
    found = json.loads((out / "run.json").read_text())["effective_k"]["features"]
    assert done.err.rstrip().endswith(f"features {found}")
    for words in (
        "pictures: 60 rows × 35 columns · 1 missing cell", "2 known groups of rows", "FAB · seed 0", "converged after",
        "judged by: change of the lower bound per object", f"{found} features", "training cells", "nats each",
        "held-out cells  210: ", "% of the variance explained", "; the column means have -1.", f"written to      {out}",
    ):  # fmt: skip
        assert words in done.out, words
    assert "leave-one-out" not in done.out
    assert {path.name for path in out.iterdir()} == {
        "run.json", "history.csv", "features.csv", "objects.csv", "columns.csv", "posterior.npz", "result.acvb",
    }  # fmt: skip
    features, objects, columns = (
        pd.read_csv(out / f"{name}.csv") for name in ("features", "objects", "columns")
    )
    assert len(features) == found
    assert list(objects["object"]) == [f"row {n}" for n in range(60)]
    assert "p0" not in features.columns
    assert columns["mean"].between(90, 115).all(), "the columns' own units"
    lines = [line for line in done.out.splitlines() if "%  p" in line]
    shares = [float(line.split("%")[0].split()[1]) for line in lines]
    assert shares == pytest.approx(list(100 * features["share"]), abs=0.051), "a line for each feature"
