"""The figures of a result by name, as the Blocks page draws them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from acvb_core.engine.result import Result
from acvb_core.models.irm.figures.arrangement import arrange_as_read, arrange_result
from acvb_core.models.irm.figures.blocks import block_figure
from acvb_core.models.irm.figures.dendrogram import tree_figure
from acvb_core.models.irm.figures.group_graph import group_graph_figure
from acvb_core.models.irm.figures.network_layout import GroupGraph, group_graph, why_too_large
from acvb_core.models.irm.figures.node_link import node_link_figure
from acvb_core.models.irm.figures.summaries import size_figure, strength_figure
from acvb_core.views.theme import Figure, ReportFigure

#: Title and caption of each figure of a report, by its name.
_REPORTED = {
    "matrix": ("Sorted matrix", "Rows and columns are sorted by cluster; dark cells are links."),
    "groups": (
        "Clusters",
        "Each disc is a cluster, its area the number of nodes. Lines: more links than expected.",
    ),
    "nodes": (
        "Nodes",
        "Each dot is a node in the colour of its cluster; nodes with an uncertain cluster are hollow.",
    ),
    "strengths": ("Strength of the blocks", "Each cell is a pair of clusters."),
}


def list_reported(result: Result) -> list[ReportFigure]:
    """Return the figures of a report."""
    plots = result.prepared.model_row.part("figures.plots").list_plots(result)
    return [ReportFigure(*texts, plots[name]) for name, texts in _REPORTED.items() if name in plots]


def list_plots(result: Result) -> dict[str, Callable[[], Figure]]:
    """Return what draws each figure, by name; "groups" and "nodes" are of networks."""
    relation, posterior = result.prepared.data, result.posterior
    plots: dict[str, Callable[[], Figure]] = {
        "matrix": lambda: block_figure(arrange_result(result)),
        "unsorted": lambda: block_figure(arrange_as_read(relation)),
        "strengths": lambda: strength_figure(result),
        "sizes": lambda: size_figure(result, "rows"),
        "tree": lambda: tree_figure(result, "rows"),
    }
    if "cols" in posterior.arrays:
        plots["column_sizes"] = lambda: size_figure(result, "cols")
        return plots | {"column_tree": lambda: tree_figure(result, "cols")}

    @cache
    def build_graph() -> GroupGraph:
        return group_graph(relation, posterior, result.blocks, result.names["rows"])

    plots["groups"] = lambda: group_graph_figure(build_graph(), kind=relation.row_kind)
    if why_too_large(relation) is None:
        plots["nodes"] = lambda: node_link_figure(relation, posterior, build_graph())
    return plots
