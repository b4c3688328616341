"""How runs of latent Dirichlet allocation are shown."""

from __future__ import annotations

from acvb_core.core.display import BOUND, CHANGE, HeldOutScore, Measure, ModelDisplay, write_number

_PERPLEXITY = "perplexity %{y:,.2f}"
DISPLAY = ModelDisplay(
    (
        BOUND,
        Measure(
            "loo", "Leave-one-out perplexity (lower is better)", "loo_perplexity", 2, _PERPLEXITY, marked=True
        ),
        CHANGE,
        Measure("heldout", "Held-out perplexity (lower is better)", "heldout_perplexity", 6, _PERPLEXITY),
        Measure(
            "excess",
            "Second-order bound less the exact one",
            "bound_error",
            9,
            "%{y:,.4g} nats",
            small=True,
            methods=("cvb_exact",),
        ),
        Measure("speed", "Documents per second", "documents_per_second", 8, "%{y:,.0f} documents/s"),
        Measure("k_topics", "Topics in use", "effective_k_topics", 4, step=True, small=True),
        Measure("alpha", "Alpha (sum)", "alpha_total", 5, "alpha %{y:,.4g}", small=True),
        Measure("beta", "Beta", "beta", 7, "beta %{y:,.4g}", small=True),
    ),
    HeldOutScore("perplexity", "perplexity", write_number),
    parts=("topic", "topics"),
    to_predict="fewer topics",
    asked="k",
    scores="perplexities",
    unmarked=("pseudo_loo", "loo_perplexity"),
    unmarked_reason=(
        "Leave-one-out scores are never shaded. They favour values of alpha that are far too small, so they cannot "
        "choose between runs."
    ),
    # Streams have dark colours; an averaged one has longer dashes than its own.
    styles={
        "cvb_exact": ("#7F3B08", "8px,2px,2px,2px"),
        "sdm": ("#6A3D9A", "10px,3px"),
        "scvb0": ("#8C510A", "5px,2px"),
        "svb": ("#5B6770", "6px,5px"),
        "asdm": ("#B2182B", "18px,3px"),
        "ascvb0": ("#01665E", "12px,2px,3px,2px"),
        "asvb": ("#1A1A1A", "14px,6px"),
    },
)
