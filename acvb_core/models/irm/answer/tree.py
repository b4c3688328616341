"""Coarser groupings of the clusters of a run: a tree of merges, and the result with the clusters of one of its levels.

Each step merges the two clusters whose merge lowers the bound least, then moves objects to better clusters. The bound
is that of the run's own model, or of counts corrected for activity: without the correction, the last merges of a
network with hubs leave a core and a periphery.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.errors import ParameterError
from acvb_core.core.protocols import Array, Poll, Posterior, no_poll, predict_averaged
from acvb_core.data.relation import CountRelation, Relation
from acvb_core.data.report import plural
from acvb_core.engine.machine import one_thread
from acvb_core.engine.result import Result
from acvb_core.models.irm.gibbs import LABELS, one_hot
from acvb_core.models.irm.hyper import Hyper, update_hyper
from acvb_core.models.irm.kernels import Floats, Layout, cluster_sums
from acvb_core.models.irm.moves import weigh_merges
from acvb_core.models.irm.network import NetworkPass
from acvb_core.models.irm.scores import GROUPS, count_samples
from acvb_core.models.irm.state import IrmState, block_counts, lower_bound, observed_sums
from acvb_core.models.irm.sweep import CoordinateSweep
from acvb_core.registry import model_row

Labels = NDArray[np.int64]
#: Array of a posterior with coarser clusters: 1 if their tree is corrected for activity, else 0.
JOINED = "joined"
#: Sweeps after a merge at most. If more than `_MANY` clusters are left, one sweep follows so many merges.
_SWEEPS, _MANY, _MERGES = 5, 16, 4
#: Sweeps that adapt the run's clusters to the model with the correction, and the fewest clusters that they may leave.
_SETTLE, _LEAST_LEFT = 10, 4
#: Steps of the prior of counts, which is fitted to the run's clusters.
_PRIOR_STEPS = 30
#: Suggested levels, at least if there are so many, and at most.
_SUGGESTED = (2, 5)
#: A step that is suggested costs so many times the one before it, each with this share of the height of the tree added.
_STEEP, _LEVEL_STEP = 1.5, 0.01
#: Sweeps are kept if the bound rises by more than this (nats).
_LEAST_GAIN = 1e-9


@dataclass(frozen=True, eq=False)
class Level:
    """One grouping of the objects of a domain."""

    labels: Labels  #: shape (N,); cluster of each object, from 0, in the order of the tree; the run's own have theirs
    bound: float  #: of these clusters (nats), up to a constant of the tree
    #: Shape (K,), one for each cluster of the finer level before: the cluster here that it belongs to. Of the run's own
    #: level: the numbers from 0.
    parents: Labels
    moved: int = 0  #: objects that are not where the cluster of the finer level belongs that they were in

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.parents.max()) + 1


class Correction(NamedTuple):
    """The evidence of counts without and with the correction for activity (nats a known entry)."""

    without: float
    corrected: float


@dataclass(frozen=True, eq=False)
class ClusterTree:
    """The groupings of one domain's objects, from the run's own clusters to one."""

    levels: tuple[
        Level, ...
    ]  #: the run's own clusters first; each level has fewer clusters than the one before
    is_corrected: bool  #: the tree is that of counts corrected for activity
    correction: Correction | None = None  #: why; None if it was asked for, or the run itself is corrected

    @property
    def numbers(self) -> list[int]:
        """The numbers of clusters of the levels, most first."""
        return [level.n_clusters for level in self.levels]

    @cached_property
    def losses(self) -> list[float]:
        """How far the bound of each level is below that of the best one (nats)."""
        best = max(level.bound for level in self.levels)
        return [best - level.bound for level in self.levels]

    @cached_property
    def heights(self) -> list[float]:
        """The losses of the levels, never falling: a level that is finer than the best one has lost nothing."""
        lost = np.array(self.losses)
        lost[: int(lost.argmin())] = 0.0
        heights: list[float] = np.maximum.accumulate(lost).tolist()
        return heights

    def find(self, n_clusters: int) -> int:
        """Return the position of the finest level with at most so many clusters.

        Raises ParameterError: there is no such level.
        """
        if n_clusters < 1:
            raise ParameterError(f"There is no grouping into {n_clusters} clusters, only into 1 at least.")
        return next(at for at, number in enumerate(self.numbers) if number <= n_clusters)

    def suggest(self) -> list[int]:
        """Return up to five numbers of clusters from which the next merge costs much more than the last one did.

        They are more than one and fewer than the run's own, ascending: two at least, if there are so many.
        """
        losses, best = np.array(self.losses), int(np.argmin(self.losses))
        steps = np.diff(losses)
        # Steps that are small compared with the whole tree do not differ.
        steps = np.maximum(steps, 0.0) + _LEVEL_STEP * (losses[-1] - losses[best])
        # Steps between levels with fewer sweeps do not compare.
        between = [at for at in range(max(best, 1), len(steps)) if self.numbers[at] < _MANY]
        rises = {self.numbers[at]: steps[at] / max(steps[at - 1], 1e-300) for at in between}
        ranked = sorted(rises, key=lambda number: (-rises[number], number))
        fewest, most = _SUGGESTED
        chosen = [number for number in ranked[:most] if rises[number] >= _STEEP]
        others = [*ranked, *reversed(self.numbers[1:-1])]
        for number in others:
            if len(chosen) < fewest and number not in chosen:
                chosen.append(number)
        return sorted(chosen)

    def follow(self, at: int) -> Labels:
        """Return the cluster at a level that each of the run's own clusters belongs to, shape (K,)."""
        cluster = np.arange(self.numbers[0])
        for level in self.levels[1 : at + 1]:
            cluster = level.parents[cluster]
        return cluster

    def parts(self, at: int) -> tuple[tuple[int, ...], ...]:
        """Return for each cluster of a level the run's own clusters (from 1) that belong to it."""
        parts: list[list[int]] = [[] for _ in range(self.levels[at].n_clusters)]
        for number, cluster in enumerate(self.follow(at).tolist(), start=1):
            parts[cluster].append(number)
        return tuple(map(tuple, parts))

    def describe(self, at: int) -> str:
        """Return in words how many clusters a level has, what they cost, and how many objects have moved."""
        level, lost = self.levels[at], self.losses[at]
        best = self.numbers[int(np.argmin(self.losses))]
        text = f"{plural(level.n_clusters, 'cluster')} in place of the run's {self.numbers[0]:,}. "
        text += (
            "No level has a higher bound."
            if level.n_clusters == best
            else f"Their bound is {write_nats(lost)} nats below that of the best level, which has {best:,}."
        )
        moved = int(np.count_nonzero(self.follow(at)[self.levels[0].labels] != level.labels))
        if moved:
            text += f" {moved:,} of {plural(len(level.labels), 'object')} are not with most of their cluster."
        whose = "is corrected for activity" if self.is_corrected else "is that of the run's own model"
        return f"{text} The tree {whose}."

    def describe_model(self) -> str:
        """Return in words by which bound clusters are merged, and why."""
        if self.correction is None:
            whose = "counts that are corrected for activity" if self.is_corrected else "the run's own model"
            return f"Clusters are merged by the bound of {whose}."
        mine, other = self.correction.corrected, self.correction.without
        evidence = (
            f"The evidence of counts is {mine:.4f} nats an entry with the correction, {other:.4f} without."
        )
        if self.is_corrected:
            return (
                "Clusters are merged by the bound of counts that are corrected for activity, as hubs would otherwise "
                f"end up in one cluster. {evidence}"
            )
        return (
            f"Clusters are merged by the bound of the run's own model, not corrected for activity. {evidence}"
        )


