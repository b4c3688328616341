"""A network with weights and hubs in a real browser: from a file to its rates, next to the model of links."""

from __future__ import annotations

import random
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.steps import (
    WAIT_MS,
    bring,
    cells,
    no_wider_than_its_window,
    plot,
    press,
    rows_that_say,
    run_rows,
    settled,
    start_runs,
    table,
    visit,
)


def letters_file(folder: Path) -> Path:
    """Forty-five people in three offices: how often they write to each other, some far more often than others."""
    rng = random.Random(7)
    activity = [rng.lognormvariate(0.0, 0.9) for _ in range(45)]
    lines = ["from,to,letters"]
    for i in range(45):
        for j in range(45):
            mean = (1.5 if i % 3 == j % 3 else 0.15) * activity[i] * activity[j]
            count = sum(rng.random() < mean / 200 for _ in range(200))
            if i != j and count:
                lines.append(f"person {i},person {j},{count}")
    path = folder / "letters.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_network_with_weights_is_read_as_counts_and_compared_with_its_links(
    page: Page, tmp_path: Path
) -> None:
    bring(page, letters_file(tmp_path), "network")
    page.get_by_role("button", name="Load", exact=True).click()
    expect(page.get_by_test_id("stSidebar").get_by_text("letters")).to_be_visible()
    visit(page, "Run")
    expect(page.get_by_text("This model uses linked or not linked only")).to_be_visible()
    start_runs(page, "Start ACVB0")
    expect(rows_that_say(page, "converged")).to_have_count(1, timeout=WAIT_MS)
    page.get_by_text("New runs").click()
    settled(page)
    press(page, "Poisson block model: weights and hubs")
    expect(page.get_by_text("The weights of the links are used as counts")).to_be_visible()
    start_runs(page, "Start ACVB0")
    expect(run_rows(page)).to_have_count(2)
    expect(rows_that_say(page, "converged")).to_have_count(2, timeout=WAIT_MS)

    # The offices are found, whoever writes most in them.
    visit(page, "Blocks")
    plot(page, "blocks_picture")
    expect(page.get_by_text("Corrected for activity: evidence")).to_be_visible()
    expect(page.get_by_text("3 clusters. Converged")).to_be_visible()
    press(page, "Members")
    offices = {name: cluster for name, cluster, *_ in cells(table(page, "Weight out"))}
    assert len({(int(name.split()[1]) % 3, cluster) for name, cluster in offices.items()}) == 3, offices
    press(page, "Network")
    plot(page, "network_groups")
    no_wider_than_its_window(page, "Blocks", [(390, 844), (1440, 900)])

    visit(page, "Compare")
    expect(page.get_by_text("Runs of different models")).to_be_visible()
    press(page, "Blocks")
    plot(page, "compare_matrix_chart_1")
    expect(page.get_by_text("weights of Poisson block models on another")).to_be_visible()
    no_wider_than_its_window(page, "Compare", [(390, 844), (1440, 900)])
