"""Graph files: GraphML, GEXF and GML by way of NetworkX, node-link JSON, and Pajek."""

from __future__ import annotations

import io
import json
import re
import warnings
from collections import Counter
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
_GML_GRAPH = re.compile(r"^\s*graph\s*\[", re.MULTILINE)
# How nodes are drawn. Gephi writes colours in a form that NetworkX stumbles over.
_DRAWN = re.compile(rb"<viz:(\w+)\b[^>]*?(?:/>|>.*?</viz:\1\s*>)", re.DOTALL)


def read_graph(source: ByteSource, format: str, encoding: str | None) -> Graph:
    """Read a graph file.

    Raises
    ------
    DataError
        The file is broken, or larger than a graph file may be.
    """
    if format in ("graphml", "gexf"):
        return _read_xml(source, format)
    if format == "gml":
        return _read_gml(source, encoding)
    if format == "node-link":
        return _read_node_link(source, encoding)
    return read_pajek(whole_lines(source, encoding), source.name)


def whole_lines(source: ByteSource, encoding: str | None) -> list[str]:
    """Return the lines of a graph file, without their ends.

    Raises
    ------
    DataError
        It is larger than a graph file may be, or bytes are not of the encoding.
    """
    stream = Utf8Stream(source, encoding)
    pieces, size = [], 0
    while piece := stream.read(1 << 20):
        pieces.append(piece)
        size += len(piece)
        _check_size(size, source)
    text = b"".join(pieces).decode("utf-8")
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _check_size(size: int, source: ByteSource) -> None:
    if size > MAX_GRAPH_BYTES:
        raise DataError(
            f"the graph file is larger than {MAX_GRAPH_BYTES / 1e6:,.0f} MB",
            source=source.name,
            remedy="Save the links as an edge list (CSV): those are read piece by piece.",
        )


def _read_xml(source: ByteSource, format: str) -> Graph:
    # NetworkX takes a while to import: only who reads such a file waits for it.
    import networkx as nx

    content = source.open().read(MAX_GRAPH_BYTES + 1)
    _check_size(len(content), source)
    kind = {"graphml": "GraphML", "gexf": "GEXF"}[format]
    check = _XmlCheck(source.name, kind)
    check.run(content)
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            if format == "graphml":
                found = nx.read_graphml(io.BytesIO(content), force_multigraph=True)
            else:
                found = nx.read_gexf(io.BytesIO(_DRAWN.sub(b"", content)))
    except Exception as problem:  # values that are not of their declared type make it raise all sorts
        what = f"no {problem}" if isinstance(problem, KeyError) else str(problem).split("\n")[0]
        raise DataError(
            f"this {kind} cannot be read ({what})", source=source.name, remedy=f"{_WRITE_AGAIN}."
        ) from None
    if found.number_of_nodes() != len(check.nodes):
        raise DataError(
            "nodes stand inside other nodes (nested graphs)",
            source=source.name,
            remedy="Save it without groups or subgraphs.",
        )
    facts = [Fact("warnings", 1, f"NetworkX says: {str(one.message).rstrip('.')}.") for one in told]
    repeated = check.n_edges - found.number_of_edges()
    if repeated > 0:
        facts.append(Fact("repeated_edges", repeated, f"{repeated:,} edges repeat another's id: merged."))
    return graph_of_networkx(found, f"{kind} file", source.name, facts)


def _read_gml(source: ByteSource, encoding: str | None) -> Graph:
    import networkx as nx

    text = "\n".join(whole_lines(source, encoding)).rstrip()
    # Parallel edges are merged and reported, whether or not the file announces them.
    text = _GML_GRAPH.sub(r"\g<0> multigraph 1 ", text, count=1)
    try:
        found = nx.parse_gml(text.split("\n"), label=None)
    except Exception as problem:  # its parser raises all sorts on text that is none
        what = str(problem).split("\n")[0] or type(problem).__name__
        place = re.search(r" at \((\d+), (\d+)\)$", what)
        raise DataError(
            f"this is no readable GML ({what[: place.start()] if place else what})",
            source=source.name,
            line=int(place[1]) if place else None,
            remedy=f"{_WRITE_AGAIN}.",
        ) from None
    return graph_of_networkx(found, "GML file", source.name)


def graph_of_networkx(found: Any, kind: str, source: str, facts: list[Fact] | None = None) -> Graph:
    """Return what a networkx graph of any class holds.

    Raises
    ------
    DataError
        Two nodes have the same name, one being a number and one a text.
    """
    ids = [str(node) for node in found]
    if len(set(ids)) < len(ids):
        raise DataError(
            "a node has the id of another, once as a number and once as text",
            source=source,
            value=Counter(ids).most_common(1)[0][0],
            remedy="Give every node an id of its own.",
        )
    place = {node: i for i, node in enumerate(found)}
    # GraphML and GEXF give values that nodes and edges have unless they say otherwise.
    of_nodes, of_edges = (found.graph.get(f"{what}_default", {}) for what in ("node", "edge"))
    edges = list(found.edges(data=True))
    return Graph(
        kind,
        ids,
        [{**of_nodes, **known} for _, known in found.nodes(data=True)],
        [(place[u], place[v]) for u, v, _ in edges],
        [{**of_edges, **known} for _, _, known in edges],
        bool(found.is_directed()),
        facts=facts or [],
    )


