"""How many topics: a range that several measures support, from runs that differ in the number of topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from acvb_core.engine.result import Result
from acvb_core.evaluate.alignment import stability
from acvb_core.evaluate.ranking import jensen_shannon
from acvb_core.models.lda.topics import word_probability

#: Measures that decide -> (what it is called, 1 if higher is better, least difference that matters; of perplexities, of
#: their logarithms). Of the two perplexities the first one that is known counts.
_MEASURES: dict[str, tuple[str, int, float]] = {
    "npmi": ("coherence", 1, 0.02),
    "exclusivity": ("exclusivity", 1, 0.05),
    "stability": ("stability", 1, 0.1),
    "heldout_perplexity": ("held-out perplexity", -1, 0.02),
    "loo_perplexity": ("leave-one-out perplexity", -1, 0.02),
}
#: Numbers are in the range if their mean score is so close to the best one.
_CLOSE = 0.1
#: The measures agree if the best mean score is at least this.
_AGREE = 0.65
#: A measure is left out if its means differ by less than so many standard deviations of runs with the same number.
_NOISE = 2.0


class Recommendation(NamedTuple):
    """Numbers of topics that do well by all measures together, from `low` to `high`, and one of them to begin with.

    `knee`: the smallest of them; if the measures disagree, the one in the middle.
    `scores`: the mean score of each number that was tried, from 0 (the worst one by every measure) to 1 (the best).
    """

    low: int
    high: int
    knee: int
    scores: pd.Series
    sentence: str


def measure_stability(results: Iterable[Result]) -> dict[int, float]:
    """Return how alike the topics are that two seeds find, by the number of topics; numbers with one run are left out.

    The mean similarity (1 - Jensen-Shannon distance, base 2) of topics in the best pairing, less that of all pairs, as
    a share of what is possible: 1 for the same topics, 0 if a topic is like any other of the second run.
    """
    found: dict[int, list[NDArray[np.float64]]] = {}
    for result in results:
        phi = word_probability(result.posterior)
        found.setdefault(int(result.prepared.spec.values["k"]), []).append(phi)
    alike = {k: [_compare(*pair) for pair in combinations(runs, 2)] for k, runs in found.items()}
    return {k: float(np.mean(values)) for k, values in alike.items() if values}


def _compare(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    any_pair = float(np.mean(1.0 - jensen_shannon(one, other)))
    same = float(stability([one, other]).similarity.mean())
    return (same - any_pair) / (1.0 - any_pair) if any_pair < 1.0 else 1.0


def recommend_k(table: pd.DataFrame, stable: Mapping[int, float]) -> Recommendation | None:
    """Return the numbers of topics that do well by all measures; None if fewer than three numbers were tried.

    Each measure is scaled from 0 at its worst mean to 1 at its best one, perplexities by their logarithms, and the mean
    over the measures is the score of a number. Every number within 0.1 of the best score is recommended. If no number
    has a score of 0.65, the measures disagree, and the range is between the numbers that are best by each.

    A measure that hardly differs between the numbers, or by no more than between seeds, is left out. Of exclusivity
    counts what is above chance: a word that all topics use alike belongs to one of them by 1 / k.

    `table`: as `grid_table` gives it.
    `stable`: as `measure_stability` gives it.
    """
    numbers = sorted(set(table["k"].tolist()))
    if len(numbers) < 3:
        return None
    by_chance = 1.0 / table["k"]  # of a word that all topics use alike
    known = table.assign(
        stability=table["k"].map(dict(stable)).astype(float),
        exclusivity=(table["exclusivity"] - by_chance) / (1.0 - by_chance).replace(0.0, np.nan),
    )
    scaled = {name: _scale(known, name) for name in _MEASURES}
    used = {name: values for name, values in scaled.items() if values is not None}
    if "heldout_perplexity" in used:
        used.pop("loo_perplexity", None)
    if not used:
        return None
    scores = pd.DataFrame(used).mean(axis=1)
    best = {name: int(values.idxmax()) for name, values in used.items()}
    if scores.max() < _AGREE:
        low, high = min(best.values()), max(best.values())
        middle = min(numbers, key=lambda k: abs(np.log(k * k / (low * high))))
        return Recommendation(low, high, middle, scores, _describe_dispute(low, high, middle, best))
    close = scores[scores >= scores.max() - _CLOSE].index
    # Numbers next to each other, around the best one: a range has no gaps.
    first = last = numbers.index(int(scores.idxmax()))
    while first > 0 and numbers[first - 1] in close:
        first -= 1
    while last + 1 < len(numbers) and numbers[last + 1] in close:
        last += 1
    low, high = numbers[first], numbers[last]
    return Recommendation(low, high, low, scores, _describe_range(numbers, low, high, best))


def _scale(table: pd.DataFrame, name: str) -> pd.Series | None:
    """Return a measure of each number from 0 (worst) to 1 (best); None if it is unknown or is noise alone."""
    _, sign, least = _MEASURES[name]
    values = table[name].astype(float).replace([np.inf, -np.inf], np.nan)
    values = np.log(values) if sign < 0 else values
    groups = values.groupby(table["k"])
    mean = groups.mean().dropna()
    if len(mean) < table["k"].nunique() or np.ptp(mean) < least:
        return None
    within = groups.var().mean()  # NaN with one seed
    if np.isfinite(within) and np.ptp(mean) < _NOISE * np.sqrt(within):
        return None
    return sign * (mean - (mean.min() if sign > 0 else mean.max())) / np.ptp(mean)


def _describe_range(numbers: Sequence[int], low: int, high: int, best: Mapping[str, int]) -> str:
    range_ = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    text = (
        f"{range_} {'topic does' if high == 1 else 'topics do'} best by all measures together ({_list(best)})"
    )
    if high == numbers[-1]:
        return f"{text}; as {high:,} is the largest number tried, larger ones may do better still."
    if low == numbers[0] and low > 1:
        return f"{text}; as {low:,} is the smallest number tried, smaller ones may do better still."
    return f"{text}."


def _describe_dispute(low: int, high: int, middle: int, best: Mapping[str, int]) -> str:
    text = f"The measures disagree ({_list(best)}), so any number from {low:,} to {high:,} can be defended"
    return f"{text}; {middle:,} lies in the middle."


def _list(best: Mapping[str, int]) -> str:
    """Return the number that is best by each measure alone: "coherence is best at 10, stability at 5"."""
    numbers: dict[int, list[str]] = {}
    for name, k in best.items():
        numbers.setdefault(k, []).append(_MEASURES[name][0])
    (k, first), *others = sorted(numbers.items())
    verb = "is" if len(first) == 1 else "are"
    return ", ".join(
        [f"{_join(first)} {verb} best at {k:,}", *(f"{_join(more)} at {k:,}" for k, more in others)]
    )


def _join(names: Sequence[str]) -> str:
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)
