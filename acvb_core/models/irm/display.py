"""How runs of the infinite relational model are shown, of a relation and of a network."""

from __future__ import annotations

from acvb_core.core.display import (
    BOUND,
    CHANGE,
    LOO_NATS,
    HeldOutScore,
    Measure,
    ModelDisplay,
    write_share,
)


def _heldout(unit: str) -> Measure:
    return Measure(
        "heldout",
        f"Held-out log likelihood of {unit}",
        "heldout_log_likelihood",
        6,
        f"%{{y:.4f}} nats {unit}",
    )


_SCORE = HeldOutScore("skill", "skill", write_share, "averaged_skill")
_TO_PREDICT = "the mean of Gibbs samples or fewer clusters"
_COMMON = (BOUND, LOO_NATS, CHANGE)
RELATION_DISPLAY = ModelDisplay(
    (
        *_COMMON,
        _heldout("an entry"),
        Measure("k_rows", "Row clusters", "effective_k_rows", 4, step=True, small=True),
        Measure("k_cols", "Column clusters", "effective_k_cols", 5, step=True, small=True),
    ),
    _SCORE,
    to_predict=_TO_PREDICT,
)
NETWORK_DISPLAY = ModelDisplay(
    (
        *_COMMON,
        _heldout("a pair"),
        Measure("k_rows", "Clusters", "effective_k_rows", 4, step=True, small=True),
    ),
    _SCORE,
    to_predict=_TO_PREDICT,
    titles={"k_rows": ("Clusters", "Clusters (rows)")},
)