def write_nats(nats: float) -> str:
    """Return a number of nats with three digits, or as a whole number."""
    return f"{nats:,.0f}" if nats >= 100.0 else f"{nats:.3g}"


#: Seconds of an idle processor for a block and an object, and for a link and a cluster, in one sweep.
_SECONDS, _LINK_SECONDS = 6e-9, 6e-10


def estimate_seconds(result: Result) -> float:
    """Return about how long the trees take to grow."""
    data, total = result.prepared.data, 0.0
    widths = result.posterior.n_clusters()
    for domain, k in widths.items():
        across = k if len(widths) == 1 else next(n for other, n in widths.items() if other != domain)
        few = min(k, _MANY)
        clusters = _SWEEPS * few**2 / 2.0 + (k**2 - few**2) / (2.0 * _MERGES) + _SETTLE * k
        total += clusters * (data.shape[domain == "cols"] * across * _SECONDS + data.n_ones * _LINK_SECONDS)
    return 2.0 * total


def grow_trees(result: Result, corrected: bool | None = None, poll: Poll = no_poll) -> dict[str, ClusterTree]:
    """Return the tree of the clusters of each domain; of two domains, the other one's clusters stay as they are.

    `corrected`: by the bound of counts that are corrected for activity, or by that of the run's own model. Unless
      given, the first if the run is corrected itself, or if counts have more evidence with the correction than without.
      A run that is corrected has no other tree.
    """
    model: Any = result.prepared.model
    posterior = result.posterior
    labels = {domain: posterior.labels(domain) for domain in model.domains}
    base = _Base(model.layout, labels, posterior.n_clusters())
    seen, hyper = model.observations(posterior), _single_prior(model.state(posterior).hyper)
    if isinstance(seen, CountRelation) and _differ_in_activity(seen):
        return {domain: ClusterTree(levels, True) for domain, levels in base.grow(seen, hyper, poll).items()}
    counted = {degree: _count(result, degree) for degree in ("none", "corrected")}
    correction = None
    if corrected is not False:
        relation = counted["corrected"]
        grown = base.grow(relation, base.fit_prior(relation, hyper), poll, settle=True)
        if corrected is None:
            correction = base.compare(counted, hyper, grown)
            corrected = correction.corrected > correction.without
    if not corrected:
        grown = base.grow(seen, hyper, poll)
    return {domain: ClusterTree(levels, corrected, correction) for domain, levels in grown.items()}


