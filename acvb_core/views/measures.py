"""The axis that curves are drawn against, and what measures are called when runs stream."""

from __future__ import annotations

from dataclasses import dataclass, replace

from acvb_core.core.display import Measure

#: Keys of the measures that a run may hold constant.
LEARNED = ("alpha", "beta")
#: Names of the axis that curves are drawn against, its title, what stands over the values there, and their format.
X_AXES = {
    "sweep": ("sweep", "sweep %{x}", "~g"),
    "cpu_seconds": ("CPU seconds", "%{x} s of CPU", ".2f"),
    "passes": ("epochs (passes over the documents)", "epoch %{x}", ".3~f"),
    "documents_seen": ("documents seen", "%{x} documents", ",.0f"),
}


@dataclass(frozen=True)
class Streaming:
    """What the runs of a figure have to do with streams.

    Attributes
    ----------
    some, all : bool
        Some runs take the documents window by window, or all of them.
    completion : bool
        What is held out of all runs is whole documents.
    """

    some: bool = False
    all: bool = False
    completion: bool = False

    @property
    def sweep(self) -> str:
        """What a sweep is."""
        return "window" if self.all else "sweep or window" if self.some else "sweep"

    def measure(self, measure: Measure) -> Measure:
        """Return a measure as it is called here."""
        if measure.key == "change" and self.some:
            return replace(
                measure, title="Change of the topics" if self.all else "Change of q, or of the topics"
            )
        if measure.key == "loo" and self.all and measure.column == "loo_perplexity":
            return replace(measure, title="LOO perplexity of the window")
        if measure.key == "heldout" and self.completion:
            return replace(measure, title="Completion perplexity (lower is better)")
        return measure


NO_STREAM = Streaming()
