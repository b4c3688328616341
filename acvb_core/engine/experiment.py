"""Experiments: several methods and settings over the same splits, and which of them is better."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from acvb_core.core.errors import AcvbError, ParameterError
from acvb_core.core.parameters import check_whole_number
from acvb_core.core.protocols import Checkpoint, no_checkpoint
from acvb_core.core.rows import Method, ModelRow
from acvb_core.data.report import plural
from acvb_core.engine.fitting import Watcher, comparison_row, solve
from acvb_core.engine.free_memory import refuse_too_large
from acvb_core.engine.problem import Problem, build_problem, check_method, memory_needed
from acvb_core.engine.reading import read_data
from acvb_core.engine.run import StopRun
from acvb_core.engine.trials import FAILED
from acvb_core.evaluate.significance import compare_with_best
from acvb_core.registry import method_row, model_for, model_row

#: The score that decides, unless another is asked for.
SCORE = "heldout_log_likelihood"
#: Scores of which a lower one is better.
LOWER_IS_BETTER = ("heldout_perplexity", "heldout_rmse", "cpu_seconds", "wall_seconds")
#: Share that is held out, unless another is given.
HELD_OUT = 0.1
#: A difference with a smaller p is called one.
LEVEL = 0.05
_IDENTITY = ("run", "split", "condition", "method", "k", "seed", "heldout_seed", "verdict", "error")


@dataclass(frozen=True)
class Condition:
    """A method with the settings that an experiment varies.

    Attributes
    ----------
    label : str
        Short name: the method, and what is varied.
    factors : mapping
        Values of what is varied, by the names that were given; "k" stands for all numbers of clusters.
    values : mapping
        A value for every setting of the method.
    k : int or str
        Number of clusters, topics or features that the settings ask for; of two sides that differ as "10 x 20".
    """

    label: str
    method: str
    factors: Mapping[str, Any]
    values: Mapping[str, Any]
    k: int | str


@dataclass(frozen=True, eq=False)
class Plan:
    """An experiment before its runs: run r of every condition has split r and seed r, so that scores are paired.

    Attributes
    ----------
    seeds : tuple of int
        Of the splits, and of the runs on them.
    split : mapping
        `heldout` or `heldout_documents`, the share that is held out.
    """

    data: Any
    model: ModelRow
    conditions: tuple[Condition, ...]
    seeds: tuple[int, ...]
    split: Mapping[str, Any]
    restarts: int = 1
    check_memory: bool = True

    @property
    def n_runs(self) -> int:
        """Number of runs."""
        return len(self.conditions) * len(self.seeds)

    def build_run(self, run: int) -> Problem:
        """Return a run (from 0), not started; all conditions come on one split before the next split."""
        split, place = divmod(run, len(self.conditions))
        condition, seed = self.conditions[place], self.seeds[split]
        return build_problem(
            self.data,
            condition.method,
            condition.values,
            model=self.model.name,
            seed=seed,
            heldout_seed=seed,
            restarts=self.restarts,
            check_memory=self.check_memory,
            **self.split,
        )

    def describe_run(self, run: int) -> dict[str, Any]:
        """Return what is known of a run (from 0) before it starts."""
        split, place = divmod(run, len(self.conditions))
        condition, seed = self.conditions[place], self.seeds[split]
        return {
            "run": run + 1,
            "split": split + 1,
            "condition": condition.label,
            "method": condition.method,
            "k": condition.k,
            **condition.factors,
            "seed": seed,
            "heldout_seed": seed,
        }

    def identity(self) -> dict[str, Any]:
        """Return everything that the runs depend on, as plain values: an experiment goes on only with the same."""
        return {
            "data": self.data.fingerprint,
            "model": self.model.name,
            "conditions": [
                {"method": one.method, "factors": dict(one.factors), "values": dict(one.values)}
                for one in self.conditions
            ],
            "seeds": list(self.seeds),
            **self.split,
            "restarts": self.restarts,
        }


def plan_experiment(
    data: Any,
    methods: Iterable[str] = ("acvb0", "cvb0", "vb"),
    *,
    model: str | None = None,
    k: int | Iterable[int] | None = None,
    splits: int = 10,
    seed: int = 0,
    heldout: float = HELD_OUT,
    heldout_documents: float = 0.0,
    restarts: int = 1,
    check_memory: bool = True,
    **values: Any,
) -> Plan:
    """Return an experiment whose settings are checked; parameters and errors as for `experiment`."""
    names = [methods] if isinstance(methods, str) else list(dict.fromkeys(methods))
    if not names:
        raise ParameterError("An experiment needs methods; name at least one.")
    data = read_data(data, model, names)
    owner = model_for(data) if model is None else model_row(model)
    owner.accept(data)
    splits = check_whole_number("splits", splits, 1)
    restarts = check_whole_number("restarts", restarts, 1)
    if heldout_documents:
        heldout = 0.0
    if not (heldout or heldout_documents):
        raise ParameterError("Methods are judged by what is held out; hold out a share above 0.")
    factors = {} if k is None else {"k": k}
    factors |= values
    conditions = tuple(_list_conditions(owner, names, factors))
    for condition in conditions:
        row = method_row(owner.name, condition.method)
        check_method(owner, row, data, None)
        if check_memory:
            refuse_too_large(
                memory_needed(data, owner, row, row.values(dict(condition.values)), restarts), owner, row
            )
    seeds = tuple(range(seed, seed + splits * restarts, restarts))
    split = {"heldout": float(heldout), "heldout_documents": float(heldout_documents)}
    plan = Plan(data, owner, conditions, seeds, split, restarts, check_memory)
    plan.build_run(0)  # what cannot be split so is refused now, not in every run
    return plan


def _list_conditions(
    model: ModelRow, methods: Sequence[str], factors: Mapping[str, Any]
) -> Iterator[Condition]:
    """Yield each method with each combination of the values that are varied and that it has."""
    rows = [method_row(model.name, name) for name in methods]
    choices = {name: _list_values(value) for name, value in factors.items()}
    for name, chosen in choices.items():
        if not chosen:
            raise ParameterError(f"{name} has no value; give at least one.")
        if not any(_settings_named(model, row, name) for row in rows):
            have = "has" if len(rows) == 1 else "have"
            raise ParameterError(f"{' and '.join(methods)} {have} no setting {name!r}.")
    for row in rows:
        own = {name: chosen for name, chosen in choices.items() if _settings_named(model, row, name)}
        for combination in product(*own.values()):
            given = dict(zip(own, combination, strict=True))
            asked = {setting: given[name] for name in own for setting in _settings_named(model, row, name)}
            values = row.values(asked)  # a wrong one is named before any run
            ks = list(dict.fromkeys(values[name] for name in _settings_named(model, row, "k")))
            k = " x ".join(map(str, ks)) if len(ks) > 1 else int(ks[0])
            varied = {name: value for name, value in given.items() if len(choices[name]) > 1}
            label = " · ".join([row.label, *(f"{_spell(name)} {value}" for name, value in varied.items())])
            yield Condition(label, row.name, varied, values, k)


def _settings_named(model: ModelRow, row: Method, name: str) -> list[str]:
    """Return the settings of a method that a name stands for: itself, or for "k" all numbers of clusters."""
    own = [parameter.name for parameter in row.parameters]
    if name in own:
        return [name]
    return [cap for cap in model.caps.values() if cap in own] if name == "k" else []


def _list_values(value: Any) -> list[Any]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        return [value]
    return list(dict.fromkeys(value))


def _spell(name: str) -> str:
    return {"k": "K"}.get(name, name.replace("_", " "))


@dataclass(frozen=True, eq=False)
class Experiment:
    """The runs of an experiment that are over, and what they show.

    Attributes
    ----------
    rows : tuple of dict
        One a run, as in `table`.
    """

    plan: Plan
    rows: tuple[Mapping[str, Any], ...] = ()

    @property
    def is_complete(self) -> bool:
        """True when all runs are over."""
        return len(self.rows) == self.plan.n_runs

    def with_row(self, row: Mapping[str, Any]) -> Experiment:
        """Return the experiment with one more run."""
        return replace(self, rows=(*self.rows, row))

    def table(self) -> pd.DataFrame:
        """Return one row a run.

        Columns: run, split, condition, method, k (asked for), what is varied, seed, heldout_seed, verdict (FAILED
        where it broke off), error (why), setting_… (all settings), then the diagnostics and scores of
        `Comparison.table`, with the clusters in use as effective_k_….
        """
        frame = pd.DataFrame([dict(row) for row in self.rows])
        first = [name for name in _IDENTITY if name in frame]
        return frame[[*first, *(name for name in frame if name not in first)]] if len(frame) else frame

    @property
    def scores(self) -> list[str]:
        """Names of the held-out scores that the runs have."""
        names = dict.fromkeys(name for row in self.rows for name in row)
        return [name for name in names if name.startswith("heldout_") and name != "heldout_seed"]

    def check_score(self, score: str) -> None:
        """Raise ParameterError for a score that no run has, once runs have scores."""
        if self.scores and not any(score in row for row in self.rows):
            raise ParameterError(f"No run has the score {score!r}; they have {', '.join(self.scores)}.")

    def summary(self, score: str = SCORE) -> pd.DataFrame:
        """Return one row a condition.

        Columns: condition, method, k, what is varied, n (runs with a score), failed, mean, sd, best (has the best
        mean), difference (mean distance from the best on the same splits; below 0 is worse), low and high (its 95 %
        interval), p (paired t-test) and p_wilcoxon (signed ranks), both adjusted by Holm over all pairs of
        conditions, significant (worse than the best, p < 0.05), cpu_seconds (mean).

        Raises
        ------
        ParameterError
            No run has such a score.
        """
        self.check_score(score)
        values = self._matrix(score)
        sign = -1.0 if score in LOWER_IS_BETTER else 1.0
        best, tests = compare_with_best(sign * values)
        known = np.isfinite(values)
        rows = []
        for place, condition in enumerate(self.plan.conditions):
            own = values[place][known[place]]
            over = [row for row in self.rows if row["condition"] == condition.label]
            rows.append(
                {
                    "condition": condition.label,
                    "method": condition.method,
                    "k": condition.k,
                    **condition.factors,
                    "n": len(own),
                    "failed": len(over) - len(own),
                    "mean": float(own.mean()) if len(own) else np.nan,
                    "sd": float(own.std(ddof=1)) if len(own) > 1 else np.nan,
                    "best": place == best,
                    **{name: float(getattr(tests, name)[place]) for name in ("difference", "low", "high")},
                    "p": float(tests.p_t[place]),
                    "p_wilcoxon": float(tests.p_wilcoxon[place]),
                    "significant": bool(tests.p_t[place] < LEVEL),
                    "cpu_seconds": float(
                        np.mean([row.get("cpu_seconds", np.nan) for row in over] or [np.nan])
                    ),
                }
            )
        return pd.DataFrame(rows)

    def _matrix(self, score: str) -> np.ndarray:
        """Return the scores, shape (n_conditions, n_splits); NaN where a run is not over, or has none."""
        n = len(self.plan.conditions)
        values = np.full((n, len(self.plan.seeds)), np.nan)
        for row in self.rows:
            split, place = divmod(row["run"] - 1, n)
            value = row.get(score)
            values[place, split] = np.nan if value is None else value
        return values

    def conclusion(self, score: str = SCORE) -> str:
        """Return the answer in plain words."""
        table = self.summary(score) if self.rows else None
        if table is None or not table["best"].any():
            return "No run has a score yet."
        best = table[table["best"]].iloc[0]
        others = table[~table["best"] & (table["n"] > 0)]
        says = [
            f"{best.condition} has the best mean ({_write(best['mean'])}, {plural(int(best.n), 'split')})."
        ]
        if len(others) and best.n < 2:
            return f"{says[0]} One split tells nothing about differences: run more."
        level = others[~others["significant"]]
        if len(level):
            names = _join([str(name) for name in level["condition"]])
            says.append(f"{names} {'is' if len(level) == 1 else 'are'} not told apart from it.")
        for row in others[others["significant"]].sort_values("difference", ascending=False).itertuples():
            says.append(
                f"{row.condition} is worse by {_write(-row.difference)} (95 % interval {_write(-row.high)} to "
                f"{_write(-row.low)}, p {_write_p(row.p)}, {plural(int(row.n), 'split')})."
            )
        return " ".join(says)


def run_experiment(
    plan: Plan,
    known: Experiment | None = None,
    *,
    watch: Watcher | None = None,
    checkpoint: Checkpoint = no_checkpoint,
) -> Iterator[Experiment]:
    """Yield the experiment after every run; from a known part of it, make the runs that are missing.

    A run that fails is a row with its reason. One that the checkpoint stops does not count, and ends the experiment.
    """
    now = known or Experiment(plan)
    over = {row["run"] for row in now.rows}
    for run in range(plan.n_runs):
        if run + 1 in over:
            continue
        try:
            checkpoint()
            row = _make_run(plan, run, watch, checkpoint)
        except StopRun:
            return
        now = now.with_row(row)
        yield now


def _make_run(plan: Plan, run: int, watch: Watcher | None, checkpoint: Checkpoint) -> dict[str, Any]:
    about = plan.describe_run(run)
    try:
        result = solve(plan.build_run(run), watch, checkpoint)
    except StopRun:
        raise
    except Exception as error:  # whatever it is, the other runs go on
        reason = str(error) if isinstance(error, AcvbError) else f"{type(error).__name__}: {error}"
        return {**about, "verdict": FAILED, "error": reason}
    if result.was_stopped:
        raise StopRun
    settings = {f"setting_{name}": value for name, value in result.problem.settings.values.items()}
    scores = comparison_row(result)
    if plan.restarts > 1:
        settings["winner_seed"] = scores["seed"]
    scores = {f"effective_{name}" if name.startswith("k_") else name: value for name, value in scores.items()}
    return {**settings, **scores, **about, "error": ""}


def experiment(
    data: Any,
    methods: Iterable[str] = ("acvb0", "cvb0", "vb"),
    *,
    watch: Watcher | None = None,
    checkpoint: Checkpoint = no_checkpoint,
    **options: Any,
) -> Experiment:
    """Fit several methods and settings on several splits of the data, and test which of them predicts better.

    Every run has a split and a seed of its own, which all methods share: differences are tested split by split.

    Parameters
    ----------
    data
        As for `fit`.
    methods : iterable of str
        Names in the registry.
    watch, checkpoint : callable, optional
        As for `fit`; a run that the checkpoint stops does not count, and ends the experiment.
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
        The checkpoint ended the first run.

    Examples
    --------
    >>> import acvb_core
    >>> relation = acvb_core.load_sample("southern_women").relation
    >>> experiment = acvb_core.experiment(relation, ["acvb0", "vb"], k=[3, 5], splits=2)
    >>> len(experiment.table()), len(experiment.summary())
    (8, 4)
    """
    plan = plan_experiment(data, methods, **options)
    last = deque(run_experiment(plan, watch=watch, checkpoint=checkpoint), maxlen=1)
    if not last:
        raise StopRun
    return last[0]


def _write(value: float) -> str:
    return f"{value:,.4g}"


def _write_p(p: float) -> str:
    return "< .001" if p < 0.001 else "= " + f"{p:.3f}".lstrip("0")


def _join(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