def _single_prior(hyper: Hyper) -> Hyper:
    """Return hyper-parameters with one prior for all blocks."""
    a, b = (np.full((1, 1), np.median(prior)) for prior in (hyper.a, hyper.b))
    return replace(hyper, a=a, b=b)


def _differ_in_activity(counted: CountRelation) -> bool:
    return any(np.ptp(activity) > 0.0 for activity in (counted.row_activity, counted.column_activity))


def _count(result: Result, degree: str) -> CountRelation:
    """Return the data of a run as counts: those of the run, or of a model of links one for each link."""
    relation, unit = result.prepared.train, 1.0
    seen = result.prepared.model.observations(result.posterior)  # type: ignore[attr-defined]
    if isinstance(seen, CountRelation):
        unit = float(result.posterior["counting"][1])
    else:
        relation = replace(relation, weights=None, negative=0)
    counted: CountRelation = model_row("poisson").part("counts").count_links(relation, degree, unit)
    return counted


class _Base(NamedTuple):
    """The clusters of a run, from which trees grow."""

    layout: Layout
    labels: Mapping[str, Labels]  #: shape (N,) each; by domain, from 0
    widths: Mapping[str, int]  #: numbers of clusters by domain, those without objects included

    def grow(
        self, relation: Relation, hyper: Hyper, poll: Poll, *, settle: bool = False
    ) -> dict[str, tuple[Level, ...]]:
        """Return the levels of each domain; `settle`: move objects before the first merge."""
        grown = {}
        with one_thread():
            for domain, own in self.labels.items():
                side = _Side(relation, self.layout, hyper, self.labels, domain)
                n_own = self.widths[domain]
                found = [(own, side.measure(own)), *side.merge(own, n_own, settle, poll)]
                grown[domain] = _link_levels(found, n_own)
        return grown

    def state(self, relation: Relation, hyper: Hyper) -> IrmState:
        """Return the clusters as a state."""
        q = {domain: one_hot(_sort_by_size(own)) for domain, own in self.labels.items()}
        return IrmState(q, *block_counts(relation, q, self.layout), hyper, self.layout)

    def fit_prior(self, relation: CountRelation, hyper: Hyper) -> Hyper:
        """Return the prior of counts that goes with these clusters."""
        hyper = Hyper.single_prior(1.0, 1.0, 1.0, hyper.alpha, is_gamma=True)
        state = self.state(relation, hyper)
        distinct = self.layout.distinct(len(state.ones))
        for _ in range(_PRIOR_STEPS):
            hyper = update_hyper(hyper, "tied", state.ones, state.entries, state.masses, distinct)
        return hyper

    def compare(
        self,
        counted: Mapping[str, CountRelation],
        hyper: Hyper,
        grown: Mapping[str, tuple[Level, ...]],
    ) -> Correction:
        """Return the evidence of the run's clusters without the correction, and of the best level with it.

        It is the bound, less 1 nat for each activity beyond the first of a domain, as these are fitted to the data
        (Akaike's correction).
        """
        log_base = model_row("poisson").part("counts").log_base

        def measure(base: _Base, relation: CountRelation) -> float:
            state = base.state(relation, base.fit_prior(relation, hyper))
            return float(lower_bound(state) + log_base(relation))

        best = {
            domain: self._replace(
                labels={**self.labels, domain: max(levels, key=lambda one: one.bound).labels}
            )
            for domain, levels in grown.items()
        }
        relation = counted["corrected"]
        network = relation.network
        directions = 2 if self.layout.one_domain and (network is None or network.directed) else 1
        fitted = sum(len(own) - 1 for own in self.labels.values()) * directions
        corrected = max(measure(base, relation) for base in best.values()) - fitted
        n_known = max(relation.n_known, 1)
        return Correction(measure(self, counted["none"]) / n_known, corrected / n_known)


