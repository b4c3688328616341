"""Tables of papers made anew, as Markdown: ours beside the printed figures, and what becomes of the claims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from acvb_core.core.display import write_number
from acvb_core.data.report import plural
from acvb_core.engine.experiments.report import LEVEL
from acvb_core.evaluate.significance import LEAST_SPLITS, compare_with_best
from benchmarks.papers.claims import (
    UNSETTLED,
    ClaimEvidence,
    describe_claim,
    judge_claims,
    plain_number,
    write_p,
)
from benchmarks.papers.parts import Cell, PaperPart, PaperResult
from benchmarks.papers.runs import Run

#: What is said of a claim: the columns of a table of claims.
_COLUMNS = ("claim", "from", "data", "test", "here", "evidence", "p")
_HEAD = (
    "The first figure is ours, the mean over the splits. The printed one follows in brackets: it is of the paper's "
    "data, which are named in brackets where others stand in. **Bold**: the best of ours in its row. \\*: "
    "significantly worse than the best (t-test over five splits or more, corrected for training data that they "
    "share, adjusted by Holm's method, p < 0.05). A split counts once all methods have run on it."
)
_CLAIMS_HEAD = (
    "Each claim as its paper makes it, and what came of it here, on the data named. The tests are t-tests "
    f"over {LEAST_SPLITS} splits of the data or more; fewer are not tested. They are corrected for the "
    "training data that splits share (Nadeau and Bengio 2003), and adjusted by Holm's method over all "
    f"comparisons of the claim, p < {LEVEL:g}. How many runs do not converge, or still move, is tested by "
    "exact binomial and sign tests, and a difference that is the same on every split by its sign. The tests "
    "are about these data: methods that are equal on average over data sets are still called different on one "
    "data set in 7 to 13 % of cases. That scores are equal is shown by two one-sided tests that they differ "
    "by less than a margin; that no difference was found does not show it. *Holds*: every comparison is "
    "significant. *Holds under …*: the comparisons named are significant; the others are not decided, unless "
    "it says so. *Does not hold here*: only the opposite is significant, or a difference beyond the margin. "
    "*Not decided*: nothing is, which may be for want of splits. *Quick look*: on these data the runs are "
    "shorter than the paper's. The page of a paper has each comparison, which data stood in for the paper's, "
    "and which commands made the runs."
)
_TESTS_HEAD = (
    "A difference above 0 is as the claim says. Where a claim has a margin, p is that of the difference being "
    "within it, and the second p that of its being beyond. Not converged: a limit of sweeps ended a run so early "
    "that it may be the faster one or the slower one."
)


def write_report(paper: str, results: Sequence[PaperResult], pictures: Sequence[Sequence[str]] = ()) -> str:
    """Return the page of a paper; `pictures`: of each table, lines that show its figures."""
    parts = [f"# {paper}, made anew", write_origin(list_commands(results)), _HEAD, *_write_sources(results)]
    for result, shown in zip(results, pictures or [()] * len(results), strict=True):
        parts += [_write_table(result), *shown]
    return "\n\n".join([*parts, _write_claims(judge_claims(results))]) + "\n"


def list_commands(results: Iterable[PaperResult]) -> list[dict[str, Any]]:
    """Return the commands that made runs on some machine: how many calls, runs and processor seconds.

    A run that several tables have counts once. The command is empty where it was not kept.
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


def write_origin(commands: Sequence[Mapping[str, Any]]) -> str:
    """Return, as Markdown, which commands made the runs of a page."""
    runs, seconds = (sum(one[name] for one in commands) for name in ("runs", "seconds"))
    if not commands:
        return "No run was made."
    if len(commands) == 1 and commands[0]["command"] and commands[0]["calls"] == 1:
        made = "Made by `{command}` on {machine}".format(**commands[0])
        return f"{made}: {plural(runs, 'run')} in {seconds:,.0f} s of processor time."
    lines = [
        f"Put together from {plural(runs, 'run')} that several calls made and kept, in {seconds:,.0f} s of processor "
        "time together.",
        "",
        "<details><summary>These calls</summary>",
        "",
    ]
    for one in commands:
        by = f"{plural(one['calls'], 'call')} of `{one['command']}` on {one['machine']}"
        by = by if one["command"] else "a command that was not kept"
        lines.append(f"- {by}: {plural(one['runs'], 'run')} in {one['seconds']:,.0f} s")
    return "\n".join([*lines, "", "</details>"])


