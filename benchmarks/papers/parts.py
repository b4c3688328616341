"""Tables of papers on the data that can be had: their plans, and the scores of their runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import acvb_core
from acvb_core.core.spec import Range
from acvb_core.engine.experiments.plan import HELD_OUT, plan_experiment
from acvb_core.engine.tuning import Search, Tuning, plan_search
from acvb_core.registry import model_row
from acvb_core.samples.catalogue import draw_sample, load_sample
from benchmarks.papers.paper import PaperData, PaperSource, PaperTable
from benchmarks.papers.runs import Floats, KeptRuns, MethodRuns, Run

#: Splits of a quick look, and those that a plan has: as many as any table.
QUICK_SPLITS, _MOST_SPLITS = 5, 50
#: Seed of the split that searches are judged on: none of the runs'.
_SEARCH_SPLIT = 1000


@dataclass(frozen=True)
class PaperLimits:
    """How much of a paper's experiments is made."""

    quick: bool = False  #: a look within minutes
    splits: int | None = None  #: at most; None takes as many as the paper has
    ks: tuple[int, ...] = ()  #: numbers of clusters or topics, of those of the table; empty takes all
    most_sweeps: int | None = None  #: of the methods that end by themselves

    def choose_ks(self, table: PaperTable) -> tuple[int, ...]:
        """Return the numbers of clusters or topics that are tried."""
        if self.quick:
            return table.quick_ks or table.ks[:1]
        return tuple(k for k in table.ks if not self.ks or k in self.ks) or table.ks[:1]

    def choose_settings(self, table: PaperTable, method: str) -> dict[str, Any]:
        """Return the settings that a method has; those of a quick look go before all others."""
        given = {**table.settings, **table.own_settings.get(method, {})}
        given |= table.quick_settings if self.quick else {}
        known = {one.name: one for one in table.find_row(method).parameters}
        if self.most_sweeps is not None and "tol" in known:
            given["max_sweeps"] = min(given.get("max_sweeps", known["max_sweeps"].default), self.most_sweeps)
        return {name: value for name, value in given.items() if name in known}


@dataclass(eq=False)
class PaperPart:
    """A table on one of its data sets: what was taken for the paper's data, and the runs of each method."""

    table: PaperTable
    data: PaperData
    limits: PaperLimits = PaperLimits()
    #: The data taken, with what they are where they are not the paper's; None if there are none.
    source: PaperSource | None = None
    taken: Any = None
    splits: int = 0
    searches: Mapping[str, Tuning] = field(default_factory=dict)  #: before the runs, by method
    #: By number of clusters or topics and method; there may be more splits than are asked for.
    runs: dict[tuple[int, str], MethodRuns] = field(default_factory=dict)

    @property
    def is_slow(self) -> bool:
        """True for large data in full, which are made only on request."""
        return bool(self.data.scale) and not self.limits.quick

    @property
    def real_name(self) -> str:
        """Name of the data taken, which need not be the paper's own."""
        return self.source.real or self.data.name if self.source else self.data.name

    @property
    def real_size(self) -> str:
        """Name of the data taken, with their size: "Reuters articles, 395 × 4,258"."""
        size = "" if self.taken is None else " × ".join(f"{n:,}" for n in self.taken.shape)
        return f"{self.real_name}, {size}" if size else self.real_name

    @property
    def n_planned(self) -> int:
        """Number of runs that are asked for."""
        return self.splits * len(self.runs)

    def list_runs(self, method: str = "") -> list[tuple[int, str, Run]]:
        """Return k, method and run of those that are over, of all methods or of one; split by split."""
        wanted = [(key, one.by_split) for key, one in self.runs.items() if method in ("", key[1])]
        splits = range(1, self.splits + 1)
        return [(*key, runs[split]) for split in splits for key, runs in wanted if split in runs]

    @property
    def n_made(self) -> int:
        """Number of those that are over."""
        return len(self.list_runs())

    @property
    def seconds(self) -> float:
        """Processor seconds of the runs so far."""
        return sum(run.get("cpu_seconds") or 0.0 for _, _, run in self.list_runs())

    def find_missing(self) -> MethodRuns | None:
        """Return the method whose run comes next: all have a split before any has the next one; None at the end."""
        splits = range(1, self.splits + 1)
        return next((one for n in splits for one in self.runs.values() if n not in one.by_split), None)


