from __future__ import annotations

import gzip
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from acvb_core.evaluate.split import MAX_ENTRIES
from acvb_core.registry import model_row
from pages.ui.irm.overview_relation import picture_width
from pages.ui.shared import services
from pages.ui.shared.workspace import Workspace
from tests.pages.session import WORKSPACE, Open, box, bring, keys, kind_switch, press, texts

EDGES = b"person,event,times\nAnn,Fair,2\nBob,Fair,0\nBob,Ball,1\nCyd,Ball,5\n"
REMOTE = "![x](http://example.invalid/x.png)"


def test_no_more_is_promised_than_is_held_out(open_app: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    large = replace(model_row("irm"), observed=lambda _: 540_000_000)
    monkeypatch.setattr("pages.ui.upload.data_page.model_row", lambda _: large)
    app = open_app("data")
    app.selectbox(key="sample").select("southern_women").run()
    press(app, "use_sample")
    assert f"{MAX_ENTRIES:,} entries hidden from each new run (no more than {MAX_ENTRIES:,}" in texts(app)
    assert "54,000,000" not in texts(app)


@pytest.mark.parametrize("sample", ["southern_women", "survey", "synth1"])
def test_a_sample_becomes_the_data_in_use(open_app: Open, sample: str) -> None:
    app = open_app("data")
    app.selectbox(key="sample").select(sample).run()
    press(app, "use_sample")
    dataset = Workspace(WORKSPACE).dataset
    assert dataset is not None
    figures = {metric.label: metric.value for metric in app.metric}
    assert figures["Rows"] == f"{dataset.data.shape[0]:,}"
    assert figures["Links"] == f"{dataset.data.n_ones:,}"
    assert dataset.heldout == 0.1
    assert all(f"• {line}" in texts(app) for line in dataset.report.lines())


def test_an_upload_is_recognised_and_loaded(open_app: Open) -> None:
    app = bring(open_app("data"), "outings.csv", EDGES)
    assert [box(app, side).value for side in ("Row objects", "Column objects", "Values")] == [0, 1, 2]
    assert "edge list" in texts(app)
    assert Workspace(WORKSPACE).dataset is None
    press(app, "load")
    dataset = Workspace(WORKSPACE).dataset
    assert dataset is not None
    assert (dataset.name, dataset.data.shape, dataset.data.n_ones) == ("outings", (3, 2), 3)


SPEECHES = "id,party,speech\n" + "".join(
    f"{n},left,the harbour was quiet and the boats lay close together\n"
    f"{n + 6},right,somebody sang about rain while the wind took all the leaves away\n"
    for n in range(6)
)


@pytest.mark.parametrize(
    ("name", "content", "kind", "reason"),
    [
        ("speeches.csv", SPEECHES, "texts", "Recognised: texts. The column “speech” holds texts"),
        ("counts.csv", "doc,word,count\na,cat,2\nb,cat,1\n", "counts", "Recognised: word counts."),
        ("outings.csv", EDGES.decode(), "relation", "Recognised: relation. Rows and columns are two kinds"),
        (
            "mail.csv",
            "sender,receiver\nAnn,Bob\nBob,Cyd\nCyd,Ann\n",
            "network",
            "Recognised: network. Rows and",
        ),
        (
            "pets.csv",
            "name,high,wide,age\nRex,4.5,2,1\nTom,2.5,1,3\nLeo,3,1.5,2\n",
            "table",
            "Recognised: table",
        ),
    ],
)
def test_the_kind_of_any_file_is_recognised_with_the_reason_and_loaded(
    open_app: Open, name: str, content: str, kind: str, reason: str
) -> None:
    app = bring(open_app("data"), name, content)
    assert kind_switch(app).value == kind
    assert reason in texts(app)
    press(app, "load_and_run")
    assert Workspace(WORKSPACE).dataset is not None
    assert "start" in keys(app)


def test_the_primary_button_is_the_next_step(open_app: Open) -> None:
    app = bring(open_app("data"), "outings.csv", EDGES)
    assert primary(app) == ["load_and_run"]
    press(app, "load")
    assert primary(app) == ["go_to_run"]
    box(app, "Row objects").select(1)
    box(app, "Column objects").select(0).run()
    assert primary(app) == ["load_and_run"]
    app.segmented_control(key="source").set_value("Sample").run()
    assert primary(app) == ["go_to_run"]
    press(app, "go_to_run")
    assert "start" in keys(app)


def primary(app: AppTest) -> list[str]:
    """Keys of the primary buttons."""
    return [str(button.key) for button in app.main.button if button.proto.type == "primary"]


def test_columns_threshold_and_name_can_be_chosen(open_app: Open) -> None:
    app = bring(open_app("data"), "outings.csv", EDGES)
    box(app, "Row objects").select(1)
    box(app, "Column objects").select(0)
    next(n for n in app.text_input if n.label == "Threshold").set_value("1")
    next(t for t in app.text_input if t.label == "Name").set_value("turned").run()
    press(app, "load")
    dataset = Workspace(WORKSPACE).dataset
    assert dataset is not None
    assert (dataset.name, dataset.data.shape, dataset.data.n_ones) == ("turned", (2, 3), 2)


def test_same_columns_twice_are_refused_and_the_form_stays(open_app: Open) -> None:
    app = bring(open_app("data"), "outings.csv", EDGES)
    box(app, "Row objects").select(1).run()
    press(app, "load")
    assert "We couldn't read this file with these settings" in texts(app)
    assert "Choose different columns" in texts(app)
    assert box(app, "Row objects").value == 1


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("empty.csv", b"", "empty"),
        ("one.csv", b"a\nb\nc\n", "one field only"),
        ("book.pdf", b"%PDF-1.7 ...", "PDF document"),
        ("names.csv", b"person,place\n", "no rows below it"),
        ("text.npz", EDGES, "name says that this is a NumPy archive"),
        ("cut.csv.gz", gzip.compress(EDGES * 500, mtime=0)[:60], "truncated"),
    ],
)
def test_what_is_no_relation_is_refused_in_words(
    open_app: Open, name: str, content: bytes, found: str
) -> None:
    app = bring(open_app("data"), name, content)
    assert "We couldn't read this file with these settings" in texts(app)
    assert found in texts(app)
    assert "load" not in keys(app)
    assert Workspace(WORKSPACE).dataset is None


