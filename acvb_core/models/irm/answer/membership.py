"""Why an object is in its cluster: the evidence for it over other clusters, split by whom the object is linked to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.errors import ParameterError
from acvb_core.core.protocols import Posterior
from acvb_core.data.relation import CountRelation, Relation
from acvb_core.engine.result import Result
from acvb_core.models.irm.kernels import Floats, log_prior
from acvb_core.models.irm.scores import count_samples, has_directions, sampled_company, sides
from acvb_core.models.irm.state import IrmState

if TYPE_CHECKING:
    import pandas as pd


#: Log odds from which a reason is told, and odds beyond which they are not written.
_TOLD, _LARGEST = 0.5, 1e6


class Entries(NamedTuple):
    """The entries of one object in one direction, by cluster of the other object, each of shape (L,)."""

    ones: Floats  #: links, or of counts their sum
    zeros: Floats  #: pairs known to be unlinked, or of counts the exposure


class Evidence(NamedTuple):
    """How well one object fits into each cluster of its domain, all other objects where they are.

    A link of the object to itself is in `terms` alone.
    """

    prior: Floats  #: shape (K,); log probability of each cluster by the sizes of the clusters
    #: Shape (K, L); log probability of the object's entries with the objects of each cluster of the other side, if the
    #: object is in each cluster of its own.
    terms: Floats
    entries: tuple[Entries, ...]  #: one direction, or of a directed network links out and links in
    expected: Floats  #: shape (directions, K, L); links (or counts) that a member of each cluster would have

    @property
    def totals(self) -> Floats:
        """Log probability of each cluster, up to a constant, shape (K,)."""
        return self.prior + self.terms.sum(axis=1)


def weigh_clusters(relation: Relation, state: IrmState, domain: str, at: int) -> Evidence:
    """Return how well an object fits into each cluster.

    With hard responsibilities, the difference of two `totals` is the log probability of data and clusters that moving
    the object from one cluster to the other gains.

    `relation`: the data as the method of the run saw them. `at`: position of the object in its domain.
    """
    layout, hyper = state.layout, state.hyper
    a, b = hyper.blocks(state.ones.shape)
    ones, zeros = state.ones.copy(), state.entries - state.ones
    if domain != layout.axes[0]:
        relation, ones, zeros, a, b = relation.transposed, ones.T, zeros.T, a.T, b.T
    own, other = state.q[domain], state.q[layout.axes[1] if domain == layout.axes[0] else layout.axes[0]]
    entries = [_sum_entries(relation, at, other, layout.one_domain)]
    itself = (0.0, 0.0)
    if layout.one_domain:
        itself = tuple(relation.self_links[at])
        if not layout.symmetric:
            entries.append(_sum_entries(relation.transposed, at, other, True))
    for counts, kind in ((ones, 0), (zeros, 1)):
        _take_out(counts, own[at], [each[kind] for each in entries], itself[kind], layout.symmetric)
    x, y = a + np.maximum(ones, 0.0), b + np.maximum(zeros, 0.0)
    terms = _gain(x, y, entries[0], hyper.is_gamma)
    rates = x / y if hyper.is_gamma else x / (x + y)
    expected = [_expect(rates, entries[0], hyper.is_gamma)]
    if layout.one_domain:
        into = entries[1] if len(entries) > 1 else Entries(*np.zeros((2, len(x))))
        if len(entries) > 1:
            terms = terms + _gain(x.T, y.T, into, hyper.is_gamma)
            expected.append(_expect(rates.T, into, hyper.is_gamma))
        # Both directions, and the link to itself, are in one block of its own cluster.
        diagonal = np.diag_indices(len(x))
        more = [out + in_ + self_ for out, in_, self_ in zip(entries[0], into, itself, strict=True)]
        terms[diagonal] = _gain(x[diagonal], y[diagonal], Entries(*more), hyper.is_gamma)
    prior = np.empty(len(terms))
    log_prior(np.maximum(own.sum(axis=0) - own[at], 0.0), hyper.alpha[domain], prior)
    return Evidence(prior, terms, tuple(entries), np.array(expected))


def _sum_entries(relation: Relation, at: int, other: Floats, without_itself: bool) -> Entries:
    """Return the entries of a row object by cluster of the column object."""
    ones, missing = relation.ones, relation.missing
    begin, end = ones.indptr[at : at + 2]
    linked, unknown = ones.indices[begin:end], missing.indices[missing.indptr[at] : missing.indptr[at + 1]]
    counted = relation if isinstance(relation, CountRelation) else None
    weights = np.ones(end - begin) if counted is None else counted.counts[begin:end]
    reach = np.ones(len(other)) if counted is None else counted.column_activity
    if without_itself:
        weights, reach = weights * (linked != at), reach * (np.arange(len(other)) != at)
    sums = weights @ other[linked]
    known = reach @ other - reach[unknown] @ other[unknown]
    zeros = known - sums if counted is None else counted.row_activity[at] * known
    return Entries(sums, np.maximum(zeros, 0.0))


def _take_out(counts: Floats, share: Floats, sums: list[Floats], itself: float, symmetric: bool) -> None:
    """Take an object out of the counts of the blocks, in place.

    `share`: of the object in each cluster. `sums`: in each direction. `itself`: its entry with itself.
    """
    counts -= np.outer(share, sums[0])
    if symmetric:
        mirrored = np.outer(sums[0], share)
        np.fill_diagonal(mirrored, 0.0)
        counts -= mirrored
    elif len(sums) > 1:
        counts -= np.outer(sums[1], share)
    if itself:
        counts[np.diag_indices_from(counts)] -= share * itself


def _gain(x: Floats, y: Floats, entries: Entries, is_gamma: bool) -> Floats:
    """Return the log probability of entries in blocks with the parameters x and y."""
    from scipy.special import betaln, gammaln

    ones, zeros = entries
    if is_gamma:
        gained = gammaln(x + ones) - gammaln(x)
        return gained + x * np.log(y) - (x + ones) * np.log(y + zeros)
    return betaln(x + ones, y + zeros) - betaln(x, y)


def _expect(rates: Floats, entries: Entries, is_gamma: bool) -> Floats:
    """Return how many links, or which count, a member of each cluster would have with each other cluster."""
    return rates * (entries.zeros if is_gamma else entries.ones + entries.zeros)


def share_company_of(posterior: Posterior, domain: str, at: int) -> Floats:
    """Return how often an object is with the members of each cluster: a share of samples and members, shape (K,).

    With its own cluster it is the number of `scores.share_company`. NaN for a cluster without other members, and
    without samples.
    """
    own, n_clusters = posterior.labels(domain), posterior[domain].shape[1]
    if not count_samples(posterior):
        return np.full(n_clusters, np.nan)
    samples = sampled_company(posterior, domain)
    with_it = samples == samples[:, [at]]
    with_it[:, at] = False
    others = np.bincount(np.delete(own, at), minlength=n_clusters)
    met = np.bincount(own, with_it.mean(axis=0), minlength=n_clusters)
    shares = np.divide(met, others, out=np.full(n_clusters, np.nan), where=others > 0)
    if not others[own[at]]:
        shares[own[at]] = float((~with_it.any(axis=1)).mean())
    return shares


@dataclass(frozen=True, eq=False)
class Membership:
    """One object of a run: its cluster, the alternatives, and the reasons for it."""

    result: Result
    domain: str  #: "rows" or "cols"
    at: int  #: position in its domain

    @cached_property
    def evidence(self) -> Evidence:
        """The evidence for each cluster, the other objects where the run has them."""
        model: Any = self.result.prepared.model
        posterior = self.result.posterior
        return weigh_clusters(model.observations(posterior), model.state(posterior), self.domain, self.at)

    @property
    def other_domain(self) -> str:
        """The domain of the objects that it is linked to."""
        down, across = sides(self.result.posterior)
        return across if self.domain == down else down

    @property
    def is_weighted(self) -> bool:
        """Return whether the run counts the weights of links."""
        return (
            self.result.prepared.data.weights is not None and "expected" in self.result.bare_tables["blocks"]
        )

    @cached_property
    def cluster(self) -> int:
        """Its most probable cluster, from 1."""
        return int(self.result.posterior[self.domain][self.at].argmax()) + 1

    @cached_property
    def alternatives(self) -> pd.DataFrame:
        """The clusters of its domain, its own first, then the best of the others.

        Columns: cluster, name; log_odds of its own cluster against this one, the other objects where they are (nats);
        probability by these odds; together: how often it is with the members of this cluster over the samples.
        """
        import pandas as pd

        totals, own = self.evidence.totals, self.cluster - 1
        odds = totals[own] - totals
        weights = np.exp(totals - totals.max())
        order = np.argsort(np.where(np.arange(len(odds)) == own, -np.inf, odds), kind="stable")
        table = pd.DataFrame(
            {
                "cluster": np.arange(1, len(odds) + 1),
                "name": self.result.names[self.domain],
                "log_odds": odds,
                "probability": weights / weights.sum(),
                "together": share_company_of(self.result.posterior, self.domain, self.at),
            }
        )
        return table.iloc[order].reset_index(drop=True)

    def reasons(self, against: int) -> pd.DataFrame:
        """Return what speaks for its cluster and against another one, the weightiest first.

        One line for each cluster of the objects that it may be linked to, then one with cluster 0 for the sizes of the
        two clusters. Columns: cluster, name; links, or links_out and links_in (of counts, their sums), with objects
        that are most probably in this cluster; expected_here: the number that a member of its own cluster would have,
        and expected_there: one of the other; log_odds (nats), which add up to those of the alternative.

        `against`: number of the other cluster, from 1.
        """
        import pandas as pd

        evidence, here, there = self.evidence, self.cluster - 1, against - 1
        if not 0 <= there < len(evidence.prior) or here == there:
            raise ParameterError(f"There is no other cluster {against}.")
        columns: dict[str, Any] = {
            "cluster": np.arange(1, evidence.terms.shape[1] + 1),
            "name": self.result.names[self.other_domain],
        }
        ends = ("_out", "_in") if len(evidence.entries) > 1 else ("",)
        for end, links in zip(ends, self._count_links(len(ends) > 1), strict=True):
            columns[f"links{end}"] = links
        columns["expected_here"], columns["expected_there"] = evidence.expected.sum(axis=0)[[here, there]]
        columns["log_odds"] = evidence.terms[here] - evidence.terms[there]
        table = pd.DataFrame(columns)
        table = table.sort_values("log_odds", key=abs, ascending=False, kind="stable", ignore_index=True)
        sizes = {"cluster": 0, "name": "", "log_odds": evidence.prior[here] - evidence.prior[there]}
        return pd.concat([table, pd.DataFrame([sizes])], ignore_index=True)

    def _count_links(self, both_ways: bool) -> list[Floats]:
        """Return its links (of counts, their sum) with the objects of each cluster, in one direction or out and in."""
        model: Any = self.result.prepared.model
        relation, posterior = model.observations(self.result.posterior), self.result.posterior
        if self.domain != sides(posterior)[0]:
            relation = relation.transposed
        one = self.other_domain == self.domain
        hard = np.eye(posterior[self.other_domain].shape[1])[posterior.labels(self.other_domain)]
        found = [_sum_entries(relation, self.at, hard, one).ones]
        return [*found, _sum_entries(relation.transposed, self.at, hard, one).ones] if both_ways else found

    def describe(self) -> str:
        """Return its cluster, the next best one, and what speaks most for the first and against it, in sentences."""
        table = self.alternatives
        own = self._write_cluster(self.domain, self.cluster)
        if len(table) < 2:
            return f"It is in {own}, the only cluster."
        other = int(table["cluster"][1])
        odds = float(table["log_odds"][1])
        said = [
            f"It is in {own}. The next best is {self._write_cluster(self.domain, other)}: the odds are "
            f"{_write_odds(odds)}, with all other objects where they are."
        ]
        reasons = self.reasons(other)
        for sign, words in ((1, "What speaks most for its cluster"), (-1, "Against it")):
            told = reasons[(reasons["cluster"] > 0) & (sign * reasons["log_odds"] > _TOLD)]
            if len(told):
                said.append(f"{words}: {self._write_reason(told.iloc[0])}.")
        together = table["together"][:2]
        if together.notna().all():
            here, there = (f"{share:.0%}".replace("%", " %") for share in together)
            said.append(
                f"It is with the members of its cluster in {here} of the samples, with the others in {there}."
            )
        return " ".join(said)

    def _write_reason(self, line: pd.Series) -> str:
        """Return a line of `reasons` in words."""
        has = sum(line[name] for name in line.index if name.startswith("links"))
        if self.is_weighted:
            number = f"a weight of {has:.3g}"
        else:
            number = f"{has:.3g} {'link' if round(has, 2) == 1 else 'links'}"
        here, there = (f"{line[name]:.2g}" for name in ("expected_here", "expected_there"))
        with_ = self._write_cluster(self.other_domain, int(line["cluster"]))
        return f"{number} with {with_}; a member of its cluster would have {here}, one of the other {there}"

    def _write_cluster(self, domain: str, cluster: int) -> str:
        return f"“{cluster} · {self.result.names[domain][cluster - 1]}”"

    def links(self, averaged: bool = True) -> pd.DataFrame:
        """Return its pairs with all other objects, the most surprising first.

        Columns: object (the other one), cluster, name; of a directed network direction ("out" or "in"); linked (True,
        False, or missing if it is not known), probability, of counts also expected, count and tail; surprise (nats):
        minus the log probability of what is known of the pair, or of counts of its tail.

        `averaged`: as for `likely_links`.
        """
        import pandas as pd

        data = self.result.prepared.data
        both_ways = has_directions(data) and self.other_domain == self.domain
        ways = ("out", "in") if both_ways else ("out" if self.domain == "rows" else "in",)
        tables = []
        for way in ways:
            partners = np.arange(data.shape[1 if way == "out" else 0])
            if self.other_domain == self.domain and not data.network.self_links:
                partners = partners[partners != self.at]
            table = self._list_pairs(way, partners, averaged)
            tables.append(table.assign(direction=way) if both_ways else table)
        return pd.concat(tables).sort_values("surprise", ascending=False, kind="stable", ignore_index=True)

    def _list_pairs(self, way: str, partners: NDArray[np.int64], averaged: bool) -> pd.DataFrame:
        """Return its pairs with some objects, as `links` does."""
        import pandas as pd

        data, own = self.result.prepared.data, np.full(len(partners), self.at)
        ends = (own, partners) if way == "out" else (partners, own)
        table = self.result.prepared.model_row.part("export").predict_pairs(self.result, *ends, averaged)
        linked, unknown = (np.asarray(matrix[ends]).ravel() for matrix in (data.ones, data.missing))
        other = "column" if way == "out" else "row"
        probability = table["probability"]
        if "tail" in table:
            surprise = -np.log(np.maximum(table["tail"], 1e-300))
        else:
            surprise = -np.log(np.where(linked, probability, 1.0 - probability))
        clusters = table[f"{other}_cluster"].to_numpy()
        found = {"object": table[other], "cluster": clusters}
        found["name"] = np.asarray(self.result.names[self.other_domain], dtype=object)[clusters - 1]
        found["linked"] = pd.array(linked, dtype="boolean")
        found["linked"][unknown] = pd.NA
        for name in ("probability", "expected", "count", "tail"):
            if name in table:
                found[name] = table[name]
        found["surprise"] = np.where(unknown, np.nan, surprise)
        return pd.DataFrame(found)


def _write_odds(log_odds: float) -> str:
    """Return odds in words: "350 to 1"."""
    if abs(log_odds) > np.log(_LARGEST):
        return "over a million to 1" if log_odds > 0 else "1 to over a million"
    odds = f"{float(f'{np.exp(abs(log_odds)):.2g}'):,.10g}"
    return f"{odds} to 1" if log_odds > 0 else f"1 to {odds}"
