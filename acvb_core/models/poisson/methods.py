"""The inference methods of blocks of counts: those of the infinite relational model, with counts and exposures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from acvb_core.core.averaging import AveragedAlgorithm, SampleMean
from acvb_core.core.parallel import SharedWork
from acvb_core.core.protocols import Array, Poll, Posterior, no_poll
from acvb_core.core.spec import Values
from acvb_core.data.relation import Relation
from acvb_core.models.irm.cvb import CollapsedIrm, average_sweeps, read_variational_settings
from acvb_core.models.irm.gibbs import KEPT, BlockPair, ChainPlan, GibbsIrm, GibbsState
from acvb_core.models.irm.gibbs_kernels import Labels
from acvb_core.models.irm.hyper import Hyper
from acvb_core.models.irm.moves import Moves
from acvb_core.models.irm.start import Start, read_settings
from acvb_core.models.irm.state import IrmState, lower_bound
from acvb_core.models.irm.vb import VariationalIrm
from acvb_core.models.poisson.counts import Degree, check_counts, count_links, log_base, loo_base
from acvb_core.models.poisson.gibbs_kernels import draw_side

#: Array of a posterior: 1 if the degrees are corrected for, else 0; and, if both were compared, the evidence without
#: and with the correction, in nats an entry.
DEGREE = "degree"
#: Sweeps of the runs that compare the two, and how many clusters they begin with at most.
_SWEEPS, _CLUSTERS = 15, 20

#: Chains over few objects and over many.
FEW, MANY = ChainPlan(KEPT, 2e9), ChainPlan(50, 4e9, 4, 1e10, breadth=2)


class DegreeChoice(NamedTuple):
    """The choice to correct for degrees or not, and the evidence for either (nats an entry; NaN if not compared)."""

    degree: Degree
    without: float = float("nan")
    corrected: float = float("nan")

    def to_array(self) -> Array:
        """Return the choice as an array of a posterior."""
        evidence = [] if np.isnan(self.corrected) else [self.without, self.corrected]
        return np.array([float(self.degree == "corrected"), *evidence])

    @classmethod
    def of_posterior(cls, posterior: Posterior) -> DegreeChoice:
        """Return the choice that a posterior carries."""
        corrected, *evidence = posterior[DEGREE].tolist()
        return cls("corrected" if corrected else "none", *evidence)

    def describe(self) -> str:
        """Return in words what was chosen, by whom, and the evidence for both."""
        text = f"{'' if self.degree == 'corrected' else 'not '}corrected for activity"
        if np.isnan(self.corrected):
            return f"{text}, as asked"
        mine, other, how = self.corrected, self.without, "without"
        if self.degree == "none":
            mine, other, how = other, mine, "with the correction"
        return f"{text}: evidence {mine:.4f} nats an entry against {other:.4f} {how}"


_UNCORRECTED = DegreeChoice("none")


def _add_choice(posterior: Posterior, choice: DegreeChoice) -> Posterior:
    return posterior.with_arrays({DEGREE: choice.to_array()}, axes={DEGREE: (None,)})


@dataclass(frozen=True)
class GibbsPoisson(GibbsIrm):
    """Collapsed Gibbs sampler of counts."""

    choice: DegreeChoice = _UNCORRECTED

    @property
    def plan(self) -> ChainPlan:
        """Return how many chains give a start: several chains over many objects, as one does not mix.

        They begin with more clusters than a run, as a chain opens new clusters slowly.
        """
        return MANY if self.has_many_objects else FEW

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

    def posterior(self, state: GibbsState) -> Posterior:
        """Return the sample as one-hot responsibilities, with the choice of the degrees."""
        return _add_choice(super().posterior(state), self.choice)


@dataclass(frozen=True)
class CollapsedPoisson(CollapsedIrm):
    """CVB0 or CVB of counts."""

    choice: DegreeChoice = _UNCORRECTED
    sampler: ClassVar[type[GibbsIrm]] = GibbsPoisson

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

    choice: DegreeChoice = _UNCORRECTED
    sampler: ClassVar[type[GibbsIrm]] = GibbsPoisson

    def posterior(self, state: IrmState) -> Posterior:
        """Return the state as a posterior, with the choice of the degrees."""
        return _add_choice(super().posterior(state), self.choice)


#: Choices that are being made, and those that were made, by the data and the settings that they depend on.
_UNDER_WAY: SharedWork[DegreeChoice] = SharedWork()
_CHOSEN: WeakKeyDictionary[Relation, dict[str, DegreeChoice]] = WeakKeyDictionary()


def choose_degree(relation: Relation, values: Values, poll: Poll = no_poll) -> DegreeChoice:
    """Return whether the degrees of a relation are corrected for: as asked, or by the evidence of a short run of each.

    The choice is kept with the data, so that it is made once for all runs (`MethodSpec.prepare`).
    """
    if values["degree"] != "auto":
        return DegreeChoice(values["degree"])
    known = _CHOSEN.setdefault(relation, {})
    key = repr([values.get(name) for name in ("k_rows", "k_cols", "alpha", "a", "b", "hyper")])
    if key not in known:
        known[key] = _UNDER_WAY.get((id(relation), key), partial(_compare_degrees, relation, values), poll)
    return known[key]


def _compare_degrees(relation: Relation, values: Values, poll: Poll) -> DegreeChoice:
    """Return the choice with the higher evidence.

    The evidence is the lower bound, less 1 nat for each activity beyond the first of a domain: they are fitted to the
    data (Akaike's correction).
    """
    evidence = {}
    for degree in ("none", "corrected"):
        counted = count_links(relation, degree)
        settings = read_settings(counted, values)
        start = settings["start"]
        widths = min(start.k_rows, _CLUSTERS), min(start.k_cols, _CLUSTERS)
        method = CollapsedPoisson(
            **settings | {"start": Start(*widths, "spectral")}, moves=Moves(merge=False, split=False)
        )
        rng = np.random.default_rng(0)
        state = method.init(rng, poll)
        for _ in range(_SWEEPS):
            state, _ = method.sweep(state, rng, poll)
        bound = lower_bound(state) + log_base(counted)
        fitted = sum(len(q) - 1 for q in state.q.values()) * (2 if _has_two_degrees(relation) else 1)
        evidence[degree] = (bound - fitted * (degree == "corrected")) / max(relation.n_known, 1)
    best: Degree = "corrected" if evidence["corrected"] > evidence["none"] else "none"
    return DegreeChoice(best, evidence["none"], evidence["corrected"])


def _has_two_degrees(relation: Relation) -> bool:
    """Return whether the objects of one domain have a degree in each direction."""
    return relation.network is not None and relation.network.directed


def _prepare(data: Relation, values: Values) -> tuple[Relation, Values]:
    """Return the counts of a relation, and the settings that its choice of degrees adds."""
    choice = choose_degree(data, values)
    return count_links(data, choice.degree), {"choice": choice}


#: The settings of the shared methods that counts do not have, with the only value that they take.
_FIXED: Values = {"schedule": "domains"}


def build_cvb0(data: Any, values: Values) -> CollapsedPoisson:
    """Return CVB0 on data, with the values of its parameters."""
    counted, more = _prepare(data, values)
    return CollapsedPoisson(**read_variational_settings(counted, values | _FIXED) | more)


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
    counted, more = _prepare(data, values)
    return VariationalPoisson(**read_variational_settings(counted, values | _FIXED) | more)


def build_gibbs(data: Any, values: Values) -> SampleMean:
    """Return Gibbs sampling on data, with the values of its parameters."""
    counted, more = _prepare(data, values)
    return SampleMean(GibbsPoisson(**read_settings(counted, values) | more), values["burn_in"])


def check_data(data: Any, values: Values) -> None:
    """Raise DataError for data with values below 0 (`MethodSpec.check`)."""
    check_counts(data)