class _Side:
    """One domain of a relation, with clusters that change; those of the other domain stay as they are."""

    def __init__(
        self, relation: Relation, layout: Layout, hyper: Hyper, labels: Mapping[str, Labels], domain: str
    ) -> None:
        self.relation, self.layout, self.hyper, self.domain = relation, layout, hyper, domain
        self.turned = domain != layout.axes[0]
        if not layout.one_domain:
            self.other = layout.axes[0 if self.turned else 1]
            self.across = one_hot(labels[self.other])
            self.sums = observed_sums(relation.transposed if self.turned else relation, self.across)

    def state(self, labels: Labels) -> IrmState:
        """Return the state with these clusters; they are numbered by size, without gaps."""
        q = {self.domain: one_hot(labels)}
        if self.layout.one_domain:
            return IrmState(q, *block_counts(self.relation, q, self.layout), self.hyper, self.layout)
        ones, zeros = (cluster_sums(q[self.domain], sums) for sums in self.sums)
        ones, entries = (
            np.ascontiguousarray(each.T if self.turned else each) for each in (ones, ones + zeros)
        )
        return IrmState({**q, self.other: self.across}, ones, entries, self.hyper, self.layout)

    def measure(self, labels: Labels) -> float:
        """Return the bound of some clusters (nats), up to a constant."""
        return lower_bound(self.state(_sort_by_size(labels)))

    def merge(self, own: Labels, n_own: int, settle: bool, poll: Poll) -> list[tuple[Labels, float]]:
        """Return ever coarser clusters with their bounds, from fewer than `n_own` to one.

        `settle`: move objects before the first merge.
        """
        labels, levels = _sort_by_size(own), []
        n_left = int(labels.max()) + 1
        bound = self.measure(labels)
        if settle:
            settled, bound = self._sweep(labels, _SETTLE, 1, poll)
            if settled.max() + 1 < _LEAST_LEFT:
                settled, bound = self._sweep(labels, _SETTLE, n_left, poll)
            labels, n_left = settled, int(settled.max()) + 1
        if n_left < n_own:
            levels.append((labels, bound))
        while labels.max() > 0:
            gains = weigh_merges(self.state(labels), self.domain, True, poll)
            one, other = divmod(int(gains.argmax()), len(gains))
            labels = _sort_by_size(np.where(labels == other, one, labels))
            n_left = int(labels.max()) + 1
            n_sweeps = _SWEEPS if n_left <= _MANY else int(n_left % _MERGES == 0)
            labels, bound = self._sweep(labels, n_sweeps, n_left, poll)
            levels.append((labels, bound))
        return levels

    def _sweep(self, labels: Labels, n_sweeps: int, fewest: int, poll: Poll) -> tuple[Labels, float]:
        """Return the clusters after sweeps that raise the bound and leave at least so many of them, and the bound."""
        state = self.state(labels)
        bound = lower_bound(state)
        for _ in range(n_sweeps):
            found = _sort_by_size(self._update(state, poll).argmax(axis=1))
            state = self.state(found)
            risen = lower_bound(state)
            if found.max() + 1 < fewest or risen <= bound + _LEAST_GAIN:
                break
            labels, bound = found, risen
        return labels, bound

    def _update(self, state: IrmState, poll: Poll) -> Floats:
        """Return responsibilities after a sweep of CVB0 over all objects."""
        if self.layout.one_domain:
            whole = NetworkPass(self.relation, state)
            whole.run("zeroth", np.arange(len(whole.q)), poll)
            return whole.q
        q, shape = state.q[self.domain], state.ones.shape
        a, b = (np.ascontiguousarray(each.T if self.turned else each) for each in self.hyper.blocks(shape))
        alpha = self.hyper.alpha[self.domain]
        sweep = CoordinateSweep.of_sums(q, *self.sums, a, b, alpha, self.hyper.is_gamma)
        sweep.run("zeroth", np.arange(len(q)), poll)
        return sweep.own


