"""A relation with its clusters as a graph file that Gephi, yEd, Cytoscape and networkx read: GEXF or GraphML."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from acvb_core.core.errors import ParameterError
from acvb_core.data.relation import Relation
from acvb_core.engine.result import Result
from acvb_core.models.irm.answer.summary import certainty
from acvb_core.models.irm.figures.arrangement import degrees
from acvb_core.models.irm.figures.network_layout import (
    column_layout,
    disc_layout,
    group_graph,
    node_layout,
    why_too_large,
)
from acvb_core.models.irm.scores import has_directions, links_of, one_clustering
from acvb_core.store.export import round_digits
from acvb_core.views.theme import cluster_colour

Floats = NDArray[np.float64]
#: Links of a file: all are in memory at once, and programs that draw them are slow with more.
MOST_LINKS = 300_000
#: Distance of neighbours in the file: Gephi draws a node of the usual size 10 wide.
_DISTANCE, _SIZE = 30.0, 6.0
#: Characters that no XML file may have.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def graph_bytes(result: Result, format: str) -> bytes:
    """Return a relation with its clusters as a graph file.

    Each object is a node: label, cluster, cluster_name, certainty, colour, x and y, the known labels, and of two sets
    of objects side. GEXF has colour, place and size as its programs draw them. Each link is an edge with its weight;
    unlinked and unknown pairs are none.

    `format`: "gexf" or "graphml".
    Raises ParameterError: the format is another one, or there are too many links.
    """
    if format not in _WRITERS:
        raise ParameterError(f"no graph format {format!r}; there are {' and '.join(_WRITERS)}.")
    reason = why_no_file(result.prepared.data)
    if reason is not None:
        raise ParameterError(reason)
    out = io.BytesIO()
    _WRITERS[format](build_graph(result, drawn=format == "gexf"), out)
    return out.getvalue()


def _write_gexf(graph: Any, out: Any) -> None:
    nx.write_gexf(graph, out, version="1.2draft")


_WRITERS: dict[str, Callable[[Any, Any], None]] = {"gexf": _write_gexf, "graphml": nx.write_graphml_xml}


def why_no_file(relation: Relation) -> str | None:
    """Return why a relation has too many links for a graph file; None if it has not."""
    if relation.n_links <= MOST_LINKS:
        return None
    return f"Graph files are written of at most {MOST_LINKS:,} links; this relation has {relation.n_links:,}."


def build_graph(result: Result, *, drawn: bool = False) -> Any:
    """Return a relation with its clusters as a graph of networkx (`graph_bytes` lists the attributes).

    `drawn`: with colour, place and size as GEXF has them.
    """
    relation = result.prepared.data
    graph = nx.DiGraph() if has_directions(relation) else nx.Graph()
    graph.graph["name"] = _clean(relation.name)
    nodes = _describe_nodes(result)
    for name, node in zip(nodes.index, nodes.to_dict("records"), strict=True):
        size = node.pop("size")
        if drawn:
            red, green, blue = (int(node["colour"][i : i + 2], 16) for i in (1, 3, 5))
            colour = {"r": red, "g": green, "b": blue, "a": 1.0}
            place = {"x": node["x"], "y": node["y"], "z": 0.0}
            node["viz"] = {"color": colour, "position": place, "size": size}
        graph.add_node(name, **node)
    rows, columns = links_of(relation)
    names = nodes.index.to_numpy()
    second = columns if one_clustering(result.posterior) else columns + relation.shape[0]
    weights = np.asarray(relation.links[rows, columns], dtype=np.float64).ravel().tolist()
    for one, other, weight in zip(names[rows], names[second], weights, strict=True):
        graph.add_edge(one, other, weight=weight)
    return graph


def _describe_nodes(result: Result) -> pd.DataFrame:
    """Return the attributes of the nodes, by their ids: those of rows, then those of columns if they are others."""
    relation, domains = result.prepared.data, list(result.posterior.averaged)
    place = _place_nodes(result)
    parts = []
    for domain, degree in zip(domains, _sizes(relation, len(domains)), strict=True):
        objects = result.rows if domain == "rows" else result.columns
        own = pd.DataFrame({"label": [_clean(label) for label in objects["object"]]})
        own["cluster"], own["cluster_name"] = objects["cluster"], [_clean(name) for name in objects["name"]]
        own["certainty"] = round_digits(certainty(objects).to_numpy(dtype=np.float64))
        own["colour"] = [cluster_colour(cluster, result.names[domain]) for cluster in objects["cluster"]]
        if len(domains) > 1:
            own["side"] = _clean(relation.row_kind if domain == "rows" else relation.column_kind)
        for name, values in relation.attributes_of(domain).items():
            own[f"known_{_clean(name)}"] = [_clean(value) for value in values]
        own["size"] = round_digits(_SIZE * np.sqrt(1.0 + degree / max(float(degree.mean()), 1.0)))
        parts.append(own)
    nodes = pd.concat(parts, ignore_index=True)
    nodes["x"], nodes["y"] = round_digits(_DISTANCE * place[:, 0]), round_digits(_DISTANCE * place[:, 1])
    # A known label that only one side has is missing from the other.
    texts = nodes.select_dtypes(exclude="number").columns
    nodes[texts] = nodes[texts].fillna("")
    ids = nodes["label"] if nodes["label"].is_unique else [f"n{i}" for i in range(len(nodes))]
    return nodes.set_index(pd.Index(ids))


def _sizes(relation: Relation, sides: int) -> list[NDArray[np.int64]]:
    out, into = degrees(relation)
    return [out + into] if sides == 1 else [out, into]


def _place_nodes(result: Result) -> Floats:
    """Return a place for each object, about 1 apart: those of a cluster in a disc of its own."""
    relation, posterior = result.prepared.data, result.posterior
    clusters = [posterior.labels(domain) for domain in posterior.averaged]
    if len(clusters) == 1:
        place = group_graph(relation, posterior, result.blocks).positions
        if why_too_large(relation) is None:
            return node_layout(relation, clusters[0], place)
        return disc_layout(clusters[0], _sizes(relation, 1)[0], place)
    places = [column_layout(own, degree) for own, degree in zip(clusters, _sizes(relation, 2), strict=True)]
    room = sum(float(np.ptp(place[:, 0])) for place in places) + 4.0
    return np.concatenate([places[0] - [room, 0.0], places[1] + [room, 0.0]])


def _clean(text: object) -> str:
    return _NOT_XML.sub("\ufffd", str(text))
