"""Data without known entries, or without any left after a share is held out, are refused before a run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from acvb_core.core.errors import DataError
from acvb_core.data.relation import Network, Relation
from acvb_core.engine.prepared import prepare_run
from tests.loops import for_each

UNKNOWN = Relation.build(np.zeros((4, 5)), missing=np.ones((4, 5)), name="unknown")
PAIR = Relation.build([[0, 1], [1, 0]], name="pair", network=Network(directed=False))
ALONE = Relation.build([[0]], name="alone", network=Network(directed=False))
LEFT = "of 1 known pair, none is left. Hold out a smaller share, or nothing."
REFUSED = {
    "no known entry": (UNKNOWN, 0.0, "entry", "no entry is known. Load data with known entries."),
    "no pairs": (ALONE, 0.0, "pair", "no pair is known. Load data with known pairs."),
    "the only pair held out": (PAIR, 0.9, "pair", LEFT),
}


@for_each("data, heldout, unit, why", REFUSED)
def test_data_without_anything_to_learn_from_are_refused(
    data: Any, heldout: float, unit: str, why: str
) -> None:
    with pytest.raises(DataError) as caught:
        prepare_run(data, "vb", heldout=heldout)
    assert str(caught.value) == f"{data.name}: there is no {unit} to learn from: {why}"
    assert prepare_run(PAIR, "vb").train.n_known == 1
