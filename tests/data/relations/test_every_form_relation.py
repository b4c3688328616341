"""One relation and one network, in every form that is read: the same fingerprint and the same labels."""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import io as scipy_io
from scipy import sparse

from acvb_core.data.relation import Network, Relation
from acvb_core.data.relation_readers import load_relation
from tests.loops import for_each

pa = pytest.importorskip("pyarrow")


class Data(NamedTuple):
    """What every form holds: labels and cells of 0 and 1, shape (n_rows, n_columns)."""

    rows: list[str]
    columns: list[str]
    cells: np.ndarray
    options: dict[str, Any]
    network: Network | None = None

    @property
    def triples(self) -> list[tuple[str, str, int]]:
        where = np.ndindex(self.cells.shape)
        return [(self.rows[i], self.columns[j], int(self.cells[i, j])) for i, j in where]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        return [(row, column) for row, column, value in self.triples if value]

    @property
    def frame(self) -> pd.DataFrame:
        return pd.DataFrame(self.cells, index=pd.Index(self.rows), columns=self.columns)

    @property
    def links(self) -> pd.DataFrame:
        return pd.DataFrame(self.triples, columns=["source", "target", "value"])

    @property
    def named(self) -> dict[str, Any]:
        """Names for forms that have none."""
        return {"row_nodes": self.rows, "column_nodes": self.columns}

    def graph(self, kind: type[nx.Graph]) -> nx.Graph:
        found = kind()
        if self.network is None:
            found.add_nodes_from(self.rows, bipartite=0)
            found.add_nodes_from(self.columns, bipartite=1)
        else:
            found.add_nodes_from(self.rows)
        found.add_edges_from(self.pairs)
        return found


RELATION = Data(
    ["Ann", "Bob", "Cy", "Dora Lee"],
    ["fair", "ball", "tea"],
    np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1], [0, 0, 1]]),
    {"domains": "two"},
)
NAMES = ["Ann", "Bob", "Cy", "Dora Lee"]
NETWORK = Data(
    NAMES,
    NAMES,
    np.array([[0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 1], [0, 1, 0, 0]]),
    {"domains": "one", "directed": True},
    Network(directed=True),
)


def drawn(data: Data) -> nx.Graph:
    return data.graph(nx.Graph if data.network is None else nx.DiGraph)


def written(write: Callable[..., Any], *content: Any) -> bytes:
    out = io.BytesIO()
    write(out, *content)
    return out.getvalue()


def text(data: Data, delimiter: str, head: str = "") -> bytes:
    lines = [delimiter.join(map(str, triple)) for triple in data.triples]
    return "\n".join([*([head] if head else []), *lines]).encode()


def pajek(data: Data) -> bytes:
    names = data.rows if data.network else data.rows + data.columns
    size = f"{len(names)}" + ("" if data.network else f" {len(data.rows)}")
    place = {name: i for i, name in enumerate(names, start=1)}
    lines = [f'{i} "{name}"' for name, i in place.items()]
    links = [f"{place[row]} {place[column]}" for row, column in data.pairs]
    return "\n".join([f"*Vertices {size}", *lines, "*Arcs" if data.network else "*Edges", *links]).encode()


def database(data: Data, path: Path) -> Path:
    with sqlite3.connect(path) as held:
        data.links.to_sql("links", held, index=False)
    held.close()
    return path


def parquet(data: Data) -> bytes:
    return written(lambda out: data.links.to_parquet(out, index=False))


def feather(data: Data) -> bytes:
    return written(lambda out: data.links.to_feather(out))


def lines_of_json(data: Data) -> bytes:
    return data.links.to_json(orient="records", lines=True).encode()


def node_link(data: Data, links: str) -> bytes:
    return json.dumps(nx.node_link_data(drawn(data), edges=links)).encode()


def masked(data: Data) -> np.ma.MaskedArray:
    return np.ma.MaskedArray(data.cells, mask=np.zeros(data.cells.shape, dtype=bool))


def one_by_one(data: Data) -> Iterator[tuple[str, str]]:
    yield from data.pairs


