"""Tables of papers made anew, as Markdown: ours beside the printed figures, and what becomes of the claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from acvb_core.core.display import write_number
from acvb_core.engine.experiments.paper_calls import CommandRuns, write_origin
from acvb_core.engine.experiments.paper_claims import ClaimEvidence, judge_claims
from acvb_core.engine.experiments.papers import Cell, PaperPart, PaperResult, choose_ks, label_method
from acvb_core.engine.experiments.report import LEVEL


def write_report(
    paper: str,
    results: Sequence[PaperResult],
    made: Sequence[CommandRuns],
    pictures: Sequence[Sequence[str]] | None = None,
) -> str:
    """Return the page of a paper.

    `made`: which commands made the runs.
    `pictures`: of each table, lines that show its figures.
    """
    parts = [
        f"# {paper}, made anew",
        write_origin(made),
        "The first figure is ours, the mean over the splits. The printed one follows in brackets. **Bold**: the best "
        "of ours in its row. \\*: significantly worse than the best (paired t-test over the splits, adjusted by "
        "Holm's method, p < 0.05).",
    ]
    for result, shown in zip(results, pictures or [()] * len(results), strict=True):
        parts += [_write_table(result), *shown]
    return "\n\n".join([*parts, _write_claims(results)]) + "\n"


def _write_table(result: PaperResult) -> str:
    table = result.table
    labels = [label_method(table, name) for name in table.methods]
    has_k = table.ks != (0,)
    lines = [f"## {table.number}: {table.title}", ""]
    lines += [f"| data |{' K |' if has_k else ''} splits | {' | '.join(labels)} |"]
    lines.append("|---" * (len(labels) + 2 + has_k) + "|")
    for cell in sorted(result.cells, key=lambda cell: cell.k):
        start = f"| {cell.data} |" + (f" {cell.k} |" if has_k else "")
        lines.append(f"{start} {cell.n_splits} | {' | '.join(_write_scores(result, cell))} |")
    lines += ["", f"The paper has {table.splits} splits of the data."]
    lines += _write_course(result)
    lines += _write_limits(result)
    lines += [_write_search(part, method) for part, _ in result.parts for method in part.searches]
    if table.note:
        lines.append(table.note)
    for part, _ in result.parts:
        if part.source is None:
            lines.append(f"{part.data} cannot be had.")
        elif part.source.instead:
            lines.append(f"{part.data}: {part.source.instead}.")
    return "\n".join(lines)


def _write_limits(result: PaperResult) -> list[str]:
    """Say what is less than the paper has."""
    table, lines = result.table, []
    planned = [part for part, _ in result.parts if part.plan is not None]
    if quick := [part.data for part in planned if part.limits.quick]:
        changed = ", ".join(f"{name} {value}" for name, value in table.quick_settings.items())
        lines.append(
            f"A quick look at {', '.join(quick)}: one K at most, and {changed or 'nothing'} in place of the paper's "
            "settings."
        )
    for limits in dict.fromkeys(part.limits for part in planned if not part.limits.quick):
        ks = choose_ks(table, limits)
        if ks != table.ks:
            lines.append(f"Only K {', '.join(map(str, ks))} of {', '.join(map(str, table.ks))}.")
        if limits.most_sweeps is not None:
            lines.append(f"Methods that end by themselves have {limits.most_sweeps:,} sweeps at most.")
    return lines


def _write_search(part: PaperPart, method: str) -> str:
    """Say what a search found, and in which time."""
    trials, best = part.searches[method].trials, part.searches[method].best
    found = ", ".join(f"{name} {value:g}" for name, value in best.items())
    seconds = sum(one.cpu_seconds for one in trials if np.isfinite(one.cpu_seconds))
    return (
        f"{label_method(part.table, method)} on {part.data}: {found}, the best of {len(trials)} trials on a split of "
        f"its own, in {seconds:,.0f} s. The first trial has our default steps."
    )


def _write_scores(result: PaperResult, cell: Cell) -> list[str]:
    shown = []
    for place, method in enumerate(result.table.methods):
        known = cell.scores[place][np.isfinite(cell.scores[place])]
        text = write_number(float(known.mean())) if len(known) else _name_gap(cell, place)
        if place == cell.best:
            text = f"**{text}**"
        elif cell.worse[place]:
            text += "\\*"
        printed = result.table.find_printed(cell.k, cell.data, method)
        shown.append(text if printed is None else f"{text} ({printed:g})")
    return shown


def _name_gap(cell: Cell, place: int) -> str:
    return "failed" if cell.failed and cell.failed[place] else "not run"


def _write_course(result: PaperResult) -> list[str]:
    """Say how many runs there are where some are missing, and how long all would take."""
    made = [done for _, done in result.parts if done is not None]
    planned, rows = sum(done.plan.n_runs for done in made), sum(len(done.rows) for done in made)
    if rows == planned:
        return []
    seconds = 0.0
    for done in made:
        spent = [row.get("cpu_seconds") or 0.0 for row in done.rows]
        seconds += done.plan.n_runs * float(np.mean(spent)) if spent else 0.0
    return [
        f"Runs: {rows:,} of {planned:,}. They were ended early; all of them would take about {seconds:,.0f} s of "
        "processor time at this rate. A split without the runs of all methods is not compared."
    ]


def _write_claims(results: Sequence[PaperResult]) -> str:
    lines = ["## Claims", "", "| claim | from | here | comparisons |", "|---|---|---|---|"]
    for one in judge_claims(results):
        lines.append(f"| {one.claim.text} | {', '.join(one.tables)} | {one.verdict} | {_write_tests(one)} |")
    return "\n".join(lines)


def _write_tests(evidence: ClaimEvidence) -> str:
    """Return the comparisons in short: table, data, K, the worse method, the difference and p."""
    several = len(evidence.tables) > 1
    texts = []
    for test in evidence.tests:
        if np.isfinite(test.difference):
            where = [test.table] if several else []
            where += [
                test.data,
                *([f"K {test.k}"] if test.k else []),
                *([test.against] if test.against else []),
            ]
            texts.append(f"{' '.join(where)} {test.difference:+.3g} (p {_write_p(test.p)})")
    return "; ".join(texts)


def _write_p(p: float) -> str:
    if not np.isfinite(p):
        return "unknown"
    return "< .001" if p < 0.001 else f"= {p:.3f}"


def write_claims_page(papers: Mapping[str, Mapping[str, Any]]) -> str:
    """Return one page with the claims of several papers, from what `to_plain` gave of their tables."""
    lines = [
        "# Claims of the papers",
        "",
        "Each claim as its paper makes it, and what came of it here: paired t-tests over splits of the data, adjusted "
        f"by Holm's method over all comparisons of the claim, p < {LEVEL:g}. *Holds*: every comparison is significant. "
        "*Holds under …*: the comparisons named are significant; the others are not decided, unless it says so. *Does "
        "not hold here*: only the opposite is significant. *Not decided*: nothing is, which may be for want of splits. "
        "*Quick look*: some of the runs are shorter than the claim says. The page of a paper has each comparison, "
        "which data stood in for the paper's, and which commands made the runs.",
    ]
    for paper, content in papers.items():
        lines += ["", f"## [{paper}]({paper}.md)", ""]
        lines += ["| claim | from | here | evidence | p |", "|---|---|---|---|---|"]
        for one in content["claims"]:
            lines.append(
                f"| {one['claim']} | {', '.join(one['tables'])} | {one['verdict']} | {one['evidence']} | {one['p']} |"
            )
    return "\n".join(lines) + "\n"


def _summarise_tests(evidence: ClaimEvidence) -> dict[str, str]:
    """Return the evidence for a claim in short: how many comparisons say what, and the range of their p."""
    known = evidence.known
    if not known:
        return {"evidence": "", "p": ""}
    n = [test.n for test in known]
    of = "runs" if evidence.claim.follows else "splits"
    splits = f"{min(n)} {of}" if min(n) == max(n) else f"{min(n)} to {max(n)} {of}"
    ways = {"as claimed": 1.0, "the opposite": -1.0, "equal": 0.0}
    counts = []
    for name, way in ways.items():
        own = [test for test in known if np.sign(test.difference) == way]
        clear = sum(test.p < LEVEL for test in own)
        counts += [f"{len(own)} {name}" + (f" ({clear} significant)" if way else "")] if own else []
    if evidence.claim.alike:
        clear = sum(test.p < LEVEL for test in known)
        counts = [f"{clear} of {len(known)} comparisons differ"]
    ps = [test.p for test in known]
    ends = dict.fromkeys(_write_p(p).removeprefix("= ") for p in (min(ps), max(ps)))
    quick = "; quick look" if evidence.is_quick else ""
    return {"evidence": f"{', '.join(counts)}; {splits}{quick}", "p": " to ".join(ends)}


def to_plain(results: Sequence[PaperResult], made: Sequence[CommandRuns]) -> dict[str, Any]:
    """Return the tables of a paper as plain values: every score of every split, the claims, and what made the runs."""
    return {
        "made": [asdict(one) for one in made],
        "tables": [
            {
                "table": result.table.number,
                "score": result.table.score,
                "methods": list(result.table.methods),
                "cells": [
                    {
                        "data": cell.data,
                        "k": cell.k,
                        "scores": [[_plain(x) for x in row] for row in cell.scores],
                    }
                    for cell in result.cells
                ],
            }
            for result in results
        ],
        "claims": [
            {
                "claim": one.claim.text,
                "tables": list(one.tables),
                "verdict": one.verdict,
                **_summarise_tests(one),
                "tests": [
                    {**test._asdict(), "difference": _plain(test.difference), "p": _plain(test.p)}
                    for test in one.tests
                ],
            }
            for one in judge_claims(results)
        ],
    }


def _plain(value: float) -> float | None:
    return float(f"{value:.6g}") if np.isfinite(value) else None
