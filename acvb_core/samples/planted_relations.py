"""Relations and networks drawn from the model with known clusters, which inference should find again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from acvb_core.core.errors import ParameterError
from acvb_core.data.relation import Network, Relation
from acvb_core.data.relation_build import object_facts
from acvb_core.data.report import Fact, ReadReport, plural

_Both = tuple[Sequence[Any], Sequence[Any]]  # what each cluster of rows, and of columns, has
_MAX_STRENGTH = 0.9  # of a block in the sparse relations: a block of ones only would tell everything


@dataclass(frozen=True, eq=False)
class PlantedRelation:
    """A relation and the truth it was drawn from; a network has the same clusters on both sides."""

    relation: Relation
    row_clusters: NDArray[np.int64]  # shape (n_rows,)
    column_clusters: NDArray[np.int64]  # shape (n_cols,)
    strengths: NDArray[
        np.float64
    ]  # probability of a link in each block, shape (k_rows, k_cols); of counts, their mean
    activity: NDArray[np.float64] | None = (
        None  # of each node of a network with hubs, 1 on average in each cluster
    )

    def with_report(self) -> tuple[Relation, ReadReport]:
        """Return the relation and what there is to tell of it."""
        relation, groups = self.relation, "clusters" if self.relation.network is None else "groups"
        told = f"Drawn from planted {groups}: {plural(relation.n_links, 'link')}."
        # Both sides are numbered from 0, but they are not the same objects: nothing to say about shared labels.
        facts = [fact for fact in object_facts(relation) if fact.name != "shared_labels"]
        return relation, ReadReport(relation.name, (Fact("links", relation.n_links, told), *facts))


def planted_relation(
    n_rows: int,
    n_cols: int,
    k_rows: int,
    k_cols: int,
    seed: int,
    *,
    beta: tuple[float, float] = (0.5, 0.5),
    missing_share: float = 0.0,
    name: str = "planted",
) -> PlantedRelation:
    """Draw clusters uniformly, strengths from a Beta distribution and every entry from its block.

    Memory is 9 bytes a cell. A small relation may leave some clusters empty.
    """
    _check_sizes(n_rows, n_cols, k_rows, k_cols)
    if min(beta) <= 0 or not 0 <= missing_share < 1:
        raise ParameterError(
            f"beta must be above 0 and missing_share in [0, 1), not {beta} and {missing_share}."
        )
    rng = np.random.default_rng(seed)
    row_clusters = rng.integers(k_rows, size=n_rows)
    column_clusters = rng.integers(k_cols, size=n_cols)
    strengths = rng.beta(*beta, size=(k_rows, k_cols))
    links = rng.random((n_rows, n_cols)) < strengths[row_clusters][:, column_clusters]
    missing = None
    if missing_share:
        missing = rng.random((n_rows, n_cols)) < missing_share
        links &= ~missing
    return PlantedRelation(
        Relation.build(links, missing, name=name), row_clusters, column_clusters, strengths
    )


def synth1(seed: int = 0) -> PlantedRelation:
    """Return the papers' small synthetic relation: 100 x 200 objects, 4 x 5 clusters."""
    return planted_relation(100, 200, 4, 5, seed, name="synth1")


def synth2(seed: int = 0) -> PlantedRelation:
    """Return the papers' large synthetic relation: 1,000 x 1,500 objects, 7 x 6 clusters."""
    return planted_relation(1_000, 1_500, 7, 6, seed, name="synth2")


def sparse_relation(seed: int = 0, n: int = 1_892, k: int = 30, density: float = 0.006) -> PlantedRelation:
    """Draw a sparse relation whose rows and columns have the same clusters.

    Strengths are Gamma(0.2), scaled to a mean of `density` and cut at 0.9. Memory is 8 bytes a cell.
    """
    _check_sizes(n, k)
    rng = np.random.default_rng(seed)
    clusters = rng.integers(k, size=n)
    strengths = rng.gamma(0.2, 1, (k, k))
    strengths = np.minimum(strengths * (density / strengths.mean()), _MAX_STRENGTH)
    links = rng.random((n, n)) < strengths[clusters][:, clusters]
    return PlantedRelation(Relation.build(links, name="sparse planted"), clusters, clusters, strengths)


