"""A graph, from a file or from networkx: its nodes and edges become a relation with what is known of the nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.names import text_of
from acvb_core.data.relations.assemble import Assembled, ContradictionError, Entries, assemble
from acvb_core.data.relations.layout import ReadOptions, Sides
from acvb_core.data.relations.matrices import check_shape
from acvb_core.data.relations.networks import with_attributes
from acvb_core.data.relations.nodes import Side, side_as_found, side_from_list
from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.values import ILLEGAL, ValueSummary, checked_threshold, read_value
from acvb_core.errors import DataError, ParameterError

_NAMES = ("label", "name")
_WEIGHTS = ("weight", "value")
# What a node is called and where it is drawn, not what it is.
_NO_ATTRIBUTES = {
    "id", "label", "name", "_nx_name", "bipartite", "x", "y", "z", "graphics", "shape", "shape_type", "size", "color",
    "r", "g", "b", "width", "height", "x_fact", "y_fact", "phi", "q", "ic", "bc", "bw", "lc", "la", "lr", "lphi", "fos",
    "font", "x_coordinate", "y_coordinate", "labelgraphics", "viz", "pid",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph as a file, or networkx, gives it.

    Attributes
    ----------
    kind : str
        What it comes from: "GML file".
    ids : sequence of str
        Unique; what it calls its nodes by itself.
    nodes : sequence of mappings, one for each node
        What is known of it.
    edges : sequence of (int, int)
        Positions of two nodes. Edges of an undirected graph stand there once.
    values : sequence of mappings, one for each edge
        What is known of it.
    directed : bool or None
        None where the file does not say.
    first_side : int or None
        The file says that it has two modes: nodes before this position are of the first.
    facts : list of Fact
        What reading the file found.
    """

    kind: str
    ids: Sequence[str]
    nodes: Sequence[Mapping[str, Any]]
    edges: Sequence[tuple[int, int]]
    values: Sequence[Mapping[str, Any]]
    directed: bool | None
    first_side: int | None = None
    facts: list[Fact] = field(default_factory=list)


def relation_of_graph(graph: Graph, options: ReadOptions, source: str) -> Assembled:
    """Return a graph as a relation; every edge is a link unless its weight says otherwise.

    Raises
    ------
    DataError
        There are no nodes, a pair is given as a link and as none, or a label or weight is not as asked for.
    """
    if not graph.ids:
        raise DataError("the graph has no nodes", source=source, remedy="Load a graph with nodes in it.")
    names, named = _node_names(graph)
    ends = np.array(graph.edges, dtype=np.int32).reshape(-1, 2)
    on_first = None if options.wants_network else _first_side(graph, ends)
    bipartite = on_first is not None
    if on_first is not None:
        # An edge between two sides is the same link whichever node it names first.
        ends = np.where(on_first[ends[:, :1]], ends, ends[:, ::-1])
        rows, columns = (
            _side(names, on_first, options.row_nodes, source),
            _side(names, ~on_first, options.column_nodes, source),
        )
    else:
        if graph.directed is False:
            ends = np.sort(ends, axis=1)
        nodes = options.row_nodes if options.row_nodes is not None else options.column_nodes
        if options.column_nodes is not None and options.column_nodes != nodes:
            raise ParameterError(
                "This graph has one kind of node: give one node list, or the same one twice."
            )
        rows = columns = _side(names, np.ones(len(names), dtype=np.bool_), nodes, source)
    check_shape((rows.n, columns.n), options.shape, source)
    weights = _weights(graph.values, options, source)
    entries = Entries()
    if weights is None:
        entries.links.add(ends[:, 0], ends[:, 1])
    else:
        entries.add(ends[:, 0], ends[:, 1], weights.verdicts, weights.numbers)
    try:
        found = assemble(
            entries,
            rows,
            columns,
            None if weights is None else weights.summary,
            name=options.name,
            row_kind="row" if bipartite else "node",
            column_kind="column" if bipartite else "node",
        )
    except ContradictionError as clash:
        raise DataError(
            "two edges of one pair of nodes disagree: one has a weight that makes it a link, one that does not",
            source=source,
            value=f"{rows.labels[clash.row]}, {columns.labels[clash.column]}",
            remedy="Keep one of the two.",
        ) from None
    attributes, told = _attributes(graph.nodes)
    facts = [_size_fact(graph, named), *graph.facts, *found.facts, *_unused(graph, weights), *told]
    placed = {name: _placed(values, rows) for name, values in attributes.items()}
    if bipartite:
        declared = Sides("two", "the file says which node is on which side")
    else:
        declared = Sides("one", f"a {graph.kind} holds a network", graph.directed)
    return Assembled(with_attributes(found.relation, placed), facts, found.zeros, declared)


class _Weights(NamedTuple):
    """What the edges' weights say: verdicts and numbers of shape (n_edges,), nan where an edge has none."""

    name: str
    verdicts: NDArray[np.uint8]
    numbers: NDArray[np.float64]
    summary: ValueSummary


