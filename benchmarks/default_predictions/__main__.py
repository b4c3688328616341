"""Predictions of the default method compared with those of Gibbs sampling, and the bound of its start, on relations.

    python -m benchmarks.default_predictions FILE[:one] … [--splits 20]

A file with `:one` behind it is a network. Run r of every method has split r and seed r. The default predicts by the
mean of the samples that its run starts from, Gibbs sampling by the mean of its own. The bound is held against that of a
run from the spectral start. One line a file: mean scores, their paired differences with 95 % intervals, and p of the
corrected t-test, adjusted for the number of files by Holm's method.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from acvb_core import experiment, load_relation
from acvb_core.engine.experiments.plan import HELD_OUT
from acvb_core.evaluate.significance import PairedTests, adjust_holm, compare_paired
from benchmarks.harness import make_parser, print_load

#: Columns of the table, and the score of one side and of the other.
_DEFAULT, _SPECTRAL, _GIBBS = "gibbs", "spectral", "sampler"


def run_splits(path: str, splits: int) -> dict[str, pd.DataFrame]:
    """Return a table of runs, one a split, of the default, of the default from the spectral start, and of Gibbs."""
    file, _, one = path.partition(":")
    relation = load_relation(file, domains="one" if one else "two").data
    model = "network" if one else "irm"
    variational = experiment(
        relation, "acvb0", model=model, splits=splits, init=[_DEFAULT, _SPECTRAL]
    ).table()
    frames = {name: runs.set_index("split") for name, runs in variational.groupby("init")}
    frames[_GIBBS] = experiment(relation, "gibbs", model=model, splits=splits).table().set_index("split")
    return frames


#: Held-out links as a multiple of the others.
_RATIO = HELD_OUT / (1.0 - HELD_OUT)


def describe_file(path: str, frames: dict[str, pd.DataFrame]) -> tuple[dict[str, object], list[PairedTests]]:
    """Return a line of the table without its p values, and the tests: of the samples, and of the bound."""
    default, spectral, sampler = frames[_DEFAULT], frames[_SPECTRAL], frames[_GIBBS]
    predictions = compare_paired(default["heldout_averaged_skill"], sampler["heldout_skill"], ratio=_RATIO)
    bounds = compare_paired(default["lower_bound"], spectral["lower_bound"], ratio=_RATIO)
    line: dict[str, object] = {
        "relation": Path(path.partition(":")[0]).name,
        "splits": len(default),
        "clusters": default["heldout_skill"].mean(),
        "samples": default["heldout_averaged_skill"].mean(),
        "Gibbs": sampler["heldout_skill"].mean(),
        "samples less Gibbs (95 %)": _write_interval(predictions, 4),
        "bound less the spectral start's (95 %)": _write_interval(bounds, 1),
        "CPU s, default and Gibbs": f"{default['cpu_seconds'].mean():.2f}, {sampler['cpu_seconds'].mean():.2f}",
    }
    return line, [predictions, bounds]


def _write_interval(tests: PairedTests, digits: int) -> str:
    return f"{tests.difference[0]:.{digits}f} ({tests.low[0]:.{digits}f} to {tests.high[0]:.{digits}f})"


def build_table(lines: list[dict[str, object]], tests: list[list[PairedTests]]) -> pd.DataFrame:
    """Return the table with p values, adjusted for the number of files."""
    table = pd.DataFrame(lines)
    for place, name in enumerate(("p, prediction", "p, bound")):
        table[name] = adjust_holm(np.array([pair[place].p_t[0] for pair in tests]))
    return table


def write_table(table: pd.DataFrame) -> str:
    """Return the table as Markdown."""
    cells = table.map(lambda value: f"{value:.3g}" if isinstance(value, float) else str(value))
    rows = [list(cells), ["---"] * len(cells.columns), *cells.to_numpy().tolist()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main() -> None:
    parser = make_parser(__doc__, splits=20)
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    lines: list[dict[str, object]] = []
    tests: list[list[PairedTests]] = []
    for path in options.files:
        line, pair = describe_file(path, run_splits(path, options.splits))
        lines.append(line)
        tests.append(pair)
        text = write_table(build_table(lines, tests))
        print(text.splitlines()[-1], flush=True)
    print(text)
    print_load()


if __name__ == "__main__":
    main()
