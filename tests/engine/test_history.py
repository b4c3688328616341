"""The table of diagnostics, readable while it is written."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from acvb_core.core.protocols import Posterior
from acvb_core.engine.history import History, SweepRecord
from acvb_core.evaluate.heldout import LinkScore
from tests.loops import for_each

EMPTY = Posterior({}, {}, averaged=())


def snapshot(sweep: int, bound: float | None = None, heldout: LinkScore | None = None) -> SweepRecord:
    value = float(sweep)
    return SweepRecord(
        sweep=sweep,
        cpu_seconds=value,
        wall_seconds=2 * value,
        diagnostics_seconds=3 * value,
        lower_bound=value if bound is None else bound,
        change=value,
        samples=sweep // 2,
        burn_in=sweep < 2,
        effective_k={"rows": 4, "cols": 3},
        hyper={"alpha_rows": value},
        heldout=heldout,
        posterior=EMPTY,
        state=None,
    )


def test_one_row_a_sweep() -> None:
    history = History()
    assert len(history) == 0
    assert history.columns == ()
    assert history.frame().empty
    for sweep in range(1, 1001):  # past several growths of the buffer
        history.append(snapshot(sweep))
    assert len(history) == 1000
    np.testing.assert_array_equal(history.column("sweep"), np.arange(1, 1001))
    np.testing.assert_array_equal(history.column("wall_seconds"), 2.0 * np.arange(1, 1001))
    assert np.isnan(history.column("pseudo_loo")).all()
    assert np.isnan(history.column("no such column")).all()
    assert history.columns[0] == "sweep"


def test_snapshot_of_the_same_sweep_takes_the_last_rows_place() -> None:
    history = History()
    history.append(snapshot(1))
    history.append(snapshot(2))
    earlier = history.column("lower_bound")
    history.append(snapshot(2, bound=-7.0))
    assert len(history) == 2
    assert history.column("lower_bound").tolist() == [1.0, -7.0]
    # What was read before does not change under the reader.
    assert earlier.tolist() == [1.0, 2.0]
    history.append(snapshot(3))
    assert history.column("sweep").tolist() == [1.0, 2.0, 3.0]


def test_frame_has_whole_numbers_and_survives_a_round_trip() -> None:
    history = History()
    history.append(snapshot(1))
    history.append(snapshot(2, heldout=LinkScore(-0.5, 0.25, 0.9, float("nan"))))
    frame = history.frame()
    whole = ["sweep", "samples", "burn_in", "effective_k_rows", "effective_k_cols"]
    assert [str(frame[name].dtype) for name in whole] == ["int64"] * 5
    assert frame["heldout_skill"].tolist()[1] == 0.25
    assert np.isnan(frame["heldout_skill"][0])
    again = History.from_frame(frame)
    pd.testing.assert_frame_equal(again.frame(), frame)
    again.append(snapshot(3))
    assert again.column("sweep").tolist() == [1.0, 2.0, 3.0]
    frame.loc[0, "lower_bound"] = 99.0
    assert history.column("lower_bound")[0] == 1.0


def test_columns_are_published_with_the_first_row() -> None:
    """A reader between the two would find names without numbers."""

    class Halfway(History):
        def __setattr__(self, name: str, value: object) -> None:
            super().__setattr__(name, value)
            if "seen" in self.__dict__ or name == "seen":
                return
            frame = self.frame()
            assert list(frame.columns) == list(self.columns)
            for column in self.columns:
                assert len(self.column(column)) == len(self)

    history = Halfway()
    history.append(snapshot(1))
    history.append(snapshot(2))
    assert len(history) == 2


def with_extras(sweep: int, **extras: float) -> SweepRecord:
    return replace(snapshot(sweep), extras=extras)


@for_each("first", [1, 2, 10, 256, 257, 600])
def test_columns_that_appear_later_are_empty_before(first: int) -> None:
    """What is evaluated every so many sweeps is first known in the middle of a run, or where the buffer grows."""
    history = History()
    for sweep in range(1, 701):
        earlier, columns = history.column("lower_bound"), history.columns
        known = {"loo_perplexity": -float(sweep)} if sweep >= first and (sweep - first) % 10 == 0 else {}
        known |= {"collapsed_bound": 2.0 * sweep} if sweep == 650 else {}
        history.append(with_extras(sweep, **known))
        assert history.columns[: len(columns)] == columns
        np.testing.assert_array_equal(earlier, np.arange(1.0, sweep))
    sweeps = np.arange(1, 701)
    due = (sweeps >= first) & ((sweeps - first) % 10 == 0)
    np.testing.assert_array_equal(history.column("loo_perplexity"), np.where(due, -1.0 * sweeps, np.nan))
    np.testing.assert_array_equal(history.column("collapsed_bound"), np.where(sweeps == 650, 1300.0, np.nan))
    np.testing.assert_array_equal(history.column("wall_seconds"), 2.0 * sweeps)
    frame = history.frame()
    assert frame["effective_k_rows"].dtype == np.int64
    again = History.from_frame(frame)
    again.append(with_extras(701, another=1.0))
    assert np.isnan(again.column("another")[:700]).all()
    assert again.column("another")[700] == 1.0
    np.testing.assert_array_equal(again.column("loo_perplexity")[:700], history.column("loo_perplexity"))


def test_column_that_appears_when_a_row_is_replaced() -> None:
    """A stopped run evaluates its last sweep again, and in full."""
    history = History()
    history.append(snapshot(1))
    history.append(snapshot(2))
    history.append(with_extras(2, loo_perplexity=5.0))
    assert len(history) == 2
    np.testing.assert_array_equal(history.column("loo_perplexity"), [np.nan, 5.0])
    history.append(snapshot(2))
    np.testing.assert_array_equal(history.column("loo_perplexity"), [np.nan, np.nan])


def test_moves_are_columns_once_there_are_some() -> None:
    history = History()
    history.append(snapshot(1))
    history.append(replace(snapshot(2), moves={"merged": 0, "split": 0}))
    assert not {"merged", "split"} & set(history.columns)
    history.append(replace(snapshot(3), moves={"merged": 2, "split": 0}))
    history.append(replace(snapshot(4), moves={"split": 1}))
    again = History.from_frame(history.frame())
    for table in (history, again):
        assert np.nan_to_num(table.column("merged")).tolist() == [0, 0, 2, 0]
        assert np.nan_to_num(table.column("split")).tolist() == [0, 0, 0, 1]
