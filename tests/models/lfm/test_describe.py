"""Features are named and described by what they change, in the columns' own units."""

from __future__ import annotations

import re

import numpy as np
import pytest

from acvb_core.data.table import Image, Table
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.models.lfm.answer.describe import describe_feature, describe_features, find_ranges
from acvb_core.models.lfm.features import FeatureAnswer

N = 120


def planted(columns: list[str], changed: list[float], image: Image | None = None) -> Result:
    """A run on a table of which every other object has a feature that adds `changed` to the columns."""
    rng = np.random.default_rng(0)
    has = np.arange(N) % 2 == 0
    values = 100.0 + np.outer(has, changed) + rng.normal(0.0, 0.2, (N, len(columns)))
    return fit(Table.build(values, columns=columns, name="planted", image=image), "fab", k_max=1, seed=0)


def sentence(result: Result) -> str:
    answer = FeatureAnswer(result.posterior, result.prepared.data, result.prepared.train)
    return describe_feature(answer, 1)


def test_columns_in_order_are_named_as_a_range() -> None:
    years = [str(year) for year in range(1990, 2000)]
    result = planted(years, [0, 0, 3, 3, 3, 3, 0, 0, 0, 0])
    # Whether the objects with or without the change have the feature is the method's choice.
    higher = result.features["1993"].iloc[0] > 0
    assert result.names["features"] == (f"{'higher' if higher else 'lower'} in 1992 to 1995",)
    change = f"{'+' if higher else '-'}3"
    assert sentence(result).startswith("About 60 of 120 objects have it.")
    assert f"It changes them by {change}" in sentence(result)
    assert "from 1992 to 1995" in sentence(result)
    assert describe_features(result).startswith("One feature explains 120 objects.")
    assert "(50 %)" in describe_features(result)


def test_ranges_have_one_sign_and_the_strongest_comes_first() -> None:
    weights = np.array([0.1, 1.0, 0.3, -2.0, -1.8, -1.9, 0.2, 1.1])
    assert find_ranges(weights) == [(3, 5), (7, 7), (1, 1)]


def test_other_columns_are_named_with_their_signs() -> None:
    result = planted(["rain", "wind", "sun"], [5.0, 0.0, -2.0])
    (name,) = result.names["features"]
    assert name in ("+rain, −sun", "−rain, +sun", "+sun, −rain", "−sun, +rain")
    assert "wind" not in name
    found = re.search(r"rain by ([+-][\d.]+)", sentence(result))
    assert found is not None
    assert float(found[1]) == pytest.approx(5.0 if "+rain" in name else -5.0, abs=0.2)


def test_pixels_are_named_by_their_place() -> None:
    pixels = np.zeros((6, 6))
    pixels[:2, 4:] = 4.0
    result = planted([f"p{j}" for j in range(36)], pixels.ravel().tolist(), Image.whole(6, 6))
    assert result.names["features"][0] in ("+upper right", "−upper right")
    assert "the upper right" in sentence(result)
