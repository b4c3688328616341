"""The clusters of a run and the names of their objects, beside the picture of the blocks."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from acvb_core.engine.result import Result
from acvb_core.models.irm.figures.arrangement import Arrangement, Side, cluster_table

#: Objects that are named.
_NAMED = 8


def show_clusters(result: Result, arrangement: Arrangement) -> None:
    """Draw the clusters with the objects that have most links; of a network also how densely they are linked."""
    if not arrangement.one:
        _show_sides(arrangement)
        return
    directed = result.prepared.data.network.directed
    table = cluster_table(arrangement)
    st.dataframe(
        table,
        hide_index=True,
        column_order=["cluster", "nodes", "names", "inside", "most_linked_to", "to_it"],
        key="clusters",
        height=min(460, 38 + 35 * len(table)),
        column_config={
            "cluster": st.column_config.NumberColumn("Cluster", width="small"),
            "nodes": st.column_config.NumberColumn("Nodes", width="small"),
            "inside": st.column_config.NumberColumn(
                "Link probability inside",
                format="percent",
                help="Estimated probability that two nodes of this cluster are linked.",
            ),
            "most_linked_to": st.column_config.NumberColumn(
                "Links most to" if directed else "Linked most with",
                help="The other cluster with the highest link probability.",
            ),
            "to_it": st.column_config.NumberColumn("Link probability to it", format="percent"),
            "names": st.column_config.TextColumn("Nodes with most links", width=240),
        },
    )


def _show_sides(arrangement: Arrangement) -> None:
    """Draw the clusters of the rows and those of the columns, each in a table."""
    for title, side in (("Row clusters", arrangement.rows), ("Column clusters", arrangement.columns)):
        names = list_names(side)
        st.dataframe(
            names, hide_index=True, key=f"clusters_{title.split()[0].lower()}", alt=title,
            height=min(230, 38 + 35 * len(names)),
            column_config={
                "Cluster": st.column_config.NumberColumn(title, width="small"),
                "Objects": st.column_config.NumberColumn(width="small"),
                "With most links": st.column_config.TextColumn(width="large"),
            },
        )  # fmt: skip


def list_names(side: Side) -> pd.DataFrame:
    """Return a line for each cluster that has objects: its number, its size, and its objects with most links."""
    lines = []
    for number, size in enumerate(side.sizes.tolist(), start=1):
        first = int(side.borders[number - 1])
        names = side.labels[side.order[first : first + min(_NAMED, size)]]
        if size:
            lines.append((number, size, ", ".join(map(str, names)) + (", …" if size > _NAMED else "")))
    return pd.DataFrame(lines, columns=["Cluster", "Objects", "With most links"])
