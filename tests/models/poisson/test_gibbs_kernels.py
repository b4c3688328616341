"""The Gibbs draws of blocks of counts against exact conditionals and the exact posterior."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
from scipy.special import logsumexp

from acvb_core.models.irm.gibbs import BlockPair
from acvb_core.models.irm.gibbs_kernels import Labels
from acvb_core.models.poisson.gibbs_kernels import draw_side
from tests.loops import for_each
from tests.models.poisson.adapters import relation_of
from tests.oracles.dense_poisson import CountData, log_joint, sums
from tests.oracles.enumeration import canonical_partition, partitions
from tests.oracles.poisson_cases import KINDS, random_counts

A, B = 0.7, 1.3


def parts_of(data: CountData, labels: Labels, others: Labels) -> tuple[Labels, ...]:
    """Return the labels of every domain."""
    return (labels, others) if data.directed is None else (labels,)


def count_densely(data: CountData, labels: Labels, others: Labels) -> BlockPair:
    """Return the counts of all blocks, and these plus the exposures."""
    counts, exposures = sums(data, tuple(np.eye(z.max() + 1)[z] for z in parts_of(data, labels, others)))
    return counts, counts + exposures


def draw(
    data: CountData, labels: Labels, others: Labels, seed: int, alpha: float = 40.0, rate: float = B
) -> tuple[Labels, BlockPair, int]:
    """Draw the clusters of all rows once."""
    columns = others if data.directed is None else None
    counts, rng = count_densely(data, labels, others), np.random.default_rng(seed)
    directed = data.directed is True
    return draw_side(relation_of(data), columns, labels, counts, (A, rate), alpha, rng, directed=directed)


def draw_densely(
    data: CountData, labels: Labels, others: Labels, seed: int, alpha: float
) -> tuple[Labels, int]:
    """Draw every row's cluster from its exact conditional; if a cluster dies, the last takes its place.

    Return also how many rows have others in their cluster than before.
    """
    rng = np.random.default_rng(seed)
    visits, uniforms = rng.permutation(len(labels)), rng.random(len(labels))
    labels, moved = labels.copy(), 0
    for i, uniform in zip(visits, uniforms, strict=True):
        old, company, last = labels[i], labels == labels[i], labels.max()
        alone = company.sum() == 1
        tried = [
            np.where(np.arange(len(labels)) == i, k, labels) for k in range(last + 1 if alone else last + 2)
        ]
        parts = [parts_of(data, z, others) for z in tried]
        logs = np.array([log_joint(data, part, A, B, (alpha, 1.0)[: len(part)]) for part in parts])
        labels = tried[int(np.searchsorted(np.cumsum(np.exp(logs - logsumexp(logs))), uniform))]
        moved += ((labels == labels[i]) != company).any()
        if alone and labels[i] != old:
            labels[labels == last] = old
    return labels, moved


ROWS = np.array([0, 1, 2, 3, 4, 5, 6, 0, 0, 0, 1, 1, 2, 2])
COLUMNS = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2])


@for_each(
    "kind, case", product(KINDS, [(ROWS, 40.0, 1.0), (ROWS, 40.0, 4.0), (np.zeros(20, np.int64), 1e5, 1.0)])
)
def test_rows_are_drawn_from_the_exact_conditionals(kind: str, case: tuple[Labels, float, float]) -> None:
    """Draw for draw, with small and large counts; clusters die, and are born until the tables have no room left."""
    rows, alpha, mean = case
    shape = (len(rows), 9 if kind == "two domains" else len(rows))
    data = random_counts(np.random.default_rng(1), shape, kind, mean=mean)
    labels, counts, n_moved = draw(data, rows, COLUMNS, 1, alpha)
    expected, moved = draw_densely(data, rows, COLUMNS, 1, alpha)
    assert labels.tolist() == expected.tolist()
    assert 0 < n_moved == moved
    np.testing.assert_allclose(counts, count_densely(data, expected, COLUMNS), rtol=1e-12, atol=1e-12)


@for_each("kind", list(KINDS))
def test_samples_have_the_frequencies_of_the_exact_posterior(kind: str) -> None:
    """Every partition of four objects (and of three columns) is as frequent as it is probable."""
    data = random_counts(np.random.default_rng(5), (4, 3) if kind == "two domains" else (4, 4), kind)
    alphas = (1.5, 0.8)[: 2 if kind == "two domains" else 1]
    every = list(product(*(partitions(n) for n in data.x.shape[: len(alphas)])))
    logs = np.array([log_joint(data, tuple(map(np.array, one)), A, B, alphas) for one in every])
    rng, found, sweeps = np.random.default_rng(0), Counter[tuple[tuple[int, ...], ...]](), 6000
    sides = [relation_of(data), relation_of(data.T)][: len(alphas)]
    labels = [np.zeros(n, np.int64) for n in data.x.shape[: len(alphas)]]
    counts = count_densely(data, labels[0], labels[-1])
    for _ in range(sweeps):
        for side, relation in enumerate(sides):
            others = None if data.directed is not None else labels[1 - side]
            labels[side], counts, _ = draw_side(
                relation,
                others,
                labels[side],
                counts,
                (A, B),
                alphas[side],
                rng,
                directed=data.directed is True,
            )
            counts = counts if others is None else (counts[0].T.copy(), counts[1].T.copy())
        found[tuple(map(canonical_partition, labels))] += 1
    expected = np.exp(logs - logsumexp(logs))
    frequencies = np.array([found[one] for one in every]) / sweeps
    # Samples in turn are alike, so errors are some three times those of independent ones.
    assert (np.abs(frequencies - expected) < 3.0 * 3.5 * np.sqrt(expected / sweeps) + 2e-3).all()


@for_each("kind", list(KINDS))
def test_activities_have_no_unit(kind: str) -> None:
    """Larger activities and a larger rate of the prior give the same draws."""
    data = random_counts(np.random.default_rng(1), (14, 14), kind)
    larger = data._replace(t=4.0 * data.t, f=(4.0 if data.directed is False else 2.0) * data.f)
    unit = larger.t[0] * larger.f[0] / (data.t[0] * data.f[0])
    others = np.arange(14) % 3
    plain, _, _ = draw(data, ROWS, others, 2)
    drawn, _, _ = draw(larger, ROWS, others, 2, rate=unit * B)
    assert drawn.tolist() == plain.tolist() != ROWS.tolist()
