"""Features in sentences: who has one, what it adds, and what a run has found."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.display import cut_label
from acvb_core.engine.result import Result
from acvb_core.models.lfm.features import FeatureAnswer, are_in_order

#: Columns or ranges of columns that a sentence names for one direction, and characters of a column.
_NAMED, _LONGEST = 3, 30
#: Share of a feature's largest weight from which a column belongs to a range.
_LEAST = 0.5
_PLACES = (
    ("upper left", "upper middle", "upper right"),
    ("left", "middle", "right"),
    ("lower left", "lower middle", "lower right"),
)


def describe_features(result: Result) -> str:
    """Return what a run has found, in two sentences; "" without features."""
    names, data = result.names["features"], result.prepared.data
    if not names:
        return ""
    answer = FeatureAnswer(result.posterior, data, result.prepared.train)
    n, share = len(names), answer.shares
    found = f"{n:,} features explain" if n > 1 else "One feature explains"
    text = f"{found} {data.n_rows:,} objects. "
    listed = [f"{name} ({100 * part:.0f} %)" for name, part in zip(names, share, strict=True)]
    if n == 1:
        return f"{text}It is {listed[0]} of the objects."
    some = "; ".join(listed[:_NAMED])
    which = "They are" if n <= _NAMED else "The most common are"
    return f"{text}{which}, with the share of objects that have them: {some}."


def describe_feature(answer: FeatureAnswer, feature: int) -> str:
    """Return who has a feature (from 1) and what it adds, in the columns' own units, in two sentences."""
    n, n_rows = float(answer.counts[feature - 1]), answer.data.n_rows
    text = f"About {n:,.0f} of {n_rows:,} objects have it."
    added = describe_weights(answer, feature)
    return f"{text} {added}" if added else f"{text} It changes no column."


def describe_weights(answer: FeatureAnswer, feature: int) -> str:
    """Return what a feature (from 1) adds to which columns, in one sentence; "" if it adds nothing."""
    weights, own, table = answer.weights[feature - 1], answer.own_weights[feature - 1], answer.data
    if not np.any(weights):
        return ""
    if table.image is not None:
        ways = zip(("adds most in", "takes most from"), find_regions(answer, feature), strict=True)
        return f"It {' and '.join(f'{way} the {place}' for way, place in ways if place)}."
    if are_in_order(table.columns):
        ranges = [_describe_range(answer, own, first, last) for first, last in find_ranges(weights)]
        return f"It changes them by {', '.join(ranges)}."
    chosen = [j for j in answer.strongest_columns(feature, _NAMED) if weights[j]]
    parts = [f"{cut_label(table.columns[j], _LONGEST)} by {signed_text(own[j])}" for j in chosen]
    rest = int((weights != 0.0).sum()) - len(parts)
    more = f", and {rest:,} more columns less" if rest > 0 else ""
    return f"It changes {', '.join(parts)}{more}."


def find_ranges(weights: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Return the ranges of neighbouring columns that a feature changes most, first and last, strongest first.

    `weights`: shape (D,); in standard deviations. A range has one sign and at least half of the largest weight.
    """
    strong = np.where(np.abs(weights) >= _LEAST * np.abs(weights).max(), np.sign(weights), 0.0)
    borders = np.flatnonzero(np.diff(strong, prepend=0.0, append=0.0))
    ranges = [(int(one), int(end) - 1) for one, end in zip(borders, borders[1:], strict=False) if strong[one]]
    ranges.sort(key=lambda ends: -float(np.abs(weights[ends[0] : ends[1] + 1]).sum()))
    return ranges[:_NAMED]


def _describe_range(answer: FeatureAnswer, own: NDArray[np.float64], first: int, last: int) -> str:
    names = answer.data.columns
    if first == last:
        return f"{signed_text(own[first])} in {names[first]}"
    return (
        f"{signed_text(float(own[first : last + 1].mean()))} on average from {names[first]} to {names[last]}"
    )


def signed_text(value: float) -> str:
    """Return a value with three significant digits and its sign; empty for NaN."""
    if not math.isfinite(value):
        return ""
    return f"{value:+,.0f}" if 1e3 <= abs(value) < 1e9 else f"{value:+.3g}" if value else "0"


def find_regions(answer: FeatureAnswer, feature: int) -> list[str | None]:
    """Return the ninth of the picture to which a feature adds most, and the one it takes most from, or None."""
    image = answer.data.image
    assert image is not None
    picture = image.picture(answer.weights[feature - 1], fill=0.0)
    down, across = (np.minimum(3 * np.arange(size) // size, 2) for size in picture.shape)
    sums = np.zeros((2, 3, 3))
    for way, part in enumerate((np.maximum(picture, 0.0), np.maximum(-picture, 0.0))):
        np.add.at(sums[way], (down[:, None], across), part)
    # The weaker direction is left out if there is hardly any of it.
    return [
        _PLACES[own.argmax() // 3][own.argmax() % 3] if own.max() >= _LEAST * sums.max() else None
        for own in sums
    ]
