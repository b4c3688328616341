"""Topics that hold less than one word are empty: no table, file or report gives them words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from acvb_core.core.spec import MethodSpec
from acvb_core.data.corpus import Corpus
from acvb_core.engine.fitting import compare, fit
from acvb_core.engine.result import Result
from acvb_core.models.lda.export import arrays, pyldavis_json
from acvb_core.models.lda.grid import grid_row
from acvb_core.models.lda.text import lines
from acvb_core.models.lda.topics import count_alike_topics, document_share, top_documents
from acvb_core.models.lda.trained import trained_topics
from acvb_core.registry import methods_of
from acvb_core.store.export import write_run
from acvb_core.views.comparison_table import agreement_tables
from acvb_core.views.conclusion import describe_run, measure_agreement

#: Two subjects, 30 words each, and 10 topics to put them into.
_COUNTS = np.repeat([[6, 6, 6, 6, 6, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 6, 6, 6, 6, 6]], 3, axis=0)


def fit_short_texts(method: str, **values: Any) -> Result:
    words = np.array(list("abcdefghij"), dtype=object)
    return fit(Corpus.build(_COUNTS, vocabulary=words), method, k=10, heldout=0.0, **values)


@pytest.mark.parametrize("row", methods_of("lda"), ids=lambda row: row.name)
def test_every_method_counts_only_topics_that_hold_a_word(row: MethodSpec) -> None:
    result = fit_short_texts(row.name)
    masses = result.snapshot.posterior["words"].sum(axis=0)
    expected = masses / masses.sum() * _COUNTS.sum()
    used = int((expected >= 1.0).sum())
    assert result.snapshot.effective_k == {"topics": used}
    assert result.topics["topic"].nunique() == used
    assert list(result.documents) == ["document", "tokens", *(f"topic_{k + 1}" for k in range(used))]


@pytest.fixture(scope="module")
def empty() -> Result:
    """The ten topics of a sampler that keeps every topic: most of them hold nothing."""
    result = fit_short_texts("gibbs", hyper="fixed", alpha=0.001, max_sweeps=40, burn_in=20)
    assert result.snapshot.posterior.n_clusters() == {"topics": 10}
    assert 1 <= result.snapshot.effective_k["topics"] < 5
    return result


def test_empty_topics_have_no_words_in_tables_and_files(empty: Result) -> None:
    used = empty.snapshot.effective_k["topics"]
    assert empty.topics["topic"].max() == used
    assert len(json.loads(pyldavis_json(empty))["topic.order"]) == used
    assert arrays(empty)["phi"].shape == (used, 10)
    assert trained_topics(empty).topics["topic"].max() == used
    assert grid_row(empty)["effective_k"] == used
    # A run that continues has all of them.
    assert trained_topics(empty).n_topics == 10


def test_reports_say_how_many_topics_are_empty(empty: Result) -> None:
    used = empty.snapshot.effective_k["topics"]
    assert f"{used} of 10 topics in use" in describe_run(empty)
    report = lines(empty)
    assert f"{10 - used} of 10 topics are empty" in report
    assert len([line for line in report.splitlines() if "%" in line]) == used


def test_empty_topics_do_not_come_back(empty: Result) -> None:
    """The topics that hold nothing are alike in all runs, and count in none."""
    used = empty.snapshot.effective_k["topics"]
    posterior = empty.snapshot.posterior
    assert count_alike_topics([posterior, posterior]) == (used, used)


@pytest.mark.parametrize("method", ["cvb0", "gibbs", "sdm"])
def test_a_document_without_words_has_no_topic(method: str, tmp_path: Path) -> None:
    short = {"epochs": 1.0} if method == "sdm" else {"max_sweeps": 5}
    counts = np.array([[3, 2, 0, 0], [0, 0, 0, 0], [0, 0, 2, 4]])
    result = fit(Corpus.build(counts, documents=["a", "none", "c"]), method, k=2, **short)
    write_run(result, tmp_path)
    for table in (result.documents, pd.read_csv(tmp_path / "documents.csv")):
        assert table["tokens"].tolist() == [5, 0, 6]
        assert table.filter(like="topic_").isna().all(axis=1).tolist() == [False, True, False]
    assert (result.labels("documents") == 0).tolist() == [False, True, False]
    shares = document_share(result.posterior)
    found = top_documents(shares, [5, 0, 6], 0, min_length=0).set_index("document")
    assert found["share"].isna().to_dict() == {0: False, 1: True, 2: False}
    assert found.index[-1] == 1


def test_documents_without_words_do_not_make_runs_agree() -> None:
    counts = np.random.default_rng(0).poisson(1.0, (30, 8)) + np.eye(30, 8, dtype=int)
    alone, padded = (
        compare(Corpus.build(given), "cvb0", seeds=2, k=3, max_sweeps=1)
        for given in (counts, np.vstack([counts, np.zeros((60, 8), dtype=int)]))
    )
    wanted = alone.agreement("documents").to_numpy()
    assert wanted[0, 1] < 0.9
    np.testing.assert_allclose(padded.agreement("documents"), wanted)
    np.testing.assert_allclose(agreement_tables(padded.results, ["a", "b"], "documents")["ari"], wanted)
    assert measure_agreement(padded.results, "documents") == pytest.approx(wanted[0, 1])
