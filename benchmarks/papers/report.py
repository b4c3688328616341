"""Tables of papers made anew, as Markdown: ours beside the printed figures, and what becomes of the claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from acvb_core.core.display import write_number
from acvb_core.data.report import plural
from acvb_core.engine.experiments.report import Experiment
from acvb_core.registry import method_row
from benchmarks.papers.claims import describe_claim, judge_claims, plain_number, write_claims
from benchmarks.papers.kept_runs import CommandRuns, write_origin
from benchmarks.papers.paper import name_method
from benchmarks.papers.parts import Cell, PaperResult, choose_ks, label_method


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
        "The first figure is ours, the mean over the splits. The printed one follows in brackets: it is of the paper's "
        "data, which are named in brackets where others stand in. **Bold**: the best of ours in its row. \\*: "
        "significantly worse than the best (t-test over five splits or more, corrected for training data that they "
        "share, adjusted by Holm's method, p < 0.05). A split counts once all methods have run on it.",
        *_write_sources(results),
    ]
    for result, shown in zip(results, pictures or [()] * len(results), strict=True):
        parts += [_write_table(result), *shown]
    return "\n\n".join([*parts, write_claims(results)]) + "\n"


def _write_sources(results: Sequence[PaperResult]) -> list[str]:
    """Say which data stood in for the paper's, each once."""
    tables: dict[tuple[str, str], list[str]] = {}
    for result in results:
        for part, _ in result.parts:
            instead = "" if part.source is not None and not part.source.real else part.real_size
            instead = "cannot be had" if part.source is None else instead
            tables.setdefault((part.data, instead), []).append(result.table.number)
    names: dict[str, list[str]] = {}
    for (data, instead), numbers in tables.items():
        if not instead:
            continue
        is_only = sum(name == data for name, _ in tables) == 1
        names.setdefault(instead, []).append(data if is_only else f"{data} ({', '.join(numbers)})")
    lines = [f"- {', '.join(data)}: {instead}." for instead, data in names.items()]
    return ["## Data\n\nWhat is not the paper's own:\n\n" + "\n".join(lines)] if lines else []


def _write_table(result: PaperResult) -> str:
    table = result.table
    labels = [label_method(table, name) for name in table.methods]
    has_k = table.ks != (0,)
    lines = [f"## {table.number}: {table.title}", ""]
    lines += [f"| data |{' K |' if has_k else ''} splits | {' | '.join(labels)} |"]
    lines.append("|---" * (len(labels) + 2 + has_k) + "|")
    for cell in sorted(result.cells, key=lambda cell: cell.k):
        start = f"| {_name_cell(result, cell)} |" + (f" {cell.k} |" if has_k else "")
        lines.append(f"{start} {cell.n_splits} | {' | '.join(_write_scores(result, cell))} |")
    notes = _write_course(result)
    notes += _write_limits(result)
    notes += _write_ends(result)
    notes += _write_searches(result)
    notes += [table.note] if table.note else []
    return "\n".join([*lines, *([""] if notes else []), *(f"- {note}" for note in notes)])


def _name_cell(result: PaperResult, cell: Cell) -> str:
    """Return the name and size of the data, and the paper's name where others stand in."""
    part = result.find_part(cell.data)
    if part is None:
        return cell.data
    return part.real_size if part.real_name == cell.data else f"{part.real_size} (for {cell.data})"


def _write_limits(result: PaperResult) -> list[str]:
    """Say what is less than the paper has."""
    table, lines = result.table, []
    planned = [part for part, _ in result.parts if part.plan is not None]
    if quick := [part.real_name for part in planned if part.limits.quick]:
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


