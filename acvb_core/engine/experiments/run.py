"""Making the runs of an experiment, one after another."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from acvb_core.core.errors import AcvbError
from acvb_core.core.protocols import Poll, no_poll
from acvb_core.engine.executor import Executor, InterruptedRun
from acvb_core.engine.experiments.answers import describe_answer, describe_course
from acvb_core.engine.experiments.plan import Plan, plan_experiment
from acvb_core.engine.experiments.report import SCORE, Experiment
from acvb_core.engine.fitting import Watcher, comparison_row, solve
from acvb_core.engine.run import StopRun
from acvb_core.engine.tuning import FAILED


def run_experiment(
    plan: Plan,
    known: Experiment | None = None,
    *,
    watch: Watcher | None = None,
    poll: Poll = no_poll,
    executor: Executor | None = None,
) -> Iterator[Experiment]:
    """Yield the experiment after every run; from a known part of it, make the runs that are missing.

    A run that fails is a row with its reason. One that the poll stops does not count, and ends the experiment.
    `executor`: computes the runs, as for `fit`; a `DaskExecutor` computes them side by side.
    """
    now = known or Experiment(plan)
    over = {row["run"] for row in now.rows}
    missing = [run for run in range(plan.n_runs) if run + 1 not in over]
    calls = [partial(_make_run, plan, run, watch, executor) for run in missing]
    with suppress(StopRun):
        for _, row in (executor or Executor()).compute_all(calls, poll):
            now = now.with_row(row)
            yield now


def _make_run(
    plan: Plan, run: int, watch: Watcher | None, executor: Executor | None, poll: Poll
) -> dict[str, Any]:
    poll()
    about = plan.describe_run(run)
    try:
        result = solve(plan.build_run(run), watch, poll, executor=executor)
    except (StopRun, InterruptedRun):
        raise
    except Exception as error:  # whatever it is, the other runs go on
        reason = str(error) if isinstance(error, AcvbError) else f"{type(error).__name__}: {error}"
        return {**about, "verdict": FAILED, "error": reason}
    if result.was_stopped:
        raise StopRun
    settings = {f"setting_{name}": value for name, value in result.prepared.spec.values.items()}
    scores = comparison_row(result)
    if plan.restarts > 1:
        settings["winner_seed"] = scores["seed"]
    scores = {f"effective_{name}" if name.startswith("k_") else name: value for name, value in scores.items()}
    kept = {**describe_answer(result), **describe_course(result, SCORE)}
    return {**settings, **scores, **about, "error": "", **kept}


def experiment(
    data: Any,
    methods: Iterable[str] | None = None,
    *,
    watch: Watcher | None = None,
    poll: Poll = no_poll,
    executor: Executor | None = None,
    **options: Any,
) -> Experiment:
    """Fit several methods and settings on several splits of the data, and test which of them predicts better.

    Every run has a split and a seed of its own, which all methods share: differences are tested split by split.

    Parameters
    ----------
    data
        As for `fit`.
    methods : iterable of str, optional
        Names in the registry. Default: acvb0, cvb0 and vb; fab, em and vb of tables.
    watch, poll : callable, optional
        As for `fit`; a run that the poll stops does not count, and ends the experiment.
    executor : Executor, optional
        As for `fit`; a `DaskExecutor` computes the runs side by side.
    **options
        model : str
            By default the one for such data.
        k : int or iterable of int
            Numbers of clusters, topics or features: for relations of both sides.
        splits : int
            Runs of each method and setting; 10 by default.
        seed : int
            Of the first split and of the runs on it; the next split has the next one (with restarts, the next that
            no race has used).
        heldout, heldout_documents : float
            Share that is held out, as for `fit`; 0.1 of the entries, words or cells by default.
        restarts, check_memory
            As for `fit`.
        Further ones are the methods' settings. One that is given as several values is varied; a method without it
        runs once.

    Returns
    -------
    Experiment

    Raises
    ------
    DataError
        The data cannot be read.
    ParameterError
        An unknown model, method or setting, a value out of range, nothing held out, or more memory is needed than is
        free: before the first run.
    StopRun
        The poll ended the first run.

    Examples
    --------
    >>> import acvb_core
    >>> relation = acvb_core.load_sample("southern_women").relation
    >>> experiment = acvb_core.experiment(relation, ["acvb0", "vb"], k=[3, 5], splits=2)
    >>> len(experiment.table()), len(experiment.summary())
    (8, 4)
    """
    plan = plan_experiment(data, methods, **options)
    last = deque(run_experiment(plan, watch=watch, poll=poll, executor=executor), maxlen=1)
    if not last:
        raise StopRun
    return last[0]
