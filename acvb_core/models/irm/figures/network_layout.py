"""Positions of clusters and of nodes when a network is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial import cKDTree
from scipy.spatial.distance import pdist

from acvb_core.core.errors import ParameterError
from acvb_core.core.protocols import Posterior
from acvb_core.data.relation import Relation
from acvb_core.models.irm.scores import block_matrix, is_mirrored, links_of, one_clustering, shown_strengths
from acvb_core.views.parts import separate_discs

Floats = NDArray[np.float64]
#: Standard deviations above the expected number of links from which two clusters are joined.
_DEVIATIONS = 2.0
_LONGEST = 2.2  # length wished for the weakest edge and for no edge at all, the strongest being 1


class GroupEdge(NamedTuple):
    """Two clusters linked more often than expected."""

    #: `source`, `target`: clusters (0-based); source <= target if the network is undirected.
    source: int
    target: int
    density: float  #: posterior mean of the link probability
    ratio: float  #: density relative to the expected one
    links: float  #: expected number of links in the block
    excess: float  #: links beyond the number that the expected density would give


@dataclass(frozen=True, eq=False)
class GroupGraph:
    """The clusters of a network and the edges between them."""

    directed: bool
    members: NDArray[np.int64]  #: shape (K,); objects whose most probable cluster this is
    #: Shape (n_shown,); clusters (0-based) that have members; the others are no nodes.
    clusters: NDArray[np.int64]
    overall: float  #: density of the whole network: what is expected inside a cluster
    #: Density of all pairs of objects of two different clusters: what is expected between two clusters.
    between: float
    #: `density`, `low`, `high`, `links`, `entries`: shape (K, K); posterior mean and 95 % interval of the link
    #: probability, expected links and entries of each block; symmetric if undirected. If `counted`: of the ratio, and
    #: the counts, seen and expected.
    density: Floats
    low: Floats
    high: Floats
    links: Floats
    entries: Floats
    #: Blocks between two clusters that are denser than expected by more than chance would have it, most excess links
    #: first.
    edges: list[GroupEdge]
    #: Shape (K, 2); place of each cluster, at most about 1 from the middle; NaN for those without members.
    positions: Floats
    interval: str  #: words for the interval from `low` to `high`
    #: The same inside the clusters that have members, expected or not.
    inner: dict[int, GroupEdge] = field(default_factory=dict)
    counted: bool = False  #: strengths are ratios of counts to what is expected of them
    names: Sequence[str] = ()  #: of the clusters; empty if they have none

    def exceeds(self, item: GroupEdge) -> bool:
        """Return whether there are more links than expected; of counts, by the interval of their ratio."""
        if self.counted:
            return bool(self.low[item.source, item.target] > 1.0)
        return item.ratio > 1.0 and item.excess > 0.0


def group_graph(
    relation: Relation, posterior: Posterior, blocks: pd.DataFrame, names: Sequence[str] = ()
) -> GroupGraph:
    """Return the graph of a network's clusters.

    The inside of a cluster is compared with the density of the whole network, a block between two clusters with that
    of all pairs between clusters: if most links are inside clusters, every pair of clusters is sparser than the whole.
    Degrees are ignored, as in the model. An edge is a block whose links exceed the expected number by two standard
    deviations of a binomial. Counts are compared with the counts that the model expects, and an edge is a block whose
    95 % interval lies above those.

    `blocks`: of a result; if links have no direction, those on and above the diagonal are enough.
    `names`: of the clusters.
    Raises ParameterError: rows and columns have a clustering each, or the relation is no network.
    """
    if not one_clustering(posterior) or relation.network is None:
        raise ParameterError(
            "A graph of groups needs a network whose objects have one clustering, not one for rows and one for columns."
        )
    shape = (posterior["rows"].shape[1],) * 2
    density, low, high, interval, *counts = shown_strengths(blocks, shape)
    counted = counts[0] is not None
    sums = ("count", "expected") if counted else ("ones", "entries")
    links, entries = (block_matrix(blocks, name, shape) for name in sums)
    undirected = is_mirrored(relation)
    once = np.triu(np.ones_like(links)) if undirected else np.ones_like(links)
    inside = np.eye(len(links), dtype=np.bool_)
    overall = 1.0 if counted else _share(links * once, entries * once)
    between = 1.0 if counted else _share(links * once * ~inside, entries * once * ~inside)
    members = np.bincount(posterior.labels("rows"), minlength=len(density)).astype(np.int64)
    clusters = np.flatnonzero(members)
    pairs = [(int(k), int(m)) for k in clusters for m in clusters if k != m and (k < m or not undirected)]

    def edge(k: int, m: int) -> GroupEdge:
        expected = overall if k == m else between
        ratio = float(density[k, m]) / expected if expected > 0.0 else 0.0
        excess = float(links[k, m] - expected * entries[k, m])
        return GroupEdge(k, m, float(density[k, m]), ratio, float(links[k, m]), excess)

    def is_above(item: GroupEdge) -> bool:
        k, m = item[:2]
        if counted:
            return bool(low[k, m] > 1.0)
        return item.ratio > 1.0 and item.excess > _DEVIATIONS * np.sqrt(
            between * (1.0 - between) * entries[k, m]
        )

    above = [item for item in (edge(k, m) for k, m in pairs) if is_above(item)]
    above.sort(key=lambda item: (-item.excess, item.source, item.target))
    positions = np.full((len(members), 2), np.nan)
    positions[clusters] = group_positions(clusters, above)
    inner = {int(k): edge(int(k), int(k)) for k in clusters}
    matrices = (density, low, high, links, entries)
    return GroupGraph(
        not undirected,
        members,
        clusters,
        overall,
        between,
        *matrices,
        above,
        positions,
        interval,
        inner,
        counted,
        names,
    )


def _share(links: Floats, entries: Floats) -> float:
    total = float(entries.sum())
    return float(links.sum()) / total if total > 0.0 else 0.0


def group_positions(clusters: NDArray[np.int64], edges: list[GroupEdge]) -> Floats:
    """Place clusters so that those with strong edges lie close together; the same edges give the same places.

    Kamada-Kawai on lengths from 1 (the strongest edge) to 2.2 (the weakest, and clusters that nothing connects), the
    longer axis across.

    Returns: shape (n, 2); the mean at the origin, the farthest about 1 away.
    """
    n = len(clusters)
    if n == 1:
        return np.zeros((1, 2))
    graph = nx.Graph()
    graph.add_nodes_from(clusters.tolist())
    # Several edges' widths go by their number of links; for the layout their ratio tells which belong together.
    top = max((np.log1p(item.ratio) for item in edges), default=1.0)
    for item in edges:
        near = float(np.log1p(item.ratio) / top)
        length = _LONGEST - (_LONGEST - 1.0) * near
        known = graph.get_edge_data(item.source, item.target)
        if known is None or length < known["length"]:
            graph.add_edge(item.source, item.target, length=length)
    distance = dict(nx.all_pairs_dijkstra_path_length(graph, weight="length"))
    # Clusters that nothing connects are one long edge apart from all others.
    apart = {a: {b: min(distance[a].get(b, 1.5 * _LONGEST), 3 * _LONGEST) for b in graph} for a in graph}
    start = nx.circular_layout(graph)
    placed = nx.kamada_kawai_layout(graph, dist=apart, pos=start)
    place = np.array([placed[k] for k in clusters.tolist()], dtype=np.float64)
    return _rotate_flat(place)


def _rotate_flat(place: Floats) -> Floats:
    """Turn points so that they reach farthest across, the first of those farthest out on the right and above."""
    place = place - place.mean(axis=0)
    _, _, axes = np.linalg.svd(place, full_matrices=False)
    turned = place @ axes.T
    if turned.shape[1] < 2:
        turned = np.column_stack([turned, np.zeros(len(turned))])
    for axis in turned.T:
        reach = np.abs(axis)
        if axis[int((reach >= reach.max() * (1.0 - 1e-6)).argmax())] < 0.0:
            axis *= -1.0
    return np.asarray(turned)


#: Objects and links up to which a picture of single objects says anything.
MOST_NODES = 5_000
MOST_LINKS = 100_000
_ROUNDS = 80
_REACH = 3.0  # mean distances between neighbours from which objects do not push each other
_DISC = 0.62  # radius of the disc of a cluster with one object, in mean distances between neighbours


def why_too_large(relation: Relation) -> str | None:
    """Return why a relation is not drawn object by object, None if it is not too large."""
    if relation.shape[0] <= MOST_NODES and relation.n_links <= MOST_LINKS:
        return None
    return (
        f"Single nodes are drawn for networks of at most {MOST_NODES:,} nodes and {MOST_LINKS:,} links; this one has "
        f"{relation.shape[0]:,} nodes and {relation.n_links:,} links. The graph of the clusters and the sorted matrix "
        "show networks of any size."
    )


def node_layout(relation: Relation, clusters: NDArray[np.int64], group_place: Floats) -> Floats:
    """Return places for the objects of a network, shape (n, 2), about 1 apart; the same clusters give the same picture.

    Each cluster has a disc of its own, where `group_place`, shape (K, 2), has the cluster. Its objects start on a
    spiral in it, those of most links inside, and move between repulsion, the pull of their links and that of the
    disc's middle (Fruchterman and Reingold 1991, with the discs as a third force).

    Raises ParameterError: the network is too large for a picture, or no network.
    """
    if relation.network is None:
        raise ParameterError("Objects are placed for networks, but this relation has two sets of objects.")
    reason = why_too_large(relation)
    if reason is not None:
        raise ParameterError(reason)
    centres, radius = _discs(clusters, group_place)
    rows, columns = links_of(relation)
    distinct = rows != columns
    rows, columns = rows[distinct], columns[distinct]
    degree = np.bincount(rows, minlength=len(clusters)) + np.bincount(columns, minlength=len(clusters))
    place = disc_layout(clusters, degree, group_place)
    return _relax_places(place, centres[clusters], radius[clusters], rows, columns, clusters, degree)


def disc_layout(clusters: NDArray[np.int64], degree: NDArray[np.int64], group_place: Floats) -> Floats:
    """Return places for objects, shape (n, 2), about 1 apart: those of each cluster in a disc, most links inside."""
    centres, _ = _discs(clusters, group_place)
    return centres[clusters] + _spirals(clusters, degree, np.bincount(clusters, minlength=len(centres)))


def column_layout(clusters: NDArray[np.int64], degree: NDArray[np.int64]) -> Floats:
    """Return places for objects as `disc_layout` does, with the discs of the clusters one below the other."""
    members = np.bincount(clusters)
    radius = _DISC * np.sqrt(members)
    heights = 2.0 * radius + (members > 0)
    middle = heights / 2.0 - np.cumsum(heights)
    centres = np.column_stack([np.zeros(len(middle)), middle - middle.mean()])
    return centres[clusters] + _spirals(clusters, degree, members)


def _discs(clusters: NDArray[np.int64], group_place: Floats) -> tuple[Floats, Floats]:
    """Return middle and radius of each cluster's disc; no two overlap."""
    members = np.bincount(clusters, minlength=len(group_place))
    used = np.flatnonzero(members)
    radius = _DISC * np.sqrt(members)
    centres = np.zeros((len(members), 2))
    centres[used] = _centres(np.asarray(group_place, dtype=np.float64)[used], radius[used])
    return centres, radius


