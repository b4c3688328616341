"""The Data page with tables: what is recognised, what becomes of text and constants, and what is shown of it."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from acvb_core.data.table import Table
from pages.ui.lfm import upload_table
from pages.ui.shared.workspace import Workspace
from pages.ui.workspace.dataset import Dataset
from tests.pages.session import WORKSPACE, Open, box, bring, figures, keys, press, texts

PETS = (
    "name,kind,weight,height,tail,alive\n"
    "Rex,dog,12.5,40,yes,1\nTom,cat,4.2,25,yes,1\nTweety,bird,0.02,,no,1\nDuke,dog,-9,50,yes,1\n"
)
NUMBERS = "a;b\n1,5;2\n2,5;7\n-4;1,25\n"


def upload(app: AppTest, name: str, content: bytes | str) -> AppTest:
    """Bring a file as a table."""
    return bring(app, name, content, "table")


def field(app: AppTest, label: str) -> Any:
    return next(found for found in app.text_input if found.label == label)


def loaded() -> Dataset:
    dataset = Workspace(WORKSPACE).dataset
    assert dataset is not None
    assert isinstance(dataset.data, Table)
    return dataset


def code_and_leave_out(app: AppTest) -> AppTest:
    box(app, "Columns of text").select("one-hot").run()
    box(app, "Constant columns").select("leave-out").run()
    assert not app.exception
    return app


def test_text_is_refused_with_its_place_and_what_to_do(open_app: Open) -> None:
    app = upload(open_app("data"), "pets.csv", PETS)
    box(app, "Columns of text").select("refuse").run()
    said = texts(app)
    assert "We couldn't read this file with these settings" in said
    assert "'kind'" in said
    assert "leave them out (“Columns of text: leave them out”)" in said
    assert "or take one as the rows' names (“Names of the rows”) or groups (“Known groups”)." in said
    assert {"choose_categories_one-hot", "choose_categories_leave-out"} <= keys(app)
    assert "Columns that hold text: kind." in said
    assert app.button(key="load").disabled
    assert "File: pets.csv" in said
    assert "Column: 2" in said


def test_a_table_with_text_and_constants_needs_no_choice(open_app: Open) -> None:
    content = "name,kind,size,legs\n" + "".join(
        f"p{i},{'dog' if i % 2 else 'cat'},{i}.5,4\n" for i in range(12)
    )
    app = bring(open_app("data"), "pets.csv", content)
    assert box(app, "Known groups").value == 1
    said = texts(app)
    assert "With these settings, it is a table of 12 rows × 1 column" in said
    assert "'legs'" in said
    press(app, "load_and_run")
    table = loaded().data
    assert isinstance(table, Table)
    assert table.columns.tolist() == ["size"]
    assert table.labels is not None
    assert set(table.labels.tolist()) == {"cat", "dog"}


def test_the_report_is_live_and_the_table_is_loaded(open_app: Open) -> None:
    app = upload(open_app("data"), "pets.csv", PETS)
    box(app, "Columns of text").select("one-hot").run()
    box(app, "Constant columns").select("refuse").run()
    assert "no two different values: 'alive'" in texts(app)
    assert "(constants=" not in texts(app)
    box(app, "Constant columns").select("leave-out").run()
    said = texts(app)
    assert "With these settings, it is a table of 4 rows × 6 columns · 1 missing cell" in said
    assert "• Rows are named by the column 'name'." in said
    assert "'kind=bird', 'kind=cat', 'kind=dog'" in said
    assert "left out ('alive')" in said
    assert Workspace(WORKSPACE).dataset is None
    press(app, "load")
    dataset = loaded()
    assert (dataset.name, dataset.model, dataset.heldout) == ("pets", "lfm", 0.3)
    table = dataset.data
    assert isinstance(table, Table)
    assert table.name == "pets"
    assert table.rows.tolist() == ["Rex", "Tom", "Tweety", "Duke"]
    assert table.columns.tolist() == ["kind=bird", "kind=cat", "kind=dog", "weight", "height", "tail"]
    assert table.standardise
    assert figures(app) == {"Rows": "4", "Columns": "6", "Missing": "4.17 %"}
    assert all(f"• {line}" in texts(app) for line in dataset.report.lines())
    assert dataset.data.size_text in texts(open_app())  # in the sidebar


def test_names_groups_and_missing_signs_are_chosen(open_app: Open) -> None:
    app = code_and_leave_out(upload(open_app("data"), "pets.csv", PETS))
    box(app, "Known groups").select(1).run()
    field(app, "More signs for a missing cell").set_value(" -9 ; -8").run()
    press(app, "load")
    table = loaded().data
    assert isinstance(table, Table)
    assert table.labels is not None
    assert table.labels.tolist() == ["dog", "cat", "bird", "dog"]
    assert table.columns.tolist() == ["weight", "height", "tail"]
    assert np.isnan(table.values[3, 0])
    assert figures(app)["Known groups"] == "3"


def test_columns_are_left_out_and_numbers_are_categories(open_app: Open) -> None:
    app = code_and_leave_out(upload(open_app("data"), "x.csv", "a,b,c\n1,2,1\n3,5,2\n4,4,1\n"))
    many = {found.label: found for found in app.multiselect}
    many["Columns to leave out"].set_value([0])
    many["Columns whose numbers are categories"].set_value([2]).run()
    press(app, "load")
    table = loaded().data
    assert isinstance(table, Table)
    assert table.columns.tolist() == ["b", "c=1", "c=2"]


def test_pictures_and_their_size(open_app: Open) -> None:
    rng = np.random.default_rng(0)
    out = io.BytesIO()
    np.save(out, rng.random((5, 6)))
    app = upload(open_app("data"), "p.npy", out.getvalue())
    assert not [one for one in app.selectbox if one.label == "Columns of text"]
    field(app, "Pictures, height x width").set_value("2x2").run()
    assert "A picture of 2 x 2 has 4 pixels, but there are 6 columns" in texts(app)
    field(app, "Pictures, height x width").set_value("two").run()
    assert "height and width such as '8x8'" in texts(app)
    field(app, "Pictures, height x width").set_value("2x3").run()
    app.toggle[0].set_value(False).run()
    press(app, "load")
    table = loaded().data
    assert isinstance(table, Table)
    assert table.image is not None
    assert (table.image.height, table.image.width) == (2, 3)
    assert not table.standardise
    assert figures(app)["Pictures"] == "2 × 3"
    assert "not standardised" in texts(app)
    pictures = "".join(str(html.proto.body) for html in app.get("html"))
    assert pictures.count("<img") == 5


def test_a_file_is_read_once_for_each_way_to_read_it(open_app: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    inner = upload_table.load_table
    monkeypatch.setattr(upload_table, "load_table", lambda *a, **k: (read.append(k), inner(*a, **k))[1])
    app = upload(open_app("data"), "n.csv", NUMBERS)
    app.run()
    app.run()
    assert len(read) == 1
    app.toggle[0].set_value(False).run()
    assert len(read) == 2
    press(app, "load")
    assert len(read) == 2


def test_the_usual_share_follows_the_kind_of_data_and_a_chosen_one_stays(open_app: Open) -> None:
    relation, table = Dataset.of_sample("southern_women"), Dataset.of_sample("planted_features")
    assert (relation.heldout, table.heldout) == (0.1, 0.3)
    assert relation.like(table).heldout == 0.1
    assert table.like(relation).heldout == 0.3
    assert table.like(replace(relation, heldout=0.25)).heldout == 0.25
    assert relation.like(replace(table, heldout=0.0)).heldout == 0.0
    assert table.like(replace(table, heldout=0.1, heldout_seed=4)).heldout_seed == 4
