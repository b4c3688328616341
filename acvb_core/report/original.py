"""The user's own list of links with the clusters of both ends in each line; every column and line stays as it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.names import plain_ids
from acvb_core.data.relation import Relation
from acvb_core.data.relation_readers import read_lines
from acvb_core.data.sources.source import FileLike
from acvb_core.engine.result import Result


def add_results(result: Result, data: FileLike | Any, filename: str | None = None) -> pd.DataFrame:
    """Return a list of links as it is, with cluster, name and certainty of both ends in each line.

    Every line and every column stays. Objects that the relation does not have get no cluster.

    Parameters
    ----------
    result : Result
        Of a relation. If it has a read report, the list is read by the same options.
    data : path, bytes, binary file object or data frame
        The file that the relation was read from, or another one about the same objects.
    filename : str, optional
        Name of a file object.

    Returns
    -------
    DataFrame
        The columns of the list as texts, then END_cluster, END_name and END_certainty, named by the columns of both
        ends.

    Raises
    ------
    DataError
        It is not a list of links, or it names no object of the relation.
    ParameterError
        The model of the run is not of a relation.
    """
    relation = result.prepared.data
    if not isinstance(relation, Relation):
        model = result.prepared.model_row.label
        raise ParameterError(
            f"{model} is not of links. Take the data with results: they have a line for each object."
        )
    given = {} if result.report is None else result.report.options
    schema, lines = read_lines(data, filename, given)
    places = schema.row_column, schema.column_column
    table = pd.DataFrame(lines, columns=list(schema.column_names), dtype=object)
    found, added = 0, []
    for place, domain in zip(places, ("rows", "cols"), strict=True):
        assert place is not None  # a list of links has both ends
        own = _match(table.iloc[:, place].tolist(), result, domain, schema.filename)
        found += int(own["cluster"].notna().sum())
        end = schema.column_names[place]
        added.append(own.rename(columns=lambda name, end=end: f"{end}_{name}"))
    if not found:
        raise DataError(
            "no line names an object of the run",
            source=schema.filename,
            value=str(lines[0][places[0] or 0]) if lines else None,
            remedy="Give the file that the data were read from, or another one about the same objects.",
        )
    return pd.concat([table, *added], axis=1)


def _match(labels: list[str], result: Result, domain: str, source: str) -> pd.DataFrame:
    """Return cluster, name and certainty of the object that each line names, missing for other names.

    Objects are named as in the result, or by a known label that is different for each if more lines have that: the
    result may be shown by other names than its file has.
    """
    two = "cols" in result.posterior.averaged
    objects = result.columns if two and domain == "cols" else result.rows
    known = result.prepared.data.attributes_of(domain).values()
    certain = "probability" if objects["probability"].notna().any() else "given_clusters"
    distinct = list(dict.fromkeys(labels))
    ids = dict(zip(distinct, plain_ids(distinct, lambda at: {"source": source}), strict=True))
    ways = [objects["object"], *(values for values in known if len(set(values)) == len(values))]
    places_of = [{str(name): i for i, name in enumerate(names)} for names in ways]
    at = max(places_of, key=lambda way: sum(ids[label] in way for label in distinct))
    places = np.array([at.get(ids[label], -1) for label in labels], dtype=np.int64)
    own = objects[["cluster", "name", certain]].rename(columns={certain: "certainty"}).reset_index(drop=True)
    found = own.reindex(places).reset_index(drop=True)  # -1 is no place
    return found.astype({"cluster": "Int64"})
