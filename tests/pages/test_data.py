from __future__ import annotations

import gzip

from pages.ui.shared import services
from pages.ui.shared.workspace import Workspace
from tests.loops import for_each
from tests.pages.session import WORKSPACE, Open, box, bring, in_use, keys, kind_switch, press, texts

EDGES = b"person,event,times\nAnn,Fair,2\nBob,Fair,0\nBob,Ball,1\nCyd,Ball,5\n"
REMOTE = "![x](http://example.invalid/x.png)"


def test_an_upload_is_recognised_and_loaded(open_app: Open) -> None:
    app = bring(open_app("data"), "outings.csv", EDGES)
    assert [box(app, side).value for side in ("Row objects", "Column objects", "Values")] == [0, 1, 2]
    assert "edge list" in texts(app)
    assert Workspace(WORKSPACE).dataset is None
    press(app, "load")
    dataset = in_use()
    assert (dataset.name, dataset.data.shape, dataset.data.n_ones) == ("outings", (3, 2), 3)


SPEECHES = "id,party,speech\n" + "".join(
    f"{n},left,the harbour was quiet and the boats lay close together\n"
    f"{n + 6},right,somebody sang about rain while the wind took all the leaves away\n"
    for n in range(6)
)


PETS = "name,high,wide,age\nRex,4.5,2,1\nTom,2.5,1,3\nLeo,3,1.5,2\n"
MAIL = "sender,receiver\nAnn,Bob\nBob,Cyd\nCyd,Ann\n"


@for_each(
    "name, content, kind, reason",
    [
        ("speeches.csv", SPEECHES, "texts", "Recognised: texts. The column “speech” holds texts"),
        ("counts.csv", "doc,word,count\na,cat,2\nb,cat,1\n", "counts", "Recognised: word counts."),
        ("outings.csv", EDGES.decode(), "relation", "Recognised: relation. Rows and columns are two kinds"),
        ("mail.csv", MAIL, "network", "Recognised: network. Rows and"),
        ("pets.csv", PETS, "table", "Recognised: table"),
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


@for_each(
    "name, content, found",
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
    dataset = in_use()
    assert "Zoé" in dataset.data.row_labels


def test_what_is_held_out_is_kept(open_app: Open) -> None:
    app = open_app("data")
    press(app, "use_sample")
    app.number_input(key="heldout_percent").set_value(25.0).run()
    app.number_input(key="heldout_seed").set_value(7).run()
    dataset = in_use()
    assert (dataset.heldout, dataset.heldout_seed) == (0.25, 7)
    # Another session, after the server has forgotten what it held in memory.
    services.data_shelves().clear()
    again = open_app("data")
    assert again.number_input(key="heldout_percent").value == 25.0
    assert again.number_input(key="heldout_seed").value == 7
