"""Graphs in memory and graph files (GraphML, GEXF, GML, Pajek, node-link), and how a graph becomes a relation."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import dropwhile
from typing import Any
from xml.etree.ElementTree import ParseError

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.matrix import check_shape
from acvb_core.data.names import text_of
from acvb_core.data.network import with_attributes
from acvb_core.data.relation import Relation
from acvb_core.data.relation_build import Entries, Side, assemble, make_side, open_entries
from acvb_core.data.relation_schema import ASK_DIRECTION, ReadOptions
from acvb_core.data.report import Fact, list_first, plural, tell_count
from acvb_core.data.schema import Sides
from acvb_core.data.sources.arrays import check_size
from acvb_core.data.sources.source import ByteSource, Utf8Stream, parse_json
from acvb_core.data.sources.values import ILLEGAL, PLAIN, read_value

WRITE_AGAIN = "Write the file again with the program it comes from"
_GML_HEAD = re.compile(r"^\s*graph\s*\[", re.MULTILINE)
_NAMES = ("label", "name")
_WEIGHTS = ("weight", "value")
# Attributes that identify a node or give its side; read as such.
_CALLED = {"id", "_nx_name", "bipartite"}
# Attributes of how nodes are drawn.
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
    edges: Sequence[tuple[int, int, Known]]  # positions of two nodes; undirected ones are listed once
    directed: bool | None  # None if the file does not say
    facts: Sequence[Fact] = ()  # what reading the file found


def graph_of_networkx(graph: Any, kind: str, source: str) -> Graph:
    """Return what a networkx graph of any class holds."""
    nodes = {str(node): known for node, known in graph.nodes(data=True)}
    if len(nodes) < len(graph):
        raise DataError(
            "a node has the id of another, once as a number and once as text",
            source=source,
            value=Counter(map(str, graph)).most_common(1)[0][0],
            remedy="Give every node an id of its own.",
        )
    place = {node: i for i, node in enumerate(graph)}
    edges = [(place[u], place[v], known) for u, v, known in graph.edges(data=True)]
    return Graph(kind, nodes, edges, bool(graph.is_directed()))


def graph_of_object(graph: Any, library: str, source: str) -> Graph:
    """Return what a graph in memory holds; `library` as `graph_library` says."""
    kind = f"graph of {library}"
    if library == "networkx":
        return graph_of_networkx(graph, kind, source)
    directed = bool(graph.is_directed())
    if library == "igraph":
        nodes = {str(node.index): _known_of(node.attributes()) for node in graph.vs}
        # igraph says that a graph has two sides by a type of True or False.
        if all(isinstance(known.get("type"), bool) for known in nodes.values()):
            for known in nodes.values():
                known["bipartite"] = int(known.pop("type"))
        return Graph(
            kind, nodes, [(*edge.tuple, _known_of(edge.attributes())) for edge in graph.es], directed
        )
    of_nodes, of_edges = (
        {name: values for name, values in kept.items() if values.value_type() in _SINGLE_VALUES}
        for kept in (graph.vertex_properties, graph.edge_properties)
    )
    ids = [int(node) for node in graph.vertices()]  # a filter leaves gaps
    place = {node: i for i, node in enumerate(ids)}
    nodes = {str(node): {name: values[node] for name, values in of_nodes.items()} for node in ids}
    edges = []
    for edge in graph.edges():
        known = {name: values[edge] for name, values in of_edges.items()}
        edges.append((place[int(edge.source())], place[int(edge.target())], known))
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


def relation_of_graph(graph: Graph, options: ReadOptions, source: str) -> tuple[Relation, Entries]:
    """Return a graph as a relation; every edge is a link unless its weight says otherwise."""
    if not graph.nodes:
        raise DataError("the graph has no nodes", source=source, remedy="Load a graph with nodes in it.")
    names, named, facts = _name_nodes(graph)
    ends = np.array([edge[:2] for edge in graph.edges], dtype=np.int32).reshape(-1, 2)
    on_first = None if options.wants_network else _first_side(graph, ends)
    if on_first is not None:
        declared, kinds = Sides("two", "the file says which node is on which side"), ("row", "column")
        # An edge between two sides is the same link whichever node it names first.
        ends = np.where(on_first[ends[:, :1]], ends, ends[:, ::-1])
        rows = _choose_side(names, on_first, options.row_nodes, source)
        columns = _choose_side(names, ~on_first, options.column_nodes, source)
    else:
        declared, kinds = Sides("one", f"a {graph.kind} holds a network", graph.directed), ("node", "node")
        if graph.directed is False:
            ends = np.sort(ends, axis=1)
        nodes = options.row_nodes if options.row_nodes is not None else options.column_nodes
        if options.column_nodes not in (None, nodes):
            raise ParameterError(
                "This graph has one kind of node: give one node list, or the same one twice."
            )
        rows = columns = _choose_side(names, np.ones(len(names), dtype=np.bool_), nodes, source)
    check_shape((rows.n, columns.n), options.shape, source)

    def fault(row: int, column: int) -> DataError:
        return DataError(
            "two edges of one pair of nodes disagree: one has a weight that makes it a link, one that does not",
            source=source,
            value=f"{rows.labels[row]}, {columns.labels[column]}",
            remedy="Keep one of the two.",
        )

    entries, weight = _add_edges(ends, [known for *_, known in graph.edges], options, source)
    entries.facts, entries.declared = [*facts, *graph.facts, *entries.facts], declared
    relation = assemble(entries, (rows, columns), fault, options.name, kinds)
    unused = dict.fromkeys(name for *_, known in graph.edges for name in known if name not in (weight, "id"))
    if unused:
        told = f"Values of the edges not used: {list_first(unused)}."
        entries.facts.append(Fact("unused_columns", len(unused), told))
    attributes, attribute_facts = _group_nodes(list(graph.nodes.values()), names, named)
    entries.facts += attribute_facts
    here = rows.final >= 0
    for name, values in attributes.items():
        attributes[name] = np.full(rows.n, "", dtype=object)
        attributes[name][rows.final[here]] = values[here]
    return with_attributes(relation, attributes), entries


def _add_edges(
    ends: NDArray[np.int32], edges: list[Known], options: ReadOptions, source: str
) -> tuple[Entries, str | None]:
    """Return the edges by their weight, and its name; without a weight every edge is a link."""
    present = {name for known in edges for name in known}
    if options.weight not in (None, False, *present):
        remedy = f"Choose among {', '.join(map(repr, sorted(present))) or 'nothing: edges have no values'}."
        what = "no edge has a value of this name"
        raise DataError(what, source=source, value=str(options.weight), remedy=remedy)
    chosen = _WEIGHTS if options.weight is None else (options.weight,)
    for name in (name for name in chosen if name in present):
        # An edge that is there, without a weight, is a link.
        texts = [text_of(known[name]) if name in known else "yes" for known in edges]
        values = {text: read_value(text, PLAIN) for text in set(texts)}
        bad = next((text for text in texts if values[text].verdict == ILLEGAL), None)
        if bad is None:
            numbers = np.array([values[text].number for text in texts])
            entries = open_entries(options.threshold, source, [numbers])
            words = np.array([values[text].verdict for text in texts], dtype=np.uint8)
            entries.add(ends[:, 0], ends[:, 1], words, numbers)
            return entries, name
        if options.weight is not None:
            what = f"the value {name!r} of an edge is neither a number, nor yes / no, nor missing"
            remedy = "Choose another value of the edges, or none."
            raise DataError(what, source=source, value=bad, remedy=remedy)
    if options.threshold is not None:
        raise ParameterError("A threshold needs values; the edges of this graph have no weights.")
    entries = Entries()
    entries.links.add(ends[:, 0], ends[:, 1])
    return entries, None


def _name_nodes(graph: Graph) -> tuple[list[str], str, list[Fact]]:
    """Return the nodes' names and what they are: a label that all have and that does not group them, else the id."""
    ids = names = list(graph.nodes)
    named, repeated = "id", 0
    for attribute in _NAMES:
        labels = [text_of(known.get(attribute, "")).strip() for known in graph.nodes.values()]
        times = Counter(labels)
        if all(labels) and 2 * len(times) >= len(ids):
            labels = [f"{one} ({id})" if times[one] > 1 else one for one, id in zip(labels, ids, strict=True)]
            if len(set(labels)) == len(labels):
                names, named, repeated = labels, attribute, sum(n for n in times.values() if n > 1)
                break
    size = f"{plural(len(ids), 'node')} and {plural(len(graph.edges), 'edge')} of a {graph.kind}"
    told = f"Read {size}; nodes are named by their {named}."
    facts = [Fact("entries", len(graph.edges), told, {"names": named})]
    told = f"{{node shares its {named} with another|nodes share their {named} with others}}: the id is added to it."
    return names, named, facts + tell_count("repeated_names", repeated, told)


