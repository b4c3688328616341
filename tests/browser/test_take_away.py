"""Files to send to others, in a real browser: a report without a network, a workbook, and a graph."""

from __future__ import annotations

import html
import io
import random
import re
from pathlib import Path
from typing import Any

import networkx as nx
import openpyxl
import pandas as pd
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, Request, expect

from acvb_core.data.report import DataChangedWarning
from acvb_core.engine.result import Result
from acvb_core.store.export import add_known_labels, csv_text
from tests.browser.steps import (
    WAIT_MS,
    bring,
    choose,
    choose_methods,
    fill,
    press,
    rows_that_say,
    settled,
    start_runs,
    take,
    visit,
)

HOSTILE = "<img src=x onerror=alert(1)>"
_WIDTHS = "() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
_CUT = """() => [...document.querySelectorAll('figure img')].filter(
  (one) => !one.naturalWidth || one.getBoundingClientRect().right > innerWidth).length"""


def links_file(folder: Path) -> Path:
    """Weighted links between two groups of shops, with a direction and a package each."""
    rng = random.Random(2)
    names = [HOSTILE, "=1+1", *(f"shop {i}" for i in range(22))]
    lines = ["from,to,amount,package"]
    for i, one in enumerate(names):
        for j, other in enumerate(names):
            if i != j and rng.random() < (0.6 if i % 2 == j % 2 else 0.05):
                lines.append(f'"{one}","{other}",{rng.randint(1, 9)},p{i}')
    path = folder / "trade.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def offer(page: Page, end: str) -> Any:
    return page.locator(f"[class*='st-key-file_{end}']").get_by_role("button")


def look_at_pdf(content: bytes, width: int) -> None:
    """See that the table of a PDF finds its five objects, and that its picture has three points for each pixel."""
    table = content[int(re.findall(rb"startxref\n(\d+)", content)[0]) :]
    places = [int(place) for place in re.findall(rb"(\d{10}) 00000 n", table)]
    assert len(places) == 5
    assert all(content[at:].startswith(b"%d 0 obj" % number) for number, at in enumerate(places, start=1))
    assert f"MediaBox[0 0 {0.75 * width:g} ".encode() in content
    data = content[places[4] :].partition(b"stream\n")[2]
    with Image.open(io.BytesIO(data)) as image:
        assert image.width == 3 * width


def take_own_file(page: Page, folder: Path) -> pd.DataFrame:
    """Bring the file of links again, and return its lines with the clusters of both ends."""
    page.get_by_role("button", name="Another file", exact=True).click()
    page.locator(".st-key-own_file_upload input[type=file]").set_input_files(folder / "trade.csv")
    expect(offer(page, "own-file-csv")).to_be_visible()
    settled(page)
    own = pd.read_csv(take(offer(page, "own-file-csv"), folder), keep_default_na=False)
    page.keyboard.press("Escape")
    return own


def save_figures(page: Page, folder: Path) -> None:
    """See that a figure is saved in each format, as wide as was asked for."""
    page.get_by_role("button", name="Figures", exact=True).click()
    settled(page)
    choose(page, "Figure", "Strength of the blocks")
    fill(page, "Width, pixels", "640")
    settled(page)
    vectors = take(page.get_by_role("button", name="Save as SVG"), folder).read_text()
    assert 'width="640"' in vectors[:400]
    press(page, "PNG")
    settled(page)
    pixels = take(page.get_by_role("button", name="Save as PNG"), folder)
    with Image.open(pixels) as image:
        assert (pixels.name, image.width) == ("trade-Strength_of_the_blocks.png", 2 * 640)
    press(page, "PDF")
    settled(page)
    look_at_pdf(take(page.get_by_role("button", name="Save as PDF"), folder).read_bytes(), 640)


