"""The trials of a search, and the best of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from acvb_core.engine.result import Result

#: `Trial.verdict` of a trial that could not be run to its end.
FAILED = "FAILED"


@dataclass(frozen=True)
class Trial:
    """One run of a search."""

    number: int  #: from 1, which is that of the method's own defaults
    values: Mapping[str, float]  #: of the parameters that are tuned
    perplexity: float  #: of what is held out; NaN where the run diverged or failed
    cpu_seconds: float  #: processor time of the method; NaN where it failed
    verdict: str  #: how the run ended: a Verdict, or FAILED
    error: str | None = None  #: why it failed, in one line

    @property
    def loss(self) -> float:
        """The value that is minimised: the logarithm of the perplexity; infinite where there is none."""
        return math.log(self.perplexity) if math.isfinite(self.perplexity) else math.inf


@dataclass(frozen=True, eq=False)
class Tuning:
    """The trials of a search so far."""

    names: tuple[str, ...]  #: parameters that are tuned
    trials: tuple[Trial, ...] = ()  #: in the order they were made; the first is of the method's defaults
    #: The run of the best trial, as `fit` gives it with the same values; None where no trial has a perplexity, or where
    #: the search went on from trials that were kept without it.
    best_result: Result | None = None

    @property
    def best_trial(self) -> Trial | None:
        """The trial with the lowest perplexity, the earliest of equals; None where none has one."""
        known = [trial for trial in self.trials if math.isfinite(trial.loss)]
        return min(known, key=lambda trial: trial.loss, default=None)

    @property
    def best(self) -> dict[str, float]:
        """Values of the best trial, for `fit(..., **tuning.best)`; empty where there is none."""
        return {} if self.best_trial is None else dict(self.best_trial.values)

    def table(self) -> pd.DataFrame:
        """Return one row a trial.

        Columns: trial, one for each parameter, perplexity (of what is held out; NaN where there is none), best (of the
        trials so far), cpu_seconds, verdict (FAILED where the run broke off).
        """
        rows = [
            (
                one.number,
                *(one.values[name] for name in self.names),
                one.perplexity,
                one.cpu_seconds,
                one.verdict,
            )
            for one in self.trials
        ]
        frame = pd.DataFrame(rows, columns=["trial", *self.names, "perplexity", "cpu_seconds", "verdict"])
        frame = frame.astype({"trial": np.int64, "perplexity": np.float64, "cpu_seconds": np.float64})
        frame.insert(len(self.names) + 2, "best", frame["perplexity"].cummin().ffill())
        return frame

    def with_trial(self, trial: Trial, result: Result | None) -> Tuning:
        """Return the search with one more trial; its run is kept if it is the best."""
        more = replace(self, trials=(*self.trials, trial))
        return replace(more, best_result=result) if more.best_trial is trial else more
