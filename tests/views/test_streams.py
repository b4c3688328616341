"""Curves of streams: passes and documents on the axis, speed by the clock, panels as far as a stream has them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from acvb_core.engine.history import History
from acvb_core.views.convergence import RunCurve, live_figure
from tests.loops import for_each
from tests.views.reading import plain

live_figure = plain(live_figure)


def history(n: int = 12, **columns: list[float]) -> History:
    """Windows of a tenth of an epoch, each two seconds long, half a second of it for diagnostics."""
    frame = {
        "sweep": np.arange(1.0, n + 1),
        "cpu_seconds": np.arange(1.0, n + 1),
        "wall_seconds": 2.0 * np.arange(1, n + 1),
        "diagnostics_seconds": 0.5 * np.arange(1, n + 1),
        "lower_bound": np.full(n, np.nan),
        "pseudo_loo": -np.arange(n, 0.0, -1),
        "loo_perplexity": np.linspace(900, 300, n),
        "change": np.linspace(0.5, 0.1, n),
        "mean_change": np.full(n, np.nan),
        "scaled_change": np.full(n, np.nan),
        "samples": np.zeros(n),
        "burn_in": np.zeros(n),
        "passes": 0.1 * np.arange(1, n + 1),
        "effective_k_topics": np.full(n, 7.0),
        "alpha_total": np.linspace(5, 1, n),
        "beta": np.full(n, 0.01),
        "heldout_perplexity": np.linspace(800, 400, n),
    }
    return History.from_frame(pd.DataFrame(frame | columns))


def stream(columns: History | None = None, **more: object) -> RunCurve:
    usual = {"model": "lda", "streams": True, "n_documents": 300, "heldout": True, "learns": True}
    return RunCurve("s", "SDM", "sdm", 0, history() if columns is None else columns, **(usual | more))


def titles(figure: dict) -> list[str]:
    return [note["text"].split("<b>")[1].split("</b>")[0] for note in figure["layout"]["annotations"]]


def x_of(figure: dict, uid: str) -> np.ndarray:
    found = next(trace for trace in figure["data"] if trace["uid"] == uid)["x"]
    return np.array(found)


def axis_names(figure: dict) -> set[str]:
    axes = [value for name, value in figure["layout"].items() if name.startswith("xaxis")]
    return {axis["title"]["text"] for axis in axes if "title" in axis}


@for_each(
    "x, last, name",
    [
        ("passes", 1.2, "epochs (passes over the documents)"),
        ("documents_seen", 360, "documents seen"),
        ("sweep", 12, "window"),
        ("cpu_seconds", 12, "CPU seconds"),
    ],
)
def test_curves_are_drawn_against(x: str, last: float, name: str) -> None:
    figure = live_figure([stream()], x=x)
    assert x_of(figure, "s-loo-main")[-1] == pytest.approx(last)
    assert axis_names(figure) == {name}


def test_streams_alone_have_no_bound_and_learn_no_beta() -> None:
    figure = live_figure([stream(completion=True)], x="passes")
    assert titles(figure) == [
        "Leave-one-out perplexity of the window",
        "Change in topics",
        "Held-out perplexity of whole documents (lower is better)",
        "Documents per second",
        "Topics in use",
        "Alpha (sum)",
    ]
    # The first panel has the legend, and all others follow its axis.
    assert {trace["uid"] for trace in figure["data"] if trace["showlegend"]} == {"s-loo-main"}
    axes = {name: axis for name, axis in figure["layout"].items() if name.startswith("xaxis")}
    assert {name: axis.get("matches", "itself") for name, axis in axes.items()} == {
        name: "itself" if name == "xaxis2" else "x2" for name in axes
    }
