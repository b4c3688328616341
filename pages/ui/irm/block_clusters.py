"""The table of a network's clusters: nodes, density inside, the closest other cluster, the nodes with most links."""

from __future__ import annotations

import streamlit as st

from acvb_core.engine.result import Result
from acvb_core.models.irm.figures.arrangement import Arrangement
from acvb_core.models.irm.figures.cluster_table import cluster_table


def show_clusters(result: Result, arrangement: Arrangement) -> None:
    """Draw the table of the clusters."""
    st.subheader("Clusters", anchor=False)
    directed = result.prepared.data.network.directed
    table = cluster_table(arrangement)
    st.dataframe(
        table,
        hide_index=True,
        key="clusters",
        height=min(420, 38 + 35 * len(table)),
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
            "names": st.column_config.TextColumn("Nodes with most links", width="large"),
        },
    )
