"""Places for the objects of a small network: those of a cluster together, linked ones near each other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial import cKDTree

from acvb_core.core.errors import ParameterError
from acvb_core.data.relation import Relation
from acvb_core.models.irm.evaluate.group_graph import separate_discs
from acvb_core.models.irm.evaluate.sides import links_of

Floats = NDArray[np.float64]

#: Objects and links up to which a picture of single objects says anything.
MOST_NODES = 3_000
MOST_LINKS = 100_000
_ROUNDS = 80
_REACH = 3.0  # mean distances between neighbours from which objects do not push each other
_DISC = 0.62  # radius of the disc of a cluster with one object, in mean distances between neighbours


def why_too_large(relation: Relation) -> str | None:
    """Return why a relation is not drawn object by object, None where it is not too large."""
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
    n_clusters = len(group_place)
    members = np.bincount(clusters, minlength=n_clusters)
    used = np.flatnonzero(members)
    radius = _DISC * np.sqrt(members)
    centres = np.zeros((n_clusters, 2))
    centres[used] = _centres(np.asarray(group_place, dtype=np.float64)[used], radius[used])
    rows, columns = links_of(relation)
    distinct = rows != columns
    rows, columns = rows[distinct], columns[distinct]
    degree = np.bincount(rows, minlength=len(clusters)) + np.bincount(columns, minlength=len(clusters))
    place = centres[clusters] + _spirals(clusters, degree, members)
    return _relax_places(place, centres[clusters], radius[clusters], rows, columns, clusters, degree)


def _centres(place: Floats, radius: Floats) -> Floats:
    """Return the middles of the clusters' discs, so that none overlaps."""
    if len(place) == 1:
        return np.zeros((1, 2))
    distance = np.sqrt(((place[:, None] - place[None]) ** 2).sum(axis=2))
    wished = radius[:, None] + radius[None]
    upper = np.triu_indices(len(place), 1)
    scale = float(np.median(wished[upper] / np.maximum(distance[upper], 1e-9)))
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
    """Return the places after the forces have had their say, in steps that become shorter."""
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
