"""Random files with the structure of a format, and odd cells in them."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

_NAMES = ("a", "b", "c", "Ann", "Bob", "x y", "é", "猫", "1", "2", "03", "n:1")
_ODD = (
    "", " ", "NA", "?", "nan", "-", "null", "None", "0", "1", "-1", "1.5", "1,5", "1e5", "1e999", "-inf",
    "yes", "no", "TRUE",
    "1_000", "1 000", "1,000", "٣", "½", "0x1F", "2020-01-01", "12:30", "50%", "$3", "'", '"', '""', "a,b",
    "a;b", "a\tb",
    "a\nb", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\ufeff", "\u200b", "\xa0", "e\u0301", "é", "\x7f",
    "\U0001f600",
    "=1+1", "#", "%", "%%", "//", "<b>", "&amp;", "{", "[1]", "9" * 30, "1" * 400, "x" * 300, "column 1",
    "value", "label",
)  # fmt: skip
_HEADINGS = (
    "source", "target", "weight", "value", "name", "id", "text", "label", "class", "doc", "word", "count", "x",
    "y", "x",
    "", "1", "node", "from", "to", "row", "column", "club",
)  # fmt: skip
_WORDS = (
    "cat", "dog", "mat", "the", "House", "don't", "naïve", "猫", "2", "e-mail", "x", "_y_", "\u00ad", "ﬁn",
)  # fmt: skip


def _cell(rng: Random, odd: float) -> str:
    if rng.random() < odd:
        return rng.choice(_ODD)
    return rng.choice(
        (rng.choice(_NAMES), str(rng.randrange(5)), f"{rng.gauss(0, 10):.3g}", rng.choice(("0", "1")))
    )


def draw_cells(rng: Random, headings: Sequence[str] = _HEADINGS) -> list[list[str]]:
    """Return the cells of a random table, mostly with a heading; a few lines may be of another length."""
    width, odd = rng.choice((1, 2, 2, 3, 3, 4, 7)), rng.choice((0, 0, 0.05, 0.3))
    kinds: list[Callable[[], str]] = [
        lambda: _cell(rng, odd),
        lambda: rng.choice(_NAMES) if rng.random() >= odd else rng.choice(_ODD),
        lambda: f"{rng.gauss(0, 10):.3g}" if rng.random() >= odd else rng.choice(_ODD),
        lambda: rng.choice(("0", "1")) if rng.random() >= odd else rng.choice(_ODD),
        lambda: " ".join(rng.choices(_WORDS, k=rng.randrange(12))),
    ]
    columns = [rng.choice(kinds) for _ in range(width)]
    rows = [[column() for column in columns] for _ in range(rng.choice((0, 1, 2, 3, 5, 5, 8, 30)))]
    if rng.random() < 0.6:
        rows.insert(0, rng.choices(headings, k=width))
    if rows and rng.random() < 0.1:
        row = rng.choice(rows)
        row[rng.randrange(len(row)) :] = rng.choices(_ODD, k=rng.randrange(3))
    return rows


def write_delimited(rng: Random, rows: Sequence[Sequence[str]]) -> bytes:
    """Return cells as delimited text; quotes, line ends and encoding at random."""
    mark, end = rng.choice((",", ",", ";", "\t", "|", " ")), rng.choice(("\n", "\n", "\n", "\r\n", "\r"))
    careful = rng.random() < 0.8

    def quote(cell: str) -> str:
        needed = any(sign in cell for sign in (mark, '"', "\n", "\r"))
        return '"' + cell.replace('"', '""') + '"' if (careful and needed) or rng.random() < 0.02 else cell

    text = end.join(mark.join(map(quote, row)) for row in rows) + rng.choice((end, end, "", end + end))
    return encode(rng, text)


def encode(rng: Random, text: str) -> bytes:
    """Return a text in UTF-8, mostly."""
    return text.encode(
        rng.choice(("utf-8",) * 12 + ("utf-8-sig", "utf-16", "latin-1", "utf-32")), errors="replace"
    )


def draw_table(rng: Random) -> bytes:
    """Return a table of anything."""
    return write_delimited(rng, draw_cells(rng))


def draw_links(rng: Random) -> bytes:
    """Return a list of links, a matrix or a table of anything."""
    kind = rng.randrange(3)
    if kind == 0:
        return draw_table(rng)
    names = rng.sample(_NAMES, rng.randrange(1, 8))
    if kind == 1:
        value = rng.choice((None, ("0", "1"), ("yes", "no", ""), ("1.5", "0", "NA"), _ODD))
        rows = [
            [rng.choice(names), rng.choice(names)] + ([] if value is None else [rng.choice(value)])
            for _ in range(rng.choice((1, 3, 6, 20)))
        ]
        heading = [["source", "target", "weight"][: len(rows[0])]]
        return write_delimited(rng, rng.choice((heading, [])) + rows)
    values = rng.choice((("0", "1"), ("0", "1", ""), ("0.5", "2", "NA"), _ODD))
    cells = [[rng.choice(values) for _ in names] for _ in names]
    if rng.random() < 0.7:
        cells = [["", *names], *([name, *row] for name, row in zip(names, cells, strict=True))]
    return write_delimited(rng, cells)


def draw_graph(rng: Random) -> bytes:
    """Return a graph in one of the formats of graphs."""
    names = rng.choices((*_NAMES, *_ODD[:14]), k=rng.randrange(6))
    ends = rng.choices((*names, *_NAMES[:1]), k=2 * rng.randrange(6))
    links = list(zip(ends[::2], ends[1::2], strict=True))
    kind = rng.randrange(4)
    weight = rng.choice(("", "1", "0.5", "x", "nan", "1e999"))
    if kind == 0:
        tree: dict[str, Any] = {
            "directed": rng.choice((True, False, "yes", None)),
            "nodes": [
                {"id": rng.choice((name, 1, None, 2.5, [name])), "club": rng.choice(_ODD)} for name in names
            ],
            rng.choice(("links", "edges")): [
                {"source": one, "target": two, "weight": weight} for one, two in links
            ],
        }
        return json.dumps(tree).encode()
    if kind == 1:
        nodes = "".join(f"{i + 1} {_quote(name)}\n" for i, name in enumerate(names))
        arcs = "".join(f"{rng.randrange(8)} {rng.randrange(8)} {weight}\n" for _ in links)
        return encode(
            rng, f"*Vertices {len(names)}\n{nodes}*{rng.choice(('Arcs', 'Edges', 'Arcslist'))}\n{arcs}"
        )
    if kind == 2:
        nodes = "".join(f"node [ id {i} label {_quote(name)} ]\n" for i, name in enumerate(names))
        edges = "".join(f"edge [ source {rng.randrange(6)} target {rng.randrange(6)} ]\n" for _ in links)
        return encode(rng, f"graph [\ndirected {rng.randrange(3)}\n{nodes}{edges}]\n")
    nodes = "".join(f"<node id={_attribute(name)} label={_attribute(rng.choice(_NAMES))}/>" for name in names)
    edges = "".join(
        f"<edge source={_attribute(a)} target={_attribute(b)} weight='{weight}'/>" for a, b in links
    )
    if rng.random() < 0.5:
        return encode(rng, f"<graphml><graph edgedefault='undirected'>{nodes}{edges}</graph></graphml>")
    return encode(rng, f"<gexf><graph><nodes>{nodes}</nodes><edges>{edges}</edges></graph></gexf>")


def _quote(name: str) -> str:
    return f'"{name}"'


def _attribute(name: str) -> str:
    return '"' + name.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;") + '"'


def _draw_frame(rng: Random) -> pa.Table:
    """Return columns of all types that a file of columns may have."""
    n = rng.choice((0, 1, 3, 6))
    makers: tuple[Callable[[], Any], ...] = (
        lambda: [rng.choice(_NAMES) for _ in range(n)],
        lambda: [rng.choice((0, 1, None)) for _ in range(n)],
        lambda: [rng.choice((1.5, float("nan"), float("inf"), 0.0, -1e300, None)) for _ in range(n)],
        lambda: [rng.choice((True, False, None)) for _ in range(n)],
        lambda: [rng.choice((2**62, -1, 0)) for _ in range(n)],
        lambda: [date(2020, 1, 1 + rng.randrange(20)) for _ in range(n)],
        lambda: [datetime(2020, 1, 1, rng.randrange(24)) for _ in range(n)],
        lambda: [timedelta(seconds=rng.randrange(99)) for _ in range(n)],
        lambda: [Decimal(rng.randrange(999)) / 10 for _ in range(n)],
        lambda: [rng.choice((b"a", b"\xff", None)) for _ in range(n)],
        lambda: [[1, 2][: rng.randrange(3)] for _ in range(n)],
        lambda: [{"a": 1, "b": rng.choice(("x", None))} for _ in range(n)],
        lambda: [None] * n,
        lambda: pa.array([rng.choice(_ODD) for _ in range(n)]).dictionary_encode(),
        lambda: pa.array([rng.choice(_NAMES) for _ in range(n)], pa.large_string()),
        lambda: pa.array([rng.randrange(200) for _ in range(n)], pa.uint8()),
        lambda: pa.array([rng.random() for _ in range(n)], pa.float32()),
        lambda: [" ".join(rng.choices(_WORDS, k=9)) for _ in range(n)],
    )
    arrays = [
        pa.array(made) if isinstance(made := rng.choice(makers)(), list) else made
        for _ in range(rng.randrange(5))
    ]
    return pa.table(arrays, names=[rng.choice(_HEADINGS) for _ in arrays])


def draw_parquet(rng: Random) -> bytes:
    """Return a Parquet file."""
    packed = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pyarrow.parquet.write_table(
            _draw_frame(rng), packed, compression=rng.choice(("none", "snappy", "zstd"))
        )
    return packed.getvalue()


def draw_arrow(rng: Random) -> bytes:
    """Return an Arrow file."""
    packed, table = io.BytesIO(), _draw_frame(rng)
    with pa.ipc.new_file(packed, table.schema) as writer:
        writer.write_table(table)
    return packed.getvalue()
