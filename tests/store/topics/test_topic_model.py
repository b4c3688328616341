"""Topics come back from the folder of a run as they were; what is no such folder is told in one line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.corpus import Corpus
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.registry import method_row, methods_of
from acvb_core.store.export import write_run
from acvb_core.store.files import StoreError, labels_bytes
from acvb_core.store.topics import load_topics
from tests.loops import for_each
from tests.store.support import SMALL, WOMEN

TOKENISER = Tokeniser(
    stop_words=("german",), extra_stop_words=("ß",), max_words=9, ngrams=2, token_pattern=r"\S+"
)
CORPUS = Corpus.build(
    [[3, 1, 0, 0], [2, 2, 0, 1], [0, 0, 4, 2], [0, 1, 3, 3]],
    vocabulary=["=a", "日本", "c d", ""],
    name="odd 日",
    texts=["a"] * 4,
    tokeniser=TOKENISER,
)


def found(method: str = "cvb0", corpus: Corpus = CORPUS) -> Result:
    more = {"burn_in": 2} if method == "gibbs" else {}
    length = {"epochs": 2.0} if method_row("lda", method).streams else {"max_sweeps": 6}
    return fit(corpus, method, k=2, **length, **more)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_run(found(), tmp_path / "run")
    return tmp_path / "run"


@for_each("method", [row.name for row in methods_of("lda")])
def test_topics_come_back_as_they_were(tmp_path: Path, method: str) -> None:
    result = found(method)
    write_run(result, tmp_path)
    topics = load_topics(tmp_path)
    assert topics.name == "odd 日"
    assert topics.tokeniser == TOKENISER
    assert list(topics.vocabulary) == list(CORPUS.vocabulary)
    assert np.array_equal(topics.alpha, result.posterior["alpha"])
    other = Corpus.build([[1, 2, 3], [0, 4, 0]], vocabulary=["c d", "new", "=a"])
    pd.testing.assert_frame_equal(topics.transform(other), result.transform(other), check_exact=True)
    assert topics.completion(CORPUS) == result.completion(CORPUS)


def test_a_run_of_before_does_not_say_how_its_texts_were_cut(folder: Path) -> None:
    about = json.loads((folder / "run.json").read_text())
    del about["data"]["tokeniser"]
    (folder / "run.json").write_text(json.dumps(about))
    assert load_topics(folder).tokeniser is None


def refused(folder: Path) -> str:
    with pytest.raises(StoreError) as error:
        load_topics(folder)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_what_is_no_folder_of_topics(folder: Path, tmp_path: Path) -> None:
    assert refused(tmp_path / "nowhere").startswith(
        f"{tmp_path / 'nowhere'} is not a folder. Give a folder that"
    )
    assert "holds no trained topics" in refused(folder / "run.json")
    (tmp_path / "empty").mkdir()
    assert "holds no run: there is no run.json in it" in refused(tmp_path / "empty")
    (folder / "posterior.npz").unlink()
    assert "there is no posterior.npz in it" in refused(folder)
    write_run(fit(WOMEN, "vb", **SMALL), tmp_path / "irm")
    assert "holds a run of model 'irm', which has no topics" in refused(tmp_path / "irm")


@for_each("name", ["run.json", "posterior.npz"])
@for_each("damage", ["empty", "cut", "noise"])
def test_a_damaged_file_is_named(folder: Path, tmp_path: Path, name: str, damage: str) -> None:
    folder = Path(shutil.copytree(folder, tmp_path / "run"))
    path = folder / name
    whole = path.read_bytes()
    path.write_bytes({"empty": b"", "cut": whole[: len(whole) // 2], "noise": bytes(range(256)) * 4}[damage])
    assert refused(folder).startswith(f"{path} is damaged and cannot be read")


@for_each(
    "text", ["[]", "{}", '{"model": "lda"}', '{"model": "lda", "data": 3}', "[" * 100_000, '"lda"', "null"]
)
def test_json_that_is_no_runs(folder: Path, text: str) -> None:
    (folder / "run.json").write_text(text)
    assert "run.json is damaged" in refused(folder)


def test_a_cutting_that_this_version_does_not_know(folder: Path) -> None:
    about = json.loads((folder / "run.json").read_text())
    about["data"]["tokeniser"]["stemming"] = True
    (folder / "run.json").write_text(json.dumps(about))
    told = refused(folder)
    assert "were cut in a way that this version does not know" in told
    assert "stemming" in told


@for_each(
    "wrong",
    [
        {"phi": np.full((2, 3), 1 / 3)},
        {"phi": np.full((2, 4), np.nan)},
        {"phi": np.full((2, 4), 0.3)},
        {"phi": np.array([[2.0, -1.0, 0.0, 0.0]] * 2)},
        {"phi": np.array([["a"] * 4] * 2)},
        {"alpha": np.array([0.1, 0.1, 0.1])},
        {"alpha": np.array([0.0, 0.0])},
        {"alpha": np.array([0.1, np.inf])},
        {"alpha": np.float64(0.1)},
        {"vocabulary": labels_bytes(["a", "b", "a", "c"])},
        {"vocabulary": np.frombuffer(b"[1,2,3,4]", dtype=np.uint8)},
        {"vocabulary": np.frombuffer(b"{}", dtype=np.uint8)},
        {"phi": None},
    ],
)
def test_arrays_that_are_no_topics(folder: Path, tmp_path: Path, wrong: dict[str, Any]) -> None:
    folder = Path(shutil.copytree(folder, tmp_path / "run"))
    path = folder / "posterior.npz"
    with np.load(path) as file:
        arrays = dict(file) | wrong
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    assert refused(folder).startswith(f"{path} is damaged and cannot be read")
