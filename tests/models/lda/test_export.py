"""What leaves the program of a run of LDA: one number for each topic in every file, and Python that repeats it."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from acvb_core.core.clusters import rearrange
from acvb_core.data.corpora.readers import load_corpus
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.engine.executor import Executor
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.samples.catalogue import load_sample
from acvb_core.store.export import round_digits, write_run
from acvb_core.store.runs import RunStore
from acvb_core.store.snippet import python_snippet
from tests.loops import for_each
from tests.store.support import assert_same_result

BARS = load_sample("bars").corpus


def read(path: Path) -> pd.DataFrame:
    text = path.read_bytes().decode()
    return pd.read_csv(
        io.StringIO(text, newline=""), keep_default_na=False, dtype={"word": str, "document": str}
    )


def test_one_topic_number_in_every_file(tmp_path: Path) -> None:
    """Also if the smallest topic is the first of the posterior."""
    result = fit(BARS, "acvb0", k=6, max_sweeps=40, heldout=0.1)
    orders = {"topics": np.arange(6)[::-1]}
    turned = rearrange(result.snapshot.posterior, orders)
    result, folder = (
        result.with_state(snapshot=replace(result.snapshot, posterior=turned)),
        tmp_path / "folder",
    )
    write_run(result, folder)
    topics, documents, history = (read(folder / f"{name}.csv") for name in ("topics", "documents", "history"))
    with np.load(folder / "posterior.npz", allow_pickle=False) as file:
        arrays = dict(file)
    vocabulary = json.loads(arrays["vocabulary"].tobytes())
    assert vocabulary == list(BARS.vocabulary)
    assert json.loads(arrays["document_names"].tobytes()) == list(documents["document"])
    # theta and phi are the posterior means of the counts, in the same order.
    alpha, beta = arrays["alpha"], arrays["beta"]
    n_dk, n_wk = arrays["document_counts"].astype(float), arrays["word_counts"].astype(float)
    theta = (n_dk + alpha) / (n_dk.sum(axis=1, keepdims=True) + alpha.sum())
    phi = (n_wk.T + beta) / (n_wk.sum(axis=0)[:, None] + len(vocabulary) * beta)
    np.testing.assert_allclose(arrays["theta"], theta, rtol=1e-6)
    np.testing.assert_allclose(arrays["phi"], phi, rtol=1e-6)
    shares = documents.filter(like="topic_").to_numpy()
    assert np.array_equal(shares, round_digits(arrays["theta"].astype(float)))
    assert json.loads(arrays["topic_names"].tobytes()) == topics.groupby("topic")["name"].first().tolist()
    column, phi = [vocabulary.index(word) for word in topics["word"]], arrays["phi"]
    probability = round_digits(phi[topics["topic"] - 1, column].astype(float))
    assert topics["probability"].tolist() == probability.tolist()
    assert (np.diff(n_wk.sum(axis=0)) <= 0).all(), "the largest topic comes first"
    for _, of_topic in topics.groupby("topic"):
        assert (np.diff(of_topic["probability"]) <= 0).all()
    assert n_dk.sum() == pytest.approx(result.prepared.train.n_tokens, rel=1e-4), "held-out words are not in"
    assert float(history["loo_perplexity"].iloc[-1]) == result.snapshot.extras["loo_perplexity"]


def repeated(snippet: str) -> Result:
    names: dict[str, Any] = {}
    exec(compile(snippet, "snippet", "exec"), names)
    assert isinstance(names["result"], Result)
    return names["result"]


def assert_same_answer(one: Result, other: Result) -> None:
    for name in ("documents", "words", "alpha"):
        assert np.array_equal(one.posterior[name], other.posterior[name])
    assert one.snapshot.sweep == other.snapshot.sweep
    assert one.snapshot.heldout == other.snapshot.heldout


TEXTS = "label;body;who\n" + "".join(
    f"{i % 2};{'ship sail the wave 1912' if i % 2 else 'Corn field plough harvest'} w{i % 5};d{i}\n"
    for i in range(20)
)


@for_each("tokeniser", [None, Tokeniser(extra_stop_words=("corn", "it's"), lowercase=False)])
def test_the_snippet_reads_a_file_with_its_options(tmp_path: Path, tokeniser: Tokeniser | None) -> None:
    path = tmp_path / 'it\'s "odd" 日本.csv'
    path.write_text(TEXTS)
    options: dict[str, Any] = {"text_column": "body", "name_column": 2, "label_column": None}
    result = fit(load_corpus(path, **options, tokeniser=tokeniser).data, "cvb0", k=2, max_sweeps=12)
    said = None if tokeniser is None else tokeniser.to_dict()
    # Texts that were cut know how: the options need not say it, and may say it in plain values.
    for more in ({"tokeniser": tokeniser}, {}, {"tokeniser": said}):
        snippet = python_snippet(result, str(path), options | more)
        assert "label_column" not in snippet
        assert ("Tokeniser(lowercase=False" in snippet) == (tokeniser is not None)
        assert_same_answer(result, repeated(snippet))


@for_each("method, given", [("acvb0", {"max_sweeps": 12}), ("asdm", {"window": 20, "epochs": 1.3})])
def test_a_stored_run_comes_back_and_exports_the_same(
    tmp_path: Path, method: str, given: dict[str, Any]
) -> None:
    result = fit(BARS, method, heldout=0.1, heldout_seed=5, seed=7, k=6, **given)
    assert_same_answer(result, repeated(python_snippet(result)))
    store = RunStore(tmp_path / "store")
    store.save("mine", "run", 12.5, result)
    stored = RunStore(store.folder).load("run", Executor(1)).result()
    assert_same_result(result, stored)
    assert np.array_equal(stored.prepared.heldout.words, result.prepared.heldout.words)
    assert python_snippet(stored) == python_snippet(result)
    for one, other in zip(write_run(result, tmp_path / "a"), write_run(stored, tmp_path / "b"), strict=True):
        if one.suffix != ".npz":
            assert one.read_bytes() == other.read_bytes(), one.name
