"""Tables of papers made anew: their plans on the data that can be had, and the scores of their runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.rows import Range
from acvb_core.engine.experiments.plan import HELD_OUT, Plan, plan_experiment
from acvb_core.engine.experiments.report import LEVEL, LOWER_IS_BETTER, Experiment
from acvb_core.engine.reading import READERS
from acvb_core.engine.tuning import Search, Tuning, plan_search
from acvb_core.evaluate.significance import compare_with_best
from acvb_core.registry import method_row, model_row
from acvb_core.samples.catalogue import draw_sample, load_sample
from benchmarks.papers import irm, lda, lfm
from benchmarks.papers.paper import PaperData, PaperSource, PaperTable, name_method

#: Beginnings of further scores of which a lower one is better.
_LESS_IS_BETTER = (
    "falls_",
    "drop_",
    "reach_",
    "effective_k_",
    "gap_",
    "loo_",
    "sweeps",
    "unsettled",
    "moving",
)
#: Tables of the papers, by model.
TABLES = {"irm": irm.TABLES, "lda": lda.TABLES, "lfm": lfm.TABLES}
#: Splits of a quick look.
QUICK_SPLITS = 5
#: Seed of the split that searches are judged on: none of the runs'.
_SEARCH_SPLIT = 1000


def list_tables(paper: str) -> list[PaperTable]:
    """Return the tables of a paper that can be made anew."""
    return [table for tables in TABLES.values() for table in tables if table.paper == paper]


@dataclass(frozen=True)
class PaperLimits:
    """How much of a paper's experiments is made."""

    quick: bool = False  #: a look within minutes
    splits: int | None = None  #: at most; None takes as many as the paper has
    ks: tuple[int, ...] = ()  #: numbers of clusters or topics, of those of the table; empty takes all
    most_sweeps: int | None = None  #: of the methods that end by themselves


@dataclass(frozen=True, eq=False)
class PaperPart:
    """A table on one of its data sets: what was taken for the paper's data, and the runs."""

    table: PaperTable
    data: str  #: name in the paper
    #: The data taken, with what they are where they are not the paper's; None where there are none.
    source: PaperSource | None
    plan: Plan | None
    limits: PaperLimits = PaperLimits()
    searches: Mapping[str, Tuning] = field(default_factory=dict)  #: before the runs, by method
    is_slow: bool = False  #: large data in full, made only on request

    @property
    def real_name(self) -> str:
        """Name of the data taken, which need not be the paper's own."""
        return self.data if self.source is None else self.source.real or self.data

    @property
    def real_size(self) -> str:
        """Name of the data taken, with their size: "Reuters articles, 395 × 4,258"."""
        size = "" if self.plan is None else " × ".join(f"{n:,}" for n in self.plan.data.shape)
        return f"{self.real_name}, {size}" if size else self.real_name


def plan_part(
    table: PaperTable,
    data: PaperData,
    folder: Path | None,
    limits: PaperLimits,
    searches: Mapping[str, Tuning] | None = None,
) -> PaperPart:
    """Return a table on one data set before its runs.

    `folder`: where files are looked for, and below. `searches`: what was found before the runs of single methods.
    """
    searches = searches or {}
    found = _find_source(data, folder)
    if found is None:
        return PaperPart(table, data.name, None, None, limits)
    source, place = found
    taken = _load(table, source, place)
    n_splits = min(limits.splits or (QUICK_SPLITS if limits.quick else table.splits), table.splits)
    asked = [(k, method) for k in choose_ks(table, limits) for method in table.methods]
    split = {"heldout": 0.0, "heldout_documents": 0.0, **table.split}
    # Methods need not be judged by a share, but an experiment needs one to be planned.
    shares = split if any(split.values()) else {"heldout": HELD_OUT}
    plans = []
    for k, method in asked:
        best = searches[method].best if method in searches else {}
        options: dict[str, Any] = {**shares, **_settings_of(table, method, limits), **best}
        options |= {"k": k} if k else {}
        name = name_method(method)
        plans.append(plan_experiment(taken, [name], model=table.model, splits=n_splits, **options))
    conditions = []
    for plan, (k, method) in zip(plans, asked, strict=True):
        (one,) = plan.conditions
        label = label_method(table, method)
        conditions.append(replace(one, label=f"{label} · K {k}" if k else label))
    plan = replace(plans[0], conditions=tuple(conditions), split=split)
    return PaperPart(table, data.name, source, plan, limits, searches, data.is_slow and not limits.quick)