def read_report(browser: Browser, path: Path, folder: Path) -> None:
    """Open a report without a network: all of it is drawn, fits and can be printed."""
    troubles: list[str] = []

    def note(request: Request) -> None:
        if not request.url.startswith(("file:", "data:")):
            troubles.append(request.url)

    # On paper a phone's width is the narrowest; the program that prints has a page of its own.
    context = browser.new_context(viewport={"width": 390, "height": 800}, offline=True)
    try:
        shown = context.new_page()
        shown.on("request", note)
        shown.on("dialog", lambda dialog: (troubles.append(dialog.message), dialog.dismiss()))
        shown.on("pageerror", lambda error: troubles.append(str(error)))
        shown.on(
            "console", lambda message: troubles.append(message.text) if message.type == "error" else None
        )
        shown.goto(path.as_uri())
        shown.wait_for_selector("html[data-drawn=yes]", state="attached", timeout=WAIT_MS)
        assert shown.locator("figure img").count() == shown.locator("figure").count() == 5
        assert shown.get_by_text("could not be drawn").count() == 0
        assert shown.evaluate(_CUT) == 0
        wide, window = shown.evaluate(_WIDTHS)
        assert wide <= window
        expect(shown.get_by_role("heading", name="trade", level=1)).to_be_visible()
        expect(shown.get_by_text("Read from trade.csv.")).to_be_visible()
        picture = take(shown.get_by_role("link", name="SVG").first, folder)
        assert picture.read_text().startswith("<svg")
        assert HOSTILE in shown.locator("body").inner_text()
        assert len(shown.pdf(format="A4", print_background=True)) > 50_000
    finally:
        context.close()
    assert not troubles, troubles


def run_lines_of(report: Path) -> Result:
    """Run the Python lines of a report, in the folder of its data."""
    lines = re.search(r'<pre id="snippet">(.*?)</pre>', report.read_text(), re.DOTALL)
    assert lines is not None
    names: dict[str, Any] = {}
    with pytest.warns(DataChangedWarning, match="trade.csv"):
        exec(compile(html.unescape(lines[1]), "report", "exec"), names)
    result: Result = names["result"]
    return result


def test_a_report_a_workbook_and_a_graph_are_opened_elsewhere(
    page: Page, browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring(page, links_file(tmp_path), "network")
    page.get_by_role("button", name="Load", exact=True).click()
    expect(page.get_by_test_id("stSidebar").get_by_text("trade")).to_be_visible()
    settled(page)
    visit(page, "Run")
    choose_methods(page, "ACVB0")
    start_runs(page, "Start ACVB0")
    expect(rows_that_say(page, "converged")).to_have_count(1)
    visit(page, "Blocks")
    settled(page)
    files = {
        end: take(offer(page, end.replace(".", "-")), tmp_path)
        for end in ("report.html", "everything.xlsx", "graph.gexf", "graph.graphml", "data.csv", "nodes.csv")
    }
    own = take_own_file(page, tmp_path)
    save_figures(page, tmp_path)
    read_report(browser, files["report.html"], tmp_path)

    # The numbers of all files are those of one run, which the lines of the report repeat.
    monkeypatch.chdir(tmp_path)
    result = run_lines_of(files["report.html"])
    assert csv_text(add_known_labels(result)) == files["nodes.csv"].read_text()
    rows = result.rows.set_index("object")
    for graph in (nx.read_gexf(files["graph.gexf"]), nx.read_graphml(files["graph.graphml"])):
        assert graph.is_directed()
        assert {name: node["cluster"] for name, node in graph.nodes.items()} == rows["cluster"].to_dict()
        assert {name: node["cluster_name"] for name, node in graph.nodes.items()} == rows["name"].to_dict()
        assert graph.number_of_edges() == result.prepared.data.n_links
    page_of = openpyxl.load_workbook(files["everything.xlsx"])["Rows"]
    written = [[cell.value for cell in line] for line in page_of.rows]
    assert [line[:3] for line in written[1:]] == result.rows.iloc[:, :3].to_numpy().tolist()
    data = pd.read_csv(files["data.csv"])
    given = pd.read_csv(tmp_path / "trade.csv")
    assert data["weight"].sum() == given["amount"].sum()
    assert own["package"].tolist() == given["package"].tolist()
    assert own["to_cluster"].tolist() == rows["cluster"][given["to"]].tolist()
