"""Graph files: GraphML and GEXF, which NetworkX reads once they are checked, Pajek, and what `graph` reads as text."""

from __future__ import annotations

import io
import re
import warnings
from collections import Counter
from xml.etree.ElementTree import ParseError

from acvb_core.core.errors import DataError
from acvb_core.data.relations.graph import WRITE_AGAIN, Graph, graph_of_networkx, read_gml, read_node_link
from acvb_core.data.report import Fact, tell_count
from acvb_core.data.sources.byte_source import ByteSource, Utf8Stream
from acvb_core.data.sources.objects import check_size

#: Bytes of a graph file (unpacked): in memory a graph takes about ten times as much.
MAX_GRAPH_BYTES = 200_000_000
# How nodes are drawn. Gephi writes colours in a form that NetworkX stumbles over.
_DRAWN = re.compile(rb"<viz:(\w+)\b[^>]*?(?:/>|>.*?</viz:\1\s*>)", re.DOTALL)
# Of Pajek's files.
_TOKEN = re.compile(r'"([^"]*)"|(\S+)')
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_WHOLE = re.compile(r"\d{1,12}", re.ASCII)
_SHAPES = {"ellipse", "box", "diamond", "triangle", "cross", "empty", "house", "circle", "man", "woman"}
# Sections: of links, of what is passed over, and of all that has vertices of its own.
_LINKS = ("arcs", "edges", "arcslist", "edgeslist", "matrix")
_PASSED_OVER = ("vector", "permutation", "cluster", "hierarchy")
_HOLDERS = ("network", "partition", *_PASSED_OVER)
#: A line may claim them without naming one; each takes some 300 bytes.
_MAX_VERTICES = 5_000_000
#: Vertices that need no links; each takes several times as long as a row of a matrix.
_UNLINKED = 100_000
_NO_VERTICES = "there is no *Vertices line before this"