def _write_ends(result: PaperResult) -> list[str]:
    """Say which runs their limit of sweeps ended, in a table about convergence."""
    table = result.table
    if not any(claim.needs_convergence for claim in table.claims):
        return []
    cut = []
    for cell in result.list_cells("unsettled"):
        counts = []
        for method, ends in zip(table.methods, cell.scores, strict=True):
            known = ends[np.isfinite(ends)]
            if known.any() and not method_row(table.model, name_method(method)).sampled:
                counts.append(f"{label_method(table, method)} in {int(known.sum())} of {len(known)} runs")
        if counts:
            cut.append(f"{result.name_data(cell.data)}, K {cell.k}: {', '.join(counts)}")
    return [f"Ended by the limit of sweeps, not converged: {'; '.join(cut)}."] if cut else []


def _write_searches(result: PaperResult) -> list[str]:
    """Say what searches found, and in which time."""
    found, trials = [], set()
    for part, _ in result.parts:
        for method, tuning in part.searches.items():
            best = ", ".join(f"{name} {value:g}" for name, value in tuning.best.items())
            seconds = sum(one.cpu_seconds for one in tuning.trials if np.isfinite(one.cpu_seconds))
            found.append(
                f"{label_method(part.table, method)} on {part.real_name}: {best}, in {seconds:,.1f} s"
            )
            trials.add(len(tuning.trials))
    if not found:
        return []
    n = " or ".join(map(str, sorted(trials)))
    return [
        f"The best of {n} trials on a split of their own, the first with our default steps. {'; '.join(found)}."
    ]


def _write_scores(result: PaperResult, cell: Cell) -> list[str]:
    shown = []
    gaps = [_name_gap(cell, place) for place in range(len(cell.scores))]
    if not cell.n_splits and not any(cell.failed):
        gaps = [""] * len(gaps)
    for place, method in enumerate(result.table.methods):
        known = cell.scores[place][np.isfinite(cell.scores[place])]
        text = write_number(float(known.mean())) if len(known) else gaps[place]
        if place == cell.best:
            text = f"**{text}**"
        elif cell.worse[place]:
            text += "\\*"
        printed = result.table.find_printed(cell.k, cell.data, method)
        shown.append(text if printed is None else f"{text} ({printed:g})".strip())
    return shown


def _name_gap(cell: Cell, place: int) -> str:
    return "failed" if cell.failed and cell.failed[place] else "not run"


def _write_course(result: PaperResult) -> list[str]:
    """Say how many runs there are where some are missing, and how long all would take."""
    made = [done for _, done in result.parts if done is not None]
    planned, rows = sum(done.plan.n_runs for done in made), sum(len(done.rows) for done in made)
    if rows == planned:
        return []
    splits = plural(max(len(done.plan.seeds) for done in made), "split")
    if not rows:
        return [f"No run was made, of {planned:,} for {splits} of the data."]
    seconds = sum(_estimate_seconds(done) for done in made)
    return [
        f"Runs: {rows:,} of {planned:,}, for {splits} of the data. All of them would take about "
        f"{seconds:,.0f} s of processor time."
    ]


def _estimate_seconds(done: Experiment) -> float:
    """Return how long all runs take, by those that are over; time is taken to grow with the number of clusters."""
    spent: dict[str, list[float]] = {}
    for row in done.rows:
        spent.setdefault(row["condition"], []).append(row.get("cpu_seconds") or 0.0)
    rates: dict[str, list[float]] = {}
    for one in done.plan.conditions:
        if one.label in spent:
            name = one.label.partition(" · ")[0]
            rates.setdefault(name, []).append(float(np.mean(spent[one.label])) / int(one.k or 1))
    every = [rate for own in rates.values() for rate in own]
    each = [
        float(np.mean(spent[one.label]))
        if one.label in spent
        else float(np.mean(rates.get(one.label.partition(" · ")[0], every) or [0.0])) * int(one.k or 1)
        for one in done.plan.conditions
    ]
    return sum(each) * len(done.plan.seeds)


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
                        "taken": result.name_data(cell.data),
                        "k": cell.k,
                        "scores": [[plain_number(x) for x in row] for row in cell.scores],
                    }
                    for cell in result.cells
                ],
            }
            for result in results
        ],
        "claims": [describe_claim(one) for one in judge_claims(results)],
    }
