"""Graph files: GraphML, GEXF and GML by way of NetworkX, node-link JSON, and Pajek."""

from __future__ import annotations

import io
import json
import re
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any
from xml.etree.ElementTree import ParseError

from acvb_core.data.relations.graph import Graph
from acvb_core.data.relations.graph_pajek import read_pajek
from acvb_core.data.report import Fact
from acvb_core.data.sources.byte_source import ByteSource, Utf8Stream
from acvb_core.errors import DataError

#: Bytes of a graph file (unpacked): in memory a graph takes about ten times as much.
MAX_GRAPH_BYTES = 200_000_000
_WRITE_AGAIN = "Write the file again with the program it comes from"
_COPY_AGAIN = f"{_WRITE_AGAIN}, or copy it again."
_GML_GRAPH = re.compile(r"^\s*graph\s*\[", re.MULTILINE)
# How nodes are drawn. Gephi writes colours in a form that NetworkX stumbles over.
_DRAWN = re.compile(rb"<viz:(\w+)\b[^>]*?(?:/>|>.*?</viz:\1\s*>)", re.DOTALL)


def read_graph(source: ByteSource, format: str, encoding: str | None) -> Graph:
    """Return what a graph file holds."""
    if format in ("graphml", "gexf"):
        return _read_xml(source, "GraphML" if format == "graphml" else "GEXF")
    read_text = {"gml": _read_gml, "node-link": _read_node_link, "pajek": read_pajek}[format]
    stream = Utf8Stream(source, encoding)
    content = bytearray()
    while piece := stream.read(1 << 20):
        content += piece
        _check_size(content, source)
    return read_text(content.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n"), source)


def _check_size(content: bytes | bytearray, source: ByteSource) -> None:
    if len(content) > MAX_GRAPH_BYTES:
        what = f"the graph file is larger than {MAX_GRAPH_BYTES / 1e6:,.0f} MB"
        raise source.fault(what, "Save the links as an edge list (CSV): those are read piece by piece.")


def _read_xml(source: ByteSource, kind: str) -> Graph:
    # NetworkX takes a while to import: only who reads such a file waits for it.
    import networkx as nx

    content = source.open().read(MAX_GRAPH_BYTES + 1)
    _check_size(content, source)
    check = _XmlCheck(source, kind)
    check.run(content)
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            if kind == "GraphML":
                graph = nx.read_graphml(io.BytesIO(content), force_multigraph=True)
            else:
                graph = nx.read_gexf(io.BytesIO(_DRAWN.sub(b"", content)))
    except Exception as problem:  # values that are not of their declared type make it raise all sorts
        why = f"no {problem}" if isinstance(problem, KeyError) else str(problem).split("\n")[0]
        raise source.fault(f"this {kind} cannot be read ({why})", f"{_WRITE_AGAIN}.") from None
    if graph.number_of_nodes() != len(check.nodes):
        what = "nodes stand inside other nodes (nested graphs)"
        raise source.fault(what, "Save it without groups or subgraphs.")
    facts = [Fact("warnings", 1, f"NetworkX says: {str(one.message).rstrip('.')}.") for one in told]
    repeated = len(check.ends) // 2 - graph.number_of_edges()
    if repeated > 0:
        facts.append(Fact("repeated_edges", repeated, f"{repeated:,} edges repeat another's id: merged."))
    return graph_of_networkx(graph, f"{kind} file", source.name, facts)


def _read_gml(text: str, source: ByteSource) -> Graph:
    import networkx as nx

    # Parallel edges are merged and reported, whether or not the file announces them.
    text = _GML_GRAPH.sub(r"\g<0> multigraph 1 ", text.rstrip(), count=1)
    try:
        graph = nx.parse_gml(text.split("\n"), label=None)
    except Exception as problem:  # its parser raises all sorts on text that is none
        told = str(problem).split("\n")[0] or type(problem).__name__
        place = re.search(r" at \((\d+), \d+\)$", told)
        what = f"this is no readable GML ({told[: place.start()] if place else told})"
        raise source.fault(what, f"{_WRITE_AGAIN}.", int(place[1]) if place else None) from None
    return graph_of_networkx(graph, "GML file", source.name)


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


def _read_node_link(text: str, source: ByteSource) -> Graph:
    """Read nodes and links as NetworkX and D3 write them.

    NetworkX makes a node of every end of a link that is none, so the lists are read here.
    """
    try:
        held = json.loads(text)
    except (ValueError, RecursionError) as problem:
        at = problem if isinstance(problem, json.JSONDecodeError) else None
        raise DataError(
            f"this is no well-formed JSON ({at.msg if at else 'it is nested too deeply'})",
            source=source.name,
            line=at.lineno if at else None,
            column=at.colno if at else None,
            remedy=_COPY_AGAIN,
        ) from None
    held = held if isinstance(held, dict) else {}
    given, links = held.get("nodes"), held.get("links" if "links" in held else "edges")
    if not isinstance(given, list) or not isinstance(links, list):
        remedy = (
            'Give {"nodes": [{"id": …}, …], "links": [{"source": …, "target": …}, …]}, or save it as CSV.'
        )
        raise source.fault("this is a JSON file, but no graph", remedy)

    def fault(what: str, value: Any) -> DataError:
        remedy = "Correct it: every node needs an id of its own, every link a source and a target among them."
        return source.fault(what, remedy, value=json.dumps(value))

    place: dict[str, int] = {}
    for i, node in enumerate(given):
        if not isinstance(node, dict):
            raise fault(f"node {i + 1:,} is no object", node)
        first = place.setdefault(_node_key(node.get("id", i)), i)
        if first != i:
            raise fault(f"node {i + 1:,} has the id of node {first + 1:,}", node["id"])
    edges = []
    for i, link in enumerate(links, start=1):
        if not isinstance(link, dict):
            raise fault(f"link {i:,} is no object", link)
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


class _XmlCheck:
    """A pass over the XML that builds nothing: places of what NetworkX would accept, or tell without a line."""

    def __init__(self, source: ByteSource, kind: str) -> None:
        from defusedxml.ElementTree import DefusedXMLParser

        self._source, self._kind = source, kind
        self._depth = self._graphs = 0
        self.nodes: set[str] = set()
        self.ends: list[tuple[str, int]] = []  # of the edges: a node and a line
        self._parser = DefusedXMLParser(target=self)

    def run(self, content: bytes) -> None:
        """Parse, and raise DataError at the first fault."""
        from defusedxml import DefusedXmlException

        try:
            self._parser.feed(content)
            self._parser.close()
        except ParseError as problem:
            (line, column), source = problem.position, self._source.name
            what = f"this is no well-formed XML ({str(problem).rpartition(': line')[0]})"
            raise DataError(what, source=source, line=line, column=column + 1, remedy=_COPY_AGAIN) from None
        except DefusedXmlException as problem:
            # A few nested entities can stand for gigabytes of text, and an external one for any file.
            name = getattr(problem, "name", None)
            raise self._fault("the XML declares an entity, which is not read", name) from None
        if not self._graphs:
            raise self._source.fault("the file holds no graph", f"{_WRITE_AGAIN}, with its graph.")
        for node, line in self.ends:
            if node not in self.nodes:
                raise self._fault("an edge ends at a node that the file does not hold", node, line)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Check an element that begins."""
        tag = name.rpartition("}")[2]
        if not self._depth and tag != self._kind.lower():
            raise self._fault(f"this is XML, but no {self._kind}", f"<{tag}>")
        if tag == "graph" and self._depth == 1:
            self._graphs += 1
            if self._graphs > 1:
                raise self._fault("this is a second graph")
        elif tag == "node":
            if "id" not in attributes:
                raise self._fault("a node has no id")
            if attributes["id"] in self.nodes:
                raise self._fault("a node has the id of another", attributes["id"])
            self.nodes.add(attributes["id"])
        elif tag == "edge":
            for end in ("source", "target"):
                if end not in attributes:
                    raise self._fault(f"an edge has no {end}")
                self.ends.append((attributes[end], self._parser.parser.CurrentLineNumber))
        self._depth += 1

    def end(self, name: str) -> None:
        """Leave an element."""
        self._depth -= 1

    def close(self) -> None:
        """Give back nothing: the parser asks for it."""

    def _fault(self, what: str, value: str | None = None, line: int | None = None) -> DataError:
        remedy = f"{_WRITE_AGAIN}: one graph, every node with an id of its own."
        return self._source.fault(what, remedy, line or self._parser.parser.CurrentLineNumber, value)
