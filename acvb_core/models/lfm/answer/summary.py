"""The features of a run with a line each, and its table as it was read, with features and filled-in cells."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from acvb_core.data.table import Table
from acvb_core.engine.result import Result
from acvb_core.models.lfm.answer.describe import describe_feature, describe_features
from acvb_core.models.lfm.features import FeatureAnswer

#: Title and contents of each table of a run, by its name.
TITLES = {
    "features": ("Weights", "What every feature adds to each column, in the column's units."),
    "objects": ("Objects", "The probability that each object has each feature."),
    "columns": ("Columns", "Baseline and noise of every column, in its units."),
}
#: Contents of the data with results, for people.
ANNOTATED = (
    "The table as it was read, in its order, with the features of each row. "
    "Columns that were left out are not kept."
)
#: Columns of a feature that its line names, and the probability from which an object has a feature.
_LISTED, _HAS = 8, 0.5
#: Cells that are filled in at a time.
_CELLS = 1_000_000


def describe_parts(result: Result) -> str:
    """Return what the run found, in sentences."""
    return describe_features(result)


def compare_parts(result: Result) -> dict[str, tuple[str, pd.DataFrame]]:
    """Return nothing: features are not compared with what is known of the rows."""
    return {}


def summarise_parts(result: Result) -> dict[str, pd.DataFrame]:
    """Return the features, a line each, under a title.

    Returns: feature, name, share of the objects that have it, objects (their expected number), certainty (the mean
      probability of the likelier of having it and not having it), columns: what it adds to those that it changes most,
      in their units, and description: the same in words.
    """
    answer = _read(result)
    numbers = range(1, answer.n_features + 1)
    table = pd.DataFrame(
        {
            "feature": list(numbers),
            "name": result.names["features"],
            "share": answer.shares,
            "objects": answer.counts,
            "certainty": np.maximum(answer.objects, 1.0 - answer.objects).mean(axis=0),
            "columns": [_list_columns(answer, feature) for feature in numbers],
            "description": [describe_feature(answer, feature) for feature in numbers],
        }
    )
    return {"Features": table}


def _read(result: Result) -> FeatureAnswer:
    return FeatureAnswer(result.posterior, result.prepared.data, result.prepared.train)


def _list_columns(answer: FeatureAnswer, feature: int) -> str:
    columns = [j for j in answer.strongest_columns(feature, _LISTED) if answer.weights[feature - 1, j]]
    added = answer.own_weights[feature - 1]
    return ", ".join(f"{answer.data.columns[j]} {added[j]:+.3g}" for j in columns)


def annotate_data(result: Result) -> tuple[pd.DataFrame, list[str]]:
    """Return the table as it was read, with the features of each object; and the columns of the data.

    Returns: object, the columns of numbers, label and the further columns of the data; then features, the numbers and
      names of those that the object has with a probability of 1/2 or more, and the probability of each feature.
    """
    table: Table = result.prepared.data
    numbers = pd.DataFrame(table.values, columns=list(map(str, table.columns)))
    own, names = _read(result).objects, result.names["features"]
    named = [f"{feature} · {name}" for feature, name in enumerate(names, start=1)]
    has = ["; ".join(np.array(named, dtype=object)[line >= _HAS]) for line in own]
    parts = [
        pd.DataFrame({"object": table.rows}),
        numbers,
        *([] if table.labels is None else [pd.DataFrame({"label": table.labels})]),
        pd.DataFrame(table.metadata, index=numbers.index),
        pd.DataFrame({"features": has}),
        pd.DataFrame(own, columns=[f"feature {one}" for one in named]),
    ]
    # A column of the data may have one of these names.
    return pd.concat(parts, axis=1), [name for part in parts[:-2] for name in part]


class FilledTable(NamedTuple):
    """A table whose missing cells are predicted."""

    #: The table as it was read, with predictions in its missing cells; the last column, filled, names these.
    table: pd.DataFrame
    cells: pd.DataFrame  #: object, column, value and sd of each cell that was missing, in the column's units


def fill_in(result: Result) -> FilledTable:
    """Return the table with its missing cells filled in by their expected values, with their standard deviations.

    They are the moments of the predictive distribution: noise, features that the object may or may not have, and
    weights that are not certain, if the method has their variance. Cells that were held out are known, and stay.
    """
    table: Table = result.prepared.data
    values, scale, missing = table.values.copy(), result.prepared.train.scale, ~table.observed
    spread = []
    step = max(1, _CELLS // table.n_columns)
    for begin in range(0, table.n_rows, step):
        some = slice(begin, begin + step)
        mean, variance = result.prepared.model.moments(result.posterior, some)  # type: ignore[attr-defined]
        gap = missing[some]
        values[some][gap] = scale.undo(mean)[gap]
        spread.append(scale.undo_weights(np.sqrt(variance))[gap])
    rows, columns = np.nonzero(missing)
    cells = pd.DataFrame(
        {
            "object": table.rows[rows],
            "column": table.columns[columns],
            "value": values[missing],
            "sd": np.concatenate(spread),
        }
    )
    filled = ["; ".join(map(str, table.columns[gap])) for gap in missing]
    numbers = pd.DataFrame(values, columns=list(map(str, table.columns)))
    ends = pd.DataFrame({"object": table.rows}), pd.DataFrame({"filled": filled})
    return FilledTable(pd.concat([ends[0], numbers, ends[1]], axis=1), cells)
