"""Tuning a method's steps: one run a trial, each where a Gaussian process expects to gain most over the best so far."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from acvb_core.core.errors import ParameterError
from acvb_core.core.parameters import check_whole_number
from acvb_core.core.protocols import Checkpoint, no_checkpoint
from acvb_core.core.rows import Range
from acvb_core.engine.executor import Executor, InterruptedRun
from acvb_core.engine.fitting import Watcher, solve
from acvb_core.engine.problem import Problem, build_problem
from acvb_core.engine.reading import read_data
from acvb_core.engine.result import Result
from acvb_core.engine.run import StopRun
from acvb_core.engine.tuning.space import Space, build_search_space
from acvb_core.engine.tuning.suggest import Points, most_promising_point, sobol_point
from acvb_core.engine.tuning.trials import FAILED, Trial, Tuning
from acvb_core.registry import METHODS, method_row, model_for, model_row

#: Share of the documents that trials are judged by, unless another is given.
HELD_OUT = 0.02
#: Other points to look at when the most promising one was tried before.
_LOOKED_AT = 64


@dataclass(frozen=True, eq=False)
class Search:
    """A search that was planned: its data, its method and the parameters that are tuned."""

    data: Any
    method: str
    model: str
    space: Space  #: the parameters that are tuned
    fixed: Mapping[str, Any]  #: values of others that differ from the defaults
    trials: int
    seed: int  #: of every run, and of the choice of the trials
    #: What is held out: `heldout` or `heldout_documents`, and `heldout_seed`.
    split: Mapping[str, Any] = field(default_factory=dict)
    check_memory: bool = True  #: refuse to start a trial where more memory is needed than is free

    def build_trial(self, values: Mapping[str, float]) -> Problem:
        """Return the run of a trial, not started."""
        problem = build_problem(
            self.data,
            self.method,
            {**self.fixed, **values},
            model=self.model,
            seed=self.seed,
            **self.split,
        )
        problem.refuse_unscored("trials")
        return replace(problem, check_memory=self.check_memory)

    def next_values(self, tuning: Tuning) -> dict[str, float]:
        """Return the values to try after some trials: the defaults, evenly spread points, then the most promising."""
        n, space = len(tuning.trials), self.space
        if n == 0:
            return space.defaults
        if n <= space.n_first:
            values = space.values(sobol_point(n - 1, space.dimensions, self.seed))
        else:
            values = space.values(self._most_promising(tuning))
        # The same values give the same run again: look for others instead.
        for more in range(_LOOKED_AT):
            if all(trial.values != values for trial in tuning.trials):
                break
            values = space.values(sobol_point(n + more, space.dimensions, self.seed))
        return values

    def identity(self) -> dict[str, Any]:
        """Return everything that the trials depend on, and their number: a search goes on only with the same."""
        return {
            "data": self.data.fingerprint,
            "model": self.model,
            "method": self.method,
            "ranges": [asdict(one) for one in self.space.ranges],
            "settings": dict(self.fixed),
            "split": dict(self.split),
            "seed": self.seed,
            "trials": self.trials,
        }

    def _most_promising(self, tuning: Tuning) -> Points:
        inside = [trial for trial in tuning.trials if self.space.holds(trial.values)]
        points = np.array([self.space.point(trial.values) for trial in inside])
        losses = np.array([trial.loss for trial in inside])
        return most_promising_point(points, losses, self.seed)


def plan_search(
    data: Any,
    method: str = "scvb0",
    trials: int = 30,
    *,
    ranges: tuple[Range, ...] | None = None,
    model: str | None = None,
    heldout: float = 0.0,
    heldout_documents: float | None = None,
    heldout_seed: int = 0,
    seed: int = 0,
    check_memory: bool = True,
    **values: Any,
) -> Search:
    """Return a search whose settings are checked; parameters and errors as for `tune`."""
    data = read_data(data, model, [method])
    owner = model_for(data) if model is None else model_row(model)
    owner.accept(data)
    refuse_untunable(owner.name)
    row = method_row(owner.name, method)
    trials = check_whole_number("trials", trials, 1)
    if heldout_documents is None:
        heldout_documents = 0.0 if heldout else HELD_OUT
    if not (heldout or heldout_documents):
        raise ParameterError("Trials are judged by what is held out; hold out a share above 0.")
    fixed = {"epochs": 1.0, **values} if row.streams else values
    row.values(fixed)
    split = {"heldout": heldout, "heldout_documents": heldout_documents, "heldout_seed": heldout_seed}
    space = build_search_space(row, row.tuned if ranges is None else ranges, held=values)
    seed = check_whole_number("seed", seed, 0)
    return Search(data, method, row.model, space, fixed, trials, seed, split, check_memory)


def refuse_untunable(model: str) -> None:
    """Raise ParameterError where no method of a model has steps to tune."""
    able = list(dict.fromkeys(row.model for row in METHODS if row.tuned))
    if model not in able:
        raise ParameterError(
            f"methods of model {model!r} have no steps to tune; those of {', '.join(able)} have."
        )


def rebuild_search(data: Any, identity: Mapping[str, Any]) -> Search:
    """Return the search with such an identity.

    Raises ParameterError: the data are others, or the identity is damaged.
    """
    try:
        if identity["data"] != data.fingerprint:
            raise ParameterError("The search was made with other data.")
        model_row(identity["model"]).accept(data)
        return plan_search(
            data,
            identity["method"],
            identity["trials"],
            ranges=tuple(Range(**one) for one in identity["ranges"]),
            model=identity["model"],
            seed=identity["seed"],
            **identity["split"],
            **identity["settings"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ParameterError(f"The plan of the search is damaged ({error!r}).") from None


def run_search(
    search: Search,
    tuning: Tuning | None = None,
    *,
    watch: Watcher | None = None,
    checkpoint: Checkpoint = no_checkpoint,
    executor: Executor | None = None,
) -> Iterator[Tuning]:
    """Yield the trials so far after every trial; from some trials, make those that are missing.

    A trial that diverges or fails counts as the worst. One that the checkpoint stops does not count, and ends the
    search. The trial of the defaults must not fail. `watch`, `checkpoint` and `executor` are as for `fit`.
    """
    tuning = tuning or Tuning(search.space.names)
    while len(tuning.trials) < search.trials:
        try:
            checkpoint()
            values = search.next_values(tuning)
            solver = partial(solve, watch=watch, checkpoint=checkpoint, executor=executor)
            trial, result = _run_trial(search, len(tuning.trials) + 1, values, solver)
        except StopRun:
            return
        tuning = tuning.with_trial(trial, result)
        yield tuning


def _run_trial(
    search: Search, number: int, values: Mapping[str, float], solver: Callable[[Problem], Result]
) -> tuple[Trial, Result | None]:
    try:
        result = solver(search.build_trial(values))
    except (StopRun, InterruptedRun):
        raise
    except Exception as error:
        if number == 1:  # the values that are tried did not cause it
            raise
        reason = f"{type(error).__name__}: {error}"
        return Trial(number, values, math.nan, math.nan, FAILED, reason), None
    if result.was_stopped:
        raise StopRun
    return Trial(
        number, values, _perplexity(result), result.snapshot.cpu_seconds, str(result.verdict)
    ), result


def _perplexity(result: Result) -> float:
    """Return the held-out perplexity; NaN where the run diverged."""
    scores = result.snapshot.heldout
    return math.nan if scores is None or not math.isfinite(scores.perplexity) else float(scores.perplexity)


def tune(
    data: Any,
    method: str = "scvb0",
    trials: int = 30,
    *,
    watch: Watcher | None = None,
    checkpoint: Checkpoint = no_checkpoint,
    executor: Executor | None = None,
    **options: Any,
) -> Tuning:
    """Find the settings with which a method predicts held-out documents best, by Bayesian optimisation.

    The first trial is of the method's defaults, so that the answer is never worse than they are; a few follow that
    are spread evenly; each of the others is where a Gaussian process through all trials so far expects to gain most.

    Parameters
    ----------
    data
        As for `fit`: a corpus, where the method is for one.
    method : str
        Name in the registry, of a method with parameters to tune: scvb0, svb or sdm.
    trials : int
        Runs, that of the defaults included.
    watch : callable, optional
        Called with the problem, whose settings say what is tried, and each Snapshot of every trial.
    checkpoint : callable
        Called every 100 ms or so; raises `StopRun` to end the search with the trials it has.
    executor : Executor, optional
        Computes the trials, as for `fit`.
    **options
        epochs : float
            How often each trial goes through the data; by default once for methods that stream.
        heldout_documents : float
            Share of the documents that are held out, and that trials are judged by; 0.02 by default.
        heldout : float
            In place of that, share of each document's words.
        heldout_seed, seed : int
            Of what is held out, and of the runs and the choice of trials: the same give the same trials, bit for bit.
        check_memory : bool
            Refuse to start where a trial needs more memory than is free.
        ranges : tuple of Range
            In place of the parameters that the registry says are worth tuning.
        model : str
            By default the one for such data.
        Further ones are the method's settings; a parameter that is given is held and not tuned.

    Returns
    -------
    Tuning

    Raises
    ------
    ParameterError
        An unknown method or setting, a value out of range, nothing to tune, or nothing held out.
    StopRun
        The checkpoint ended the first trial.

    Examples
    --------
    >>> import acvb_core
    >>> from acvb_core.engine.tuning.search import tune
    >>> from acvb_core.core.rows import Range
    >>> corpus = acvb_core.load_sample("bars").corpus
    >>> ranges = (Range("beta", 0.01, 1.0, log=True),)
    >>> tuning = tune(corpus, "cvb0", 3, ranges=ranges, heldout=0.1, k=10, max_sweeps=10)
    >>> len(tuning.table())
    3
    """
    plan = plan_search(data, method, trials, **options)
    last = deque(run_search(plan, watch=watch, checkpoint=checkpoint, executor=executor), maxlen=1)
    if not last:
        raise StopRun
    return last[0]
