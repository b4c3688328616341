"""Clusters compared with each other: how much more, or less, each is linked to every cluster of the other side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acvb_core.engine.result import Result
from acvb_core.models.irm.kernels import Floats
from acvb_core.models.irm.scores import (
    ShownStrengths,
    block_matrix,
    block_shape,
    is_mirrored,
    shown_strengths,
    sides,
)

#: Ratios are not written beyond this.
_LARGEST = 100.0
_PARTS = (
    "half",
    "a third",
    "a quarter",
    "a fifth",
    "a sixth",
    "a seventh",
    "an eighth",
    "a ninth",
    "a tenth",
)


@dataclass(frozen=True, eq=False)
class Contrasts:
    """The blocks of every cluster of a domain (axis 0) with the clusters of the other side (axis 1), in one direction.

    Each array has the shape (K, L).
    """

    end: str  #: "to", "from", or "with" if links have no direction
    rate: Floats  #: link probability of the block, or of counts their ratio to the expected count
    #: `low`, `high`: bounds of its 95 % interval.
    low: Floats
    high: Floats
    #: `others`, `overall`: the same rate of the objects of the other clusters, and of all objects.
    others: Floats
    overall: Floats
    #: Log likelihood that the block loses at the others' rate, of counts at the overall one (nats).
    weight: Floats
    ratio: Floats  #: of the rate to that of the others, of counts to the overall one

    @property
    def is_clear(self) -> NDArray[np.bool_]:
        """Return whether the interval of a block does not contain the overall rate."""
        return (self.low > self.overall) | (self.high < self.overall)

    @property
    def is_strong(self) -> NDArray[np.bool_]:
        """Return whether a block has clearly more links than the others."""
        return (self.low > self.overall) & (self.ratio > 1.0)


def compare_clusters(result: Result, domain: str) -> tuple[Contrasts, ...]:
    """Return how the clusters of a domain differ: in one direction, or of a directed network in links to and from."""
    blocks, posterior = result.bare_tables["blocks"], result.posterior
    down, across = sides(posterior)
    shape = block_shape(posterior)
    strengths = shown_strengths(blocks, shape)
    known = block_matrix(blocks, "entries" if strengths.expected is None else "expected", shape)
    one = down == across
    if one and is_mirrored(result.prepared.data):
        return (_compare("with", strengths, known, doubled=True),)
    to, from_ = _compare("to", strengths, known), _compare("from", _turn(strengths), known.T)
    if one:
        return to, from_
    return (to,) if domain == down else (from_,)


def _turn(strengths: ShownStrengths) -> ShownStrengths:
    """Return the strengths with rows and columns swapped."""
    turned = [part.T if isinstance(part, np.ndarray) else part for part in strengths]
    return ShownStrengths(*turned)  # type: ignore[arg-type]


def _compare(end: str, strengths: ShownStrengths, known: Floats, *, doubled: bool = False) -> Contrasts:
    """Return the contrasts of row clusters.

    `known`: entries of each block, or of counts what is expected. `doubled`: pairs within a cluster are counted once,
      but concern two of its objects.
    """
    rate = strengths.mean
    pairs = known * (1.0 + np.eye(len(known))) if doubled else known
    total, whole = pairs.sum(axis=0), (pairs * rate).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        others = (whole - pairs * rate) / (total - pairs)
        overall = np.broadcast_to(whole / total, rate.shape)
        is_gamma = strengths.expected is not None
        base = overall if is_gamma else others
        weight = rate * np.log(rate / base)
        weight += base - rate if is_gamma else (1.0 - rate) * np.log((1.0 - rate) / (1.0 - base))
        ratio = rate / base
    weight = np.nan_to_num(known * weight, nan=0.0, posinf=0.0, neginf=0.0)
    return Contrasts(end, rate, strengths.low, strengths.high, others, overall, weight, ratio)


def count_strong_links(result: Result, domain: str) -> Floats:
    """Return the links of each object in the strong blocks of its cluster, of counts their sum, shape (N,).

    All its links count if the cluster has no strong block.
    """
    data, posterior = result.prepared.data, result.posterior
    down, across = sides(posterior)
    own, partners = posterior.labels(domain), posterior.labels(across if domain == down else down)
    contrasts = compare_clusters(result, domain)
    none = ~np.any([each.is_strong.any(axis=1) for each in contrasts], axis=0)
    links = data.links.tocoo()
    found = np.zeros(len(own))
    for each in contrasts:
        object_, partner = (links.col, links.row) if each.end == "from" else (links.row, links.col)
        counted = (each.is_strong | none[:, None])[own[object_], partners[partner]]
        found += np.bincount(object_, links.data * counted, minlength=len(own))
    return found


def write_ratio(ratio: float) -> str:
    """Return a ratio in words, for "as many": "3.1 times", "a third"."""
    if ratio >= _LARGEST:
        return f"over {_LARGEST:.0f} times"
    part = round(1.0 / ratio)
    if 2 <= part <= len(_PARTS) + 1:
        return _PARTS[part - 2]
    return f"{ratio:.0f} times" if ratio >= 9.95 else f"{ratio:.2g} times"
