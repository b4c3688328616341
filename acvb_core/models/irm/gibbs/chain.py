"""A short Gibbs chain before a run: the best of its samples is a start, and all of them together predict links.

A chain moves between many clusterings, so it gets out of poor ones that updates of one object at a time cannot leave.
The mean of what its samples predict is better than what any one clustering does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from acvb_core.core.protocols import Array, Poll
from acvb_core.models.irm.gibbs.gibbs import GibbsIrm, GibbsState
from acvb_core.models.irm.hyper import Hyper
from acvb_core.models.irm.kernels import Floats
from acvb_core.models.irm.layout import Layout
from acvb_core.models.irm.moves.merge import merge_clusters
from acvb_core.models.irm.state import stick_log_evidence, sum_evidence

#: Sweeps that are not kept, and samples that are, at most: each sample more makes the predictions better.
BURN_IN, KEPT = 60, 140
#: Work of a chain at most, a third of it for the burn-in: objects times blocks, summed over sweeps.
_WORK = 5e8
#: A chain over many objects is over when in so many sweeps in turn no more than this share of them has changed
#: company: further samples would be much the same. In data without plain groups a tenth of them moves in every sweep.
SETTLED, _AT_REST = 10, 5e-3
#: With fewer objects the chain takes all its samples. Ten sweeps without a move are then a matter of chance, and
#: samples that are kept because of their values are no fair draw from the posterior.
_MANY = 1_000
#: Sweeps after which merges are tried: where clusters are large, single objects take a hundred sweeps to empty one.
_MERGE_AFTER = 10
#: The burn-in ends early after so many sweeps, merges tried, in which no sample had a higher bound than all before:
#: the chain has arrived. The spectral start of a small network is near enough for that.
_LEVEL = 10
#: Samples in a posterior: the cluster of each object, shape (S, N); the blocks' link probabilities, (S, K, L); and
#: a and b of their Beta prior, (S, 2), and the lower bound, (S,), which posteriors of earlier versions do not have.
LABELS, STRENGTHS, PRIORS, BOUNDS = "sampled_{}", "sampled_strengths", "sampled_priors", "sampled_bounds"


class ChainStart(NamedTuple):
    """The start that a chain leaves for the run after it."""

    #: The best sample by the lower bound: responsibilities of each domain, one-hot, largest cluster first.
    q: dict[str, Floats]
    hyper: Hyper  #: hyper-parameters of that sample: with others the run leaves its clusters
    samples: dict[str, Array]  #: the kept samples, by `LABELS`, `STRENGTHS`, `PRIORS` and `BOUNDS`


def run_chain(sampler: GibbsIrm, rng: np.random.Generator, poll: Poll) -> ChainStart:
    """Draw samples until there are enough or the work is done; a chain over many objects ends once it has settled."""
    state = sampler.init(rng, poll)
    best, highest, risen = state, -np.inf, _MERGE_AFTER
    work, sweeps, at_rest, burning = 0.0, 0, 0, True
    may_settle = sum(map(len, state.labels.values())) >= _MANY
    kept: list[Sample] = []
    while len(kept) < KEPT and (work < _WORK or not kept) and at_rest < SETTLED:
        burning = burning and sweeps < min(BURN_IN, risen + _LEVEL) and work < _WORK / 3
        # The chain's own numbers stay the same, whether merges are tried or not.
        merged = try_merges(sampler, state, rng.spawn(1)[0], poll) if sweeps == _MERGE_AFTER else None
        if merged is None:
            state, moved = _draw_share(sampler, state, rng, poll)
            at_rest = at_rest + 1 if may_settle and moved <= _AT_REST else 0
        else:
            state, at_rest = merged, int(may_settle)
        sweeps += 1
        work += sum(map(len, state.labels.values())) * state.ones.size
        if (height := measure_bound(state, sampler.layout)) > highest:
            best, highest, risen = state, height, max(sweeps, risen)
        if burning and not at_rest:
            kept.clear()
        else:
            kept.append(take_sample(state, height))
    samples = pack_samples(kept[-SETTLED:] if at_rest == SETTLED else kept)
    return ChainStart(dict(sampler.irm_state(best).q), best.hyper, samples)


def measure_bound(state: GibbsState, layout: Layout) -> float:
    """Return the lower bound of a sample, clusters in order of size: `lower_bound`, of labels and far sooner."""
    hyper = state.hyper
    total = sum_evidence(state.ones, state.entries, hyper.a, hyper.b, layout.symmetric)
    for domain, labels in state.labels.items():
        sizes = -np.sort(-np.bincount(labels).astype(np.float64))
        total += stick_log_evidence(sizes, hyper.alpha[domain])
    return float(total)


def try_merges(
    sampler: GibbsIrm, state: GibbsState, rng: np.random.Generator, poll: Poll
) -> GibbsState | None:
    """Return the sample after merging clusters for the bound; None where the next sweep does not leave it at rest.

    Objects that move at once say that there are many clusterings as good, between which the chain finds its own way.
    """
    merged, n_merged = merge_clusters(sampler.irm_state(state), poll=poll)
    if not n_merged:
        return None
    labels = {domain: q.argmax(axis=1) for domain, q in merged.q.items()}
    state, moved = _draw_share(
        sampler, GibbsState(labels, state.hyper, merged.ones, merged.entries), rng, poll
    )
    return state if moved <= _AT_REST else None


def _draw_share(
    sampler: GibbsIrm, state: GibbsState, rng: np.random.Generator, poll: Poll
) -> tuple[GibbsState, float]:
    """Return the next sample, and the share of the objects that have changed company."""
    state, info = sampler.sweep(state, rng, poll)
    return state, (info.change or 0.0) / 2.0


class Sample(NamedTuple):
    """One kept sample of the chain, in as little memory as it takes."""

    labels: dict[str, Array]  #: the cluster of each object of each domain
    strengths: Array  #: the blocks' link probabilities
    prior: tuple[float, float]  #: a and b of the blocks' Beta prior
    bound: float  #: the lower bound, in nats


def take_sample(state: GibbsState, bound: float) -> Sample:
    """Return the sample that is kept of a state with this bound."""
    hyper = state.hyper
    kind = np.int16 if max(state.ones.shape) <= np.iinfo(np.int16).max else np.int32
    strengths = (hyper.a + state.ones) / (hyper.a + hyper.b + state.entries)
    labels = {domain: numbers.astype(kind) for domain, numbers in state.labels.items()}
    return Sample(labels, strengths.astype(np.float32), (float(hyper.a[0, 0]), float(hyper.b[0, 0])), bound)


def pack_samples(samples: list[Sample]) -> dict[str, Array]:
    """Return samples as arrays of a posterior, blocks that a sample does not have as zero."""
    shape = np.max([sample.strengths.shape for sample in samples], axis=0)
    strengths = np.zeros((len(samples), *shape), dtype=np.float32)
    for at, sample in enumerate(samples):
        rows, columns = sample.strengths.shape
        strengths[at, :rows, :columns] = sample.strengths
    labels = {
        LABELS.format(domain): np.stack([sample.labels[domain] for sample in samples])
        for domain in samples[0].labels
    }
    priors, bounds = ([getattr(sample, name) for sample in samples] for name in ("prior", "bound"))
    return {**labels, STRENGTHS: strengths, PRIORS: np.array(priors), BOUNDS: np.array(bounds)}


def keep_clusters(q: Floats, limit: int) -> Floats:
    """Return one-hot responsibilities of the first `limit` clusters; objects of others are spread evenly over them."""
    q = q[:, :limit]
    return np.where(q.any(axis=1, keepdims=True), q, 1.0 / q.shape[1])