def plan_searches(
    table: PaperTable, data: PaperData, folder: Path | None, limits: PaperLimits
) -> dict[str, Search]:
    """Return the searches that come before the runs on a data set, by method."""
    found = _find_source(data, folder) if table.searches else None
    if found is None:
        return {}
    taken, k = _load(table, *found), choose_ks(table, limits)[0]
    searches = {}
    for method, search in table.searches.items():
        trials = search.quick_trials if limits.quick else search.trials
        ranges = tuple(Range(*one) for one in search.ranges)
        options: dict[str, Any] = {**table.split, **_settings_of(table, method, limits), "k": k}
        searches[method] = plan_search(
            taken, name_method(method), trials, ranges=ranges, model=table.model, heldout_seed=_SEARCH_SPLIT,
            **options,
        )  # fmt: skip
    return searches


def choose_ks(table: PaperTable, limits: PaperLimits) -> tuple[int, ...]:
    """Return the numbers of clusters or topics that are tried."""
    if limits.quick:
        return table.quick_ks or table.ks[:1]
    return tuple(k for k in table.ks if not limits.ks or k in limits.ks) or table.ks[:1]


def label_method(table: PaperTable, method: str) -> str:
    """Return what a method of a table is called."""
    name, _, label = method.partition(":")
    return label or method_row(table.model, name).label


def _settings_of(table: PaperTable, method: str, limits: PaperLimits) -> dict[str, Any]:
    """Return the settings that a method has; those of a quick look go before all others."""
    given = {
        **table.settings,
        **table.own_settings.get(method, {}),
        **(table.quick_settings if limits.quick else {}),
    }
    known = {one.name: one for one in method_row(table.model, name_method(method)).parameters}
    if limits.most_sweeps is not None and "tol" in known:
        given["max_sweeps"] = min(given.get("max_sweeps", known["max_sweeps"].default), limits.most_sweeps)
    return {name: value for name, value in given.items() if name in known}


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
        drawn = (
            draw_sample(source.name, **source.options) if source.options else load_sample(source.name).data
        )
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
    return getattr(getattr(import_module(READERS[kind]), f"load_{kind}")(path, **dict(options)), kind)


def _take_first(data: Any, n: int) -> Any:
    """Return a corpus of the first documents, over the words that stand in them; 0 takes all."""
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

    data: str
    k: int
    scores: NDArray[np.float64]  #: shape (n_methods, n_splits), in the order of the table's methods
    best: int | None  #: place of the best method
    worse: tuple[bool, ...]  #: which methods are significantly worse than the best one
    failed: tuple[bool, ...] = ()  #: which methods broke off in a run
    ratio: float = 0.0  #: held-out data as a multiple of the training data

    @property
    def n_splits(self) -> int:
        """Number of splits that have a score."""
        return int(np.isfinite(self.scores).any(axis=0).sum())


@dataclass(frozen=True, eq=False)
class PaperResult:
    """A table made anew."""

    table: PaperTable
    parts: tuple[tuple[PaperPart, Experiment | None], ...] = field(default=())

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """One a data set and number of clusters or topics."""
        return self.list_cells(self.table.score)

    def find_part(self, data: str) -> PaperPart | None:
        """Return the table on a data set, by the paper's name of it."""
        return next((part for part, _ in self.parts if part.data == data), None)

    def name_data(self, data: str) -> str:
        """Return what the data taken are called."""
        part = self.find_part(data)
        return data if part is None else part.real_name

    @cached_property
    def _known_cells(self) -> dict[str, tuple[Cell, ...]]:
        return {}

    def list_cells(self, score: str) -> tuple[Cell, ...]:
        """Return the cells of a score, which need not be that of the table."""
        # Every claim asks for them, and each has tests of all pairs of methods.
        if score not in self._known_cells:
            self._known_cells[score] = tuple(
                cell
                for part, done in self.parts
                if done is not None
                for cell in _list_cells(self.table, part, done, score)
            )
        return self._known_cells[score]


def sign_of(table: PaperTable, score: str) -> float:
    """Return 1 where more is better, else -1."""
    if score == table.score:
        return -1.0 if table.lower_is_better else 1.0
    return -1.0 if score in LOWER_IS_BETTER or score.startswith(_LESS_IS_BETTER) else 1.0


def _list_cells(table: PaperTable, part: PaperPart, done: Experiment, score: str) -> Iterator[Cell]:
    step, sign = len(table.methods), sign_of(table, score)
    values = done.scores_by_condition(score, step)
    for first in range(0, len(values), step):
        scores = values[first : first + step]
        is_true = score == table.score and table.target is not None
        signed = -np.abs(scores - table.target) if is_true else sign * scores
        best, tests = compare_with_best(signed, ratio=done.plan.test_train_ratio, ranks=False)
        k = done.plan.conditions[first].k if table.ks != (0,) else 0
        worse = tuple(bool(p < LEVEL) for p in tests.p_t)
        labels = [condition.label for condition in done.plan.conditions[first : first + step]]
        broken = {row["condition"] for row in done.rows if row.get("error")}
        failed = tuple(label in broken for label in labels)
        yield Cell(part.data, int(k), scores, best, worse, failed, done.plan.test_train_ratio)
