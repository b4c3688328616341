"""The curves, words and marks of runs of the latent feature model."""

from __future__ import annotations

from acvb_core.core.display import CHANGE, HeldOutScore, Measure, ModelDisplay, write_number

_CELL = "%{y:.4f} nats per cell"
DISPLAY = ModelDisplay(
    (
        Measure(
            "bound",
            "Lower bound per object",
            "bound_per_unit",
            1,
            "%{y:,.4f} nats per object",
            marked=True,
        ),
        Measure("heldout", "Held-out log likelihood per cell", "heldout_log_likelihood", 6, _CELL),
        CHANGE,
        Measure("train", "Training log likelihood per cell", "train_log_likelihood", 2, _CELL),
        Measure("k_features", "Features in use", "effective_k_features", 4, step=True, small=True),
        Measure("noise", "Noise", "noise", 5, "noise %{y:.4g} sd", small=True),
    ),
    HeldOutScore(
        "log likelihood",
        "log_likelihood",
        write_number,
        baseline="means_log_likelihood",
        baseline_name="column means",
    ),
    parts=("feature", "features"),
    to_predict="IBP or fewer features",
    part="feature",
    unmarked=("lower_bound",),
    unmarked_reason="Lower bounds are never shaded. They differ in meaning between methods and numbers of features; "
    "held-out scores can be compared. The table shows the total bound, the curves the bound per object.",
    styles={
        "fab": ("#1B7837", "24px,2px"),
        "em": ("#C51B7D", "4px,4px"),
        "ibp": ("#7A6A00", "16px,2px,2px,2px"),
        "meibp": ("#00A0B0", "7px,2px,2px,2px,2px,2px"),
    },
)
