"""What the panels of the convergence figure show, by model, and what their axes are called."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Measure:
    """What a panel shows, before it has its place; fields as in `Panel`.

    `n` is fixed for each measure, so that a panel keeps its axes, and what the user zoomed, when others join it.
    Small ones may share a place.
    """

    key: str
    title: str
    column: str
    n: int
    hover: str = "%{y}"
    marked: bool = False
    step: bool = False
    small: bool = False


_NATS = "%{y:,.2f} nats"
_BOUND = Measure("bound", "Lower bound (nats)", "lower_bound", 1, _NATS, marked=True)
#: In place of the perplexity where it is not known yet.
LOO_NATS = Measure("loo", "Pseudo leave-one-out (nats)", "pseudo_loo", 2, _NATS, marked=True)
_CHANGE = Measure("change", "Change of q", "", 3)
_IRM = (
    _BOUND,
    LOO_NATS,
    _CHANGE,
    Measure("heldout", "Held-out log likelihood (nats an entry)", "heldout_log_likelihood", 6,
             "%{y:.4f} nats an entry"),
    Measure("k_rows", "Row clusters", "effective_k_rows", 4, step=True, small=True),
    Measure("k_cols", "Column clusters", "effective_k_cols", 5, step=True, small=True),
)  # fmt: skip
_NETWORK = (
    *_IRM[:3],
    Measure(
        "heldout",
        "Held-out log likelihood (nats a pair)",
        "heldout_log_likelihood",
        6,
        "%{y:.4f} nats a pair",
    ),
    Measure("k_rows", "Clusters", "effective_k_rows", 4, step=True, small=True),
)
_LDA = (
    _BOUND,
    Measure(
        "loo", "LOO perplexity (lower is better)", "loo_perplexity", 2, "perplexity %{y:,.2f}", marked=True
    ),
    _CHANGE,
    Measure(
        "heldout", "Held-out perplexity (lower is better)", "heldout_perplexity", 6, "perplexity %{y:,.2f}"
    ),
    Measure("speed", "Documents per second", "documents_per_second", 8, "%{y:,.0f} documents/s"),
    Measure("k_topics", "Topics in use", "effective_k_topics", 4, step=True, small=True),
    Measure("alpha", "Alpha (sum)", "alpha_total", 5, "alpha %{y:,.4g}", small=True),
    Measure("beta", "Beta", "beta", 7, "beta %{y:,.4g}", small=True),
)
_CELL = "%{y:.4f} nats a cell"
_LFM = (
    Measure(
        "bound", "Lower bound (nats an object)", "bound_per_unit", 1, "%{y:,.4f} nats an object", marked=True
    ),
    Measure("heldout", "Held-out log likelihood (nats a cell)", "heldout_log_likelihood", 6, _CELL),
    Measure("change", "Change of E[z]", "", 3),
    Measure("train", "Training log likelihood (nats a cell)", "train_log_likelihood", 2, _CELL),
    Measure("k_features", "Features alive", "effective_k_features", 4, step=True, small=True),
    Measure("noise", "Noise (sd)", "noise", 5, "noise %{y:.4g} sd", small=True),
)
#: By model.
MEASURES = {"irm": _IRM, "network": _NETWORK, "lda": _LDA, "lfm": _LFM}
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
