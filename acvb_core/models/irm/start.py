"""Initial responsibilities: spectral co-clustering, or uniform random ones as in the papers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from acvb_core.core.clusters import order_by_size
from acvb_core.core.protocols import Poll, no_poll
from acvb_core.core.spec import Values
from acvb_core.data.relation import EQUAL, CountRelation, Relation
from acvb_core.models.irm.hyper import Hyper
from acvb_core.models.irm.kernels import (
    TWO_DOMAINS,
    Floats,
    Layout,
    network_layout,
    pattern_product,
    sum_weights,
)

Product = Callable[[Floats], Floats]


def leading_vectors(
    forward: Product,
    backward: Product,
    shape: tuple[int, int],
    width: int,
    iterations: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats, Floats]:
    """Return leading left singular vectors, singular values and right singular vectors by subspace iteration.

    `forward`, `backward`: multiply the matrix of that `shape`, and its transpose, with a block of vectors.
    `width`: vectors iterated; the last ones are inexact.

    Reference: Halko, Martinsson and Tropp, SIAM Review 2011.
    """
    basis = np.linalg.qr(forward(rng.standard_normal((shape[1], min(width, *shape))))).Q
    for _ in range(iterations):
        basis = np.linalg.qr(forward(np.linalg.qr(backward(basis)).Q)).Q
    right, values, within = np.linalg.svd(backward(basis), full_matrices=False)
    return basis @ within.T, values, right


#: Subspace iterations, and vectors iterated beyond those asked for: more do not change k-means (measured on planted and
#: real relations), and products with a whole block of vectors cost a tenth of ARPACK's one by one.
_ITERATIONS, _EXTRA = 7, 10
#: Mean objects of a spectral cluster, at least: k-means on a handful of points finds chance, and moves have to undo it.
_OBJECTS = 5
#: Up to so many points a hierarchy finds clusters at least as good as those of k-means, and far sooner.
_FEW = 128
#: Noise on the points of a hierarchy, as a share of their root mean square, so that seeds give different starts.
_NOISE = 0.1
#: Points that k-means uses; further ones join the nearest cluster. It would take minutes on millions.
_SAMPLED = 200_000
#: Decimals up to which two points are the same.
_DIGITS = 10


@dataclass(frozen=True)
class Start:
    """How the first responsibilities are made."""

    #: `k_rows`, `k_cols`: starting number of clusters (the truncation of the stick-breaking prior); one domain has the
    #: first. The spectral start makes fewer of a few objects.
    k_rows: int
    k_cols: int = 0
    how: str = "spectral"  #: "spectral", "random", or "gibbs", from the best sample of a chain
    smoothing: float = 0.1  #: share of each object that a spectral start spreads evenly over all clusters

    def responsibilities(
        self, relation: Relation, layout: Layout, rng: np.random.Generator, poll: Poll = no_poll
    ) -> dict[str, Floats]:
        """Return responsibilities of every domain, shape (N, K), largest cluster first."""
        widths = dict(zip(layout.domains, (self.k_rows, self.k_cols), strict=False))
        sizes = dict(zip(layout.domains, relation.shape, strict=False))
        if self.how == "random" or min(relation.shape) < 3 or relation.n_ones == 0:
            weights = {domain: rng.random((sizes[domain], k)) + 1e-12 for domain, k in widths.items()}
            found = {domain: each / each.sum(axis=1, keepdims=True) for domain, each in weights.items()}
        else:
            fewer = {domain: min(k, max(sizes[domain] // _OBJECTS, 2)) for domain, k in widths.items()}
            points: tuple[Floats, ...] = embedding(relation, max(fewer.values()), rng, poll)
            if layout.one_domain:
                points = (points[0],) if layout.symmetric else (np.hstack(points),)
            found = {}
            seeds = rng.integers(2**31 - 1, size=2)
            for (domain, k), coordinates, seed in zip(fewer.items(), points, seeds, strict=False):
                labels = _cluster_points(coordinates, k, int(seed))
                found[domain] = np.full((len(labels), k), self.smoothing / k)
                found[domain][np.arange(len(labels)), labels] += 1.0 - self.smoothing
        return {
            domain: np.ascontiguousarray(q[:, order_by_size(q.sum(axis=0))]) for domain, q in found.items()
        }


def embedding(
    relation: Relation, n_clusters: int, rng: np.random.Generator, poll: Poll = no_poll
) -> tuple[Floats, Floats]:
    """Return row objects and column objects as points, shapes (N1, R), (N2, R), for spectral co-clustering.

    Leading singular vectors of the degree-normalised links, scaled by the singular values. The mean degree is added to
    every degree so that objects with few links do not dominate. Unknown entries count as no link. For symmetric links
    these are the eigenvectors of largest absolute eigenvalue.

    Reference: Dhillon, KDD 2001; the regularised degrees: Qin and Rohe, NIPS 2013.
    """
    rank = min(n_clusters, min(relation.shape) - 1)
    turned = relation.transposed
    weights = [each.factors if isinstance(each, CountRelation) else EQUAL for each in (relation, turned)]
    row_scale, col_scale = (
        _inverse_root_degree(sum_weights(each.ones, values))[:, None]
        for each, values in zip((relation, turned), weights, strict=True)
    )

    def forward(vectors: Floats) -> Floats:
        return row_scale * pattern_product(relation.ones, col_scale * vectors, poll, weights[0])

    def backward(vectors: Floats) -> Floats:
        return col_scale * pattern_product(turned.ones, row_scale * vectors, poll, weights[1])

    left, values, right = leading_vectors(forward, backward, relation.shape, rank + _EXTRA, _ITERATIONS, rng)
    left, values, right = left[:, :rank], values[:rank], right[:, :rank]
    if isinstance(relation, CountRelation) and np.ptp(relation.row_activity) > 0.0:
        # Objects of one cluster lie in one direction, the further out the more active they are.
        left, right = (
            each / np.maximum(np.linalg.norm(each, axis=1, keepdims=True), 1e-12) for each in (left, right)
        )
        return left, right
    return left * values, right * values


def _inverse_root_degree(degree: np.ndarray) -> Floats:
    return 1.0 / np.sqrt(degree + max(degree.mean(), 1e-12))


def _cluster_points(points: Floats, n_clusters: int, seed: int) -> np.ndarray:
    """Return the cluster of each point, by Ward's hierarchy if they are few, else by k-means."""
    points = points.round(_DIGITS)
    if len(points) > _FEW:
        return _k_means(points, n_clusters, seed)
    noise = np.random.default_rng(seed).normal(scale=_NOISE * np.sqrt((points**2).mean()), size=points.shape)
    most = min(n_clusters, len(np.unique(points, axis=0)))
    return _cut_hierarchy(points + noise, most)


