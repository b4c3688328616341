"""Graphs in memory, GML and node-link texts, and how a graph becomes a relation with what is known of its nodes."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.names import text_of
from acvb_core.data.relations.assemble import AssembledRelation, ContradictionError, Entries, assemble
from acvb_core.data.relations.layout import ReadOptions, Sides
from acvb_core.data.relations.matrices import check_shape
from acvb_core.data.relations.networks import with_attributes
from acvb_core.data.relations.nodes import Side, make_side
from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.byte_source import ByteSource
from acvb_core.data.sources.text_lines import parse_json
from acvb_core.data.sources.values import ILLEGAL, ValueSummary, checked_threshold, read_value

WRITE_AGAIN = "Write the file again with the program it comes from"
_GML_HEAD = re.compile(r"^\s*graph\s*\[", re.MULTILINE)
_NAMES = ("label", "name")
_WEIGHTS = ("weight", "value")
# What tells nodes apart, and on which side they are; read as such.
_CALLED = {*_NAMES, "id", "_nx_name", "bipartite"}
# Where and how nodes are drawn.
_DRAWN = {
    "x", "y", "z", "graphics", "shape", "shape_type", "size", "color", "r", "g", "b", "width", "height", "x_fact",
    "y_fact", "phi", "q", "ic", "bc", "bw", "lc", "la", "lr", "lphi", "fos", "font", "x_coordinate", "y_coordinate",
    "labelgraphics", "viz", "pid",
}  # fmt: skip

# Types of graph-tool's properties that are no lists of values.
_SINGLE_VALUES = {"bool", "int16_t", "int32_t", "int64_t", "double", "long double", "string"}

Known = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph as a file, or a library of graphs, gives it."""

    kind: str  # what it comes from: "GML file"
    nodes: Mapping[str, Known]  # what is known of each, by its unique id
    edges: Sequence[tuple[int, int, Known]]  # positions of two nodes; undirected ones stand there once
    directed: bool | None  # None where the file does not say
    first_side: int | None = None  # of a file of two modes: nodes before this position are of the first
    facts: Sequence[Fact] = ()  # what reading the file found


def graph_of_networkx(graph: Any, kind: str, source: str, facts: Sequence[Fact] = ()) -> Graph:
    """Return what a networkx graph of any class holds."""
    # GraphML and GEXF give values that nodes and edges have unless they say otherwise.
    of_nodes, of_edges = (graph.graph.get(f"{what}_default", {}) for what in ("node", "edge"))
    nodes = {str(node): {**of_nodes, **known} for node, known in graph.nodes(data=True)}
    if len(nodes) < len(graph):
        raise DataError(
            "a node has the id of another, once as a number and once as text",
            source=source,
            value=Counter(map(str, graph)).most_common(1)[0][0],
            remedy="Give every node an id of its own.",
        )
    place = {node: i for i, node in enumerate(graph)}
    edges = [(place[u], place[v], {**of_edges, **known}) for u, v, known in graph.edges(data=True)]
    return Graph(kind, nodes, edges, bool(graph.is_directed()), facts=facts)


def graph_of_object(graph: Any, library: str, source: str) -> Graph:
    """Return what a graph in memory holds; `library` as `graph_library` says."""
    kind = f"graph of {library}"
    if library == "networkx":
        return graph_of_networkx(graph, kind, source)
    directed = bool(graph.is_directed())
    if library == "igraph":
        nodes = {str(node.index): _known_of(node.attributes()) for node in graph.vs}
        modes = [known.get("type") for known in nodes.values()]
        if nodes and all(
            isinstance(mode, bool) for mode in modes
        ):  # as igraph says that a graph has two sides
            for known in nodes.values():
                known["bipartite"] = int(known.pop("type"))
        edges = [(*edge.tuple, _known_of(edge.attributes())) for edge in graph.es]
        return Graph(kind, nodes, edges, directed)
    of_nodes, of_edges = (
        {name: values for name, values in kept.items() if values.value_type() in _SINGLE_VALUES}
        for kept in (graph.vertex_properties, graph.edge_properties)
    )
    place = {int(node): i for i, node in enumerate(graph.vertices())}  # a filter leaves gaps
    nodes = {
        str(int(node)): {name: values[node] for name, values in of_nodes.items()} for node in graph.vertices()
    }
    edges = [
        (
            place[int(edge.source())],
            place[int(edge.target())],
            {n: values[edge] for n, values in of_edges.items()},
        )
        for edge in graph.edges()
    ]
    return Graph(kind, nodes, edges, directed)


