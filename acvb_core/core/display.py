"""The display of a model's runs: words for its parts, curves of a run, and scores that may be marked best."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass(frozen=True)
class Measure:
    """A curve of a run.

    Attributes
    ----------
    title : str
        Of its panel, with the unit.
    column : str
        Of the history; "" for the changes of a sweep.
    n : int
        Number of the panel's axes. It never changes, so that a panel keeps what the user zoomed when others join it.
    hover : str
        How a value is written.
    marked : bool
        Moves and the end of the burn-in are marked on the curve.
    step : bool
        The value changes in steps.
    small : bool
        May share a place with another small panel.
    """

    key: str
    title: str
    column: str
    n: int
    hover: str = "%{y}"
    marked: bool = False
    step: bool = False
    small: bool = False


_NATS = "%{y:,.2f} nats"
BOUND = Measure("bound", "Lower bound (nats)", "lower_bound", 1, _NATS, marked=True)
#: Also in place of a leave-one-out perplexity that is not known yet.
LOO_NATS = Measure("loo", "Pseudo leave-one-out (nats)", "pseudo_loo", 2, _NATS, marked=True)


def change_of(symbol: str) -> Measure:
    """Return the measure of the changes in a sweep."""
    return Measure("change", f"Change of {symbol}", "", 3)


class HeldOutScore(NamedTuple):
    """The held-out score that sums up a run: its name, its field among the scores, and the function that writes it."""

    name: str
    field: str
    write: Callable[[float], str]


def write_share(share: float) -> str:
    """Return a share in percent with one decimal: "28.6 %", and "0.0 %" for the smallest negative ones."""
    return f"{round(100 * share, 1) + 0.0:.1f} %"  # adding 0 makes -0.0 a 0


@dataclass(frozen=True)
class ModelDisplay:
    """The display of a model's runs.

    Attributes
    ----------
    measures : tuple of Measure
        In the order of the panels.
    score : HeldOutScore
    parts : (str, str)
        What a run finds, one and many, in a sentence.
    part : str
        What moves merge, split or drop.
    changing : str or None
        Symbol of what changes from sweep to sweep, where it is not q.
    scores : str
        What the held-out scores are, in the plural.
    unmarked : tuple of str
        Columns of a comparison in which no value is marked as the best.
    unmarked_reason : str
        Why, for people.
    titles : mapping of str to (str, str)
        Columns of a comparison with titles of their own: alone, and beside other models.
    styles : mapping of str to (str, str)
        Colour and dash of the curves of the model's own methods, by the method's name.
    """

    measures: tuple[Measure, ...]
    score: HeldOutScore
    parts: tuple[str, str] = ("group", "groups")
    part: str = "cluster"
    changing: str | None = None
    scores: str = "scores"
    unmarked: tuple[str, ...] = ()
    unmarked_reason: str = ""
    titles: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    styles: Mapping[str, tuple[str, str]] = field(default_factory=dict)
