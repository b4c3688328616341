"""The Data page: files that hold columns without being text, their sheets and tables."""

from __future__ import annotations

import io
import sqlite3
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from pages.ui.shared.workspace import Workspace
from tests.pages.session import WORKSPACE, Open, box, bring, kind_switch, press, texts

LINKS = pd.DataFrame({"person": ["Ann", "Bob", "Bob", "Cyd"], "event": ["Fair", "Fair", "Ball", "Ball"]})
OTHER = pd.DataFrame({"user": ["Dan", "Eve", "Eve"], "item": ["Hike", "Hike", "Swim"]})


def parquet(frame: pd.DataFrame) -> bytes:
    out = io.BytesIO()
    frame.to_parquet(out)
    return out.getvalue()


def workbook(**sheets: pd.DataFrame) -> bytes:
    out = io.BytesIO()
    with pd.ExcelWriter(out) as writer:
        for name, frame in sheets.items():
            frame.to_excel(writer, sheet_name=name, index=False)
    return out.getvalue()


def json_lines(frame: pd.DataFrame) -> bytes:
    return frame.to_json(orient="records", lines=True).encode()


def database(folder: Path, **tables: pd.DataFrame) -> bytes:
    path = folder / "made.db"
    base = sqlite3.connect(path)
    for name, frame in tables.items():
        frame.to_sql(name, base, index=False)
    base.close()
    return path.read_bytes()


def labels(app: AppTest) -> set[str]:
    return {found.label for found in app.selectbox}


def people() -> list[str]:
    dataset = Workspace(WORKSPACE).dataset
    assert dataset is not None
    return dataset.data.row_labels.tolist()


def test_a_sheet_is_chosen_and_asks_its_own_columns(open_app: Open) -> None:
    about = pd.DataFrame({"Read me": ["Who went where.", "By Ann."]})
    app = bring(open_app("data"), "book.xlsx", workbook(about=about, links=LINKS, more=OTHER))
    assert box(app, "Sheet").options == ["about", "links", "more"]
    assert box(app, "Sheet").value == "links"
    assert "The sheet with most rows is open." in texts(app)
    assert {"First row"} == labels(app) & {"Encoding", "Delimiter", "First line", "First row"}
    box(app, "Row objects").select(1).run()
    box(app, "Sheet").select("more").run()
    assert box(app, "Row objects").options == ["user", "item"]
    assert box(app, "Row objects").value == 0
    press(app, "load")
    assert people() == ["Dan", "Eve"]
    assert "The sheet with most rows is open." not in texts(app)


def test_a_table_or_a_query_is_read(open_app: Open, tmp_path: Path) -> None:
    content = database(tmp_path, blank=LINKS[:0], links=LINKS, more=OTHER)
    app = bring(open_app("data"), "made.db", content)
    assert box(app, "Table").value == "links"
    query = next(field for field in app.text_input if field.label == "Query")
    query.set_value("SELECT user, item FROM more WHERE user = 'Eve'").run()
    assert box(app, "Row objects").options == ["user", "item"]
    press(app, "load")
    assert people() == ["Eve"]
    query = next(field for field in app.text_input if field.label == "Query")
    query.set_value("DELETE FROM more").run()
    assert "the query cannot be run" in texts(app).lower()
    assert not app.exception


