"""Tables and figures of papers as experiments: data, methods, settings, the printed figures, and what is claimed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class PaperSource:
    """A place where data can be had: a file in a folder of the user's, or a sample."""

    name: str  #: of the file, or of the sample
    is_file: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)  #: of the reader
    instead: str = ""  #: what these data are, where they are not the paper's own


@dataclass(frozen=True)
class PaperData:
    """Data of a paper, by the name they have there, and where to get them: the first source that is there is taken."""

    name: str
    sources: tuple[PaperSource, ...] = ()
    is_large: bool = False  #: a full run takes hours: a quick look is taken unless all is asked for


@dataclass(frozen=True)
class Claim:
    """A statement of a paper: one method has a better score than others."""

    text: str
    better: str  #: method
    worse: tuple[str, ...]  #: methods
    #: Numbers of clusters or topics, and names of data, that the statement is about; empty: all of the table.
    ks: tuple[int, ...] = ()
    data: tuple[str, ...] = ()


#: Printed figures by number of clusters or topics and name of the data: one for each method, None where there is none.
Printed = Mapping[tuple[int, str], tuple[float | None, ...]]


@dataclass(frozen=True)
class PaperTable:
    """A table or figure of a paper: every method on all data, for every number of clusters or topics."""

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
    splits: int = 20
    split: Mapping[str, float] = field(default_factory=lambda: {"heldout": 0.1})
    printed: Printed = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    note: str = ""  #: how the experiment differs from the paper's
    quick_ks: tuple[int, ...] = ()  #: for a look within minutes; empty: the first
    quick_settings: Mapping[str, Any] = field(default_factory=dict)  #: replace those above in a quick look

    def find_printed(self, k: int, data: str, method: str) -> float | None:
        """Return what the paper prints; None where it prints nothing."""
        row = self.printed.get((k, data))
        return None if row is None else row[self.methods.index(method)]


def read_printed(text: str) -> Printed:
    """Return printed figures from lines such as "20 | Synth1 | -0.33 - -0.31": a dash where there is none."""
    rows = [[part.strip() for part in line.split("|")] for line in text.strip().splitlines()]
    return {
        (int(k), name): tuple(None if cell == "-" else float(cell) for cell in cells.split())
        for k, name, cells in rows
    }