def _known_of(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return what igraph knows of a node or a link; it has None for what is not known."""
    return {name: value for name, value in attributes.items() if value is not None}


def read_gml(text: str, source: ByteSource) -> Graph:
    """Return the graph of a GML text."""
    import networkx as nx

    # Parallel edges are merged and reported, whether or not the file announces them.
    text = _GML_HEAD.sub(r"\g<0> multigraph 1 ", text.rstrip(), count=1)
    try:
        graph = nx.parse_gml(text.split("\n"), label=None)
    except Exception as problem:  # its parser raises all sorts on text that is not GML
        told = str(problem).split("\n")[0] or type(problem).__name__
        place = re.search(r" at \((\d+), \d+\)$", told)
        what = f"this is not readable GML ({told[: place.start()] if place else told})"
        raise source.fault(what, f"{WRITE_AGAIN}.", int(place[1]) if place else None) from None
    return graph_of_networkx(graph, "GML file", source.name)


def read_node_link(text: str, source: ByteSource) -> Graph:
    """Read nodes and links as NetworkX and D3 write them.

    NetworkX invents a node for a link whose end is not listed, so the lists are read here.
    """
    held = parse_json(text, source, f"{WRITE_AGAIN}, or copy it again.")
    held = held if isinstance(held, dict) else {}
    given, links = held.get("nodes"), held.get("links" if "links" in held else "edges")
    if not isinstance(given, list) or not isinstance(links, list):
        graph = '{"nodes": [{"id": …}, …], "links": [{"source": …, "target": …}, …]}'
        raise source.fault("this is a JSON file, but no graph", f"Give {graph}, or save it as CSV.")

    def fault(what: str, value: Any) -> DataError:
        remedy = "Correct it: every node needs an id of its own, every link a source and a target among them."
        return source.fault(what, remedy, value=json.dumps(value))

    place: dict[str, int] = {}
    for i, node in enumerate(given):
        if not isinstance(node, dict):
            raise fault(f"node {i + 1:,} is not an object", node)
        own = node.get("id", i)
        first = place.setdefault(_node_key(own), i)
        if first != i:
            raise fault(f"node {i + 1:,} has the id of node {first + 1:,}", own)
    edges = []
    for i, link in enumerate(links, start=1):
        if not isinstance(link, dict):
            raise fault(f"link {i:,} is not an object", link)
        for end in ("source", "target"):
            if end not in link:
                raise fault(f"link {i:,} has no {end}", link)
            if _node_key(link[end]) not in place:
                raise fault(f"link {i:,} ends at a node that the file does not hold", link[end])
        known = {name: value for name, value in link.items() if name not in ("source", "target", "key", "id")}
        edges.append((place[_node_key(link["source"])], place[_node_key(link["target"])], known))
    directed = held.get("directed") if isinstance(held.get("directed"), bool) else None
    return Graph("node-link JSON file", dict(zip(place, given, strict=True)), edges, directed)


def _node_key(given: Any) -> str:
    """Return a node's id as text: 1 and "1" are the same, and a tuple is a list in JSON."""
    return given if isinstance(given, str) else json.dumps(given)


def relation_of_graph(graph: Graph, options: ReadOptions, source: str) -> AssembledRelation:
    """Return a graph as a relation; every edge is a link unless its weight says otherwise."""
    if not graph.nodes:
        raise DataError("the graph has no nodes", source=source, remedy="Load a graph with nodes in it.")
    names, named = _name_nodes(graph)
    ends = np.array([edge[:2] for edge in graph.edges], dtype=np.int32).reshape(-1, 2)
    on_first = None if options.wants_network else _first_side(graph, ends)
    if on_first is not None:
        declared = Sides("two", "the file says which node is on which side")
        row_kind, column_kind = "row", "column"
        # An edge between two sides is the same link whichever node it names first.
        ends = np.where(on_first[ends[:, :1]], ends, ends[:, ::-1])
        rows = _choose_side(names, on_first, options.row_nodes, source)
        columns = _choose_side(names, ~on_first, options.column_nodes, source)
    else:
        declared = Sides("one", f"a {graph.kind} holds a network", graph.directed)
        row_kind = column_kind = "node"
        if graph.directed is False:
            ends = np.sort(ends, axis=1)
        nodes = options.row_nodes if options.row_nodes is not None else options.column_nodes
        if options.column_nodes not in (None, nodes):
            told = "This graph has one kind of node: give one node list, or the same one twice."
            raise ParameterError(told)
        rows = columns = _choose_side(names, np.ones(len(names), dtype=np.bool_), nodes, source)
    check_shape((rows.n, columns.n), options.shape, source)
    entries = Entries()
    weight, summary = _add_edges(entries, ends, [known for *_, known in graph.edges], options, source)
    try:
        found = assemble(
            entries, rows, columns, summary, name=options.name, row_kind=row_kind, column_kind=column_kind
        )
    except ContradictionError as clash:
        raise DataError(
            "two edges of one pair of nodes disagree: one has a weight that makes it a link, one that does not",
            source=source,
            value=f"{rows.labels[clash.row]}, {columns.labels[clash.column]}",
            remedy="Keep one of the two.",
        ) from None
    size = f"{plural(len(graph.nodes), 'node')} and {plural(len(graph.edges), 'edge')} of a {graph.kind}"
    told = f"Read {size}; nodes are named by their {named}."
    facts = [Fact("entries", len(graph.edges), told, {"names": named}), *graph.facts, *found.facts]
    unused = dict.fromkeys(name for *_, known in graph.edges for name in known if name not in (weight, "id"))
    if unused:
        told = f"Values of the edges not used: {_first_five(unused)}."
        facts.append(Fact("unused_columns", len(unused), told))
    attributes, attribute_facts = _group_nodes(list(graph.nodes.values()))
    here = rows.final >= 0
    for name, values in attributes.items():
        attributes[name] = np.full(rows.n, "", dtype=object)
        attributes[name][rows.final[here]] = values[here]
    relation = with_attributes(found.relation, attributes)
    return AssembledRelation(relation, [*facts, *attribute_facts], found.zeros, declared)


def _add_edges(
    entries: Entries, ends: NDArray[np.int32], edges: list[Known], options: ReadOptions, source: str
) -> tuple[str | None, ValueSummary | None]:
    """Add edges by their weight; return its name and what its numbers are, None where every edge is a link."""
    present = {name for known in edges for name in known}
    if options.weight not in (None, False, *present):
        remedy = f"Choose among {', '.join(map(repr, sorted(present))) or 'nothing: edges have no values'}."
        what = "no edge has a value of this name"
        raise DataError(what, source=source, value=str(options.weight), remedy=remedy)
    chosen = _WEIGHTS if options.weight is None else (options.weight,)
    threshold = checked_threshold(options.threshold)
    for name in (name for name in chosen if name in present):
        # An edge that is there, without a weight, is a link.
        texts = [text_of(known[name]) if name in known else "yes" for known in edges]
        values = {text: read_value(text, threshold) for text in set(texts)}
        bad = next((text for text in texts if values[text].verdict == ILLEGAL), None)
        if bad is None:
            numbers = np.array([values[text].number for text in texts])
            verdicts = np.array([values[text].verdict for text in texts], dtype=np.uint8)
            entries.add(ends[:, 0], ends[:, 1], verdicts, numbers)
            summary = ValueSummary(threshold)
            summary.observe(numbers)
            return name, summary
        if options.weight is not None:
            what = f"the value {name!r} of an edge is neither a number, nor yes / no, nor missing"
            remedy = "Choose another value of the edges, or none."
            raise DataError(what, source=source, value=bad, remedy=remedy)
    if options.threshold is not None:
        raise ParameterError("A threshold needs values; the edges of this graph have no weights.")
    entries.links.add(ends[:, 0], ends[:, 1])
    return None, None


def _name_nodes(graph: Graph) -> tuple[list[str], str]:
    """Return the nodes' names and what they are: a label if every node has one of its own, else the id."""
    for attribute in _NAMES:
        names = [text_of(known.get(attribute, "")).strip() for known in graph.nodes.values()]
        if all(names) and len(set(names)) == len(names):
            return names, attribute
    return list(graph.nodes), "id"


def _first_side(graph: Graph, ends: NDArray[np.int32]) -> NDArray[np.bool_] | None:
    """Return which nodes are on the first of two sides; None if the file does not say that there are two."""
    if graph.first_side is not None:
        first = np.arange(len(graph.nodes)) < graph.first_side
    else:
        modes = [text_of(known.get("bipartite", "")) for known in graph.nodes.values()]
        if set(modes) != {"0", "1"}:
            return None
        first = np.array(modes) == "0"
    return first if bool((first[ends[:, 0]] != first[ends[:, 1]]).all()) else None


def _choose_side(names: list[str], chosen: NDArray[np.bool_], nodes: list[str] | None, source: str) -> Side:
    """Return the objects of the chosen nodes; their codes are the positions of all nodes."""
    own = [name for name, is_here in zip(names, chosen, strict=True) if is_here]
    side = make_side(own, nodes, lambda _: {"source": source})
    final = np.full(len(names), -1, dtype=np.int32)
    final[chosen] = side.final
    return Side(side.labels, final)


def _group_nodes(nodes: Sequence[Known]) -> tuple[dict[str, NDArray[Any]], list[Fact]]:
    """Return what is known of the nodes and groups them, and what was left aside because it does not."""
    kept: dict[str, NDArray[Any]] = {}
    left: list[str] = []
    for name in dict.fromkeys(name for known in nodes for name in known):
        if name.lower() in _CALLED:
            continue
        values = [known.get(name, "") for known in nodes]
        texts = [text_of(value) for value in values if not isinstance(value, dict | list | tuple)]
        given = [text for text in texts if text]
        is_plain = name.lower() not in _DRAWN and len(texts) == len(nodes)
        if is_plain and 1 < len(set(given)) < len(given):
            kept[name] = np.array(texts, dtype=object)
        else:
            left.append(name)
    facts = []
    if kept:
        facts.append(Fact("attributes", len(kept), f"Known of the nodes: {', '.join(kept)}."))
    if left:
        told = f"Left aside, as it does not group the nodes: {_first_five(left)}."
        facts.append(Fact("attributes_left_aside", len(left), told))
    return kept, facts


def _first_five(names: Collection[str]) -> str:
    return ", ".join(islice(names, 5)) + (", …" if len(names) > 5 else "")
