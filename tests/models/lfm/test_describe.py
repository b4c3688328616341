"""Features are named and described by what they change, in the columns' own units."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from acvb_core.data.table import Image, Table
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.models.lfm.answer.describe import (
    describe_feature,
    describe_features,
    describe_weights,
    find_ranges,
    signed_text,
)
from acvb_core.models.lfm.features import FeatureAnswer
from tests.loops import for_each

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


def given(weights: list[list[float]], columns: list[str], image: Image | None = None) -> FeatureAnswer:
    """Features with these weights, in the units of the columns; one of ten objects has the first, two the second, …"""
    objects = np.arange(10)[:, None] <= np.arange(len(weights))
    values = np.add.outer(np.arange(10.0), np.arange(len(columns)))
    table = Table.build(values, columns=columns, standardise=False, image=image)
    posterior: Any = {"objects": objects, "weights": np.array(weights), "precision": 1e6}
    return FeatureAnswer(posterior, table, table)


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


LONG = "a name that is far too long for a sentence"


@for_each(
    "weights, columns, said",
    [
        (
            [1.0, -3.0, 0.5, 2.0, 0.1, 0.0],
            ["rain", LONG, "sun", "wind", "fog", "snow"],
            f"It changes {LONG[:29]}… by -3, wind by +2, rain by +1, and 2 more columns less.",
        ),
        ([0.0, 2.0, 0.0], ["rain", "wind", "sun"], "It changes wind by +2."),
        (
            [2.0, 3.0, -2.0, 0.0, 1.7, 0.0, 1.5, 0.0, 1.6],
            [str(year) for year in range(1990, 1999)],
            "It changes them by +2.5 on average from 1990 to 1991, -2 in 1992, +1.7 in 1994.",
        ),
        ([0.0, 0.0], ["rain", "wind"], ""),
    ],
)
def test_sentences_name_the_strongest_columns(weights: list[float], columns: list[str], said: str) -> None:
    answer = given([weights], columns)
    assert describe_weights(answer, 1) == said
    assert describe_feature(answer, 1) == f"About 1 of 10 objects have it. {said or 'It changes no column.'}"


def test_sentences_on_pictures_name_one_place_or_two() -> None:
    pixels = np.zeros((2, 6, 6))
    pixels[0, :2, :2], pixels[0, 4:, 4:], pixels[1, 2:4, 2:4] = 1.0, -1.0, -1.0
    answer = given(pixels.reshape(2, 36).tolist(), [f"p{j}" for j in range(36)], Image.whole(6, 6))
    assert [describe_weights(answer, feature) for feature in (1, 2)] == [
        "It adds most in the upper left and takes most from the lower right.",
        "It takes most from the middle.",
    ]


@for_each(
    "n, said",
    [
        (0, ""),
        (
            2,
            "2 features explain 10 objects. They are, with the share of objects that have them: a (10 %); b (20 %).",
        ),
        (
            4,
            "4 features explain 10 objects. The most common are, with the share of objects that have them: "
            "a (10 %); b (20 %); c (30 %).",
        ),
    ],
)
def test_all_features_of_a_run_in_sentences(n: int, said: str) -> None:
    answer = given([[1.0, 2.0]] * n, ["rain", "wind"])
    prepared = SimpleNamespace(data=answer.data, train=answer.fitted)
    run: Any = SimpleNamespace(
        names={"features": tuple("abcd"[:n])}, posterior=answer.posterior, prepared=prepared
    )
    assert describe_features(run) == said


def test_values_have_three_digits_and_a_sign() -> None:
    values = (1234.6, -0.0012345, 0.0, 2e9, np.nan)
    assert [signed_text(value) for value in values] == ["+1,235", "-0.00123", "0", "+2e+09", ""]