def test_files_of_the_server_go_the_same_way(
    open_app: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "offered"
    folder.mkdir()
    (folder / "book.xlsx").write_bytes(workbook(links=LINKS, more=OTHER))
    monkeypatch.setenv("ACVB_FILES", str(folder))
    app = open_app("data")
    app.segmented_control(key="source").set_value("Upload").run()
    app.selectbox(key="upload_server").select_index(1).run()
    box(app, "Sheet").select("more").run()
    press(app, "load")
    assert people() == ["Dan", "Eve"]


@pytest.mark.parametrize("name", ["texts.jsonl", "book.xlsx"])
def test_texts_are_chosen_by_field_and_sheet(open_app: Open, name: str) -> None:
    said = [f"quick brown fox jumps over dog word{n}" if n % 2 else f"slow green bird w{n}" for n in range(6)]
    notes = pd.DataFrame({"who": list("abcdef"), "note": said})
    content = json_lines(notes) if name == "texts.jsonl" else workbook(links=LINKS, notes=notes)
    app = open_app("data")
    app.segmented_control(key="source").set_value("Upload").run()
    app.file_uploader(key="upload").upload(name, content).run()
    assert not app.exception
    if name == "book.xlsx":
        box(app, "Sheet").select("notes").run()
    kind_switch(app).set_value("texts").run()
    box(app, "Format").select("table").run()
    assert labels(app).isdisjoint({"Encoding", "Delimiter"})
    box(app, "Texts").select(1).run()
    for where, kind in (("memory", "Corpus"), ("disk", "DiskCorpus")):
        chosen = next(c for c in app.segmented_control if c.label == "Where to keep the texts")
        chosen.set_value(where).run()
        press(app, "load")
        dataset = Workspace(WORKSPACE).dataset
        assert dataset is not None
        assert (type(dataset.data).__name__, dataset.data.n_documents) == (kind, 6)


def test_a_fault_is_named_by_row_and_column(open_app: Open) -> None:
    wrong = LINKS.assign(times=["1", "0", "much", "2"])
    app = bring(open_app("data"), "outings.parquet", parquet(wrong))
    box(app, "Values").select(2).run()
    app.button(key="load").click().run()
    assert "Row: 3\nColumn: times\nFound: much" in texts(app)
    app = bring(open_app("data"), "outings.jsonl", json_lines(LINKS) + b"{oops\n")
    assert "Line: 5\nFound: {oops" in texts(app)


def test_a_first_line_that_may_hold_names_can_be_read_as_names(open_app: Open) -> None:
    app = bring(open_app("data"), "imports.csv", "importeur;modul\nabc;io\nabc;os\nre;io\nre;math\n")
    assert not [one for one in app.info if "first line" in one.value]
    press(app, "load")
    assert people() == ["importeur", "abc", "re"]
    assert [one for one in app.info if "first line" in one.value]
    press(app, "choose_header_True")
    assert people() == ["abc", "re"]
    assert not [one for one in app.info if "first line" in one.value]


@pytest.mark.parametrize(("way", "wanted"), [(True, ["abc", "re"]), (False, ["importeur", "abc", "re"])])
def test_a_first_line_that_is_most_likely_a_heading_is_asked_about(
    open_app: Open, way: bool, wanted: list[str]
) -> None:
    """All other names occur again."""
    app = bring(open_app("data"), "imports.csv", "importeur;modul\nabc;io\nabc;os\nre;io\nre;os\n")
    press(app, "load")
    said = texts(app)
    assert "The first line may hold the names of the columns" in said
    assert "(“First line: holds names”) or data (“First line: is data”)." in said
    press(app, f"choose_header_{way}")
    assert people() == wanted


@pytest.mark.parametrize(
    ("name", "content", "wanted"),
    [
        ("pivot.csv", "userId,1,2,3\n100,1,0,1\n101,0,1,1\n102,1,1,0\n", ["100", "101", "102"]),
        ("ids.csv", "user,item\n1.0,a\n1,b\n2.0,a\n", ["1", "2"]),
        ("gephi.csv", "Source,Target,Type\na,b,Directed\nc,b,Directed\na,c,Directed\n", ["a", "c", "b"]),
        ("sales.csv", "Sales of May\n\nperson,event\nAnn,Fair\nBob,Ball\nAnn,Ball\n", ["Ann", "Bob"]),
        ("amounts.csv", "Kunde;Ware;Betrag\nMüller;x;1.234,50\nJahn;y;12,00\n".encode("cp1252"), ["Müller", "Jahn"]),
        (
            "twice.gml",
            'graph [ node [ id 0 label "Ann" ] node [ id 1 label "Ann" ] edge [ source 0 target 1 ] ]\n',
            ["Ann (0)", "Ann (1)"],
        ),
    ],
)  # fmt: skip
def test_a_file_is_read_as_what_it_says(
    open_app: Open, name: str, content: str | bytes, wanted: list[str]
) -> None:
    app = press(bring(open_app("data"), name, content), "load")
    assert not app.exception
    assert people() == wanted


@pytest.mark.parametrize(("sign", "rain"), [(",", 1.234), (".", 1234)])
def test_a_number_that_may_be_two_is_asked_about_with_a_button_for_each(
    open_app: Open, sign: str, rain: float
) -> None:
    content = "city;rain;sun\nBari;1,234;2\nOslo;5,678;3\nRome;2,345;1\n"
    app = bring(open_app("data"), "cities.csv", content, "table")
    assert "Say whether this is 1.234 (“Decimal sign: comma”) or 1234 (“Decimal sign: point”)." in texts(app)
    press(app, f"choose_decimal_{sign}")
    press(app, "load")
    dataset = Workspace(WORKSPACE).dataset
    assert dataset is not None
    assert dataset.data.values[0, 0] == rain


def wide_frame() -> pd.DataFrame:
    """45 columns: a time at 20, known groups at 35, texts at 40, two columns of names at 42 and 43, else numbers."""
    rng = np.random.default_rng(1)
    columns: dict[str, Any] = {f"c{at}": rng.normal(size=30).round(2) for at in range(45)}
    words = ["apple", "bank", "river", "money", "fish", "water", "loan", "boat", "cash"]
    texts = [" ".join(rng.choice(words, 14)) for _ in range(30)]
    special = {
        20: ("date", [f"2020-01-{day:02d}" for day in range(1, 31)]),
        35: ("kind", rng.choice(["good", "bad"], 30)),
        40: ("review", texts),
        42: ("person", rng.choice(["Ann", "Bob", "Cyd"], 30)),
        43: ("event", rng.choice(["Fair", "Ball"], 30)),
    }
    named = [special.get(at, (name, values)) for at, (name, values) in enumerate(columns.items())]
    return pd.DataFrame(dict(named))


WIDE = wide_frame()


def sheet_with_merged_cells() -> bytes:
    rows = [
        ["All of 2020", None, None],
        ["who", "when", "share"],
        *[["Ann", 2020, at / 7] for at in range(9)],
    ]
    out = io.BytesIO()
    with pd.ExcelWriter(out) as writer:
        pd.DataFrame(rows).to_excel(writer, sheet_name="merged", header=False, index=False)
        writer.sheets["merged"].merge_cells("A1:C1")
        writer.sheets["merged"].merge_cells("A4:A7")
    return out.getvalue()


ODD: dict[str, Callable[[], bytes]] = {
    "empty.csv": lambda: b"",
    "blank.csv": lambda: b"\n\n  \n",
    "names.csv": lambda: b"person,event,weight\n",
    "binary.csv": lambda: bytes(range(256)) * 9,
    "encodings.csv": lambda: "who,said\nJosé,olá\n".encode() + "Jörg,grüß dich\n".encode("latin-1"),
    "blanks.csv": lambda: b",,,\n" + b"a,b,1,0.5\nc,d,2,1.5\na,d,3,2.5\n" * 3,
    "long.csv": lambda: b"id,text\n1," + b"word " * 50_000 + b"\n2,a few more words\n",
    "merged.xlsx": sheet_with_merged_cells,
    "damaged.xlsx": lambda: b"PK\x03\x04" + bytes(200),
    "nested.jsonl": lambda: (
        b'{"a": {"b": [1, {"c": 2}], "d": null}, "e": [[]], "t": "four words are here"}\n' * 5
    ),
    "typed.parquet": lambda: parquet(
        pd.DataFrame(
            {
                "list": [[1], [2, 3], None],
                "day": [date(2020, 1, 1)] * 3,
                "price": [Decimal("1.50")] * 3,
                "bytes": [b"\xff"] * 3,
            }
        )
    ),
}


def test_no_odd_file_stops_the_page_or_the_next_file(open_app: Open) -> None:
    app = open_app("data")
    app.segmented_control(key="source").set_value("Upload").run()
    for name, write in ODD.items():
        app.file_uploader(key="upload").upload(name, write()).run()
        assert not app.exception, name
        for kind in ("relation", "texts", "table"):
            kind_switch(app).set_value(kind).run()
            assert not app.exception, (name, kind)
    app.switch_page("pages/home.py").run()
    app.switch_page("pages/data.py").run()
    app.file_uploader(key="upload").upload("links.parquet", parquet(LINKS)).run()
    press(app, "load")
    assert people() == ["Ann", "Bob", "Cyd"]
