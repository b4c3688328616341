"""The tables and figures of five papers, reproduced: our figures next to the printed ones, and a verdict on each claim.

    python -m benchmarks.papers PAPER [--data DIR] --out OUT [--only 'Table 5'] [--on Enron] [--k 40,60] [--splits 5]

Writes a page (Markdown), all its figures (JSON), its pictures (SVG and PNG), and the claims of all papers in OUT. The
runs are kept there: the same command continues with them, and tables share the runs that they have in common.
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
from operator import itemgetter
from pathlib import Path

from acvb_core.cli.output import as_json
from acvb_core.cli.progress import ProgressLine, stop_on_signal
from acvb_core.cli.settings import parse_count
from acvb_core.core.errors import AcvbError, ParameterError
from acvb_core.core.protocols import Poll
from acvb_core.engine.run import StopRun
from acvb_core.store.files import OUTPUT, StoreLock, replace_file
from benchmarks.papers.figures import draw_figures
from benchmarks.papers.paper import PAPERS, PaperTable, read_paper
from benchmarks.papers.parts import PaperLimits, PaperPart, PaperResult, plan_part
from benchmarks.papers.report import to_plain, write_claims_page, write_report
from benchmarks.papers.runs import KeptRuns

#: Exit codes: something typed is wrong, and interrupted.
WRONG, INTERRUPTED = 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Reproduce the tables of a paper; return the exit code."""
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
    add("paper", choices=PAPERS)
    add("--data", type=Path, metavar="DIR", help="folder with the papers' data; without it samples are taken")
    add("--out", type=Path, required=True, metavar="OUT", help="folder to write to, which keeps the runs")
    add("--only", default="", metavar="TABLE", help="only this table of the paper, such as 'Table 5'")
    add("--on", default="", metavar="NAME", help="only data with this in their name, such as Enron")
    add("--k", type=_parse_counts, default=(), metavar="N", help="numbers of clusters or topics, with commas")
    add("--splits", type=parse_count, metavar="N", help="splits of the data (default: those of the paper)")
    add("--max-sweeps", type=parse_count, metavar="N", help="limit of methods that end by themselves")
    add("--quick", action="store_true", help="a look within minutes: few clusters, sweeps and splits")
    add("--large", action="store_true", help="large data in full as well, which takes hours")
    add("--seconds", type=float, metavar="S", help="begin no run after so many processor seconds")
    add("--json", action="store_true", help="print the figures as JSON in place of the page")
    add("--quiet", action="store_true", help="no progress on stderr")
    return parser.parse_args(argv)


def _parse_counts(text: str) -> tuple[int, ...]:
    return tuple(parse_count(part) for part in text.split(","))


def reproduce_paper(arguments: argparse.Namespace) -> int:
    """Reproduce the tables and figures of a paper, and write them as a page; return the exit code."""
    tables = _choose_tables(arguments)
    if arguments.data is not None and not arguments.data.is_dir():
        raise ParameterError(f"--data: there is no folder {arguments.data}.")
    with stop_on_signal() as poll:
        kept = KeptRuns(arguments.out / "runs", poll)
        try:
            results = _plan_results(arguments, tables, kept)
        except StopRun:
            return INTERRUPTED
        parts = [part for result in results for part in result.parts]
        wanted = [part for part in parts if arguments.large or not part.is_slow]
        missing = sum(part.n_planned - part.n_made for part in wanted)
        progress = ProgressLine(sys.stderr, missing, quiet=arguments.quiet)
        if not make_runs(wanted, _describe_call(arguments), arguments.seconds, progress, poll):
            return INTERRUPTED
        kept.remember_full(list_full(parts))
    drawn = [draw_figures(result) for result in results]
    plain = to_plain(arguments.paper, results)
    page, figures = write_report(results, plain, drawn), as_json(plain)
    files = {one.name: one.content for own in drawn for one in own}
    files |= {f"{arguments.paper}.md": page.encode(), f"{arguments.paper}.json": figures.encode()}
    _write_files(arguments.out, files)
    pages = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(arguments.out.glob("*.json"))}
    claims = write_claims_page({name: page for name, page in pages.items() if "claims" in page})
    _write_files(arguments.out, {"claims.md": claims.encode()})
    sys.stdout.write(figures if arguments.json else page)
    return 0


