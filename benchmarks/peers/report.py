"""Tables of the figures: medians and spreads, and what failed or is absent with the reason."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.peers.runner import Run

#: The scores of each task, as the tables show them.
SCORES = {
    "topics": {"perplexity": "perplexity"},
    "networks": {"auc": "AUC", "skill": "skill", "ari": "ARI"},
    "relations": {"auc": "AUC", "skill": "skill", "ari": "ARI"},
    "features": {"log_likelihood": "log likelihood", "explained": "variance predicted"},
}
#: How the scores are written.
_FORMS = {"perplexity": "{:,.0f}"} | dict.fromkeys(
    ("auc", "skill", "ari", "log_likelihood", "explained"), "{:.3f}"
)
#: A perplexity this much above a peer's best counts as reached.
CLOSE = 1.01
#: Our methods of topics, which are timed to the peers' best perplexity.
OURS = ("CVB0", "ACVB0", "Gibbs")

Point = dict[str, Any]
Row = dict[str, Any]


def find_best(curve: Sequence[Point]) -> Point:
    """Return the answer with the highest held-out likelihood; the last one where there is no likelihood."""
    return max(reversed(curve), key=lambda point: point.get("log_likelihood", 0.0))


def seconds_to(curve: Sequence[Point], perplexity: float) -> float | None:
    """Return the least processor time of an answer with at most this perplexity; None if there is none."""
    reached = [point["cpu_seconds"] for point in curve if point["perplexity"] <= perplexity]
    return min(reached, default=None)


def summarise_runs(runs: Sequence[Run]) -> list[Row]:
    """Return one row a case: medians over its repetitions, least and most seconds, or the reason of none."""
    rows: list[Row] = []
    by_case: dict[tuple[str, str, str], list[Run]] = {}
    for run in runs:
        by_case.setdefault((run.case.task, run.case.data, run.case.method), []).append(run)
    for (task, data, method), some in by_case.items():
        row: Row = {"task": task, "data": Path(data).name, "method": method}
        kinds = ("absent", "failed")
        reasons = [f"{kind}: {run.outcome[kind]}" for run in some for kind in kinds if kind in run.outcome]
        curves = [run.outcome["curve"] for run in some if "curve" in run.outcome]
        row["repetitions"] = len(curves)
        if curves:
            best = [find_best(curve) for curve in curves]
            seconds = [_time_of(task, curve, point) for curve, point in zip(curves, best, strict=True)]
            row |= {"cpu_seconds": statistics.median(seconds), "spread": [min(seconds), max(seconds)]}
            known = [name for name in SCORES[task] if all(name in point for point in best)]
            row |= {name: statistics.median(point[name] for point in best) for name in known}
            row["step"] = best[-1]["step"]
        if reasons:
            row["reason"] = reasons[0]
        rows.append(row)
    _add_ratios(rows, by_case)
    return rows


def _time_of(task: str, curve: Sequence[Point], best: Point) -> float:
    """Return the time to within 1 % of the best perplexity, of other tasks that of the best answer."""
    if task != "topics":
        return float(best["cpu_seconds"])
    seconds = seconds_to(curve, CLOSE * best["perplexity"])
    assert seconds is not None
    return seconds


def compare_times(curve: Sequence[Point], ours: Sequence[Sequence[Point]]) -> float | None:
    """Return how many times our seconds a peer takes to its own best perplexity + 1 %.

    Ours are those of the first of our methods to get there; None if none does.
    """
    target = CLOSE * find_best(curve)["perplexity"]
    theirs = seconds_to(curve, target)
    reached = [seconds for one in ours if (seconds := seconds_to(one, target)) is not None]
    return theirs / min(reached) if reached and theirs is not None else None


def _add_ratios(rows: list[Row], by_case: dict[tuple[str, str, str], list[Run]]) -> None:
    """Add the median of `compare_times` to the peers of topics, where every repetition has one."""
    for row, ((task, data, method), some) in zip(rows, by_case.items(), strict=True):
        if task != "topics" or method in OURS:
            continue
        ratios = []
        for run in some:
            own = [one for name in OURS for one in by_case.get((task, data, name), ())]
            same = [one.outcome for one in own if one.repetition == run.repetition]
            ours = [outcome["curve"] for outcome in same if "curve" in outcome]
            if "curve" in run.outcome:
                ratios.append(compare_times(run.outcome["curve"], ours))
        known = [ratio for ratio in ratios if ratio is not None]
        if known and len(known) == len(ratios):
            row["times_ours"] = statistics.median(known)


def write_table(rows: Sequence[Row], facts: dict[str, Any]) -> str:
    """Return the tables in Markdown, one for each task."""
    lines = [
        "# Compared with other packages",
        "",
        f"`{facts['command']}` on {facts['machine']}; load average {facts['load'][0]:.1f} at the start, "
        f"{facts['load'][1]:.1f} at the end. Medians of the repetitions, each on a split of its own that all methods "
        "share; seconds are processor time of the fit alone, one thread, with the least and the most.",
        "",
    ]
    for task, some in groupby(rows, key=lambda row: row["task"]):
        lines += [f"## {task.capitalize()}", "", EXPLANATIONS[task], "", *_table(task, list(some)), ""]
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    return "\n".join([*lines, f"Versions: {versions}.", ""])


EXPLANATIONS = {
    "topics": (
        "10 % of each document's words are held out; alpha = 0.1, beta = 0.01. Samplers predict by the mean of the "
        "later half of their samples. The perplexity is the lowest on the way, the seconds are those to 1 % above "
        "it. *times ours* divides a peer's by the seconds in which the first of CVB0, ACVB0 and Gibbs gets to that "
        "same perplexity; it is empty if none does."
    ),
    "networks": (
        "10 % of the pairs are held out. Methods that give only groups predict by the density of the block, "
        "degree-corrected ones by degrees as well. These peers fit as if pairs held out were not linked, and ours "
        "knows that they are unknown. graph-tool takes the best of five starts by description length (*clusters*), and "
        "from there samples of its posterior (*mean of samples*). Compare clusters with clusters, and samples with "
        "samples. ARI: adjusted Rand index with the groups known beforehand, where there are such."
    ),
    "relations": (
        "10 % of the entries are held out; the peers fit as if they were zeros. scikit-learn is given numbers of "
        "clusters; the table has the best by the held-out score, and the time of that fit alone, which favours it. "
        "ARI: adjusted Rand index of the rows with their known groups, where there are such."
    ),
    "features": (
        "30 % of the cells are held out. scikit-learn's models are given the number of factors, and are fitted up to "
        "five times, each time to the table as the fit before completed it. Shown are the best numbers of factors and "
        "of fits by the held-out score, and the time of these fits alone, which favours them."
    ),
}


def _table(task: str, rows: list[Row]) -> list[str]:
    heads = [
        "data",
        "method",
        *SCORES[task].values(),
        "CPU s",
        *(["times ours"] if task == "topics" else []),
        "best of the last run",
    ]
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for row in rows:
        cells = [row["data"], row["method"]]
        cells += [_FORMS[name].format(row[name]) if name in row else "" for name in SCORES[task]]
        if "spread" in row:
            low, high = row["spread"]
            cells.append(f"{row['cpu_seconds']:.2g} ({low:.2g} to {high:.2g})")
        else:
            cells.append("")
        if task == "topics":
            cells.append(f"{row['times_ours']:.1f}" if "times_ours" in row else "")
        cells.append("; ".join(filter(None, (row.get("step"), row.get("reason", "").replace("|", "/")))))
        lines.append(f"| {' | '.join(cells)} |")
    return lines
