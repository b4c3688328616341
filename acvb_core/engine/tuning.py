"""Tuning a method's steps: one run a trial, each where a Gaussian process expects to gain most over the best so far.

Everything is a function of the seed and of what was tried before, so that a search that was interrupted continues as if
it had not been.

References
----------
Snoek, Larochelle, Adams, NIPS 25 (2012): Matérn 5/2, a length scale for each parameter, expected improvement.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from acvb_core.core.errors import ParameterError
from acvb_core.core.parameters import Parameter, check_whole_number
from acvb_core.core.protocols import Poll, no_poll
from acvb_core.core.spec import MethodSpec, Range
from acvb_core.engine.executor import Executor
from acvb_core.engine.fitting import Watcher, read_data
from acvb_core.engine.machine import one_thread
from acvb_core.engine.prepared import PreparedRun, prepare_run
from acvb_core.engine.result import Result
from acvb_core.engine.study import FAILED, finish_study
from acvb_core.registry import METHODS, method_row, model_for, model_row


@dataclass(frozen=True)
class Trial:
    """One run of a search."""

    number: int  #: from 1, which is that of the method's own defaults
    values: Mapping[str, float]  #: of the parameters that are tuned
    perplexity: float  #: of what is held out; NaN if the run diverged or failed
    cpu_seconds: float  #: processor time of the method; NaN if it failed
    verdict: str  #: how the run ended: a Verdict, or FAILED
    error: str | None = None  #: why it failed, in one line

    @property
    def loss(self) -> float:
        """The value that is minimised: the logarithm of the perplexity; infinite where there is none."""
        return math.log(self.perplexity) if math.isfinite(self.perplexity) else math.inf


@dataclass(frozen=True, eq=False)
class Tuning:
    """The trials of a search so far."""

    names: tuple[str, ...]  #: parameters that are tuned
    trials: tuple[Trial, ...] = ()  #: in the order they were made; the first is of the method's defaults
    #: The run of the best trial, as `fit` gives it with the same values; None if no trial has a perplexity, or if
    #: the search continued from trials that were kept without it.
    best_result: Result | None = None

    @property
    def n_runs(self) -> int:
        """How many trials are over."""
        return len(self.trials)

    @property
    def last_run(self) -> Trial:
        """The trial that ended last."""
        return self.trials[-1]

    @property
    def best_trial(self) -> Trial | None:
        """The trial with the lowest perplexity, the earliest of equals; None if none has one."""
        known = [trial for trial in self.trials if math.isfinite(trial.loss)]
        return min(known, key=lambda trial: trial.loss, default=None)

    @property
    def best(self) -> dict[str, float]:
        """Values of the best trial, for `fit(..., **tuning.best)`; empty if there is none."""
        return {} if self.best_trial is None else dict(self.best_trial.values)

    def table(self) -> pd.DataFrame:
        """Return one row a trial.

        Columns: trial, one for each parameter, perplexity (of what is held out; NaN if there is none), best (of the
        trials so far), cpu_seconds, verdict (FAILED where the run broke off).
        """
        rows = [{"trial": one.number, **vars(one), **one.values} for one in self.trials]
        frame = pd.DataFrame(rows, columns=["trial", *self.names, "perplexity", "cpu_seconds", "verdict"])
        frame = frame.astype({"trial": np.int64, "perplexity": np.float64, "cpu_seconds": np.float64})
        frame.insert(len(self.names) + 2, "best", frame["perplexity"].cummin().ffill())
        return frame

    def with_run(self, made: tuple[Trial, Result | None]) -> Tuning:
        """Return the search with one more trial; its run is kept if it is the best."""
        trial, result = made
        more = replace(self, trials=(*self.trials, trial))
        return replace(more, best_result=result) if more.best_trial is trial else more

    def release(self) -> Tuning:
        """Return the trials without the run of the best, which may be large."""
        return replace(self, best_result=None)


#: Evenly spread trials before the first that is chosen: this many, and one a parameter.
_FIRST = 2
#: Digits of the values that are tried, few enough that a table shows all of them.
_DIGITS = 4


@dataclass(frozen=True)
class Space:
    """Parameters and their ranges."""

    parameters: tuple[Parameter, ...]
    ranges: tuple[Range, ...]  #: of the same parameters, in the same order

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return tuple(one.name for one in self.ranges)

    def values(self, point: NDArray[np.float64]) -> dict[str, float]:
        """Return the values at a point of the cube, shape (dimensions,), in few digits."""
        found: dict[str, float] = {}
        for parameter, one, at in zip(self.parameters, self.ranges, point.tolist(), strict=True):
            value = one.low * (one.high / one.low) ** at if one.log else one.low + at * (one.high - one.low)
            value = round(value) if parameter.kind == "int" else float(f"{value:.{_DIGITS}g}")
            found[one.name] = float(min(max(value, one.low), one.high))
        return found

    def point(self, values: Mapping[str, float]) -> NDArray[np.float64]:
        """Return where values lie in the cube, shape (dimensions,); outside it those that are not in their range."""
        found = []
        for one in self.ranges:
            value = values[one.name]
            if one.log:
                found.append(math.log(value / one.low) / math.log(one.high / one.low))
            else:
                found.append((value - one.low) / (one.high - one.low))
        return np.array(found)

    def holds(self, values: Mapping[str, float]) -> bool:
        """Return whether all values are in their range. A default may not be, such as a 0 that means a rule."""
        return all(one.low <= values[one.name] <= one.high for one in self.ranges)


def build_search_space(row: MethodSpec, ranges: Sequence[Range], held: Collection[str] = ()) -> Space:
    """Return the parameters of a method that are tuned: those with a range that are not held.

    Raises ParameterError: a range is empty, not allowed, or not of a number of the method; or nothing is left to tune.
    """
    known = {parameter.name: parameter for parameter in row.parameters}
    chosen = tuple(one for one in ranges if one.name not in held)
    for one in chosen:
        if one.name not in known:
            raise ParameterError(
                f"method {row.name!r} has no setting {one.name!r}; it has {', '.join(sorted(known))}."
            )
        parameter = known[one.name]
        if parameter.kind not in ("int", "float"):
            raise ParameterError(f"{one.name} is not a number; only numbers are tuned.")
        if not (math.isfinite(one.low) and math.isfinite(one.high) and one.low < one.high):
            raise ParameterError(
                f"The range of {one.name} is from {one.low:g} to {one.high:g}; it must go upwards."
            )
        if one.log and one.low <= 0:
            raise ParameterError(
                f"The range of {one.name} begins at {one.low:g}; on a logarithmic scale it must begin above 0."
            )
        for end in (one.low, one.high):
            parameter.check(end)
    if not chosen:
        why = "all settings that could be tuned are given" if ranges else "it has no steps"
        raise ParameterError(f"method {row.name!r} has nothing to tune: {why}.")
    return Space(tuple(known[one.name] for one in chosen), chosen)


Points = NDArray[np.float64]

#: Variance of what is measured that no parameter explains, of a total of one: a run is a rough function of its steps.
NOISE = 1e-2
#: Smallest gain that counts (nats a word: a hundredth of a percent of the perplexity).
LEAST_GAIN = 1e-4
#: Shortest and longest length scales, of a side of the cube.
_LENGTHS = (0.05, 20.0)
#: Starts of the search for the length scales, after the first, and of that for the point. With the library's own
#: numbers, 5 and 10, a suggestion in six dimensions takes three times as long.
_LENGTH_STARTS, _POINT_STARTS = 2, 3


def sobol_point(n: int, dimensions: int, seed: int) -> Points:
    """Return point `n` (from 0) of a scrambled Sobol sequence in the unit cube, shape (dimensions,)."""
    from scipy.stats import qmc  # takes half a second to import

    sequence = qmc.Sobol(dimensions, scramble=True, rng=np.random.default_rng([seed, dimensions]))
    if n:
        sequence.fast_forward(n)
    return np.asarray(sequence.random(1)[0], dtype=np.float64)


def most_promising_point(points: Points, losses: NDArray[np.float64], seed: int) -> Points:
    """Return where the expected improvement of a Gaussian process is largest, shape (dimensions,).

    `points`: shape (n, dimensions); points tried, in the unit cube, n >= 1.
    `losses`: shape (n,); the lower the better; values that are not finite count as the worst.
    """
    # The library is loaded by those who tune only.
    from bayes_opt import BayesianOptimization
    from bayes_opt.acquisition import ExpectedImprovement
    from sklearn.gaussian_process.kernels import Matern

    n, dimensions = points.shape
    names = [f"{at:03d}" for at in range(dimensions)]
    state = int(np.random.SeedSequence([seed, n]).generate_state(1)[0])
    improvement: Any = ExpectedImprovement(xi=LEAST_GAIN)
    improvement.suggest = partial(improvement.suggest, n_smart=_POINT_STARTS)
    search: Any = BayesianOptimization(
        None,
        dict.fromkeys(names, (0.0, 1.0)),
        acquisition_function=improvement,
        random_state=state,
        verbose=0,
        allow_duplicate_points=True,
    )
    search.set_gp_params(
        kernel=Matern(np.ones(dimensions), _LENGTHS, nu=2.5), alpha=NOISE, n_restarts_optimizer=_LENGTH_STARTS
    )
    _, first = np.unique(points, axis=0, return_index=True)  # the library prints a line for a repeated point
    is_known = np.isfinite(losses)
    losses = np.where(is_known, losses, losses[is_known].max() if is_known.any() else 0.0)
    for point, loss in ((points[at], losses[at]) for at in np.sort(first)):
        search.register(dict(zip(names, point.tolist(), strict=True)), -float(loss))
    # At a point that was tried the process may be certain: no deviation to divide by, and nothing to gain.
    with one_thread(), np.errstate(divide="ignore", invalid="ignore"):
        suggestion = search.suggest()
    return np.clip([float(suggestion[name]) for name in names], 0.0, 1.0)


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

    @property
    def n_runs(self) -> int:
        """Number of trials."""
        return self.trials

    def list_missing(self, tuning: Tuning) -> list[tuple[int, dict[str, float]]]:
        """Return number and values of the next trial: each follows from those before."""
        number = len(tuning.trials) + 1
        return [(number, self.next_values(tuning))] if number <= self.trials else []

    def build_run(self, run: tuple[int, Mapping[str, float]]) -> PreparedRun:
        """Return the run of a trial, given its number and the values that are tuned, not started."""
        values = {**self.fixed, **run[1]}
        prepared = prepare_run(self.data, self.method, values, model=self.model, seed=self.seed, **self.split)
        prepared.refuse_unscored("trials")
        return replace(prepared, check_memory=self.check_memory)

    def describe_run(self, run: tuple[int, Mapping[str, float]], result: Result) -> tuple[Trial, Result]:
        """Return a trial that is over, and its run; one that diverged counts as the worst."""
        scores = result.snapshot.heldout
        is_scored = scores is not None and math.isfinite(scores.perplexity)
        perplexity = float(scores.perplexity) if is_scored else math.nan
        return Trial(*run, perplexity, result.snapshot.cpu_seconds, str(result.verdict)), result

    def describe_failure(self, run: tuple[int, Mapping[str, float]], error: Exception) -> tuple[Trial, None]:
        """Return a trial that failed, which counts as the worst; that of the defaults must not fail."""
        if run[0] == 1:  # the values that are tried did not cause it
            raise error
        return Trial(*run, math.nan, math.nan, FAILED, f"{type(error).__name__}: {error}"), None

    def next_values(self, tuning: Tuning) -> dict[str, float]:
        """Return the values to try after some trials: the defaults, evenly spread points, then the most promising."""
        n, space = len(tuning.trials), self.space
        dimensions = len(space.ranges)
        if n == 0:
            return {one.name: float(one.default) for one in space.parameters}
        if n <= _FIRST + dimensions:
            point = sobol_point(n - 1, dimensions, self.seed)
        else:
            inside = [trial for trial in tuning.trials if space.holds(trial.values)]
            points = np.array([space.point(trial.values) for trial in inside])
            point = most_promising_point(points, np.array([trial.loss for trial in inside]), self.seed)
        values = space.values(point)
        # The same values give the same run again: look for others instead.
        for more in range(_LOOKED_AT):
            if all(trial.values != values for trial in tuning.trials):
                break
            values = space.values(sobol_point(n + more, dimensions, self.seed))
        return values

    def identity(self) -> dict[str, Any]:
        """Return everything that the trials depend on, and their number: a search continues only with the same."""
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
    data, _ = read_data(data, model, [method], values)
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
    """Raise ParameterError if no method of a model has steps to tune."""
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


def tune(
    data: Any,
    method: str = "scvb0",
    trials: int = 30,
    *,
    watch: Watcher | None = None,
    poll: Poll = no_poll,
    executor: Executor | None = None,
    **options: Any,
) -> Tuning:
    """Find the settings with which a method predicts held-out documents best, by Bayesian optimisation.

    The first trial is of the method's defaults, so that the answer is never worse than they are; a few follow that
    are spread evenly; each of the others is where a Gaussian process through all trials so far expects to gain most.

    Parameters
    ----------
    data
        As for `fit`: a corpus, if the method is for one.
    method : str
        Name in the registry, of a method with parameters to tune: scvb0, svb or sdm.
    trials : int
        Number of runs, including that of the defaults.
    watch, poll, executor
        As for `fit`; `watch` is called for every trial, and the poll ends the search with the trials it has.
    **options
        epochs : float
            How often each trial goes through the data; by default once for methods that stream.
        heldout_documents : float
            Share of the documents that are held out, and that trials are judged by; 0.02 by default.
        heldout : float
            In place of that, share of each document's words.
        heldout_seed, seed : int
            Of what is held out, and of the runs and the choice of trials: the same give the same trials, bit for bit.
        ranges : tuple of Range
            In place of the parameters that the registry says are worth tuning.
        model, check_memory
            As for `fit`.
        Further ones are the method's settings; a parameter that is given is fixed and not tuned.

    Raises
    ------
    ParameterError
        An unknown method or setting, a value out of range, nothing to tune, or nothing held out.
    StopRun
        The poll ended the first trial.

    Examples
    --------
    >>> import acvb_core
    >>> from acvb_core.engine.tuning import tune
    >>> from acvb_core.core.spec import Range
    >>> corpus = acvb_core.load_sample("bars").corpus
    >>> ranges = (Range("beta", 0.01, 1.0, log=True),)
    >>> tuning = tune(corpus, "cvb0", 3, ranges=ranges, heldout=0.1, k=10, max_sweeps=10)
    >>> len(tuning.table())
    3
    """
    search = plan_search(data, method, trials, **options)
    return finish_study(search, Tuning(search.space.names), watch=watch, poll=poll, executor=executor)
