"""What CVB approximates: expectations over counts that are sums of independent tokens (Poisson-binomial)."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.engine.fitting import fit
from acvb_core.models.lda.text import facts
from acvb_core.store.plausible import check_run
from acvb_core.views.comparison_table import comparison_table
from tests.models.lda.adapters import collapsed, given_of, model_of, posterior_of_case, state_of
from tests.oracles import dense_lda as dense
from tests.oracles.lda_cases import LdaCase, scaled, small_case


def large(seed: int) -> LdaCase:
    """Counts so large that two moments tell nearly all, topics so soft that one tells less."""
    return scaled(small_case(seed, 3.0), 12)._replace(alpha=np.array([1.5, 0.8, 1.2]), beta=0.8)


@pytest.mark.parametrize("seed", range(4))
def test_first_pair_of_a_sweep_against_the_exact_update(seed: int) -> None:
    """Nothing has changed yet when it is updated; CVB is ten times closer than CVB0."""
    case = large(seed)
    first = case.triplets.of_document(0)[0]
    exact = dense.cvb_exact_update(case.triplets, case.gamma, first, case.alpha, case.beta)
    error = {}
    for order in ("zeroth", "second"):
        state, _ = collapsed(case, order).sweep(state_of(case, order), np.random.default_rng(0))
        error[order] = np.abs(state.buffers.q[first] - exact).max()
    assert error["zeroth"] > 2e-4
    assert error["second"] < 2e-3
    assert error["second"] < error["zeroth"] / 5


@pytest.mark.parametrize("seed", range(4))
def test_collapsed_bound_where_counts_are_large(seed: int) -> None:
    """To second order it is nearly the exact one, which is above the bound with the counts put in."""
    case = large(seed)
    arguments = (case.triplets, case.gamma, case.alpha, case.beta)
    exact = dense.collapsed_bound_exact(*arguments)
    model, posterior, given = model_of(case), posterior_of_case(case), given_of(case)
    lower, second = model.lower_bound(posterior, given), model.collapsed_bound(posterior, given)
    assert lower is not None
    assert exact - lower > 1.0
    assert abs(exact - second) < 0.05 * (exact - lower)


@pytest.mark.parametrize("method", ["cvb", "acvb", "cvb_exact"])
def test_a_second_order_bound_that_broke_down_is_not_shown(method: str) -> None:
    """Documents predict their own words best by their frequencies, which here gives 0 nats: no bound is above that."""
    result = fit(
        np.eye(6, 4, dtype=int) + np.eye(6, 4, -4, dtype=int), method, model="lda", k=10, heldout=0.0
    )
    assert not (result.history["collapsed_bound"] > 0).any()
    assert np.isnan(result.snapshot.extras["collapsed_bound"])
    assert result.snapshot.lower_bound < 0
    assert ("bound to second order", "none: it broke down, as the counts are too small for it") in facts(
        result
    )
    table = comparison_table([result], ["run"])
    assert "Collapsed bound" not in table.frame
    assert any("broke down" in note for note in table.notes)
    check_run(result)
