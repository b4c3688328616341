"""Experiments: the table of their runs, its summary with tests, the answer in plain words; all runs in one call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from acvb_core.core.display import write_number
from acvb_core.core.errors import ParameterError
from acvb_core.core.protocols import Poll, no_poll
from acvb_core.data.report import plural
from acvb_core.engine.executor import Executor
from acvb_core.engine.experiments.answers import measure_stability
from acvb_core.engine.experiments.plan import SCORE, Condition, Plan, plan_experiment
from acvb_core.engine.fitting import Watcher
from acvb_core.engine.study import finish_study
from acvb_core.evaluate.significance import LEAST_SPLITS, compare_with_best
from acvb_core.registry import method_row

#: Scores for which lower is better.
LOWER_IS_BETTER = ("heldout_perplexity", "heldout_rmse", "cpu_seconds", "wall_seconds")
#: A difference with a smaller p is called one.
LEVEL = 0.05
_IDENTITY = ("run", "split", "condition", "method", "k", "seed", "heldout_seed", "verdict", "error")
#: Begins the scores of what the samples of a run's start predict; those of its own answer have the rest of the name.
_AVERAGED = "heldout_averaged_"
_SAMPLES = "Gibbs samples of the start"
#: What is said under a summary with rows of samples.
TWO_WAYS = (
    "Runs that begin with Gibbs samples predict in two ways: by their clusters, and by the mean of these samples. "
    "Methods that began with the same samples share a row."
)
#: Names in a label; more are counted.
_MOST_NAMES = 3


@dataclass(frozen=True)
class Predictor:
    """One row of the summary: a condition, or one of the two ways in which its runs predict."""

    label: str
    by: str  #: "clusters" or "samples"; empty for a method that predicts in one way only
    conditions: tuple[Condition, ...]  #: several if they began with the same samples
    column: str  #: its scores in the table of runs


@dataclass(frozen=True, eq=False, repr=False)
class Experiment:
    """The runs of an experiment that are over, and what they show."""

    plan: Plan
    rows: tuple[Mapping[str, Any], ...] = ()  #: one a run, as in `table`

    def __repr__(self) -> str:
        conditions = [f"  {one.label}" for one in self.plan.conditions]
        shown = conditions if len(conditions) <= 5 else [*conditions[:4], f"  … {len(conditions) - 4} more"]
        runs = f"{self.n_runs:,} of {plural(self.plan.n_runs, 'run')} on {self.plan.data!r}"
        return "\n".join([f"Experiment({runs})", *shown])

    def _repr_html_(self) -> str:
        """Return the experiment as a notebook shows it: the first rows of its summary."""
        if not self.scores:
            return f"<pre>{escape(repr(self))}</pre>"
        return str(self.summary().to_html(index=False, border=0, max_rows=10, max_cols=12, notebook=False))

    @property
    def is_complete(self) -> bool:
        """True when all runs are over."""
        return len(self.rows) == self.plan.n_runs

    @property
    def n_runs(self) -> int:
        """How many runs are over."""
        return len(self.rows)

    @property
    def last_run(self) -> Mapping[str, Any]:
        """The row of the run that ended last."""
        return self.rows[-1]

    def with_run(self, row: Mapping[str, Any]) -> Experiment:
        """Return the experiment with one more run."""
        return replace(self, rows=(*self.rows, row))

    def release(self) -> Experiment:
        """Return the experiment: its rows are small."""
        return self

    def table(self) -> pd.DataFrame:
        """Return one row a run.

        Columns: run, split, condition, method, k (asked for), what is varied, seed, heldout_seed, verdict (FAILED
        where it broke off), error (why), setting_… (all settings), then the diagnostics and scores of
        `Comparison.table`, with the clusters in use as effective_k_…, then labels_…, top_words, scores_by_cpu_seconds.
        """
        frame = pd.DataFrame([dict(row) for row in self.rows])
        first = [name for name in _IDENTITY if name in frame]
        return frame[[*first, *(name for name in frame if name not in first)]] if len(frame) else frame

    @property
    def scores(self) -> list[str]:
        """Names of the held-out scores that the runs have; the samples of a start and a baseline have the same ones."""
        names = dict.fromkeys(name for row in self.rows for name in row)
        others = ("heldout_seed", f"heldout_{self.plan.model.display.score.baseline}")
        return [
            name
            for name in names
            if name.startswith("heldout_") and not name.startswith(_AVERAGED) and name not in others
        ]

    def check_score(self, score: str) -> None:
        """Raise ParameterError for a score that no run has, once runs have scores."""
        if self.scores and not any(score in row for row in self.rows):
            raise ParameterError(f"No run has the score {score!r}; they have {', '.join(self.scores)}.")

    def list_predictors(self, score: str = SCORE) -> list[Predictor]:
        """Return what the summary compares by a score: each condition, or both of its ways to predict.

        A run that begins with Gibbs samples predicts by its clusters and by the mean of these samples. Conditions whose
        samples predict the same on every split began with the same ones, which are compared once.
        """
        model = self.plan.model
        both = f"heldout_{model.display.score.averaged}"
        of_samples = score if score.startswith(_AVERAGED) else score.replace("heldout_", _AVERAGED, 1)
        sampled = self.scores_by_condition(of_samples)
        found, begun = [], dict[bytes, list[Condition]]()
        for place, condition in enumerate(self.plan.conditions):
            own = [row for row in self.rows if row["condition"] == condition.label]
            has_both = not method_row(model.name, condition.method).sampled and any(
                np.isfinite(_score_of(row, both)) for row in own
            )
            label = f"{condition.label} · {model.display.parts[1]}" if has_both else condition.label
            if not (has_both and score == of_samples):
                found.append(Predictor(label, "clusters" if has_both else "", (condition,), score))
            if has_both and np.isfinite(sampled[place]).any():
                begun.setdefault(sampled[place].tobytes(), []).append(condition)
        for same in begun.values():
            names = [condition.label for condition in same]
            if len(names) > _MOST_NAMES:
                names = [names[0], f"{len(names) - 1} more"]
            found.append(Predictor(f"{' / '.join(names)} · {_SAMPLES}", "samples", tuple(same), of_samples))
        return found

    def summary(self, score: str = SCORE) -> pd.DataFrame:
        """Return one row for each way to predict (`list_predictors`).

        Columns: condition (and the way, if it has two), method, predicts_by ("clusters" or "samples" then), k, what is
        varied, n (runs with a score), failed, mean, sd, best (has the best mean), difference (mean distance from the
        best on the same splits; below 0 is worse), low and high (its 95 % interval, corrected), p (corrected resampled
        t-test), p_uncorrected (paired t-test) and p_wilcoxon (signed ranks), all adjusted by Holm over all pairs of
        rows (`compare_paired`), significant (worse than the best, p < 0.05), cpu_seconds (mean of the runs that did not
        fail, which make both predictions), stability (of the clusters or topics). Fewer than five splits are not
        tested.

        Raises ParameterError: no run has such a score.
        """
        self.check_score(score)
        predictors = self.list_predictors(score)
        known = {one.column: self.scores_by_condition(one.column) for one in predictors}
        places = {condition.label: place for place, condition in enumerate(self.plan.conditions)}
        values = np.array([known[one.column][places[one.conditions[0].label]] for one in predictors])
        sign = -1.0 if score in LOWER_IS_BETTER else 1.0
        best, tests = compare_with_best(sign * values, ratio=self.plan.test_train_ratio)
        rows = []
        for place, one in enumerate(predictors):
            own = values[place][np.isfinite(values[place])]
            runs = [run for run in self.rows if run["condition"] == one.conditions[0].label]
            first, *others = one.conditions
            shared = {
                name: value
                for name, value in first.factors.items()
                if all(other.factors.get(name) == value for other in others)
            }
            row: dict[str, Any] = {
                "condition": one.label,
                "method": first.method,
                "predicts_by": one.by,
                "k": first.k,
                **shared,
                "n": len(own),
                "failed": sum(not np.isfinite(_score_of(run, one.column)) for run in runs),
                "mean": float(own.mean()) if len(own) else np.nan,
                "sd": float(own.std(ddof=1)) if len(own) > 1 else np.nan,
                "best": place == best,
            }
            for name in ("difference", "low", "high", "p_t", "p_uncorrected", "p_wilcoxon"):
                row[name.removesuffix("_t")] = float(getattr(tests, name)[place])
            labels = {condition.label for condition in one.conditions}
            alike = [run for run in self.rows if run["condition"] in labels]
            seconds = [value for run in alike if np.isfinite(value := _score_of(run, "cpu_seconds"))]
            row["significant"] = bool(tests.p_t[place] < LEVEL)
            row["cpu_seconds"] = float(np.mean(seconds or [np.nan]))
            row["stability"] = np.nan if one.by == "samples" else measure_stability(pd.DataFrame(alike))
            rows.append(row)
        return pd.DataFrame(rows)

    def scores_by_condition(self, score: str, group: int = 0) -> np.ndarray:
        """Return the scores, shape (n_conditions, n_splits); NaN if a run has none.

        A split counts once all conditions have been tried on it: one that has seen a split more would be held against
        the others on easier or harder data. `group`: so many conditions in a row are held against one another; 0: all.
        """
        n = len(self.plan.conditions)
        values = np.full((n, len(self.plan.seeds)), np.nan)
        places = [divmod(row["run"] - 1, n) for row in self.rows]
        group = group or n
        tried = Counter((split, place // group) for split, place in places)
        splits = Counter(number for _, number in tried)
        for row, (split, place) in zip(self.rows, places, strict=True):
            number = place // group
            if tried[split, number] == group or splits[number] == 1:
                values[place, split] = _score_of(row, score)
        return values

    def conclusion(self, score: str = SCORE) -> str:
        """Return the answer in plain words."""
        table = self.summary(score) if self.rows else None
        if table is None or not table["best"].any():
            return "No run has a score yet."
        best = table[table["best"]].iloc[0]
        others = table[~table["best"] & (table["n"] > 0)]
        says = [
            f"{best.condition} has the best mean ({write_number(best['mean'])}, {plural(int(best.n), 'split')})"
            f"{self._describe_baseline(score)}."
        ]
        few = others[others["n"] < LEAST_SPLITS]
        if len(few):
            return f"{says[0]} Differences are tested from {LEAST_SPLITS} splits on: run more."
        equal, level = others["p"].isna(), ~others["significant"] & others["p"].notna()
        for which, text in (
            (equal, "{} differs from it by the same amount on every split, so nothing can be tested."),
            (level, "No difference from it was found for {}, which does not show that there is none."),
        ):
            if names := [str(name) for name in others[which]["condition"]]:
                listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
                says.append(text.format(listed))
        for row in others[others["significant"]].sort_values("difference", ascending=False).itertuples():
            interval = f"{write_number(-row.high)} to {write_number(-row.low)}"
            says.append(
                f"{row.condition} is worse by {write_number(-row.difference)} (95 % interval {interval}, "
                f"p {_write_p(row.p)}, {plural(int(row.n), 'split')})."
            )
        if self.plan.restarts > 1 and self.plan.model.raced_by == "heldout":
            says.append("Each run is the best of its restarts by what is held out: all scores are too good.")
        if len(others):
            says.append("This holds for these data; on other data the order may differ.")
        return " ".join(says)

    def _describe_baseline(self, score: str) -> str:
        """Return the mean of a score over the splits if its model's baseline predicts: "; column means have -1.44"."""
        main = self.plan.model.display.score
        values = self.scores_by_condition(f"heldout_{main.baseline}")
        known = values[np.isfinite(values)]
        if score != f"heldout_{main.field}" or not len(known):
            return ""
        return f"; the {main.baseline_name} have {write_number(float(known.mean()))}"


def _score_of(row: Mapping[str, Any], score: str) -> float:
    """Return a score of a run; NaN if it has none."""
    value = row.get(score)
    return float("nan") if value is None else float(value)


def _write_p(p: float) -> str:
    return "< .001" if p < 0.001 else "= " + f"{p:.3f}".lstrip("0")


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
    data, watch, poll, executor
        As for `fit`; a run that the poll stops does not count, and ends the experiment. A `DaskExecutor` computes the
        runs side by side.
    methods : iterable of str, optional
        Names in the registry. Default: acvb0, cvb0 and vb; fab, em and vb of tables.
    **options
        k : int or iterable of int
            Numbers of clusters, topics or features: for relations of both sides.
        splits : int
            Runs of each method and setting; 10 by default.
        seed : int
            Of the first split and of the runs on it; the next split has the next one (with restarts, the next that
            no race has used).
        heldout, heldout_documents : float
            Share that is held out, as for `fit`; 0.1 of the entries, words or cells by default.
        model, restarts, check_memory
            As for `fit`.
        Further ones are the methods' settings. One that is given as several values is varied; a method without it
        runs once.

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