def _cut_hierarchy(points: Floats, n_clusters: int) -> np.ndarray:
    """Return the cluster of each of a few points by Ward's hierarchy, cut at so many clusters.

    SciPy's `ward` and `fcluster` find the same clusters, and take longer to import than a small fit.
    """
    distances = ((points[:, None] - points) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    labels, sizes = np.arange(len(points)), np.ones(len(points))
    for _ in range(len(points) - n_clusters):
        k, other = divmod(int(distances.argmin()), len(points))
        apart = (sizes[k] + sizes) * distances[k] + (sizes[other] + sizes) * distances[other]
        apart = (apart - sizes * distances[k, other]) / (sizes[k] + sizes[other] + sizes)
        distances[k] = distances[:, k] = apart
        distances[other] = distances[:, other] = np.inf
        sizes[k] += sizes[other]
        labels[labels == other] = k
    return np.unique(labels, return_inverse=True)[1]


def _k_means(points: Floats, n_clusters: int, seed: int) -> np.ndarray:
    from sklearn.cluster import KMeans  # takes a second to import

    # K-means would warn of clusters beyond the number of distinct points; they start empty, as intended. The warning
    # cannot be silenced: filters belong to the process, and runs begin on several threads at once.
    n_points = len(points)
    sample = points
    if n_points > _SAMPLED:
        sample = points[np.sort(np.random.default_rng(seed).choice(n_points, _SAMPLED, replace=False))]
    distinct = len(np.unique(sample, axis=0))
    k_means = KMeans(min(n_clusters, distinct), n_init=3, random_state=seed).fit(sample)
    return np.asarray(k_means.labels_ if sample is points else k_means.predict(points))


def layout_of(data: Any, values: Values) -> Layout:
    """Return the clusterings that a method with these values makes of the data: two domains, or a network's."""
    return TWO_DOMAINS if "k_cols" in values else network_layout(data)


def read_settings(data: Any, values: Values) -> Values:
    """Return the fields of every method, from the values of its parameters."""
    if max(data.shape) > _FEW:
        import sklearn.cluster  # noqa: F401 - here, so that its time does not count as the run's

    layout = layout_of(data, values)
    k_cols = values["k_cols"] if "k_cols" in values else values["k_rows"]
    return {
        "relation": data,
        "start": Start(values["k_rows"], k_cols, values["init"], values["smoothing"]),
        "hyper": Hyper.single_prior(
            values["alpha"],
            values["a"],
            values["b"],
            layout.domains,
            is_gamma=isinstance(data, CountRelation),
        ),
        "hyper_rule": values["hyper"],
        "layout": layout,
    }