def _first_side(graph: Graph, ends: NDArray[np.int32]) -> NDArray[np.bool_] | None:
    """Return which nodes are on the first of two sides; None if the file does not say that there are two."""
    modes = [text_of(known.get("bipartite", "")) for known in graph.nodes.values()]
    first = np.array(modes) == "0"
    if set(modes) != {"0", "1"} or (first[ends[:, 0]] == first[ends[:, 1]]).any():
        return None
    return first


def _choose_side(names: list[str], chosen: NDArray[np.bool_], nodes: list[str] | None, source: str) -> Side:
    """Return the objects of the chosen nodes; their codes are the positions of all nodes."""
    own = [name for name, is_here in zip(names, chosen, strict=True) if is_here]
    side = make_side(own, nodes, lambda _: {"source": source})
    final = np.full(len(names), -1, dtype=np.int32)
    final[chosen] = side.final
    return Side(side.labels, final)


def _group_nodes(
    nodes: Sequence[Known], names: list[str], named: str
) -> tuple[dict[str, NDArray[Any]], list[Fact]]:
    """Return what is known of the nodes and groups or names them, and what was left aside because it does neither."""
    kept: dict[str, NDArray[Any]] = {}
    left: list[str] = []
    for name in dict.fromkeys(name for known in nodes for name in known):
        if name.lower() in _CALLED or name == named:
            continue
        values = [known.get(name, "") for known in nodes]
        texts = [text_of(value) for value in values if not isinstance(value, dict | list | tuple)]
        given = [text for text in texts if text]
        is_plain = name.lower() not in _DRAWN and len(texts) == len(nodes)
        if is_plain and len(set(given)) > 1 and texts != names:
            kept[name] = np.array(texts, dtype=object)
        elif name not in _NAMES:
            left.append(name)
    facts = []
    if kept:
        facts.append(Fact("attributes", len(kept), f"Known of the nodes: {', '.join(kept)}."))
    if left:
        told = f"Left aside, as it neither groups nor names the nodes: {list_first(left)}."
        facts.append(Fact("attributes_left_aside", len(left), told))
    return kept, facts


