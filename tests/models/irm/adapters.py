"""Bridges between the oracles' dense cases and the package's own types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from acvb_core.data.relation import Relation
from acvb_core.models.irm.cvb import CollapsedIrm
from acvb_core.models.irm.hyper import Hyper
from acvb_core.models.irm.moves import Moves
from acvb_core.models.irm.start import Start
from acvb_core.models.irm.state import IrmState, block_counts
from tests.oracles.cases import Case
from tests.oracles.dense_irm import DenseData, sweep, update_cvb0, update_cvb2

#: Sweeps alone.
NO_MOVES = Moves(merge=False, split=False)


def relation_of(data: DenseData) -> Relation:
    """Return the dense data as a relation."""
    return Relation.build(np.where(data.observed, data.x, 0.0) > 0, ~data.observed)


def hyper_of(case: Case) -> Hyper:
    """Return the case's hyper-parameters."""
    a, b = (np.atleast_2d(np.asarray(value, dtype=np.float64)) for value in (case.a, case.b))
    alpha = {"rows": case.alpha1, "cols": case.alpha2}
    return Hyper(alpha, np.ascontiguousarray(a), np.ascontiguousarray(b))


def state_of(case: Case) -> IrmState:
    """Return the case's responsibilities as a state."""
    q = {"rows": np.ascontiguousarray(case.q1), "cols": np.ascontiguousarray(case.q2)}
    return counted(relation_of(case.data), q, hyper_of(case))


def counted(relation: Relation, q: Mapping[str, np.ndarray], hyper: Hyper) -> IrmState:
    """Return responsibilities as a state whose counts are theirs."""
    return IrmState(q, *block_counts(relation, q), hyper)


def collapsed(case: Case, order: str, **options: Any) -> CollapsedIrm:
    """Return CVB0 or CVB on the case's data with its hyper-parameters held fixed and nothing dropped."""
    settings = {"hyper_rule": "fixed", "shrink": 0.0, "moves": NO_MOVES} | options
    return CollapsedIrm(relation_of(case.data), Start(*case.sizes), hyper_of(case), order=order, **settings)


#: The package's name of an order -> the oracle's update.
ORACLE_UPDATES: dict[str, tuple[Callable[..., Any], dict[str, str]]] = {
    "zeroth": (update_cvb0, {}),
    "paper": (update_cvb2, {"variance": "paper"}),
    "exact": (update_cvb2, {"variance": "exact"}),
}


def oracle_sweep(case: Case, order: str, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return responsibilities and pseudo leave-one-out after a dense sweep in the order that `seed` draws."""
    rng = np.random.default_rng(seed)
    shape = case.data.x.shape
    first, second = rng.permutation(shape[0]), rng.permutation(shape[1])
    update, options = ORACLE_UPDATES[order]
    return sweep(
        update, case.data, case.q1, case.q2, first, second,
        a=case.a, b=case.b, alpha1=case.alpha1, alpha2=case.alpha2, **options,
    )  # fmt: skip