def _weights(values: Sequence[Mapping[str, Any]], options: ReadOptions, source: str) -> _Weights | None:
    """Return what the edges' weights say; None where every edge is a link."""
    present = {name for known in values for name in known}
    if options.weight is None:
        candidates = [name for name in _WEIGHTS if name in present]
    elif options.weight is False:
        candidates = []
    elif options.weight in present:
        candidates = [options.weight]
    else:
        raise DataError(
            "no edge has a value of this name",
            source=source,
            value=options.weight,
            remedy=f"Choose among {', '.join(map(repr, sorted(present))) or 'nothing: edges have no values'}.",
        )
    threshold = checked_threshold(options.threshold)
    for name in candidates:
        read = {
            text: read_value(text, threshold)
            for text in {text_of(known[name]) for known in values if name in known}
        }
        bad = next((text for text, value in read.items() if value.verdict == ILLEGAL), None)
        if bad is not None:
            if options.weight is None:
                continue
            raise DataError(
                f"the value {name!r} of an edge is neither a number, nor yes / no, nor missing",
                source=source,
                value=bad,
                remedy="Choose another value of the edges, or none.",
            )
        absent = read_value("yes")  # an edge that is there is a link
        found = [read[text_of(known[name])] if name in known else absent for known in values]
        numbers = np.array([value.number for value in found])
        summary = ValueSummary(threshold)
        summary.observe(numbers)
        return _Weights(name, np.array([value.verdict for value in found], dtype=np.uint8), numbers, summary)
    if options.threshold is not None:
        raise ParameterError("A threshold needs values; the edges of this graph have no weights.")
    return None


def _node_names(graph: Graph) -> tuple[list[str], str]:
    """Return the nodes' names and what they are: a label if every node has one of its own, else the id."""
    for attribute in _NAMES:
        found = [text_of(known.get(attribute, "")).strip() for known in graph.nodes]
        if all(found) and len(set(found)) == len(found):
            return found, attribute
    return list(graph.ids), "id"


def _first_side(graph: Graph, ends: NDArray[np.int32]) -> NDArray[np.bool_] | None:
    """Return which nodes are on the first of two sides; None if the file does not say that there are two."""
    if graph.first_side is not None:
        first = np.arange(len(graph.ids)) < graph.first_side
    else:
        modes = [text_of(known.get("bipartite", "")) for known in graph.nodes]
        if set(modes) != {"0", "1"}:
            return None
        first = np.array(modes) == "0"
    return first if bool((first[ends[:, 0]] != first[ends[:, 1]]).all()) else None


def _side(names: Sequence[str], chosen: NDArray[np.bool_], nodes: list[str] | None, source: str) -> Side:
    """Return one side's objects, by the nodes' positions."""
    own = [name for name, is_here in zip(names, chosen, strict=True) if is_here]
    side = (
        side_as_found(own) if nodes is None else side_from_list(own, nodes, lambda code: {"source": source})
    )
    final = np.full(len(names), -1, dtype=np.int32)
    final[chosen] = side.final
    return Side(side.labels, final)


def _placed(values: Sequence[str], rows: Side) -> NDArray[Any]:
    """Return labels of the nodes in the order of the row objects."""
    found = np.full(rows.n, "", dtype=object)
    for value, at in zip(values, rows.final.tolist(), strict=True):
        if at >= 0:
            found[at] = value
    return found


def _attributes(nodes: Sequence[Mapping[str, Any]]) -> tuple[dict[str, list[str]], list[Fact]]:
    """Return what is known of the nodes and groups them, and what was left aside because it does not."""
    names = list(dict.fromkeys(name for known in nodes for name in known))
    kept: dict[str, list[str]] = {}
    left = []
    for name in names:
        if name.lower() in _NO_ATTRIBUTES:
            if name.lower() not in (*_NAMES, "id", "_nx_name", "bipartite"):
                left.append(name)
            continue
        values = [known.get(name, "") for known in nodes]
        if any(isinstance(value, dict | list | tuple) for value in values):
            left.append(name)
            continue
        texts = [text_of(value) for value in values]
        different = set(texts) - {""}
        if 1 < len(different) < sum(text != "" for text in texts):
            kept[name] = texts
        else:
            left.append(name)
    facts = []
    if kept:
        told = f"Known of the nodes: {', '.join(kept)}."
        facts.append(Fact("attributes", len(kept), told))
    if left:
        few = ", ".join(left[:5]) + (", …" if len(left) > 5 else "")
        told = f"Left aside, as it does not group the nodes: {few}."
        facts.append(Fact("attributes_left_aside", len(left), told))
    return kept, facts


def _unused(graph: Graph, weights: _Weights | None) -> list[Fact]:
    used = {weights.name} if weights is not None else set()
    left = list(dict.fromkeys(name for known in graph.values for name in known if name not in {*used, "id"}))
    if not left:
        return []
    few = ", ".join(left[:5]) + (", …" if len(left) > 5 else "")
    return [Fact("unused_columns", len(left), f"Values of the edges not used: {few}.")]


def _size_fact(graph: Graph, named: str) -> Fact:
    nodes, edges = plural(len(graph.ids), "node"), plural(len(graph.edges), "edge")
    told = f"Read {nodes} and {edges} of a {graph.kind}; nodes are named by their {named}."
    return Fact("entries", len(graph.edges), told, {"names": named})
