"""The display of a model's runs: words for its parts, curves of a run, and scores that may be marked best."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass(frozen=True)
class Measure:
    """A curve of a run."""

    key: str
    title: str  #: of its panel, with the unit
    column: str  #: of the history; "" for the changes of a sweep
    #: Number of the panel's axes. It never changes, so that a panel keeps what the user zoomed when others join it.
    n: int
    hover: str = "%{y}"  #: how a value is written
    marked: bool = False  #: moves and the end of the burn-in are marked on the curve
    step: bool = False  #: the value changes in steps
    small: bool = False  #: may share a place with another small panel
    methods: tuple[str, ...] = ()  #: methods whose runs know it; empty for all


_NATS = "%{y:,.2f} nats"
BOUND = Measure("bound", "Lower bound", "lower_bound", 1, _NATS, marked=True)
LOO_NATS = Measure("loo", "Leave-one-out score", "pseudo_loo", 2, _NATS, marked=True)
#: How far the probabilities of clusters, topics or features moved in a sweep.
CHANGE = Measure("change", "Change in assignments", "", 3)


class HeldOutScore(NamedTuple):
    """The held-out score that sums up a run: its name, its field among the scores, and the function that writes it."""

    name: str
    field: str
    write: Callable[[float], str]
    averaged: str = ""  #: the field of the same score of averaged predictions
    #: `baseline`, `baseline_name`: the field of the same score of predictions without a model, and their name.
    baseline: str = ""
    baseline_name: str = ""

    def write_with_baseline(self, scores: Mapping[str, float]) -> str:
        """Return the score, and that of the baseline if it is known: "-1.19 (column means -1.44)"."""
        text, baseline = self.write(scores[self.field]), self.find_baseline(scores)
        return text if baseline is None else f"{text} ({self.baseline_name} {self.write(baseline)})"

    def find_baseline(self, scores: Mapping[str, float]) -> float | None:
        """Return the score of the baseline; None if it is not known, as in runs before there was one."""
        baseline = scores.get(self.baseline)
        return None if baseline is None or math.isnan(baseline) else baseline

    def are_level(self, best: float, other: float) -> bool:
        """Return whether scores differ by a hundredth of the better one at most, or 0.01 if that one is below 1."""
        return abs(best - other) <= 0.01 * max(1.0, abs(best))


def write_share(share: float) -> str:
    """Return a share in percent with one decimal: "28.6 %", and "0.0 %" for the smallest negative ones."""
    return f"{round(100 * share, 1) + 0.0:.1f} %"  # adding 0 makes -0.0 a 0


def write_number(value: float) -> str:
    """Return a number with four significant digits, whole from 1,000 on: "1,224", "64.2", "-0.0376"."""
    if abs(value) >= 999.95:
        return f"{value:,.0f}"
    return f"{float(f'{value:.4g}') + 0.0:.10g}"  # adding 0 makes -0.0 a 0


@dataclass(frozen=True)
class ModelDisplay:
    """The display of a model's runs."""

    measures: tuple[Measure, ...]  #: in the order of the panels
    score: HeldOutScore
    parts: tuple[str, str] = ("cluster", "clusters")  #: what a run finds, one and many, in a sentence
    run_word: str = ""  #: the model's word in the names of runs, if other models are for the same data
    part: str = "cluster"  #: what moves merge, split or drop
    asked: str = ""  #: the parameter with the number of parts, those without an object are empty
    to_predict: str = ""  #: what may predict better than a run that overfits
    question: str = ""  #: what a run asks of the data, for the head of a report
    scores: str = "scores"  #: what the held-out scores are, in the plural
    unmarked: tuple[str, ...] = ()  #: columns of a comparison in which no value is marked as the best
    unmarked_reason: str = ""  #: why, for people
    #: Columns of a comparison with titles of their own: alone, and next to other models.
    titles: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    #: Colour and dash of the curves of the model's own methods, by the method's name.
    styles: Mapping[str, tuple[str, str]] = field(default_factory=dict)


class ArrangedNames(tuple[str, ...]):
    """Names of parts that a reader has arranged; they carry what each part is made of, which gives it its colour."""

    parts: tuple[tuple[int, ...], ...]  #: the run's own parts (from 1) in each

    def __new__(cls, names: Iterable[str], parts: Iterable[Sequence[int]] = ()) -> ArrangedNames:
        """Return the names with the run's own parts of each."""
        self = super().__new__(cls, names)
        self.parts = tuple(map(tuple, parts))
        return self


def cut_label(label: object, most: int) -> str:
    """Return a label on one line, cut to `most` characters."""
    text = " ".join(str(label).split())
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
