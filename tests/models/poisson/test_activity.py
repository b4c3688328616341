"""A chain that draws activities, against the exact posterior with rates and activities integrated out."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
from scipy.special import gammaln, logsumexp

from acvb_core.models.irm.hyper import Hyper
from acvb_core.models.irm.start import Start
from acvb_core.models.poisson.methods import GibbsPoisson
from tests.loops import for_each
from tests.models.irm.adapters import layout_of
from tests.models.poisson.adapters import relation_of
from tests.oracles.dense_poisson import CountData, Parts, log_joint, log_likelihood_of_labels
from tests.oracles.enumeration import canonical_partition, partitions
from tests.oracles.poisson_cases import random_counts

A, B, ALPHA = 0.7, 1.3, 1.5
#: Draws of all activities from their prior.
DRAWS = 20_000


def integrate_activities(data: CountData, labels: Parts) -> float:
    """log p(X, Z) but for a constant, as the mean over activities drawn from Gamma(1, 1 / mean)."""
    rng, entries = np.random.default_rng(0), data.entries
    t, f = (rng.exponential(each.mean(), (DRAWS, len(each))) for each in (data.t, data.f))
    f = t if data.directed is False else f
    rows, columns = np.nonzero(entries)
    blocks = np.stack([labels[0][rows], labels[-1][columns]])
    if data.directed is False:
        blocks.sort(axis=0)
    counts = data.x[entries]
    total = np.log(t[:, rows] * f[:, columns]) @ counts
    for block in np.unique(blocks, axis=1).T:
        inside = (blocks == block[:, None]).all(axis=0)
        n, exposure = counts[inside].sum(), (t[:, rows[inside]] * f[:, columns[inside]]).sum(axis=1)
        total += gammaln(A + n) - gammaln(A) + A * np.log(B) - (A + n) * np.log(B + exposure)
    alphas = (ALPHA,) * len(labels)
    prior = log_joint(data, labels, A, B, alphas) - log_likelihood_of_labels(data, labels, A, B)
    return float(logsumexp(total) + prior)


@for_each("kind", ["two domains", "directed", "undirected"])
def test_samples_have_the_frequencies_of_the_exact_posterior(kind: str) -> None:
    """Every partition of three objects (and of three columns) is as frequent as it is probable."""
    data = random_counts(np.random.default_rng(3), (3, 3), kind, missing=0.1, mean=4.0)
    # Only the mean of the known activities may matter.
    data = data._replace(t=np.array([0.05, 0.2, 2.75]), f=np.array([0.05, 0.2, 2.75]))
    relation = relation_of(data)
    layout = layout_of(relation)
    every = [tuple(map(np.array, one)) for one in product(partitions(3), repeat=len(layout.domains))]
    logs = np.array([integrate_activities(data, labels) for labels in every])
    hyper = Hyper.single_prior(ALPHA, A, B, layout.domains, is_gamma=True)
    chain = GibbsPoisson(relation, Start(2, 2, "random"), hyper, "fixed", layout)
    rng, found, sweeps = np.random.default_rng(0), Counter[tuple[tuple[int, ...], ...]](), 2500
    state = chain.init(rng)
    for _ in range(sweeps):
        state, _ = chain.sweep(state, rng)
        found[tuple(canonical_partition(labels) for labels in state.labels.values())] += 1
    expected = np.exp(logs - logsumexp(logs))
    frequencies = [found[tuple(map(canonical_partition, one))] / sweeps for one in every]
    # Samples in turn are somewhat alike.
    assert (np.abs(frequencies - expected) < 3.0 * 1.5 * np.sqrt(expected / sweeps) + 2e-3).all()