def _sort_by_size(labels: NDArray[np.int64]) -> Labels:
    """Return the clusters numbered from 0 without gaps, the largest first."""
    _, labels = np.unique(labels, return_inverse=True)
    rank = np.empty(int(labels.max()) + 1, dtype=np.int64)
    rank[np.argsort(-np.bincount(labels), kind="stable")] = np.arange(len(rank))
    return rank[labels]


def _link_levels(found: Sequence[tuple[Labels, float]], n_own: int) -> tuple[Level, ...]:
    """Return levels from clusters and their bounds, those of the run, which has `n_own`, first.

    Each cluster belongs to that of the next level with most of its objects; every cluster has one that belongs to it.
    The clusters of a level are in the order of those that they belong to, and there by size.
    """
    from scipy.optimize import linear_sum_assignment  # slow to import

    labels = [each for each, _ in found]
    widths = [n_own, *(int(each.max()) + 1 for each in labels[1:])]
    belongs = [np.arange(n_own)]
    for (finer, coarser), (k, n) in zip(pairwise(labels), pairwise(widths), strict=True):
        overlap = np.bincount(finer * n + coarser, minlength=k * n).reshape(k, n)
        parents = overlap.argmax(axis=1)
        chosen, taken = linear_sum_assignment(-overlap)
        parents[chosen] = taken
        belongs.append(parents)
    ranks = [np.arange(width) for width in widths]
    for at in range(len(labels) - 2, 0, -1):
        sizes = np.bincount(labels[at], minlength=widths[at])
        ranks[at][np.lexsort((-sizes, ranks[at + 1][belongs[at + 1]]))] = np.arange(widths[at])
    levels = [Level(labels[0], found[0][1], belongs[0])]
    for at, (clusters, bound) in enumerate(found[1:], start=1):
        parents = np.empty(widths[at - 1], dtype=np.int64)
        parents[ranks[at - 1]] = ranks[at][belongs[at]]
        renumbered = ranks[at][clusters]
        moved = int(np.count_nonzero(parents[levels[-1].labels] != renumbered))
        levels.append(Level(renumbered, bound, parents, moved))
    return tuple(levels)


def coarsen(result: Result, numbers: Mapping[str, int], corrected: bool | None = None) -> Result:
    """Return the result with coarser clusters, from trees that are grown now (`grow_trees`, `take_levels`)."""
    return take_levels(result, grow_trees(result, corrected), numbers)


