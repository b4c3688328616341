"""Names of clusters, made of their members, and the columns of tables that have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.display import cut_label
from acvb_core.data.relation import Relation
from acvb_core.engine.result import Result

if TYPE_CHECKING:
    import pandas as pd

#: Members that a name consists of, characters of one, and of all.
_NAMED, _LONGEST, _CHARACTERS = 3, 20, 40
#: Members by which a cluster is recognised.
_MARKS = 200


def name_parts(result: Result) -> dict[str, tuple[str, ...]]:
    """Return a name for every cluster of each domain: its members with most links."""
    relation, found = result.prepared.data, {}
    for domain in result.posterior.averaged:
        labels, degree = _objects(relation, domain, "cols" not in result.posterior.averaged)
        members = _members(result, domain)
        names = [_join(labels[own[np.argsort(-degree[own], kind="stable")]]) for own in members]
        found[domain] = tuple(names)
    return found


def mark_parts(result: Result) -> dict[str, list[list[int]]]:
    """Return the objects by which each cluster is recognised, by domain: its members, of a large one some of them."""
    found = {}
    for domain in result.posterior.averaged:
        members = _members(result, domain)
        # The same objects are chosen whatever the cluster, so clusters that share half of their members share half of
        # their marks.
        rank = np.random.default_rng(0).permutation(sum(map(len, members)))
        found[domain] = [own[np.argsort(rank[own])][:_MARKS].tolist() for own in members]
    return found


def add_names(
    tables: Mapping[str, pd.DataFrame], names: Mapping[str, Sequence[str]]
) -> dict[str, pd.DataFrame]:
    """Return the tables with the names of clusters beside their numbers."""
    across = "cols" if "cols" in names else "rows"
    named = dict(tables)
    for table, number, name, domain in (
        ("rows", "cluster", "name", "rows"),
        ("columns", "cluster", "name", "cols"),
        ("blocks", "row_cluster", "row_name", "rows"),
        ("blocks", "column_cluster", "column_name", across),
    ):
        if table in named:
            named[table] = insert_names(named[table], number, name, names[domain])
    return named


def insert_names(table: pd.DataFrame, number: str, name: str, names: Sequence[str]) -> pd.DataFrame:
    """Return a table with a column of names right of one of numbers (from 1)."""
    table = table.copy()
    texts = np.array([*names, ""], dtype=object)[table[number].to_numpy() - 1]  # 0 has none
    table.insert(int(table.columns.get_loc(number)) + 1, name, texts)
    return table


def _objects(relation: Relation, domain: str, one: bool) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the labels and the numbers of links of a domain's objects."""
    out, into = (np.asarray(relation.ones.sum(axis=axis), dtype=np.int64).ravel() for axis in (1, 0))
    if one:
        return relation.row_labels, out + into
    return (relation.row_labels, out) if domain == "rows" else (relation.column_labels, into)


def _members(result: Result, domain: str) -> list[NDArray[np.int64]]:
    """Return the objects of each cluster, in the order of the data."""
    clusters = result.posterior.labels(domain)
    return [np.flatnonzero(clusters == k) for k in range(result.posterior.n_clusters()[domain])]


def _join(labels: NDArray[Any]) -> str:
    """Return the first labels as a name, and that there are more."""
    texts = [cut_label(label, _LONGEST) for label in labels[:_NAMED]]
    while len(texts) > 1 and len(", ".join(texts)) > _CHARACTERS - 2:
        texts.pop()
    return ", ".join(texts) + (" …" if len(labels) > len(texts) else "")
