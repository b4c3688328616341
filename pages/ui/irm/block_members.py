"""The objects of a run with their clusters."""

from __future__ import annotations

import streamlit as st

from acvb_core.engine.result import Result
from pages.ui.shared import format as say
from pages.ui.shared.charts import name_width
from pages.ui.shared.failures import contain_failure

_NAMES = {"rows": "Rows", "cols": "Columns"}


@st.fragment
@contain_failure("table")
def show_members(result: Result) -> None:
    """Draw the table of the objects and their clusters, to be searched."""
    st.subheader("Who belongs where", anchor=False)
    domains = {name: _NAMES[name] for name in result.posterior.n_clusters()}
    one = "object" if result.problem.data.network is None else "node"
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="member_filters"):
        domain = "rows"
        if len(domains) > 1:
            domain = st.segmented_control(
                "Objects",
                list(domains),
                format_func=domains.__getitem__,
                default="rows",
                required=True,
                key="member_domain",
            )
        wanted = st.text_input("Search", key="member_search", placeholder="part of a name", width=260)
        n_clusters = result.posterior.n_clusters()[domain]
        clusters = st.multiselect(
            "Clusters",
            range(1, n_clusters + 1),
            key=f"member_clusters_{domain}",
            placeholder="all",
            width=320,
        )
    table = result.rows if domain == "rows" else result.columns
    shown = table
    if wanted:
        shown = shown[shown["object"].astype(str).str.contains(wanted.strip(), case=False, regex=False)]
    if clusters:
        shown = shown[shown["cluster"].isin(clusters)]
    st.dataframe(
        shown,
        hide_index=True,
        key="members",
        height=min(420, 38 + 35 * max(len(shown), 1)),
        column_config={
            "object": st.column_config.TextColumn(one.capitalize(), width=name_width()),
            "cluster": st.column_config.NumberColumn("Cluster", width="small"),
            "probability": st.column_config.ProgressColumn(
                "Probability",
                min_value=0.0,
                max_value=1.0,
                format="%.3f",
                help=f"How likely the {one} is in it.",
            ),
            "entropy": st.column_config.NumberColumn(
                "Uncertainty", format="%.4f", help="Entropy in nats. 0: the cluster is certain."
            ),
        },
    )
    st.caption(f"{len(shown):,} of {say.count(len(table), one)}")