#: Bytes of a graph file (unpacked): in memory a graph takes about ten times as much.
MAX_GRAPH_BYTES = 200_000_000
_BOTH_WAYS = "{edge without a direction was|edges without a direction were} taken both ways."
# Readers of values in GraphML and GEXF by their declared type, and the words for a direction.
_XML_TYPES: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("int", "integer", "long"), int),
    **dict.fromkeys(("float", "double"), float),
    "boolean": lambda text: {"true": True, "1": True, "false": False, "0": False}[text.lower()],
}
_TEXT_TAGS = {"default", "data", "NodeLabel", "EdgeLabel"}
_XML_DIRECTIONS = {"true": True, "directed": True, "false": False, "undirected": False, "mutual": False}
# Patterns and words of Pajek's files.
_TOKEN = re.compile(r'"([^"]*)"|(\S+)')
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_WHOLE = re.compile(r"\d{1,12}", re.ASCII)
_SHAPES = {"ellipse", "box", "diamond", "triangle", "cross", "empty", "house", "circle", "man", "woman"}
# Sections: of links, of what is skipped, and of all that has vertices of its own.
_LINKS = ("arcs", "edges", "arcslist", "edgeslist", "matrix")
_PASSED_OVER = ("vector", "permutation", "cluster", "hierarchy")
_HOLDERS = ("network", "partition", *_PASSED_OVER)
#: A line may claim them without naming one; each takes some 300 bytes.
_MAX_VERTICES = 5_000_000
#: Vertices that need no links; each takes several times as long as a row of a matrix.
_UNLINKED = 100_000
_NO_VERTICES = "there is no *Vertices line before this"


