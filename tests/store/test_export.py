"""What leaves the program: guarded text, exact numbers, one number for each cluster, and Python that repeats a run."""

from __future__ import annotations

import io
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from acvb_core.core.clusters import rearrange
from acvb_core.core.errors import ParameterError
from acvb_core.data.corpus import Corpus
from acvb_core.data.relation import Relation
from acvb_core.data.relation_readers import load_relation
from acvb_core.data.table import Table
from acvb_core.engine.executor import Executor
from acvb_core.engine.fitting import fit
from acvb_core.engine.history import Verdict
from acvb_core.engine.job import Job
from acvb_core.engine.prepared import prepare_run
from acvb_core.engine.result import Result
from acvb_core.engine.run import StopRun
from acvb_core.models.irm.export import responsibilities_frame, write_links
from acvb_core.samples.planted_mixtures import block_images
from acvb_core.store.export import (
    compare_known_labels,
    csv_text,
    own_files,
    remove_leftovers,
    run_json,
    to_plain,
    write_run,
)
from acvb_core.store.runs import RunStore
from acvb_core.store.snippet import python_snippet
from tests.loops import for_each
from tests.store.support import ODD_LABELS, SMALL, WOMEN, network


@pytest.fixture(scope="module")
def result() -> Result:
    return fit(WOMEN, "acvb0", k_rows=5, k_cols=4, heldout=0.1, shrink=0.0)


def turned_round(result: Result) -> Result:
    """The same result, with the smallest cluster first in what the method left behind."""
    posterior = result.snapshot.posterior
    orders = {domain: np.arange(posterior[domain].shape[1])[::-1] for domain in posterior.averaged}
    return result.with_state(snapshot=replace(result.snapshot, posterior=rearrange(posterior, orders)))


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


def test_numbers_are_not_guarded_and_come_back_exactly() -> None:
    values = [-0.1, 1 / 3, 5e-324, 1.7976931348623157e308, -1e-17, 123456789.123456789]
    text = csv_text(pd.DataFrame({"x": values, "n": [-1, 0, 2**53, 4, 5, 6]}))
    assert "'" not in text
    back = read(text)
    assert list(back["x"]) == values
    assert list(back["n"]) == [-1, 0, 2**53, 4, 5, 6]


@for_each("label", ["a,b", 'say "hi"', "two\nlines", "one\rline", "crlf\r\n", "日本 👩", "'quoted'", ""])
def test_any_text_comes_back(label: str) -> None:
    back = read(csv_text(pd.DataFrame({"object": [label, "other"], "x": [0.5, 1.5]})))
    assert list(back["object"]) == [label, "other"]
    assert list(back["x"]) == [0.5, 1.5]


def test_an_unknown_domain_is_refused(result: Result) -> None:
    with pytest.raises(ParameterError, match="no domain 'columns'; there are rows, cols"):
        responsibilities_frame(result, "columns")


def test_values_without_json_become_null() -> None:
    odd = {
        "a": math.nan,
        1: np.float64(np.inf),
        "b": (np.int64(3), np.bool_(True)),
        "c": np.arange(2),
        "d": None,
    }
    assert to_plain(odd) == {"a": None, "1": None, "b": [3, True], "c": [0, 1], "d": None}


def test_run_json_is_strict_and_whole(result: Result) -> None:
    def refuse(name: str) -> None:
        raise AssertionError(name)

    told = json.loads(run_json(result), parse_constant=refuse)
    assert told["verdict"] == "CONVERGED"
    assert told["lower_bound"] == result.snapshot.lower_bound
    assert told["settings"] == result.prepared.spec.to_dict()
    assert told["data"]["fingerprint"] == WOMEN.fingerprint


