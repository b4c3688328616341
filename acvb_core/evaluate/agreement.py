"""How alike two clusterings of the same objects are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score


def agreement(one: Any, other: Any) -> dict[str, float]:
    """Return the adjusted Rand index ("ari") and the normalised mutual information ("nmi") of two labellings."""
    return {
        "ari": float(adjusted_rand_score(one, other)),
        "nmi": float(normalized_mutual_info_score(one, other)),
    }


def contingency(one: Any, other: Any) -> pd.DataFrame:
    """Return how many objects each cluster of one labelling shares with each of the other."""
    return pd.crosstab(np.asarray(one), np.asarray(other), rownames=["one"], colnames=["other"])