def read_graph(source: ByteSource, format: str, options: ReadOptions) -> Graph:
    """Return what a graph file holds."""
    is_xml = format in ("graphml", "gexf")
    stream = source.open() if is_xml else Utf8Stream(source, options.encoding)
    content = bytearray()
    while piece := stream.read(1 << 20):
        content += piece
        if len(content) > MAX_GRAPH_BYTES:
            what = f"the graph file is larger than {MAX_GRAPH_BYTES / 1e6:,.0f} MB"
            raise source.fault(what, "Save the links as an edge list (CSV): those are read piece by piece.")
    if is_xml:
        return _XmlReader(source, "GraphML" if format == "graphml" else "GEXF").read(
            content, False if options.domains == "two" else options.directed
        )
    text = content.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    if format == "pajek":
        return _PajekReader(source).read(text)
    return read_node_link(text, source) if format == "node-link" else read_gml(text, source)


class _XmlReader:
    """Reader of GraphML and GEXF, and target of its parser: what was read so far, and the elements that are open.

    NetworkX gives no line for most faults, and refuses an edge whose direction is not that of the graph.
    """

    def __init__(self, source: ByteSource, kind: str) -> None:
        from defusedxml.ElementTree import DefusedXMLParser

        self._source, self._kind = source, kind
        self._parser = DefusedXMLParser(target=self)
        # Elements, with their texts if they may have some.
        self._open: list[tuple[str, list[str] | None]] = []
        self._known: list[tuple[str, dict[str, Any]]] = []  # of the nodes and edges that are open
        self._classes: set[str] = set()  # what the declared key is for: nodes, edges or both
        self._key = ""
        self._keys: dict[tuple[str, str], dict[str, str]] = {}
        self._defaults: dict[str, dict[str, Any]] = {"node": {}, "edge": {}}
        self._directed: bool | None = None  # None as long as there is no graph
        self._nodes: dict[str, dict[str, Any]] = {}
        # Two nodes, what is known of the edge, whether it has a direction, and its line.
        self._edges: list[tuple[str, str, dict[str, Any], bool, int]] = []

    def read(self, content: bytes | bytearray, directed: bool | None) -> Graph:
        """Return the graph; if some edges have a direction and some have none, `directed` must say what they are."""
        from defusedxml import DefusedXmlException

        try:
            self._parser.feed(content)
            self._parser.close()
        except ParseError as problem:
            (line, column), source = problem.position, self._source.name
            what = f"this is not well-formed XML ({str(problem).rpartition(': line')[0]})"
            remedy = f"{WRITE_AGAIN}, or copy it again."
            raise DataError(what, source=source, line=line, column=column + 1, remedy=remedy) from None
        except DefusedXmlException as problem:
            # A few nested entities can expand to gigabytes of text, and an external one for any file.
            name = getattr(problem, "name", None)
            raise self._fault("the XML declares an entity, which is not read", name) from None
        except (LookupError, ValueError) as problem:  # of the encoding that the file declares
            raise self._fault(f"this XML cannot be decoded ({problem})") from None
        if self._directed is None:
            raise self._source.fault("the file holds no graph", f"{WRITE_AGAIN}, with its graph.")
        place = {node: i for i, node in enumerate(self._nodes)}
        edges: list[tuple[int, int, Known]] = []
        both_ways: list[tuple[int, int, Known]] = []
        defaults = self._defaults["edge"]
        for source, target, known, is_directed, line in self._edges:
            for node in (source, target):
                if node not in place:
                    raise self._fault("an edge ends at a node that the file does not hold", node, line)
            first = self._edges[0]
            if is_directed is not first[3] and directed is None:
                what = f"some edges have a direction and some have none, as on line {first[4]:,}"
                raise self._source.fault(what, ASK_DIRECTION, line)
            if defaults:  # those without values of their own share one dictionary
                known = {**defaults, **known} if known else defaults
            edges.append((place[source], place[target], known))
            if not is_directed and source != target:
                both_ways.append((place[target], place[source], known))
        said = {is_directed for *_, is_directed, _ in self._edges} or {self._directed}
        n_both = len(both_ways) if directed and len(said) > 1 else 0
        facts = tell_count("edges_both_ways", n_both, _BOTH_WAYS)
        edges += both_ways if facts else []
        nodes = {node: {**self._defaults["node"], **known} for node, known in self._nodes.items()}
        return Graph(f"{self._kind} file", nodes, edges, directed if len(said) > 1 else said.pop(), facts)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        tag = name.rpartition("}")[2]
        if not self._open and tag != self._kind.lower():
            raise self._fault(f"this is XML, but no {self._kind}", f"<{tag}>")
        if tag == "graph":
            if self._directed is not None:
                nested = any(one == "node" for one, _ in self._open)
                raise self._fault("nodes are nested in other nodes" if nested else "this is a second graph")
            said = attributes.get("edgedefault", attributes.get("defaultedgetype", ""))
            self._directed = _XML_DIRECTIONS.get(said, False)
        elif tag in ("node", "edge") and self._directed is not None:
            self._start_known(tag, attributes)
        elif tag == "attributes":
            self._classes = {attributes.get("class", "")}
        elif tag in ("key", "attribute"):
            if tag == "key":
                of = attributes.get("for", "all")
                self._classes = {"node", "edge"} if of == "all" else {of}
            self._key = attributes.get("id", "")
            self._keys |= {(one, self._key): attributes for one in self._classes}
        elif tag == "attvalue" and self._known:
            key = attributes.get("for", attributes.get("id", ""))
            self._add(*self._known[-1], key, attributes.get("value", ""))
        elif tag == "data":
            self._key = attributes.get("key", "")
        elif tag == "hyperedge":
            raise self._fault("hyperedges are not read")
        self._open.append((tag, [] if tag in _TEXT_TAGS else None))

    def _start_known(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "edge":
            for end in ("source", "target"):
                if end not in attributes:
                    raise self._fault(f"an edge has no {end}")
            said = attributes.pop("directed", None) or attributes.pop("type", "")
            directed = _XML_DIRECTIONS.get(said, bool(self._directed))
            ends = attributes.pop("source"), attributes.pop("target")
            self._edges.append((*ends, attributes, directed, self._parser.parser.CurrentLineNumber))
        else:
            node = attributes.pop("id", None)
            if node is None:
                raise self._fault("a node has no id")
            if node in self._nodes:
                raise self._fault("a node has the id of another", node)
            self._nodes[node] = attributes
        self._known.append((tag, attributes))

    def _add(self, of: str, known: dict[str, Any], key: str, text: str) -> None:
        """Add a value of a declared key to what is known of nodes or of edges."""
        if (of, key) not in self._keys:
            raise self._fault(f"there is no key {key} for {of}s")
        row = self._keys[of, key]
        name = row.get("attr.name") or row.get("title") or row.get("yfiles.type") or key
        kind = row.get("attr.type") or row.get("type") or "string"
        try:
            value = _XML_TYPES.get(kind, str)(text) if text.strip() else ""
        except (ValueError, KeyError):
            raise self._fault(f"this is no value of the type {kind}", text) from None
        known[name] = [known[name], value] if name in known else value  # several: they change with time

    def data(self, text: str) -> None:
        texts = self._open[-1][1]
        if texts is not None:
            texts.append(text)

    def end(self, name: str) -> None:
        tag, texts = self._open.pop()
        text = "".join(texts or ())
        if tag == "default":
            for of in self._defaults.keys() & self._classes:
                self._add(of, self._defaults[of], self._key, text)
        elif tag == "data" and self._known and text.strip():
            self._add(*self._known[-1], self._key, text)
        elif tag in ("NodeLabel", "EdgeLabel") and self._known:  # as yEd writes them
            self._known[-1][1].setdefault("label", text.strip())
        elif tag in ("node", "edge") and self._known:
            self._known.pop()

    def _fault(self, what: str, value: str | None = None, line: int | None = None) -> DataError:
        remedy = f"{WRITE_AGAIN}: one graph, every node with an id of its own."
        return self._source.fault(what, remedy, line or self._parser.parser.CurrentLineNumber, value)


class _PajekReader:
    """Reader of a Pajek file: what was read so far, and the section that the next line belongs to.

    NetworkX takes the edges of a file with arcs and edges for arcs, lists of neighbours for weights, nodes of the same
    label for one and partitions for nodes; it fails at two modes and unnamed vertices, and makes a node of a vertex
    that is not there.
    """

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self._line = self._n = self._first_side = self._matrix_rows = 0
        self._holder, self._section = "network", ""  # whose vertices follow, and what follows
        self._heads: Counter[str] = Counter()
        self._known: dict[int, dict[str, Any]] = {}
        self._links: dict[str, list[tuple[int, int, dict[str, str]]]] = {"arcs": [], "edges": []}
        self._partitions: dict[str, list[str]] = {}

    def read(self, text: str) -> Graph:
        """Return one network and its partitions; in a file with arcs and edges an edge is an arc each way."""
        for number, line in enumerate(map(str.strip, text.split("\n")), start=1):
            if not line or line.startswith("%"):
                continue
            self._line, tokens = number, [quoted or bare for quoted, bare in _TOKEN.findall(line)]
            if line.startswith("*"):
                self._start(line)
            elif self._holder == "partition":
                self._partitions[next(reversed(self._partitions))].append(line)
            elif self._holder == "network":
                if not self._section:
                    raise self._fault("this line is in no section", line)
                takers = {"vertices": self._take_vertex, "matrix": self._take_matrix_row}
                takers.get(self._section, self._take_links)(tokens)
        return self._graph()

    def _start(self, text: str) -> None:
        word, _, rest = text[1:].partition(" ")
        self._section = name = word.lower().rstrip(":")
        self._heads[name] += 1
        if name in _HOLDERS:
            self._holder, self._section = name, ""
            if name == "network" and self._heads[name] > 1:
                raise self._fault("this is a second network", text)
            if name == "partition":
                partition = rest.strip() or f"partition {len(self._partitions) + 1}"
                if partition in self._partitions:
                    raise self._fault("this is a second partition of the same name", text)
                self._partitions[partition] = []
        elif name == "vertices":
            self._start_vertices(rest)
        elif name not in _LINKS:
            raise self._fault("there is no such section in Pajek's files", text)
        elif self._holder != "network":
            raise self._fault(f"links are inside a *{self._holder}", text)
        elif not self._n:
            raise self._fault(_NO_VERTICES)

    def _start_vertices(self, rest: str) -> None:
        numbers = rest.split()
        if len(numbers) not in (1, 2) or not all(map(_WHOLE.fullmatch, numbers)):
            raise self._fault("*Vertices needs the number of vertices", rest)
        n, first_side = int(numbers[0]), int(numbers[-1])
        if self._holder != "network":
            if self._n not in (0, n):
                raise self._fault(f"the *{self._holder} is of {n:,} vertices, the network has {self._n:,}")
            return
        if self._n:
            raise self._fault("this is a second list of vertices")
        if not 0 < n <= _MAX_VERTICES:
            raise self._fault(f"the number of vertices must be from 1 to {_MAX_VERTICES:,}", numbers[0])
        if numbers[1:] and not 0 < first_side < n:
            raise self._fault("the vertices of the first mode must be some, and not all", numbers[1])
        self._n, self._first_side = n, first_side if numbers[1:] else 0

    def _find_vertex(self, token: str) -> int:
        if not _WHOLE.fullmatch(token) or not 1 <= int(token) <= self._n:
            raise self._fault(f"vertices have numbers from 1 to {self._n:,}", token)
        return int(token) - 1

    def _take_vertex(self, tokens: list[str]) -> None:
        at = self._find_vertex(tokens[0])
        if at in self._known:
            raise self._fault("this vertex is listed twice", tokens[0])
        # Behind the label: coordinates and a shape, then names and values in turn. Those are for drawing, mostly.
        rest = dropwhile(lambda word: _NUMBER.fullmatch(word) or word.lower() in _SHAPES, tokens[2:])
        label = "".join(tokens[1:2]) or str(at + 1)
        self._known[at] = dict(zip(rest, rest, strict=False)) | {"label": label}

    def _take_links(self, tokens: list[str]) -> None:
        """Read a link with its value, or in a list a vertex and its neighbours."""
        is_list = self._section.endswith("list")
        if len(tokens) < 2 and not is_list:
            raise self._fault("a link needs two vertices", " ".join(tokens))
        weight = {"weight": tokens[2]} if tokens[2:] and not is_list and _NUMBER.fullmatch(tokens[2]) else {}
        first, *others = map(self._find_vertex, tokens if is_list else tokens[:2])
        self._links[self._section.removesuffix("list")] += [(first, other, weight) for other in others]

    def _take_matrix_row(self, tokens: list[str]) -> None:
        row, start = self._matrix_rows, self._first_side
        if len(tokens) != self._n - start or row >= (start or self._n):
            raise self._fault(f"row {row + 1:,} of the matrix has {len(tokens):,} numbers")
        for column, token in enumerate(tokens, start=start):
            if not _NUMBER.fullmatch(token):
                raise self._fault("this is not a number", token)
            if float(token) != 0:
                self._links["arcs"].append((row, column, {"weight": token}))
        self._matrix_rows += 1

    def _graph(self) -> Graph:
        if not self._n:
            raise self._fault(_NO_VERTICES)
        n, (arcs, edges) = self._n, self._links.values()
        entries = len(self._known) + len(arcs) + len(edges)
        check_size(n, "vertices", entries, {"source": self._source.name}, allowed=_UNLINKED)
        wanted = self._first_side or n
        if self._heads["matrix"] and self._matrix_rows != wanted:
            raise self._fault(f"the matrix has {self._matrix_rows:,} rows instead of {wanted:,}")
        nodes = {str(i + 1): self._known.get(i) or {"label": str(i + 1)} for i in range(n)}
        for name, values in self._partitions.items():
            if len(values) != n:
                raise self._fault(f"the partition {name!r} has {len(values):,} values for {n:,} vertices")
            for known, value in zip(nodes.values(), values, strict=True):
                known[name] = value
        if self._first_side:
            for at, known in enumerate(nodes.values()):
                known["bipartite"] = int(at >= self._first_side)
        facts = []
        for name in _PASSED_OVER:
            told = f"{{section *{name}|sections *{name}}} not used."
            facts += tell_count("sections_left_aside", self._heads[name], told)
        links = arcs + edges
        if arcs and edges:
            facts += tell_count("edges_both_ways", len(edges), _BOTH_WAYS)
            links += [(v, u, known) for u, v, known in edges if u != v]
        # A matrix shows by itself whether it has a direction.
        directed = None if self._heads["matrix"] else bool(arcs)
        return Graph("Pajek file", nodes, links, directed, facts)

    def _fault(self, what: str, value: str | None = None) -> DataError:
        remedy = "Correct the line, or write the file again with the program it comes from."
        return self._source.fault(what, remedy, self._line, value)
