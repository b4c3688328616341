"""Texts that stay on disk, in a real browser: read, streamed, looked at, taken away as a model, and continued from."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from acvb_core.store.topics import load_model
from tests.browser.steps import (
    POINTS,
    WAIT_MS,
    bring,
    choose,
    choose_methods,
    fill,
    no_page_is_wider,
    plot,
    press,
    rows_that_say,
    run_rows,
    select_run,
    settled,
    start_runs,
    take,
    visit,
    wait_for,
)

N = 4000
SEA = ["sea", "ship", "sail", "wind", "salt", "harbour", "anchor", "sailor", "wave", "tide"]
HOUSE = ["house", "roof", "door", "window", "stair", "garden", "kitchen", "floor", "wall", "chimney"]

# What the axes of the curves are called.
AXES = """() => {
  const layout = document.querySelector('.st-key-curves .js-plotly-plot')?._fullLayout ?? {};
  return Object.keys(layout).filter((key) => key.startsWith('xaxis')).map((key) => layout[key].title?.text);
}"""


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One document a line, half of them on the sea and half on houses."""
    rng = np.random.default_rng(8)
    themes = [SEA, HOUSE]
    path = tmp_path_factory.mktemp("lines") / "lines.txt"
    path.write_text("".join(f"{' '.join(rng.choice(themes[i % 2], size=30))}\n" for i in range(N)))
    return path


def test_from_a_file_to_a_model_and_on(page: Page, lines: Path, tmp_path: Path) -> None:
    bring(page, lines, "texts")
    expect(page.get_by_text(f"{N:,} documents, 20 words in the vocabulary")).to_be_visible()
    press(page, "On disk")
    settled(page)
    page.get_by_role("button", name="Load", exact=True).click()
    expect(page.get_by_text("Kept on disk, for streaming methods and runs over shards.")).to_be_visible(
        timeout=WAIT_MS
    )
    expect(page.get_by_text("80 documents hidden from each new run")).to_be_visible()

    visit(page, "Run")
    fill(page, "Topics", "2")
    fill(page, "Epochs", "100000")
    start_runs(page, "Start SDM")
    expect(rows_that_say(page, "running")).to_have_count(1, timeout=WAIT_MS)
    plot(page, "curves")
    before = wait_for(page, f"() => {{ const n = ({POINTS})(); return n > 3 ? n : 0; }}")
    wait_for(page, f"before => ({POINTS})() > before || ({POINTS})() >= 380", arg=before)
    expect(run_rows(page)).to_contain_text(re.compile(r"[\d,.]+ of 100,000 epochs"))
    expect(run_rows(page)).to_contain_text("documents/s")
    press(page, "Against documents")
    wait_for(page, f"() => ({AXES})().includes('documents seen')")
    page.locator(".st-key-run_actions").get_by_role("button", name="Stop").click()
    expect(rows_that_say(page, "stopped")).to_have_count(1, timeout=WAIT_MS)

    page.get_by_role("link", name="See the topics").click()
    expect(page.get_by_role("heading", level=1, name="Topics", exact=True)).to_be_visible()
    found = page.locator(".st-key-topic_cards .card")
    expect(found).to_have_count(2)
    # A card has twelve words: all ten of its own, and two others.
    each = [
        [sum(word in words for word in theme) for theme in (SEA, HOUSE)] for words in found.all_inner_texts()
    ]
    assert {own.index(10) for own in each} == {0, 1}
    press(page, "Documents")
    expect(
        page.get_by_text(f"This page shows 2,000 of the {N:,} documents, drawn at random.").first
    ).to_be_visible()
    model = take(page.get_by_role("button", name="The model"), tmp_path)
    assert load_model(model).n_topics == 2

    visit(page, "Run")
    page.get_by_text("New runs").click()
    choose(page, "Start from", "Model file")
    page.locator(".st-key-start_file input[type=file]").set_input_files(model)
    expect(page.get_by_text("2 topics of lines by sdm, 20 words")).to_be_visible()
    choose_methods(page, "SCVB0")
    fill(page, "Epochs", "1")
    settled(page)
    start_runs(page, "Start SCVB0")
    expect(rows_that_say(page, "complete")).to_have_count(1, timeout=WAIT_MS)
    select_run(page, "complete")
    expect(page.get_by_text("continued from 2 topics of lines by sdm")).to_be_visible()
    page.set_viewport_size({"width": 1024, "height": 768})
    no_page_is_wider(page, ["Run", "Topics"])
