"""Tables and figures of papers as experiments: data, methods, settings, the printed figures, and what is claimed.

Each paper has a YAML file in this folder with its tables and claims; `data.yaml` has the data sets of all papers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml

from acvb_core.core.spec import MethodSpec
from acvb_core.engine.experiments.report import LOWER_IS_BETTER
from acvb_core.registry import method_row

#: The papers that have a file.
PAPERS = ("acvb17", "hf13", "irm14", "sn15", "tnw07")
#: Beginnings of further scores of which a lower one is better.
_LESS_IS_BETTER = re.compile("falls_|drop_|reach_|effective_k_|gap_|loo_|sweeps|unsettled|moving")


@dataclass(frozen=True)
class PaperSource:
    """A place where data can be had: a file in a folder of the user's, a sample, or a generator of samples."""

    name: str  #: of the file, of the sample or of the generator
    options: Mapping[str, Any] = field(default_factory=dict)  #: of the reader, or of the generator
    real: str = ""  #: what these data are called, where they are not the paper's own
    first: int = 0  #: only so many documents, the first ones; 0 takes all
    #: Both sides are the same objects, so many of them: those without a link, which a file leaves out, count too.
    n_objects: int = 0

    @property
    def is_file(self) -> bool:
        """True for the name of a file, which has an extension."""
        return "." in self.name


@dataclass(frozen=True)
class PaperData:
    """Data of a paper, by the name they have there, and where to get them: the first source that is there is taken."""

    name: str
    sources: tuple[PaperSource, ...] = ()
    #: Full runs of "large" ones take hours: unless all is asked for, a quick look is taken, and "huge" ones left out.
    scale: Literal["", "large", "huge"] = ""
    size: float = 0.0  #: what a figure has along its axis: the number of objects, say


@dataclass(frozen=True)
class Claim:
    """A statement of a paper: one method has a better score than others, or one within a limit.

    Statements with the same text are judged together.
    """

    text: str
    better: str = ""  #: method
    worse: tuple[str, ...] = ()  #: methods; empty if the score is held against `at_most` or `at_least`
    tables: tuple[str, ...] = ()  #: numbers of the tables that it is read from
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
    """A search for the settings of some methods that comes before their runs, on a split of its own."""

    methods: tuple[str, ...]
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
    ks: tuple[int, ...]  #: one 0 if the methods find the number themselves
    data: tuple[PaperData, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)  #: of all methods that have them
    own_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  #: of single methods
    score: str = "heldout_log_likelihood"
    lower_is_better: bool = False
    target: float | None = None  #: the true value: the score that comes closest to it is the best
    splits: int = 20
    split: Mapping[str, float] = field(default_factory=lambda: {"heldout": 0.1})
    #: By number of clusters or topics and name of the data: a figure for each method, None if there is none.
    printed: Mapping[int, Mapping[str, tuple[float | None, ...]]] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    figures: tuple[PaperFigure, ...] = ()
    note: str = ""  #: how the experiment differs from the paper's
    quick_ks: tuple[int, ...] = ()  #: for a look within minutes; empty: the first
    quick_settings: Mapping[str, Any] = field(default_factory=dict)  #: replace those above in a quick look
    search: PaperSearch | None = None  #: before the runs

    def find_row(self, method: str) -> MethodSpec:
        """Return the registry's row of a method."""
        return method_row(self.model, method.partition(":")[0])

    def label_method(self, method: str) -> str:
        """Return what a method is called."""
        return method.partition(":")[2] or self.find_row(method).label

    def sign_of(self, score: str) -> float:
        """Return 1 where more is better, else -1."""
        is_less = score in LOWER_IS_BETTER or _LESS_IS_BETTER.match(score) is not None
        return -1.0 if (self.lower_is_better if score == self.score else is_less) else 1.0


@cache
def read_paper(paper: str) -> tuple[PaperTable, ...]:
    """Return the tables of a paper, with its claims and figures."""
    data = {
        name: PaperData(**{**one, "sources": _read_each(PaperSource, one.get("sources", ()))})
        for name, one in _read_file("data").items()
    }
    content = _read_file(paper)
    claims = _read_each(Claim, content["claims"])
    return tuple(
        PaperTable(
            **{
                **one,
                "paper": paper,
                "data": tuple(data[name] for name in one["data"]),
                "claims": tuple(claim for claim in claims if one["number"] in claim.tables),
                "figures": _read_each(PaperFigure, one.get("figures", ())),
                "search": PaperSearch(**one["search"]) if "search" in one else None,
            }
        )
        for one in content["tables"]
    )


def _read_file(name: str) -> dict[str, Any]:
    text = Path(__file__).with_name(f"{name}.yaml").read_text("utf-8")
    content: dict[str, Any] = _freeze(yaml.safe_load(text))
    return content


def _read_each(kind: type[Any], listed: tuple[dict[str, Any], ...]) -> tuple[Any, ...]:
    return tuple(kind(**one) for one in listed)


def _freeze(value: Any) -> Any:
    """Return a value with tuples in place of lists, which a cache takes."""
    if isinstance(value, dict):
        return {name: _freeze(one) for name, one in value.items()}
    return tuple(map(_freeze, value)) if isinstance(value, list) else value
