"""Bridges between the oracles' dense networks and the package's own types."""

from __future__ import annotations

from typing import Any

import numpy as np

from acvb_core.data.relation import Network, Relation
from acvb_core.models.irm.cvb import CollapsedIrm, VariationalMethod
from acvb_core.models.irm.hyper import Hyper
from acvb_core.models.irm.kernels import network_layout
from acvb_core.models.irm.start import Start
from acvb_core.models.irm.state import IrmState, block_counts
from acvb_core.models.irm.vb import VariationalIrm
from tests.oracles.dense_network import NetworkData, update_cvb0, update_cvb2
from tests.oracles.network_cases import NetworkCase

#: The package's name of an order -> the oracle's update.
ORACLE_UPDATES = {"zeroth": update_cvb0, "paper": update_cvb2}
#: Which triangles of an undirected network are handed over, by name: what is kept of the full matrix.
TRIANGLES = {"both": lambda part: part, "upper": np.triu, "lower": np.tril}


def relation_of(data: NetworkData, triangle: str = "both") -> Relation:
    """Return the dense network as a relation; of an undirected one `triangle` alone is handed over.

    Whether self-links count cannot be seen from entries that are all missing, which comes to the same.
    """
    keep = TRIANGLES[triangle]
    ones = keep(np.where(data.observed, data.x, 0.0) > 0)
    missing = keep(~data.observed)
    counted = bool(data.observed.diagonal().any())
    return Relation.build(ones, missing, network=Network(data.directed, counted))


def state_of(case: NetworkCase, relation: Relation | None = None) -> IrmState:
    """Return the case's responsibilities as a state."""
    relation = relation or relation_of(case.data)
    layout, q = network_layout(relation), {"rows": np.ascontiguousarray(case.q)}
    ones, entries = block_counts(relation, q, layout)
    return IrmState(q, ones, entries, hyper_of(case), layout)


def hyper_of(case: NetworkCase) -> Hyper:
    """Return the case's hyper-parameters."""
    a, b = (
        np.ascontiguousarray(np.atleast_2d(np.asarray(part, dtype=np.float64))) for part in (case.a, case.b)
    )
    return Hyper({"rows": case.alpha}, a, b)


def method_of(
    case: NetworkCase, order: str, relation: Relation | None = None, **options: Any
) -> VariationalMethod:
    """Return CVB0 ("zeroth"), CVB ("paper") or VB ("vb"): hyper-parameters fixed, nothing dropped, no moves."""
    relation = relation or relation_of(case.data)
    # The moves are due by what a state remembers, and the states made here remember none.
    settings = {"hyper_rule": "fixed", "shrink": 0.0, "layout": network_layout(relation)} | options
    common = (relation, Start(case.size), hyper_of(case))
    if order == "vb":
        return VariationalIrm(*common, **settings)
    return CollapsedIrm(*common, **settings, order=order)
