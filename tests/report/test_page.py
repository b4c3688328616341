"""The report shows what the run found and what people wrote as it is, loads nothing, and repeats the run."""

from __future__ import annotations

import base64
import html
import json
import re
from collections import Counter
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import acvb_core
from acvb_core.core.errors import ParameterError
from acvb_core.engine.result import Result
from acvb_core.models.lda.answer.arrangement import arrange_topics
from acvb_core.report import page
from acvb_core.report.contents import list_sheets
from acvb_core.report.files import write_report
from acvb_core.report.page import report_html
from acvb_core.store.export import csv_text
from acvb_core.views.theme import ReportFigure, make_figure
from tests.loops import for_each

KINDS = ["relation", "network", "topics", "table"]


@pytest.fixture(autouse=True)
def without_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the five megabytes that draw figures; the test in a browser has them."""
    monkeypatch.setattr(page, "plotly_source", lambda: "")


class Page(HTMLParser):
    """The tags, the addresses and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.links: dict[str, str] = {}
        self.addresses: list[str] = []
        self.text = ""
        self.figures: list[Any] = []
        self._script = False
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        known = dict(attributes)
        self.tags[tag] += 1
        self._script = tag == "script" and known.get("type") == "application/json"
        self.addresses += [
            value or "" for name, value in attributes if name in ("src", "href", "srcset", "action")
        ]
        assert not any(name.startswith("on") for name in known)
        if tag == "a":
            self.links[str(known["download"])] = str(known["href"])

    def handle_data(self, data: str) -> None:
        if self._script:
            self.figures.append(json.loads(data))
        elif self.get_starttag_text() not in ("<script>", "<style>"):
            self.text += data
        self._script = False


@for_each("kind", KINDS)
def test_text_of_people_is_text_and_nothing_is_loaded(kind: str, runs: dict[str, Result]) -> None:
    result = runs[kind]
    odd = "<img src=x onerror=alert(1)> & </script> {braces} \u202e"
    text = report_html(result, title=odd, question=f"Why? {odd}", note=f"{odd}\n\nSecond.")
    shown = Page(text)
    assert set(shown.tags) <= {
        *(
            "html",
            "head",
            "meta",
            "title",
            "style",
            "body",
            "header",
            "section",
            "h1",
            "h2",
            "h3",
            "p",
            "div",
            "ul",
            "li",
        ),
        *(
            "table",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
            "figure",
            "figcaption",
            "pre",
            "code",
            "span",
            "a",
            "script",
        ),
        *("noscript",),
    }
    assert shown.tags["script"] == len(shown.figures) + 2
    assert len(shown.figures) == shown.tags["figure"] > 2
    assert all(address.startswith("data:text/csv;") for address in shown.addresses)
    assert shown.text.count("<img src=x onerror=alert(1)> & </script> {braces}") == 4, (
        "title twice, question, note"
    )
    assert "default-src 'none'" in text
    assert len(text) < 8_000_000


def test_a_figure_cannot_end_its_script() -> None:
    odd = "</script><img src=x onerror=alert(1)>&amp;"
    draw = partial(make_figure, [{"type": "scatter", "x": [1], "y": [1], "text": [odd]}], 300)
    shown = Page(page._write_figure(ReportFigure(odd, odd, draw)))
    assert set(shown.tags) == {"figure", "h3", "script", "figcaption"}
    assert shown.figures[0]["data"][0]["text"] == [odd]


@for_each("kind", KINDS)
def test_a_report_says_what_was_found_by_name_with_reference_and_reading(
    kind: str, runs: dict[str, Result]
) -> None:
    result = runs[kind]
    shown = Page(report_html(result))
    for names in result.names.values():
        for name in names:
            assert " ".join(name.split()) in " ".join(shown.text.split())
    known = [
        result.prepared.row.reference,
        result.prepared.model_row.display.question,
        result.prepared.fingerprint,
    ]
    known += ["Read 3 lines of <b>.", "1 blank line.", "Read from file.csv.", f"numpy {np.__version__}"]
    for text in known:
        assert text in shown.text


