"""The tables and figures of five papers made anew, their printed figures beside ours, and what becomes of their claims.

    python -m benchmarks.papers PAPER [--data DIR] --out OUT [--only 'Table 5'] [--on Enron] [--k 40,60] [--splits 5]

Writes a page (Markdown), all its figures (JSON), its pictures (SVG and PNG), and the claims of all papers in OUT. The
runs are kept there: the same command goes on with them, and tables share the runs that they have in common.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from acvb_core.cli.interrupt import stop_on_signal
from acvb_core.cli.output import as_json
from acvb_core.cli.progress import ProgressLine
from acvb_core.cli.typed import parse_count
from acvb_core.core.errors import AcvbError, ParameterError
from acvb_core.core.protocols import Poll
from acvb_core.engine.run import StopRun
from acvb_core.store.files import OUTPUT, StoreLock, replace_file
from benchmarks.papers.claims import write_claims_page
from benchmarks.papers.figures import draw_figures
from benchmarks.papers.kept_runs import (
    Call,
    PartRuns,
    list_commands,
    list_runs,
    make_searches,
    name_part,
    read_full,
    remember_full,
)
from benchmarks.papers.paper import PaperTable
from benchmarks.papers.parts import (
    TABLES,
    PaperLimits,
    PaperPart,
    PaperResult,
    list_tables,
    plan_part,
    plan_searches,
)
from benchmarks.papers.report import to_plain, write_report

#: Exit codes: something typed is wrong, and interrupted.
WRONG, INTERRUPTED = 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Make the tables of a paper anew; return the exit code."""
    arguments = _read_arguments(argv)
    try:
        with ExitStack() as cleanup:
            arguments.out.mkdir(parents=True, exist_ok=True)
            cleanup.callback(StoreLock(arguments.out, OUTPUT).release)
            return reproduce_paper(arguments)
    except AcvbError as error:
        sys.stderr.write(f"{error}\n")
        return WRONG


def _read_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.papers", description=(__doc__ or "").splitlines()[0]
    )
    add = parser.add_argument
    add("paper", choices=sorted({table.paper for tables in TABLES.values() for table in tables}))
    text = "folder with data of the papers, searched below as well; without it samples stand in for them"
    add("--data", type=Path, metavar="DIR", help=text)
    text = "folder to write to; the runs are kept there too, and the same command goes on with them"
    add("--out", type=Path, required=True, metavar="OUT", help=text)
    add("--only", default="", metavar="TABLE", help="only this table of the paper, such as 'Table 5'")
    add("--on", default="", metavar="NAME", help="only data with this in their name, such as Enron")
    text = "numbers of clusters or topics, of those of the paper, with commas between"
    add("--k", type=_parse_counts, default=(), metavar="N", help=text)
    text = "splits of the data (default: as many as the paper has)"
    add("--splits", type=parse_count, metavar="N", help=text)
    text = "most sweeps of the methods that end by themselves"
    add("--max-sweeps", type=parse_count, metavar="N", help=text)
    text = "a look within minutes: the first number of clusters, few sweeps, five splits (one of large data)"
    add("--quick", action="store_true", help=text)
    text = "large data in full as well, which takes hours; otherwise they have a quick look"
    add("--large", action="store_true", help=text)
    text = "begin no run after so many processor seconds, and show what there is; 0 makes no run"
    add("--seconds", type=float, metavar="S", help=text)
    add("--json", action="store_true", help="print the figures as JSON in place of the page")
    add("--quiet", action="store_true", help="no progress on stderr")
    return parser.parse_args(argv)


def _parse_counts(text: str) -> tuple[int, ...]:
    return tuple(parse_count(part) for part in text.split(","))


def reproduce_paper(arguments: argparse.Namespace) -> int:
    """Make the tables and figures of a paper anew, and write them as a page; return the exit code."""
    tables = _choose_tables(arguments)
    if arguments.data is not None and not arguments.data.is_dir():
        raise ParameterError(f"--data: there is no folder {arguments.data}.")
    kept = arguments.out / "runs"
    with stop_on_signal() as poll:
        try:
            parts = _plan_parts(arguments, tables, kept, poll)
        except StopRun:
            return INTERRUPTED
        runs = list_runs(parts, kept)
        wanted = [one for one in runs if arguments.large or not one.part.is_slow]
        progress = ProgressLine(sys.stderr, sum(one.n_missing for one in wanted), quiet=arguments.quiet)
        if not make_runs(wanted, _describe_call(arguments), arguments.seconds, progress, poll):
            return INTERRUPTED
        remember_full(runs, kept)
    made = {id(one.part): one for one in runs}
    results, drawn = [], []
    for table in tables:
        own = [(part, made.get(id(part))) for part in parts if part.table is table]
        result = PaperResult(table, tuple((part, None if one is None else one.read()) for part, one in own))
        results.append(result)
        notes = {part.data: one.read_notes() for part, one in own if one is not None}
        drawn.append(draw_figures(arguments.paper, result, notes))
    made_by = list_commands(runs)
    page = write_report(arguments.paper, results, made_by, [[one.link for one in own] for own in drawn])
    figures = as_json({"paper": arguments.paper, **to_plain(results, made_by)})
    files = {one.name: one.content for own in drawn for one in own}
    files |= {f"{arguments.paper}.md": page.encode(), f"{arguments.paper}.json": figures.encode()}
    _write_files(arguments.out, files)
    pages = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(arguments.out.glob("*.json"))}
    claims = write_claims_page({name: page for name, page in pages.items() if "claims" in page})
    _write_files(arguments.out, {"claims.md": claims.encode()})
    sys.stdout.write(figures if arguments.json else page)
    return 0


