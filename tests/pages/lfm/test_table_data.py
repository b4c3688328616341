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
from tests.pages.session import WORKSPACE, Open, box, bring, figures, in_use, keys, press, texts

PETS = (
    "name,kind,weight,height,tail,alive\n"
    "Rex,dog,12.5,40,yes,1\nTom,cat,4.2,25,yes,1\nTweety,bird,0.02,,no,1\nDuke,dog,-9,50,yes,1\n"
)
NUMBERS = "a;b\n1,5;2\n2,5;7\n-4;1,25\n"


def upload(open_app: Open, name: str, content: bytes | str) -> AppTest:
    """Bring a file as a table."""
    return bring(open_app("data"), name, content, "table")


def field(app: AppTest, label: str) -> Any:
    return next(found for found in app.text_input if found.label == label)


def load(app: AppTest, button: str = "load") -> Table:
    """Press Load, and return the table in use."""
    press(app, button)
    table = in_use().data
    assert isinstance(table, Table)
    return table


def test_text_is_refused_with_its_place_and_what_to_do(open_app: Open) -> None:
    app = upload(open_app, "pets.csv", PETS)
    box(app, "Columns of text").select("refuse").run()
    said = texts(app)
    assert "We couldn't read this file with these settings" in said
    assert "leave them out (“Columns of text: leave them out”)" in said
    assert "or take one as the rows' names (“Names of the rows”) or groups (“Known groups”)." in said
    assert {"choose_categories_one-hot", "choose_categories_leave-out"} <= keys(app)
    assert app.button(key="load").disabled
    assert "File: pets.csv" in said
    assert "Column: 2" in said


def test_a_table_with_text_and_constants_needs_no_choice(open_app: Open) -> None:
    lines = (f"p{i},{'dog' if i % 2 else 'cat'},{i}.5,4\n" for i in range(12))
    content = "name,kind,size,legs\n" + "".join(lines)
    app = bring(open_app("data"), "pets.csv", content)
    assert box(app, "Known groups").value == 1
    said = texts(app)
    assert "With these settings, it is a table of 12 rows × 1 column" in said
    assert "'legs'" in said
    table = load(app, "load_and_run")
    assert table.columns.tolist() == ["size"]
    assert table.labels is not None
    assert set(table.labels.tolist()) == {"cat", "dog"}


def test_the_report_is_live_and_the_table_is_loaded(open_app: Open) -> None:
    app = upload(open_app, "pets.csv", PETS)
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
    table, dataset = load(app), in_use()
    assert (dataset.name, dataset.model, dataset.heldout) == ("pets", "lfm", 0.3)
    assert table.rows.tolist() == ["Rex", "Tom", "Tweety", "Duke"]
    assert table.columns.tolist() == ["kind=bird", "kind=cat", "kind=dog", "weight", "height", "tail"]
    assert table.standardise
    assert figures(app) == {"Rows": "4", "Columns": "6", "Missing": "4.17 %"}
    assert all(f"• {line}" in texts(app) for line in dataset.report.lines())
    assert dataset.data.size_text in texts(open_app())  # in the sidebar


def test_pictures_and_their_size(open_app: Open) -> None:
    rng = np.random.default_rng(0)
    out = io.BytesIO()
    np.save(out, rng.random((5, 6)))
    app = upload(open_app, "p.npy", out.getvalue())
    assert not [one for one in app.selectbox if one.label == "Columns of text"]
    field(app, "Pictures, height x width").set_value("2x2").run()
    assert "A picture of 2 x 2 has 4 pixels, but there are 6 columns" in texts(app)
    field(app, "Pictures, height x width").set_value("two").run()
    assert "height and width such as '8x8'" in texts(app)
    field(app, "Pictures, height x width").set_value("2x3").run()
    app.toggle[0].set_value(False).run()
    table = load(app)
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
    app = upload(open_app, "n.csv", NUMBERS)
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
