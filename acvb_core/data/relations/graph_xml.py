"""GraphML: what the file holds is checked line by line, then NetworkX reads it."""

from __future__ import annotations

import io
import warnings
from typing import Any
from xml.parsers import expat

import networkx as nx

from acvb_core.data.relations.graph import Graph, whole_bytes
from acvb_core.data.report import Fact
from acvb_core.data.sources.byte_source import ByteSource
from acvb_core.errors import DataError

_WRITE_AGAIN = "Write the file again with the program it comes from"


def read_graphml(source: ByteSource) -> Graph:
    """Read a GraphML file.

    Raises
    ------
    DataError
        Broken XML, no graph or more than one, an edge between nodes that are not there, with the line; XML that
        declares entities.
    """
    content = whole_bytes(source)
    check = _Check(source.name)
    check.run(content)
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = nx.read_graphml(io.BytesIO(content), force_multigraph=True)
    except Exception as problem:  # values that are not of their declared type make it raise all sorts
        raise DataError(
            f"this GraphML cannot be read ({_text(problem)})", source=source.name, remedy=f"{_WRITE_AGAIN}."
        ) from None
    if found.number_of_nodes() != len(check.nodes):
        raise DataError(
            "nodes stand inside other nodes (nested graphs)",
            source=source.name,
            remedy="Save it without groups or subgraphs.",
        )
    place = {node: i for i, node in enumerate(found)}
    edges = [(place[u], place[v]) for u, v in found.edges()]
    facts = [Fact("warnings", 1, f"NetworkX says: {str(one.message).rstrip('.')}.") for one in told]
    repeated = check.n_edges - len(edges)
    if repeated:
        facts.append(Fact("repeated_edges", repeated, f"{repeated:,} edges repeat another's id: merged."))
    defaults = found.graph.get("node_default", {}), found.graph.get("edge_default", {})
    nodes = [{**defaults[0], **known} for _, known in found.nodes(data=True)]
    values: list[dict[str, Any]] = [{**defaults[1], **known} for _, _, known in found.edges(data=True)]
    return Graph("GraphML", list(found), nodes, edges, values, bool(found.is_directed()), facts=facts)


class _Check:
    """A pass over the XML that builds nothing: places of what NetworkX would accept, or tell without a line."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._path: list[str] = []
        self._graphs = 0
        self.nodes: set[str] = set()
        self.n_edges = 0
        self._ends: list[tuple[str, int]] = []
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.EntityDeclHandler = self._entity

    def run(self, content: bytes) -> None:
        """Parse, and raise DataError at the first fault."""
        try:
            self._parser.Parse(content, True)
        except expat.ExpatError as problem:
            reason = expat.errors.messages[problem.code]
            raise DataError(
                f"this is no well-formed XML ({reason})",
                source=self._source,
                line=problem.lineno,
                column=problem.offset + 1,
                remedy=f"{_WRITE_AGAIN}, or copy it again.",
            ) from None
        if not self._graphs:
            raise DataError(
                "the file holds no graph", source=self._source, remedy=f"{_WRITE_AGAIN}, with its graph."
            )
        for node, line in self._ends:
            if node not in self.nodes:
                raise self._fault("an edge ends at a node that the file does not hold", node, line)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        tag = name.rpartition(":")[2]
        if not self._path and tag != "graphml":
            raise self._fault("this is XML, but no GraphML", f"<{name}>")
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
                self._ends.append((attributes[end], self._parser.CurrentLineNumber))
        self._path.append(tag)

    def _end(self, name: str) -> None:
        self._path.pop()

    def _entity(self, name: str, *rest: Any) -> None:
        # A few nested entities can stand for gigabytes of text, and an external one for any file.
        raise self._fault("the XML declares an entity, which is not read", name)

    def _fault(self, what: str, value: str | None, line: int | None = None) -> DataError:
        return DataError(
            what,
            source=self._source,
            line=line or self._parser.CurrentLineNumber,
            value=value,
            remedy=f"{_WRITE_AGAIN}: one graph, every node with an id of its own.",
        )


def _text(problem: Exception) -> str:
    return f"no {problem}" if isinstance(problem, KeyError) else str(problem).split("\n")[0]
