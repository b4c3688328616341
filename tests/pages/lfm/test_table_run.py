"""Runs on tables, on the pages that they share with others: form, cards, curves, home, comparison."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from acvb_core.core.display import write_number
from acvb_core.models.lfm.answer import match_features
from acvb_core.views.convergence import live_figure
from pages.ui.lfm.compare_features import list_pairs
from pages.ui.lfm.feature_view import FeatureView
from pages.ui.running.live import build_curves
from pages.ui.shared import services
from tests.pages.lfm.tables import N, fitted, opened, small_table
from tests.pages.lfm.test_features_page import without_features
from tests.pages.session import WORKSPACE, Open, jobs_of, of_data, press, show_part, texts, until


def run_page(open_app: Open, heldout: float = 0.2) -> AppTest:
    """The Run page, with a small table as the data in use."""
    about = {"name": "small", "heldout": heldout}
    services.store().save_dataset(WORKSPACE, small_table(), [], about)
    app = open_app("run")
    assert not app.exception
    return app


def chosen(app: AppTest) -> list[str]:
    return list(app.pills(key=of_data(app, "methods_lfm")).value)


def finished(app: AppTest) -> AppTest:
    until(app, lambda: not any(job.inspect().status.active for job in jobs_of(app)))
    return app.run()


def test_runs_are_started_and_listed(open_app: Open) -> None:
    app = run_page(open_app)
    app.pills(key=of_data(app, "methods_lfm")).set_value(["fab", "em", "vb"])
    app = finished(press(app.run(), "start"))
    jobs = jobs_of(app)
    assert [job.prepared.row.name for job in jobs] == ["fab", "em", "vb"]
    assert all(job.inspect().verdict is not None for job in jobs)
    score, _, _, of_means = jobs[0].inspect().snapshot.heldout
    line = app.dataframe[0].value.iloc[-1]  # the newest comes first
    assert line["Held-out score"] == (
        f"log likelihood {write_number(score)} (column means {write_number(of_means)})"
    )
    assert line["Result"] == "2 features"
    assert app.get("page_link")
    home = open_app()
    assert "2 features" in home.dataframe[0].value["Result"].tolist()


def test_restarts_need_hidden_cells(open_app: Open) -> None:
    app = run_page(open_app, heldout=0.0)
    field = app.number_input(key="no_restarts")
    assert field.disabled
    assert "Nothing is held out" in field.help
    assert not [one for one in app.number_input if str(one.key).startswith("restarts")]
    press(app, "start")
    assert all(job.prepared.spec.restarts == 1 for job in jobs_of(app))


def test_curves_are_by_the_object_and_the_cell(open_app: Open) -> None:
    app = finished(press(run_page(open_app), "start"))
    jobs = jobs_of(app)
    shown = build_curves(jobs, {job.id: job.prepared.row.label for job in jobs})
    assert {run.unit for run in shown} == {float(N)}
    layout = live_figure(shown)["layout"]
    titles = " ".join(note["text"] for note in layout["annotations"])
    for words in ("Lower bound per object", "Held-out log likelihood per cell", "Change in assignments",
                  "Training log likelihood per cell", "Features in use", "Noise"):  # fmt: skip
        assert words in titles
    history = shown[0].history
    np.testing.assert_allclose(shown[0].column("bound_per_unit"), history.column("lower_bound") / N)
    assert "Leave-one-out" not in titles
    (level,) = [shape for shape in layout["shapes"] if "column means" in shape["label"]["text"]]
    assert level["y0"] == pytest.approx(history.last_value("heldout_means_log_likelihood"))


def test_without_hidden_cells_there_is_no_such_curve(open_app: Open) -> None:
    app = finished(press(run_page(open_app, heldout=0.0), "start"))
    jobs = jobs_of(app)
    titles = str(live_figure(build_curves(jobs, {job.id: "x" for job in jobs}))["layout"]["annotations"])
    assert "Training log likelihood" in titles
    assert "Held-out" not in titles
    assert not any(app.dataframe[0].value["Held-out score"])


def test_features_of_two_runs_are_paired(open_app: Open) -> None:
    app = show_part(opened(open_app, fitted(), fitted(seed=1), page="compare"), "Features")
    assert "All matched." in texts(app)
    table = next(frame.value for frame in app.dataframe if "Pairs with" in frame.value)
    assert table["Similarity"].min() > 0.95
    app.selectbox(key="features_other").set_value(0).run()
    assert not app.exception
    assert "Choose two different runs" in texts(app)


def test_pairs_tell_what_each_weighs() -> None:
    results = [fitted(), fitted("em")]
    one, other = (
        FeatureView(found.posterior, found.prepared.data, found.prepared.train, "x", found)
        for found in results
    )
    match = match_features(one.objects, other.objects)
    frame = list_pairs(match, (one, other))
    assert len(frame) == 2
    for line in frame.itertuples():
        assert line[3] == ", ".join(one.strongest(line.Feature))
        assert line[5] == ", ".join(other.strongest(line[4]))
        assert line.Share == one.shares[line.Feature - 1]


def test_a_run_without_features_can_be_compared(open_app: Open) -> None:
    app = show_part(opened(open_app, fitted(), without_features(), page="compare"), "Features")
    assert "found no feature" in texts(app)
