"""The Blocks page: what it shows of a run, and what it says before there is one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from acvb_core.data.network import with_attributes
from acvb_core.data.relation import Relation
from acvb_core.engine.executor import Status
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.models.irm.scores import range_of_clusters
from acvb_core.samples.catalogue import load_sample
from pages.ui.shared.workspace import view_id
from tests.pages.session import (
    WORKSPACE,
    Open,
    chart,
    frame,
    group,
    jobs_of,
    keys,
    opened,
    press,
    show_part,
    texts,
    until,
)


@pytest.fixture(scope="module")
def women() -> Result:
    return fit(load_sample("southern_women").relation, "vb")


def test_one_press_runs_three_more_seeds_and_says_how_far_they_agree(open_app: Open, women: Result) -> None:
    app = press(opened(open_app, "blocks", women), "more_seeds")
    until(app, lambda: all(job.outline.verdict is not None for job in jobs_of(app)))
    assert [job.outline.spec.seed for job in jobs_of(app)] == [0, 1, 2, 3]
    assert len({str({**job.outline.spec.to_dict(), "seed": 0}) for job in jobs_of(app)}) == 1
    app.run()
    assert "Four seeds agree" in texts(app)
    assert "Their lower bounds differ by " in texts(app)
    press(app, "more_seeds")
    assert [job.outline.spec.seed for job in jobs_of(app)] == [0, 1, 2, 3, 4, 5, 6]
    viewer = open_app("blocks", workspace=view_id(WORKSPACE))
    assert "more_seeds" not in keys(viewer)


def test_a_run_is_shown(open_app: Open, women: Result) -> None:
    app = opened(open_app, "blocks", women)
    assert "southern_women · 18 × 14 · 89 links · 2 × 3 clusters" in texts(app)
    assert "2 × 3 clusters. Converged." in texts(app)
    assert app.dataframe[0].value["Objects"].sum() == 18
    assert app.dataframe[1].value["Objects"].sum() == 14
    drawn = {"Strengths and sizes": 4, "How firm?": 3, "As read": 2, "Known labels": 1, "Link prediction": 1}
    for part, charts in drawn.items():
        show_part(app, part)
        assert len(app.get("plotly_chart")) == charts
    assert "acvb_core.fit(" in app.code[0].value


def test_the_page_says_how_firm_clusters_are(open_app: Open, women: Result) -> None:
    """The range of the samples, and the objects without a firm place."""
    app = opened(open_app, "blocks", women)
    ranges = range_of_clusters(women.posterior)
    samples = " × ".join("{} to {}".format(*one) for one in ranges.values())
    assert f"2 × 3 clusters (samples: {samples})" in texts(app)
    show_part(app, "How firm?")
    loose = women.rows["probability"] < 0.5
    assert 0 < loose.sum() < 18
    columns = (women.columns["probability"] < 0.5).sum()
    assert f"{loose.sum()} of 18 rows and {columns} of 14 columns have no firm place" in texts(app)
    show_part(app, "Members")
    app.toggle(key="member_loose").set_value(True).run()
    assert app.dataframe[-1].value["object"].tolist() == women.rows["object"][loose].tolist()


@pytest.mark.whole_chain
def test_a_chain_that_has_not_mixed_is_warned_of(open_app: Open) -> None:
    novel = fit(load_sample("les_miserables").relation, "acvb0", seed=2, heldout=0.1)
    assert novel.chain is not None
    assert novel.chain.r_hat > 1.1
    app = show_part(opened(open_app, "blocks", novel), "How firm?")
    (warning,) = app.warning
    assert warning.value.startswith(f"140 samples, worth {novel.chain.effective_size:.0f} independent ones")
    assert "intervals may be too narrow" in warning.value
    app.switch_page("pages/run.py").run()
    assert any("chain has not mixed" in badge.value for badge in app.markdown)


def test_a_run_without_samples_says_that_it_takes_the_clusters_as_certain(
    open_app: Open, women: Result
) -> None:
    app = opened(open_app, "blocks", fit(women.prepared.data, "acvb0", init="random", k_rows=3, k_cols=3))
    show_part(app, "How firm?")
    assert any("takes the clusters as certain" in caption.value for caption in app.caption)
    assert "samples:" not in texts(app)
    assert not app.toggle


def test_a_run_that_uses_all_its_clusters_is_run_again_with_twice_as_many(
    open_app: Open, women: Result
) -> None:
    """With the same settings otherwise; a viewer of the workspace only reads the advice."""
    full = fit(women.prepared.data, "vb", k_rows=2, k_cols=9, split=False, heldout=0.1, seed=3)
    assert full.full_domains == {"rows": 2}
    app = opened(open_app, "blocks", full)
    assert any("All 2 row clusters that the run may have are in use" in one.value for one in app.caption)
    press(app, "blocks_more")
    (more,) = [job for job in jobs_of(app) if job.id != f"{0:012x}"]
    until(app, lambda: more.inspect().status is Status.FINISHED)
    settings, before = more.prepared.spec, full.prepared.spec
    assert settings == replace(before, values={**before.values, "k_rows": 4})
    viewer = open_app("blocks", None, view=view_id(WORKSPACE))
    assert not [button for button in viewer.button if button.key == "blocks_more"]


def test_members_can_be_searched_and_switched(open_app: Open, women: Result) -> None:
    app = show_part(opened(open_app, "blocks", women), "Members")
    app.text_input(key="member_search").set_value("EVELYN (").run()
    assert len(app.dataframe[-1].value) == 0
    app.text_input(key="member_search").set_value("evelyn").run()
    assert app.dataframe[-1].value["object"].tolist() == ["Evelyn Jefferson"]
    app.text_input(key="member_search").set_value("")
    group(app, "member_domain").set_value("cols").run()
    assert len(app.dataframe[-1].value) == 14
    app.multiselect(key="member_clusters_cols").set_value([1]).run()
    assert set(app.dataframe[-1].value["cluster"]) == {1}


def test_clusters_of_columns_are_named_and_single_columns_explained(open_app: Open, women: Result) -> None:
    app = opened(open_app, "blocks", women)
    group(app, "card_domain").set_value("cols").run()
    app.text_input(key=f"name_cols_{0:012x}_1").set_value("First events").run()
    assert "3 clusters of 14 columns (event): “1 · First events” (" in texts(app)
    show_part(app, "One object")
    group(app, "object_domain").set_value("cols").run()
    event = int((women.columns["cluster"] == 1).argmax())
    app.selectbox(key="object_cols").set_value(event).run()
    assert "It is in “1 · First events”." in texts(app)
    alternatives, reasons, linked, unlinked = (one.value for one in app.dataframe[-4:])
    assert alternatives["shown"].iloc[0] == "1 · First events"
    assert alternatives["log_odds"].iloc[1] > 0.0
    assert reasons["links"].sum() == women.prepared.data.ones.toarray()[:, event].sum()
    assert linked["linked"].all()
    assert not unlinked["linked"].any()
    assert len(linked) + len(unlinked) == 18
    assert app.query_params["object"] == women.columns["object"][event]


def test_an_enlarged_part_can_be_left_again(open_app: Open, women: Result) -> None:
    app = opened(open_app, "blocks", women)
    app.session_state["blocks_window"] = (f"{0:012x}", (2, 9, 1, 6))
    app.run()
    assert "Rows 3 to 9 of 18, columns 2 to 6 of 14" in texts(app)
    press(app, "blocks_reset")
    assert "Rows 3 to" not in texts(app)
    app.session_state["blocks_window"] = ("another run", (2, 9, 1, 6))
    assert "Rows 3 to" not in texts(app.run())


@pytest.fixture(scope="module")
def purchases() -> Result:
    """Customers who buy products of two kinds, both known by numbers; the file has names of the products."""
    rows, columns = np.arange(24) % 2, np.arange(16) % 2
    bought = np.random.default_rng(2).random((24, 16)) < np.where(rows[:, None] == columns, 0.8, 0.05)
    relation = Relation.build(
        bought,
        row_labels=[str(100 + i) for i in range(24)],
        column_labels=[str(i + 1) for i in range(16)],
        name="purchases",
        row_kind="customer_id",
        column_kind="product_id",
    )
    words = ["Ball", "Pan", "Doll", "Spoon", "Kite", "Knife", "Train", "Kettle"] * 2
    known = {"product_name": [*words[:8], "Ball", *(f"{word} two" for word in words[9:])]}
    return fit(with_attributes(relation, known, "cols"), "cvb0", seed=1)


def test_objects_are_shown_by_names_or_by_ids(open_app: Open, purchases: Result) -> None:
    app = opened(open_app, "blocks", purchases)
    assert [(one.label, one.value) for one in app.selectbox if one.key.startswith("names_")] == [
        ("Show columns by", "product_name")
    ]
    assert "Ball (1)" in str(chart(app, "blocks_sorted")["data"])
    show_part(app, "Members")
    group(app, "member_domain").set_value("cols").run()
    members = app.dataframe[-1].value
    assert {"Ball (1)", "Ball (9)", "Pan"} <= set(members["object"])
    app.text_input(key="member_search").set_value("16").run()  # an id finds it, too
    assert app.dataframe[-1].value["object"].tolist() == ["Kettle two"]
    show_part(app, "One object")
    group(app, "object_domain").set_value("cols").run()
    app.selectbox(key="object_cols").set_value(8).run()
    assert "Ball (9) · 9" in app.selectbox(key="object_cols").options
    assert app.query_params["object"] == "9"
    app.selectbox(key="names_cols").set_value("").run()
    assert app.query_params["columns-by"] == "product_id"
    assert "Ball (1)" not in str(chart(app, "blocks_sorted")["data"])
    show_part(app, "Members")
    group(app, "member_domain").set_value("cols").run()
    assert set(app.dataframe[-1].value["object"]) <= set(map(str, range(1, 17)))


def test_labels_of_columns_can_be_brought(open_app: Open, purchases: Result) -> None:
    app = show_part(opened(open_app, "blocks", purchases), "Known labels")
    group(app, "label_domain").set_value("cols").run()
    assert "The column objects have no known labels of groups" in texts(app)
    kinds = "product,kind\n" + "".join(f"{i + 1},{('toy', 'kitchen')[i % 2]}\n" for i in range(16))
    app.file_uploader(key="blocks_cols_labels").upload("kinds.csv", kinds.encode()).run()
    line = frame(app, "ari").iloc[0]
    assert (line["attribute"], line["known"]) == ("kind", 16)
    assert line["ari"] == pytest.approx(1.0)
    show_part(app, "Clusters")
    group(app, "card_domain").set_value("cols").run()
    assert texts(app).count("ore with kind “toy” (100 % against 0 %)") == 1
    group(app, "card_domain").set_value("rows").run()
    assert texts(app).count(" % of kind “toy” on average") == 1
