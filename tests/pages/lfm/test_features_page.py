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
from acvb_core.models.lfm import features as answer
from pages.ui.lfm.feature_detail import draw_weights, list_carriers
from pages.ui.lfm.feature_view import FeatureView
from pages.ui.lfm.features_page import list_files, pack_everything
from pages.ui.lfm.overview_table import shape_columns
from tests.pages.lfm.tables import EVIL, N, fitted, pictures, small_table
from tests.pages.session import Open, frame, opened, show_part, texts


def view(result: Result) -> FeatureView:
    return FeatureView(result.posterior, result.prepared.data, result.prepared.train, "run", result)


def without_features() -> Result:
    """A run that ended without any."""
    found = fitted()
    posterior = found.snapshot.posterior
    arrays = dict(posterior.arrays)
    arrays |= {"objects": arrays["objects"][:, :0], "weights": arrays["weights"][:0], "pi": arrays["pi"][:0]}
    empty = replace(posterior, arrays=arrays)
    return found.with_state(snapshot=replace(found.snapshot, posterior=empty, effective_k={"features": 0}))


def figure(app: AppTest, said: str) -> dict[str, Any]:
    """The figure that says something."""
    return next(json.loads(one.proto.spec) for one in app.get("plotly_chart") if said in one.proto.spec)


def test_a_run_is_shown(open_app: Open) -> None:
    found = fitted()
    k = found.posterior["weights"].shape[0]
    assert k == 2  # what was planted
    app = opened(open_app, "features", found)
    said = texts(app)
    assert f"small · {N} rows × 6 columns · 4 missing cells · {k} features" in said
    listed = frame(app, "feature", "share", "objects")
    assert listed["feature"].tolist() == [1, 2]
    np.testing.assert_allclose(listed["objects"], found.posterior["objects"].sum(axis=0))
    np.testing.assert_allclose(listed["share"], found.posterior["objects"].mean(axis=0))
    assert "acvb_core.fit(" in app.code[0].value
    assert EVIL not in "".join(str(element.value) for element in [*app.markdown, *app.caption])


def test_strongest_columns_are_in_their_units() -> None:
    shown = view(fitted())
    weights = shown.result.features.iloc[:, 4:].to_numpy()
    np.testing.assert_allclose(shown.own_weights, weights)
    sd = shown.fitted.scale.sd
    for k in (1, 2):
        first = int(np.argmax(np.abs(weights[k - 1] / sd)))
        name, _, number = shown.strongest(k, 1)[0].rpartition(" ")
        assert name == shown.data.columns[first]
        assert float(number.replace(",", "")) == pytest.approx(weights[k - 1, first], rel=0.01)
        _, _, in_sd = shown.strongest(k, 1, own=False)[0].rpartition(" ")
        assert float(in_sd) == pytest.approx(weights[k - 1, first] / sd[first], rel=0.01)


def test_one_object_step_by_step(open_app: Open) -> None:
    app = show_part(opened(open_app, "features", fitted()), "One object")
    app.selectbox(key="features_object").set_value(7).run()
    shown = view(fitted())
    table = frame(app, "column", "reconstruction")
    np.testing.assert_allclose(table["value"], shown.data.values[7])
    steps = table[[name for name in table if name.startswith("+ ")]].sum(axis=1)
    np.testing.assert_allclose(table["baseline"] + steps, table["reconstruction"])
    posterior, scale = shown.result.posterior, shown.fitted.scale
    expected = scale.undo(posterior["objects"][7] @ posterior["weights"] + posterior["bias"])
    np.testing.assert_allclose(table["reconstruction"], expected)


def test_pictures_are_shown_as_such(open_app: Open) -> None:
    found = fit(pictures(), "fab", heldout=0.2)
    app = opened(open_app, "features", found)
    assert "picture" in frame(app, "feature", "share").columns
    assert figure(app, "Weights of the pixels")["data"][0]["type"] == "heatmap"
    show_part(app, "All features")
    assert len(figure(app, "baseline")["layout"]["images"]) == len(found.features) + 1
    assert not [group for group in app.get("button_group") if group.key == "features_units"]
    shown = view(found)
    image = draw_weights(shown, 1, "table")["data"][0]
    assert image["zmax"] == pytest.approx(np.abs(shown.own_weights).max())
    show_part(app, "One object")


def test_a_run_without_features_says_so(open_app: Open) -> None:
    app = opened(open_app, "features", without_features())
    assert "0 features" in texts(app)
    assert "The run found no feature" in texts(app)
    files = zipfile.ZipFile(io.BytesIO(pack_everything(without_features())))
    assert len(pd.read_csv(files.open("features.csv"))) == 0


