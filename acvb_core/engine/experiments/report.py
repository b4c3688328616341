"""The runs of an experiment: their table, its summary with tests, and the answer in plain words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from acvb_core.core.display import write_number
from acvb_core.core.errors import ParameterError
from acvb_core.data.report import plural
from acvb_core.engine.experiments.answers import measure_stability
from acvb_core.engine.experiments.plan import Plan
from acvb_core.evaluate.significance import LEAST_SPLITS, compare_with_best

#: The score that decides, unless another is asked for.
SCORE = "heldout_log_likelihood"
#: Scores of which a lower one is better.
LOWER_IS_BETTER = ("heldout_perplexity", "heldout_rmse", "cpu_seconds", "wall_seconds")
#: A difference with a smaller p is called one.
LEVEL = 0.05
_IDENTITY = ("run", "split", "condition", "method", "k", "seed", "heldout_seed", "verdict", "error")


@dataclass(frozen=True, eq=False)
class Experiment:
    """The runs of an experiment that are over, and what they show."""

    plan: Plan
    rows: tuple[Mapping[str, Any], ...] = ()  #: one a run, as in `table`

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

    def with_row(self, row: Mapping[str, Any]) -> Experiment:
        """Return the experiment with one more run."""
        return replace(self, rows=(*self.rows, row))

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
        interval, corrected), p (corrected resampled t-test), p_uncorrected (paired t-test) and p_wilcoxon (signed
        ranks), all adjusted by Holm over all pairs of conditions (`compare_paired`), significant (worse than the best,
        p < 0.05), cpu_seconds (mean of the runs that did not fail). Fewer than five splits are not tested.

        Raises ParameterError: no run has such a score.
        """
        self.check_score(score)
        values = self.scores_by_condition(score)
        sign = -1.0 if score in LOWER_IS_BETTER else 1.0
        best, tests = compare_with_best(sign * values, ratio=self.plan.test_train_ratio)
        known = np.isfinite(values)
        rows = []
        for place, condition in enumerate(self.plan.conditions):
            own = values[place][known[place]]
            over = [row for row in self.rows if row["condition"] == condition.label]
            seconds = [value for row in over if np.isfinite(value := _score_of(row, "cpu_seconds"))]
            rows.append(
                {
                    "condition": condition.label,
                    "method": condition.method,
                    "k": condition.k,
                    **condition.factors,
                    "n": len(own),
                    "failed": sum(not np.isfinite(_score_of(row, score)) for row in over),
                    "mean": float(own.mean()) if len(own) else np.nan,
                    "sd": float(own.std(ddof=1)) if len(own) > 1 else np.nan,
                    "best": place == best,
                    **{name: float(getattr(tests, name)[place]) for name in ("difference", "low", "high")},
                    "p": float(tests.p_t[place]),
                    "p_uncorrected": float(tests.p_uncorrected[place]),
                    "p_wilcoxon": float(tests.p_wilcoxon[place]),
                    "significant": bool(tests.p_t[place] < LEVEL),
                    "cpu_seconds": float(np.mean(seconds or [np.nan])),
                    "stability": measure_stability(pd.DataFrame(over)),
                }
            )
        return pd.DataFrame(rows)

    def scores_by_condition(self, score: str, group: int = 0) -> np.ndarray:
        """Return the scores, shape (n_conditions, n_splits); NaN where a run has none.

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
            f"{best.condition} has the best mean ({write_number(best['mean'])}, {plural(int(best.n), 'split')})."
        ]
        few = others[others["n"] < LEAST_SPLITS]
        if len(few):
            return f"{says[0]} Differences are tested from {LEAST_SPLITS} splits on: run more."
        equal, level = others[others["p"].isna()], others[~others["significant"] & others["p"].notna()]
        for rows, text in (
            (equal, "{} differs from it by the same amount on every split, so nothing can be tested."),
            (level, "No difference from it was found for {}, which does not show that there is none."),
        ):
            if len(rows):
                says.append(text.format(_join([str(name) for name in rows["condition"]])))
        for row in others[others["significant"]].sort_values("difference", ascending=False).itertuples():
            interval = f"{write_number(-row.high)} to {write_number(-row.low)}"
            says.append(
                f"{row.condition} is worse by {write_number(-row.difference)} (95 % interval {interval}, "
                f"p {_write_p(row.p)}, {plural(int(row.n), 'split')})."
            )
        if len(others):
            says.append("This holds for these data; on other data the order may differ.")
        return " ".join(says)


def _score_of(row: Mapping[str, Any], score: str) -> float:
    """Return a score of a run; NaN where it has none."""
    value = row.get(score)
    return float("nan") if value is None else float(value)


def _write_p(p: float) -> str:
    return "< .001" if p < 0.001 else "= " + f"{p:.3f}".lstrip("0")


def _join(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
