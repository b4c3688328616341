"""What `acvb tune` prints: one JSON object, or text for people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from acvb_core.cli.output import as_json, data_text, files_of, listed, peak_memory_mb
from acvb_core.engine.trials import Tuning
from acvb_core.engine.tuning import Search
from acvb_core.registry import method_row


class Tuned(NamedTuple):
    """A search for the best steps, and on what.

    Attributes
    ----------
    data : Corpus or DiskCorpus
    search : Search
    tuning : Tuning
    """

    data: Any
    search: Search
    tuning: Tuning


def tuning_json(found: Tuned, lines: list[str], out: Path | None, removed: Sequence[Path] = ()) -> str:
    """Return the trials as one JSON object on one line."""
    tuning, search = found.tuning, found.search
    best = tuning.best_trial
    return as_json(
        {
            "model": search.model,
            "method": search.method,
            "seed": search.seed,
            "settings": dict(search.fixed),
            **search.split,
            "trials": tuning.table().to_dict("records"),
            "best": tuning.best,
            "best_trial": best and best.number,
            "best_perplexity": best and best.perplexity,
            "default_perplexity": tuning.trials[0].perplexity,
            "data": found.data.identity(),
            "peak_memory_mb": peak_memory_mb(),
            "report": lines,
            **files_of(out, removed),
        }
    )


def tuning_text(found: Tuned, lines: list[str], out: Path | None, removed: Sequence[Path] = ()) -> str:
    """Return the trials as a table, and the best as flags."""
    tuning, row = found.tuning, method_row(found.search.model, found.search.method)
    table = tuning.table().to_string(index=False, na_rep="-", float_format=lambda x: f"{x:,.5g}")
    parts = [
        data_text(found.data, lines),
        f"Steps of {row.label}, by the perplexity of what is held out\n{table}\n\n",
    ]
    best, first = tuning.best_trial, tuning.trials[0].perplexity
    if best is None:
        parts.append("No trial came to a perplexity.\n")
    else:
        flags = {parameter.name: parameter.flag for parameter in row.parameters}
        typed = " ".join(f"{flags[name]} {value!r}" for name, value in tuning.best.items())
        facts = [
            ("best", f"trial {best.number}, perplexity {best.perplexity:,.1f}; the defaults {first:,.1f}"),
            ("its steps", typed),
        ]
        parts.append(listed(facts))
    if out is not None:
        parts.append(f"\nwritten to {out}: trials.csv, and the best run\n")
    if removed:
        parts.append(f"removed {', '.join(path.name for path in removed)}: left there by an earlier run\n")
    return "".join(parts)
