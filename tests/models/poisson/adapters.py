"""Bridges between the oracle's dense counts and the package's own types."""

from __future__ import annotations

from typing import Any

import numpy as np

from acvb_core.data.relation import CountRelation, Network, Relation
from acvb_core.models.irm.cvb import VariationalMethod
from acvb_core.models.irm.hyper import Hyper
from acvb_core.models.irm.start import Start
from acvb_core.models.irm.state import IrmState
from acvb_core.models.poisson.methods import CollapsedPoisson, VariationalPoisson
from tests.models.irm.adapters import NO_MOVES, counted, layout_of
from tests.oracles.dense_poisson import CountData
from tests.oracles.poisson_cases import CountCase


def relation_of(data: CountData) -> CountRelation:
    """Return dense counts as a relation; self-links count if one of them is observed."""
    missing = np.isnan(data.x)
    network = None if data.directed is None else Network(data.directed, not missing.diagonal().all())
    relation = Relation.build(np.where(missing, 0.0, data.x) > 0, missing, network=network)
    return CountRelation.of(relation, data.x[data.x > 0], data.t, data.f)


def state_of(case: CountCase) -> IrmState:
    """Return the case's responsibilities as a state."""
    prior = (np.full((1, 1), float(value)) for value in (case.a, case.b))
    hyper = Hyper(dict(zip(("rows", "cols"), case.alphas, strict=False)), *prior, is_gamma=True)
    q = {domain: np.ascontiguousarray(own) for domain, own in zip(("rows", "cols"), case.q, strict=False)}
    return counted(relation_of(case.data), q, hyper)


def method_of(case: CountCase, order: str, **options: Any) -> VariationalMethod:
    """Return CVB0 ("zeroth"), CVB ("paper") or "vb": hyper-parameters fixed, nothing dropped, no moves."""
    relation, hyper = relation_of(case.data), state_of(case).hyper
    layout = layout_of(relation)
    settings = {"hyper_rule": "fixed", "shrink": 0.0, "moves": NO_MOVES, "layout": layout} | options
    if order == "vb":
        return VariationalPoisson(relation, Start(*case.sizes), hyper, **settings)
    return CollapsedPoisson(relation, Start(*case.sizes), hyper, order=order, **settings)
