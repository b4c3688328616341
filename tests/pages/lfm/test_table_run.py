"""Runs on tables, on the pages that they share with others: form, cards, curves, home, comparison."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from acvb_core.core.display import write_number
from acvb_core.models.lfm.features import match_features
from acvb_core.views.convergence import live_figure
from pages.ui.lfm.compare_features import list_pairs
from pages.ui.lfm.feature_view import FeatureView
from pages.ui.running.live import build_curves
from pages.ui.shared import services
from tests.pages.lfm.tables import N, fitted, small_table
from tests.pages.session import WORKSPACE, Open, finished, jobs_of, of_data, press


def run_page(open_app: Open, heldout: float = 0.2) -> AppTest:
    """The Run page, with a small table as the data in use."""
    about = {"name": "small", "heldout": heldout}
    services.store().save_dataset(WORKSPACE, small_table(), [], about)
    return open_app("run")


def test_runs_are_started_and_listed(open_app: Open) -> None:
    app = run_page(open_app)
    app.pills(key=of_data(app, "methods_lfm")).set_value(["fab", "em", "vb"])
    app = finished(press(app.run(), "start"))
    jobs = jobs_of(app)
    assert [job.prepared.row.name for job in jobs] == ["fab", "em", "vb"]
    assert all(job.inspect().verdict is not None for job in jobs)
    score, _, _, of_means = jobs[0].inspect().snapshot.heldout
    line = app.dataframe[0].value.iloc[-1]  # the newest comes first
    means = f"(column means {write_number(of_means)})"
    assert line["Held-out score"] == f"log likelihood {write_number(score)} {means}"
    assert line["Result"] == "2 features"
    assert app.get("page_link")
    home = open_app()
    assert "2 features" in home.dataframe[0].value["Result"].tolist()


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
        feature, pair = int(line.Feature.partition(" · ")[0]), line[5]
        assert line.Feature == one.write(feature)
        assert line[4] == f"{feature} · {other.names[pair - 1]}", "the number of its partner"
        assert line[3] == ", ".join(one.strongest(feature))
        assert line[6] == ", ".join(other.strongest(pair))
        assert line.Share == one.shares[feature - 1]
