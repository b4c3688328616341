"""The figure of a search: every trial in every panel, the best and the defaults marked."""

from __future__ import annotations

import math

import pandas as pd

from acvb_core.engine.study import FAILED
from acvb_core.engine.tuning import Trial, Tuning
from acvb_core.views.studies import tuning_figure
from tests.views.reading import plain

tuning_figure = plain(tuning_figure)

NAN = math.nan
NAMES = ("step_offset", "step_power")


def tuning(perplexities: list[float], names: tuple[str, ...] = NAMES) -> pd.DataFrame:
    trials = [
        Trial(n + 1, {name: 10.0 * (at + 1) + n for at, name in enumerate(names)}, value, 1.0,
              FAILED if math.isnan(value) else "MAX_SWEEPS")
        for n, value in enumerate(perplexities)
    ]  # fmt: skip
    return Tuning(names, tuple(trials)).table()


TABLE = tuning([200.0, 250.0, NAN, 150.0, 180.0])


def trace(figure: dict, uid: str) -> dict:
    return next(one for one in figure["data"] if one["uid"] == uid)


def points(figure: dict, uid: str) -> list[tuple[float, float]]:
    found = trace(figure, uid)
    return list(zip(found["x"], found["y"], strict=True))


def test_each_trial_is_drawn_once() -> None:
    figure = tuning_figure(TABLE)
    assert points(figure, "trial-trials") == [(2, 250.0), (4, 150.0), (5, 180.0)]
    assert points(figure, "trial-default") == [(1, 200.0)]
    assert points(figure, "trial-best") == [(4, 150.0)]
    # Without a perplexity: as high as the worst.
    assert points(figure, "trial-lost") == [(3, 250.0)]
    assert trace(figure, "trial-lost")["text"] == ["failed"]