def _centres(place: Floats, radius: Floats) -> Floats:
    """Return the middles of the clusters' discs, so that none overlaps."""
    if len(place) == 1:
        return np.zeros((1, 2))
    wished = np.add.outer(radius, radius)[np.triu_indices(len(place), 1)]
    scale = float(np.median(wished / np.maximum(pdist(place), 1e-9)))
    return separate_discs(place * scale, radius, 1.5)


def _spirals(clusters: NDArray[np.int64], degree: NDArray[np.int64], members: NDArray[np.int64]) -> Floats:
    """Return the place of each object in its cluster's disc: points of a sunflower, most links first."""
    order = np.lexsort((-degree, clusters))
    starts = np.concatenate([[0], np.cumsum(members)])[:-1]
    rank = np.empty(len(clusters))
    rank[order] = np.arange(len(order)) - starts[clusters[order]]
    reach = _DISC * np.sqrt(rank + 0.5) * (members[clusters] > 1)
    turn = rank * np.pi * (3.0 - np.sqrt(5.0))
    return np.column_stack([reach * np.cos(turn), reach * np.sin(turn)])


def _relax_places(
    place: NDArray[Any],
    middle: NDArray[Any],
    radius: Floats,
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    clusters: NDArray[np.int64],
    degree: NDArray[np.int64],
) -> Floats:
    """Return the places after the forces have moved them, in steps that become shorter."""
    n = len(place)
    place, middle = place.astype(np.float32), middle.astype(np.float32)
    edge = radius.astype(np.float32)
    # A hub would draw everything to itself, and links between clusters would draw the discs into one.
    weight = 1.0 / np.sqrt(np.maximum(degree[rows] * degree[columns], 1))
    weight *= np.where(clusters[rows] == clusters[columns], 1.0, 0.25)
    pull = sparse.csr_array((weight.astype(np.float32), (rows, columns)), shape=(n, n))
    pull = (pull + pull.T).tocsr()
    total = np.asarray(pull.sum(axis=1)).ravel()[:, None]
    for step in np.linspace(0.5, 0.02, _ROUNDS).astype(np.float32):
        # Only neighbours push: what is further than three places away does not blow the picture up.
        near = cKDTree(place).query_pairs(_REACH, output_type="ndarray")
        one, other = near.T
        squared = ((place[one] - place[other]) ** 2).sum(axis=1)
        push = sparse.csr_array((1.0 / np.maximum(squared, 0.01), (one, other)), shape=(n, n))
        push = push + push.T
        force = np.asarray(push.sum(axis=1)).ravel()[:, None] * place - push @ place
        force += pull @ place - total * place
        home = middle - place
        away = np.sqrt((home**2).sum(axis=1))
        # Free to move inside the disc, held at its edge.
        force += home * (0.05 + 1.5 * np.maximum(away - edge, 0.0) / np.maximum(away, 1e-9))[:, None]
        length = np.sqrt((force**2).sum(axis=1))
        place = place + force * (np.minimum(length, 1.0) * step / np.maximum(length, 1e-9))[:, None]
    return np.asarray(place, dtype=np.float64)