def test_a_broken_line_is_named_and_never_rendered(open_app: Open) -> None:
    app = bring(open_app("data"), "ragged.csv", EDGES + f"Dan,Ball,1,{REMOTE}\n".encode())
    press(app, "load")
    said = [element.value for element in app.text]
    assert "Line: 6" in said
    assert any(line.startswith("Found: ") and REMOTE in line for line in said)
    assert not any(REMOTE in str(m.value) for kind in (app.markdown, app.caption, app.error) for m in kind)


def test_another_encoding_is_tried_shown_and_asked(open_app: Open) -> None:
    app = bring(open_app("data"), "fetes.csv", "person;event\nZoé;Fête\nBob;Fête\n".encode("cp1252"))
    assert "Do these words look right?" in texts(app)
    assert "Zoé, Fête" in texts(app)
    assert box(app, "Encoding").value == "cp1252"
    box(app, "Encoding").select("koi8-r").run()
    assert "Zoé" not in texts(app)
    box(app, "Encoding").select("cp1252").run()
    press(app, "load")
    dataset = Workspace(WORKSPACE).dataset
    assert dataset is not None
    assert "Zoé" in dataset.data.row_labels


def test_what_is_held_out_is_kept(open_app: Open) -> None:
    app = open_app("data")
    press(app, "use_sample")
    app.number_input(key="heldout_percent").set_value(25.0).run()
    app.number_input(key="heldout_seed").set_value(7).run()
    dataset = Workspace(WORKSPACE).dataset
    assert dataset is not None
    assert (dataset.heldout, dataset.heldout_seed) == (0.25, 7)
    # Another session, after the server has forgotten what it held in memory.
    services.data_shelves().clear()
    again = open_app("data")
    assert again.number_input(key="heldout_percent").value == 25.0
    assert again.number_input(key="heldout_seed").value == 7


@pytest.mark.parametrize(
    ("shape", "width"),
    [((18, 14), 340), ((40, 40), 340), ((100, 200), 680), ((3, 90), 1000), ((900, 2), 340)],
)
def test_entries_of_a_relation_are_as_wide_as_they_are_high(shape: tuple[int, int], width: int) -> None:
    assert picture_width(*shape) == width
