"""Blocks of a network in a real browser: clusters named on their cards, fewer of them, and the files that follow."""

from __future__ import annotations

import csv
from pathlib import Path

from playwright.sync_api import Page, expect

from acvb_core.data.relation_readers import load_relation
from acvb_core.engine.fitting import fit
from tests.browser.steps import (
    KeepRuns,
    cells,
    choose,
    no_wider_than_its_window,
    plot,
    press,
    school_file,
    settled,
    table,
    take,
)

SIZES = [(390, 844), (1024, 768), (1440, 900)]
NAME = "The <b>first</b> house"
HOVER = """(key) => document.querySelector(`.st-key-${key} .js-plotly-plot`)._fullData
  .flatMap((trace) => [trace.hovertext ?? []].flat(2))"""
#: The joints of the tree: the number of clusters after each, and its place on the page.
JOINTS = """() => {
  const chart = document.querySelector('[class*="st-key-blocks_tree_rows"] .js-plotly-plot');
  const { x, y } = chart.getBoundingClientRect(), { xaxis, yaxis } = chart._fullLayout;
  const joints = chart._fullData.find((trace) => trace.mode === 'markers' && trace.marker.symbol === 'circle');
  return joints.x.map((at, i) => [joints.customdata[i], x + xaxis._offset + xaxis.d2p(at),
    y + yaxis._offset + yaxis.d2p(joints.y[i])]);
}"""


def open_school(page: Page, keep_runs: KeepRuns, folder: Path) -> None:
    """Open the Blocks page with a run that found the four houses of a school."""
    result = fit(load_relation(school_file(folder)).data, "acvb0")
    page.goto(keep_runs(result).replace("/?", "/blocks?"))
    plot(page, "blocks_picture")


def nodes_of(page: Page, folder: Path) -> list[dict[str, str]]:
    """The lines of the file of nodes."""
    path = take(page.get_by_role("button", name="Nodes and their clusters"), folder)
    with path.open(newline="") as lines:
        return list(csv.DictReader(lines))


def test_a_cluster_that_is_renamed_has_its_name_everywhere(
    page: Page, keep_runs: KeepRuns, tmp_path: Path
) -> None:
    open_school(page, keep_runs, tmp_path)
    expect(page.get_by_text("4 clusters of 40 nodes. The largest: “1 · pupil")).to_be_visible()
    first = page.locator(".st-key-card_rows_1")
    expect(first).to_contain_text("times as many links with its own nodes")
    expect(first).to_contain_text("More with house “")

    first.get_by_role("button", name="Rename").click()
    field = page.get_by_role("textbox", name="Name of cluster 1")
    field.fill(NAME)
    field.press("Enter")
    page.keyboard.press("Escape")
    settled(page)
    expect(page.get_by_text(f"“1 · {NAME}” (10)").first).to_be_visible()
    assert cells(table(page, "Link probability inside"))[0][1] == NAME
    escaped = NAME.replace("<", "&lt;").replace(">", "&gt;")
    assert any(escaped in text for text in page.evaluate(HOVER, "blocks_picture"))
    press(page, "Network")
    plot(page, "network_groups")
    settled(page)
    assert any(f"cluster 1 · {escaped[:15]}" in text for text in page.evaluate(HOVER, "network_groups"))
    own = [line for line in nodes_of(page, tmp_path) if line["name"] == NAME]
    assert len(own) == 10
    assert {line["cluster"] for line in own} == {"1"}

    # One of them: why it is there, and its links.
    press(page, "One object")
    choose(page, "Object", own[1]["object"])
    expect(page.locator(".st-key-object_words")).to_contain_text(f"It is in “1 · {NAME}”.")
    expect(page.locator(".st-key-object_words")).to_contain_text("house: ")
    odds = cells(table(page, "Log odds for its own"))
    assert odds[0][0] == f"1 · {NAME}"
    assert float(odds[1][-1]) > 0.0
    reasons = [float(line[1]) for line in cells(table(page, "Speaks for its cluster"))]
    assert reasons[0] > 0.0
    no_wider_than_its_window(page, "Blocks", SIZES)


def test_the_slider_and_the_tree_choose_the_clusters_of_the_page_and_its_files(
    page: Page, keep_runs: KeepRuns, tmp_path: Path
) -> None:
    open_school(page, keep_runs, tmp_path)
    page.get_by_role("slider", name="Show so many clusters").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("2 clusters in place of the run's")).to_be_visible()
    settled(page)
    assert len(cells(table(page, "Link probability inside"))) == 2
    assert {line["cluster"] for line in nodes_of(page, tmp_path)} == {"1", "2"}

    # The address has the number, so a link shows the same.
    page.reload()
    expect(page.get_by_text("2 clusters in place of the run's")).to_be_visible()
    press(page, "Coarser")
    expect(page.get_by_text("Clusters are merged by the bound of")).to_be_visible()
    settled(page)
    joints = {int(number): (x, y) for number, x, y in page.evaluate(JOINTS)}
    page.mouse.click(*joints[3])
    expect(page.get_by_text("3 clusters in place of the run's")).to_be_visible()
    settled(page)
    assert len(cells(table(page, "Link probability inside"))) == 3
    no_wider_than_its_window(page, "Blocks", SIZES)


def test_columns_are_shown_by_names_from_the_file_or_by_their_ids(
    page: Page, keep_runs: KeepRuns, tmp_path: Path
) -> None:
    kinds = {"toy": ["Ball", "Doll", "Kite", "Train"], "food": ["Bread", "Cheese", "Honey", "Milk"]}
    things = [(kind, name) for kind, names in kinds.items() for name in names]
    lines = [
        f"{100 + i},{j},{kind},{name}"
        for i in range(16)
        for j, (kind, name) in enumerate(things)
        if i % 2 == j // 4
    ]
    text = "\n".join(["customer_id,product_id,category,product_name", *lines])
    result = fit(load_relation(text.encode(), filename="shop.csv").data, "acvb0")
    page.goto(keep_runs(result).replace("/?", "/blocks?"))
    plot(page, "blocks_picture")
    first = page.locator(".st-key-card_rows_1")
    expect(first).to_contain_text("A member is linked to 100 % of category “")
    expect(first).to_contain_text("none of the others")
    expect(page.get_by_text("columns (product_name)")).to_be_visible()
    assert "Ball" in str(cells(table(page, "Column clusters")))
    path = take(page.get_by_role("button", name="Column clusters", exact=True), tmp_path)
    with path.open(newline="") as opened:
        own = {
            line["object"]: (line["known_product_id"], line["known_category"])
            for line in csv.DictReader(opened)
        }
    assert own == {name: (str(j), kind) for j, (kind, name) in enumerate(things)}

    choose(page, "Show columns by", "product_id")
    expect(page.get_by_text("columns (product_id)")).to_be_visible()
    settled(page)
    assert {line[-1] for line in cells(table(page, "Column clusters"))} == {"0, 1, 2, 3", "4, 5, 6, 7"}
    page.reload()  # the address has the choice
    expect(page.get_by_text("columns (product_id)")).to_be_visible()