@for_each("turn", [False, True])
def test_one_cluster_number_in_every_file(result: Result, tmp_path: Path, turn: bool) -> None:
    result = turned_round(result) if turn else result
    paths = write_run(result, tmp_path / "new" / "folder")
    folder = tmp_path / "new" / "folder"
    assert {path.name for path in paths} == {
        "run.json", "history.csv", "rows.csv", "columns.csv", "blocks.csv", "posterior.npz",
    }  # fmt: skip
    assert sorted(paths) == sorted(folder.iterdir())
    frames = {path.stem: read(path.read_bytes().decode()) for path in paths if path.suffix == ".csv"}
    rows, columns, blocks = frames["rows"], frames["columns"], frames["blocks"]
    expected = ["object", "cluster", "probability", "given_clusters", "entropy"]
    assert list(rows.columns) == list(columns.columns) == expected
    assert list(blocks.columns) == [
        "row_cluster",
        "column_cluster",
        "ones",
        "entries",
        "mean",
        "low",
        "high",
        "low_given_clusters",
        "high_given_clusters",
    ]
    with np.load(folder / "posterior.npz", allow_pickle=False) as file:
        arrays = dict(file)
    q_rows, q_cols = arrays["rows"], arrays["cols"]
    for q, table, name in ((q_rows, rows, "row"), (q_cols, columns, "column")):
        assert (q.argmax(axis=1) + 1 == table["cluster"]).all()
        assert (arrays[f"{name}_cluster"] == table["cluster"]).all()
        assert (q.max(axis=1) == table["given_clusters"]).all()
        assert (np.diff(q.sum(axis=0)) <= 0).all(), "the largest cluster comes first"
        assert json.loads(arrays[f"{name}_labels"].tobytes()) == list(table["object"])
    # The counts of a block follow from the responsibilities with its two numbers.
    train = result.prepared.train
    ones = q_rows.T @ train.ones.astype(float) @ q_cols
    known = np.ones(train.shape) - train.missing.toarray()
    entries = q_rows.T @ known @ q_cols
    np.testing.assert_allclose(arrays["ones"], ones, atol=1e-8)
    np.testing.assert_allclose(arrays["entries"], entries, atol=1e-8)
    at = blocks["row_cluster"] - 1, blocks["column_cluster"] - 1
    assert (arrays["ones"][at] == blocks["ones"]).all()
    assert (arrays["entries"][at] == blocks["entries"]).all()
    assert (arrays["strengths"][at] == blocks["mean"]).all()
    assert len(blocks) == q_rows.shape[1] * q_cols.shape[1] > 1
    # Numbers come back bit for bit.
    assert (rows["entropy"] == result.rows["entropy"]).all()
    assert np.array_equal(blocks["mean"], result.blocks["mean"])
    assert len(frames["history"]) == result.snapshot.sweep


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
    ("vb", {"hyper": "fixed", "a": 1 / 3, "tol": 1e-7, "smoothing": 0.0, "heldout": 0.1}),
    ("gibbs", {"burn_in": 2, "max_sweeps": 7}),
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


def test_the_snippet_reads_a_file_with_its_options(tmp_path: Path) -> None:
    path = tmp_path / 'it\'s "odd" 日本.csv'
    path.write_text("w|v|who\nx|3|Ann\ny|1|Ann\ny|4|Bob\n")
    options = {"row_column": "who", "column_column": 0, "value_column": "v", "threshold": 2.0, "header": None}
    loaded = load_relation(path, **{name: value for name, value in options.items() if value is not None})
    result = fit(loaded.data, "vb", k_rows=2, k_cols=2)
    snippet = python_snippet(result, str(path), options)
    assert "header" not in snippet
    assert_same_answer(result, repeated(snippet))


def test_a_relation_that_only_has_a_samples_name_is_no_sample() -> None:
    result = fit(replace(WOMEN.transposed, name="southern_women"), "vb", k_rows=2, k_cols=2, max_sweeps=2)
    assert "load_sample" not in python_snippet(result)
    assert "load_relation('FILE.csv')" in python_snippet(result)


def test_the_snippet_of_an_extended_run() -> None:
    job = Job(prepare_run(WOMEN, "acvb0", {"max_sweeps": 3}), Executor(1)).start()
    assert job.wait(180)
    job.extend(4)
    assert job.wait(180)
    snippet = python_snippet(job.result())
    assert "max_sweeps=7" in snippet
    assert_same_answer(job.result(), repeated(snippet))


@pytest.mark.parametrize("sweeps", [0, 4])
def test_the_snippet_of_a_stopped_run_repeats_what_it_did(sweeps: int) -> None:
    """A run that was stopped in its first sweep has nothing to repeat: its snippet runs to the end."""
    seen: list[int] = []
    polls: list[None] = []

    def poll() -> None:
        polls.append(None)
        if len(seen) == sweeps and len(polls) > 2:  # the first two come in the start
            raise StopRun

    result = fit(
        WOMEN, "cvb0", init="random", watch=lambda _, snapshot: seen.append(snapshot.sweep), poll=poll
    )
    assert (result.verdict, result.snapshot.sweep) == (Verdict.STOPPED, sweeps)
    again = repeated(python_snippet(result))
    if not sweeps:
        assert again.verdict is Verdict.CONVERGED
        return
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


@pytest.fixture
def stored(result: Result, tmp_path: Path) -> Result:
    store = RunStore(tmp_path / "store")
    store.save("mine", "run", 0.0, result)
    return store.load("run", Executor(1)).result()


def test_a_stored_run_exports_the_same(result: Result, stored: Result, tmp_path: Path) -> None:
    assert run_json(stored) == run_json(result)
    assert python_snippet(stored) == python_snippet(result)
    for one, other in zip(write_run(result, tmp_path / "a"), write_run(stored, tmp_path / "b"), strict=True):
        if one.suffix != ".npz":
            assert one.read_bytes() == other.read_bytes(), one.name


