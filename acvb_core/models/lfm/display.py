"""The curves, words and marks of runs of the latent feature model."""

from __future__ import annotations

from acvb_core.core.display import HeldOutScore, Measure, ModelDisplay, change_of, write_number

_SYMBOL = "E[z]"
_CELL = "%{y:.4f} nats a cell"
DISPLAY = ModelDisplay(
    (
        Measure(
            "bound",
            "Lower bound (nats an object)",
            "bound_per_unit",
            1,
            "%{y:,.4f} nats an object",
            marked=True,
        ),
        Measure("heldout", "Held-out log likelihood (nats a cell)", "heldout_log_likelihood", 6, _CELL),
        change_of(_SYMBOL),
        Measure("train", "Training log likelihood (nats a cell)", "train_log_likelihood", 2, _CELL),
        Measure("k_features", "Features alive", "effective_k_features", 4, step=True, small=True),
        Measure("noise", "Noise (sd)", "noise", 5, "noise %{y:.4g} sd", small=True),
    ),
    HeldOutScore("log likelihood", "log_likelihood", write_number),
    parts=("feature", "features"),
    part="feature",
    changing=_SYMBOL,
    unmarked=("lower_bound",),
    unmarked_reason="Lower bounds are not marked: each method bounds something else, and those at different numbers of "
    "features cannot be compared. Held-out scores can. The table shows the total bound, the curves the bound per "
    "object.",
    styles={
        "fab": ("#1B7837", "24px,2px"),
        "em": ("#C51B7D", "4px,4px"),
        "ibp": ("#7A6A00", "16px,2px,2px,2px"),
        "meibp": ("#00A0B0", "7px,2px,2px,2px,2px,2px"),
    },
)