#: What is handed over, and what is to be said of it beside what the data are.
FORMS: dict[str, Callable[[Data, Path], tuple[Any, dict[str, Any]]]] = {
    "comma": lambda data, path: (text(data, ",", "source,target,value"), {}),
    "tab, gzipped": lambda data, path: (gzip.compress(text(data, "\t", "a\tb\tc")), {}),
    "semicolon, no head": lambda data, path: (text(data, ";"), {}),
    "matrix": lambda data, path: (data.frame.to_csv().encode(), {}),
    "MatrixMarket": lambda data, path: (written(scipy_io.mmwrite, sparse.coo_array(data.cells)), data.named),
    "npz": lambda data, path: (written(sparse.save_npz, sparse.csr_array(data.cells)), data.named),
    "GraphML": lambda data, path: (written(lambda out: nx.write_graphml(drawn(data), out)), {}),
    "GEXF": lambda data, path: (written(lambda out: nx.write_gexf(drawn(data), out)), {}),
    "GML": lambda data, path: (written(lambda out: nx.write_gml(drawn(data), out)), {}),
    "Pajek": lambda data, path: (pajek(data), {}),
    "node-link": lambda data, path: (node_link(data, "links"), {}),
    "node-link, edges": lambda data, path: (node_link(data, "edges"), {}),
    "Parquet": lambda data, path: (parquet(data), {}),
    "Feather": lambda data, path: (feather(data), {}),
    "JSON Lines": lambda data, path: (lines_of_json(data), {}),
    "SQLite": lambda data, path: (database(data, path / "links.db"), {}),
    "graph": lambda data, path: (drawn(data), {}),
    "multigraph": lambda data, path: (data.graph(nx.MultiDiGraph if data.network else nx.MultiGraph), {}),
    "frozen graph": lambda data, path: (nx.freeze(drawn(data)), {}),
    "view of a graph": lambda data, path: (drawn(data).copy(as_view=True), {}),
    "pairs": lambda data, path: (data.pairs, {}),
    "triples": lambda data, path: (data.triples, {}),
    "lists": lambda data, path: (list(map(list, data.pairs)), {}),
    "generator": lambda data, path: (one_by_one(data), {}),
    "dictionary's keys": lambda data, path: (dict.fromkeys(data.pairs, 1).keys(), {}),
    "array of pairs": lambda data, path: (np.array(data.pairs), {}),
    "array": lambda data, path: (data.cells, data.named),
    "booleans": lambda data, path: (data.cells > 0, data.named),
    "floats": lambda data, path: (data.cells.astype(float), data.named),
    "masked array": lambda data, path: (masked(data), data.named),
    "csr": lambda data, path: (sparse.csr_array(data.cells), data.named),
    "coo matrix": lambda data, path: (sparse.coo_matrix(data.cells), data.named),
    "lil": lambda data, path: (sparse.lil_array(data.cells), data.named),
    "frame": lambda data, path: (data.frame, {}),
    "nullable frame": lambda data, path: (data.frame.astype("Int64"), {}),
    "long frame": lambda data, path: (data.links, {}),
    "long frame, columns named": lambda data, path: (
        data.links[["value", "target", "source"]], {"source": "source", "target": "target", "value": "value"}
    ),
    "Arrow table": lambda data, path: (pa.Table.from_pandas(data.links), {}),
}  # fmt: skip


@for_each("data", [RELATION, NETWORK])
@for_each("form", list(FORMS))
def test_every_form_is_the_same_relation(form: str, data: Data, tmp_path: Path) -> None:
    given, options = FORMS[form](data, tmp_path)
    network = data.network
    columns = None if network else data.columns
    wanted = Relation.build(data.cells, row_labels=data.rows, column_labels=columns, network=network)
    found = load_relation(given, **options, **data.options).data
    assert found.row_labels.tolist() == data.rows
    assert found.column_labels.tolist() == data.columns
    assert found.fingerprint == wanted.fingerprint


WITH_ATTRIBUTES: dict[str, Callable[[nx.Graph], Any]] = {
    "graph": lambda graph: graph,
    "GraphML": lambda graph: written(lambda out: nx.write_graphml(graph, out)),
    "GEXF": lambda graph: written(lambda out: nx.write_gexf(graph, out)),
    "GML": lambda graph: written(lambda out: nx.write_gml(graph, out)),
    "Pajek": lambda graph: written(lambda out: nx.write_pajek(graph, out)),
    "node-link": lambda graph: json.dumps(nx.node_link_data(graph)).encode(),
}


@for_each("form", list(WITH_ATTRIBUTES))
def test_what_is_known_of_the_nodes_is_the_same(form: str) -> None:
    graph = nx.path_graph(["Ann", "Bob", "Cy", "Dora"])
    nx.set_node_attributes(graph, dict(zip(graph, ["red", "blue", "red", "blue"], strict=True)), "team")
    found = load_relation(WITH_ATTRIBUTES[form](graph)).data
    assert {name: values.tolist() for name, values in found.attributes.items()} == {
        "team": ["red", "blue", "red", "blue"]
    }
    assert found.network == Network(directed=False)