def _write_sources(results: Sequence[PaperResult]) -> list[str]:
    """Say which data stood in for the paper's, each once."""
    tables: dict[tuple[str, str], list[str]] = {}
    for part in (part for result in results for part in result.parts):
        instead = (
            part.real_size if part.source and part.source.real else "" if part.source else "cannot be had"
        )
        tables.setdefault((part.data.name, instead), []).append(part.table.number)
    names: dict[str, list[str]] = {}
    for (data, instead), numbers in tables.items():
        is_only = sum(name == data for name, _ in tables) == 1
        names.setdefault(instead, []).append(data if is_only else f"{data} ({', '.join(numbers)})")
    lines = [f"- {', '.join(data)}: {instead}." for instead, data in names.items() if instead]
    return ["## Data\n\nWhat is not the paper's own:\n\n" + "\n".join(lines)] if lines else []


def _write_table(result: PaperResult) -> str:
    table = result.table
    labels = [table.label_method(method) for method in table.methods]
    has_k = table.ks != (0,)
    lines = [f"## {table.number}: {table.title}", ""]
    lines += [f"| data |{' K |' if has_k else ''} splits | {' | '.join(labels)} |"]
    lines.append("|---" * (len(labels) + 2 + has_k) + "|")
    for cell in sorted(result.list_cells(table.score), key=lambda cell: cell.k):
        part = cell.part
        name = part.real_size + ("" if part.real_name == part.data.name else f" (for {part.data.name})")
        start = f"| {name} |" + (f" {cell.k} |" if has_k else "")
        lines.append(f"{start} {' | '.join(_write_scores(cell))} |")
    notes = [
        *_write_course(result.parts),
        *_write_limits(result),
        *_write_ends(result),
        *_write_searches(result),
    ]
    notes += [table.note] if table.note else []
    return "\n".join([*lines, *([""] if notes else []), *(f"- {note}" for note in notes)])


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
    for place, (method, own) in enumerate(cell.scores.items()):
        known = own[np.isfinite(own)]
        gap = "failed" if method in broken else "not run" if n_splits or broken else ""
        text = write_number(float(known.mean())) if len(known) else gap
        text = f"**{text}**" if place == best else f"{text}\\*" if tests.p_t[place] < LEVEL else text
        figure = printed[place]
        shown.append(text if figure is None else f"{text} ({figure:g})".strip())
    return shown


def _write_course(parts: Sequence[PaperPart]) -> list[str]:
    """Say how many runs there are where some are missing, and how long all would take."""
    made = [part for part in parts if part.runs]
    planned, n_runs = sum(part.n_planned for part in made), sum(len(part.list_runs()) for part in made)
    if n_runs == planned:
        return []
    splits = plural(max(part.splits for part in made), "split")
    if not n_runs:
        return [f"No run was made, of {planned:,} for {splits} of the data."]
    seconds = sum(_estimate_seconds(part) for part in made)
    return [
        f"Runs: {n_runs:,} of {planned:,}, for {splits} of the data. All of them would take about "
        f"{seconds:,.0f} s of processor time."
    ]


def _estimate_seconds(part: PaperPart) -> float:
    """Return how long all runs take, by those that are over; time is taken to grow with the number of clusters."""
    spent: dict[tuple[int, str], list[float]] = {}
    for k, method, run in part.list_runs():
        spent.setdefault((k, method), []).append(run.get("cpu_seconds") or 0.0)
    rates: dict[str, list[float]] = {}
    for (k, method), seconds in spent.items():
        rates.setdefault(method, []).append(float(np.mean(seconds)) / (k or 1))
    every = [rate for own in rates.values() for rate in own]
    each = [
        float(np.mean(spent[k, method]))
        if (k, method) in spent
        else float(np.mean(rates.get(method, every) or [0.0])) * (k or 1)
        for k, method in part.runs
    ]
    return sum(each) * part.splits


