"""The progress of a streaming run in words: epochs, windows, documents per second."""

from __future__ import annotations

from acvb_core.engine.job import JobSnapshot
from acvb_core.engine.prepared import PreparedRun
from pages.ui.shared import format as say


def count_epochs(prepared: PreparedRun, windows: int) -> float:
    """Return how often all documents are gone through in so many windows."""
    return windows / prepared.count_sweeps(1.0)


def describe_progress(seen: JobSnapshot) -> str:
    """Return how far a run is, in words."""
    limit = say.epochs(count_epochs(seen.prepared, seen.max_sweeps))
    return f"{count_passes(seen):,.2f} of {'at most ' if seen.prepared.row.averaged else ''}{limit}"


def describe_end(seen: JobSnapshot) -> str:
    """Return how far a run got, in words."""
    windows = 0 if seen.snapshot is None else seen.snapshot.sweep
    return f"{say.epochs(count_passes(seen))} done ({say.count(windows, 'window')})"


def count_passes(seen: JobSnapshot) -> float:
    """Return how often all documents were gone through."""
    return 0.0 if seen.snapshot is None else seen.snapshot.passes


def describe_speed(seen: JobSnapshot) -> str:
    """Return how many documents are gone through in a second, diagnostics left out."""
    last = seen.snapshot
    if last is None:
        return "–"
    seconds = last.wall_seconds - last.diagnostics_seconds
    documents = last.passes * seen.prepared.train.n_documents
    return say.documents_rate(documents / seconds if seconds > 0 else None)


def describe_extension(prepared: PreparedRun, windows: int) -> str:
    """Return what a button offers that has a run go on."""
    epochs = say.epochs(count_epochs(prepared, windows)).replace(" ", " more ", 1)
    return f"Go on for {'up to ' if prepared.row.averaged else ''}{epochs}"
