"""The Features page: what it shows of a run on a table, and what it says before there is one."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.models.lfm import answer
from pages.ui.lfm.feature_detail import draw_weights, list_carriers
from pages.ui.lfm.feature_parts import are_in_order
from pages.ui.lfm.feature_view import FeatureView
from pages.ui.lfm.features_page import list_files, list_spread, pack_everything
from tests.pages.lfm.tables import EVIL, N, fitted, opened, part, pictures
from tests.pages.session import Open, chart, texts


def view(result: Result) -> FeatureView:
    return FeatureView(result.posterior, result.prepared.data, result.prepared.train, "run", result)


def without_features() -> Result:
    """A run that ended without any."""
    found = fitted()
    posterior = found.snapshot.posterior
    arrays = dict(posterior.arrays)
    arrays |= {"objects": arrays["objects"][:, :0], "weights": arrays["weights"][:0], "pi": arrays["pi"][:0]}
    snapshot = replace(
        found.snapshot, posterior=replace(posterior, arrays=arrays), effective_k={"features": 0}
    )
    return found.with_state(snapshot=snapshot)


def frames(app: AppTest, *columns: str) -> pd.DataFrame:
    """The table that has these columns."""
    return next(frame.value for frame in app.dataframe if {*columns} <= set(frame.value.columns))


def figure(app: AppTest, said: str) -> dict[str, Any]:
    """The figure that says something."""
    return next(json.loads(one.proto.spec) for one in app.get("plotly_chart") if said in one.proto.spec)


def test_a_run_is_shown(open_app: Open) -> None:
    found = fitted()
    k = found.posterior["weights"].shape[0]
    assert k == 2  # what was planted
    app = opened(open_app, found)
    said = texts(app)
    assert f"small · {N} rows × 6 columns · 4 missing cells · {k} features" in said
    listed = frames(app, "feature", "share", "objects")
    assert listed["feature"].tolist() == [1, 2]
    np.testing.assert_allclose(listed["objects"], found.posterior["objects"].sum(axis=0))
    np.testing.assert_allclose(listed["share"], found.posterior["objects"].mean(axis=0))
    assert len(app.get("download_button")) == 7
    assert "acvb_core.fit(" in app.code[0].value
    assert EVIL not in "".join(str(element.value) for element in [*app.markdown, *app.caption])


def test_strongest_columns_are_in_their_units() -> None:
    shown = view(fitted())
    weights = shown.result.features.iloc[:, 3:].to_numpy()
    np.testing.assert_allclose(shown.own_weights, weights)
    sd = shown.fitted.scale.sd
    for k in (1, 2):
        first = int(np.argmax(np.abs(weights[k - 1] / sd)))
        name, _, number = shown.strongest(k, 1)[0].rpartition(" ")
        assert name == shown.data.columns[first]
        assert float(number.replace(",", "")) == pytest.approx(weights[k - 1, first], rel=0.01)
        _, _, in_sd = shown.strongest(k, 1, own=False)[0].rpartition(" ")
        assert float(in_sd) == pytest.approx(weights[k - 1, first] / sd[first], rel=0.01)


def test_who_has_a_feature() -> None:
    shown = view(fitted())
    listed = list_carriers(shown, 1)
    probability = shown.objects[:, 0]
    assert listed["probability"].min() >= np.sort(probability)[::-1][len(listed) - 1] - 0.01
    by_name = dict(zip(shown.data.rows, probability, strict=True))
    assert [by_name[name] for name in listed["object"]] == listed["probability"].tolist()
    assert set(listed.columns) == {"object", "probability", "strength", "group"}


def test_groups_are_told_by_their_share() -> None:
    shown = view(fitted())
    groups = shown.group_shares(1).set_index("group")
    labels = shown.data.labels
    assert labels is not None
    assert set(groups.index) == {"both", "other"}  # the one that is not known is in none
    for name in groups.index:
        assert groups.loc[name, "share"] == pytest.approx(shown.objects[labels == name, 0].mean())
        assert groups.loc[name, "objects"] == (labels == name).sum()


@pytest.mark.parametrize(
    ("name", "said"),
    [("All features", "Weights of 2 features"), ("History of the run", "Features over the sweeps")],
)
def test_parts(open_app: Open, name: str, said: str) -> None:
    assert figure(part(opened(open_app, fitted()), name), said)["data"]


@pytest.mark.parametrize(
    ("columns", "told"),
    [(["1960", "1961", "1975"], True), (["1960", "1959"], False), (["1", "b"], False), (["7"], False)],
)
def test_columns_in_an_order_of_their_own_keep_it(columns: list[str], told: bool) -> None:
    assert are_in_order(columns) is told


def test_all_objects_and_their_combinations(open_app: Open) -> None:
    app = part(opened(open_app, fitted()), "All objects")
    kinds = len(np.unique(fitted().posterior["objects"] >= 0.5, axis=0))
    assert f"The {N} objects have {kinds} combinations of features" in texts(app)


def test_one_object_step_by_step(open_app: Open) -> None:
    app = part(opened(open_app, fitted()), "One object")
    app.selectbox(key="features_object").set_value(7).run()
    shown = view(fitted())
    table = frames(app, "column", "reconstruction")
    np.testing.assert_allclose(table["value"], shown.data.values[7])
    steps = table[[name for name in table if name.startswith("+ ")]].sum(axis=1)
    np.testing.assert_allclose(table["baseline"] + steps, table["reconstruction"])
    posterior, scale = shown.result.posterior, shown.fitted.scale
    expected = scale.undo(posterior["objects"][7] @ posterior["weights"] + posterior["bias"])
    np.testing.assert_allclose(table["reconstruction"], expected)


def test_pictures_are_shown_as_such(open_app: Open) -> None:
    found = fit(pictures(), "fab", heldout=0.2)
    app = opened(open_app, found)
    assert "picture" in frames(app, "feature", "share").columns
    assert figure(app, "Weights of the pixels")["data"][0]["type"] == "heatmap"
    part(app, "All features")
    assert len(figure(app, "baseline")["layout"]["images"]) == len(found.features) + 1
    assert not [group for group in app.get("button_group") if group.key == "features_units"]
    shown = view(found)
    image = draw_weights(shown, 1, "table")["data"][0]
    assert image["zmax"] == pytest.approx(np.abs(shown.own_weights).max())
    part(app, "One object")


def test_a_run_without_features_says_so(open_app: Open) -> None:
    app = opened(open_app, without_features())
    assert "0 features" in texts(app)
    assert "The run found no feature" in texts(app)
    assert len(app.get("download_button")) == 7
    files = zipfile.ZipFile(io.BytesIO(pack_everything(without_features())))
    assert len(pd.read_csv(files.open("features.csv"))) == 0


def test_large_tables_ask_for_a_name(open_app: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.ui.lfm.feature_parts.MOST_IN_LIST", 10)
    monkeypatch.setattr(answer, "MOST_CELLS", 10)
    app = part(opened(open_app, fitted()), "One object")
    app.text_input(key="features_object_name").set_value("object 9").run()
    table = frames(app, "column", "reconstruction")
    np.testing.assert_allclose(table["value"], fitted().prepared.data.values[9])
    app.text_input(key="features_object_name").set_value("nobody").run()
    assert not app.exception
    assert "No object has this name" in texts(app)
    assert "strength" not in list_carriers(view(fitted()), 1)


def test_files() -> None:
    found = fitted()
    spread = found.prepared.model.spread([found.snapshot.posterior])
    made = {offer.end: offer.make() for offer in list_files(found, lambda: spread)}
    features = pd.read_csv(io.StringIO(str(made["features.csv"])))
    np.testing.assert_allclose(features["share"], found.features["share"])
    objects = pd.read_csv(io.StringIO(str(made["objects.csv"])))
    np.testing.assert_allclose(objects["feature_1"], found.posterior["objects"][:, 0])
    assert len(pd.read_csv(io.StringIO(str(made["columns.csv"])))) == 6
    archive = zipfile.ZipFile(io.BytesIO(bytes(made["everything.zip"])))  # type: ignore[arg-type]
    assert {"features.csv", "objects.csv", "columns.csv", "run.json", "posterior.npz"} <= set(
        archive.namelist()
    )
    assert archive.read("features.csv").decode() == made["features.csv"]


def test_features_of_one_run_are_said_to_be_those_of_one_seed(open_app: Open) -> None:
    app = part(opened(open_app, fitted()), "How sure?")
    assert "These features come from one run" in texts(app)
    assert "given this run's features" in texts(app)
    spread = fitted().prepared.model.spread([fitted().snapshot.posterior])
    table = list_spread(spread)
    assert len(table) == 2 * 6
    assert table[["low", "high", "share_low", "share_high"]].isna().all(axis=None)
    assert (table["runs"] == 1).all()


def test_a_sampler_shows_how_many_of_its_samples_have_a_feature(open_app: Open) -> None:
    found = fitted("ibp", burn_in=20, max_sweeps=60)
    app = part(opened(open_app, found), "How sure?")
    assert "given this run's features" in texts(app)
    listed = next(frame.value for frame in app.dataframe if "Samples" in frame.value)
    assert listed["Samples"].tolist() == found.posterior["in_samples"].tolist()
    weights = next(frame.value for frame in app.dataframe if "Standard deviation" in frame.value)
    assert not {"Lowest", "Highest"} & {*listed, *weights}
    assert (weights["Standard deviation"] > 0).all()


def test_seeds_that_start_alike_are_said_to_show_little(open_app: Open) -> None:
    app = part(opened(open_app, fitted(seed=0), fitted(seed=1)), "How sure?")
    assert "many runs begin with the independent components" in texts(app)


def test_features_are_shown_with_their_range_over_seeds(open_app: Open) -> None:
    runs = [fitted(init="random", seed=seed) for seed in (0, 1, 2)]
    app = opened(open_app, *runs)
    app.selectbox(key="features_run").set_value(f"{0:012x}").run()
    part(app, "How sure?")
    listed, weights = (frame.value for frame in app.dataframe if "Lowest" in frame.value)
    assert listed["Runs"].tolist() == ["3 of 3", "3 of 3"]
    ranges = [frame for frame in app.dataframe if "Lowest" in frame.value]
    assert {frame.proto.placeholder for frame in ranges} == {
        "–"
    }  # not "None", where one run alone has a feature
    assert listed["Share"].tolist() == pytest.approx(runs[0].features["share"].tolist())
    assert (listed["Lowest"] <= listed["Share"]).all()
    assert (listed["Share"] <= listed["Highest"]).all()
    assert "begin with the independent components" not in texts(app)
    own = dict(zip(weights["Column"], weights["Weight"], strict=True))
    assert own == pytest.approx(dict(runs[0].features.iloc[0, 3:]))
    app.segmented_control(key="features_units").set_value("sd").run()
    weights = next(frame.value for frame in app.dataframe if "Weight" in frame.value)
    strongest = weights.iloc[0]
    sd = dict(zip(runs[0].prepared.data.columns, view(runs[0]).sd, strict=True))[strongest["Column"]]
    assert strongest["Weight"] == pytest.approx(own[strongest["Column"]] / sd)
    assert strongest["Lowest"] <= strongest["Weight"] <= strongest["Highest"]


def test_a_phone_has_columns_below_each_other_and_few_pictures_side_by_side(open_app: Open) -> None:
    app = opened(open_app, fitted(), fit(pictures(), "fab", seed=0))
    app.selectbox(key="features_run").set_value(f"{0:012x}").run()
    part(app, "All features")
    names = set(chart(app, "feature_map")["layout"]["xaxis"]["ticktext"])
    app.session_state["is_narrow"] = True  # as the browser reports it
    app.run()
    assert set(chart(app, "feature_map")["layout"]["yaxis"]["ticktext"]) == names
    app.selectbox(key="features_run").set_value(f"{1:012x}").run()
    assert not app.exception
    layout = chart(app, "feature_images")["layout"]
    across, down = ({picture[axis] for picture in layout["images"]} for axis in "xy")
    assert 1 < len(across) <= 3
    assert layout["height"] <= max(200, 130 * len(down) + 50)  # as high as a phone is wide, for three rows
