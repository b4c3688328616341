"""Runs on networks: one clustering or two, on the Run page and on Compare."""

from __future__ import annotations

from acvb_core.data.relation import Network, Relation
from acvb_core.registry import methods_of
from acvb_core.views.comparison_table import clusters_of
from pages.ui.shared import services
from tests.pages.irm.networks import fitted, friends, in_use
from tests.pages.session import WORKSPACE, Open, finished, jobs_of, keys, of_data, press, texts


def test_the_form_offers_one_clustering_first_and_has_one_size(open_app: Open) -> None:
    in_use(friends())
    app = open_app("run")
    assert app.segmented_control(key=of_data(app, "model_irm")).value == "network"
    offered = app.pills(key=of_data(app, "methods_network")).options
    assert offered == [row.label for row in methods_of("network")]
    (size,) = (field for field in app.number_input if "_k_rows_" in str(field.key))
    assert size.label == "Starting number of clusters"
    assert "row" not in " ".join(field.label for field in app.number_input).lower()


def test_runs_of_both_ways_hold_out_the_same_pairs(open_app: Open) -> None:
    in_use(friends())
    app = open_app("run")
    for model in ("network", "irm"):
        app.segmented_control(key=of_data(app, "model_irm")).set_value(model).run()
        app.pills(key=of_data(app, f"methods_{model}")).set_value(["cvb0"]).run()
        press(app, "start")
    one, two = jobs_of(app)
    assert (one.prepared.spec.model, two.prepared.spec.model) == ("network", "irm")
    assert one.prepared.heldout.rows.tolist() == two.prepared.heldout.rows.tolist()
    assert one.prepared.heldout.columns.tolist() == two.prepared.heldout.columns.tolist()
    listed = set(finished(app).dataframe[0].value["Run"])
    assert listed == {"CVB0 · K 20 × 20 · seed 0 · two clusterings", "CVB0 · K 20 · seed 0 · one clustering"}


def test_one_clustering_is_compared_on_both_sides() -> None:
    # The first eight write to the five in the middle: senders alike are not receivers alike.
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
