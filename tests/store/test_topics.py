"""Topics, their names and trained models come back from files as they were; damaged files are named."""

from __future__ import annotations

import io
import json
import shutil
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import acvb_core
from acvb_core.core.errors import ParameterError
from acvb_core.core.protocols import Posterior
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.corpus import Corpus
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.models.lda.trained import TrainedTopics, trained_topics
from acvb_core.registry import method_row, methods_of
from acvb_core.samples.catalogue import load_sample
from acvb_core.store.export import write_run
from acvb_core.store.files import StoreError, labels_bytes
from acvb_core.store.part_names import Marks, PartNames
from acvb_core.store.topics import VERSION, load_model, load_topics, model_arrays, save_model
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


def refused(folder: Path) -> str:
    with pytest.raises(StoreError) as error:
        load_topics(folder)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_folders_without_topics_are_refused(folder: Path, tmp_path: Path) -> None:
    assert "nowhere is not a folder. Give a folder that" in refused(tmp_path / "nowhere")
    assert "holds no trained topics" in refused(folder / "run.json")
    (tmp_path / "empty").mkdir()
    assert "holds no run: there is no run.json in it" in refused(tmp_path / "empty")
    (folder / "posterior.npz").unlink()
    assert "there is no posterior.npz in it" in refused(folder)
    write_run(fit(WOMEN, "vb", **SMALL), tmp_path / "irm")
    assert "holds a run of model 'irm', which has no topics" in refused(tmp_path / "irm")


