"""The clusters of a run with a line each, and its objects and links as they were read, with their clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from acvb_core.data.relation import Relation
from acvb_core.engine.result import Result
from acvb_core.models.irm.answer.cards import ClusterCards, describe_found
from acvb_core.models.irm.answer.known import compare_labels, compare_medians
from acvb_core.models.irm.answer.naming import insert_names
from acvb_core.models.irm.answer.tree import JOINED
from acvb_core.models.irm.scores import is_mirrored, links_of, one_clustering

#: Title and contents of each table of a run, by its name.
TITLES = {
    "rows": ("Rows", "Every row object, or every node of a network, with its cluster."),
    "columns": ("Columns", "Every column object with its cluster."),
    "blocks": (
        "Blocks",
        "Every pair of clusters with its links, and the strength of the block with 95 % intervals.",
    ),
    "agreement": ("Agreement", "How well the clusters agree with each known label."),
}
#: Contents of the data with results, for people.
ANNOTATED = (
    "The links as they were read, in the order of the objects, with the clusters of both ends. "
    "Other columns of the file are not kept."
)
#: Members of a cluster that its line names.
_LISTED = 8


def describe_parts(result: Result) -> str:
    """Return what the run found, in sentences."""
    return " ".join(describe_found(result).splitlines())


def compare_parts(result: Result) -> dict[str, tuple[str, pd.DataFrame]]:
    """Return known labels and numbers of the objects by cluster: what a table has, and the table, by its title."""
    found = {}
    domains = (
        {"rows": "cluster"}
        if one_clustering(result.posterior)
        else {"rows": "cluster", "cols": "column cluster"}
    )
    for domain, one in domains.items():
        about = f"Known labels that each {one} has more or less of than the others, with tests."
        found[f"Labels by {one}"] = about, compare_labels(result, domain)
        about = f"Known numbers in each {one} compared with the others, with tests."
        found[f"Numbers by {one}"] = about, compare_medians(result, domain)
    return {title: (about, table) for title, (about, table) in found.items() if len(table)}


def write_arrangement(result: Result) -> str:
    """Return Python that joins the clusters of a run as they are joined in a result."""
    numbers = [f"{domain}={len(parts)}" for domain, parts in result.arranged.items()]
    corrected = bool(result.posterior[JOINED][0])
    return f"result = result.coarsen({', '.join(numbers)}, corrected={corrected})\n"


def summarise_parts(result: Result) -> dict[str, pd.DataFrame]:
    """Return the clusters of each domain, a line each, under a title.

    Returns: cluster, name, objects, certainty (how often an object shares its cluster with the other members, over
      samples, on average; without samples the mean probability given these clusters), members, the most certain first,
      and description: what sets the cluster apart, in words. Of a network also inside, inside_low and inside_high: link
      probability inside the cluster and its 95 % interval, or the ratio to the expected count.
    """
    if one_clustering(result.posterior):
        table = _summarise_domain(result, "rows")
        return {"Clusters": table.merge(_inside(result), on="cluster", how="left")}
    return {
        "Row clusters": _summarise_domain(result, "rows"),
        "Column clusters": _summarise_domain(result, "cols"),
    }


def _summarise_domain(result: Result, domain: str) -> pd.DataFrame:
    objects = result.rows if domain == "rows" else result.columns
    objects = objects.assign(certainty=certainty(objects))
    cards, lines = ClusterCards(result, domain), []
    for cluster, name in enumerate(result.names[domain], start=1):
        own = objects[objects["cluster"] == cluster].sort_values("certainty", ascending=False, kind="stable")
        members = ", ".join(map(str, own["object"].iloc[:_LISTED])) + (", …" if len(own) > _LISTED else "")
        mean = float(own["certainty"].mean()) if len(own) else np.nan
        lines.append((cluster, name, len(own), mean, members, cards.describe(cluster)))
    names = ["cluster", "name", "objects", "certainty", "members", "description"]
    return pd.DataFrame(lines, columns=names)


def certainty(objects: pd.DataFrame) -> pd.Series:
    """Return how certain the cluster of each object is: by samples, or without them given the clusters shown."""
    return objects["probability" if objects["probability"].notna().any() else "given_clusters"]


def _inside(result: Result) -> pd.DataFrame:
    """Return the strength of the block of each cluster with itself, and its interval."""
    blocks = result.blocks
    own = blocks[blocks["row_cluster"] == blocks["column_cluster"]]
    ends = ("low", "high") if own["low"].notna().any() else ("low_given_clusters", "high_given_clusters")
    columns = {
        "cluster": own["row_cluster"],
        "inside": own["mean"],
        **{f"inside_{name}": own[end] for name, end in zip(("low", "high"), ends, strict=True)},
    }
    return pd.DataFrame(columns)


def annotate_data(result: Result) -> tuple[pd.DataFrame, list[str]]:
    """Return the links as they are in the data, a line each, with the clusters of both ends; and its own columns.

    Returns: the two ends, by the kinds of the objects; weight, if links have weights; then cluster, name and certainty
      of each end. Links are in the order of the objects in the data; a repeated pair is one line, unlinked and unknown
      pairs are none.
    """
    relation: Relation = result.prepared.data
    rows, columns = links_of(relation)
    ends = _name_ends(relation)
    ids = relation.ids
    table = pd.DataFrame({ends[0]: ids[0][rows], ends[1]: ids[1][columns]})
    if relation.weights is not None:
        table["weight"] = _weights(relation, rows, columns)
    read = list(table)
    one = one_clustering(result.posterior)
    for end, place, domain in ((ends[0], rows, "rows"), (ends[1], columns, "rows" if one else "cols")):
        table = table.join(_annotate_end(result, end, place, domain))
    return table, read


def _name_ends(relation: Relation) -> tuple[str, str]:
    """Return what the columns of the two ends of a link are called."""
    first, second = relation.row_kind, relation.column_kind
    taken = ("weight", "")
    if first != second and first not in taken and second not in taken:
        return first, second
    return ("source", "target") if relation.network is not None else ("row", "column")


def _weights(
    relation: Relation, rows: NDArray[np.int64], columns: NDArray[np.int64]
) -> NDArray[np.float64] | NDArray[np.int64]:
    weights = np.asarray(relation.weights)
    if is_mirrored(relation):
        every = np.repeat(np.arange(relation.shape[0]), np.diff(relation.ones.indptr))
        weights = weights[every <= relation.ones.indices]
    assert len(weights) == len(rows) == len(columns)
    return weights.astype(np.int64) if (weights == np.rint(weights)).all() else weights


def _annotate_end(result: Result, end: str, place: NDArray[np.int64], domain: str) -> pd.DataFrame:
    objects: Any = result.rows if domain == "rows" else result.columns
    own = pd.DataFrame({f"{end}_cluster": objects["cluster"].to_numpy()[place]})
    own = insert_names(own, f"{end}_cluster", f"{end}_name", result.names[domain])
    own[f"{end}_certainty"] = certainty(objects).to_numpy()[place]
    return own
