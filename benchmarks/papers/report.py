"""Reproduced tables of papers as Markdown: our figures next to the printed ones, and verdicts on the claims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import numpy as np

from acvb_core.core.display import write_number
from acvb_core.data.report import plural
from acvb_core.engine.experiments.report import LEVEL
from acvb_core.evaluate.significance import LEAST_SPLITS, compare_with_best
from benchmarks.papers.claims import UNSETTLED, describe_claim, judge_claims, plain_number, write_p
from benchmarks.papers.figures import DrawnFigure
from benchmarks.papers.parts import Cell, PaperPart, PaperResult
from benchmarks.papers.runs import Run

_ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent),
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters["join_lines"] = lambda text: " ".join(text.split())


def write_report(
    results: Sequence[PaperResult], plain: Mapping[str, Any], drawn: Sequence[Sequence[DrawnFigure]] = ()
) -> str:
    """Return the page of a paper; `plain`: from `to_plain`; `drawn`: the figures of each table."""
    drawn = drawn or [()] * len(results)
    return _fill("paper_page", plain["paper"], results, drawn, plain["made"], plain["claims"])


def write_claims_page(papers: Mapping[str, Mapping[str, Any]]) -> str:
    """Return one page with the claims of several papers, from what `to_plain` gave of their tables."""
    return _fill("claims_page", papers, LEAST_SPLITS, LEVEL)


def _fill(page: str, *values: Any) -> str:
    return str(getattr(_ENVIRONMENT.get_template("pages.jinja").module, page)(*values))


def list_commands(results: Iterable[PaperResult]) -> list[dict[str, Any]]:
    """Return the commands that made runs on some machine: how many calls, runs and processor seconds.

    A run that several tables have counts once. The command is empty if it was not kept.
    """
    groups: dict[tuple[str, str], dict[int, Run]] = {}
    for part in (part for result in results for part in result.parts):
        for _, _, run in part.list_runs():
            call = run["call"]
            groups.setdefault((call.get("command", ""), call.get("machine", "")), {})[id(run)] = run
    return [
        {
            "command": command,
            "machine": machine,
            "calls": len({run["call"].get("begun") for run in own.values()}),
            "runs": len(own),
            "seconds": sum(run.get("cpu_seconds") or 0.0 for run in own.values()),
        }
        for (command, machine), own in groups.items()
    ]


def _list_sources(results: Sequence[PaperResult]) -> dict[str, list[str]]:
    """Return what stood in for the paper's data, and for which; the tables too where it differs between them."""
    tables: dict[tuple[str, str], list[str]] = {}
    for part in (part for result in results for part in result.parts):
        stand_in = part.real_size if part.source and part.source.real else ""
        instead = stand_in if part.source else "cannot be had"
        tables.setdefault((part.data.name, instead), []).append(part.table.number)
    names: dict[str, list[str]] = {}
    for (data, instead), numbers in tables.items():
        is_only = sum(name == data for name, _ in tables) == 1
        names.setdefault(instead, []).append(data if is_only else f"{data} ({', '.join(numbers)})")
    return {instead: data for instead, data in names.items() if instead}


def _write_scores(cell: Cell) -> list[str]:
    """Return the number of splits, and the mean of each method with the printed figure."""
    part, table = cell.part, cell.part.table
    scores = np.stack(list(cell.scores.values()))
    signed = table.sign_of(table.score) * scores if table.target is None else -np.abs(scores - table.target)
    best, tests = compare_with_best(signed, ratio=cell.ratio, ranks=False)
    n_splits = int(np.isfinite(scores).any(axis=0).sum())
    broken = {method for k, method, run in part.list_runs() if k == cell.k and run.get("error")}
    printed = table.printed.get(cell.k, {}).get(part.data.name, (None,) * len(scores))
    shown = [str(n_splits)]
    for place, method in enumerate(table.methods):
        known = cell.find_known(method)
        gap = "failed" if method in broken else "not run" if n_splits or broken else ""
        text = write_number(float(known.mean())) if len(known) else gap
        text = f"**{text}**" if place == best else f"{text}\\*" if tests.p_t[place] < LEVEL else text
        figure = printed[place]
        shown.append(text if figure is None else f"{text} ({figure:g})".strip())
    return shown


def _estimate_seconds(part: PaperPart) -> float:
    """Return how long all runs take, by those that are over; time is taken to grow with the number of clusters."""
    rates: dict[tuple[int, str], float] = {}
    for k, method in part.runs:
        own = [run.get("cpu_seconds") or 0.0 for at, _, run in part.list_runs(method) if at == k]
        rates |= {(k, method): float(np.mean(own)) / (k or 1)} if own else {}
    seconds = 0.0
    for k, method in part.runs:
        alike = [rate for (_, name), rate in rates.items() if name == method] or [*rates.values()] or [0.0]
        seconds += rates.get((k, method), float(np.mean(alike))) * (k or 1) * part.splits
    return seconds


def _list_ends(result: PaperResult) -> list[str]:
    """Return which runs their limit of sweeps ended, in a table about convergence."""
    table, cut = result.table, []
    for cell in result.list_cells(UNSETTLED):
        counts = []
        for method in table.methods:
            known = cell.find_known(method)
            if known.any() and not table.find_row(method).sampled:
                counts.append(f"{table.label_method(method)} in {int(known.sum())} of {len(known)} runs")
        cut += [f"{cell.part.real_name}, K {cell.k}: {', '.join(counts)}"] if counts else []
    return cut if any(claim.needs_convergence for claim in table.claims) else []


def _list_searches(result: PaperResult) -> list[dict[str, Any]]:
    """Return what each search found, and in which time."""
    found = []
    for part in result.parts:
        for method, tuning in part.searches.items():
            best = ", ".join(f"{name} {value:g}" for name, value in tuning.best.items())
            seconds = np.nansum([one.cpu_seconds for one in tuning.trials])
            text = f"{part.table.label_method(method)} on {part.real_name}: {best}, in {seconds:,.1f} s"
            found.append({"n_trials": tuning.n_runs, "text": text})
    return found


def to_plain(paper: str, results: Sequence[PaperResult]) -> dict[str, Any]:
    """Return the tables of a paper as plain values: every score of every split, the claims, and what made the runs."""
    return {
        "paper": paper,
        "made": list_commands(results),
        "tables": [
            {
                "table": result.table.number,
                "score": result.table.score,
                "methods": list(result.table.methods),
                "cells": [
                    {
                        "data": cell.part.data.name,
                        "taken": cell.part.real_name,
                        "k": cell.k,
                        "scores": [[plain_number(x) for x in row] for row in cell.scores.values()],
                    }
                    for cell in result.list_cells(result.table.score)
                ],
            }
            for result in results
        ],
        "claims": [describe_claim(one) for one in judge_claims(results)],
    }


#: What the templates call.
_ENVIRONMENT.filters |= {
    "estimate_seconds": _estimate_seconds,
    "label_method": lambda method, table: table.label_method(method),
}
for _helper in (plural, write_p, _list_sources, _write_scores, _list_ends, _list_searches):
    _ENVIRONMENT.globals[_helper.__name__.removeprefix("_")] = _helper
