"""The curves: every value there is, nothing squashed, burn-in and tolerance marked."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.views.convergence import RunCurve, live_figure, move_sign, move_text
from tests.loops import for_each
from tests.views.histories import history_of
from tests.views.reading import plain

live_figure = plain(live_figure)


def trace(figure: dict, end: str) -> dict:
    return next(t for t in figure["data"] if t["uid"].endswith(end))


def test_the_first_sweeps_do_not_squash_the_rest() -> None:
    bound = [-1e6, -5e5, -3e5, -2e5, -1.5e5, *[-1000 + 0.1 * i for i in range(95)]]
    axis = live_figure([RunCurve("r", "x", "vb", 0, history_of(lower_bound=bound))])["layout"]["yaxis"]
    assert -1100 < axis["autorangeoptions"]["clipmin"] < -1000
    # Plotly adds room in proportion to all the data, the first sweeps included.
    assert -991 < axis["autorangeoptions"]["clipmax"] < -980
    # A range that changed at every refresh would throw away the user's zoom.
    assert "range" not in axis


def averaged() -> RunCurve:
    nan = float("nan")
    return RunCurve(
        "r",
        "x",
        "acvb0",
        0,
        history_of(
            lower_bound=[-9.0, -8, -7, -6, -5],
            change=[1.0, 0.5, 0.4, 0.3, 0.2],
            mean_change=[nan, nan, 0.4, 0.15, 0.06],
            scaled_change=[nan, nan, 0.4, 0.3, 0.18],
            samples=[0.0, 0, 1, 2, 3],
            burn_in=[1.0, 1, 0, 0, 0],
        ),
        tolerance=1e-5,
    )


def test_the_end_of_the_burn_in_is_marked_once() -> None:
    run = averaged()
    assert run.burn_in_end == 1
    figure = live_figure([run])
    mark = trace(figure, "bound-burn-in")
    assert (mark["x"], mark["y"]) == ([2.0], [-8.0])
    assert "sweep 2" in mark["hovertemplate"]


def test_change_is_that_of_q_first_and_of_the_mean_after() -> None:
    figure = live_figure([averaged()])
    assert np.array(trace(figure, "change-own")["y"]).tolist() == [1.0, 0.5]
    assert np.array(trace(figure, "change-main")["y"]).tolist() == [0.4, 0.15, 0.06]
    assert np.array(trace(figure, "change-main")["customdata"]).tolist() == [0.4, 0.3, 0.18]
    assert np.array(trace(figure, "change-limit")["y"]) == pytest.approx([2.0, 1.0, 2 / 3])


def test_the_tolerance_is_drawn_for_averaged_runs_only() -> None:
    (line,) = live_figure([averaged()])["layout"]["shapes"]
    assert line["y0"] == 1e-5
    assert (
        line["label"]["text"] == "\N{EN SPACE}tolerance 1e-05"
    )  # the numbers of the axis touch it without a space
    plain = RunCurve("r", "x", "vb", 0, history_of(change=[0.5, 0.1]), tolerance=1e-5)
    assert live_figure([plain])["layout"]["shapes"] == []
    (line,) = live_figure([averaged(), plain])["layout"]["shapes"]
    assert line["label"]["text"].endswith("tolerance 1e-05, judges averaged runs only")
    assert "upper limit" not in str(live_figure([plain])["layout"]["annotations"])
    assert "upper limit" in str(live_figure([averaged()])["layout"]["annotations"])


NAN = float("nan")


def moving(n: int, moves: dict[int, tuple[float, float]], **columns: list[float]) -> RunCurve:
    """Return a run of n sweeps with (merged, split) clusters at some, counted from 1."""
    merged, split = [NAN] * n, [NAN] * n
    for sweep, pair in moves.items():
        merged[sweep - 1], split[sweep - 1] = pair
    return RunCurve("m", "x", "vb", 0, history_of(merged=merged, split=split, **columns))


def test_marks_outlast_the_thinning_and_lie_on_the_curve() -> None:
    n = 5000
    bound = np.cumsum(np.random.default_rng(1).exponential(size=n)).tolist()
    sweeps = {
        int(s): (1.0, 1.0) for s in np.random.default_rng(2).choice(np.arange(1, n + 1), 40, replace=False)
    }
    figure = live_figure([moving(n, sweeps, lower_bound=bound)])
    mark, line = trace(figure, "bound-moves"), trace(figure, "bound-main")
    assert np.array(mark["x"]).tolist() == sorted(sweeps)
    assert set(mark["marker"]["symbol"]) == {"diamond"}
    drawn = dict(zip(np.array(line["x"]).tolist(), np.array(line["y"]).tolist(), strict=True))
    assert [drawn[s] for s in sorted(sweeps)] == np.array(mark["y"]).tolist()
    assert len(drawn) <= 440


@for_each(
    "counts, text, sign",
    [
        ([2, 1, 0, 0, 0, 0, 0], "2 clusters merged, 1 split", "diamond"),
        ([0, 0, 0, 0, 0, 2, 0], "2 workers lost and replaced", "x"),
        ([1, 0, 0, 0, 0, 1, 0], "1 cluster merged, 1 worker lost and replaced", "triangle-down"),
        ([0, 0, 0, 0, 0, 0, 1], "the states of the shards could not be saved; the run continues", "x"),
    ],
)
def test_moves_and_lost_workers_are_told(counts: list[int], text: str, sign: str) -> None:
    assert move_text("cluster", np.array(counts)) == text
    assert move_sign(*counts) == sign
