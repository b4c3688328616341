"""The methods of this project compared with their peers, on the same data and the same held-out parts.

`script/bench` makes the environment with the peers and runs this. Writes a table (Markdown), all figures (JSON) and
curves (SVG) to `--out`; what is absent or failed stands there with the reason. `--limit` is in seconds of the clock for
one fit; `script/bench --help` describes the other options.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shlex
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.harness import make_parser
from benchmarks.peers.cases import Case, list_cases
from benchmarks.peers.report import summarise_runs, write_table
from benchmarks.peers.runner import ROOT, Run, run_cases, start_worker
from benchmarks.peers.svg import Panel, Series, draw_panels

PEERS = ("tomotopy", "lda", "scikit-learn", "gensim", "scikit-network", "leidenalg", "igraph", "sparsebm")


def read_arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = make_parser(__doc__, quick=False, name=None, repetitions=3, limit=600.0)
    parser.prog = "script/bench"
    parser.add_argument("--only", metavar="NAME", action="append")
    parser.add_argument("--data", type=Path, metavar="DIR")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "benchmarks", metavar="DIR")
    options = parser.parse_args(given)
    if options.repetitions < 1:
        parser.error(f"--repetitions must be at least 1, not {options.repetitions}")
    if options.data is not None and not options.data.is_dir():
        parser.error(f"--data: there is no folder {options.data}")
    return options


def choose_cases(options: argparse.Namespace) -> list[Case]:
    """Return the cases that were asked for; SystemExit where there is none."""
    cases = list_cases(quick=options.quick, folder=options.data, repetitions=options.repetitions)
    if options.only is None:
        return cases
    names = [
        {case.task, case.data, Path(case.data).name, case.method, case.options.get("model", case.method)}
        for case in cases
    ]
    for name in set(options.only).difference(*names):
        there = sorted(set().union(*names) - {case.data for case in cases if "/" in case.data})
        sys.exit(f"script/bench: nothing is called {name!r}; there are {', '.join(there)}.")
    return [case for case, own in zip(cases, names, strict=True) if own.intersection(options.only)]


def describe_machine(arguments: Sequence[str], load: Sequence[float]) -> dict[str, Any]:
    """Return what a reader needs to judge the figures: command, machine, load and versions."""
    found = re.search(r"^model name\s*: (.*)$", _read("/proc/cpuinfo"), re.MULTILINE)
    processor = found[1] if found else platform.processor() or platform.machine()
    return {
        "command": shlex.join(["script/bench", *arguments]),
        "machine": f"{os.cpu_count()} cores ({processor}), {platform.system()}, Python {platform.python_version()}",
        "load": [round(one, 2) for one in load],
        "versions": {name: version for name in PEERS if (version := _find_version(name))},
    }


def _read(path: str) -> str:
    return Path(path).read_text() if Path(path).exists() else ""


def _find_version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def write_report(runs: Sequence[Run], facts: dict[str, Any], folder: Path, name: str) -> None:
    """Write NAME.json, NAME.md and for each corpus NAME-topics-DATA.svg."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = summarise_runs(runs)
    names = ("task", "data", "method")
    figures = [
        {name: getattr(run.case, name) for name in names} | {"repetition": run.repetition, **run.outcome}
        for run in runs
    ]
    text = json.dumps({**facts, "table": rows, "runs": figures}, separators=(",", ":"))
    (folder / f"{name}.json").write_text(text.replace('{"task"', '\n{"task"') + "\n")
    pictures = []
    corpora = dict.fromkeys(run.case.data for run in runs if run.case.task == "topics")
    for data in corpora:
        curves = {
            run.case.method: [(point["cpu_seconds"], point["perplexity"]) for point in run.outcome["curve"]]
            for run in runs
            if run.case.data == data and run.repetition == 0 and "curve" in run.outcome
        }
        if curves:
            short = Path(data).name.split(".")[0]
            picture = re.sub(r"[^\w.-]", "_", f"{name}-topics-{short}.svg")
            title = f"Topics, {short}: held-out perplexity while each method computes"
            series = [Series(name, curve) for name, curve in curves.items()]
            panel = Panel(title, "CPU seconds", "perplexity", series, log_across=True, log_up=True)
            (folder / picture).write_text(draw_panels([panel]))
            pictures.append(f"![{title}]({picture})")
    (folder / f"{name}.md").write_text("\n\n".join([write_table(rows, facts).rstrip(), *pictures]) + "\n")


def tell(run: Run) -> None:
    """Print what came of one run."""
    last = run.outcome["curve"][-1] if "curve" in run.outcome else run.outcome
    print(
        f"{run.case.task} {Path(run.case.data).name} {run.case.method} {run.repetition}: {last}", flush=True
    )


def main() -> None:
    options = read_arguments()
    begun = os.getloadavg()[0]
    runs = run_cases(
        choose_cases(options), lambda case, number: start_worker(case, number, options.limit), tell
    )
    facts = describe_machine(sys.argv[1:], (begun, os.getloadavg()[0]))
    name = options.name or "-".join(["quick" if options.quick else "full", *(options.only or [])])
    name = re.sub(r"[^\w-]+", "_", name)
    write_report(runs, facts, options.out, name)
    print(f"written to {options.out}: {name}.md, {name}.json")


if __name__ == "__main__":
    main()