def read_graph(source: ByteSource, format: str, encoding: str | None) -> Graph:
    """Return what a graph file holds."""
    if format in ("graphml", "gexf"):
        return _read_xml(source, "GraphML" if format == "graphml" else "GEXF")
    stream = Utf8Stream(source, encoding)
    content = bytearray()
    while piece := stream.read(1 << 20):
        content += piece
        _check_size(content, source)
    text = content.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    if format == "pajek":
        return _PajekReader(source).read(text)
    return read_node_link(text, source) if format == "node-link" else read_gml(text, source)


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
        raise source.fault(f"this {kind} cannot be read ({why})", f"{WRITE_AGAIN}.") from None
    if graph.number_of_nodes() != len(check.nodes):
        raise source.fault("nodes are nested in other nodes", "Save it without groups or subgraphs.")
    facts = [Fact("warnings", 1, f"NetworkX says: {str(one.message).rstrip('.')}.") for one in told]
    repeated = max(0, len(check.ends) // 2 - graph.number_of_edges())
    facts += tell_count("repeated_edges", repeated, "{edge repeats|edges repeat} another's id: merged.")
    return graph_of_networkx(graph, f"{kind} file", source.name, facts)


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
            what = f"this is not well-formed XML ({str(problem).rpartition(': line')[0]})"
            remedy = f"{WRITE_AGAIN}, or copy it again."
            raise DataError(what, source=source, line=line, column=column + 1, remedy=remedy) from None
        except DefusedXmlException as problem:
            # A few nested entities can stand for gigabytes of text, and an external one for any file.
            name = getattr(problem, "name", None)
            raise self._fault("the XML declares an entity, which is not read", name) from None
        except (LookupError, ValueError) as problem:  # of the encoding that the file declares
            raise self._fault(f"this XML cannot be decoded ({problem})") from None
        if not self._graphs:
            raise self._source.fault("the file holds no graph", f"{WRITE_AGAIN}, with its graph.")
        for node, line in self.ends:
            if node not in self.nodes:
                raise self._fault("an edge ends at a node that the file does not hold", node, line)

    def start(self, name: str, attributes: dict[str, str]) -> None:
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
        self._depth -= 1

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
        self._known: dict[int, dict[str, str]] = {}
        self._links: dict[str, list[tuple[int, int, dict[str, str]]]] = {"arcs": [], "edges": []}
        self._partitions: dict[str, list[str]] = {}
        self._takers = dict.fromkeys(_LINKS, self._take_links)
        self._takers |= {"vertices": self._take_vertex, "matrix": self._take_matrix_row}

    def read(self, text: str) -> Graph:
        """Return one network and its partitions; in a file with arcs and edges an edge is an arc each way."""
        for number, line in enumerate(map(str.strip, text.split("\n")), start=1):
            if line and not line.startswith("%"):
                self._line = number
                self._take(line)
        return self._graph()

    def _take(self, text: str) -> None:
        tokens = [quoted or bare for quoted, bare in _TOKEN.findall(text)]
        if text.startswith("*"):
            self._start(text)
        elif self._holder == "partition":
            self._partitions[next(reversed(self._partitions))].append(text)
        elif self._holder == "network":
            if self._section not in self._takers:
                raise self._fault("this line is in no section", text)
            self._takers[self._section](tokens)

    def _start(self, text: str) -> None:
        word, _, rest = text[1:].partition(" ")
        name = word.lower().rstrip(":")
        if name not in ("vertices", *_HOLDERS, *_LINKS):
            raise self._fault("there is no such section in Pajek's files", text)
        self._section = name
        self._heads[name] += 1
        if name in _HOLDERS:
            self._holder = name
        if name == "network" and self._heads[name] > 1:
            raise self._fault("this is a second network", text)
        if name == "partition":
            partition = rest.strip() or f"partition {len(self._partitions) + 1}"
            if partition in self._partitions:
                raise self._fault("this is a second partition of the same name", text)
            self._partitions[partition] = []
        elif name == "vertices":
            self._start_vertices(rest)
        elif name in _LINKS:
            if self._holder != "network":
                raise self._fault(f"links are inside a *{self._holder}", text)
            if not self._n:
                raise self._fault(_NO_VERTICES)

    def _start_vertices(self, rest: str) -> None:
        numbers = rest.split()
        if len(numbers) not in (1, 2) or not all(map(_WHOLE.fullmatch, numbers)):
            raise self._fault("*Vertices needs the number of vertices", rest)
        n = int(numbers[0])
        if self._holder != "network":
            if self._n not in (0, n):
                raise self._fault(f"the *{self._holder} is of {n:,} vertices, the network has {self._n:,}")
            return
        if self._n:
            raise self._fault("this is a second list of vertices")
        if not 0 < n <= _MAX_VERTICES:
            raise self._fault(f"the number of vertices must be from 1 to {_MAX_VERTICES:,}", numbers[0])
        self._n, self._first_side = n, int(numbers[1]) if numbers[1:] else 0
        if numbers[1:] and not 0 < self._first_side < n:
            raise self._fault("the vertices of the first mode must be some, and not all", numbers[1])

    def _vertex(self, token: str) -> int:
        if not _WHOLE.fullmatch(token) or not 1 <= int(token) <= self._n:
            raise self._fault(f"vertices have numbers from 1 to {self._n:,}", token)
        return int(token) - 1

    def _take_vertex(self, tokens: list[str]) -> None:
        at = self._vertex(tokens[0])
        if at in self._known:
            raise self._fault("this vertex is listed twice", tokens[0])
        # Behind the label: coordinates and a shape, then names and values in turn. Those are for drawing, mostly.
        rest = tokens[2:]
        while rest and (_NUMBER.fullmatch(rest[0]) or rest[0].lower() in _SHAPES):
            rest = rest[1:]
        label = tokens[1] if len(tokens) > 1 and tokens[1] else str(at + 1)
        self._known[at] = dict(zip(rest[::2], rest[1::2], strict=False)) | {"label": label}

    def _take_links(self, tokens: list[str]) -> None:
        """Read a link with its value, or in a list a vertex and its neighbours."""
        links = self._links[self._section.removesuffix("list")]
        if self._section.endswith("list"):
            first, *others = map(self._vertex, tokens)
            links += [(first, other, {}) for other in others]
            return
        if len(tokens) < 2:
            raise self._fault("a link needs two vertices", " ".join(tokens))
        weight = {"weight": tokens[2]} if len(tokens) > 2 and _NUMBER.fullmatch(tokens[2]) else {}
        links.append((self._vertex(tokens[0]), self._vertex(tokens[1]), weight))

    def _take_matrix_row(self, tokens: list[str]) -> None:
        row, start = self._matrix_rows, self._first_side
        if len(tokens) != self._n - start or row >= (self._first_side or self._n):
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
        facts = []
        for name in _PASSED_OVER:
            told = f"{{section *{name}|sections *{name}}} not used."
            facts += tell_count("sections_left_aside", self._heads[name], told)
        links = arcs + edges
        if arcs and edges:
            told = "The file has arcs and edges: {edge} taken as arcs both ways."
            facts += tell_count("edges_both_ways", len(edges), told)
            links += [(v, u, known) for u, v, known in edges if u != v]
        # A matrix shows by itself whether it has a direction.
        directed = None if self._heads["matrix"] else bool(arcs)
        return Graph("Pajek file", nodes, links, directed, self._first_side or None, facts)

    def _fault(self, what: str, value: str | None = None) -> DataError:
        remedy = "Correct the line, or write the file again with the program it comes from."
        return self._source.fault(what, remedy, self._line, value)
