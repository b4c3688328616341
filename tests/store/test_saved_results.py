"""Results of every model outlive the session: pickled, copied, saved to a file and read again; and they print short."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import pandas as pd
import pytest

import acvb_core
from acvb_core.engine.result import Result
from acvb_core.store.archives import load_comparison, load_result
from acvb_core.store.files import StoreError
from tests.loops import for_each
from tests.store.support import SMALL, WOMEN, assert_same_result, network, odd_corpus, odd_relation

BARS = acvb_core.load_sample("bars").corpus
IMAGES = acvb_core.load_sample("block_images").table
RUNS: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "relation": (WOMEN, "acvb0", SMALL),
    "network": (
        network(directed=True, self_links=False),
        "gibbs",
        {"k_rows": 3, "max_sweeps": 4, "burn_in": 1},
    ),
    "race": (WOMEN, "cvb0", {**SMALL, "restarts": 2}),
    "topics": (BARS, "acvb0", {"k": 4, "max_sweeps": 4}),
    "topics over shards": (BARS, "cvb0", {"k": 4, "max_sweeps": 4, "shards": 2}),
    "stream": (BARS, "sdm", {"k": 4, "epochs": 0.2}),
    "table": (IMAGES, "fab", {"k_max": 4, "max_sweeps": 4}),
    "odd labels": (odd_relation(), "vb", {"k_rows": 2, "k_cols": 2, "max_sweeps": 2}),
    "odd texts": (odd_corpus(), "vb", {"k": 2, "max_sweeps": 2}),
}
MOST_LINES, MOST_HTML = 6, 20_000


def joblib_copy(result: Result) -> Any:
    file = io.BytesIO()
    joblib.dump(result, file)
    file.seek(0)
    return joblib.load(file)


COPIES: list[Callable[[Any], Any]] = [
    lambda result: pickle.loads(pickle.dumps(result)), joblib_copy, copy.copy, copy.deepcopy,
]  # fmt: skip


@for_each("name", list(RUNS))
def test_a_result_outlives_the_session_and_prints_short(name: str, tmp_path: Path) -> None:
    data, method, values = RUNS[name]
    share = {} if name.startswith("odd") else {"heldout": 0.1}
    result = acvb_core.fit(data, method, seed=3, **share, **values)
    for copied in COPIES:
        other = copied(result)
        assert_same_result(result, other)
        assert other.prepared.spec == result.prepared.spec
        assert other.prepared.row is result.prepared.row
        assert other.prepared.model_row is result.prepared.model_row
    result.save(tmp_path / "result.acvb")
    assert_same_result(result, load_result(tmp_path / "result.acvb"))
    assert len(repr(result).splitlines()) <= MOST_LINES
    assert len(result._repr_html_()) <= MOST_HTML
    assert len(repr(result.prepared.data)) < 200
    assert str(result.verdict) in repr(result)


def test_a_printed_score_says_what_predicts_and_names_its_baseline() -> None:
    assert "% by the clusters alone, " in repr(acvb_core.fit(WOMEN, heldout=0.1, k_rows=4, k_cols=3))
    assert "(column means -1." in repr(acvb_core.fit(IMAGES, "em", heldout=0.1, k_max=4, max_sweeps=2))


def test_a_name_in_html_is_text() -> None:
    relation = acvb_core.Relation.build([[1, 0], [0, 1]], row_labels=["<b>", "x"], name="<script>")
    html = acvb_core.fit(relation, "vb", k_rows=2, k_cols=2, max_sweeps=2)._repr_html_()
    assert "<script>" not in html
    assert "<td><b>" not in html


def test_a_comparison_is_saved_with_all_its_runs(tmp_path: Path) -> None:
    comparison = acvb_core.compare(WOMEN, ["cvb0", "vb"], seeds=4, **SMALL)
    comparison.save(tmp_path / "runs.acvb")
    pd.testing.assert_frame_equal(
        load_comparison(tmp_path / "runs.acvb").table(), comparison.table(), check_exact=True
    )
    pd.testing.assert_frame_equal(pickle.loads(pickle.dumps(comparison)).table(), comparison.table())
    assert len(repr(comparison).splitlines()) <= MOST_LINES
    assert len(comparison._repr_html_()) <= MOST_HTML
    assert len(repr(acvb_core.combine(comparison.results)).splitlines()) <= MOST_LINES
    with pytest.raises(StoreError, match=r"has 8 runs, not one\. Read them with load_comparison"):
        load_result(tmp_path / "runs.acvb")


def test_what_cannot_be_read_or_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"none\.acvb does not exist"):
        load_result(tmp_path / "none.acvb")
    (tmp_path / "text").write_text("no zip")
    with pytest.raises(StoreError, match="cannot be read as an archive of runs"):
        load_result(tmp_path / "text")
    result = acvb_core.fit(WOMEN, "vb", **SMALL)
    result.save(tmp_path / "whole")
    (tmp_path / "half").write_bytes((tmp_path / "whole").read_bytes()[:2000])
    with pytest.raises(StoreError, match="half cannot be read as an archive"):
        load_result(tmp_path / "half")
    before = (tmp_path / "whole").read_bytes()
    with pytest.raises(StoreError, match="cannot be written"):
        result.save(tmp_path / "no folder" / "x")
    kept = acvb_core.read_to_disk(["river lake", "bank loan", "river bank"], tmp_path / "disk").data
    with pytest.raises(StoreError, match="kept on disk, and are too many"):
        acvb_core.fit(kept, "sdm", k=2, epochs=1.0).save(tmp_path / "whole")
    assert (tmp_path / "whole").read_bytes() == before


def returned() -> dict[str, Callable[[], Any]]:
    """What the other public functions return."""
    few = {"k": 3, "max_sweeps": 3}
    return {
        "load_relation": lambda: acvb_core.load_relation([("a", "b"), ("a", "b"), ("c", "d")]),
        "load_sample": lambda: acvb_core.load_sample("karate"),
        "report": lambda: acvb_core.load_sample("bars").report,
        "trained_topics": lambda: acvb_core.trained_topics(acvb_core.fit(BARS, "cvb0", **few)),
        "experiment": lambda: acvb_core.experiment(BARS, ["cvb0", "vb"], splits=2, **few),
        "grid": lambda: acvb_core.grid(BARS, [2, 3], max_sweeps=3),
        "state": lambda: acvb_core.fit(BARS, "cvb0", **few).state,
    }


@pytest.mark.filterwarnings("ignore::acvb_core.DataChangedWarning")
@for_each("name", returned())
def test_what_functions_return_prints_short_and_can_be_copied(name: str) -> None:
    made = returned()[name]()
    printed = repr(made)
    assert len(printed.splitlines()) <= MOST_LINES
    assert len(printed) <= 1_000
    assert len(getattr(made, "_repr_html_", str)()) <= MOST_HTML
    for copied in COPIES:
        assert type(copied(made)) is type(made)
