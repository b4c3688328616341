"""The command line on tables: read, fitted, compared, printed and written; what is for other data is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import acvb_core
from acvb_core.samples.planted_mixtures import block_images
from tests.cli.support import WOMEN, Run
from tests.loops import for_each

BLOCKS, FERTILITY = "sample:block_images", "sample:fertility"
FEW = ("--k-max", 6, "--max-sweeps", 8)


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


def test_a_run_that_overfits_is_reported(run: Run, table: Path) -> None:
    said = " ".join(run("fit", table, "--method", "em", "--heldout", "0.3", *TAKEN).out.split())
    assert "prediction The run overfits: held-out cells were predicted best after sweep " in said
    assert "To predict, try IBP or fewer features." in said
    both = " ".join(run("compare", table, "--methods", "em,fab", "--heldout", "0.3", *TAKEN).out.split())
    assert "EM · seed 0: The run overfits: held-out cells" in both


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
        "run.json", "history.csv", "features.csv", "objects.csv", "columns.csv", "posterior.npz",
    }  # fmt: skip
    features, objects, columns = (
        pd.read_csv(out / f"{name}.csv") for name in ("features", "objects", "columns")
    )
    assert len(features) == found
    assert list(objects["object"]) == [f"row {n}" for n in range(60)]
    assert "p0" not in features.columns
    assert columns["mean"].between(90, 115).all(), "the columns' own units"
    # A line of the text for each feature, with the same share and weights, the largest in standard deviations first.
    lines = [line for line in done.out.splitlines() if "%  p" in line]
    assert len(lines) == found
    sd = columns.set_index("column")["sd"]
    for line, (_, row) in zip(lines, features.iterrows(), strict=True):
        head, _, shown = line.partition("%  ")
        assert float(head.split()[1]) == pytest.approx(100 * row["share"], abs=0.051)
        weights = row.drop(["feature", "share", "objects"])
        order = (weights.abs() / sd[weights.index]).sort_values(ascending=False).index[:5]
        parts = [part.split() for part in shown.split(", ")]
        assert [name for name, _ in parts] == list(order)
        assert [float(value) for _, value in parts] == pytest.approx(list(weights[list(order)]), rel=1e-3)
        assert all(value[0] in "+-" for _, value in parts)


def test_fab_is_the_default_method_of_tables(run: Run) -> None:
    assert run("fit", BLOCKS, "--max-sweeps", 2, "--k-max", 3, "--json").json["method"] == "fab"
    told = run("compare", BLOCKS, "--max-sweeps", 2, "--k-max", 3, "--json").json
    assert [one["method"] for one in told["runs"]] == ["fab", "em", "vb"]
    assert told["agreement"] == {"labels": ["FAB · K 3 · seed 0", "EM · K 3 · seed 0", "VB · K 3 · seed 0"]}
    assert run("fit", WOMEN, "--max-sweeps", 2, "--json").json["method"] == "acvb0"


def test_restarts_race_by_what_is_held_out(run: Run) -> None:
    arguments = ("fit", BLOCKS, "--method em --restarts 2 --k-max 3 --max-sweeps 25 --tol 1e-9")
    failed = run(*arguments)
    assert (failed.code, failed.out) == (2, "")
    assert "2 restarts are to race, but nothing is held out" in failed.err
    assert "lower bounds cannot be compared" in failed.err
    race = run(*arguments, "--heldout", "0.1", "--json").json["race"]
    assert race["judged_by"] == "heldout"
    assert [one["seed"] for one in race["entrants"]] == [0, 1]
    scores = {one["seed"]: one["heldout"] for one in race["entrants"]}
    assert scores[race["winner"]] == pytest.approx(max(scores.values()), abs=0.02)


def test_files_of_an_earlier_run_are_recognised_by_their_headings(run: Run, tmp_path: Path) -> None:
    run("fit", BLOCKS, *FEW, "--out", tmp_path)
    kept = (tmp_path / "columns.csv").read_text()
    done = run("fit", "sample:bars", "--k", 2, "--max-sweeps", 2, "--out", tmp_path, "--json").json
    assert {Path(name).name for name in done["removed"]} == {"features.csv", "objects.csv", "columns.csv"}
    assert kept.startswith("column,baseline")


def test_a_column_cannot_command_the_terminal(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    # Two that no reader of text files refuses: the eight-bit form of escape [, and a turn to the left.
    path.write_text(
        "\x9b2Jboo,\u202eoob\n" + "".join(f"{n % 2},{n % 3}\n" for n in range(20)), encoding="utf-8"
    )
    done = run("fit", path, "--model", "lfm", "--method", "em")
    assert done.code == 0
    assert "2Jboo" in done.out
    assert not {"\x9b", "\u202e"} & {*done.out}


@for_each("arguments, words", [
        ([BLOCKS, "--model", "irm"], "model 'irm' is for a relation; this is a table"),
        ([BLOCKS, "--model", "lda"], "model 'lda' is for a corpus; this is a table"),
        ([WOMEN, "--model", "lfm"], "model 'lfm' is for a table; this is a relation"),
        (["sample:bars", "--model", "lfm"], "model 'lfm' is for a table; this is a corpus"),
        ([WOMEN, "--method", "fab"], "model 'irm' has no method 'fab'"),
        ([BLOCKS, "--method", "acvb0"], "model 'lfm' has no method 'acvb0'; it has fab, em"),
        ([BLOCKS, "--heldout-documents", "0.1"], "--heldout-documents is for a corpus; sample:block_images is a"),
        (["FILE", "--heldout-documents", "0.1"], "--heldout-documents is for a corpus, but FILE is to be read as a"),
        (["FILE", "--row-column", "0"], "--row-column is for a relation, but FILE is to be read as a table. Leave"),
        (["FILE", "--domains", "one"], "--domains is for a relation"),
        (["FILE", "--text-column", "p1"], "--text-column is for a corpus"),
        (["FILE", "--stop-words", "none"], "--stop-words is for a corpus"),
        (["FILE", "--format", "edges"], "--format edges is for a relation"),
        (["FILE", "--on-disk", "x"], "--on-disk is for a corpus"),
        ([WOMEN, "--image", "8x8"], "A sample is read as it is; leave --image out"),
        ([WOMEN, "--no-standardise"], "--no-standardise is for a table; sample:southern_women is a relation"),
        ([BLOCKS, "--constants", "refuse"], "A sample is read as it is; leave --constants out"),
        ([BLOCKS, "--row-labels", "none"], "leave --row-labels out"),
        (["FILE", "--model", "irm", "--categories", "one-hot"], "--categories is for a table, but FILE is to be read"),
        (["FILE", "--model", "irm", "--row-labels", "0"], "give --model lfm"),
        (["FILE", "--model", "lda", "--missing", "x"], "--missing is for a table"),
        (["FILE"], "2 columns of text" "|" "1 column of text"),
        (["FILE", "--leave-out", "kind"], "1 column has no two different values: 'p0'"),
        (["FILE", "--leave-out", "kind,level,p0", "--image", "6x6"], "a picture of 6 x 6 has 36 pixels, but there are"),
        (["FILE", "--image", "six"], "A picture's size is its height and width"),
        (["FILE", "--label-column", "sort"], "there is no column"),
        (["FILE", "--categories", "drop"], "invalid choice: 'drop'"),
        ([BLOCKS, "--k-max", "-1"], "k_max is -1; it must be"),
        ([BLOCKS, "--k", "3"], "--k is not a setting of model 'lfm', which has --k-max"),
        ([BLOCKS, "--heldout", "1"], "at least 0 and below 1"),
        (["nowhere.csv"], "nowhere.csv: the file cannot be opened"),
    ])  # fmt: skip
def test_every_mistake_is_one_line(run: Run, table: Path, arguments: list[str], words: str) -> None:
    given = [str(table) if one == "FILE" else one for one in arguments]
    if given[0] in (str(table), "nowhere.csv") and "--model" not in given:
        given += ["--model", "lfm"]
    failed = run("fit", *given)
    assert (failed.code, failed.out) == (2, "")
    assert failed.err.startswith("acvb: ")
    assert failed.err.count("\n") == 1
    assert any(one in failed.err for one in words.split("|")), failed.err


def test_other_commands_say_that_tables_are_not_for_them(run: Run, tmp_path: Path) -> None:
    run("fit", BLOCKS, *FEW, "--out", tmp_path / "run")
    for arguments, words in (
        (("tune", BLOCKS), "methods of model 'lfm' have no steps to tune; those of lda have"),
        (("tune", BLOCKS, "--method", "fab"), "methods of model 'lfm' have no steps to tune"),
        (("transform", tmp_path / "run", "sample:bars"), "holds a run of model 'lfm', which has no topics"),
    ):
        failed = run(*arguments)
        assert (failed.code, failed.out) == (2, "")
        assert words in failed.err
    run("fit", "sample:bars", "--k", 2, "--max-sweeps", 2, "--out", tmp_path / "topics")
    failed = run("transform", tmp_path / "topics", BLOCKS)
    assert "sample:block_images is a table; topics are of documents" in failed.err


def test_remedies_are_flags(run: Run, table: Path, tmp_path: Path) -> None:
    failed = run("fit", table, "--model", "lfm")
    for flag in ("(--categories one-hot)", "(--categories leave-out)", "(--row-labels)", "(--label-column)"):
        assert flag in failed.err
    assert "='" not in failed.err
    assert "(--constants leave-out)" in run("fit", table, "--model", "lfm", "--leave-out", "kind,level").err
    path = tmp_path / "t.csv"  # what was found is the file's, whatever it looks like
    path.write_text("a,b\n1,2\n3,4\n5,(missing)\n")
    failed = run("fit", path, "--model", "lfm")
    assert "(found '(missing)')" in failed.err
    assert "(--missing)" in failed.err