def large_relation(
    n_rows: int, n_cols: int, n_ones: int, k_rows: int, k_cols: int, seed: int, *, skew: float = 0.0
) -> PlantedRelation:
    """Draw a large sparse relation with about `n_ones` links, in memory linear in the links.

    Strengths are Gamma(0.5), scaled so that `n_ones` links are expected and cut at 0.9. Every entry is an independent
    draw from its block, as in `planted_relation`: a block with strength p receives Poisson(-log(1 - p)) marks on each
    cell, thrown at random, and a cell is a link when it has a mark, which happens with probability p.

    `skew`: standard deviation of the logarithm of how often an object is hit, compared with the others of its cluster.
    Above 0 the objects of a cluster have uneven numbers of links, and fewer links are left than marks fell.
    """
    _check_sizes(n_rows, n_cols, k_rows, k_cols)
    if not 0 < n_ones <= n_rows * n_cols // 2:
        raise ParameterError(f"n_ones must be from 1 to half of the cells, not {n_ones:,}.")
    rng = np.random.default_rng(seed)
    row_clusters = rng.integers(k_rows, size=n_rows)
    column_clusters = rng.integers(k_cols, size=n_cols)
    rows_of = [np.flatnonzero(row_clusters == k).astype(np.int32) for k in range(k_rows)]
    columns_of = [np.flatnonzero(column_clusters == k).astype(np.int32) for k in range(k_cols)]
    cells = np.outer([len(rows) for rows in rows_of], [len(columns) for columns in columns_of])
    strengths = rng.gamma(0.5, 1, (k_rows, k_cols))
    for _ in range(50):  # cutting lowers the sum, scaling up cuts more: settles geometrically
        strengths = np.minimum(strengths * (n_ones / (strengths * cells).sum()), _MAX_STRENGTH)
    marks = rng.poisson(-np.log1p(-strengths) * cells)
    row_shares = [_draw_shares(rng, len(members), skew) for members in rows_of]
    column_shares = [_draw_shares(rng, len(members), skew) for members in columns_of]
    at = _drop_marks(rng, marks, (rows_of, columns_of), (row_shares, column_shares))
    links = sparse.csr_array((np.ones(len(at[0]), np.bool_), at), shape=(n_rows, n_cols))
    return PlantedRelation(
        Relation.build(links, name="large planted"), row_clusters, column_clusters, strengths
    )


def _draw_shares(rng: np.random.Generator, n: int, skew: float) -> NDArray[np.float64] | None:
    """Return how often each of n objects is hit, as shares of one; None where all are hit alike."""
    if not skew:
        return None
    weights = rng.lognormal(sigma=skew, size=n)
    return np.asarray(weights / weights.sum())


