"""A conclusion about finished runs in plain sentences: what they find, how well they agree, which predicts best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from acvb_core.engine.history import ELSEWHERE, MOTION, Verdict
from acvb_core.engine.prepared import depends_on_seed
from acvb_core.engine.result import Result
from acvb_core.evaluate.agreement import agreement
from acvb_core.views.comparison_table import clusters_of, same_documents, same_split, settings_without_seeds

#: From this agreement on runs agree well, or in part.
WELL, PARTLY = 0.8, 0.4
_NUMBERS = ("No", "One", "Both", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")


def describe_runs(results: Sequence[Result], labels: Sequence[str], reference: int | None = None) -> str:
    """Return the conclusion about some runs; "" where there is none, as of runs on different data.

    `results`: runs that have ended.
    `labels`: the names of the runs.
    `reference`: as for `order_compared`; its own answer is described elsewhere.
    """
    if not results or len({result.prepared.fingerprint for result in results}) > 1:
        return ""
    if len(results) == 1:
        return describe_run(results[0])
    sound = _list_sound(results)
    if not sound:
        return "All runs diverged: do not trust their answers."
    order, once = _rank_runs(results, sound), order_compared(results, reference)
    sentences = []
    if reference is None:
        sizes = {tuple(results[at].snapshot.effective_k.values()) for at in sound}
        by = "" if len(sizes) == 1 else f" ({labels[once[0]]})"
        sentences.append(_describe_parts(results[once[0]], by))
    if len(once) > 1:
        compared = [results[at] for at in once]
        sentences += [_describe_agreement(compared), _describe_bounds(compared)]
    if len(once) < len(sound):
        sentences.append("Repeats of a run with the same answer count once.")
    if len(order) > 1:
        sentences.append(_describe_scores(results, labels, order))
        sentences.append("" if reference is not None else _describe_baseline(results[order[0]]))
    sentences += _describe_ends(results, labels)
    return " ".join(sentence for sentence in sentences if sentence)


def order_compared(results: Sequence[Result], reference: int | None = None) -> list[int]:
    """Return the places of the runs that are compared: the reference first, no diverged run, no copy of another.

    `reference`: the run whose topics or features are looked for in the others; by default the one that predicts
      held-out data best, or the first.
    """
    sound = _list_sound(results)
    first = [reference] if reference in sound else [*_rank_runs(results, sound), *sound][:1]
    kept: list[int] = []
    for at in dict.fromkeys([*first, *sound]):
        if not any(_is_copy(results[at], results[other]) for other in kept):
            kept.append(at)
    return kept


def _list_sound(results: Sequence[Result]) -> list[int]:
    """Return the places of the runs that did not diverge."""
    return [at for at, result in enumerate(results) if result.verdict is not Verdict.DIVERGED]


def describe_found(found: int, n: int, parts: tuple[str, str], fewest: int) -> str:
    """Return how many parts of the reference every other run has, and how many it could have, in sentences.

    `parts`: what they are called, one and many. `fewest`: of any of the runs.
    """
    one, many = parts
    if found == n:
        them = f"The {one} is" if n == 1 else f"Both {many} are" if n == 2 else f"All {n:,} {many} are"
        return f"{them} found by every run."
    few = f" One of the runs has only {fewest:,} {one if fewest == 1 else many}." if fewest < n else ""
    if not found:
        return f"None of {n:,} {many} is found by every run: do not present them as certain.{few}"
    some = f"{'' if found >= WELL * n else 'Only '}{found:,} of {n:,} {many} {'is' if found == 1 else 'are'}"
    return f"{some} found by every run: do not present the others as certain.{few}"


def count_fewest(results: Sequence[Result]) -> int:
    """Return the least number of parts that a run has in use."""
    return min(sum(result.snapshot.effective_k.values()) for result in results)


def describe_run(result: Result) -> str:
    """Return the conclusion about one run: what it found, how it ended, how well it predicts."""
    score = ""
    if result.snapshot.heldout is not None:
        score = f"Held-out {_write_score(result)}{_describe_average(result)} {_describe_baseline(result)}".rstrip()
    full = ""
    if result.full_domains:
        domains = result.prepared.model_row.domains
        names = [f"{most:,} {domains[domain]}" for domain, most in result.full_domains.items()]
        full = f"All {_join(names)} that the run may have are in use; start with more."
    over = "" if result.heldout_peak is None else result.heldout_peak.describe(result.prepared.model_row)
    said = (_describe_parts(result), full, _describe_end(result), score, over)
    return " ".join(part for part in said if part)


def _describe_parts(result: Result, by: str = "") -> str:
    """Return what a run found: "12 × 24 clusters."."""
    sizes, row = list(result.snapshot.effective_k.values()), result.prepared.model_row
    one, many = row.display.parts
    if not any(sizes):
        return f"No {one} found{by}."
    if all(size == 1 for size in sizes) and row.clusterings:
        return f"No structure found{by}: one {one} holds everything."
    asked = result.prepared.spec.values.get(row.display.asked, 0)
    if sum(sizes) < asked:
        return f"{sum(sizes):,} of {asked:,} {many} in use{by}; the others are empty."
    return f"{' × '.join(f'{size:,}' for size in sizes)} {one if sizes == [1] else many}{by}."


def _describe_end(result: Result) -> str:
    """Return how one run ended."""
    if result.verdict is Verdict.CONVERGED:
        moving = result.snapshot.has_settled is False
        rest = f" after {result.snapshot.sweep:,} sweeps ({MOTION[False]})" if moving else ""
        elsewhere = f" {ELSEWHERE.capitalize()}." if _depends_on_seed(result) else ""
        return f"Converged{rest}.{elsewhere}"
    if result.verdict is Verdict.DIVERGED:
        return "The run diverged: do not trust this answer. Try another seed, or settings closer to the defaults."
    if result.verdict is Verdict.STOPPED:
        return "Stopped by hand before it ended."
    if result.prepared.row.monitored is None:
        return ""
    return "Not converged: it reached its limit first."


def _rank_runs(results: Sequence[Result], sound: Sequence[int]) -> list[int]:
    """Return the positions of the runs that have comparable held-out scores, best first."""
    scored = {at: results[at].snapshot.heldout for at in sound}
    scores = {at: score.log_likelihood for at, score in scored.items() if score is not None}
    scores = {at: score for at, score in scores.items() if np.isfinite(score)}
    if not same_split([results[at] for at in scores]):
        return []
    return sorted(scores, key=lambda at: -scores[at])


def _write_score(result: Result) -> str:
    score = result.prepared.model_row.display.score
    return f"{score.name} {score.write(_score_of(result))}"


def _score_of(result: Result) -> float:
    return float(getattr(result.snapshot.heldout, result.prepared.model_row.display.score.field))


def _describe_average(result: Result) -> str:
    """Return how the score continues where samples, averaged, predict held-out data too: " alone, 31.4 % …"."""
    score = result.prepared.model_row.display.score
    averaged = float(getattr(result.snapshot.heldout, score.averaged, np.nan)) if score.averaged else np.nan
    if result.prepared.row.sampled or not np.isfinite(averaged):
        return "."
    parts = result.prepared.model_row.display.parts[1]
    return f" by the {parts} alone, {score.write(averaged)} by the mean of samples."


def _describe_baseline(result: Result) -> str:
    """Return how the score compares with that of the baseline: "The column means have -1.44."."""
    score, scores = result.prepared.model_row.display.score, result.snapshot.heldout._asdict()
    baseline = score.find_baseline(scores)
    if baseline is None:
        return ""
    text = score.write(baseline)
    if scores[score.field] <= baseline or score.are_level(scores[score.field], baseline):
        return f"This is no better than the {score.baseline_name} ({text})."
    return f"The {score.baseline_name} have {text}."


def _is_copy(one: Result, other: Result) -> bool:
    """Return whether two runs have the same method and start, and the same bits."""
    mine, theirs = one.prepared.spec, other.prepared.spec
    if (mine.model, mine.method) != (theirs.model, theirs.method):
        return False
    if mine.seed != theirs.seed and _depends_on_seed(one):
        return False
    own, same = one.snapshot.posterior, other.snapshot.posterior
    return all(name in same.arrays and np.array_equal(own[name], same[name]) for name in own.averaged)


def _depends_on_seed(result: Result) -> bool:
    return depends_on_seed(result.prepared.spec, result.prepared.row)


def _describe_scores(results: Sequence[Result], labels: Sequence[str], order: Sequence[int]) -> str:
    """Return which run predicts best, and which are level with it."""
    first = results[order[0]]
    best, are_level = _score_of(first), first.prepared.model_row.display.score.are_level
    level = [labels[at] for at in order[1:] if are_level(best, _score_of(results[at]))]
    text = _write_score(first)
    if len(level) == len(order) - 1:
        return f"{'Both' if len(order) == 2 else 'All'} predict held-out data equally well ({text})."
    if level:
        text += f", {_join(level)} level with it"
    return f"Best held-out prediction: {labels[order[0]]} ({text})."


def _describe_agreement(chosen: Sequence[Result]) -> str:
    """Return how well the answers of runs agree with that of the first, or with each other."""
    row = chosen[0].prepared.model_row
    if len({result.prepared.spec.method for result in chosen}) == len(chosen):
        who = "methods"
    else:
        seeds = {result.prepared.spec.seed for result in chosen}
        who = "seeds" if len(seeds) == len(chosen) and _are_alike(chosen) else "runs"
    number = _NUMBERS[len(chosen)] if len(chosen) < len(_NUMBERS) else f"{len(chosen):,}"
    if row.count_alike is not None:
        alike, n = row.count_alike([result.snapshot.posterior for result in chosen])
        if not n:
            return ""
        found = describe_found(alike, n, row.display.parts, count_fewest(chosen))
        return f"{number} {who} {_grade(alike / n)}. {found}"
    if not row.clusterings or not same_documents(chosen):
        return ""
    # Runs with one clustering beside runs with two are compared on both sides, as the first of these names them.
    widest = max((result.prepared.model_row.clusterings for result in chosen), key=len)
    values = {name: measure_agreement(chosen, domain) for domain, name in widest.items()}
    grades = {name: _grade(value) for name, value in values.items()}
    if len(set(grades.values())) == 1:
        on = {name: f" on {name}" if len(values) > 1 else "" for name in values}
        what = [f"{value:.2f}{on[name]}" for name, value in values.items()]
        return f"{number} {who} {next(iter(grades.values()))} (ARI {', '.join(what)})."
    each = [f"{grades[name]} on {name} (ARI {value:.2f})" for name, value in values.items()]
    return f"{number} {who} {_join(each)}."


def _describe_bounds(chosen: Sequence[Result]) -> str:
    """Return how far apart the bounds of runs end that differ in the seed alone; "" for other runs."""
    bounds = [bound for result in chosen if (bound := result.snapshot.lower_bound) is not None]
    if not _are_alike(chosen) or len(bounds) < len(chosen):
        return ""
    gaps = np.abs(np.subtract.outer(bounds, bounds))[np.triu_indices(len(bounds), 1)]
    if gaps.max() < 0.1:
        return "Their lower bounds differ by less than 0.1 nats."
    low, high = (f"{gap:,.0f}" if gap >= 10 else f"{gap:.1f}" for gap in (gaps.min(), gaps.max()))
    text = high if low == high else f"up to {high}" if low == "0.0" else f"{low} to {high}"
    return f"Their lower bounds differ by {text} nats."


def _are_alike(results: Sequence[Result]) -> bool:
    """Return whether runs differ in their seeds at most."""
    return len({settings_without_seeds(result) for result in results}) == 1


def measure_agreement(results: Sequence[Result], domain: str) -> float:
    """Return the adjusted Rand index of a domain's clusterings, on average over the pairs of runs."""
    clusters = clusters_of(results, domain)
    return float(np.mean([agreement(one, other)["ari"] for one, other in combinations(clusters, 2)]))


def _grade(value: float) -> str:
    return "agree well" if value >= WELL else "agree in part" if value >= PARTLY else "hardly agree"


def _describe_ends(results: Sequence[Result], labels: Sequence[str]) -> list[str]:
    """Return which runs have not converged, which overfit, and which diverged."""

    def is_open(result: Result) -> bool:
        cut_short = result.verdict in (Verdict.MAX_SWEEPS, Verdict.STOPPED)
        return cut_short and result.prepared.row.monitored is not None

    # A sentence that begins with a name of a run could begin with a small letter.
    kinds: dict[str, Callable[[Result], bool]] = {
        "Not converged": is_open,
        "Overfitting (better held-out score in earlier sweeps)": lambda one: one.heldout_peak is not None,
        "Left out, as diverged": lambda one: one.verdict is Verdict.DIVERGED,
    }
    named = {
        text: [label for result, label in zip(results, labels, strict=True) if holds(result)]
        for text, holds in kinds.items()
    }
    return [f"{text}: {_join(names)}." for text, names in named.items() if names]


def _join(names: Sequence[str]) -> str:
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)
