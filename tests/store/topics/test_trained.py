"""Trained topics as a file: training continues from it as from the topics themselves; what is no such file is named."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import acvb_core
from acvb_core.core.errors import ParameterError
from acvb_core.core.protocols import Posterior
from acvb_core.data.corpus import Corpus
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.models.lda.trained import TrainedTopics, trained_topics
from acvb_core.registry import method_row, methods_of
from acvb_core.samples.catalogue import load_sample
from acvb_core.store.export import write_run
from acvb_core.store.files import StoreError
from acvb_core.store.topics import VERSION, load_model, load_topics, model_arrays, save_model
from tests.loops import for_each
from tests.store.support import SMALL, WOMEN

BARS = load_sample("bars").corpus
#: Other documents: some of the words under other numbers, and a new one.
NEW = Corpus.build(
    BARS.counts[:40, 5:].toarray()[:, ::-1], vocabulary=["new", *BARS.vocabulary[6:][::-1]], name="later"
)


def found(method: str, corpus: Corpus = BARS) -> Result:
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
    trained = trained_topics(found(method))
    save_model(trained, tmp_path / "m.npz")
    assert_same(trained, load_model(tmp_path / "m.npz"))
    assert [path.name for path in tmp_path.iterdir()] == ["m.npz"]


@for_each("then", ["sdm", "scvb0", "svb", "asdm", "cvb0", "acvb"])
@for_each("first", ["sdm", "scvb0", "cvb0"])
def test_training_goes_on_from_the_file_bit_for_bit(tmp_path: Path, first: str, then: str) -> None:
    result = found(first)
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


def test_a_result_topics_and_whatever_gives_topics_can_be_saved(tmp_path: Path) -> None:
    class Streaming:
        def __init__(self, result: Result) -> None:
            self.result = result

        def trained_topics(self) -> TrainedTopics:
            return trained_topics(self.result)

    result = found("sdm")
    for number, model in enumerate((result, trained_topics(result), Streaming(result))):
        save_model(model, str(tmp_path / f"{number}.npz"))
        assert_same(trained_topics(result), load_model(str(tmp_path / f"{number}.npz")))
    for wrong in (3, "model", {}):
        with pytest.raises(ParameterError, match="has no topics to save; give a result or trained topics"):
            save_model(wrong, tmp_path / "wrong.npz")
    with pytest.raises(ParameterError, match="model 'irm' has no topics"):
        save_model(fit(WOMEN, "vb", **SMALL), tmp_path / "wrong.npz")
    assert not (tmp_path / "wrong.npz").exists()


def test_the_folder_of_a_run_has_its_model(tmp_path: Path) -> None:
    result = found("sdm")
    write_run(result, tmp_path / "run")
    assert_same(trained_topics(result), load_model(tmp_path / "run"))
    topics, of_model = load_topics(tmp_path / "run"), load_topics(tmp_path / "run" / "model.npz")
    pd.testing.assert_frame_equal(topics.transform(NEW), of_model.transform(NEW))
    assert (of_model.name, of_model.tokeniser) == (topics.name, topics.tokeniser)
    write_run(fit(WOMEN, "vb", **SMALL), tmp_path / "blocks")
    with pytest.raises(StoreError, match=r"blocks holds no trained topics: there is no model\.npz in it"):
        load_model(tmp_path / "blocks")


def arrays() -> dict[str, Any]:
    return {"version": VERSION, **model_arrays(found("sdm"))}


def about(stored: dict[str, Any], **changed: Any) -> np.ndarray:
    told = json.loads(stored["about"].tobytes()) | changed
    return np.frombuffer(json.dumps(told).encode(), dtype=np.uint8)


def test_a_file_of_a_newer_version_says_so(tmp_path: Path) -> None:
    np.savez(tmp_path / "m.npz", **(arrays() | {"version": VERSION + 1}))
    with pytest.raises(StoreError, match=r"written by a newer version of the program .* Update the program"):
        load_model(tmp_path / "m.npz")


@for_each("kind", ["gone", "text", "array", "other npz", "results", "stored run", "folder"])
def test_what_holds_no_topics_is_named(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "m.npz"
    if kind == "text":
        path.write_text("topic,word\n")
    elif kind == "array":
        with path.open("wb") as file:
            np.save(file, np.arange(3))
    elif kind == "other npz":
        np.savez(path, version=1, something=np.arange(3))
    elif kind == "results":
        write_run(found("sdm"), tmp_path / "run")
        path = tmp_path / "run" / "posterior.npz"
    elif kind == "stored run":
        np.savez(path, version=1, about=about(arrays(), format=None))
    elif kind == "folder":
        path.mkdir()
    words = "is not there" if kind == "gone" else "holds no trained topics"
    with pytest.raises(StoreError, match=words) as failed:
        load_model(path)
    assert str(path) in str(failed.value)


def test_a_file_cut_short_or_changed_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    save_model(found("sdm"), path)
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], whole[:-9], whole[:40] + b"\0" * 200 + whole[240:]):
        path.write_bytes(content)
        with pytest.raises(StoreError, match=r"m\.npz (is damaged|holds no trained topics)"):
            load_model(path)


@for_each("name, wrong, why", [
        ("vocabulary", lambda a: a["vocabulary"][:0], "damaged"),
        ("vocabulary", lambda a: np.frombuffer(json.dumps(["a"] * 25).encode(), np.uint8), "different words"),
        ("vocabulary", lambda a: np.frombuffer(b'["a","b"]', np.uint8), "2 words, but counts of the shape"),
        ("posterior_words", lambda a: a["posterior_words"][:, :3], "counts of the shape"),
        ("posterior_words", lambda a: a["posterior_words"] * np.nan, "something else than numbers"),
        ("posterior_alpha", lambda a: a["posterior_alpha"] * -1, "not above 0"),
        ("posterior_steps", lambda a: a["posterior_steps"][:-1], "not of the topics' size"),
        ("posterior_gains", lambda a: a["posterior_gains"][:-1], "not of the topics' size"),
        ("posterior_course", lambda a: a["posterior_course"][:-1], "not of the topics' size"),
        ("sizes", lambda a: a["sizes"][:-1], "not of the topics' size"),
        ("sizes", lambda a: np.array(["x"] * 25), "something else than numbers"),
        ("about", lambda a: about(a, documents="many"), "damaged"),
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
