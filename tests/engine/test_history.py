"""The table of diagnostics, readable while it is written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from acvb_core.core.clusters import order_by_size
from acvb_core.core.protocols import Posterior
from acvb_core.data.corpus import Corpus
from acvb_core.data.table import Table
from acvb_core.engine.history import MOST_EXCERPTS, History, SweepRecord, is_excerpted
from acvb_core.engine.prepared import prepare_run
from acvb_core.engine.run import run
from acvb_core.evaluate.heldout import LinkScore
from acvb_core.samples.catalogue import load_sample
from tests.loops import for_each

EMPTY = Posterior({}, {}, averaged=())


def snapshot(sweep: int, **more: Any) -> SweepRecord:
    value = float(sweep)
    plain: dict[str, Any] = {
        "sweep": sweep, "cpu_seconds": value, "wall_seconds": 2 * value, "diagnostics_seconds": 3 * value,
        "lower_bound": value, "change": value, "samples": sweep // 2, "burn_in": sweep < 2,
        "effective_k": {"rows": 4, "cols": 3}, "hyper": {"alpha_rows": value}, "posterior": EMPTY, "state": None,
    }  # fmt: skip
    return SweepRecord(**plain | more)


def test_snapshot_of_the_same_sweep_takes_the_last_rows_place() -> None:
    history = History()
    history.append(snapshot(1))
    history.append(snapshot(2))
    earlier = history.column("lower_bound")
    history.append(snapshot(2, lower_bound=-7.0))
    assert earlier.tolist() == [1.0, 2.0], "a column that was read does not change"
    history.append(snapshot(2, lower_bound=-7.0, extras={"loo_perplexity": 5.0}))
    assert history.column("lower_bound").tolist() == [1.0, -7.0]
    np.testing.assert_array_equal(history.column("loo_perplexity"), [np.nan, 5.0])
    history.append(snapshot(2))
    assert np.isnan(history.column("loo_perplexity")).all()


def test_frame_has_whole_numbers_and_survives_a_round_trip() -> None:
    history = History()
    assert (len(history), history.columns, history.frame().empty) == (0, (), True)
    history.append(replace(snapshot(1), moves={"merged": 0, "split": 0}))
    assert not {"merged", "split"} & set(history.columns)
    score = LinkScore(-0.5, 0.25, 0.9, float("nan"))
    history.append(replace(snapshot(2, heldout=score), moves={"merged": 2, "split": 0}))
    frame = history.frame()
    whole = ["sweep", "samples", "burn_in", "effective_k_rows", "effective_k_cols"]
    assert [str(frame[name].dtype) for name in whole] == ["int64"] * 5
    assert np.nan_to_num(frame["heldout_skill"]).tolist() == [0.0, 0.25]
    assert np.nan_to_num(frame["merged"]).tolist() == [0, 2]
    assert np.isnan(history.column("no such column")).all()
    again = History.from_frame(frame)
    pd.testing.assert_frame_equal(again.frame(), frame)
    again.append(snapshot(3))
    assert again.column("sweep").tolist() == [1.0, 2.0, 3.0]
    frame.loc[0, "lower_bound"] = 99.0
    assert history.column("lower_bound")[0] == 1.0


@for_each("first", [1, 2, 256, 257])
def test_columns_that_appear_later_are_empty_before(first: int) -> None:
    """A score may be first evaluated in the middle of a run, or when the buffer grows."""
    history = History()
    for sweep in range(1, 701):
        earlier, columns = history.column("lower_bound"), history.columns
        known = {"loo_perplexity": -float(sweep)} if sweep >= first and (sweep - first) % 10 == 0 else {}
        known |= {"collapsed_bound": 2.0 * sweep} if sweep == 650 else {}
        history.append(snapshot(sweep, extras=known))
        assert history.columns[: len(columns)] == columns
        np.testing.assert_array_equal(earlier, np.arange(1.0, sweep))
    sweeps = np.arange(1, 701)
    due = (sweeps >= first) & ((sweeps - first) % 10 == 0)
    np.testing.assert_array_equal(history.column("loo_perplexity"), np.where(due, -1.0 * sweeps, np.nan))
    np.testing.assert_array_equal(history.column("collapsed_bound"), np.where(sweeps == 650, 1300.0, np.nan))
    np.testing.assert_array_equal(history.column("wall_seconds"), 2.0 * sweeps)
    again = History.from_frame(history.frame())
    again.append(snapshot(701, extras={"another": 1.0}))
    assert np.isnan(again.column("another")[:700]).all()
    assert again.column("another")[700] == 1.0


def test_excerpts_become_sparse_as_a_run_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    history = History()
    for sweep in range(1, 20_001):
        if is_excerpted(sweep):
            history.append(snapshot(sweep, excerpt={"rows": np.full(3, sweep)}))
            assert len(history.excerpts) <= MOST_EXCERPTS
            assert max(history.excerpts) == sweep, "the last one is always there"
    kept = np.array(list(history.excerpts))
    assert len(kept) > MOST_EXCERPTS // 2
    assert (kept[1:] / kept[:-1]).max() < 4, "no part of the run is left out"
    assert all((one["rows"] == sweep).all() for sweep, one in history.excerpts.items())
    monkeypatch.setattr("acvb_core.engine.history.MOST_EXCERPT_BYTES", 100)
    history.append(snapshot(30_000, excerpt={"rows": np.zeros(3)}))
    assert sum(one["rows"].nbytes for one in history.excerpts.values()) <= 100
    assert max(history.excerpts) == 30_000


def test_excerpts_are_those_of_the_answers_after_their_sweeps() -> None:
    for data, method, values in (
        (load_sample("southern_women").data, "acvb0", {}),
        (Corpus.build(np.random.default_rng(0).poisson(0.4, (30, 60)), name="words"), "gibbs", {"k": 4}),
        (Corpus.build(np.random.default_rng(1).poisson(0.1, (30, 25)), name="few"), "gibbs", {"k": 20}),
        (Table.build(np.random.default_rng(0).normal(size=(21, 4)), name="table"), "em", {"k_max": 3}),
    ):
        prepared = prepare_run(data, method, {**values, "max_sweeps": 12})
        for record in run(prepared):
            assert (record.excerpt is not None) == (is_excerpted(record.sweep) or record.verdict is not None)
            for name, array in (record.excerpt or {}).items():
                check_excerpt(prepared.spec.model, name, array, record.posterior)


def check_excerpt(model: str, name: str, array: Any, posterior: Posterior) -> None:
    if model == "irm":
        assert array.tolist() == posterior.labels(name).tolist()
    elif model == "lfm":
        bits = np.unpackbits(array, axis=0, count=len(posterior[name]))
        assert bits.tolist() == (posterior[name] >= 0.5).tolist()
    elif name == "words":
        counts = posterior["words"][:, order_by_size(posterior.masses()["topics"])[: len(array)]].T
        best = -np.sort(-counts, axis=1)[:, :10]
        found = np.where(array >= 0, np.take_along_axis(counts, np.maximum(array, 0), axis=1), 0)
        np.testing.assert_array_equal(found, np.where(best > 1e-30, best, 0))