def topics() -> Result:
    return fit(Corpus.build([[1, 2, 0], [3, 0, 1]]), "vb", k=2, max_sweeps=3)


def groups() -> Result:
    return fit(network(True, False), "vb", k_rows=3, heldout=0.1, max_sweeps=5, restarts=2)


def blocks() -> Result:
    return fit(WOMEN, "vb", **SMALL)


def features() -> Result:
    return fit(block_images(40, noise=0.3, seed=0).table, "fab", heldout=0.1, max_sweeps=5, restarts=2)


def no_features() -> Result:
    return fit(Table.build(np.random.default_rng(0).normal(size=(30, 2))), "fab")


def written(result: Result, folder: Path) -> list[Path]:
    links = write_links(result, 2, folder) if isinstance(result.prepared.data, Relation) else []
    return write_run(result, folder) + links


@for_each("make", [topics, groups, blocks, features, no_features])
def test_every_table_of_every_model_is_known_and_removed(tmp_path: Path, make: type) -> None:
    result = make()
    tmp_path.joinpath("own").mkdir()
    found = [path.name for path in written(result, tmp_path)]
    tables = [name for name in found if name.endswith(".csv") or name == "model.npz"]
    assert remove_leftovers(tmp_path, [tmp_path / name for name in tables]) == []
    assert {path.name for path in remove_leftovers(tmp_path, [])} == set(tables)
    assert {path.name for path in tmp_path.iterdir() if path.is_file()} == {"run.json", "posterior.npz"}


def test_every_listed_table_is_written_by_a_model(tmp_path: Path) -> None:
    names = {path.name for make in (topics, groups, blocks, features) for path in written(make(), tmp_path)}
    assert {name for name, _ in own_files()} <= names


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


def with_attributes(**attributes: list[str]) -> Relation:
    arrays = {name: np.array(values, dtype=object) for name, values in attributes.items()}
    return replace(WOMEN, attributes=arrays)


@pytest.fixture(scope="module")
def plain() -> Result:
    return fit(WOMEN, "acvb0", k_rows=4, k_cols=4)


def result_with(plain: Result, **attributes: list[str]) -> Result:
    return plain.with_state(prepared=replace(plain.prepared, data=with_attributes(**attributes)))


def test_agreement_is_that_of_the_objects_whose_label_is_known(plain: Result) -> None:
    clusters = plain.labels("rows")
    assert len(set(clusters)) > 1
    half = [f"c{k}" if i % 2 else "" for i, k in enumerate(clusters)]
    other = ["x" if i < 5 else "y" for i in range(18)]
    found = compare_known_labels(result_with(plain, half=half, other=other)).set_index("attribute")
    assert list(found.index) == ["half", "other"]
    assert found.loc["half"].to_dict() == {
        "labels": len(set(half) - {""}), "known": 9, "unknown": 9, "ari": pytest.approx(1.0), "nmi": pytest.approx(1.0),
    }  # fmt: skip
    assert found.loc["other", "ari"] == pytest.approx(adjusted_rand_score(other, clusters))
    assert found.loc["other", "nmi"] == pytest.approx(normalized_mutual_info_score(other, clusters))


def test_known_labels_are_written_next_to_the_clusters(plain: Result, tmp_path: Path) -> None:
    labels = [name for name in ODD_LABELS if name.isprintable()]
    values = [labels[i % len(labels)] for i in range(18)]
    result = result_with(plain, cluster=values, object=["a", "=b"] * 9)
    paths = write_run(result, tmp_path)
    assert {path.name for path in paths} == {
        "run.json", "history.csv", "rows.csv", "columns.csv", "blocks.csv", "agreement.csv", "posterior.npz",
    }  # fmt: skip
    rows = pd.read_csv(tmp_path / "rows.csv", keep_default_na=False)
    names = ["object", "cluster", "probability", "given_clusters", "entropy", "known_cluster", "known_object"]
    assert list(rows.columns) == names
    assert list(rows["known_cluster"]) == [f"'{name}" if name.startswith("=") else name for name in values]
    assert list(rows["known_object"])[:2] == ["a", "'=b"]
    assert list(rows["cluster"]) == list(result.rows["cluster"])
    table = pd.read_csv(tmp_path / "agreement.csv")
    assert list(table["attribute"]) == ["cluster", "object"]
    told = json.loads((tmp_path / "run.json").read_text())["known_labels"]
    for line in table.itertuples():
        assert told[line.attribute]["ari"] == line.ari == compare_known_labels(result)["ari"][line.Index]
