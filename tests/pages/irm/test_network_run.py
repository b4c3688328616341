"""Runs on networks: one clustering or two, on the Run page, the Compare page, the home page and in the Guide."""

from __future__ import annotations

import pandas as pd
from streamlit.testing.v1 import AppTest

from acvb_core.data.relation import Network, Relation
from acvb_core.engine.result import Result
from acvb_core.registry import methods_of
from acvb_core.views.comparison_table import clusters_of
from pages.ui.shared import format as say
from pages.ui.shared import services
from pages.ui.shared.model_pages import pages_of_model
from tests.pages.irm.networks import fitted, friends, in_use, stored
from tests.pages.session import WORKSPACE, Open, jobs_of, keys, of_data, press, texts, until


def run_page(open_app: Open, *, directed: bool = False) -> AppTest:
    in_use(friends(directed=directed))
    return open_app("run")


def sizes(app: AppTest) -> list[str]:
    """Keys of the fields that ask for numbers of clusters."""
    return [
        str(field.key)
        for field in app.number_input
        if "_k_rows_" in str(field.key) or "_k_cols_" in str(field.key)
    ]


def finish(app: AppTest) -> AppTest:
    until(app, lambda: not any(job.inspect().status.active for job in jobs_of(app)))
    return app.run()


def test_the_form_offers_one_clustering_first_and_has_one_size(open_app: Open) -> None:
    app = run_page(open_app)
    assert app.segmented_control(key=of_data(app, "model")).options == [
        pages_of_model("network").way,
        pages_of_model("irm").way,
    ]
    assert app.segmented_control(key=of_data(app, "model")).value == "network"
    assert app.pills(key=of_data(app, "methods_network")).options == [
        row.label for row in methods_of("network")
    ]
    assert len(sizes(app)) == 1
    assert app.number_input(key=sizes(app)[0]).label == "Starting number of clusters"
    assert "row" not in " ".join(field.label for field in app.number_input).lower()


def test_runs_of_both_ways_hold_out_the_same_pairs(open_app: Open) -> None:
    app = run_page(open_app)
    app.pills(key=of_data(app, "methods_network")).set_value(["cvb0"]).run()
    press(app, "start")
    app.segmented_control(key=of_data(app, "model")).set_value("irm").run()
    assert len(sizes(app)) == 2
    app.pills(key=of_data(app, "methods_irm")).set_value(["cvb0"]).run()
    press(app, "start")
    one, two = jobs_of(app)
    assert (one.prepared.spec.model, two.prepared.spec.model) == ("network", "irm")
    assert one.prepared.heldout.rows.tolist() == two.prepared.heldout.rows.tolist()
    assert one.prepared.heldout.columns.tolist() == two.prepared.heldout.columns.tolist()
    listed = set(finish(app).dataframe[0].value["Run"])
    assert listed == {"CVB0 · K 20 × 20 · seed 0 · two clusterings", "CVB0 · K 20 · seed 0 · one clustering"}
    assert list(say.label_runs([one, two]).values()) == ["CVB0 · K 20 · seed 0", "CVB0 · K 20 × 20 · seed 0"]
    assert [link.proto.label for link in app.get("page_link")].count("See the blocks") == 1


def both(**settings: object) -> list[Result]:
    network = friends()
    return [
        fitted(network, "cvb0", heldout=0.2, **settings),
        fitted(network, "vb", heldout=0.2, **settings),
        fitted(network, "cvb0", "irm", heldout=0.2, k_cols=4, **settings),
    ]


def test_one_clustering_and_two_are_compared(open_app: Open) -> None:
    results = both()
    stored(*results)
    app = open_app("compare")
    assert not app.exception
    table: pd.DataFrame = app.dataframe[0].value
    assert table.index.tolist() == ["CVB0 · K 4", "VB · K 4", "CVB0 · K 4 × 4"]
    assert table["AUC"].notna().all()
    assert "held-out scores are of the same pairs" in texts(app)
    # One clustering stands on both sides: it can be held against either of the two.
    for group in app.get("button_group"):
        if group.key == "compare_domain":
            group.set_value("cols")
    app.run()
    assert not app.exception


def test_one_clustering_stands_on_both_sides() -> None:
    # The first eight write to the five in the middle: who writes alike is not who is written to alike.
    links = [[int(i < 8 <= j < 13) for j in range(20)] for i in range(20)]
    network = Relation.build(links, name="letters", network=Network(directed=True))
    one, two = fitted(network, "vb"), fitted(network, "vb", "irm", k_cols=4)
    assert (clusters_of([one], "cols")[0] + 1).tolist() == one.labels("rows").tolist()
    assert (clusters_of([two], "cols")[0] + 1).tolist() == two.labels("cols").tolist()
    assert two.labels("cols").tolist() != two.labels("rows").tolist()


def test_a_network_whose_only_pair_is_held_out_cannot_be_started(open_app: Open) -> None:
    pair = Relation.build([[0, 1], [1, 0]], name="pair", network=Network(directed=False))
    services.store().save_dataset(WORKSPACE, pair, [], {"name": "pair", "heldout": 0.9, "heldout_seed": 0})
    app = open_app("run")
    assert "there is no pair to learn from" in texts(app)
    assert "start" not in keys(app)
