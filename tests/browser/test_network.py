"""Networks in a real browser: from a GraphML file to its groups and the links that are probably missing."""

from __future__ import annotations

import csv
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.steps import (
    POINTS,
    bring,
    cells,
    choose,
    choose_methods,
    no_wider_than_its_window,
    plot,
    press,
    rows_that_say,
    run_rows,
    school_file,
    screenshot,
    settled,
    start_runs,
    table,
    take,
    visit,
    wait_for,
)

POINTS_OF = (
    "(key) => document.querySelector(`.st-key-${key} .js-plotly-plot`)._fullData.map((one) => one._length)"
)


def load(page: Page, file: Path) -> None:
    bring(page, file, "network")
    expect(page.get_by_role("textbox", name="Name", exact=True)).to_have_value(file.stem)
    page.get_by_role("button", name="Load", exact=True).click()
    expect(page.get_by_test_id("stSidebar").get_by_text(file.stem)).to_be_visible()
    settled(page)  # a click that comes while the page is still at work may go to what is no longer there


def metric(page: Page, name: str) -> str:
    return page.get_by_test_id("stMetric").filter(has_text=name).get_by_test_id("stMetricValue").inner_text()


def run_three(page: Page) -> None:
    visit(page, "Run")
    choose_methods(page, "ACVB0", "CVB0", "VB")
    start_runs(page, "Start ACVB0, CVB0, VB")
    expect(run_rows(page)).to_have_count(3)
    wait_for(page, f"({POINTS})() > 5")
    expect(rows_that_say(page, "converged")).to_have_count(3)


def test_a_graph_file_is_sorted_drawn_and_its_missing_links_are_taken_away(
    page: Page, tmp_path: Path
) -> None:
    load(page, school_file(tmp_path))
    assert metric(page, "Nodes") == "40"
    n_links = int(metric(page, "Links"))
    expect(page.get_by_text("Undirected, without self-links")).to_be_visible()
    expect(page.get_by_text("Recognised: network. It is a GraphML file")).to_be_visible()

    run_three(page)
    plot(page, "curves")
    titles = page.evaluate(
        "() => document.querySelector('.st-key-curves .js-plotly-plot').layout.annotations.map((one) => one.text)"
    )
    assert sum("lusters" in title for title in titles) == 1, titles

    # Another reading, and back: nothing of the file is lost, and the runs stay.
    visit(page, "Data")
    page.get_by_text("How the file is read").click()
    choose(page, "Links are", "directed")
    expect(page.get_by_text("Directed, without self-links")).to_be_visible()
    choose(page, "Links are", "recognise it")
    expect(page.get_by_text("Undirected, without self-links")).to_be_visible()

    visit(page, "Blocks")
    plot(page, "blocks_picture")
    press(page, "Network")
    figure = plot(page, "network_groups")
    expect(figure).to_be_visible()
    settled(page)
    choose(page, "Highlight", "1 · ")
    plot(page, "network_groups")
    press(page, "Single nodes")
    plot(page, "network_nodes")
    settled(page)
    screenshot(page, "network.png")
    assert 3 * n_links in page.evaluate(POINTS_OF, "network_nodes")  # two ends and a gap for each
    no_wider_than_its_window(page, "Blocks")

    # The houses are found again.
    press(page, "Known labels")
    scores = cells(table(page, "ARI"))
    assert scores[0][0] == "house"
    assert float(scores[0][1]) > 0.9, scores

    press(page, "Link prediction")
    path = take(
        page.locator(".st-key-file_likely-links\\.csv, [class*='st-key-file_likely-links']").get_by_role(
            "button"
        ),
        tmp_path,
    )
    with path.open(newline="") as lines:
        likely = list(csv.DictReader(lines))
    assert len(likely) == 20
    inside = sum(int(pair["row"].split()[1]) % 4 == int(pair["column"].split()[1]) % 4 for pair in likely)
    assert inside > 15
    page.get_by_role("tab", name="Most surprising links").click()
    expect(table(page, "Block probability").last).to_be_visible()