@for_each(
    "wrong",
    [
        {"phi": np.full((2, 4), np.nan)},
        {"phi": np.array([[2.0, -1.0, 0.0, 0.0]] * 2)},
        {"phi": np.array([["a"] * 4] * 2)},
        {"alpha": np.array([0.1, np.inf])},
        {"vocabulary": labels_bytes(["a", "b", "a", "c"])},
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


WORDS = np.arange(12).reshape(3, 4)
MARKS: Marks = {"topics": WORDS.tolist(), "rows": [[0, 1], [2]]}


@pytest.fixture
def names(tmp_path: Path) -> PartNames:
    return PartNames(tmp_path / "kept")


def test_names_come_back(names: PartNames, tmp_path: Path) -> None:
    assert names.names("run", MARKS) == {"topics": (None, None, None), "rows": (None, None)}
    names.rename("run", MARKS, "topics", 2, "  kings \n of Israel ")
    names.rename("run", MARKS, "rows", 1, "日本 <b>")
    known = {"topics": (None, "kings of Israel", None), "rows": ("日本 <b>", None)}
    again = PartNames(tmp_path / "kept")
    assert again.names("run", MARKS) == known
    assert again.names("other", MARKS)["topics"] == (None, None, None)
    assert again.rename("run", MARKS, "topics", 2, " ")["topics"] == (None, None, None)
    with pytest.raises(ParameterError, match="only 2"):
        again.rename("run", MARKS, "rows", 3, "none")


def test_names_of_an_earlier_version_are_those_of_topics(names: PartNames) -> None:
    names.folder.mkdir(parents=True)
    old = {"topic": 2, "name": "kings", "words": WORDS[1].tolist()}
    (names.folder / "run.json").write_text(json.dumps({"version": 2, "run": "run", "names": [old]}))
    assert names.names("run", MARKS) == {"topics": (None, "kings", None), "rows": (None, None)}


def test_a_name_follows_the_words_of_its_topic(names: PartNames) -> None:
    names.rename("run", MARKS, "topics", 1, "low")
    names.rename("run", MARKS, "topics", 3, "high")
    assert names.names("run", {"topics": WORDS[[2, 1, 0]]})["topics"] == ("high", None, "low")
    # Half of the words may change, in any order; a topic with fewer of them is another one.
    changed = [[3, 2, 90, 91], [10, 70, 71, 72]]
    assert names.names("run", {"topics": changed})["topics"] == ("low", None)


@for_each("text", ["", "{", "[]", '{"version": 1, "names": [{}]}', '{"version": 2, "names": []}'])
def test_a_damaged_file_of_names_is_reported(names: PartNames, text: str) -> None:
    names.folder.mkdir(parents=True, exist_ok=True)
    (names.folder / "run.json").write_text(text)
    with pytest.raises(StoreError, match=r"run\.json"):
        names.names("run", MARKS)


BARS = load_sample("bars").corpus
#: Other documents: some of the words under other numbers, and a new one.
NEW = Corpus.build(
    BARS.counts[:40, 5:].toarray()[:, ::-1], vocabulary=["new", *BARS.vocabulary[6:][::-1]], name="later"
)


def trained_by(method: str, corpus: Corpus = BARS) -> Result:
    if method_row("lda", method).streams:
        return fit(corpus, method, k=5, epochs=1.5, window=20)
    return fit(corpus, method, k=5, max_sweeps=8, **({"burn_in": 2} if method == "gibbs" else {}))


def assert_same(one: TrainedTopics, other: TrainedTopics) -> None:
    """Every field, those included that are added one day."""
    for name in (field.name for field in fields(TrainedTopics)):
        mine, its = getattr(one, name), getattr(other, name)
        if isinstance(mine, Posterior):
            assert mine.arrays.keys() == its.arrays.keys()
            for key, array in mine.arrays.items():
                assert array.dtype == its[key].dtype, key
                assert np.array_equal(array, its[key]), key
            for part in ("axes", "averaged", "derived", "hyper", "normalised"):
                assert getattr(mine, part) == getattr(its, part), part
        elif isinstance(mine, np.ndarray):
            assert mine.dtype == its.dtype
            assert np.array_equal(mine, its), name
        else:
            assert mine == its, name


@for_each("method", [row.name for row in methods_of("lda")])
def test_everything_comes_back(tmp_path: Path, method: str) -> None:
    trained = trained_topics(trained_by(method))
    save_model(trained, tmp_path / "m.npz")
    assert_same(trained, load_model(tmp_path / "m.npz"))
    assert [path.name for path in tmp_path.iterdir()] == ["m.npz"]


@for_each(
    "first, then", [("sdm", "asdm"), ("sdm", "svb"), ("scvb0", "scvb0"), ("cvb0", "acvb"), ("cvb0", "sdm")]
)
def test_training_continues_from_the_file_bit_for_bit(tmp_path: Path, first: str, then: str) -> None:
    result = trained_by(first)
    acvb_core.save_model(result, tmp_path / "m.npz")
    loaded = acvb_core.load_model(tmp_path / "m.npz")
    length = {"epochs": 1.5, "window": 15} if method_row("lda", then).streams else {"max_sweeps": 4}
    one, other = (
        fit(NEW, then, k=5, seed=3, start=start, **length) for start in (trained_topics(result), loaded)
    )
    pd.testing.assert_frame_equal(one.topics, other.topics, check_exact=True)
    for name, array in one.snapshot.posterior.arrays.items():
        assert np.array_equal(array, other.snapshot.posterior[name]), name
    begun_anew = fit(NEW, then, k=5, seed=3, **length)
    assert not begun_anew.topics.equals(one.topics)
    assert one.prepared.spec.start == f"5 topics of bars by {first}"


def test_objects_with_topics_can_be_saved_and_open_files_will_do(tmp_path: Path) -> None:
    class Streaming:
        def trained_topics(self) -> TrainedTopics:
            return trained_topics(result)

    result, file = trained_by("sdm"), io.BytesIO()
    save_model(Streaming(), file)
    file.seek(0)
    assert_same(trained_topics(result), load_model(file))
    for wrong in (3, "model", {}):
        with pytest.raises(ParameterError, match="has no topics to save; give a result or trained topics"):
            save_model(wrong, tmp_path / "wrong.npz")
    with pytest.raises(ParameterError, match="model 'irm' has no topics"):
        save_model(fit(WOMEN, "vb", **SMALL), tmp_path / "wrong.npz")
    assert not (tmp_path / "wrong.npz").exists()


def test_the_folder_of_a_run_has_its_model(tmp_path: Path) -> None:
    result = trained_by("sdm")
    write_run(result, tmp_path / "run")
    assert_same(trained_topics(result), load_model(tmp_path / "run"))
    topics, of_model = load_topics(tmp_path / "run"), load_topics(tmp_path / "run" / "model.npz")
    pd.testing.assert_frame_equal(topics.transform(NEW), of_model.transform(NEW))
    assert (of_model.name, of_model.tokeniser) == (topics.name, topics.tokeniser)
    write_run(fit(WOMEN, "vb", **SMALL), tmp_path / "blocks")
    with pytest.raises(StoreError, match=r"blocks holds no trained topics: there is no model\.npz in it"):
        load_model(tmp_path / "blocks")


def arrays() -> dict[str, Any]:
    return {"version": VERSION, **model_arrays(trained_by("sdm"))}


def about(stored: dict[str, Any], **changed: Any) -> np.ndarray:
    told = json.loads(stored["about"].tobytes()) | changed
    return np.frombuffer(json.dumps(told).encode(), dtype=np.uint8)


@for_each(
    "content, words", [(None, "is not there"), (b"topic,word\n", "holds no"), ({"something": 3}, "holds no")]
)
def test_files_without_topics_are_named(tmp_path: Path, content: Any, words: str) -> None:
    path = tmp_path / "m.npz"
    if isinstance(content, dict):
        np.savez(path, version=1, **content)
    elif content:
        path.write_bytes(content)
    with pytest.raises(StoreError, match=words) as failed:
        load_model(path)
    assert str(path) in str(failed.value)


@for_each("name, wrong, why", [
        ("vocabulary", lambda a: np.frombuffer(json.dumps(["a"] * 25).encode(), np.uint8), "different words"),
        ("vocabulary", lambda a: np.frombuffer(b'["a","b"]', np.uint8), "2 words, but counts of the shape"),
        ("posterior_words", lambda a: a["posterior_words"][:, :3], "counts of the shape"),
        ("posterior_words", lambda a: a["posterior_words"] * np.nan, "something else than numbers"),
        ("posterior_alpha", lambda a: a["posterior_alpha"] * -1, "not above 0"),
        ("posterior_steps", lambda a: a["posterior_steps"][:-1], "not of the topics' size"),
        ("sizes", lambda a: a["sizes"][:-1], "not of the topics' size"),
        ("sizes", lambda a: np.array(["x"] * 25), "something else than numbers"),
        ("about", lambda a: about(a, tokeniser={"magic": 1}), "this version does not know"),
        ("about", lambda a: about(a, posterior={}), "damaged"),
    ])  # fmt: skip
def test_arrays_that_contradict_each_other_are_refused(
    tmp_path: Path, name: str, wrong: Any, why: str
) -> None:
    stored = arrays()
    stored[name] = wrong(stored)
    np.savez(tmp_path / "m.npz", **stored)
    with pytest.raises(StoreError, match=why):
        load_model(tmp_path / "m.npz")


def test_changes_follow_the_topics_that_they_were_made_of(tmp_path: Path) -> None:
    """Two topics have the same words; one is gone when the changes are read again."""
    names, run = PartNames(tmp_path / "one"), "0" * 12
    marks: Marks = {"topics": [[1, 2, 3], [4, 5, 6], [1, 2, 3], [7, 8, 9]]}
    made = [("merge", (3, 1)), ("hide", (4,)), ("move", (2, 1))]
    names.set_edits(run, marks, "topics", [("hide", (1,))])
    names.rename(run, marks, "topics", 2, "sea")
    names.set_edits(run, marks, "topics", made)
    assert names.edits(run, marks, "topics") == made
    later: Marks = {"topics": [[6, 5, 4], [3, 2, 1], [3, 2, 1]]}
    other = PartNames(tmp_path / "other")
    other.take_entries(run, json.loads(json.dumps(names.entries(run))))
    for store in (names, other):
        assert store.edits(run, later, "topics") == [("merge", (3, 2)), ("move", (1, 2))]
        assert store.names(run, later) == {"topics": ("sea", None, None)}
    names.set_edits(run, marks, "topics", [])
    assert names.edits(run, marks, "topics") == []
    assert names.names(run, marks)["topics"][1] == "sea"
