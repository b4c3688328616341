"""Pajek's .net and .paj files.

NetworkX reads them too, but takes the edges of a file with arcs and edges for arcs, lists of neighbours for weights,
nodes of the same label for one and partitions for nodes; it fails at two modes and unnamed vertices, and makes a node
of a vertex that is not there. So these lines are read here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from acvb_core.data.relations.graph import Graph
from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.objects import check_size
from acvb_core.errors import DataError

_TOKEN = re.compile(r'"([^"]*)"|(\S+)')
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_WHOLE = re.compile(r"\d{1,12}", re.ASCII)
_LINKS = ("arcs", "edges", "arcslist", "edgeslist", "matrix")
_PASSED_OVER = ("vector", "permutation", "cluster", "hierarchy")
_SHAPES = {"ellipse", "box", "diamond", "triangle", "cross", "empty", "house", "circle", "man", "woman"}
#: A line may claim them without naming one; each takes some 300 bytes.
_MAX_VERTICES = 5_000_000


def read_pajek(lines: Sequence[str], source: str) -> Graph:
    """Return one network and its partitions.

    Arcs have a direction, edges have none: in a file with both an edge is an arc each way.
    """
    reader = _Reader(source)
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if text and not text.startswith("%"):
            reader.take(text, number)
    return reader.graph()


class _Reader:
    """What was read so far, and the section that the next line belongs to."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._line = self._networks = 0
        self._section = ""
        self._holder = "network"  # whose vertices follow
        self._n: int | None = None
        self._first_side: int | None = None
        self._known: dict[int, dict[str, Any]] = {}
        self._arcs: list[tuple[int, int, dict[str, Any]]] = []
        self._edges: list[tuple[int, int, dict[str, Any]]] = []
        self._matrix_rows: int | None = None
        self._partitions: dict[str, list[str]] = {}
        self._skipped: Counter[str] = Counter()

    def take(self, text: str, number: int) -> None:
        """Read one line that holds something."""
        self._line = number
        if text.startswith("*"):
            self._start(text)
        elif self._holder == "partition":
            self._partitions[next(reversed(self._partitions))].append(text)
        elif self._holder == "network":
            tokens = [quoted or bare for quoted, bare in _TOKEN.findall(text)]
            if self._section == "vertices":
                self._take_vertex(tokens)
            elif self._section == "matrix":
                self._take_matrix_row(tokens)
            elif self._section in _LINKS:
                self._take_links(tokens)
            else:
                raise self._fault("this line is in no section", text)

    def graph(self) -> Graph:
        """Return what was read."""
        n = self._vertices()
        entries = len(self._known) + len(self._arcs) + len(self._edges)
        check_size(n, "vertices", entries, {"source": self._source})
        wanted = self._first_side or n
        if self._matrix_rows not in (None, wanted):
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
        for name, count in self._skipped.items():
            who = plural(count, f"section *{name}", f"sections *{name}")
            facts.append(Fact("sections_left_aside", count, f"{who} not used."))
        # A matrix shows by itself whether it has a direction.
        directed = None if self._matrix_rows is not None else bool(self._arcs)
        links = self._arcs + self._edges
        if self._edges and self._arcs:
            links += [(v, u, value) for u, v, value in self._edges if u != v]
            told = f"The file has arcs and edges: {plural(len(self._edges), 'edge')} taken as arcs both ways."
            facts.append(Fact("edges_both_ways", len(self._edges), told))
        return Graph("Pajek file", nodes, links, directed, self._first_side, facts)

    def _start(self, text: str) -> None:
        """Begin a section."""
        word, _, rest = text[1:].partition(" ")
        name = word.lower().rstrip(":")
        if name in ("network", "partition", *_PASSED_OVER):
            self._holder = name
        elif name not in ("vertices", *_LINKS):
            raise self._fault("there is no such section in Pajek's files", text)
        if name in _PASSED_OVER:
            self._skipped[name] += 1
        elif name == "partition":
            partition = rest.strip() or f"partition {len(self._partitions) + 1}"
            if partition in self._partitions:
                raise self._fault("this is a second partition of the same name", text)
            self._partitions[partition] = []
        elif name == "vertices":
            self._start_vertices(rest)
        elif name == "network":
            self._networks += 1
            if self._networks > 1:
                raise self._fault("this is a second network", text)
        elif self._holder != "network":
            raise self._fault(f"links are inside a *{self._holder}", text)
        else:
            self._vertices()
            if name == "matrix":
                self._matrix_rows = self._matrix_rows or 0
        self._section = name

    def _start_vertices(self, rest: str) -> None:
        numbers = rest.split()
        if len(numbers) not in (1, 2) or not all(map(_WHOLE.fullmatch, numbers)):
            raise self._fault("*Vertices needs the number of vertices", rest)
        n = int(numbers[0])
        if self._holder != "network":
            if self._n not in (None, n):
                raise self._fault(f"the *{self._holder} is of {n:,} vertices, the network has {self._n:,}")
            return
        if self._n is not None:
            raise self._fault("this is a second list of vertices")
        if not 0 < n <= _MAX_VERTICES:
            raise self._fault(f"the number of vertices must be from 1 to {_MAX_VERTICES:,}", numbers[0])
        self._n = n
        if len(numbers) == 2:
            self._first_side = int(numbers[1])
            if not 0 < self._first_side < n:
                raise self._fault("the vertices of the first mode must be some, and not all", numbers[1])

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
        links = self._arcs if self._section.startswith("arcs") else self._edges
        if self._section.endswith("list"):
            first, *others = map(self._vertex, tokens)
            links += [(first, other, {}) for other in others]
            return
        if len(tokens) < 2:
            raise self._fault("a link needs two vertices", " ".join(tokens))
        value = {"weight": tokens[2]} if len(tokens) > 2 and _NUMBER.fullmatch(tokens[2]) else {}
        links.append((self._vertex(tokens[0]), self._vertex(tokens[1]), value))

    def _take_matrix_row(self, tokens: list[str]) -> None:
        n, row = self._vertices(), self._matrix_rows or 0
        start = self._first_side or 0
        if len(tokens) != n - start or row >= (self._first_side or n):
            raise self._fault(f"row {row + 1:,} of the matrix has {len(tokens):,} numbers")
        for column, token in enumerate(tokens, start=start):
            if not _NUMBER.fullmatch(token):
                raise self._fault("this is no number", token)
            if float(token) != 0:
                self._arcs.append((row, column, {"weight": token}))
        self._matrix_rows = row + 1

    def _vertex(self, token: str) -> int:
        n = self._vertices()
        if not _WHOLE.fullmatch(token) or not 1 <= int(token) <= n:
            raise self._fault(f"vertices have numbers from 1 to {n:,}", token)
        return int(token) - 1

    def _vertices(self) -> int:
        if self._n is None:
            raise self._fault("there is no *Vertices line before this")
        return self._n

    def _fault(self, what: str, value: str | None = None) -> DataError:
        remedy = "Correct the line, or write the file again with the program it comes from."
        return DataError(what, source=self._source, line=self._line, value=value, remedy=remedy)
