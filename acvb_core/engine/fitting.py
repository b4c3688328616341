"""Fit one method or compare several: from data in any form to results."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import replace
from functools import partial
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.core.parameters import check_whole_number, suggest_names
from acvb_core.core.protocols import Poll, no_poll
from acvb_core.core.spec import references_to
from acvb_core.data.corpora.readers import holds_documents
from acvb_core.data.report import ReadReport, plural, take_apart, warn_of_changes
from acvb_core.engine.compilation import COMPILING
from acvb_core.engine.executor import Executor
from acvb_core.engine.history import SweepRecord, Verdict
from acvb_core.engine.prepared import PreparedRun, check_run, prepare_run
from acvb_core.engine.result import Result
from acvb_core.engine.run import CheckpointWriter, RunState, StopRun
from acvb_core.evaluate.agreement import agreement
from acvb_core.registry import METHODS, MODELS, default_methods, method_row, model_for, model_row

if TYPE_CHECKING:
    import pandas as pd


#: By the name of the data a model is for: who reads them. Imported when needed, as the readers take a while.
READERS = {
    "relation": "acvb_core.data.relation_readers",
    "corpus": "acvb_core.data.corpora.readers",
    "table": "acvb_core.data.table_build",
}
#: A remedy that an option of a reader carries out: threshold=0, (leave_out), "say which column".
_CHOICE = re.compile(r"\b(say|choose|let|take)\b|\w=|(?<!\w)\(\w+\)", re.IGNORECASE)


def read_data(
    data: Any, model: str | None = None, methods: Iterable[str] = (), given: dict[str, Any] | None = None
) -> tuple[Any, ReadReport | None]:
    """Return data that a model takes, and what reading them found; None if they came without a report.

    A file or an object in memory is read first, and a warning says what that changed. What `load_sample`,
    `load_relation` and the like return is taken apart.

    `model`: whose data are meant. None: those of the methods, if only one kind of data has them all; else texts where
      the data are such; else a relation.
    `given`: settings, among them perhaps options of the reader, such as threshold=0, which are taken out.
    Raises DataError: it cannot be read without further choices, or at all.
    Raises ParameterError: there is no such model, or nothing reads such an object.
    """
    if any(row.data_class.is_instance(data) or row.on_disk(data) for row in MODELS):
        return data, None
    taken, report = take_apart(data)
    if report is not None:
        return taken, report
    if isinstance(data, Mapping) and not isinstance(data, Set):
        raise ParameterError(
            f"A {type(data).__name__} may hold links, texts or columns. Give links as a list of pairs, texts as a list "
            "(list(texts.values())), columns as a data frame (pandas.DataFrame(columns))."
        )
    if isinstance(data, Iterator) and not hasattr(data, "read"):
        data = list(data)
    kind = _kind_of(data, model, methods)
    reader: Any = import_module(READERS[kind])
    load, given = getattr(reader, f"load_{kind}"), {} if given is None else given
    settings = {one.name for row in METHODS if model_row(row.model).kind == kind for one in row.parameters}
    options = {name: given.pop(name) for name in given.keys() & (reader.OPTIONS - settings)}
    try:
        loaded = load(data, **options)
    except DataError as problem:
        if _CHOICE.search(problem.remedy) is None:
            raise
        where = f"Give these choices in the same call, or to acvb_core.load_{kind}(…)."
        raise problem.change_parts(remedy=f"{problem.remedy} {where}") from None
    warn_of_changes(loaded.report, options)
    return loaded.data, replace(loaded.report, options=options)


def list_methods(methods: str | Iterable[str] | None) -> list[str]:
    """Return names of methods, each once; none for None."""
    return [methods] if isinstance(methods, str) else list(dict.fromkeys(methods or ()))


def _kind_of(data: Any, model: str | None, methods: Iterable[str]) -> str:
    if model is not None:
        return model_row(model).kind
    kinds = [{model_row(row.model).kind for row in METHODS if row.name == name} for name in methods]
    common = set.intersection(*kinds) if kinds else set()
    if len(common) == 1:
        return common.pop()
    return "corpus" if holds_documents(data) else MODELS[0].kind


_ARCHIVES = references_to("store.archives")
Watcher = Callable[[PreparedRun, SweepRecord], None]


def fit(
    data: Any,
    method: str | None = None,
    *,
    model: str | None = None,
    seed: int = 0,
    heldout: float = 0.0,
    heldout_seed: int = 0,
    restarts: int = 1,
    heldout_documents: float = 0.0,
    start: Any = None,
    check_memory: bool = True,
    watch: Watcher | None = None,
    poll: Poll = no_poll,
    executor: Executor | None = None,
    **values: Any,
) -> Result:
    """Fit one method and wait for it.

    Parameters
    ----------
    data : Relation, Corpus, DiskCorpus or Table
        Or what `load_sample`, `load_relation` and the like return; or what is read as one: a file, a data frame, an
        array, a sparse matrix, a graph of networkx, igraph or graph-tool, a list of pairs or of texts. `model` or the
        method says what kind of data it is; otherwise texts are a corpus, and anything else a relation.
    method : str, optional
        Name in the registry: vb, cvb, cvb0, acvb, acvb0, gibbs; sdm, scvb0, svb for corpora of any size; for tables
        fab, em, vb, ibp, meibp. Default: acvb0; of tables fab.
    model : str, optional
        By default the one for such data; `acvb_core.methods()` lists them.
    seed, heldout_seed : int
        Of the inference and of the held-out split; at least 0. The same seeds give the same run, bit for bit.
    heldout : float
        Share of the observed entries, of each document's words, or of a table's known cells, that is held out and
        scored, 0 for none.
    restarts : int
        Runs from the seeds `seed`, `seed` + 1, … that race by the lower bound, or by held-out scores where bounds
        cannot be compared (latent features). At 20 sweeps the worse half is given up, at 40 half of the rest, and so
        on. The result is the winner's, bit for bit what its seed gives alone; `Result.race` has the whole race.
    heldout_documents : float
        Share of whole documents that is held out instead; their first words predict the others.
    start : TrainedTopics, optional
        Topics to continue from (`trained_topics`, `load_model`).
    check_memory : bool
        Refuse to start where the run needs more memory than is free.
    watch : callable, optional
        Called with the run (`PreparedRun`) and each SweepRecord, in a race those of every candidate. Its methods, if
        any: `starting` is called with the run before the first sweep; `compiling` with the run, and with True before
        functions are compiled, False afterwards. Without a watcher a line on stderr says so.
    poll : callable
        Called every 100 ms or so; raises `StopRun` to end the run, or the race, with what it has.
    executor : Executor, optional
        Computes the run: a `DaskExecutor` on the workers of a cluster, with the same result. `watch` is then called
        about once a second. By default this thread computes it.
    **values
        The method's settings, `k_rows=30` for instance; `acvb_core.methods()` lists them. Of data that are read here,
        also the options of `load_relation`, `load_corpus` or `load_table`: `threshold=0`, say.

    Warns
    -----
    DataChangedWarning
        Reading changed the data: weights became links, say. `Result.report` has all of it.

    Raises
    ------
    DataError
        The data cannot be read without further choices, or at all.
    ParameterError
        An unknown model, method or setting, a value out of range, or more memory is needed than is free.
    StopRun
        The poll ended the run before there was anything to keep.

    Examples
    --------
    >>> import acvb_core
    >>> result = acvb_core.fit(acvb_core.load_sample("southern_women").relation, k_rows=5, k_cols=5)
    >>> str(result.verdict)
    'CONVERGED'
    """
    data, report = read_data(data, model, list_methods(method), values)
    prepared = prepare_run(
        data,
        method or default_methods(model or model_for(data).name)[0],
        values,
        model=model,
        seed=seed,
        heldout=heldout,
        heldout_seed=heldout_seed,
        restarts=restarts,
        heldout_documents=heldout_documents,
        start=start,
    )
    result = solve(replace(prepared, check_memory=check_memory), watch, poll, executor=executor)
    return replace(result, report=report)


def solve(
    prepared: PreparedRun,
    watch: Watcher | None = None,
    poll: Poll = no_poll,
    *,
    resume: RunState | None = None,
    keep: Callable[[RunState], None] | None = None,
    executor: Executor | None = None,
) -> Result:
    """Run and wait: to the end or until the poll raises `StopRun`; its restarts race first.

    `resume`: continue from here instead of starting from scratch.
    `keep`: called every few seconds of a run's own work (`CheckpointWriter`), and if it was stopped, with all that
      it continues from.
    `executor`: computes the run; by default this thread does.
    """
    getattr(watch, "starting", lambda _: None)(prepared)
    announce = getattr(watch, "compiling", tell_compiling if watch is None else None)
    update = None
    writer = CheckpointWriter(lambda: keep(update) if keep is not None and update is not None else None)
    writer.on_begin()
    for update in (executor or Executor()).compute(
        resume or RunState.begin(prepared),
        poll,
        lambda on: announce(prepared, on) if announce else None,
    ):
        if watch is not None and update.last_sweep is not None:
            watch(*update.last_sweep)
        if update.last.verdict is None and not update.is_racing:
            writer.on_state(update)
    if update is None:
        raise StopRun
    if update.last.verdict is Verdict.STOPPED and not update.is_racing:
        writer.on_hold()
    return Result(update.release())


def tell_compiling(prepared: PreparedRun, is_compiling: bool) -> None:
    """Say on stderr why nothing happens yet, where functions are compiled for a run that nobody watches."""
    if is_compiling and sys.stderr is not None:
        sys.stderr.write(f"{prepared.label}  {COMPILING}; python -m acvb_core warmup does it beforehand\n")
        sys.stderr.flush()


def compare(
    data: Any,
    methods: Iterable[str] | None = None,
    *,
    seeds: int | Iterable[int] = 1,
    watch: Watcher | None = None,
    poll: Poll = no_poll,
    executor: Executor | None = None,
    **options: Any,
) -> Comparison:
    """Fit several methods, each from several seeds, on the same held-out split.

    Parameters
    ----------
    data, watch, poll, executor
        As for `fit`; a run that the poll stops is the last one. A `DaskExecutor` computes the runs side by side.
    methods : iterable of str, optional
        Names in the registry. Default: acvb0, cvb0 and vb; fab, em and vb of tables.
    seeds : int or iterable of int
        A number n means 0 … n - 1; with `restarts` 0, `restarts`, … so that no seed is in two races.
    **options
        As for `fit`; a setting that a method does not have is left out for that method.

    Raises
    ------
    ParameterError
        As for `fit`, before the first run, whichever method it is about; or no method has a setting.
    """
    seed_list = list_seeds(seeds, check_whole_number("restarts", options.get("restarts", 1), 1))
    names, model = list_methods(methods), options.get("model")
    data, report = read_data(data, model, names, options)
    if methods is None:
        names = default_methods(model or model_for(data).name)
    runs = product(_split_options(data, names, options), seed_list)
    fit_one = partial(fit, data, watch=watch, executor=executor)
    calls = [
        lambda poll, method=method, chosen=chosen, seed=seed: fit_one(method, seed=seed, poll=poll, **chosen)
        for (method, chosen), seed in runs
    ]
    results = compute_results(calls, poll, executor)
    return Comparison([replace(result, report=report) for result in results])


def list_seeds(seeds: int | Iterable[int], step: int = 1) -> list[int]:
    """Return the seeds that are given, or of a number of them 0, `step`, 2 `step` …

    Raises ParameterError: it is neither a number of seeds, from 1, nor a list of seeds.
    """
    if isinstance(seeds, Iterable) and not isinstance(seeds, str):
        chosen = [check_whole_number("a seed", seed, 0) for seed in seeds]
        if chosen:
            return chosen
    elif isinstance(seeds, int | np.integer) and seeds >= 1:
        return list(range(0, int(seeds) * step, step))
    raise ParameterError(f"seeds is {seeds!r}; it must be a number of seeds, at least 1, or a list of seeds.")


def compute_results(
    calls: Iterable[Callable[[Poll], Result]], poll: Poll, executor: Executor | None
) -> list[Result]:
    """Return the results of calls that compute a run each, in their order; one that was stopped is the last that ended.

    Raises StopRun: the poll ended the first run before there was anything to keep.
    """
    results: dict[int, Result] = {}
    try:
        for number, result in (executor or Executor()).compute_all(calls, poll):
            results[number] = result
            if result.was_stopped:
                break
    except StopRun:
        if not results:
            raise
    return [results[number] for number in sorted(results)]


_CHECKED = {"restarts", "start", "check_memory"}
_RUN_OPTIONS = _CHECKED | {"model", "heldout", "heldout_seed", "heldout_documents"}


def _split_options(
    data: Any, methods: list[str], options: dict[str, Any]
) -> list[tuple[str, dict[str, Any]]]:
    """Return each method with its own options, all of them checked before the first run."""
    model = model_row(options.get("model") or model_for(data).name)
    model.accept(data)
    if not methods:
        raise ParameterError("there are no methods to compare; name at least one.")
    rows = [method_row(model.name, method) for method in methods]
    own = [{parameter.name for parameter in row.parameters} for row in rows]
    known_names = dict.fromkeys(["seeds", *(p.name for row in rows for p in row.parameters)])
    for name in options.keys() - _RUN_OPTIONS - known_names.keys():
        have, like = "have" if own[1:] else "has", suggest_names(name, known_names)
        raise ParameterError(f"{' and '.join(methods)} {have} no setting {name!r}.{like}")
    found = []
    for row, known in zip(rows, own, strict=True):
        values = row.values({name: options[name] for name in options if name in known})
        check_run(model, row, data, values, **{name: options[name] for name in options.keys() & _CHECKED})
        found.append((row.name, {name: options[name] for name in options if name in known | _RUN_OPTIONS}))
    return found


class Comparison:
    """Several results on the same data."""

    def __init__(self, results: list[Result]) -> None:
        self.results = results

    def __repr__(self) -> str:
        runs = plural(len(self.results), "run")
        lines = [f"Comparison({runs} on {self.results[0].prepared.data!r})"]
        for one in self.results:
            lines.append(f"  {one.label}: {one.verdict} after {plural(one.snapshot.sweep, 'sweep')}")
        if len(self.results) > 5:
            lines[5:] = [f"  and {plural(len(self.results) - 4, 'run')} more"]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the comparison as a notebook shows it: the first rows of its table."""
        return str(self.table().to_html(index=False, border=0, max_rows=10, max_cols=12, notebook=False))

    def save(self, path: str | Path) -> None:
        """Write the results with their data to a file, which `acvb_core.load_comparison` reads.

        Raises StoreError: the file cannot be written, or the data are kept on disk.
        """
        _ARCHIVES("save_results")(path, self.results)

    def table(self) -> pd.DataFrame:
        """Return one row a run: verdict, settled, sweeps, seconds, bound, pseudo leave-one-out, scores, clusters.

        Missing where a model or method has no such score; settled as `SweepRecord.has_settled`. All of it is the run's
        own; where it won a race, race_sweeps and race_cpu_seconds are those of all candidates.
        """
        import pandas as pd

        table = pd.DataFrame([comparison_row(result) for result in self.results])
        return table.astype({"lower_bound": "float64", "pseudo_loo": "float64", "settled": "boolean"})

    def agreement(self, domain: str, measure: str = "ari") -> pd.DataFrame:
        """Return how alike the runs' clusterings of a domain are, run by run ("ari" or "nmi")."""
        import pandas as pd

        names = [result.label for result in self.results]
        labels = np.array([result.labels(domain) for result in self.results])
        labels = labels[:, (labels > 0).all(axis=0)]  # documents without words have no topic
        values = [[agreement(one, other)[measure] for other in labels] for one in labels]
        return pd.DataFrame(values, index=names, columns=names)


def comparison_row(result: Result) -> dict[str, Any]:
    """Return one line of a comparison table."""
    last = result.snapshot
    row: dict[str, Any] = {
        "method": result.prepared.row.label,
        "seed": result.prepared.spec.seed,
        "verdict": str(result.verdict),
        "settled": last.has_settled,
        "sweeps": last.sweep,
        **{name: getattr(last, name) for name in ("passes", "cpu_seconds", "lower_bound", "pseudo_loo")},
    }
    if last.heldout is not None:
        row |= {f"heldout_{name}": value for name, value in last.heldout._asdict().items()}
    row |= last.extras
    if result.race is not None:
        row |= {f"race_{name}": result.race[name].sum() for name in ("sweeps", "cpu_seconds")}
    return row | {f"k_{domain}": k for domain, k in last.effective_k.items()}