def plan_part(
    table: PaperTable, data: PaperData, folder: Path | None, limits: PaperLimits, kept: KeptRuns
) -> PaperPart:
    """Return a table on one data set with the runs that were made before, after the searches that come first.

    `folder`: where files are looked for, and below.
    """
    found = _find_source(data, folder)
    if found is None:
        return PaperPart(table, data, limits)
    taken = _load(table, *found)
    splits = min(limits.splits or (QUICK_SPLITS if limits.quick else table.splits), table.splits)
    searched = table.search.methods if table.search else ()
    searches = {one: kept.make_search(_plan_search(table, one, taken, limits)) for one in searched}
    part = PaperPart(table, data, limits, found[0], taken, splits, searches)
    split = {"heldout": 0.0, "heldout_documents": 0.0, **table.split}
    # Methods need not be judged by a share, but an experiment needs one to be planned.
    shares = split if any(split.values()) else {"heldout": HELD_OUT}
    for k in limits.choose_ks(table):
        for method in table.methods:
            options: dict[str, Any] = {**shares, **limits.choose_settings(table, method)}
            options |= searches[method].best if method in searches else {}
            options |= {"k": k} if k else {}
            name = table.find_row(method).name
            plan = plan_experiment(taken, [name], model=table.model, splits=_MOST_SPLITS, **options)
            # Called after the method alone: tables with other names for it share the runs.
            conditions = tuple(replace(one, label=name) for one in plan.conditions)
            part.runs[k, method] = kept.find_runs(replace(plan, conditions=conditions, split=split))
    return part


def _plan_search(table: PaperTable, method: str, taken: Any, limits: PaperLimits) -> Search:
    assert table.search is not None
    trials = table.search.quick_trials if limits.quick else table.search.trials
    options: dict[str, Any] = {**table.split, **limits.choose_settings(table, method)}
    return plan_search(
        taken, table.find_row(method).name, trials, model=table.model, heldout_seed=_SEARCH_SPLIT,
        ranges=tuple(Range(*one) for one in table.search.ranges), k=limits.choose_ks(table)[0], **options,
    )  # fmt: skip


def _find_source(data: PaperData, folder: Path | None) -> tuple[PaperSource, Path | None] | None:
    for source in data.sources:
        if not source.is_file:
            return source, None
        paths = sorted(folder.rglob(source.name)) if folder is not None else []
        if paths:
            return source, paths[0]
    return None


def _load(table: PaperTable, source: PaperSource, path: Path | None) -> Any:
    if path is None:
        name, options = source.name, source.options
        drawn = draw_sample(name, **options) if options else load_sample(name).data
        return _take_first(drawn, source.first)
    kind = model_row(table.model).kind
    data = _read_file(kind, path, tuple(source.options.items()))
    if source.n_objects:
        names = list(dict.fromkeys([*data.row_labels, *data.column_labels]))
        nodes = (*names, *(f"without a link {n}" for n in range(1, source.n_objects - len(names) + 1)))
        options = {**source.options, "row_nodes": nodes, "column_nodes": nodes}
        data = _read_file(kind, path, tuple(options.items()))
    return _take_first(data, source.first)


@lru_cache(maxsize=4)
def _read_file(kind: str, path: Path, options: tuple[tuple[str, Any], ...]) -> Any:
    """Return what a file holds; the tables of a paper share files."""
    return getattr(acvb_core, f"load_{kind}")(path, **dict(options)).data


def _take_first(data: Any, n: int) -> Any:
    """Return a corpus of the first documents, over the words that they contain; 0 takes all."""
    if not n:
        return data
    some = data.take_documents(np.arange(min(n, data.n_documents)))
    used = np.flatnonzero(some.frequencies)
    return type(some).build(
        some.counts[:, used], vocabulary=some.vocabulary[used], documents=some.documents, name=some.name
    )


@dataclass(frozen=True, eq=False)
class Cell:
    """The scores of all methods on one data set, for one number of clusters or topics."""

    part: PaperPart
    k: int  #: 0 if the methods find the number themselves
    scores: Mapping[str, Floats]  #: by method, shape (n_splits,); NaN if a run has none
    ratio: float = 0.0  #: held-out data as a multiple of the training data

    def find_known(self, method: str) -> Floats:
        """Return the scores of a method on the splits where it has one."""
        return self.scores[method][np.isfinite(self.scores[method])]


@dataclass(eq=False)
class PaperResult:
    """A reproduced table, on all its data."""

    table: PaperTable
    parts: Sequence[PaperPart] = ()
    cells: dict[str, tuple[Cell, ...]] = field(default_factory=dict)  #: by score, once they are asked for

    def list_cells(self, score: str) -> tuple[Cell, ...]:
        """Return a cell for each data set and number of clusters or topics."""
        if score not in self.cells:
            self.cells[score] = tuple(cell for part in self.parts for cell in _list_cells(part, score))
        return self.cells[score]


def _list_cells(part: PaperPart, score: str) -> Iterator[Cell]:
    """Yield the cells of a part.

    A split counts once all methods have been tried on it: one that has seen a split more would be held against the
    others on easier or harder data.
    """
    for k in dict.fromkeys(k for k, _ in part.runs):
        own = {method: part.runs[k, method] for method in part.table.methods}
        tried = [{split for split in one.by_split if split <= part.splits} for one in own.values()]
        some = set.union(*tried)
        counted = some if len(some) == 1 else set.intersection(*tried)
        scores = {method: np.full(part.splits, np.nan) for method in own}
        for method, one in own.items():
            for split in counted & one.by_split.keys():
                value = one.by_split[split].get(score)
                scores[method][split - 1] = np.nan if value is None else value
        yield Cell(part, k, scores, own[part.table.methods[0]].plan.test_train_ratio)
