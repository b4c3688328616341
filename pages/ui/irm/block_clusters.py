"""A network's clusters one by one: how many nodes, how dense inside, which other cluster is closest, who stands out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from acvb_core.engine.result import Result
from acvb_core.models.irm.figures.arrangement import Arrangement

_NAMES = 5


def cluster_table(result: Result, arrangement: Arrangement) -> pd.DataFrame:
    """Return one line for each cluster of a network that has nodes.

    Returns
    -------
    DataFrame
        cluster, nodes, inside (posterior mean of the link probability inside), most_linked_to (the other cluster with
        the highest link probability, from this one where links have a direction), to_it (that probability), names (of
        the nodes with most links).
    """
    strengths = arrangement.posterior["mean"]
    side = arrangement.rows
    lines = []
    for k in np.flatnonzero(side.sizes):
        others = strengths[k].copy()
        others[k] = -1.0
        others[side.sizes == 0] = -1.0
        best = int(others.argmax())
        other = others[best] >= 0
        first = int(side.borders[k])
        names = side.labels[side.order[first : first + min(_NAMES, int(side.sizes[k]))]]
        more = ", …" if side.sizes[k] > _NAMES else ""
        lines.append(
            {
                "cluster": int(k) + 1,
                "nodes": int(side.sizes[k]),
                "inside": float(strengths[k, k]),
                "most_linked_to": best + 1 if other else None,
                "to_it": float(others[best]) if other else None,
                "names": ", ".join(map(str, names)) + more,
            }
        )
    return pd.DataFrame(lines).astype({"most_linked_to": "Int64"})


def show_clusters(result: Result, arrangement: Arrangement) -> None:
    """Draw the table of the clusters."""
    st.subheader("Clusters", anchor=False)
    directed = result.problem.data.network.directed
    table = cluster_table(result, arrangement)
    st.dataframe(
        table,
        hide_index=True,
        key="clusters",
        height=min(420, 38 + 35 * len(table)),
        column_config={
            "cluster": st.column_config.NumberColumn("Cluster", width="small"),
            "nodes": st.column_config.NumberColumn("Nodes", width="small"),
            "inside": st.column_config.NumberColumn(
                "Link probability inside", format="percent", help="Posterior mean."
            ),
            "most_linked_to": st.column_config.NumberColumn(
                "Links most to" if directed else "Linked most with",
                help="The other cluster with the highest link probability.",
            ),
            "to_it": st.column_config.NumberColumn("Link probability to it", format="percent"),
            "names": st.column_config.TextColumn("Nodes with most links", width="large"),
        },
    )
