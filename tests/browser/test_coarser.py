"""Coarser clusters in a real browser: the slider by the keyboard, the tree by a click, and the files that follow."""

from __future__ import annotations

import csv
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.steps import (
    WAIT_MS,
    cells,
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
from tests.browser.test_network import load

ROOT = Path(__file__).resolve().parents[2]
#: The joints of the tree: the number of clusters after each, and its place on the page.
JOINTS = """() => {
  const chart = document.querySelector('[class*="st-key-blocks_tree_rows"] .js-plotly-plot');
  const { x, y } = chart.getBoundingClientRect(), { xaxis, yaxis } = chart._fullLayout;
  const joints = chart._fullData.find((trace) => trace.mode === 'markers' && trace.marker.symbol === 'circle');
  return joints.x.map((at, i) => [joints.customdata[i], x + xaxis._offset + xaxis.d2p(at),
    y + yaxis._offset + yaxis.d2p(joints.y[i])]);
}"""


def test_the_slider_and_the_tree_choose_the_clusters_of_the_page_and_its_files(
    page: Page, tmp_path: Path
) -> None:
    load(page, ROOT / "sample_data" / "karate.csv")
    visit(page, "Run")
    start_runs(page, "Start ACVB0")
    expect(rows_that_say(page, "converged")).to_have_count(1, timeout=WAIT_MS)
    visit(page, "Blocks")
    plot(page, "blocks_picture")
    slider = page.get_by_role("slider", name="Show so many clusters")
    slider.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("2 clusters in place of the run's")).to_be_visible()
    settled(page)
    assert len(cells(table(page, "Link probability inside"))) == 2
    nodes = take(page.get_by_role("button", name="Nodes and their clusters"), tmp_path)
    with nodes.open(newline="") as lines:
        assert {line["cluster"] for line in csv.DictReader(lines)} == {"1", "2"}

    # The address has the number, so a link shows the same.
    page.reload()
    expect(page.get_by_text("2 clusters in place of the run's")).to_be_visible(timeout=WAIT_MS)
    press(page, "Coarser")
    expect(page.get_by_text("Clusters are merged by the bound of")).to_be_visible()
    settled(page)
    joints = {int(number): (x, y) for number, x, y in page.evaluate(JOINTS)}
    page.mouse.click(*joints[3])
    expect(page.get_by_text("3 clusters in place of the run's")).to_be_visible()
    settled(page)
    assert len(cells(table(page, "Link probability inside"))) == 3
    no_wider_than_its_window(page, "Blocks", [(390, 844), (1024, 768), (1440, 900)])
