"""The clusters of a run in words: what sets each apart, who is in it, and how firm it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from acvb_core.engine.result import Result
from acvb_core.models.irm.answer.contrasts import Contrasts, compare_clusters, count_strong_links, write_ratio
from acvb_core.models.irm.answer.known import describe_partners
from acvb_core.models.irm.answer.naming import choose_labels
from acvb_core.models.irm.scores import sides

if TYPE_CHECKING:
    import pandas as pd

#: Blocks that a sentence names: with more links than others, and with fewer.
_MORE, _FEWER = 2, 2
#: Below this share of the usual rate there is hardly any link.
_HARDLY = 0.1
#: Share of the samples that an object with a firm place is with the others of its cluster.
FIRM = 0.5
#: Clusters that the sentence about a run names.
_NAMED = 3


class Block(NamedTuple):
    """A block that sets a cluster apart."""

    other: int  #: the cluster on the other side, from 1
    end: str  #: "to", "from" or "with"
    ratio: float  #: of its rate to that of the others, or to the expected one
    rate: float
    low: float  #: `low`, `high`: the 95 % interval of the rate
    high: float
    base: float  #: the rate that `ratio` compares with
    is_clear: bool  #: the interval does not contain the overall rate
    weight: float  #: how much the block matters (nats)


@dataclass(frozen=True, eq=False)
class ClusterCards:
    """The clusters of one domain of a run."""

    result: Result
    domain: str  #: "rows" or "cols"

    @cached_property
    def contrasts(self) -> tuple[Contrasts, ...]:
        """The clusters compared with each other."""
        return compare_clusters(self.result, self.domain)

    @cached_property
    def partners(self) -> list[str]:
        """The known label of the other side that each cluster is linked to most clearly, in a sentence, or ""."""
        return describe_partners(self.result, self.domain)

    @property
    def names(self) -> Sequence[str]:
        """The names of the clusters."""
        return self.result.names[self.domain]

    @property
    def other_domain(self) -> str:
        """The domain of the objects that these are linked to."""
        down, across = sides(self.result.posterior)
        return across if self.domain == down else down

    @property
    def is_counted(self) -> bool:
        """Return whether blocks have rates of counts."""
        return "expected" in self.result.bare_tables["blocks"]

    @property
    def is_weighted(self) -> bool:
        """Return whether the rates are those of weights."""
        return self.is_counted and self.result.prepared.data.weights is not None

    @cached_property
    def sizes(self) -> list[int]:
        """The number of objects of each cluster."""
        labels = self.result.posterior.labels(self.domain)
        return np.bincount(labels, minlength=len(self.names)).tolist()

    @cached_property
    def members(self) -> pd.DataFrame:
        """The objects, those first that have most links in what their cluster is about.

        Columns: those of the table of the domain; label: the object's, or that of an attribute if labels are ids
        (`choose_labels`); and typical_links: links (of counts, their sum) in the blocks of its cluster that have
        clearly more links than others.
        """
        table = self.result.tables["rows" if self.domain == "rows" else "columns"]
        links = count_strong_links(self.result, self.domain)
        labels = choose_labels(self.result.prepared.data, self.domain)
        return table.assign(label=labels, typical_links=links).sort_values(
            "typical_links", ascending=False, kind="stable"
        )

    def list_members(self, cluster: int) -> pd.DataFrame:
        """Return the members of a cluster (from 1), the most typical first."""
        return self.members[self.members["cluster"] == cluster]

    def blocks(self, cluster: int) -> list[Block]:
        """Return the blocks of a cluster (from 1), those first that set it apart most."""
        k, found = cluster - 1, []
        for each in self.contrasts:
            base = each.overall if self.is_counted else each.others
            for at in range(each.rate.shape[1]):
                # Of a directed network, links from its own nodes are those to them.
                if len(self.contrasts) > 1 and each.end == "from" and at == k:
                    continue
                block = Block(
                    other=at + 1,
                    end=each.end,
                    ratio=float(each.ratio[k, at]),
                    rate=float(each.rate[k, at]),
                    low=float(each.low[k, at]),
                    high=float(each.high[k, at]),
                    base=float(base[k, at]),
                    is_clear=bool(each.is_clear[k, at]),
                    weight=float(each.weight[k, at]),
                )
                found.append(block)
        return sorted(found, key=lambda block: -block.weight)

    def describe(self, cluster: int) -> str:
        """Return the size of a cluster (from 1) and what sets it apart, in a sentence or two.

        They name blocks whose 95 % interval does not contain the overall rate, at most two with more links than others
        have, and two with fewer; and the known label that it is linked to most clearly (`describe_partners`).
        """
        size = self.sizes[cluster - 1]
        found = self.write_blocks(cluster) or "no block differs clearly from the overall mean"
        return f"{size:,} {self.count_word(size)}: {found}. {self.partners[cluster - 1]}".rstrip()

    def write_blocks(self, cluster: int, more: int = _MORE, fewer: int = _FEWER) -> str:
        """Return what sets a cluster (from 1) apart, in words; "" if no block does so clearly."""
        clear = [block for block in self.blocks(cluster) if block.is_clear and np.isfinite(block.ratio)]
        chosen = [block for block in clear if block.ratio > 1.0][:more]
        below = [block for block in clear if block.ratio < 1.0][:fewer]
        chosen += [block for block in below if block.ratio >= _HARDLY]
        hardly = [block for block in below if block.ratio < _HARDLY]
        many, links = ("much", " weight") if self.is_weighted else ("many", " links")
        parts, times = [], []
        for block in chosen:
            times.append(f"{write_ratio(block.ratio)} as {many}{links} {self.write_target(cluster, block)}")
            links = ""
        if times:
            parts.append(f"{join_words(times)} as {'expected' if self.is_counted else 'others'}")
        if hardly:
            targets = [self.write_target(cluster, block) for block in hardly]
            if len({block.end for block in hardly}) == 1:
                targets[1:] = [target.removeprefix(f"{hardly[0].end} ") for target in targets[1:]]
            elif len({block.other for block in hardly}) == 1:  # to and from the same cluster
                targets[:-1] = [block.end for block in hardly[:-1]]
            parts.append(f"hardly any{links} {' or '.join(targets)}")
        return ", ".join(parts)

    def write_target(self, cluster: int, block: Block) -> str:
        """Return the other side of a block of a cluster in words: "to “2 · Kids”"."""
        if block.other == cluster and self.other_domain == self.domain:
            return f"{block.end} its own {self.count_word(2)}"
        return f"{block.end} “{block.other} · {self.result.names[self.other_domain][block.other - 1]}”"

    def count_word(self, number: int) -> str:
        """Return what so many objects are called."""
        word = "object" if self.result.prepared.data.network is None else "node"
        return word if number == 1 else f"{word}s"

    def describe_sizes(self) -> str:
        """Return how many clusters there are, and the largest ones by name, in sentences."""
        used = [number for number, size in enumerate(self.sizes, 1) if size]
        used.sort(key=lambda number: -self.sizes[number - 1])
        total = sum(self.sizes)
        objects = self.count_word(total)
        if self.other_domain != self.domain:
            relation = self.result.prepared.data
            side, kind = "row", relation.row_kind
            if self.domain == "cols":
                side, kind = "column", relation.column_kind
            objects = f"{side}{'' if total == 1 else 's'}{'' if kind == side else f' ({kind})'}"
        head = f"{len(used):,} {'cluster' if len(used) == 1 else 'clusters'} of {total:,} {objects}"
        if len(used) < 2:
            return f"{head}."
        shown = [
            f"“{number} · {self.names[number - 1]}” ({self.sizes[number - 1]:,})" for number in used[:_NAMED]
        ]
        return f"{head}{'. The largest' if len(used) > _NAMED else ''}: {join_words(shown)}."


def describe_found(result: Result) -> str:
    """Return what a run found, in lines: clusters by name, what stands out most, and how firm they are."""
    cards = [ClusterCards(result, domain) for domain in result.posterior.n_clusters()]
    said = [each.describe_sizes() for each in cards]
    best = [
        (each.blocks(k)[0].weight, at, k)
        for at, each in enumerate(cards)
        for k in range(1, len(each.sizes) + 1)
    ]
    for _, at, k in sorted(best, reverse=True):
        if text := cards[at].write_blocks(k, 1, 0):
            said.append(f"What stands out most: “{k} · {cards[at].names[k - 1]}” has {text}.")
            break
    if any(sum(size > 0 for size in each.sizes) > 1 for each in cards):
        said.append(_describe_firmness(cards))
    return "\n".join(part for part in said if part)


def _describe_firmness(cards: Sequence[ClusterCards]) -> str:
    """Return how many objects have a firm place; "" without samples."""
    firm = total = 0
    for each in cards:
        together = each.members["probability"]
        if together.isna().any():
            return ""
        firm, total = firm + int((together >= FIRM).sum()), total + len(together)
    everyone = "All" if firm == total else f"{firm:,} of"
    objects = f"{everyone} {total:,} {cards[0].count_word(2)}"
    return f"{objects} have a firm place: in at least half of the samples they are with the others of their cluster."


def join_words(parts: Sequence[str]) -> str:
    """Return parts as a list in words: "a, b and c"."""
    return " and ".join(part for part in (", ".join(parts[:-1]), *parts[-1:]) if part)
