"""Collapsed Gibbs sampling for the IRM, as a method and as the short chain that starts the other methods."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numba as nb
import numpy as np

from acvb_core.core.averaging import SampleMean
from acvb_core.core.clusters import order_by_size, take
from acvb_core.core.protocols import Array, Poll, Posterior, SweepInfo, UnaveragedMethod, no_poll
from acvb_core.core.spec import Values
from acvb_core.core.special import OPTIONS
from acvb_core.data.relation import Relation
from acvb_core.models.irm.gibbs_kernels import TABLE_LENGTH, Labels, Side, draw_some
from acvb_core.models.irm.hyper import Hyper, log_evidence
from acvb_core.models.irm.kernels import TWO_DOMAINS, Floats, Layout, chunk_length
from acvb_core.models.irm.moves import merge_clusters
from acvb_core.models.irm.start import Start, read_settings
from acvb_core.models.irm.state import IrmState, block_counts, posterior_of, stick_log_evidence, sum_evidence


def one_hot(labels: Labels) -> Floats:
    """Return labels 0..K-1 as responsibilities, shape (N, K)."""
    return np.asarray(np.eye(int(labels.max()) + 1)[labels])


def count_blocks(
    relation: Relation, labels: Mapping[str, Labels], layout: Layout, poll: Poll = no_poll
) -> tuple[Floats, Floats]:
    """Return the ones and the observed entries of each block, shape (K1, K2), for the clusters of all objects."""
    return block_counts(relation, {domain: one_hot(own) for domain, own in labels.items()}, layout, poll)


#: Ones and observed entries of each block.
BlockPair = tuple[Floats, Floats]


def draw_side(
    side: Side,
    labels: Labels,
    counts: BlockPair,
    prior: tuple[float, float],
    alpha: float,
    rng: np.random.Generator,
    tables: Floats,
    poll: Poll = no_poll,
) -> tuple[Labels, BlockPair, int]:
    """Draw the cluster of every object of a side in turn, in a fresh random order.

    `labels` have no gaps; `counts`: shape (K, L) each, of their blocks; `tables` are those of `draw_some`.
    Returns new labels without gaps, the counts of their blocks, and how many objects changed company.
    """
    objects, uniforms = rng.permutation(len(labels)), rng.random(len(labels))
    labels, (ones, entries) = labels.copy(), counts
    linked = side.links.pointers[0][-1] + side.links.pointers[1][-1]
    at = moved = 0
    while at < len(objects):
        length = chunk_length(len(ones), ones.shape[1] + linked // len(labels), 3.0)
        some = objects[at : at + length], uniforms[at : at + length]
        drawn, ones, entries, changed = draw_some(*some, labels, side, ones, entries, prior, alpha, tables)
        at, moved = at + drawn, moved + changed
        poll()
    return labels, (ones, entries), moved


def _close_gaps(labels: Labels) -> Labels:
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def _turn(counts: BlockPair) -> BlockPair:
    return np.ascontiguousarray(counts[0].T), np.ascontiguousarray(counts[1].T)


#: Random numbers for a point of a slice sampler: more are not needed but once in a billion points.
_UNIFORMS = 64


@dataclass(frozen=True)
class GibbsState:
    """One sample: the cluster of every object of each domain (numbered without gaps) and the hyper-parameters."""

    labels: dict[str, Labels]
    hyper: Hyper
    #: `ones`, `entries`: shape (K1, K2); ones and observed entries of each block.
    ones: Floats
    entries: Floats


@dataclass(frozen=True)
class GibbsIrm(UnaveragedMethod):
    """Collapsed Gibbs sampler bound to a relation or a network (an `Algorithm`).

    Reference: Kemp et al., AAAI 2006; IRM14 eqs. 20-24 (the second domain's formula with its own superscripts);
      Escobar and West, JASA 1995, for the concentrations; Neal, Annals of Statistics 2003, for slice sampling of a and
      b.
    """

    relation: Relation
    #: The first sample is the most probable cluster of each object in the variational methods' start.
    start: Start
    hyper: Hyper  #: hyper-parameters to start from
    hyper_rule: str = "tied"  #: sample them, under Gamma(1, 1) priors, or keep them
    layout: Layout = TWO_DOMAINS  #: which clusterings there are
    #: Working memory of the draws: the system takes longer to provide new pages than the tables take to fill.
    tables: Floats = field(default_factory=lambda: np.empty((3, TABLE_LENGTH)), repr=False, compare=False)

    @property
    def plan(self) -> ChainPlan:
        """Return how long the chain is that gives a start."""
        return ChainPlan(KEPT, _WORK)

    @property
    def has_many_objects(self) -> bool:
        """Return whether there are so many objects that a chain at rest is no matter of chance."""
        return sum(self.relation.shape[: len(self.layout.domains)]) >= MANY_OBJECTS

    def init(self, rng: np.random.Generator, poll: Poll = no_poll) -> GibbsState:
        """Return the first sample."""
        q = self.start.responsibilities(self.relation, self.layout, rng, poll)
        labels = {domain: _close_gaps(array.argmax(axis=1)) for domain, array in q.items()}
        return GibbsState(labels, self.hyper, *count_blocks(self.relation, labels, self.layout, poll))

    def draw(self, state: GibbsState, rng: np.random.Generator, poll: Poll) -> tuple[GibbsState, int]:
        """Draw every row object's cluster, then every column object's; return also how many changed company."""
        labels, counts, moved = dict(state.labels), (state.ones, state.entries), 0
        for axis, domain in enumerate(self.layout.domains):
            relation = self.relation.transposed if axis else self.relation
            others = None if self.layout.one_domain else labels[self.layout.axes[1 - axis]]
            counts = _turn(counts) if axis else counts
            alpha = state.hyper.alpha[domain]
            labels[domain], counts, n_moved = self.draw_domain(
                relation, others, labels[domain], counts, state.hyper, alpha, rng, poll
            )
            counts, moved = _turn(counts) if axis else counts, moved + n_moved
        return GibbsState(labels, state.hyper, *counts), moved

    def draw_domain(
        self,
        relation: Relation,
        others: Labels | None,
        labels: Labels,
        counts: BlockPair,
        hyper: Hyper,
        alpha: float,
        rng: np.random.Generator,
        poll: Poll,
    ) -> tuple[Labels, BlockPair, int]:
        """Draw the cluster of every row object of a relation, as `draw_side` does."""
        directed = self.layout.one_domain and not self.layout.symmetric
        side = Side.of(relation, others, directed=directed)
        prior = hyper.a.item(), hyper.b.item()
        return draw_side(side, labels, counts, prior, alpha, rng, self.tables, poll)

    def sweep(
        self, state: GibbsState, rng: np.random.Generator, poll: Poll = no_poll
    ) -> tuple[GibbsState, SweepInfo]:
        """Draw every object's cluster, then the hyper-parameters."""
        hyper = state.hyper
        state, moved = self.draw(state, rng, poll)
        labels, ones, entries = state.labels, state.ones, state.entries
        if self.hyper_rule == "tied":
            a, b = sample_prior(hyper, ones, entries, rng, symmetric=self.layout.symmetric)
            alpha = {
                domain: sample_concentration(value, int(labels[domain].max()) + 1, len(labels[domain]), rng)
                for domain, value in hyper.alpha.items()
            }
            hyper = replace(hyper, alpha=alpha, a=np.full((1, 1), a), b=np.full((1, 1), b))
        change = 2.0 * moved / sum(map(len, labels.values()))
        return replace(state, hyper=hyper), SweepInfo(None, None, change=change)

    def posterior(self, state: GibbsState) -> Posterior:
        """Return the sample as one-hot responsibilities, largest cluster first."""
        return posterior_of(self.irm_state(state))

    def irm_state(self, state: GibbsState) -> IrmState:
        """Return the sample as a state of the variational methods: one-hot, largest cluster first."""
        orders = {domain: order_by_size(np.bincount(labels)) for domain, labels in state.labels.items()}
        q = {domain: take(one_hot(labels), (None, domain), orders) for domain, labels in state.labels.items()}
        ones, entries = (take(counts, self.layout.axes, orders) for counts in (state.ones, state.entries))
        return IrmState(q, ones, entries, state.hyper, self.layout)


def sample_concentration(alpha: float, n_clusters: int, n_objects: int, rng: np.random.Generator) -> float:
    """Draw the concentration given the number of clusters, under a Gamma(1, 1) prior (Escobar and West 1995)."""
    rate = 1.0 - math.log(rng.beta(alpha + 1.0, n_objects))
    odds = n_clusters / (n_objects * rate)
    shape = 1.0 + n_clusters - (0.0 if rng.random() < odds / (1.0 + odds) else 1.0)
    return float(max(rng.gamma(shape) / rate, 1e-6))


def sample_prior(
    hyper: Hyper, ones: Floats, entries: Floats, rng: np.random.Generator, *, symmetric: bool = False
) -> tuple[float, float]:
    """Draw a, then b, of the blocks' prior by slice sampling of their logarithms under Gamma(1, 1) priors.

    `symmetric`: blocks (k, l) and (l, k) are one.
    """
    start = np.log([hyper.a.item(), hyper.b.item()])
    log_a, log_b = _slice_logarithms(
        start, ones, entries, symmetric, hyper.is_gamma, rng.random((2, _UNIFORMS))
    )
    return math.exp(log_a), math.exp(log_b)


@nb.njit(**OPTIONS)
def _slice_logarithms(
    start: Floats, ones: Floats, entries: Floats, symmetric: bool, is_gamma: bool, uniforms: Floats
) -> tuple[float, float]:
    """Return the next points of two slice samplers: as `lda.hyper.draw_slice` does for one, compiled."""
    n, zeros = np.empty(ones.size), np.empty(ones.size)
    n_blocks = 0
    for k in range(ones.shape[0]):
        for m in range(k if symmetric else 0, ones.shape[1]):
            n[n_blocks], zeros[n_blocks] = ones[k, m], entries[k, m] - ones[k, m]
            n_blocks += 1
    n, zeros = n[:n_blocks], zeros[:n_blocks]
    point = start.copy()
    for which in range(2):
        value, drawn = point[which], uniforms[which]
        level = _log_density(n, zeros, point, is_gamma) + math.log(drawn[0])
        low = value - drawn[1]
        high = low + 1.0
        point[which] = low
        while low > -12.0 and _log_density(n, zeros, point, is_gamma) > level:
            low -= 1.0
            point[which] = low
        point[which] = high
        while high < 12.0 and _log_density(n, zeros, point, is_gamma) > level:
            high += 1.0
            point[which] = high
        for uniform in drawn[2:]:
            point[which] = low + (high - low) * uniform
            if _log_density(n, zeros, point, is_gamma) > level:
                break
            if point[which] < value:
                low = point[which]
            else:
                high = point[which]
    return point[0], point[1]


@nb.njit(**OPTIONS)
def _log_density(ones: Floats, zeros: Floats, point: Floats, is_gamma: bool) -> float:
    a, b = math.exp(point[0]), math.exp(point[1])
    # The last two: the change to logarithms.
    return log_evidence(ones, zeros, a, b, is_gamma) - a - b + point[0] + point[1]


def build_gibbs(data: Any, values: Values) -> SampleMean:
    """Return Gibbs sampling on data, with the values of its parameters."""
    return SampleMean(GibbsIrm(**read_settings(data, values)), values["burn_in"])


#: Sweeps that are not kept, and samples that are, at most: each sample more makes the predictions better.
BURN_IN, KEPT = 60, 140
#: Work of a chain at most (`ChainPlan`).
_WORK = 5e8
#: A chain over many objects is over when in so many sweeps in turn no more than this share of them has changed
#: company: further samples would be much the same. In data without plain groups a tenth of them moves in every sweep.
SETTLED, _AT_REST = 10, 5e-3
#: With fewer objects the chain takes all its samples. Ten sweeps without a move are then a matter of chance, and
#: samples that are kept because of their values are no fair draw from the posterior.
MANY_OBJECTS = 1_000
#: Sweeps after which merges are tried: if clusters are large, single objects take a hundred sweeps to empty one.
_MERGE_AFTER = 10
#: The burn-in ends early after so many sweeps, merges tried, in which no sample had a higher bound than all before:
#: the chain has arrived. The spectral start of a small network is near enough for that.
_LEVEL = 10
#: Samples in a posterior: the cluster of each object, shape (S, N); the blocks' link probabilities, (S, K, L); and
#: a and b of their Beta prior, (S, 2), and the lower bound, (S,), which posteriors of earlier versions do not have.
LABELS, STRENGTHS, PRIORS, BOUNDS = "sampled_{}", "sampled_strengths", "sampled_priors", "sampled_bounds"
#: Samples of counts also have b + N of each block, (S, K, L): its rate is Gamma distributed, with that as its rate.
RATES = "sampled_rates"
#: The number of the chain of each sample, (S,), if there are several chains.
CHAINS = "sampled_chains"


class ChainStart(NamedTuple):
    """The start that a chain leaves for the run after it."""

    #: The best sample by the lower bound: responsibilities of each domain, one-hot, largest cluster first.
    q: dict[str, Floats]
    hyper: Hyper  #: hyper-parameters of that sample: with others the run leaves its clusters
    samples: dict[str, Array]  #: the kept samples, by `LABELS`, `STRENGTHS`, `PRIORS` and `BOUNDS`
    others: tuple[tuple[dict[str, Floats], Hyper], ...] = ()  #: the same of each further chain's best sample


class ChainPlan(NamedTuple):
    """How many chains give a start, and how long they are."""

    samples: int  #: samples that a chain keeps at most
    work: (
        float  #: of a chain at most, a third of it for the burn-in: objects times blocks, summed over sweeps
    )
    chains: int = 1  #: at most
    total: float = 0.0  #: no further chain begins after so much work
    breadth: int = 1  #: chains begin with so many times the clusters of a run


class _Chain(NamedTuple):
    """A chain's kept samples and their bounds, its best sample and that one's bound, and its work."""

    kept: list[tuple[GibbsState, float]]
    best: GibbsState
    highest: float
    work: float


def run_chain(sampler: GibbsIrm, rng: np.random.Generator, poll: Poll) -> ChainStart:
    """Draw the samples of one chain or several; the best sample of all is the start."""
    plan, start = sampler.plan, sampler.start
    if plan.breadth > 1:
        widths = plan.breadth * start.k_rows, plan.breadth * start.k_cols
        sampler = replace(sampler, start=replace(start, k_rows=widths[0], k_cols=widths[1]))
    chains = [_draw_chain(sampler, sampler.init(rng, poll), plan, rng, poll)]
    while len(chains) < plan.chains and sum(chain.work for chain in chains) < plan.total:
        fresh = rng.spawn(1)[0]
        chains.append(_draw_chain(sampler, sampler.init(fresh, poll), plan, fresh, poll))
    chains_best = [chain.best for chain in sorted(chains, key=lambda chain: -chain.highest)]
    samples = pack_samples([sample for chain in chains for sample in chain.kept])
    if len(chains) > 1:
        samples[CHAINS] = np.repeat(np.arange(len(chains)), [len(chain.kept) for chain in chains])
    (q, hyper), *others = [(dict(sampler.irm_state(best).q), best.hyper) for best in chains_best]
    return ChainStart(q, hyper, samples, tuple(others))


def _draw_chain(
    sampler: GibbsIrm, state: GibbsState, plan: ChainPlan, rng: np.random.Generator, poll: Poll
) -> _Chain:
    """Draw samples until there are enough or the work is done; a chain over many objects ends once it has settled."""
    best, highest, risen = state, -np.inf, _MERGE_AFTER
    work, sweeps, at_rest, burning = 0.0, 0, 0, True
    may_settle = sampler.has_many_objects
    kept: list[tuple[GibbsState, float]] = []
    while len(kept) < plan.samples and (work < plan.work or not kept) and at_rest < SETTLED:
        burning = burning and sweeps < min(BURN_IN, risen + _LEVEL) and work < plan.work / 3
        # The chain's own numbers stay the same, whether merges are tried or not.
        merged = try_merges(sampler, state, rng.spawn(1)[0], poll) if sweeps == _MERGE_AFTER else None
        if merged is None:
            state, info = sampler.sweep(state, rng, poll)
            at_rest = at_rest + 1 if may_settle and _is_at_rest(info) else 0
        else:
            state, at_rest = merged, int(may_settle)
        sweeps += 1
        work += sum(map(len, state.labels.values())) * state.ones.size
        if (height := measure_bound(state, sampler.layout)) > highest:
            best, highest, risen = state, height, max(sweeps, risen)
        if burning and not at_rest:
            kept.clear()
        else:
            kept.append((state, height))
    return _Chain(kept[-SETTLED:] if at_rest == SETTLED else kept, best, highest, work)


def measure_bound(state: GibbsState, layout: Layout) -> float:
    """Return the lower bound of a sample, clusters in order of size: `lower_bound`, of labels and far sooner."""
    hyper = state.hyper
    total = sum_evidence(state.ones, state.entries, hyper.a, hyper.b, layout.symmetric, hyper.is_gamma)
    for domain, labels in state.labels.items():
        sizes = -np.sort(-np.bincount(labels).astype(np.float64))
        total += stick_log_evidence(sizes, hyper.alpha[domain])
    return float(total)


def try_merges(
    sampler: GibbsIrm, state: GibbsState, rng: np.random.Generator, poll: Poll
) -> GibbsState | None:
    """Return the sample after merging clusters for the bound; None if the next sweep does not leave it at rest.

    Objects that move at once say that there are many clusterings as good, between which the chain finds its own way.
    """
    merged, n_merged = merge_clusters(sampler.irm_state(state), poll=poll)
    if not n_merged:
        return None
    labels = {domain: q.argmax(axis=1) for domain, q in merged.q.items()}
    state = replace(state, labels=labels, ones=merged.ones, entries=merged.entries)
    state, info = sampler.sweep(state, rng, poll)
    return state if _is_at_rest(info) else None


def _is_at_rest(info: SweepInfo) -> bool:
    """Return whether hardly any object has changed company, which counts twice in the change (L1)."""
    return (info.change or 0.0) / 2.0 <= _AT_REST


def pack_samples(samples: list[tuple[GibbsState, float]]) -> dict[str, Array]:
    """Return samples and their bounds as arrays of a posterior; blocks that a sample does not have are zero."""
    states = [state for state, _ in samples]
    shape = np.max([state.ones.shape for state in states], axis=0)
    strengths, rates = np.zeros((len(states), *shape), dtype=np.float32), np.ones((0, *shape), np.float32)
    if states[0].hyper.is_gamma:
        rates = np.ones_like(strengths)
    for at, state in enumerate(states):
        rows, columns = state.ones.shape
        strengths[at, :rows, :columns] = state.hyper.strengths(state.ones, state.entries)
        if len(rates):
            rates[at, :rows, :columns] = state.hyper.b + state.entries - state.ones
    kind = np.int16 if shape.max() <= np.iinfo(np.int16).max else np.int32
    labels = {
        LABELS.format(domain): np.stack(
            [state.labels[domain] for state in states], dtype=kind, casting="same_kind"
        )
        for domain in states[0].labels
    }
    priors = np.array([(state.hyper.a.item(), state.hyper.b.item()) for state in states])
    packed = {
        **labels,
        STRENGTHS: strengths,
        PRIORS: priors,
        BOUNDS: np.array([bound for _, bound in samples]),
    }
    return packed | ({RATES: rates} if len(rates) else {})


def keep_clusters(q: Floats, limit: int) -> Floats:
    """Return one-hot responsibilities of the first `limit` clusters; objects of others are spread evenly over them."""
    q = q[:, :limit]
    return np.where(q.any(axis=1, keepdims=True), q, 1.0 / q.shape[1])