def _drop_marks(
    rng: np.random.Generator, marks: NDArray[np.int64], members: _Both, shares: _Both
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the rows and the columns that the marks of each block fall on, by the shares of the block's objects."""
    # The arrays that are joined here hold the marks of one block each.
    rows, columns = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
    for k, j in np.argwhere(marks):
        rows.append(rng.choice(members[0][k], marks[k, j], p=shares[0][k]))
        columns.append(rng.choice(members[1][j], marks[k, j], p=shares[1][j]))
    return np.concatenate(rows), np.concatenate(columns)


def planted_network(
    sizes: Mapping[str, int], strengths: ArrayLike, seed: int, *, directed: bool = False, name: str = "drawn"
) -> PlantedRelation:
    """Draw every pair of nodes from its block, without links of a node to itself; the nodes come in random order.

    `sizes` has the number of nodes of each cluster by its name in the attribute "group", `strengths` (k, k) the
    probabilities of a link, symmetric unless `directed`.
    """
    chances = np.asarray(strengths, dtype=np.float64)
    k = len(sizes)
    if k < 1 or min(sizes.values()) < 1 or chances.shape != (k, k):
        raise ParameterError(
            f"Give at least one node to each of k clusters, and k x k strengths, not {tuple(sizes.values())} and "
            f"strengths of shape {chances.shape}."
        )
    if not ((chances >= 0) & (chances <= 1)).all() or not (directed or (chances == chances.T).all()):
        raise ParameterError(
            "Strengths must be from 0 to 1, and those of an undirected network the same both ways."
        )
    rng = np.random.default_rng(seed)
    clusters = rng.permutation(np.repeat(np.arange(k), list(sizes.values())))
    n = len(clusters)
    links = rng.random((n, n)) < chances[clusters][:, clusters]
    np.fill_diagonal(links, False)
    relation = Relation.build(
        links if directed else np.triu(links),
        row_labels=_name_nodes(n),
        name=name,
        row_kind="node",
        network=Network(directed),
        attributes={"group": np.array(list(sizes), dtype=object)[clusters]},
    )
    return PlantedRelation(relation, clusters, clusters, chances)


def groups_of_all_kinds(seed: int = 0) -> PlantedRelation:
    """Draw 360 nodes: communities, two groups that only meet each other, a centre with its circle, and a sparse rest.

    Who looks for communities alone finds the first four: the groups that only meet each other, and the circle, have
    hardly a link inside.
    """
    sizes = {
        "community A": 45, "community B": 40, "community C": 35, "community D": 30, "buyers": 45, "sellers": 45,
        "centre": 12, "circle": 48, "rest": 60,
    }  # fmt: skip
    chances = np.full((9, 9), 0.01)
    np.fill_diagonal(chances[:4, :4], 0.25)
    for one, other, chance in ((4, 5, 0.2), (6, 6, 0.6), (6, 7, 0.35), (0, 1, 0.05)):
        chances[one, other] = chances[other, one] = chance
    return planted_network(sizes, chances, seed, name="network_groups")


def flow_of_messages(seed: int = 0) -> PlantedRelation:
    """Draw 150 nodes whose links have a direction: a circle of three groups, senders, and receivers of everything."""
    sizes = {"first": 35, "second": 35, "third": 35, "senders": 20, "receivers": 25}
    chances = np.full((5, 5), 0.01)
    for one, other, chance in ((0, 1, 0.25), (1, 2, 0.25), (2, 0, 0.25), (3, 0, 0.3), (3, 3, 0.15)):
        chances[one, other] = chance
    chances[:4, 4] = 0.15
    return planted_network(sizes, chances, seed, directed=True, name="network_directed")


def planted_hubs(
    n_nodes: int = 300,
    n_groups: int = 5,
    seed: int = 0,
    *,
    skew: float = 1.0,
    contrast: float = 8.0,
    mean_weight: float = 20.0,
    n_camps: int = 0,
    closeness: float = 1.0,
    name: str = "planted_hubs",
) -> PlantedRelation:
    """Draw an undirected network of counts whose groups have hubs, as the degree-corrected block model does.

    A count is Poisson distributed; its mean is the product of the activities of both nodes and the rate of the block.
    Groups are of one size. The attribute "group" names them. Time and memory grow with the counts, not with the pairs.

    Parameters
    ----------
    skew : float
        Standard deviation of the logarithm of an activity; 0: all nodes of a group are equally active.
    contrast : float
        Rate inside a group, divided by that between two groups.
    mean_weight : float
        Sum of a node's counts, on average, if nodes could be linked to themselves.
    n_camps : int
        Camps that consist of groups: group k is in camp k modulo `n_camps`; 0: each group is its own.
    closeness : float
        Rate between two groups of one camp, divided by that between groups of two camps.
    """
    _check_sizes(n_nodes, n_groups)
    if n_groups > n_nodes or not (skew >= 0 and min(contrast, closeness) > 0 and mean_weight >= 0):
        raise ParameterError(
            f"Give at least one node to each group, a contrast above 0, and nothing below 0, not {n_nodes} nodes, "
            f"{n_groups} groups, {skew=}, {contrast=} and {mean_weight=}."
        )
    rng = np.random.default_rng(seed)
    clusters = rng.permutation(np.arange(n_nodes) % n_groups)
    members = [np.flatnonzero(clusters == k) for k in range(n_groups)]
    shares = [_draw_shares(rng, len(nodes), skew) for nodes in members]
    activity = np.ones(n_nodes)
    for nodes, share in zip(members, shares, strict=True):
        if share is not None:
            activity[nodes] = share * len(nodes)
    pairs = np.outer([len(nodes) for nodes in members], [len(nodes) for nodes in members])
    camp = np.arange(n_groups) % (n_camps or n_groups)
    rates = np.where(camp[:, None] == camp, closeness, 1.0)
    np.fill_diagonal(rates, contrast)
    rates *= n_nodes * mean_weight / (rates * pairs).sum()
    # Each pair of two groups once; inside a group in either order, so at half the rate.
    totals = rng.poisson(np.triu(rates * pairs, 1) + np.diag(np.diag(rates * pairs) / 2))
    ends = np.sort(_drop_marks(rng, totals, (members, members), (shares, shares)), axis=0)
    ends = ends[:, ends[0] < ends[1]]
    relation = Relation.build(
        sparse.coo_array((np.ones(ends.shape[1]), tuple(ends)), shape=(n_nodes, n_nodes)),
        threshold=0,
        row_labels=_name_nodes(n_nodes),
        name=name,
        row_kind="node",
        network=Network(directed=False),
        attributes={"group": [f"group {k + 1}" for k in clusters]},
    )
    return PlantedRelation(relation, clusters, clusters, rates, activity)


def _name_nodes(n: int) -> list[str]:
    return [f"node {i + 1:0{len(str(n))}d}" for i in range(n)]


def _check_sizes(*sizes: int) -> None:
    if min(sizes) < 1:
        raise ParameterError(f"Numbers of objects and clusters must be at least 1, not {sizes}.")
