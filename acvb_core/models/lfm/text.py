"""Text of a run of latent features, as the command line prints it."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from acvb_core.core.errors import printable
from acvb_core.data.table import Table
from acvb_core.engine.result import Result

#: Columns shown for a feature, and features shown.
TOP_COLUMNS, TOP_FEATURES = 5, 30
_WIDEST = 30


def facts(result: Result) -> list[tuple[str, str]]:
    """Return (name, text) of the scores of training and held-out cells, all on the standardised scale."""
    scored = []
    if "train_log_likelihood" in result.snapshot.extras:
        score = result.snapshot.extras["train_log_likelihood"]
        scored.append(("training cells", f"{score:.4f} nats each"))
    scores = result.snapshot.heldout
    if scores is not None:
        name, number = held_out(result)
        text = (
            f"{number}: {scores.log_likelihood:.4f} nats each, error {scores.rmse:.3f} standard deviations, "
        )
        text += f"{scores.explained:.1%} of the variance explained"
        if np.isfinite(scores.means_log_likelihood):
            text += f"; the column means have {scores.means_log_likelihood:.4f} nats each"
        scored.append((name, text))
    return scored


def held_out(result: Result) -> tuple[str, str]:
    """Return what was held out, and how much of it."""
    return "held-out cells", f"{result.prepared.heldout.n:,}"


def lines(result: Result) -> str:
    """Return a line for each feature: number, share of the objects, the columns it changes most.

    Additions are in the columns' units; the column that changes by the most standard deviations comes first.
    """
    weights, table = result.posterior["weights"], result.prepared.train
    if not len(weights):
        return "\nNo feature: every column is explained by its baseline and noise alone.\n"
    added = table.scale.undo_weights(weights)
    text = "\nfeature   share  adds most to\n"
    for k, share in enumerate(result.posterior["pi"][:TOP_FEATURES]):
        order = np.argsort(-np.abs(added[k]) / table.moments.sd, kind="stable")[:TOP_COLUMNS]
        strongest = ", ".join(f"{_column_name(table, d)} {added[k, d]:+.4g}" for d in order)
        text += f"{k + 1:>7}  {share:>6.1%}  {strongest}\n"
    more = len(weights) - TOP_FEATURES
    return text + (f"… and {more:,} more\n" if more > 0 else "")


def write_further_files(result: Result, folder: Path, arguments: argparse.Namespace) -> list[Path]:
    """Write nothing: no flag asks for more than `write_run` writes."""
    return []


def _column_name(table: Table, column: int) -> str:
    """Return a column's name as it is printed, long ones cut."""
    name = printable(str(table.columns[column]))
    return name if len(name) <= _WIDEST else f"{name[: _WIDEST - 1]}…"
