"""A converged averaged run says whether its sweeps stay close to the mean, or move around it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from acvb_core.cli.output import result_text
from acvb_core.engine.fitting import Comparison, fit
from acvb_core.engine.history import Verdict
from acvb_core.engine.result import Result
from acvb_core.samples.catalogue import load_sample
from acvb_core.store.export import run_json
from acvb_core.views.comparison_table import comparison_table
from tests.engine.fakes import small_relation
from tests.loops import for_each


@pytest.fixture(scope="module")
def still() -> Result:
    return fit(small_relation(), "acvb0", k_rows=6, k_cols=5, max_sweeps=400)


@for_each("verdict", [None, Verdict.MAX_SWEEPS, Verdict.STOPPED, Verdict.DIVERGED])
def test_only_a_converged_mean_has_settled(still: Result, verdict: Verdict | None) -> None:
    assert still.snapshot.has_settled is True
    assert replace(still.snapshot, verdict=verdict).has_settled is None
    assert replace(still.snapshot, scaled_change=None).has_settled is None


def test_results_and_files_say_it(still: Result) -> None:
    moving = still.with_state(snapshot=replace(still.snapshot, scaled_change=0.3))
    for result, settled in ((moving, False), (still, True)):
        for told in (result.summary(), json.loads(run_json(result))):
            assert told["settled"] is settled
            assert told["scaled_change"] == pytest.approx(result.snapshot.scaled_change)
    alone = fit(small_relation(), "vb", k_rows=3, k_cols=3, max_sweeps=5)
    settled = Comparison([moving, still, alone]).table()["settled"]
    assert settled.isna().tolist() == [False, False, True]
    assert settled[:2].tolist() == [False, True]
    frame = comparison_table([moving, still], ["one", "other"]).frame
    assert frame["Sweeps and mean"].tolist() == ["fluctuations remain", "settled"]
    assert "Sweeps and mean" not in comparison_table([alone, alone], ["one", "other"]).frame


@for_each("sample, method, rule", [
    ("southern_women", "vb", "relative change of the lower bound"),
    ("bars", "cvb0", "relative change of the pseudo leave-one-out log likelihood"),
    ("planted_features", "em", "change of the lower bound per object"),
])  # fmt: skip
def test_a_run_says_which_rule_ended_it_while_assignments_still_change(
    sample: str, method: str, rule: str
) -> None:
    size = {"k": 10} if sample == "bars" else {}
    result = fit(load_sample(sample).data, method, heldout=0.1, **size)
    last, tolerance = result.snapshot, result.prepared.spec.values["tol"]
    assert result.verdict is Verdict.CONVERGED
    assert last.change > tolerance
    assert result.reason.startswith(f"The {rule} was ")
    assert float(result.reason.split(" was ")[1].split(",")[0]) < tolerance
    assert f"Assignments still changed by {last.change:.1e}: this rule does not judge them." in result.reason
    assert result.reason in result_text(result, [], None)
    assert result.with_state(snapshot=replace(last, verdict=Verdict.STOPPED)).reason == ""
