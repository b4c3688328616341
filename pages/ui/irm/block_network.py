"""A network as a graph: its clusters and their links, or every node."""

from __future__ import annotations

import streamlit as st

from acvb_core.engine.result import Result
from acvb_core.models.irm.figures.group_graph import group_graph_figure
from acvb_core.models.irm.figures.network_layout import GroupGraph, group_graph, why_too_large
from acvb_core.models.irm.figures.node_link import node_link_figure
from acvb_core.views.parts import plain_name
from acvb_core.views.theme import CHART_CONFIG, STILL_CONFIG, Figure
from pages.ui.shared.charts import show_figure
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.picking import Key, choose_way
from pages.ui.shared.refresh import is_narrow

_NARROW_HEIGHT = 380  # pixels
VIEWS = {"groups": "Clusters", "nodes": "Single nodes"}


@contain_failure()
def show_network(key: Key, result: Result) -> None:
    """Draw the graph of the clusters, or of the nodes if they are not too many."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="network_controls"):
        shown = choose_way("Show", VIEWS, "network_shown")
        names = result.names["rows"]
        n_clusters = len(names)
        chosen = st.selectbox(
            "Highlight",
            range(n_clusters + 1),
            format_func=lambda k: plain_name(k, names) if k else "nothing",
            key=f"network_highlight_{n_clusters}",
            width=180,
        )
    selected = chosen or None
    reason = why_too_large(result.prepared.data) if shown == "nodes" else None
    if reason:
        st.info(reason, icon=":material/hub:")
        return
    with st.container(key=f"network_{shown}"):
        if shown == "groups":
            figure = draw_groups(key, selected, result)
            alt = "The clusters as discs, joined where there are more links than expected."
            text = (
                "Each disc is a cluster; its area shows its number of nodes. Hover over discs and lines to see their "
                "numbers."
            )
        else:
            figure = draw_nodes(key, selected, result, is_narrow())
            alt = "The nodes as dots in the colours of their clusters, joined by their links."
            text = (
                "Nodes of one cluster are drawn together. Hover over a node to see its name, cluster and number of "
                "links. Scroll to zoom, and drag to move."
            )
        # The wheel, two fingers or the buttons zoom; dragging moves the picture.
        config = {**CHART_CONFIG, "scrollZoom": True} if shown == "nodes" else STILL_CONFIG
        show_figure(figure, f"network_chart_{shown}", alt, config=config)
    st.caption(text)


@st.cache_resource(show_spinner=False, max_entries=8)
def build_group_graph(key: Key, _result: Result) -> GroupGraph:
    """Return the graph of a run's clusters."""
    names = _result.names["rows"]
    return group_graph(_result.prepared.data, _result.posterior, _result.blocks, names)


@st.cache_resource(show_spinner=False, max_entries=16)
def draw_groups(key: Key, selected: int | None, _result: Result) -> Figure:
    """Return the picture of the clusters."""
    return group_graph_figure(
        build_group_graph(key, _result),
        kind=_result.prepared.data.row_kind,
        selected=selected,
    )


@st.cache_resource(show_spinner=False, max_entries=8)
def draw_nodes(key: Key, selected: int | None, _result: Result, narrow: bool = False) -> Figure:
    """Return the picture of the nodes, on a phone about as high as it is wide."""
    graph, height = build_group_graph(key, _result), {"height": _NARROW_HEIGHT} if narrow else {}
    return node_link_figure(_result.prepared.data, _result.posterior, graph, selected=selected, **height)
