"""Tables of papers made anew, as Markdown: ours beside the printed figures, and what becomes of the claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from acvb_core.core.display import write_number
from acvb_core.engine.experiments.papers import Cell, ClaimEvidence, PaperResult, label_method


def write_report(
    paper: str,
    results: Sequence[PaperResult],
    facts: Mapping[str, str],
    pictures: Sequence[Sequence[str]] | None = None,
) -> str:
    """Return the page of a paper.

    `facts`: `command`, `machine` and `seconds`, as they are to be read.
    `pictures`: of each table, lines that show its figures.
    """
    head = (
        f"# {paper}, made anew\n\nBy `{facts['command']}` on {facts['machine']}, in {facts['seconds']} of processor "
        "time. The first figure is ours, the mean over the splits. The printed one follows in brackets. **Bold**: the "
        "best of ours in its row. \\*: significantly worse than the best (paired t-test over the splits, adjusted by "
        "Holm's method, p < 0.05)."
    )
    parts = [head]
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
    if quick := [part.data for part, _ in result.parts if part.quick and part.plan is not None]:
        changed = ", ".join(f"{name} {value}" for name, value in table.quick_settings.items())
        lines.append(
            f"A quick look at {', '.join(quick)}: one K at most, and {changed or 'nothing'} in place of the paper's "
            "settings."
        )
    if table.note:
        lines.append(table.note)
    for part, _ in result.parts:
        if part.source is None:
            lines.append(f"{part.data} cannot be had.")
        elif part.source.instead:
            lines.append(f"{part.data}: {part.source.instead}.")
    return "\n".join(lines)


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
    for result in results:
        for claim in result.table.claims:
            evidence = result.judge(claim)
            lines.append(
                f"| {claim.text} | {result.table.number} | {evidence.verdict} | {_write_tests(evidence)} |"
            )
    return "\n".join(lines)


def _write_tests(evidence: ClaimEvidence) -> str:
    """Return the comparisons in short: data, K, the worse method, the difference and p."""
    return "; ".join(
        f"{data}{f' K {k}' if k else ''} {method} {difference:+.3g} (p {_write_p(p)})"
        for data, k, method, difference, p in evidence.tests
        if np.isfinite(difference)
    )


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
        "by Holm's method over all comparisons of the claim. *Holds*: at least half of the comparisons are "
        "significant, and none the other way. *Not decided*: none is significant. The pages of the papers say which "
        "data stood in for theirs. With `--quick`, runs are shorter than the claims say.",
    ]
    for paper, content in papers.items():
        lines += ["", f"## [{paper}]({paper}.md)", "", f"By `{content['command']}`."]
        lines += ["", "| claim | from | here | p |", "|---|---|---|---|"]
        for table in content["tables"]:
            for one in table["claims"]:
                ps = [p for *_, p in one["tests"] if p is not None and np.isfinite(p)]
                ends = dict.fromkeys(_write_p(p).removeprefix("= ") for p in (min(ps), max(ps))) if ps else ()
                span = " to ".join(ends)
                lines.append(f"| {one['claim']} | {table['table']} | {one['verdict']} | {span} |")
    return "\n".join(lines) + "\n"


def to_plain(result: PaperResult) -> dict[str, Any]:
    """Return a table as plain values: every score of every split, and the claims."""
    return {
        "table": result.table.number,
        "score": result.table.score,
        "methods": list(result.table.methods),
        "cells": [
            {"data": cell.data, "k": cell.k, "scores": [[_plain(x) for x in row] for row in cell.scores]}
            for cell in result.cells
        ],
        "claims": [
            {
                "claim": claim.text,
                "verdict": (evidence := result.judge(claim)).verdict,
                "tests": evidence.tests,
            }
            for claim in result.table.claims
        ],
    }


def _plain(value: float) -> float | None:
    return float(f"{value:.6g}") if np.isfinite(value) else None
