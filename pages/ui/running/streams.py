"""What there is to say of a run that takes documents window by window."""

from __future__ import annotations

from typing import Any

from acvb_core.engine.job import Inspection
from acvb_core.engine.problem import Problem
from pages.ui.shared import format as say


def epochs_of(problem: Problem, windows: int) -> float:
    """Return how often all documents are gone through in so many windows."""
    stream: Any = problem.inference
    return windows / int(stream.sweeps_of(1.0))


def under_way(seen: Inspection) -> str:
    """Return how far a run is, in words."""
    limit = say.epochs(epochs_of(seen.problem, seen.max_sweeps))
    return f"{passes(seen):,.2f} of {'at most ' if seen.problem.row.averaged else ''}{limit}"


def over(seen: Inspection) -> str:
    """Return how far a run got, in words."""
    windows = 0 if seen.snapshot is None else seen.snapshot.sweep
    return f"{say.epochs(passes(seen))} done ({say.count(windows, 'window')})"


def passes(seen: Inspection) -> float:
    """Return how often all documents were gone through."""
    return 0.0 if seen.snapshot is None else seen.snapshot.passes


def speed(seen: Inspection) -> str:
    """Return how many documents are gone through in a second, diagnostics left out."""
    last = seen.snapshot
    if last is None:
        return "–"
    seconds = last.wall_seconds - last.diagnostics_seconds
    documents = last.passes * seen.problem.train.n_documents
    return say.documents_rate(documents / seconds if seconds > 0 else None)


def more(problem: Problem, windows: int) -> str:
    """Return what a button offers that has a run go on."""
    epochs = say.epochs(epochs_of(problem, windows)).replace(" ", " more ", 1)
    return f"Go on for {'up to ' if problem.row.averaged else ''}{epochs}"
