"""A grid over the number of topics: the same run with each number, and the scores."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from acvb_core.core.errors import ParameterError
from acvb_core.core.parameters import check_whole_number
from acvb_core.core.protocols import Poll, no_poll
from acvb_core.engine.executor import Executor
from acvb_core.engine.fitting import Watcher, compute_results, list_seeds, read_data, solve
from acvb_core.engine.prepared import PreparedRun, RunSpec, check_run, prepare_run
from acvb_core.engine.result import Result
from acvb_core.evaluate.ranking import top_words
from acvb_core.models.lda.topics import coherence, finite_mean, mean_exclusivity, topic_diversity
from acvb_core.registry import method_row, model_row

MODEL = "lda"
#: Top words of a topic that coherence and diversity look at.
TOP_WORDS = 10
_FINITE = ("loo_perplexity", "heldout_perplexity", "npmi", "u_mass", "diversity", "exclusivity")
#: Columns of `Grid.table`.
COLUMNS = ("k", "seed", "verdict", "sweeps", "cpu_seconds", *_FINITE, "effective_k")


def grid(
    data: Any,
    ks: Iterable[int],
    method: str = "cvb0",
    seeds: int | Iterable[int] = 1,
    heldout: float = 0.1,
    *,
    watch: Watcher | None = None,
    poll: Poll = no_poll,
    executor: Executor | None = None,
    **options: Any,
) -> Grid:
    """Fit one method with several numbers of topics and several seeds on the same held-out split.

    Parameters
    ----------
    data
        As for `fit`: a corpus, or data that are read as a corpus.
    ks : iterable of int
        Numbers of topics; repetitions are ignored.
    method : str
        Name in the registry.
    seeds : int or iterable of int
        A number n means 0 … n - 1.
    heldout : float
        Share of the words of each document that is held out and scored; 0 for none.
    watch, poll : callable, optional
        As for `fit`; a run that the poll stops is the last.
    executor : Executor, optional
        As for `fit`; a `DaskExecutor` computes the runs in parallel.
    **options
        `heldout_seed`; `heldout_documents`, share of whole documents that is held out instead of words;
        `check_memory`, as for `fit`; and the settings of the method.

    Raises
    ------
    ParameterError
        Before the first run: no number of topics or no seed is given, a setting is unknown or out of range, or the
        largest number of topics needs more memory than is free.
    StopRun
        The poll stopped the first run before its first sweep.

    Examples
    --------
    >>> import acvb_core
    >>> from acvb_core.models.lda.grid import grid
    >>> corpus = acvb_core.load_sample("bars").corpus
    >>> grid(corpus, [5, 10], max_sweeps=20).table()["k"].tolist()
    [5, 10]
    """
    prepared_runs = prepare_grid(data, ks, method, seeds, heldout, **options)
    calls = (partial(solve, prepared, watch, executor=executor) for prepared in prepared_runs)
    return Grid(compute_results(calls, poll, executor))


def prepare_grid(
    data: Any,
    ks: Iterable[int],
    method: str = "cvb0",
    seeds: int | Iterable[int] = 1,
    heldout: float = 0.1,
    *,
    heldout_seed: int = 0,
    heldout_documents: float = 0.0,
    check_memory: bool = True,
    **values: Any,
) -> Iterator[PreparedRun]:
    """Yield the runs of a grid, not started, seed by seed; parameters and errors as for `grid`.

    Settings are checked before the first run is built.
    """
    counts = sorted({check_whole_number("k", k, 1) for k in ks})
    seed_list = list_seeds(seeds)
    if not counts:
        raise ParameterError("No number of topics is given. Give at least one.")
    model, (data, _) = model_row(MODEL), read_data(data, MODEL, (), values)
    model.accept(data)
    row = method_row(MODEL, method)
    settings = [row.values({**values, "k": k}) for k in counts]
    check_run(model, row, data, settings[-1], check_memory=check_memory)
    build = partial(
        prepare_run,
        data,
        method,
        model=MODEL,
        heldout=0.0 if heldout_documents else heldout,
        heldout_seed=heldout_seed,
        heldout_documents=heldout_documents,
    )
    return (
        replace(build(chosen, seed=seed), check_memory=check_memory)
        for seed in seed_list
        for chosen in settings
    )


@dataclass(frozen=True, eq=False, repr=False)
class Grid:
    """Results that differ in the number of topics and the seed."""

    results: Sequence[Result]

    def __repr__(self) -> str:
        counts = ", ".join(dict.fromkeys(str(result.prepared.spec.values["k"]) for result in self.results))
        return f"Grid(k {counts} on {self.results[0].prepared.data!r})"

    def table(self) -> pd.DataFrame:
        """Return one row per run, the fewest topics first.

        Columns: k (as set), seed, verdict, sweeps, cpu_seconds, loo_perplexity (of the training words),
        heldout_perplexity, npmi and u_mass (mean over the topics, of their ten most probable words over the whole
        corpus), diversity (share of different words among these), exclusivity (mean over the topics and these words of
        the topic's share of the word), effective_k (topics in use). NaN where unknown.
        """
        return grid_table(grid_row(result) for result in self.results)


def grid_table(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Return rows (`grid_row`) as the table of a grid."""
    frame = pd.DataFrame(list(rows), columns=list(COLUMNS))
    frame = frame.astype(dict.fromkeys(_FINITE, np.float64))
    return frame.sort_values(["k", "seed"], kind="stable", ignore_index=True)


def grid_row(result: Result) -> dict[str, Any]:
    """Return the scores of one run: a row of `Grid.table`."""
    prepared, last = result.prepared, result.snapshot
    model: Any = prepared.model
    phi = model.topics(result.posterior).word_probability
    words = top_words(phi, TOP_WORDS)
    # Data on disk: the documents that pages show.
    corpus = model.shown_documents if prepared.model_row.on_disk(prepared.data) else prepared.data
    coherent = coherence(corpus.counts, words)
    return {
        "k": int(prepared.spec.values["k"]),
        "seed": prepared.spec.seed,
        "verdict": str(result.verdict),
        "sweeps": last.sweep,
        "cpu_seconds": last.cpu_seconds,
        "loo_perplexity": last.extras.get("loo_perplexity", math.nan),
        "heldout_perplexity": math.nan if last.heldout is None else float(last.heldout.perplexity),
        "npmi": finite_mean(coherent.npmi),
        "u_mass": finite_mean(coherent.u_mass),
        "diversity": topic_diversity(words),
        "exclusivity": finite_mean(mean_exclusivity(phi, words)),
        "effective_k": int(last.effective_k["topics"]),
    }


def settings_without_k(settings: RunSpec) -> Hashable:
    """Return a key of all settings except the number of topics and the seed; the runs of a grid share it."""
    shared = {name: value for name, value in settings.values.items() if name != "k"}
    split = settings.heldout, settings.heldout_seed, settings.heldout_documents
    return settings.model, settings.method, *split, settings.start, tuple(sorted(shared.items()))
