"""What is printed for people about a run of latent features."""

from __future__ import annotations

import numpy as np

from acvb_core.cli.printable import printable
from acvb_core.data.table import Table
from acvb_core.engine.result import Result

#: Columns of a feature that are shown, and features.
TOP_COLUMNS, TOP_FEATURES = 5, 30
_WIDEST = 30


def feature_facts(result: Result) -> list[tuple[str, str]]:
    """Return (name, text) of what is said of training and held-out cells, all on the standardised scale."""
    last = result.snapshot
    facts = []
    if "train_log_likelihood" in last.extras:
        facts.append(("training cells", f"{last.extras['train_log_likelihood']:.4f} nats each"))
    score = last.heldout
    if score is not None:
        name, number = held_out_cells(result)
        text = f"{score.log_likelihood:.4f} nats each, error {score.rmse:.3f} standard deviations, "
        facts.append((name, f"{number}: {text}{score.explained:.1%} of the variance explained"))
    return facts


def held_out_cells(result: Result) -> tuple[str, str]:
    """Return what was held out, and how much of it."""
    return "held-out cells", f"{result.problem.heldout.n:,}"


def feature_lines(result: Result) -> str:
    """Return a line for each feature: number, share of the objects, what it adds to the columns it changes most.

    What it adds is in the columns' units, the column of which it changes the most standard deviations first.
    """
    weights, table = result.posterior["weights"], result.problem.train
    if not len(weights):
        return "\nNo feature: every column is explained by its baseline and noise alone.\n"
    added = table.scale.undo_weights(weights)
    lines = ["feature   share  adds most to"]
    for k, share in enumerate(result.posterior["pi"][:TOP_FEATURES]):
        lines.append(f"{k + 1:>7}  {share:>6.1%}  {_strongest(added[k], table)}")
    more = len(weights) - TOP_FEATURES
    lines += [f"… and {more:,} more"] if more > 0 else []
    return "\n" + "".join(f"{line}\n" for line in lines)


def _strongest(added: np.ndarray, table: Table) -> str:
    sizes = np.abs(added) / table.moments.sd
    order = np.argsort(-sizes, kind="stable")[:TOP_COLUMNS]
    return ", ".join(f"{_short(str(table.columns[d]))} {added[d]:+.4g}" for d in order)


def _short(name: str) -> str:
    shown = printable(name)
    return shown if len(shown) <= _WIDEST else f"{shown[: _WIDEST - 1]}…"
