"""Coarser clusters on the Blocks page: the slider, the suggested numbers, the tree, and the files."""

from __future__ import annotations

import re

import pytest

from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.samples.catalogue import load_sample
from acvb_core.samples.planted_relations import planted_relation
from acvb_core.views.theme import cluster_colour
from tests.pages.session import Open, opened, show_part, texts


@pytest.fixture(scope="module")
def karate() -> Result:
    return fit(load_sample("karate").data, "acvb0")


def test_fewer_clusters_are_shown_and_all_of_the_page_follows(open_app: Open, karate: Result) -> None:
    app = opened(open_app, "blocks", karate)
    (slider,) = app.slider
    own = karate.posterior.n_clusters()["rows"]
    assert slider.value == slider.max == own
    slider.set_value(2).run()
    assert not app.exception
    assert f"2 clusters in place of the run's {own}" in texts(app)
    table = next(frame.value for frame in app.dataframe if "inside" in frame.value)
    assert len(table) == 2
    app.slider[0].set_value(3).run()
    swatches = re.findall(r"cluster-head'><span style='background:(#\w+)", texts(app))
    assert swatches == [cluster_colour(k) for k in (1, 2, 4)], "clusters 1 with 5, 2 with 3 and 6, and 4"
    app.button(key=f"level_rows_{own}").click().run()
    assert "in place of" not in texts(app)


def test_the_tree_says_by_which_model_it_is_and_another_one_can_be_chosen(
    open_app: Open, karate: Result
) -> None:
    app = show_part(opened(open_app, "blocks", karate), "Coarser")
    assert "counts that are corrected for activity" in texts(app)
    (way,) = [one for one in app.get("button_group") if one.key.startswith("blocks_tree_way")]
    way.set_value("own").run()
    assert not app.exception
    assert "bound of the run's own model" in texts(app)


def test_a_joined_cluster_can_be_named(open_app: Open, karate: Result) -> None:
    app = opened(open_app, "blocks", karate)
    app.slider[0].set_value(2).run()
    next(one for one in app.text_input if one.label == "Name of cluster 1").set_value("The officers").run()
    assert "“1 · The officers”" in texts(app)
    app.slider[0].set_value(3).run()
    app.slider[0].set_value(2).run()
    assert not app.exception
    assert "“1 · The officers”" in texts(app)


def test_rows_and_columns_have_a_slider_each(open_app: Open) -> None:
    planted = planted_relation(60, 50, 5, 4, 1)
    app = opened(open_app, "blocks", fit(planted.relation, "acvb0"))
    rows, columns = app.slider
    rows.set_value(3).run()
    columns = next(slider for slider in app.slider if "column" in slider.label)
    columns.set_value(2).run()
    assert not app.exception
    assert "Rows: 3 clusters in place of" in texts(app)
    assert "Columns: 2 clusters in place of" in texts(app)
    assert [len(one.value) for one in app.dataframe if "With most links" in one.value] == [3, 2]
