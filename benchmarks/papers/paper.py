"""Tables and figures of papers as experiments: data, methods, settings, the printed figures, and what is claimed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class PaperSource:
    """A place where data can be had: a file in a folder of the user's, a sample, or a generator of samples."""

    name: str  #: of the file, of the sample or of the generator
    is_file: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)  #: of the reader, or of the generator
    real: str = ""  #: what these data are called, where they are not the paper's own
    first: int = 0  #: only so many documents, the first ones; 0 takes all
    #: Both sides are the same objects, so many of them: those without a link, which a file leaves out, count too.
    n_objects: int = 0


def name_sample(name: str, real: str, **more: Any) -> PaperSource:
    """Return a sample, or a generator of samples with its options, as a source."""
    return PaperSource(name, is_file=False, real=real, **more)


@dataclass(frozen=True)
class PaperData:
    """Data of a paper, by the name they have there, and where to get them: the first source that is there is taken."""

    name: str
    sources: tuple[PaperSource, ...] = ()
    is_large: bool = False  #: a full run takes hours: a quick look is taken unless all is asked for
    is_huge: bool = False  #: left out unless all is asked for
    size: float = 0.0  #: what a figure has along its axis: the number of objects, say

    @property
    def is_slow(self) -> bool:
        """True when full runs take hours."""
        return self.is_large or self.is_huge


@dataclass(frozen=True)
class Claim:
    """A statement of a paper: one method has a better score than others, or one within a limit.

    Tables of a paper that make the same statement, by its text, are judged together.
    """

    text: str
    better: str = ""  #: method
    worse: tuple[str, ...] = ()  #: methods; empty where the score is held against `at_most` or `at_least`
    #: Numbers of clusters or topics, and names of data, that the statement is about; empty: all of the table.
    ks: tuple[int, ...] = ()
    data: tuple[str, ...] = ()
    score: str = ""  #: empty: that of the table
    at_most: float | None = None
    at_least: float | None = None
    target: float | None = None  #: scores are counted by their distance from it
    margin: float | None = None  #: the statement is that scores are equal, but for so much in their own unit
    #: Where the margin or the limit comes from, or what differs from the paper's comparison.
    why: str = ""
    place: str = ""  #: where the paper says it, if not in the table
    follows: str = ""  #: another score that this one rises and falls with, over all runs on a data set
    needs_convergence: bool = False  #: runs that their limit of sweeps ended too early say nothing of it
    than_in: str = ""  #: number of another table, in which the same method does worse
    untested: str = ""  #: why no runs here speak for or against it


@dataclass(frozen=True)
class PaperSearch:
    """A search for the settings of a method that comes before its runs, on a split of its own."""

    trials: int
    quick_trials: int
    #: Name, lowest, highest, whether on a logarithmic scale.
    ranges: tuple[tuple[str, float, float, bool], ...]


@dataclass(frozen=True)
class PaperFigure:
    """A figure of a paper, drawn from the runs of a table: a panel for each data set and number of clusters.

    `kind`: "course" draws a quantity while the methods compute, the mean over the splits and a standard deviation on
    either side. "search" draws the best score of the trials before the runs. "histogram" counts the scores of all
    splits. "sizes" draws mean scores by the size of the data. "scatter" sets two scores of every run against each
    other. "answers" draws what the methods found.
    """

    number: str  #: "Figure 7"
    title: str
    kind: Literal["course", "search", "histogram", "sizes", "scatter", "answers"]
    y: tuple[str, ...] = ()  #: quantities of a course, or scores
    x: str = "sweep"  #: of a course: "sweep", "cpu_seconds" or "passes"; of a scatter a score
    logarithmic: bool = False  #: the axis across
    methods: tuple[str, ...] = ()  #: empty: all of the table


#: Printed figures by number of clusters or topics and name of the data: one for each method, None where there is none.
Printed = Mapping[tuple[int, str], tuple[float | None, ...]]


@dataclass(frozen=True)
class PaperTable:
    """A table or figure of a paper: every method on all data, for every number of clusters or topics.

    A method may come with several settings: each is written as the method, a colon and what it is called.
    """

    paper: str
    number: str  #: "Table 5"
    title: str
    model: str
    methods: tuple[str, ...]
    ks: tuple[int, ...]  #: one 0 where the methods find the number themselves
    data: tuple[PaperData, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)  #: of all methods that have them
    own_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  #: of single methods
    score: str = "heldout_log_likelihood"
    lower_is_better: bool = False
    target: float | None = None  #: the true value: the score that comes closest to it is the best
    splits: int = 20
    split: Mapping[str, float] = field(default_factory=lambda: {"heldout": 0.1})
    printed: Printed = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    figures: tuple[PaperFigure, ...] = ()
    note: str = ""  #: how the experiment differs from the paper's
    quick_ks: tuple[int, ...] = ()  #: for a look within minutes; empty: the first
    quick_settings: Mapping[str, Any] = field(default_factory=dict)  #: replace those above in a quick look
    searches: Mapping[str, PaperSearch] = field(default_factory=dict)  #: before the runs of single methods

    def find_printed(self, k: int, data: str, method: str) -> float | None:
        """Return what the paper prints; None where it prints nothing."""
        row = self.printed.get((k, data))
        return None if row is None else row[self.methods.index(method)]


def name_method(method: str) -> str:
    """Return the registry's name of a method of a table."""
    return method.partition(":")[0]


def read_printed(text: str) -> Printed:
    """Return printed figures from lines such as "20 | Synth1 | -0.33 - -0.31": a dash where there is none."""
    rows = [[part.strip() for part in line.split("|")] for line in text.strip().splitlines()]
    return {
        (int(k), name): tuple(None if cell == "-" else float(cell) for cell in cells.split())
        for k, name, cells in rows
    }


def claim_rise(method: str, label: str) -> Claim:
    """Return what acvb17 says of a method on relations and on topics alike (§3, Figures 2 and 3)."""
    text = f"The pseudo leave-one-out seems to rise in every sweep of {label}"
    why = "the share of the points drawn that are lower than the one before by a thousandth of the whole way or more"
    return Claim(text, method, score="falls_pseudo_loo", at_most=0.01, why=why)


def draw_rise(number: str, on: str, method: str, label: str) -> PaperFigure:
    """Return the figure that acvb17 has for it."""
    title = f"bound and pseudo leave-one-out of {label}"
    return PaperFigure(f"{number} ({on})", title, "course", ("lower_bound", "pseudo_loo"), methods=(method,))
