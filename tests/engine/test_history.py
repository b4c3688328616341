"""The table of diagnostics, readable while it is written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from acvb_core.core.protocols import Posterior
from acvb_core.engine.history import History, SweepRecord
from acvb_core.evaluate.heldout import LinkScore
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
