"""The command line's words for a run of blocks of links or counts, of one domain or two."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

from acvb_core.core.errors import printable
from acvb_core.engine.result import Result
from acvb_core.models.irm.export import write_links
from acvb_core.store.export import compare_known_labels, index_attributes


def facts(result: Result) -> list[tuple[str, str]]:
    """Return (name, text) of the agreement with known labels, the held-out scores, and what only the model has."""
    rows = []
    data = result.prepared.data
    if data.attributes or data.column_attributes:  # an empty table would take the time to import pandas
        table = index_attributes(compare_known_labels(result)).reset_index()
        rows = [("known labels", _agreement_text(line)) for line in table.itertuples()]
    score = result.snapshot.heldout
    if score is not None:
        name, number = held_out(result)
        text = f"{number}: {score.log_likelihood:.4f} nats each, skill {score.skill:.3f}, "
        text += f"ROC AUC {score.roc_auc:.3f}, average precision {score.average_precision:.3f}"
        rows.append((name, text))
    own: list[tuple[str, str]] = result.prepared.model_row.part("export").text_facts(result)
    return [*rows, *own]


def _agreement_text(line: Any) -> str:
    scores = f"adjusted Rand index {line.ari:.3f}, normalised mutual information {line.nmi:.3f}"
    return (
        f"{printable(line.attribute)}: {'nothing to compare with' if math.isnan(line.ari) else scores} "
        f"({line.known:,} of {line.known + line.unknown:,} objects, {line.labels:,} labels)"
    )


def held_out(result: Result) -> tuple[str, str]:
    """Return the name of the held-out data, and their number."""
    number, network = f"{result.prepared.heldout.n:,}", result.prepared.data.network
    if network is None:
        return "held-out entries", number
    if network.directed:
        return "held-out pairs", f"{number} pairs, each in one direction"
    return "held-out pairs", f"{number} pairs, each held out and scored once"


def lines(result: Result) -> str:
    """Return nothing: clusters have no words of their own."""
    return ""


def write_further_files(result: Result, folder: Path, arguments: argparse.Namespace) -> list[Path]:
    """Write the pairs that stand out if --links asks for them; return the files."""
    number = getattr(arguments, "links", None)
    return [] if number is None else write_links(result, number, folder)
