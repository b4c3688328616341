"""Coarser clusters on the Blocks page: the slider, the suggested numbers, the tree, and the files."""

from __future__ import annotations

import pytest

from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.samples.catalogue import load_sample
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