def _write_limits(result: PaperResult) -> list[str]:
    """Say what is less than the paper has."""
    table, lines = result.table, []
    planned = [part for part in result.parts if part.runs]
    if quick := [part.real_name for part in planned if part.limits.quick]:
        changed = ", ".join(f"{name} {value}" for name, value in table.quick_settings.items())
        lines.append(
            f"A quick look at {', '.join(quick)}: one K at most, and {changed or 'nothing'} in place of the paper's "
            "settings."
        )
    for limits in dict.fromkeys(part.limits for part in planned if not part.limits.quick):
        ks = limits.choose_ks(table)
        if ks != table.ks:
            lines.append(f"Only K {', '.join(map(str, ks))} of {', '.join(map(str, table.ks))}.")
        if limits.most_sweeps is not None:
            lines.append(f"Methods that end by themselves have {limits.most_sweeps:,} sweeps at most.")
    return lines


def _write_ends(result: PaperResult) -> list[str]:
    """Say which runs their limit of sweeps ended, in a table about convergence."""
    table, cut = result.table, []
    if not any(claim.needs_convergence for claim in table.claims):
        return []
    for cell in result.list_cells(UNSETTLED):
        counts = []
        for method, ends in cell.scores.items():
            known = ends[np.isfinite(ends)]
            if known.any() and not table.find_row(method).sampled:
                counts.append(f"{table.label_method(method)} in {int(known.sum())} of {len(known)} runs")
        if counts:
            cut.append(f"{cell.part.real_name}, K {cell.k}: {', '.join(counts)}")
    return [f"Ended by the limit of sweeps, not converged: {'; '.join(cut)}."] if cut else []


def _write_searches(result: PaperResult) -> list[str]:
    """Say what searches found, and in which time."""
    found, trials = [], set()
    for part in result.parts:
        for method, tuning in part.searches.items():
            best = ", ".join(f"{name} {value:g}" for name, value in tuning.best.items())
            seconds = sum(one.cpu_seconds for one in tuning.trials if np.isfinite(one.cpu_seconds))
            found.append(
                f"{part.table.label_method(method)} on {part.real_name}: {best}, in {seconds:,.1f} s"
            )
            trials.add(tuning.n_runs)
    n = " or ".join(map(str, sorted(trials)))
    text = f"The best of {n} trials on a split of their own, the first with our default steps. {'; '.join(found)}."
    return [text] if found else []


def _write_claims(judged: Sequence[ClaimEvidence]) -> str:
    """Return the claims of a paper's tables as a section of its page, with every comparison folded away."""
    lines = ["## Claims", "", *_list_claims([describe_claim(one) for one in judged])]
    lines += ["", "<details><summary>Every comparison</summary>", "", _TESTS_HEAD, ""]
    lines += ["| claim | from | data | K | against | difference | p | splits |", "|---" * 8 + "|"]
    for number, evidence in enumerate(judged, start=1):
        for test in evidence.tests:
            difference, p = "not converged", ""
            if test.n:
                beyond = "" if np.isnan(test.p_beyond) else f", {write_p(test.p_beyond)}"
                difference = f"{test.difference:+.3g}"
                p = f"{write_p(test.p)}{beyond}" if np.isfinite(test.p) else "unknown"
            if test.n or test.is_cut_short:
                cells = (
                    number,
                    test.table,
                    test.data,
                    test.k or "",
                    test.against,
                    difference,
                    p,
                    test.n or "",
                )
                lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join([*lines, "", "</details>"])


def _list_claims(claims: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a table of claims, numbered."""
    lines = [f"| | {' | '.join(_COLUMNS)} |", "|---" * (len(_COLUMNS) + 1) + "|"]
    for number, one in enumerate(claims, start=1):
        joined = {"from": ", ".join(one["tables"]), "here": one["verdict"], "data": "; ".join(one["data"])}
        shown = {**one, **joined}
        lines.append(f"| {number} | {' | '.join(shown[name] for name in _COLUMNS)} |")
    return lines


def write_claims_page(papers: Mapping[str, Mapping[str, Any]]) -> str:
    """Return one page with the claims of several papers, from what `to_plain` gave of their tables."""
    lines = ["# Claims of the papers", "", _CLAIMS_HEAD]
    for paper, content in papers.items():
        lines += ["", f"## [{paper}]({paper}.md)", "", *_list_claims(content["claims"])]
    return "\n".join(lines) + "\n"


def to_plain(results: Sequence[PaperResult]) -> dict[str, Any]:
    """Return the tables of a paper as plain values: every score of every split, the claims, and what made the runs."""
    return {
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
