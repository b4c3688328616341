"""The state that the variational methods of the two-domain IRM share, and how it is kept tidy."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import betaln

from acvb_core.clusters import Order, is_identity, order_by_size, renormalise, take
from acvb_core.data.relation import Relation
from acvb_core.irm.hyper import Hyper
from acvb_core.irm.kernels import Floats
from acvb_core.irm.neighbours import neighbour_sums
from acvb_core.protocols import Array, Checkpoint, Posterior, no_checkpoint

#: Names of the two domains, as they appear in posteriors, tables and files.
DOMAINS = ("rows", "cols")


@dataclass(frozen=True)
class IrmState:
    """Responsibilities of both domains, the block counts that follow from them, and the hyper-parameters.

    Attributes
    ----------
    rows, cols : ndarrays, shapes (N1, K1), (N2, K2)
        Responsibilities; rows sum to one.
    ones, entries : ndarrays, shape (K1, K2)
        Expected ones and observed entries of each block.
    hyper : Hyper
    age : int
        Sweeps done.
    moves_over : bool
        No more merges are tried.
    """

    rows: Floats
    cols: Floats
    ones: Floats
    entries: Floats
    hyper: Hyper
    age: int = 0
    moves_over: bool = True


def observed_sums(
    relation: Relation, responsibilities: Floats, checkpoint: Checkpoint = no_checkpoint
) -> tuple[Floats, Floats]:
    """Return n+ and N+ of every row object, shapes (N1, K2): its ones and its zeros by cluster of the columns."""
    links = neighbour_sums(relation.ones, responsibilities, checkpoint)
    zeros = responsibilities.sum(axis=0) - links
    if relation.n_missing:
        zeros -= neighbour_sums(relation.missing, responsibilities, checkpoint)
    return links, np.maximum(zeros, 0.0, out=zeros)


def block_counts(
    relation: Relation, rows: Floats, cols: Floats, checkpoint: Checkpoint = no_checkpoint
) -> tuple[Floats, Floats]:
    """Return expected ones and observed entries of each block, shape (K1, K2)."""
    links, zeros = observed_sums(relation, cols, checkpoint)
    ones = rows.T @ links
    return ones, ones + rows.T @ zeros


def stick_log_evidence(mass: Array, alpha: float) -> float:
    """Return sum_{k<K} [lbeta(1 + m_k, alpha + M_k) - lbeta(1, alpha)], the prior's part of the lower bound."""
    beyond = np.maximum(mass.sum() - np.cumsum(mass), 0.0)
    return float((betaln(1.0 + mass, alpha + beyond) - betaln(1.0, alpha))[:-1].sum())


def tidy(
    state: IrmState, relation: Relation, shrink: float, *, keep_bound: bool = False
) -> tuple[IrmState, dict[str, Order] | None]:
    """Order the clusters of both domains by size and drop the tiny ones (IRM14 §7.1).

    `keep_bound` leaves a domain's order alone where sorting would lower the bound (with a concentration above
    one the truncated stick-breaking prior need not favour descending sizes), so that VB's bound never falls.

    Returns
    -------
    state : IrmState
    order : dict of str to ndarray, or None
        None when nothing moved.
    """
    orders = {}
    for domain, alpha in (("rows", state.hyper.alpha_rows), ("cols", state.hyper.alpha_cols)):
        mass = getattr(state, domain).sum(axis=0)
        order = order_by_size(mass, shrink)
        if keep_bound:
            unsorted = np.sort(order)
            if stick_log_evidence(mass[order], alpha) < stick_log_evidence(mass[unsorted], alpha):
                order = unsorted
        orders[domain] = order
    widths = state.ones.shape
    dropped = [len(orders[d]) < width for d, width in zip(DOMAINS, widths, strict=True)]
    if all(is_identity(orders[d], width) for d, width in zip(DOMAINS, widths, strict=True)):
        return state, None
    rows = take(state.rows, (None, "rows"), orders)
    cols = take(state.cols, (None, "cols"), orders)
    ones = take(state.ones, DOMAINS, orders)
    entries = take(state.entries, DOMAINS, orders)
    if any(dropped):
        rows, cols = renormalise(rows), renormalise(cols)
        ones, entries = block_counts(relation, rows, cols)
    hyper = state.hyper
    if hyper.per_block:
        hyper = replace(hyper, a=take(hyper.a, DOMAINS, orders), b=take(hyper.b, DOMAINS, orders))
    return replace(state, rows=rows, cols=cols, ones=ones, entries=entries, hyper=hyper), orders


def posterior_of(state: IrmState) -> Posterior:
    """Return the state as a posterior."""
    hyper = state.hyper
    arrays: dict[str, Array] = {name: getattr(state, name) for name in ("rows", "cols", "ones", "entries")}
    axes: dict[str, tuple[str | None, ...]] = {
        "rows": (None, "rows"),
        "cols": (None, "cols"),
        "ones": DOMAINS,
        "entries": DOMAINS,
    }
    if hyper.per_block:
        arrays |= {"a": hyper.a, "b": hyper.b}
        axes |= {"a": DOMAINS, "b": DOMAINS}
    return Posterior(
        arrays,
        axes,
        averaged=DOMAINS,
        derived=("ones", "entries"),
        hyper={
            "alpha_rows": hyper.alpha_rows,
            "alpha_cols": hyper.alpha_cols,
            "a": float(np.median(hyper.a)),
            "b": float(np.median(hyper.b)),
        },
    )


def hyper_of(posterior: Posterior) -> Hyper:
    """Return the hyper-parameters a posterior carries."""
    values = posterior.hyper
    per_block = "a" in posterior.arrays
    a = posterior["a"] if per_block else np.full((1, 1), values["a"])
    b = posterior["b"] if per_block else np.full((1, 1), values["b"])
    return Hyper(values["alpha_rows"], values["alpha_cols"], a, b)