def test_large_tables_ask_for_a_name(open_app: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.ui.lfm.feature_parts.MOST_IN_LIST", 10)
    monkeypatch.setattr(answer, "MOST_CELLS", 10)
    app = show_part(opened(open_app, "features", fitted()), "One object")
    app.text_input(key="features_object_name").set_value("object 9").run()
    table = frame(app, "column", "reconstruction")
    np.testing.assert_allclose(table["value"], fitted().prepared.data.values[9])
    app.text_input(key="features_object_name").set_value("nobody").run()
    assert "No object has this name" in texts(app)
    assert "strength" not in list_carriers(view(fitted()), 1)


def test_names_that_repeat_and_days_are_shown_with_the_numbers_of_objects(open_app: Open) -> None:
    names, days = [f"car {i % 7}" for i in range(80)], np.full(80, "1970-01-02", dtype="datetime64[s]")
    found = fit(small_table(metadata={"car": names, "object": days}), "fab")
    listed = list_carriers(view(found), 1)
    places = [found.prepared.data.rows.tolist().index(name) for name in listed["object"]]
    assert listed["car"].tolist() == [names[at] for at in places]
    assert listed["known object"].dt.strftime("%F").unique().tolist() == ["1970-01-02"]
    assert shape_columns(listed)["known object"]["type_config"]["type"] == "date"
    app = show_part(opened(open_app, "features", found), "One object")
    assert {"car: car 0", "object: 1970-01-02"} <= {text.value for text in app.text}
    assert any("object 0" in chart.proto.spec for chart in app.get("plotly_chart"))


def test_files() -> None:
    found = fitted()
    spread = found.prepared.model.spread([found.snapshot.posterior])
    made = {offer.end: offer.make() for offer in list_files(found, lambda: spread)}
    features = pd.read_csv(io.StringIO(str(made["features.csv"])))
    np.testing.assert_allclose(features["share"], found.features["share"], rtol=5e-6)
    objects = pd.read_csv(io.StringIO(str(made["objects.csv"])))
    first = objects[f"feature_1: {found.names['features'][0]}"]
    np.testing.assert_allclose(first, found.posterior["objects"][:, 0], rtol=5e-6)
    assert len(pd.read_csv(io.StringIO(str(made["columns.csv"])))) == 6
    archive = zipfile.ZipFile(io.BytesIO(bytes(made["everything.zip"])))  # type: ignore[arg-type]
    expected = {"features.csv", "objects.csv", "columns.csv", "run.json", "posterior.npz"}
    assert expected <= set(archive.namelist())
    assert archive.read("features.csv").decode() == made["features.csv"]


def test_a_sampler_shows_how_many_of_its_samples_have_a_feature(open_app: Open) -> None:
    found = fitted("ibp", burn_in=20, max_sweeps=60)
    app = show_part(opened(open_app, "features", found), "How sure?")
    assert "given this run's features" in texts(app)
    listed = frame(app, "Samples")
    assert listed["Samples"].tolist() == found.posterior["in_samples"].tolist()
    weights = frame(app, "Standard deviation")
    assert not {"Lowest", "Highest"} & {*listed, *weights}
    assert (weights["Standard deviation"] > 0).all()


def test_features_are_shown_with_their_range_over_seeds(open_app: Open) -> None:
    runs = [fitted(init="random", seed=seed) for seed in (0, 1, 2)]
    app = opened(open_app, "features", *runs)
    app.selectbox(key="features_run").set_value(f"{0:012x}").run()
    show_part(app, "How sure?")
    listed, weights = (shown.value for shown in app.dataframe if "Lowest" in shown.value)
    assert listed["Runs"].tolist() == ["3 of 3", "3 of 3"]
    assert listed["Share"].tolist() == pytest.approx(runs[0].features["share"].tolist())
    assert (listed["Lowest"] <= listed["Share"]).all()
    assert (listed["Share"] <= listed["Highest"]).all()
    assert "begin with the independent components" not in texts(app)
    own = dict(zip(weights["Column"], weights["Weight"], strict=True))
    assert own == pytest.approx(dict(runs[0].features.iloc[0, 4:]))
    app.segmented_control(key="features_units").set_value("sd").run()
    weights = frame(app, "Weight")
    strongest = weights.iloc[0]
    sd = dict(zip(runs[0].prepared.data.columns, view(runs[0]).sd, strict=True))[strongest["Column"]]
    assert strongest["Weight"] == pytest.approx(own[strongest["Column"]] / sd)
    assert strongest["Lowest"] <= strongest["Weight"] <= strongest["Highest"]
