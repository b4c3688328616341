"""Searches for tests: small ones, and ones whose runs do as they are told."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from acvb_core.core.protocols import Poll, SweepInfo
from acvb_core.core.spec import Range
from acvb_core.engine.prepared import PreparedRun
from acvb_core.engine.study import finish_study
from acvb_core.engine.tuning import Search, Tuning, plan_search
from acvb_core.evaluate.heldout import WordScore
from acvb_core.samples.planted_mixtures import bars
from tests.engine.fakes import Wrapped, with_inference, with_parts

CORPUS = bars().corpus
RANGES = (Range("alpha", 0.01, 10.0, log=True), Range("beta", 0.001, 1.0, log=True))
#: A quick search over a method that is there for any corpus in memory.
OPTIONS: dict[str, Any] = {
    "ranges": RANGES, "heldout": 0.2, "k": 10, "max_sweeps": 4, "hyper": "fixed", "tol": 1e-12,
}  # fmt: skip


def small_search(trials: int = 6, **options: Any) -> Search:
    return plan_search(CORPUS, **{"method": "cvb0", "trials": trials, **OPTIONS, **options})


def all_of(search: Search, **options: Any) -> Tuning:
    """Return all trials of a search."""
    return finish_study(search, Tuning(search.space.names), **options)


class _Scored:
    """A model that scores as it is told."""

    def __init__(self, inner: Any, perplexity: float) -> None:
        self.inner, self.perplexity = inner, perplexity

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def score(self, probability: Any, heldout: Any) -> Any:
        return WordScore(-math.log(self.perplexity), self.perplexity)


Sweep = Callable[[Any, SweepInfo, Poll], tuple[Any, SweepInfo]]


@dataclass(frozen=True, eq=False, kw_only=True)
class ToldSearch(Search):
    """A search whose trials have the perplexity that a function says, and sweeps that do what another says."""

    perplexity: Callable[[Mapping[str, float]], float]
    after: Sweep

    def build_run(self, run: tuple[int, Mapping[str, float]]) -> PreparedRun:
        found = super().build_run(run)
        found = with_inference(found, Wrapped(found.algorithm, self.after))
        scored = _Scored(found.model, self.perplexity(run[1]))
        return with_parts(found, model=scored)


def told(
    perplexity: Callable[[Mapping[str, float]], float],
    trials: int = 6,
    after: Sweep = lambda state, info, poll: (state, info),
    **options: Any,
) -> ToldSearch:
    """Return a search in which `perplexity` takes the place of the runs' own."""
    plain = small_search(trials, **{"max_sweeps": 1} | options)
    return ToldSearch(**vars(plain), perplexity=perplexity, after=after)
