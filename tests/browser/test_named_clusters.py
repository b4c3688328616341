"""The names of clusters in a real browser: given on a card, and then in tables, figures, files and on one object."""

from __future__ import annotations

import csv
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.steps import (
    WAIT_MS,
    cells,
    choose,
    no_wider_than_its_window,
    plot,
    press,
    rows_that_say,
    settled,
    start_runs,
    table,
    take,
    visit,
)
from tests.browser.test_network import graph_file, load

HOVER = """(key) => document.querySelector(`.st-key-${key} .js-plotly-plot`)._fullData
  .flatMap((trace) => [trace.hovertext ?? []].flat(2))"""


def rename(page: Page, number: int, name: str) -> None:
    """Give a cluster a name on its card."""
    page.locator(f".st-key-card_rows_{number}").get_by_role("button", name="Rename").click()
    field = page.get_by_role("textbox", name=f"Name of cluster {number}")
    field.fill(name)
    field.press("Enter")
    expect(page.locator(f".st-key-card_rows_{number} strong")).to_have_text(name)
    page.keyboard.press("Escape")
    settled(page)


def test_a_cluster_that_is_renamed_has_its_name_everywhere(page: Page, tmp_path: Path) -> None:
    load(page, graph_file(tmp_path))
    visit(page, "Run")
    start_runs(page, "Start ACVB0")
    expect(rows_that_say(page, "converged")).to_have_count(1, timeout=WAIT_MS)
    visit(page, "Blocks")
    plot(page, "blocks_picture")
    expect(page.get_by_text("4 clusters of 40 nodes. The largest: “1 · pupil")).to_be_visible()
    first = page.locator(".st-key-card_rows_1")
    expect(first).to_contain_text("times as many links with its own nodes")
    expect(first).to_contain_text("More with house “")

    rename(page, 1, "The <b>first</b> house")
    expect(page.get_by_text("“1 · The <b>first</b> house” (10)").first).to_be_visible()
    assert cells(table(page, "Link probability inside"))[0][1] == "The <b>first</b> house"
    assert any(
        "The &lt;b&gt;first&lt;/b&gt; house" in text for text in page.evaluate(HOVER, "blocks_picture")
    )
    press(page, "Network")
    plot(page, "network_groups")
    settled(page)
    assert any("cluster 1 · The &lt;b&gt;first" in text for text in page.evaluate(HOVER, "network_groups"))
    button = page.locator("[class*='st-key-file_nodes-csv']").get_by_role("button")
    nodes = take(button, tmp_path)
    with nodes.open(newline="") as lines:
        own = [line for line in csv.DictReader(lines) if line["name"] == "The <b>first</b> house"]
    assert len(own) == 10
    assert {line["cluster"] for line in own} == {"1"}

    # One of them: why it is there, and its links.
    press(page, "One object")
    choose(page, "Object", own[1]["object"])
    expect(page.locator(".st-key-object_words")).to_contain_text("It is in “1 · The <b>first</b> house”.")
    expect(page.locator(".st-key-object_words")).to_contain_text("house: ")
    odds = cells(table(page, "Log odds for its own"))
    assert odds[0][0] == "1 · The <b>first</b> house"
    assert float(odds[1][-1]) > 0.0
    reasons = [float(line[1]) for line in cells(table(page, "Speaks for its cluster"))]
    assert reasons[0] > 0.0
    no_wider_than_its_window(page, "Blocks", [(390, 844), (1024, 768), (1440, 900)])