def _read_node_link(source: ByteSource, encoding: str | None) -> Graph:
    """Read nodes and links as NetworkX and D3 write them.

    NetworkX makes a node of every end of a link that is none, so the lists are read here.
    """
    try:
        held = json.loads("\n".join(whole_lines(source, encoding)))
    except (ValueError, RecursionError) as problem:
        at = problem if isinstance(problem, json.JSONDecodeError) else None
        raise DataError(
            f"this is no well-formed JSON ({at.msg if at else 'it is nested too deeply'})",
            source=source.name,
            line=at.lineno if at else None,
            column=at.colno if at else None,
            remedy=f"{_WRITE_AGAIN}, or copy it again.",
        ) from None
    links_key = "links" if isinstance(held, dict) and "links" in held else "edges"
    nodes, links = (held.get(key) if isinstance(held, dict) else None for key in ("nodes", links_key))
    if not isinstance(nodes, list) or not isinstance(links, list):
        raise DataError(
            "this is a JSON file, but no graph",
            source=source.name,
            remedy='Give {"nodes": [{"id": …}, …], "links": [{"source": …, "target": …}, …]}, or save it as CSV.',
        )

    def fault(what: str, value: Any) -> DataError:
        remedy = "Correct it: every node needs an id of its own, every link a source and a target among them."
        return DataError(what, source=source.name, value=json.dumps(value), remedy=remedy)

    place: dict[Any, int] = {}
    for i, node in enumerate(nodes):
        if not isinstance(node, dict):
            raise fault(f"node {i + 1:,} is no object", node)
        key = _node_key(node.get("id", i))
        if place.setdefault(key, i) != i:
            raise fault(f"node {i + 1:,} has the id of node {place[key] + 1:,}", node["id"])
    ends = []
    for i, link in enumerate(links):
        if not isinstance(link, dict):
            raise fault(f"link {i + 1:,} is no object", link)
        for end in ("source", "target"):
            if end not in link:
                raise fault(f"link {i + 1:,} has no {end}", link)
            if _node_key(link[end]) not in place:
                raise fault(f"link {i + 1:,} ends at a node that the file does not hold", link[end])
        ends.append((place[_node_key(link["source"])], place[_node_key(link["target"])]))
    told = {"source", "target", "key", "id"}
    values = [{name: value for name, value in link.items() if name not in told} for link in links]
    directed = held.get("directed")
    says = directed if isinstance(directed, bool) else None
    return Graph("node-link JSON file", list(place), nodes, ends, values, says)


def _node_key(given: Any) -> str:
    """Return a node's id as text: 1 and "1" are the same, and a tuple is a list in JSON."""
    return given if isinstance(given, str) else json.dumps(given)


class _XmlCheck:
    """A pass over the XML that builds nothing: places of what NetworkX would accept, or tell without a line."""

    def __init__(self, source: str, kind: str) -> None:
        from defusedxml.ElementTree import DefusedXMLParser

        self._source, self._kind = source, kind
        self._path: list[str] = []
        self._graphs = 0
        self.nodes: set[str] = set()
        self.n_edges = 0
        self._ends: list[tuple[str, int]] = []
        self._parser = DefusedXMLParser(target=self)

    def run(self, content: bytes) -> None:
        """Parse, and raise DataError at the first fault."""
        from defusedxml import DefusedXmlException

        try:
            self._parser.feed(content)
            self._parser.close()
        except ParseError as problem:
            line, column = problem.position
            raise DataError(
                f"this is no well-formed XML ({str(problem).rpartition(': line')[0]})",
                source=self._source,
                line=line,
                column=column + 1,
                remedy=f"{_WRITE_AGAIN}, or copy it again.",
            ) from None
        except DefusedXmlException as problem:
            # A few nested entities can stand for gigabytes of text, and an external one for any file.
            name = getattr(problem, "name", None)
            raise self._fault("the XML declares an entity, which is not read", name) from None
        if not self._graphs:
            raise DataError(
                "the file holds no graph", source=self._source, remedy=f"{_WRITE_AGAIN}, with its graph."
            )
        for node, line in self._ends:
            if node not in self.nodes:
                raise self._fault("an edge ends at a node that the file does not hold", node, line)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Check an element that begins."""
        tag = name.rpartition("}")[2]
        if not self._path and tag != self._kind.lower():
            raise self._fault(f"this is XML, but no {self._kind}", f"<{tag}>")
        if tag == "graph" and len(self._path) == 1:
            self._graphs += 1
            if self._graphs > 1:
                raise self._fault("this is a second graph", None)
        elif tag == "node":
            node = attributes.get("id")
            if node is None:
                raise self._fault("a node has no id", None)
            if node in self.nodes:
                raise self._fault("a node has the id of another", node)
            self.nodes.add(node)
        elif tag == "edge":
            self.n_edges += 1
            for end in ("source", "target"):
                if end not in attributes:
                    raise self._fault(f"an edge has no {end}", None)
                self._ends.append((attributes[end], self._parser.parser.CurrentLineNumber))
        self._path.append(tag)

    def end(self, name: str) -> None:
        """Leave an element."""
        self._path.pop()

    def close(self) -> None:
        """Give back nothing: the parser asks for it."""

    def _fault(self, what: str, value: str | None, line: int | None = None) -> DataError:
        return DataError(
            what,
            source=self._source,
            line=line or self._parser.parser.CurrentLineNumber,
            value=value,
            remedy=f"{_WRITE_AGAIN}: one graph, every node with an id of its own.",
        )
