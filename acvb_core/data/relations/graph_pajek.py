"""Pajek's .net and .paj files.

NetworkX reads them too, but takes the edges of a file with arcs and edges for arcs, lists of neighbours for weights,
nodes of the same label for one and partitions for nodes; it fails at two modes and unnamed vertices, and makes a node
of a vertex that is not there. So these lines are read here.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from acvb_core.data.relations.graph import Graph, Known
from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.byte_source import ByteSource
from acvb_core.data.sources.objects import check_size
from acvb_core.errors import DataError

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


def read_pajek(text: str, source: ByteSource) -> Graph:
    """Return one network and its partitions; in a file with arcs and edges an edge is an arc each way."""
    reader = _Reader(source)
    for number, line in enumerate(map(str.strip, text.split("\n")), start=1):
        if line and not line.startswith("%"):
            reader.take(line, number)
    return reader.graph()


class _Reader:
    """What was read so far, and the section that the next line belongs to."""

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self._line = self._n = self._first_side = self._matrix_rows = 0
        self._holder, self._section = "network", ""  # whose vertices follow, and what follows
        self._heads: Counter[str] = Counter()
        self._known: dict[int, dict[str, Any]] = {}
        self._links: dict[str, list[tuple[int, int, Known]]] = {"arcs": [], "edges": []}
        self._partitions: dict[str, list[str]] = {}

    def take(self, text: str, number: int) -> None:
        """Read one line that holds something."""
        self._line = number
        tokens = [quoted or bare for quoted, bare in _TOKEN.findall(text)]
        if text.startswith("*"):
            self._start(text)
        elif self._holder == "partition":
            self._partitions[next(reversed(self._partitions))].append(text)
        elif self._holder == "network" and self._section == "vertices":
            self._take_vertex(tokens)
        elif self._holder == "network" and self._section == "matrix":
            self._take_matrix_row(tokens)
        elif self._holder == "network" and self._section in _LINKS:
            self._take_links(tokens)
        elif self._holder == "network":
            raise self._fault("this line is in no section", text)

    def _start(self, text: str) -> None:
        """Begin a section."""
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
            self._check_vertices()

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

    def _check_vertices(self) -> None:
        if not self._n:
            raise self._fault("there is no *Vertices line before this")

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
                raise self._fault("this is no number", token)
            if float(token) != 0:
                self._links["arcs"].append((row, column, {"weight": token}))
        self._matrix_rows += 1

    def graph(self) -> Graph:
        """Return what was read."""
        self._check_vertices()
        n, (arcs, edges) = self._n, self._links.values()
        entries = len(self._known) + len(arcs) + len(edges)
        check_size(n, "vertices", entries, {"source": self._source.name})
        wanted = self._first_side or n
        if self._heads["matrix"] and self._matrix_rows != wanted:
            raise self._fault(f"the matrix has {self._matrix_rows:,} rows instead of {wanted:,}")
        for name, values in self._partitions.items():
            if len(values) != n:
                raise self._fault(f"the partition {name!r} has {len(values):,} values for {n:,} vertices")
        nodes = {
            str(i + 1): {"label": str(i + 1)}
            | self._known.get(i, {})
            | {name: values[i] for name, values in self._partitions.items()}
            for i in range(n)
        }
        facts = []
        for name, count in self._heads.items():
            if name in _PASSED_OVER:
                who = plural(count, f"section *{name}", f"sections *{name}")
                facts.append(Fact("sections_left_aside", count, f"{who} not used."))
        links = arcs + edges
        if arcs and edges:
            told = f"The file has arcs and edges: {plural(len(edges), 'edge')} taken as arcs both ways."
            facts.append(Fact("edges_both_ways", len(edges), told))
            links += [(v, u, known) for u, v, known in edges if u != v]
        # A matrix shows by itself whether it has a direction.
        directed = None if self._heads["matrix"] else bool(arcs)
        return Graph("Pajek file", nodes, links, directed, self._first_side or None, facts)

    def _fault(self, what: str, value: str | None = None) -> DataError:
        remedy = "Correct the line, or write the file again with the program it comes from."
        return self._source.fault(what, remedy, self._line, value)
