"""The Data page: files that hold columns without being text, their sheets and tables."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import date

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.session import Open, box, bring, in_use, kind_switch, press, texts

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


def labels(app: AppTest) -> set[str]:
    return {found.label for found in app.selectbox}


def people() -> list[str]:
    return in_use().data.row_labels.tolist()


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


def test_texts_are_chosen_by_field_and_sheet(open_app: Open) -> None:
    said = [f"quick brown fox jumps over dog word{n}" if n % 2 else f"slow green bird w{n}" for n in range(6)]
    notes = pd.DataFrame({"who": list("abcdef"), "note": said})
    app = bring(open_app("data"), "book.xlsx", workbook(links=LINKS, notes=notes))
    box(app, "Sheet").select("notes").run()
    kind_switch(app).set_value("texts").run()
    box(app, "Format").select("table").run()
    assert labels(app).isdisjoint({"Encoding", "Delimiter"})
    box(app, "Texts").select(1).run()
    for where, kind in (("memory", "Corpus"), ("disk", "DiskCorpus")):
        chosen = next(c for c in app.segmented_control if c.label == "Where to keep the texts")
        chosen.set_value(where).run()
        press(app, "load")
        assert (type(in_use().data).__name__, in_use().data.n_documents) == (kind, 6)


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


@pytest.mark.parametrize(("sign", "rain"), [(",", 1.234), (".", 1234)])
def test_a_number_that_may_be_two_is_asked_about_with_a_button_for_each(
    open_app: Open, sign: str, rain: float
) -> None:
    content = "city;rain;sun\nBari;1,234;2\nOslo;5,678;3\nRome;2,345;1\n"
    app = bring(open_app("data"), "cities.csv", content, "table")
    assert "Say whether this is 1.234 (“Decimal sign: comma”) or 1234 (“Decimal sign: point”)." in texts(app)
    press(app, f"choose_decimal_{sign}")
    press(app, "load")
    assert in_use().data.values[0, 0] == rain


ODD: dict[str, Callable[[], bytes]] = {
    "empty.csv": lambda: b"",
    "blank.csv": lambda: b"\n\n  \n",
    "names.csv": lambda: b"person,event,weight\n",
    "binary.csv": lambda: bytes(range(256)) * 9,
    "encodings.csv": lambda: "who,said\nJosé,olá\n".encode() + "Jörg,grüß dich\n".encode("latin-1"),
    "blanks.csv": lambda: b",,,\n" + b"a,b,1,0.5\nc,d,2,1.5\na,d,3,2.5\n" * 3,
    "long.csv": lambda: b"id,text\n1," + b"word " * 50_000 + b"\n2,a few more words\n",
    "damaged.xlsx": lambda: b"PK\x03\x04" + bytes(200),
    "nested.jsonl": lambda: (
        b'{"a": {"b": [1, {"c": 2}], "d": null}, "e": [[]], "t": "four words are here"}\n' * 5
    ),
    "typed.parquet": lambda: parquet(
        pd.DataFrame({"list": [[1], [2, 3], None], "day": [date(2020, 1, 1)] * 3})
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
