"""Which run a results page shows first, why, and what it remembers of an earlier visit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from acvb_core.data.relation import Relation
from acvb_core.engine.executor import Executor
from acvb_core.engine.fitting import fit
from acvb_core.engine.job import Job
from acvb_core.engine.result import Result
from pages.ui.shared import services
from pages.ui.shared.picking import order_runs
from pages.ui.shared.workspace import Workspace
from tests.pages.session import WORKSPACE, Open, press, select_rows, texts

EXECUTOR = Executor(1)


def relation(seed: int, name: str = "same", **more: Any) -> Relation:
    ones = np.random.default_rng(seed).random((14, 14)) < 0.4
    np.fill_diagonal(ones, False)
    return Relation.build(ones, name=name, **more)


def job(number: int, result: Result) -> Job:
    return Job.restore(result, EXECUTOR, job_id=f"{number:012x}", created=1e9 + number)


def found(data: Relation, method: str = "vb", **more: Any) -> Result:
    return fit(data, method, **{"k_rows": 3, "k_cols": 3, "heldout": 0.3, **more})


def stored(open_app: Open, data: Relation, *results: Result) -> AppTest:
    """Open Home with data in use, and finished runs, oldest first."""
    settings = {"name": data.name, "heldout": 0.3, "heldout_seed": 0}
    services.store().save_dataset(WORKSPACE, data, [], settings)
    for number, result in enumerate(results):
        services.store().save(WORKSPACE, f"{number:012x}", 1e9 + number, result)
    return open_app("home")


def go(app: AppTest, page: str) -> AppTest:
    app.switch_page(f"pages/{page}.py").run()
    assert not app.exception
    return app


def shown(app: AppTest) -> str:
    return str(app.selectbox(key="blocks_run").value)


def score(result: Result) -> float:
    return float(result.snapshot.heldout.log_likelihood)


@pytest.fixture(scope="module")
def runs() -> list[Result]:
    """Three runs on one data set, the one that predicts best in the middle, and the newest run on another."""
    three = sorted((found(relation(0), seed=seed, init="random") for seed in range(3)), key=score)
    assert score(three[0]) < score(three[1]) < score(three[2])
    return [three[0], three[2], three[1], found(relation(1, "other"))]


def test_the_best_held_out_score_comes_first(runs: list[Result]) -> None:
    jobs = [job(number, result) for number, result in enumerate(runs)]
    order, reason = order_runs(jobs, relation(0).fingerprint)
    assert order == [jobs[1], jobs[2], jobs[0], jobs[3]]
    assert reason == "Shown first: the best held-out score of 3 runs on same."
    order, reason = order_runs(jobs, relation(1).fingerprint)
    assert order == [jobs[3], jobs[2], jobs[1], jobs[0]]
    assert reason == "Shown first: the only run on other."
    assert order_runs(jobs, "of data without runs") == (order, reason)
    assert order_runs(jobs[:1], None) == (jobs[:1], "")


def test_scores_of_another_split_are_not_compared(runs: list[Result]) -> None:
    other = found(relation(0), heldout=0.1)
    jobs = [job(number, result) for number, result in enumerate([*runs[:3], other])]
    order, reason = order_runs(jobs, None)
    assert order[0] == jobs[3]
    assert reason == "Shown first: the newest of 4 runs on same."


def test_without_scores_the_best_bound_of_the_newest_method_comes_first() -> None:
    vb = [found(relation(0), seed=seed, init="random", heldout=0.0) for seed in range(2)]
    vb.sort(key=lambda result: -float(result.snapshot.lower_bound or 0))
    jobs = [
        job(number, result) for number, result in enumerate([found(relation(0), "cvb0", heldout=0.0), *vb])
    ]
    order, reason = order_runs(jobs, None)
    assert order == [jobs[1], jobs[2], jobs[0]]
    assert reason == "Shown first: the best lower bound of 2 VB runs on same."
    order, reason = order_runs(jobs[:2], None)
    assert order == [jobs[1], jobs[0]]
    assert reason == "Shown first: the newest of 2 runs on same."


def test_the_page_says_why_it_shows_a_run(open_app: Open, runs: list[Result]) -> None:
    app = go(stored(open_app, relation(0), *runs), "blocks")
    assert shown(app) == f"{1:012x}"
    assert "Shown first: the best held-out score of 3 runs on same." in texts(app)
    app.selectbox(key="blocks_run").set_value(f"{0:012x}").run()
    assert "Shown first" not in texts(app)


def test_a_run_chosen_earlier_is_not_shown_for_other_data(open_app: Open, runs: list[Result]) -> None:
    app = go(stored(open_app, relation(1, "other"), *runs), "blocks")
    app.selectbox(key="blocks_run").set_value(f"{0:012x}").run()
    go(app, "run")
    assert shown(go(app, "blocks")) == f"{0:012x}"  # nothing has changed
    go(app, "run")
    Workspace(WORKSPACE, tab=app.session_state["tab"]).use_data(relation(0).fingerprint)
    assert shown(go(app, "blocks")) == f"{1:012x}"


def test_a_run_shown_by_itself_gives_way_to_a_better_one(open_app: Open, runs: list[Result]) -> None:
    app = go(stored(open_app, relation(0), runs[0], runs[2]), "blocks")
    assert shown(app) == f"{1:012x}"
    go(app, "run")
    better = services.job_manager().add(WORKSPACE, runs[1].prepared)
    assert better.wait(180)
    go(app, "blocks")
    assert shown(app) == better.id
    assert len(app.selectbox(key="blocks_run").options) == 3


def test_the_run_that_was_clicked_is_shown(open_app: Open, runs: list[Result]) -> None:
    app = go(stored(open_app, relation(0), *runs), "blocks")
    go(app, "run")
    press(select_rows(app, len(app.dataframe[0].value) - 1), f"open_{0:012x}")
    assert app.title[0].value == "Blocks"
    assert shown(app) == f"{0:012x}"


def test_the_promise_is_the_smaller_of_limit_and_worst_case(open_app: Open) -> None:
    app = go(stored(open_app, relation(0)), "run")
    promise = next(
        caption for caption in app.caption if "**ACVB0** will end within 5,000 sweeps." in caption.value
    )
    assert "certain only within 200,000 averaged sweeps (2 / tolerance)" in promise.help
