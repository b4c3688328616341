"""A search for the best steps: the defaults first, then better ones; the same again from the same seed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from acvb_core.core.errors import ParameterError
from acvb_core.core.spec import Range
from acvb_core.engine.fitting import fit
from acvb_core.engine.study import FAILED, finish_study, make_runs
from acvb_core.engine.tuning import Tuning, build_search_space, plan_search, sobol_point, tune
from acvb_core.registry import method_row
from tests.engine.fakes import bits
from tests.engine.tuning.tunings import CORPUS, OPTIONS, all_of, small_search, told
from tests.loops import for_each


def bowl(values: Mapping[str, float]) -> float:
    """Perplexity 100 at the best, alpha = 0.3 and beta = 0.02, more elsewhere."""
    alpha, beta = values.get("alpha") or 0.5, values.get("beta") or 0.01
    return 100.0 * math.exp(0.1 * math.log(alpha / 0.3) ** 2 + 0.1 * math.log(beta / 0.02) ** 2)


@pytest.fixture(scope="module")
def found() -> Tuning:
    return tune(CORPUS, "cvb0", 8, **OPTIONS)


def test_the_defaults_are_first_and_the_answer_is_the_best(found: Tuning) -> None:
    table = found.table()
    assert table["trial"].tolist() == list(range(1, 9))
    assert table.loc[0, ["alpha", "beta"]].tolist() == [0.0, 0.01]  # of the registry
    at = table["perplexity"].idxmin()
    assert found.best == table.loc[at, ["alpha", "beta"]].to_dict()
    assert table["best"].tolist() == np.minimum.accumulate(table["perplexity"]).tolist()
    assert set(table["verdict"]) == {"MAX_SWEEPS"}
    settings = {name: value for name, value in OPTIONS.items() if name != "ranges"}
    best = fit(CORPUS, "cvb0", **settings, **found.best).snapshot
    assert bits(best) == bits(found.best_result.snapshot)
    assert found.best_trial.perplexity == best.heldout.perplexity


def test_the_best_steps_are_found() -> None:
    found = all_of(told(bowl, trials=18))
    space = small_search().space
    spread = [space.values(sobol_point(n, 2, 0)) for n in range(17)]
    assert [trial.values for trial in found.trials[1:5]] == spread[:4]
    assert found.trials[5].values != spread[4], "points are spread first, and then chosen"
    assert found.best_trial.perplexity < 101
    assert min(map(bowl, spread)) > 103


def test_an_interrupted_search_continues_with_the_same_trials(found: Tuning) -> None:
    for at in (2, 6):
        first = all_of(small_search(at))
        whole = finish_study(small_search(8), first)
        assert [t.values for t in whole.trials] == [t.values for t in found.trials]
        assert bits(whole.best_result.snapshot) == bits(found.best_result.snapshot)
    assert list(make_runs(small_search(8), found)) == []


def test_nothing_is_tried_twice() -> None:
    found = all_of(
        told(lambda values: values["inner"], trials=9, method="vb", ranges=(Range("inner", 1, 20),))
    )
    tried = [trial.values["inner"] for trial in found.trials]
    assert found.best == {"inner": 1.0}
    assert all(value == round(value) and 1 <= value <= 20 for value in tried)
    assert len(set(tried)) == len(tried)
    # There are two: the third trial has to repeat one.
    few = all_of(told(lambda values: values["inner"], trials=5, method="vb", ranges=(Range("inner", 1, 2),)))
    assert {trial.values["inner"] for trial in few.trials} == {1.0, 2.0}
    assert len(few.trials) == 5


def test_the_steps_of_a_stream_are_tuned() -> None:
    """Over one epoch, by the completion of documents that are held out."""
    found = tune(CORPUS, "scvb0", 10, heldout_documents=0.2, k=10)
    assert found.names == tuple(one.name for one in method_row("lda", "scvb0").tuned)
    result, table = found.best_result, found.table()
    assert result.prepared.spec.values["epochs"] == 1.0
    alone = fit(CORPUS, "scvb0", heldout_documents=0.2, k=10, epochs=1.0, **found.best)
    assert alone.summary()["heldout"]["completion_perplexity"] == table["best"].iloc[-1]
    # The defaults are for corpora of many thousand documents.
    assert table["best"].iloc[-1] < table["perplexity"].iloc[0]
    assert plan_search(CORPUS, "scvb0", epochs=0.5).fixed["epochs"] == 0.5


def test_documents_are_held_out_unless_words_are() -> None:
    with pytest.raises(ParameterError, match="hold out a larger share"):
        tune(CORPUS, "cvb0", 2, **OPTIONS | {"heldout": 1e-9})
    options = {name: value for name, value in OPTIONS.items() if name != "heldout"}
    assert plan_search(CORPUS, "cvb0", **options).split["heldout_documents"] == 0.02
    assert plan_search(CORPUS, "cvb0", **OPTIONS).split["heldout_documents"] == 0.0
    assert plan_search(CORPUS, "cvb0", **options, heldout_documents=0.1).split["heldout_documents"] == 0.1


@for_each(
    "options, says",
    [
        ({"trials": 0}, "trials is 0"),
        ({"alpha": 0.1, "beta": 0.1}, "all settings that could be tuned are given"),
        ({"k": 0}, "k is 0"),
        ({"ranges": ()}, "nothing to tune: it has no steps"),
        ({"ranges": (Range("wings", 0, 1),)}, "no setting 'wings'"),
        ({"method": "acvb0", "ranges": (Range("track", 0, 1),)}, "track is not a number"),
        ({"ranges": (Range("beta", 0.5, 0.5),)}, "must go upwards"),
        ({"ranges": (Range("alpha", 0.0, 1.0, log=True),)}, "above 0"),
        ({"ranges": (Range("alpha", 1.0, 1e9),)}, "alpha is"),
        ({"heldout": 0.0, "heldout_documents": 0.0}, "share above 0"),
    ],
)
def test_wrong_options_are_refused_before_the_first_run(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        plan_search(CORPUS, **{"method": "cvb0", **OPTIONS, **options})


def test_ranges_are_cubes() -> None:
    ranges = (Range("alpha", 0.01, 10.0, log=True), Range("beta", 0.2, 0.6), Range("k", 1, 9))
    space = build_search_space(method_row("lda", "cvb0"), ranges)
    middle = space.values(np.full(3, 0.5))
    assert middle == {"alpha": 0.3162, "beta": 0.4, "k": 5.0}
    np.testing.assert_allclose(space.point(middle), 0.5, atol=1e-4)
    assert space.values(np.zeros(3)) == {"alpha": 0.01, "beta": 0.2, "k": 1.0}
    assert space.values(np.ones(3)) == {"alpha": 10.0, "beta": 0.6, "k": 9.0}
    assert space.holds(middle)
    for name, value in (("alpha", 0.0), ("beta", 0.7), ("k", 20.0)):
        assert not space.holds(middle | {name: value})


def test_runs_that_diverge_or_fail_are_bad_trials() -> None:
    def bad(values: Mapping[str, float]) -> float:
        if values["alpha"] > 0.5:
            return math.inf
        if values["beta"] > 0.05:
            raise FloatingPointError("too large a step")
        return bowl(values)

    found = all_of(told(bad, trials=10))
    table = found.table()
    failed, lost = table["verdict"] == FAILED, table["alpha"] > 0.5
    assert failed.any()
    assert (lost & ~failed).any()
    assert table["perplexity"].isna().equals(failed | lost)
    assert {t.error for t in found.trials if t.verdict == FAILED} == {"FloatingPointError: too large a step"}
    assert (np.diff(table["best"]) <= 0).all()
    with pytest.raises(FloatingPointError, match="too large"):  # of the defaults: nothing else can be better
        all_of(told(lambda values: bad({"alpha": 0.1, "beta": 1.0})))
