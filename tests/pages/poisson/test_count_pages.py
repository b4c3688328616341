"""Poisson block models on the pages: how they are chosen, what is said of weights and hubs, and compared with links."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.data.relation import Network, Relation
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.samples.catalogue import load_sample
from tests.pages.irm.networks import in_use
from tests.pages.session import (
    Open,
    finished,
    frame,
    group,
    jobs_of,
    of_data,
    opened,
    press,
    show_part,
    texts,
)


@pytest.fixture(scope="module")
def novel() -> Result:
    return fit(load_sample("les_miserables").relation, "vb", model="poisson-network", k_rows=8, heldout=0.1)


def test_the_form_says_what_each_model_does_with_the_weights(open_app: Open) -> None:
    """Two models, each with one clustering or two; runs of both hold out the same pairs, and their names differ."""
    in_use(load_sample("les_miserables").relation)
    app = open_app("run")
    assert "uses linked or not linked only" in texts(app)
    press(app, "start")
    app.segmented_control(key=of_data(app, "kind")).set_value("poisson").run()
    assert "The weights of the links are used as counts" in texts(app)
    press(app, "start")
    links, counts = jobs_of(app)
    assert (links.prepared.spec.model, counts.prepared.spec.model) == ("network", "poisson-network")
    assert counts.prepared.heldout.rows.tolist() == links.prepared.heldout.rows.tolist()
    assert counts.prepared.heldout.weights.max() > 1
    assert set(finished(app).dataframe[0].value["Run"]) == {
        "ACVB0 · K 20 · seed 0",
        "ACVB0 · Poisson · K 20 · seed 0",
    }
    app.switch_page("pages/compare.py").run()
    assert not app.exception
    assert "Runs of different models: their held-out scores of links are comparable" in texts(app)
    assert frame(app, "Held-out weights")["Held-out weights"].notna().tolist() == [False, True]
    for part in ("Curves", "Blocks", "Agreement", "Where objects go"):
        show_part(app, part)
        said = "weights of Poisson block models on another" in texts(app)
        assert said == (part == "Blocks")


def test_amounts_are_said_to_be_counted_in_a_unit_and_negative_ones_refused(open_app: Open) -> None:
    rng = np.random.default_rng(0)
    amounts = rng.gamma(2.0, 3.0, (12, 9)) * (rng.random((12, 9)) < 0.5)
    in_use(Relation.build(amounts, threshold=0, name="amounts"))
    app = open_app("run")
    app.segmented_control(key=of_data(app, "kind")).set_value("poisson").run()
    assert "in a larger unit if alike pairs differ more than counts do" in texts(app)
    in_use(Relation.build(amounts - 1.0, threshold=0, name="balances"))
    app = open_app("run")
    assert "start" in {str(button.key) for button in app.button}
    app.segmented_control(key=of_data(app, "kind")).set_value("poisson").run()
    assert "values are below 0" in texts(app)
    assert "start" not in {str(button.key) for button in app.button}


def test_the_page_says_how_rates_are_read_and_shows_hubs_as_such(open_app: Open, novel: Result) -> None:
    """Whether degrees are corrected and why; degrees next to clusters; expected weights of pairs."""
    app = opened(open_app, "blocks", novel)
    _, _, without, corrected = novel.posterior["counting"]
    assert f"evidence {corrected:.4f} nats an entry against {without:.4f} without" in texts(app)
    assert "Link probability inside" not in str(app.dataframe[0].columns)
    members = show_part(app, "Members").dataframe[-1].value.set_index("object")
    weights = novel.prepared.data.links.toarray()
    valjean = novel.prepared.data.row_labels.tolist().index("Valjean")
    assert members.loc["Valjean", ["links", "weight"]].tolist() == [
        (weights[valjean] > 0).sum(),
        weights[valjean].sum(),
    ]
    show_part(app, "Link prediction")
    likely, surprising = (shown.value for shown in app.dataframe[-2:])
    assert (likely["expected"] > 0).all()
    assert {"count", "tail", "expected"} <= set(surprising)
    group(app, "blocks_view").set_value("network").run()
    assert not app.exception


def test_rates_without_correction_are_said_to_be_relative_to_the_mean(open_app: Open) -> None:
    counts = np.random.default_rng(1).poisson(2.0, (9, 9))
    network = Relation.build(counts, threshold=0, name="letters", network=Network(self_links=True))
    result = fit(network, "vb", model="poisson-network", k_rows=3, degree="none")
    app = opened(open_app, "blocks", result)
    assert "Not corrected for activity, as asked. Rates are relative to the overall mean." in texts(app)
    members = show_part(app, "Members").dataframe[-1].value
    assert members["weight_in"].tolist() == counts.sum(axis=0).tolist()
    assert members["links_out"].tolist() == (counts > 0).sum(axis=1).tolist()