def take_levels(result: Result, trees: Mapping[str, ClusterTree], numbers: Mapping[str, int]) -> Result:
    """Return the result with coarser clusters of some domains: those of the finest level with at most so many.

    Responsibilities of clusters that belong to one are added up. An object that the level has moved is in its cluster
    for certain. Blocks, names, tables, the bound and held-out scores are those of the new clusters; the user's names
    are left out. The samples stay, and so do their predictions. The interval of a block is that of the mean over its
    pairs in the samples. Objects of a sample keep company if their clusters there belong to one cluster here.

    `numbers`: of clusters, by domain; those of the run, or more, leave a domain as it is.
    Raises ParameterError: there is no such domain, or the result has coarser clusters already.
    """
    if unknown := set(numbers) - set(trees):
        raise ParameterError(
            f"There are no clusters of {', '.join(sorted(unknown))}, only of {', '.join(trees)}."
        )
    if result.arranged:
        raise ParameterError("The clusters are joined already. Join those of the run itself.")
    at = {domain: trees[domain].find(number) for domain, number in numbers.items()}
    at = {domain: level for domain, level in at.items() if level > 0}
    if not at:
        return result
    prepared, posterior = result.prepared, result.posterior
    model: Any = prepared.model
    changed: dict[str, Array] = {}
    axes: dict[str, tuple[str | None, ...]] = {}
    parts = {domain: trees[domain].parts(level) for domain, level in at.items()}
    for domain, level in at.items():
        labels, belongs = trees[domain].levels[level].labels, trees[domain].follow(level)
        changed[domain] = _add_up(posterior[domain], belongs, labels)
        if count_samples(posterior):
            changed[GROUPS.format(domain)] = _group_samples(posterior[LABELS.format(domain)], labels)
            axes[GROUPS.format(domain)] = (None, None)
    q = {domain: changed.get(domain, posterior[domain]) for domain in model.domains}
    counts = block_counts(model.observations(posterior), q, model.layout)
    changed |= dict(zip(("ones", "entries"), counts, strict=True))
    axes |= dict.fromkeys(("ones", "entries"), model.layout.axes)
    per_block = tuple(name for name in ("a", "b") if name in posterior.arrays)
    changed[JOINED] = np.array([float(any(trees[domain].is_corrected for domain in at))])
    axes[JOINED] = (None,)
    coarse = posterior.with_arrays(changed, drop=per_block, axes=axes)
    last = replace(
        result.snapshot, posterior=coarse, effective_k=coarse.n_clusters(), heldout=_score(result, coarse),
        lower_bound=model.lower_bound(coarse), pseudo_loo=None, extras={}, state=None, memory=None,
    )  # fmt: skip
    return replace(result.with_state(snapshot=last), given_names={}, arranged=parts)


def _add_up(responsibilities: Floats, belongs: Labels, labels: Labels) -> Floats:
    """Return the responsibilities of coarser clusters: their sums, or certain ones if these are against the labels."""
    sums = responsibilities @ one_hot(belongs)
    other = sums.argmax(axis=1) != labels
    sums[other] = one_hot(labels)[other]
    return sums


def _group_samples(samples: Array, labels: Labels) -> Array:
    """Return for each object of each sample the coarser cluster that has most of the objects of its cluster."""
    width, grouped = int(labels.max()) + 1, np.empty_like(samples)
    for sampled, out in zip(samples.astype(np.int64), grouped, strict=True):
        shared = np.bincount(sampled * width + labels, minlength=(int(sampled.max()) + 1) * width)
        out[:] = shared.reshape(-1, width).argmax(axis=1)[sampled]
    return grouped


def _score(result: Result, posterior: Posterior) -> Any:
    """Return the held-out scores of a posterior; None without held-out entries."""
    model, heldout = result.prepared.model, result.prepared.heldout
    if heldout is None:
        return None
    score: Any = model.score(model.predict(posterior, heldout), heldout)
    averaged = predict_averaged(model, posterior, heldout)
    return score if averaged is None else score.with_averaged(model.score(averaged, heldout))
