"""The inference methods of blocks of counts: those of the infinite relational model, with counts and exposures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from acvb_core.core.averaging import AveragedAlgorithm, SampleMean
from acvb_core.core.parallel import SharedWork
from acvb_core.core.protocols import Array, Poll, Posterior, SweepInfo, no_poll
from acvb_core.core.spec import Values
from acvb_core.data.relation import CountRelation, Relation
from acvb_core.models.irm import gibbs
from acvb_core.models.irm.cvb import CollapsedIrm, average_sweeps, read_variational_settings
from acvb_core.models.irm.gibbs import BlockPair, ChainPlan, GibbsIrm, GibbsState
from acvb_core.models.irm.gibbs_kernels import Labels
from acvb_core.models.irm.hyper import Hyper
from acvb_core.models.irm.kernels import Floats, sum_weights
from acvb_core.models.irm.moves import Moves
from acvb_core.models.irm.start import Start, read_settings
from acvb_core.models.irm.state import IrmState, lower_bound
from acvb_core.models.irm.vb import VariationalIrm
from acvb_core.models.poisson.activity import CountState, draw_activity
from acvb_core.models.poisson.counts import (
    Degree,
    are_whole,
    check_counts,
    count_links,
    forget_counts,
    log_base,
    loo_base,
    measure_dispersion,
)
from acvb_core.models.poisson.gibbs_kernels import count_labels, draw_side

#: Array of a posterior: 1 if the degrees are corrected for, else 0; the unit of the counts; and, if both corrections
#: were compared, the evidence without and with it, in nats an entry.
COUNTING = "counting"
#: Sweeps of the short runs that the choices are made by, and how many clusters they begin with at most.
_SWEEPS, CLUSTERS = 15, 20
#: For the unit, a block has so many links on average: with fewer, blocks follow the counts of single links.
_LINKS_A_BLOCK, _FEWEST_CLUSTERS = 16, 5
#: The unit is found from so many links at most.
MOST_LINKS = 500_000
#: Amounts are counted in this share of their mean at first, and in this share of that unit at least.
_FINE = 0.1
#: Whole numbers that vary by less than this multiple of their means are counts as they are.
_LEAST_DISPERSION = 1.25

#: Chains over many objects.
MANY = ChainPlan(50, 4e9, 4, 1e10, breadth=2)


def plan_chains(n_objects: int) -> ChainPlan:
    """Return how many chains give a start: several over many objects, as one does not mix.

    They begin with more clusters than a run, as a chain opens new clusters slowly.
    """
    return MANY if n_objects >= gibbs.MANY_OBJECTS else ChainPlan(gibbs.KEPT, 2e9)


class CountChoice(NamedTuple):
    """The choices that a run makes of its data: the unit of the counts, and whether degrees are corrected for."""

    degree: Degree
    unit: float = 1.0  #: the weight that counts as 1
    #: Evidence without and with the correction (nats an entry); NaN if they were not compared.
    without: float = float("nan")
    corrected: float = float("nan")

    def to_array(self) -> Array:
        """Return the choices as an array of a posterior."""
        evidence = [] if np.isnan(self.corrected) else [self.without, self.corrected]
        return np.array([float(self.degree == "corrected"), self.unit, *evidence])

    @classmethod
    def of_posterior(cls, posterior: Posterior) -> CountChoice:
        """Return the choices that a posterior carries."""
        corrected, *others = posterior[COUNTING].tolist()
        return cls("corrected" if corrected else "none", *others)

    def describe(self) -> str:
        """Return in words what was chosen, by whom, and the evidence for both."""
        text = f"{'' if self.degree == 'corrected' else 'not '}corrected for activity"
        if np.isnan(self.corrected):
            return f"{text}, as asked"
        mine, other, how = self.corrected, self.without, "without"
        if self.degree == "none":
            mine, other, how = other, mine, "with the correction"
        return f"{text}: evidence {mine:.4f} nats an entry against {other:.4f} {how}"


_UNCORRECTED = CountChoice("none")


def _add_choice(posterior: Posterior, choice: CountChoice) -> Posterior:
    return posterior.with_arrays({COUNTING: choice.to_array()}, axes={COUNTING: (None,)})


@dataclass(frozen=True)
class GibbsPoisson(GibbsIrm):
    """Collapsed Gibbs sampler of counts."""

    choice: CountChoice = _UNCORRECTED

    @property
    def plan(self) -> ChainPlan:
        """Return how many chains give a start, and how long they are."""
        return plan_chains(sum(self.relation.shape[: len(self.layout.domains)]))

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
        """Draw the cluster of every row object of a relation."""
        directed = self.layout.one_domain and not self.layout.symmetric
        prior = hyper.a.item(), hyper.b.item()
        return draw_side(relation, others, labels, counts, prior, alpha, rng, poll, directed=directed)  # type: ignore[arg-type]

    def sweep(
        self, state: GibbsState, rng: np.random.Generator, poll: Poll = no_poll
    ) -> tuple[GibbsState, SweepInfo]:
        """Draw every object's cluster, the hyper-parameters, and the activities if degrees are corrected for.

        Activities by the degrees fit the data by construction. Taken as known, they would make clusters seem more alike
        than the data say. Bounds and predictions of a sample are by the degrees, as those of the other methods.
        """
        known: CountRelation = self.relation  # type: ignore[assignment]
        if not np.ptp(known.row_activity) + np.ptp(known.column_activity):
            return super().sweep(state, rng, poll)
        drawn = known.with_activity(*state.activity) if isinstance(state, CountState) else known
        counts = count_labels(drawn, state.labels, self.layout)
        inner = GibbsState(state.labels, state.hyper, *counts)
        inner, info = GibbsIrm.sweep(replace(self, relation=drawn), inner, rng, poll)
        labels, hyper = inner.labels, inner.hyper
        rates = hyper.draw_strengths(inner.ones, inner.entries, rng)
        if self.layout.symmetric:
            rates = np.triu(rates) + np.triu(rates, 1).T
        activity = draw_activity(known, drawn, labels, rates, self.layout, rng)
        counts = count_labels(known, labels, self.layout)
        return CountState(labels, hyper, *counts, activity), info

    def posterior(self, state: GibbsState) -> Posterior:
        """Return the sample as one-hot responsibilities, with the choice of the degrees."""
        return _add_choice(super().posterior(state), self.choice)


@dataclass(frozen=True)
class CollapsedPoisson(CollapsedIrm):
    """CVB0 or CVB of counts."""

    choice: CountChoice = _UNCORRECTED
    sampler: ClassVar[type[GibbsIrm]] = GibbsPoisson
    #: Always put in order of size, small clusters change places after every sweep: the last one has all that is left of
    #: the stick, so it gains objects, becomes the larger one, and is no longer the last.
    keep_bound_at_rest = True

    @cached_property
    def loo_base(self) -> float:
        """The part of the pseudo leave-one-out that updates leave out, as it is free of the clusters."""
        return loo_base(self.relation)  # type: ignore[arg-type]

    def update(self, state: IrmState, rng: np.random.Generator, poll: Poll) -> tuple[IrmState, float | None]:
        """Return the state with new responsibilities, and the pseudo leave-one-out."""
        state, pseudo_loo = super().update(state, rng, poll)
        return state, None if pseudo_loo is None else pseudo_loo + self.loo_base

    def posterior(self, state: IrmState) -> Posterior:
        """Return the state as a posterior, with the choice of the degrees."""
        return _add_choice(super().posterior(state), self.choice)


@dataclass(frozen=True)
class VariationalPoisson(VariationalIrm):
    """Plain variational Bayes of counts."""

    choice: CountChoice = _UNCORRECTED
    sampler: ClassVar[type[GibbsIrm]] = GibbsPoisson

    def posterior(self, state: IrmState) -> Posterior:
        """Return the state as a posterior, with the choice of the degrees."""
        return _add_choice(super().posterior(state), self.choice)


#: Choices that are being made, and those that were made, by the data and the settings that they depend on.
_UNDER_WAY: SharedWork[CountChoice] = SharedWork()
_CHOSEN: WeakKeyDictionary[Relation, dict[str, CountChoice]] = WeakKeyDictionary()


def choose_counts(relation: Relation, values: Values, poll: Poll = no_poll) -> CountChoice:
    """Return the unit of the counts, and whether degrees are corrected for: as asked, or by short runs.

    The choice is kept with the data, so that it is made once for all runs (`MethodSpec.prepare`).
    """
    known = _CHOSEN.setdefault(relation, {})
    names = "degree", "unit", "k_rows", "k_cols", "alpha", "a", "b", "hyper"
    key = repr([values.get(name) for name in names])
    if key not in known:
        known[key] = _UNDER_WAY.get((id(relation), key), partial(_choose_counts, relation, values), poll)
    return known[key]


def _choose_counts(relation: Relation, values: Values, poll: Poll) -> CountChoice:
    """Return the choices; of the degrees the one with the higher evidence.

    The evidence is the lower bound, less 1 nat for each activity beyond the first of a domain: they are fitted to the
    data (Akaike's correction).
    """
    unit = values["unit"] or _find_unit(relation, values, poll)
    if values["degree"] != "auto":
        return CountChoice(values["degree"], unit)
    evidence = {}
    for degree in ("none", "corrected"):
        counted = count_links(relation, degree, unit)
        state = _run_briefly(counted, values, CLUSTERS, poll)
        bound = lower_bound(state) + log_base(counted)
        fitted = sum(len(q) - 1 for q in state.q.values()) * (2 if _has_two_degrees(relation) else 1)
        evidence[degree] = (bound - fitted * (degree == "corrected")) / max(relation.n_known, 1)
    best: Degree = "corrected" if evidence["corrected"] > evidence["none"] else "none"
    forget_counts(relation, best, unit)
    return CountChoice(best, unit, evidence["none"], evidence["corrected"])


def _find_unit(relation: Relation, values: Values, poll: Poll) -> float:
    """Return the unit in which the counts of alike pairs vary as Poisson counts do; 1 if weights vary no more.

    If counts varied more than the model knows, it would explain each by a cluster of its own.
    """
    if relation.weights is None or not relation.n_ones:
        return 1.0
    whole = are_whole(relation.weights)
    unit = 1.0 if whole else _FINE * float(relation.weights.mean())
    counted = count_links(relation, "corrected", unit)
    widest = int(np.clip(np.sqrt(relation.n_ones / _LINKS_A_BLOCK), _FEWEST_CLUSTERS, CLUSTERS))
    state = _run_briefly(counted, values, widest, poll)
    dispersion = measure_dispersion(*_expect_links(counted, state))
    if whole and dispersion < _LEAST_DISPERSION:
        return 1.0
    return unit * max(dispersion, _FINE)


def _expect_links(counted: CountRelation, state: IrmState) -> tuple[Floats, Floats, Floats]:
    """Return the counts of evenly chosen links, what all others let expect of them, and what all together do.

    The own count is taken out of the totals of both objects and of the block: they would follow each large count.
    """
    chosen = np.linspace(0, counted.n_ones - 1, min(counted.n_ones, MOST_LINKS)).astype(np.int64)
    counts, columns = counted.counts[chosen], counted.ones.indices[chosen]
    rows = np.searchsorted(counted.ones.indptr, chosen, side="right") - 1
    row_clusters, column_clusters = (state.q[domain].argmax(axis=1) for domain in state.layout.axes)
    block = row_clusters[rows], column_clusters[columns]
    explained = counted.row_activity[rows] * counted.column_activity[columns]
    explained *= state.hyper.strengths(state.ones, state.entries)[block]
    of_rows, of_columns = (sum_weights(each.ones, each.counts) for each in (counted, counted.transposed))
    expected = explained.copy()
    for total in (of_rows[rows], of_columns[columns], state.ones[block]):
        expected *= (np.maximum(total - counts, 0.0) + 1.0) / (total + 1.0)
    return counts, expected, explained


def _run_briefly(counted: CountRelation, values: Values, widest: int, poll: Poll) -> IrmState:
    """Return the state after a short run of CVB0 without moves, from at most so many clusters a side."""
    settings = read_settings(counted, values)
    start = settings["start"]
    widths = min(start.k_rows, widest), min(start.k_cols, widest)
    moves = Moves(merge=False, split=False)
    method = CollapsedPoisson(**settings | {"start": Start(*widths, "spectral")}, moves=moves)
    rng = np.random.default_rng(0)
    state = method.init(rng, poll)
    for _ in range(_SWEEPS):
        state, _ = method.sweep(state, rng, poll)
    return state


def _has_two_degrees(relation: Relation) -> bool:
    """Return whether the objects of one domain have a degree in each direction."""
    return relation.network is not None and relation.network.directed


def _prepare(data: Relation, values: Values) -> tuple[Relation, Values]:
    """Return the counts of a relation, and the settings that its choice of degrees adds."""
    choice = choose_counts(data, values)
    return count_links(data, choice.degree, choice.unit), {"choice": choice}


#: The settings of the shared methods that counts do not have, with the only value that they take.
_FIXED: Values = {"schedule": "domains"}


def _read_settings(data: Relation, values: Values) -> Values:
    """Return the fields of every variational method.

    After several chains that have drawn the activities no move is tried that lowers the bound at first. The bound
    takes activities as known, so clusters seem too much alike: such moves merge some that the samples tell apart.
    """
    counted, more = _prepare(data, values)
    settings = read_variational_settings(counted, values | _FIXED) | more
    plan = plan_chains(sum(data.shape[: len(settings["layout"].domains)]))
    if values["init"] == "gibbs" and plan.chains > 1 and settings["choice"].degree == "corrected":
        settings["moves"] = replace(settings["moves"], trials=False)
    return settings


def build_cvb0(data: Any, values: Values) -> CollapsedPoisson:
    """Return CVB0 on data, with the values of its parameters."""
    return CollapsedPoisson(**_read_settings(data, values))


def build_cvb(data: Any, values: Values) -> CollapsedPoisson:
    """Return second-order CVB on data, with the values of its parameters."""
    return replace(build_cvb0(data, values), order="paper")


def build_acvb0(data: Any, values: Values) -> AveragedAlgorithm:
    """Return ACVB0 on data, with the values of its parameters."""
    return average_sweeps(build_cvb0(data, values), values)


def build_acvb(data: Any, values: Values) -> AveragedAlgorithm:
    """Return ACVB on data, with the values of its parameters."""
    return average_sweeps(build_cvb(data, values), values)


def build_vb(data: Any, values: Values) -> VariationalPoisson:
    """Return VB on data, with the values of its parameters."""
    return VariationalPoisson(**_read_settings(data, values))


def build_gibbs(data: Any, values: Values) -> SampleMean:
    """Return Gibbs sampling on data, with the values of its parameters."""
    counted, more = _prepare(data, values)
    return SampleMean(GibbsPoisson(**read_settings(counted, values) | more), values["burn_in"])


def check_data(data: Any, values: Values) -> None:
    """Raise DataError for data with values below 0 (`MethodSpec.check`)."""
    check_counts(data)
