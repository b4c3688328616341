"""Bridges between the oracles' dense cases, of two domains and of networks, and the package's own types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from acvb_core.data.relation import Network, Relation
from acvb_core.models.irm.cvb import CollapsedIrm, VariationalMethod
from acvb_core.models.irm.hyper import Hyper
from acvb_core.models.irm.kernels import TWO_DOMAINS, Layout, network_layout
from acvb_core.models.irm.moves import Moves
from acvb_core.models.irm.start import Start
from acvb_core.models.irm.state import IrmState, block_counts
from acvb_core.models.irm.vb import VariationalIrm
from tests.oracles import dense_network
from tests.oracles.cases import Case
from tests.oracles.dense_irm import DenseData, sweep, update_cvb0, update_cvb2
from tests.oracles.dense_network import NetworkData
from tests.oracles.network_cases import NetworkCase

#: Sweeps alone.
NO_MOVES = Moves(merge=False, split=False)


def layout_of(relation: Relation) -> Layout:
    """Return the layout of the relation's own model."""
    return TWO_DOMAINS if relation.network is None else network_layout(relation)


def relation_of(data: DenseData | NetworkData) -> Relation:
    """Return the dense data as a relation; self-links count if one of them is observed."""
    network = None
    if isinstance(data, NetworkData):
        network = Network(data.directed, bool(data.observed.diagonal().any()))
    return Relation.build(np.where(data.observed, data.x, 0.0) > 0, ~data.observed, network=network)


def hyper_of(case: Case | NetworkCase) -> Hyper:
    """Return the case's hyper-parameters."""
    a, b = (np.ascontiguousarray(np.atleast_2d(value), dtype=np.float64) for value in (case.a, case.b))
    return Hyper(dict(zip(("rows", "cols"), case.hyper[2:], strict=False)), a, b)


def state_of(case: Case | NetworkCase) -> IrmState:
    """Return the case's responsibilities as a state."""
    q = (case.q,) if isinstance(case, NetworkCase) else (case.q1, case.q2)
    named = {domain: np.ascontiguousarray(own) for domain, own in zip(("rows", "cols"), q, strict=False)}
    return counted(relation_of(case.data), named, hyper_of(case))


def counted(relation: Relation, q: Mapping[str, np.ndarray], hyper: Hyper) -> IrmState:
    """Return responsibilities as a state whose counts are theirs."""
    layout = layout_of(relation)
    return IrmState(dict(q), *block_counts(relation, q, layout), hyper, layout)


def method_of(case: Case | NetworkCase, order: str, **options: Any) -> VariationalMethod:
    """Return CVB0 ("zeroth"), CVB ("paper", "exact") or "vb": hyper-parameters fixed, nothing dropped, no moves."""
    relation = relation_of(case.data)
    sizes = (case.size,) if isinstance(case, NetworkCase) else case.sizes
    settings = {
        "hyper_rule": "fixed",
        "shrink": 0.0,
        "moves": NO_MOVES,
        "layout": layout_of(relation),
    } | options
    if order == "vb":
        return VariationalIrm(relation, Start(*sizes), hyper_of(case), **settings)
    return CollapsedIrm(relation, Start(*sizes), hyper_of(case), order=order, **settings)


#: The package's name of an order -> the oracle's update.
ORACLE_UPDATES: dict[str, tuple[Callable[..., Any], dict[str, str]]] = {
    "zeroth": (update_cvb0, {}),
    "paper": (update_cvb2, {"variance": "paper"}),
    "exact": (update_cvb2, {"variance": "exact"}),
}
NETWORK_UPDATES = {"zeroth": dense_network.update_cvb0, "paper": dense_network.update_cvb2}


def oracle_sweep(case: Case, order: str, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return responsibilities and pseudo leave-one-out after a dense sweep in the order that `seed` draws."""
    rng = np.random.default_rng(seed)
    visits = [rng.permutation(n) for n in case.data.x.shape]
    update, options = ORACLE_UPDATES[order]
    a, b, alpha1, alpha2 = case.hyper
    q = case.q1, case.q2
    return sweep(update, case.data, *q, *visits, a=a, b=b, alpha1=alpha1, alpha2=alpha2, **options)