def _choose_tables(arguments: argparse.Namespace) -> Sequence[PaperTable]:
    tables = list_tables(arguments.paper)
    only, on = arguments.only.lower(), arguments.on.lower()
    chosen = [table for table in tables if only in table.number.lower()]
    if not chosen:
        numbers = ", ".join(table.number for table in tables)
        raise ParameterError(f"{arguments.paper} has no table {arguments.only!r}; there are {numbers}.")
    on_data = [
        replace(one, data=tuple(data for data in one.data if on in data.name.lower())) for one in chosen
    ]
    if not any(table.data for table in on_data):
        names = ", ".join(dict.fromkeys(data.name for table in chosen for data in table.data))
        raise ParameterError(f"{arguments.paper} has no data {arguments.on!r}; there are {names}.")
    return [table for table in on_data if table.data]


def _plan_parts(
    arguments: argparse.Namespace,
    tables: Sequence[PaperTable],
    kept: Path,
    poll: Poll,
) -> list[PaperPart]:
    """Return the tables on each of their data sets, after the searches that come before the runs."""
    parts = []
    before = read_full(kept)
    limits = PaperLimits(arguments.quick, arguments.splits, arguments.k, arguments.max_sweeps)
    for table in tables:
        for one in table.data:
            is_short = one.is_slow and not arguments.large and name_part(table, one.name) not in before
            if is_short and one.is_huge:
                continue
            # A quick look at everything is over within minutes: large data have one split.
            splits = limits.splits or (1 if limits.quick and one.is_slow else None)
            own = replace(limits, quick=limits.quick or is_short, splits=splits)
            searches = make_searches(plan_searches(table, one, arguments.data, own), kept, poll)
            parts.append(plan_part(table, one, arguments.data, own, searches))
    return parts


def _write_files(out: Path, contents: Mapping[str, bytes]) -> None:
    for name, content in contents.items():
        with replace_file(out / name) as file:
            file.write(content)


def make_runs(
    parts: Sequence[PartRuns],
    call: Call,
    seconds: float | None,
    progress: ProgressLine,
    poll: Poll,
) -> bool:
    """Make the missing runs of all parts; return False where they were interrupted.

    The part that has had the least time goes on first, so that `seconds` are shared by all of them.
    """
    begin = time.process_time()
    while missing := [one for one in parts if one.missing is not None]:
        if seconds is not None and time.process_time() - begin >= seconds:
            break
        kept = min(missing, key=lambda one: one.seconds).missing
        if kept is None or not kept.make_next(call, progress, poll):
            return False
    return True


def _describe_call(arguments: argparse.Namespace) -> Call:
    return {
        "command": " ".join(["python -m benchmarks.papers", arguments.paper, *_typed_flags(arguments)]),
        "machine": f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        "begun": datetime.now(UTC).isoformat(),
    }


def _typed_flags(arguments: argparse.Namespace) -> list[str]:
    """Return the flags that decide what is made anew; where the folders are is the user's own affair."""
    flags = ["--data DIR", "--out OUT"] if arguments.data else ["--out OUT"]
    flags += [f"--only {arguments.only!r}"] if arguments.only else []
    flags += [f"--on {arguments.on!r}"] if arguments.on else []
    flags += [f"--splits {arguments.splits}"] if arguments.splits else []
    flags += [f"--seconds {arguments.seconds:g}"] if arguments.seconds else []
    flags += ["--large"] if arguments.large else []
    flags += [f"--k {','.join(map(str, arguments.k))}"] if arguments.k else []
    flags += [f"--max-sweeps {arguments.max_sweeps}"] if arguments.max_sweeps else []
    return [*flags, "--quick"] if arguments.quick else flags


if __name__ == "__main__":
    sys.exit(main())
