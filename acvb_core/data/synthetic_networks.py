"""Networks drawn from the one-domain model with known groups: what inference should find again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acvb_core.data.relation import Network, Relation
from acvb_core.errors import ParameterError


@dataclass(frozen=True, eq=False)
class PlantedNetwork:
    """A network and the truth it was drawn from.

    Attributes
    ----------
    relation : Relation, shape (n, n)
        With the attribute "group".
    clusters : int64 array, shape (n,)
    strengths : float64 array, shape (k, k)
        Probability of a link from a node of one cluster to a node of another.
    """

    relation: Relation
    clusters: NDArray[np.int64]
    strengths: NDArray[np.float64]


def planted_network(
    sizes: Sequence[int],
    strengths: ArrayLike,
    seed: int,
    *,
    directed: bool = False,
    self_links: bool = False,
    groups: Sequence[str] | None = None,
    name: str = "planted network",
) -> PlantedNetwork:
    """Draw every pair of nodes from its block; the nodes come in random order.

    Parameters
    ----------
    sizes : sequence of int, shape (k,)
        Nodes of each cluster; memory is 9 bytes for each pair of all nodes while drawing.
    strengths : array, shape (k, k)
        Probability of a link, symmetric unless `directed`.
    seed : int
    directed, self_links : bool
        What kind of network this is.
    groups : sequence of str, shape (k,), optional
        What the clusters are called in the attribute "group" (default: "0", "1", …).

    Raises
    ------
    ParameterError
        A size below 1, strengths that are no probabilities, not of shape (k, k), or not symmetric where the network
        is undirected; not one name for each cluster.
    """
    chances = np.asarray(strengths, dtype=np.float64)
    k = len(sizes)
    if k < 1 or min(sizes) < 1 or chances.shape != (k, k):
        raise ParameterError(
            f"Give at least one node to each of k clusters, and k x k strengths, not {tuple(sizes)} and strengths "
            f"of shape {chances.shape}."
        )
    if not ((chances >= 0) & (chances <= 1)).all() or not (directed or (chances == chances.T).all()):
        raise ParameterError(
            "Strengths must be from 0 to 1, and those of an undirected network the same both ways."
        )
    called = [str(i) for i in range(k)] if groups is None else list(groups)
    if len(called) != k:
        raise ParameterError(f"There are {len(called)} names for {k} clusters; give one for each.")
    rng = np.random.default_rng(seed)
    clusters = rng.permutation(np.repeat(np.arange(k), sizes))
    links = rng.random((len(clusters), len(clusters))) < chances[clusters][:, clusters]
    if not directed:
        links = np.triu(links)
    if not self_links:
        np.fill_diagonal(links, False)
    width = len(str(len(clusters)))
    relation = Relation.build(
        links,
        row_labels=[f"node {i + 1:0{width}d}" for i in range(len(clusters))],
        name=name,
        row_kind="node",
        network=Network(directed, self_links),
        attributes={"group": [called[z] for z in clusters]},
    )
    return PlantedNetwork(relation, clusters, chances)


def groups_of_all_kinds(seed: int = 0) -> PlantedNetwork:
    """Draw 360 nodes: communities, two groups that only meet each other, a centre with its circle, and a sparse rest.

    Who looks for communities alone finds the first four: the groups that only meet each other, and the circle, have
    hardly a link inside.
    """
    sizes = {
        "community A": 45, "community B": 40, "community C": 35, "community D": 30, "buyers": 45, "sellers": 45,
        "centre": 12, "circle": 48, "rest": 60,
    }  # fmt: skip
    called = list(sizes)
    chances = np.full((len(sizes), len(sizes)), 0.01)
    for group in called[:4]:
        chances[called.index(group), called.index(group)] = 0.25
    for one, other, chance in (
        ("buyers", "sellers", 0.2),
        ("centre", "centre", 0.6),
        ("centre", "circle", 0.35),
        ("community A", "community B", 0.05),
    ):
        chances[called.index(one), called.index(other)] = chances[called.index(other), called.index(one)] = (
            chance
        )
    return planted_network(list(sizes.values()), chances, seed, groups=called, name="network_groups")


def flow_of_messages(seed: int = 0) -> PlantedNetwork:
    """Draw 150 nodes whose links have a direction: a circle of three groups, senders, and receivers of everything."""
    sizes = {"first": 35, "second": 35, "third": 35, "senders": 20, "receivers": 25}
    chances = np.full((5, 5), 0.01)
    for one, other, chance in ((0, 1, 0.25), (1, 2, 0.25), (2, 0, 0.25), (3, 0, 0.3), (3, 3, 0.15)):
        chances[one, other] = chance
    chances[:4, 4] = 0.15
    return planted_network(
        list(sizes.values()), chances, seed, directed=True, groups=list(sizes), name="network_directed"
    )
