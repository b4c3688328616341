"""GML, by way of NetworkX."""

from __future__ import annotations

import re
from typing import Any

import networkx as nx

from acvb_core.data.relations.graph import Graph, whole_lines
from acvb_core.data.sources.byte_source import ByteSource
from acvb_core.errors import DataError

_GRAPH = re.compile(r"^\s*graph\s*\[", re.MULTILINE)


def read_gml(source: ByteSource, encoding: str | None) -> Graph:
    """Read a GML file.

    Raises
    ------
    DataError
        The file breaks the format, with the line where NetworkX says it.
    """
    text = "\n".join(whole_lines(source, encoding)).rstrip()
    # Parallel edges are merged and reported, whether or not the file announces them.
    text = _GRAPH.sub(r"\g<0> multigraph 1 ", text, count=1)
    try:
        found = nx.parse_gml(text.split("\n"), label=None)
    except Exception as problem:  # its parser raises all sorts on text that is none
        what = str(problem).split("\n")[0] or type(problem).__name__
        place = re.search(r" at \((\d+), (\d+)\)$", what)
        raise DataError(
            f"this is no readable GML ({what[: place.start()] if place else what})",
            source=source.name,
            line=int(place[1]) if place else None,
            remedy="Write the file again with the program it comes from.",
        ) from None
    place_of = {node: i for i, node in enumerate(found)}
    ids = [str(node) for node in found]
    if len(set(ids)) < len(ids):
        raise DataError(
            "a node has the id of another, once as a number and once as text",
            source=source.name,
            remedy="Give every node an id of its own.",
        )
    nodes: list[dict[str, Any]] = [dict(known) for _, known in found.nodes(data=True)]
    edges = [(place_of[u], place_of[v]) for u, v in found.edges()]
    values: list[dict[str, Any]] = [dict(known) for _, _, known in found.edges(data=True)]
    return Graph("GML", ids, nodes, edges, values, bool(found.is_directed()))
