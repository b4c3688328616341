"""How time and memory of a sweep grow with the data and with the number of clusters or topics.

    python -m benchmarks.growth [--quick] [--only PART] [--largest 30000000] [--memory 16] [--out docs/benchmarks]

Four parts, every size in a process of its own: `ones` (relations whose objects keep their number of links), `tokens`
(texts of one length), `clusters` and `topics` (the same data, more of either). `papers` runs ACVB0 to convergence on
synthetic relations of the sizes of Movielens-10M and of the ratings 5 of Netflix, with degrees as uneven as theirs.
`--largest` limits links and words; clusters and topics grow over a tenth of it, 3 million at most. `--memory` is in GB:
the largest size that it has room for is estimated. Times are processor seconds of one thread. Writes a table (Markdown)
and all figures (JSON).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import ROOT, make_parser, run_module
from benchmarks.peers.__main__ import describe_machine


@dataclass(frozen=True)
class Part:
    """One quantity that grows, and the command that measures one size of it."""

    title: str
    unit: str
    sizes: tuple[int, ...]
    quick: tuple[int, ...]
    #: The module and arguments, of links or words, and of clusters or topics where these grow.
    command: Callable[..., list[str]]


def list_sweep_arguments(ones: int, clusters: int = 20) -> list[str]:
    """Return the module and arguments that sweep a relation with 100 links a row and 50 a column."""
    sizes = ["--rows", str(ones // 100), "--cols", str(ones // 50), "--ones", str(ones)]
    return ["benchmarks.sweep_cost", *sizes, "--clusters", str(clusters), "--sweeps", "7"]


def _measure_texts(tokens: int, topics: int = 50) -> list[str]:
    return ["benchmarks.growth.texts", "--tokens", str(tokens), "--k", str(topics)]


_SIZES, _QUICK = (1_000_000, 3_000_000, 10_000_000, 30_000_000), (200_000, 400_000)
_NUMBERS, _FEW = (10, 20, 50, 100, 200, 400), (10, 20)
_RELATIONS = "A CVB0 sweep of relations, 20 clusters a side, 100 links a row and 50 a column"
_TEXTS = "A CVB0 sweep of texts, 50 topics, 60 words a document, 50,000 different words"
PARTS = {
    "ones": Part(_RELATIONS, "links", _SIZES, _QUICK, list_sweep_arguments),
    "clusters": Part(
        "A CVB0 sweep by the number of clusters a side, links",
        "clusters",
        _NUMBERS,
        _FEW,
        list_sweep_arguments,
    ),
    "tokens": Part(_TEXTS, "words", _SIZES, _QUICK, _measure_texts),
    "topics": Part("A CVB0 sweep by the number of topics, words", "topics", _NUMBERS, _FEW, _measure_texts),
}

#: Rows, columns and links of the papers' two large relations, and the seconds that ACVB0 took as printed
#: (Ishiguro, Sato and Ueda 2014, Table 10).
PAPERS = {
    "Movielens-10M": (10_681, 69_878, 10_000_054, 2_087),
    "Netflix, rate 5": (480_189, 17_770, 23_168_232, 13_440),
}


def choose_sizes(part: Part, largest: int, *, quick: bool) -> tuple[Part, tuple[int, ...]]:
    """Return a part and its sizes, no links or words beyond `largest`; of these, clusters and topics get a tenth."""
    sizes = part.quick if quick else part.sizes
    if part.unit in ("links", "words"):
        return part, tuple(size for size in sizes if size <= largest)
    fixed = min(largest // 10, 3_000_000)
    return replace(part, title=f"{part.title}: {fixed:,}", command=partial(part.command, fixed)), sizes


def find_exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Return the power of the size that the seconds grow with: the slope of both logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def measure_part(part: Part, sizes: Sequence[int]) -> list[dict[str, Any]]:
    """Measure every size of a part, and print each as it is known."""
    rows = []
    for size in sizes:
        figures = run_module(part.command(size))
        # The first sweeps touch every cluster of every object; a run spends its time in the later ones.
        seconds = float(np.median(figures["sweep_seconds"][len(figures["sweep_seconds"]) // 2 :]))
        products = seconds / figures["products_seconds"] if "products_seconds" in figures else None
        row = {"size": size, "seconds": seconds, "first": figures["sweep_seconds"][0], "products": products}
        rows.append(row | {"memory_mb": figures["peak_rss_mb"], "load": figures["load_average"]})
        print(f"{size:,} {part.unit}: {rows[-1]}", flush=True)
    return rows


def estimate_largest(rows: Sequence[dict[str, Any]], memory_gb: float) -> float:
    """Return the size at which the process would have this much memory: a line through the two largest sizes."""
    (small, low), (large, high) = ((row["size"], row["memory_mb"]) for row in rows[-2:])
    return large + (memory_gb * 1024 - high) * (large - small) / (high - low)


def write_part(part: Part, rows: Sequence[dict[str, Any]], memory_gb: float) -> str:
    """Return the section of one part as Markdown."""
    has_products = rows[0]["products"] is not None
    head = ["CPU s, later sweeps", "CPU s, first sweep"]
    head += ["times SciPy's two products"] if has_products else []
    lines = [f"## {part.title}", "", f"| {part.unit} | {' | '.join(head)} | peak of the process, MB |"]
    lines.append("|---" * (len(head) + 2) + "|")
    for row in rows:
        cells = [f"{row['size']:,}", f"{row['seconds']:.3g}", f"{row['first']:.3g}"]
        cells += [f"{row['products']:.1f}"] if has_products else []
        lines.append(f"| {' | '.join(cells)} | {row['memory_mb']:,.0f} |")
    sizes = [row["size"] for row in rows]
    later, first = (find_exponent(sizes, [row[name] for row in rows]) for name in ("seconds", "first"))
    lines += ["", f"Time grows with the {part.unit} to the power {later:.2f} (first sweep: {first:.2f})."]
    if part.unit in ("links", "words"):
        largest = estimate_largest(rows, memory_gb)
        lines.append(
            f"By the last two rows, about {largest / 1e6:,.0f} million {part.unit} fit {memory_gb:g} GB."
        )
    return "\n".join(lines)


def write_papers(runs: dict[str, dict[str, Any]]) -> str:
    """Return the section of the papers' sizes as Markdown."""
    lines = [
        "## ACVB0 to convergence at the sizes of the papers' large relations",
        "",
        "Synthetic relations of 15 x 20 planted clusters with uneven degrees (log-normal), 20 clusters a side to begin",
        "with. The paper's seconds are those of its machine and data, and are here for scale only.",
        "",
        "| size of | links | CPU s (start) | sweeps | verdict | clusters | ARI | peak, MB | the paper, s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, run in runs.items():
        seconds = f"{run['cpu_seconds']:,.0f} ({run['start_seconds']:,.0f})"
        cells = [
            name,
            f"{run['ones']:,}",
            seconds,
            run["sweeps"],
            run["verdict"],
            " x ".join(map(str, run["clusters"])),
        ]
        cells += [f"{run['ari_rows']:.3f}, {run['ari_cols']:.3f}", f"{run['peak_rss_mb']:,.0f}"]
        lines.append(f"| {' | '.join(map(str, cells))} | {run['paper_seconds']:,} |")
    return "\n".join(lines)


def main() -> None:
    parser = make_parser(__doc__, quick=False, largest=30_000_000, memory=16.0)
    parser.add_argument("--only", choices=[*PARTS, "papers"], help="only this part")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "benchmarks", metavar="DIR")
    options = parser.parse_args()
    begun = os.getloadavg()[0]
    sections, measured = [], dict[str, Any]()
    for name, part in PARTS.items():
        if options.only in (None, name):
            part, sizes = choose_sizes(part, options.largest, quick=options.quick)
            rows = measured[name] = measure_part(part, sizes)
            sections.append(write_part(part, rows, options.memory))
            write_page(options.out, sections, measured, begun)
    if options.only in (None, "papers") and not options.quick:
        runs = measured["papers"] = dict[str, Any]()
        for name, (rows_, cols, ones, seconds) in PAPERS.items():
            if ones > 1.01 * options.largest:
                continue
            shape = ["--rows", str(rows_), "--cols", str(cols), "--ones", str(ones)]
            runs[name] = {**run_module(["benchmarks.growth.convergence", *shape]), "paper_seconds": seconds}
            print(f"{name}: {runs[name]}", flush=True)
            write_page(options.out, [*sections, write_papers(runs)], measured, begun)


def write_page(folder: Path, sections: Sequence[str], measured: dict[str, Any], begun: float) -> None:
    """Write what was measured so far; `begun` is the load average at the start."""
    facts = describe_machine(sys.argv[1:], (begun, os.getloadavg()[0]))
    facts["command"] = " ".join(["python -m benchmarks.growth", *sys.argv[1:]])
    folder.mkdir(parents=True, exist_ok=True)
    head = (
        f"# Growth\n\n`{facts['command']}` on {facts['machine']}; load average {facts['load'][0]} at the start, "
        f"{facts['load'][1]} at the end. Seconds are processor time of one thread. Other programs on the cores make "
        "them longer too, as caches are shared."
    )
    (folder / "growth.md").write_text("\n\n".join([head, *sections]) + "\n")
    (folder / "growth.json").write_text(json.dumps({**facts, **measured}, indent=1) + "\n")


if __name__ == "__main__":
    main()