@for_each("kind", KINDS)
def test_whole_tables_are_in_the_report_as_files(kind: str, runs: dict[str, Result]) -> None:
    result = runs[kind]
    links = Page(report_html(result)).links
    sheets = {f"{sheet.title.lower().replace(' ', '-')}.csv": sheet for sheet in list_sheets(result)}
    assert len(links) >= 4
    for name, link in links.items():
        written = base64.b64decode(link.partition("base64,")[2]).decode()
        sheet = sheets[name]
        assert written == csv_text(sheet.table, exact=sheet.exact).encode("utf-8", "replace").decode()


def run_lines(text: str) -> Result:
    """Return the result of the Python in a report, which is text in its one <pre>."""
    found = re.search(r'<pre id="snippet">(.*?)</pre>', text, re.DOTALL)
    assert found is not None
    names: dict[str, Any] = {}
    exec(compile(html.unescape(found[1]), "report", "exec"), names)
    result = names["result"]
    assert isinstance(result, Result)
    return result


def assert_same_bits(one: Result, other: Result) -> None:
    assert one.snapshot.sweep == other.snapshot.sweep
    for name, array in one.posterior.arrays.items():
        assert array.tobytes() == other.posterior[name].tobytes(), name


def test_the_lines_of_a_report_repeat_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [f"a{i},b{j},{(i * j) % 4}" for i in range(12) for j in range(9)]
    Path("links.csv").write_text("from,to,amount\n" + "\n".join(lines) + "\n")
    loaded = acvb_core.load_relation("links.csv", threshold=2, domains="two")
    by_hand = acvb_core.fit(loaded, "acvb0", k_rows=4, k_cols=3, seed=5, heldout=0.1)
    at_once = acvb_core.fit("links.csv", "cvb0", threshold=1, k_rows=3, seed=2)
    sample = acvb_core.fit(acvb_core.load_sample("block_images"), "fab", heldout=0.2, max_sweeps=6)
    for result in (by_hand, at_once, sample):
        assert_same_bits(result, run_lines(report_html(result)))
    by_hand.save("kept.acvb")
    kept = acvb_core.load_result("kept.acvb")
    assert kept.report is not None
    assert loaded.report.lines() == kept.report.lines()
    assert_same_bits(by_hand, run_lines(report_html(kept)))
    assert_same_bits(by_hand, run_lines(report_html(kept, source="kept.acvb")))


def test_the_lines_of_a_report_join_topics_as_they_are_shown(runs: dict[str, Result]) -> None:
    own = acvb_core.fit(acvb_core.load_sample("bars"), "cvb0", k=5, max_sweeps=8)
    joined = arrange_topics(own, ((4, 1), (3,), (2,)))
    text = report_html(joined)
    assert "shown are 3 made of 4 of the run, 1 of them joined." in Page(text).text
    assert_same_bits(joined, run_lines(text))
    assert "A reader has arranged" not in report_html(own)


def test_the_lines_of_a_report_join_clusters_as_they_are_shown() -> None:
    own = acvb_core.fit(acvb_core.load_sample("les_miserables"), "acvb0", k_rows=6, max_sweeps=30)
    for corrected in (None, False):
        joined = own.coarsen(rows=3, corrected=corrected)
        assert joined.arranged
        assert_same_bits(joined, run_lines(report_html(joined)))


def test_names_that_were_given_are_in_a_saved_result(runs: dict[str, Result], tmp_path: Path) -> None:
    result = runs["network"]
    given: list[str | None] = [None] * len(result.names["rows"])
    given[1] = "the others"
    Result(result.state, "my run", result.report, {"rows": given}).save(tmp_path / "run.acvb")
    back = acvb_core.load_result(tmp_path / "run.acvb")
    assert back.names["rows"][1] == "the others"
    assert back.names["rows"][0] == result.names["rows"][0]


def test_other_forms_are_refused(runs: dict[str, Result], tmp_path: Path) -> None:
    with pytest.raises(
        ParameterError, match=r"ends in '.pdf'; a file may end in .html, .xlsx, .gexf, .graphml"
    ):
        write_report(runs["network"], tmp_path / "a.pdf")
    with pytest.raises(ParameterError, match="has no graph"):
        write_report(runs["topics"], tmp_path / "a.gexf")
    assert list(tmp_path.iterdir()) == []