def _choose_tables(arguments: argparse.Namespace) -> Sequence[PaperTable]:
    tables = read_paper(arguments.paper)
    only, on = arguments.only.lower(), arguments.on.lower()
    chosen = [table for table in tables if only in table.number.lower()]
    if not chosen:
        numbers = ", ".join(table.number for table in tables)
        raise ParameterError(f"{arguments.paper} has no table {arguments.only!r}; there are {numbers}.")
    kept = [tuple(data for data in one.data if on in data.name.lower()) for one in chosen]
    on_data = [replace(one, data=data) for one, data in zip(chosen, kept, strict=True)]
    if not any(table.data for table in on_data):
        names = ", ".join(dict.fromkeys(data.name for table in chosen for data in table.data))
        raise ParameterError(f"{arguments.paper} has no data {arguments.on!r}; there are {names}.")
    return [table for table in on_data if table.data]


def _plan_results(
    arguments: argparse.Namespace, tables: Sequence[PaperTable], kept: KeptRuns
) -> list[PaperResult]:
    """Return the tables on each of their data sets, after the searches that come before the runs."""
    limits = PaperLimits(arguments.quick, arguments.splits, arguments.k, arguments.max_sweeps)
    results = []
    for table in tables:
        parts = []
        for one in table.data:
            is_known = (table.paper, table.number, one.name) in kept.full
            is_short = bool(one.scale) and not (arguments.large or is_known)
            if is_short and one.scale == "huge":
                continue
            # A quick look at everything is over within minutes: large data have one split.
            splits = limits.splits or (1 if limits.quick and one.scale else None)
            own = replace(limits, quick=limits.quick or is_short, splits=splits)
            parts.append(plan_part(table, one, arguments.data, own, kept))
        results.append(PaperResult(table, parts))
    return results


def list_full(parts: Sequence[PaperPart]) -> set[tuple[str, ...]]:
    """Return the large data that have runs in full: paper, table and name."""
    full = [part for part in parts if part.is_slow and part.n_made]
    return {(one.table.paper, one.table.number, one.data.name) for one in full}


def _write_files(out: Path, contents: Mapping[str, bytes]) -> None:
    for name, content in contents.items():
        with replace_file(out / name) as file:
            file.write(content)


def make_runs(
    parts: Sequence[PaperPart],
    call: Mapping[str, str],
    seconds: float | None,
    progress: ProgressLine,
    poll: Poll,
) -> bool:
    """Make the missing runs of all parts; return False if they were interrupted.

    The part that has had the least time continues first, so that `seconds` are shared by all of them.
    """
    begin = time.process_time()
    while missing := [(part.seconds, one) for part in parts if (one := part.find_missing())]:
        if seconds is not None and time.process_time() - begin >= seconds:
            break
        _, first = min(missing, key=itemgetter(0))
        if not first.make_next(call, progress, poll):
            return False
    return True


def _describe_call(arguments: argparse.Namespace) -> dict[str, str]:
    return {
        "command": " ".join(["python -m benchmarks.papers", arguments.paper, *_list_flags(arguments)]),
        "machine": f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        "begun": datetime.now(UTC).isoformat(),
    }


def _list_flags(arguments: argparse.Namespace) -> list[str]:
    """Return the flags that decide what is reproduced, without folders."""
    flags = ["--data DIR", "--out OUT"] if arguments.data else ["--out OUT"]
    for name in ("only", "on", "splits", "seconds", "large", "k", "max_sweeps", "quick"):
        value = getattr(arguments, name)
        typed = f" {','.join(map(str, value))}" if name == "k" else f" {value!r}".removesuffix(".0")
        flags += [f"--{name.replace('_', '-')}" + ("" if value is True else typed)] if value else []
    return flags


if __name__ == "__main__":
    sys.exit(main())
