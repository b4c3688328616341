"""An experiment in one call, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from acvb_core.core.protocols import Poll, no_poll
from acvb_core.engine.executor import Executor
from acvb_core.engine.experiments.plan import plan_experiment
from acvb_core.engine.experiments.report import Experiment
from acvb_core.engine.fitting import Watcher
from acvb_core.engine.study import finish_study


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
    return finish_study(plan, Experiment(plan), watch=watch, poll=poll, executor=executor)
