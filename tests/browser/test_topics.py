"""Topics in a real browser: the sample's tour, and texts of one's own from an upload to the files."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from acvb_core.data.corpora.readers import load_corpus
from acvb_core.engine.fitting import fit
from acvb_core.samples.catalogue import load_sample
from tests.browser.steps import (
    KeepRuns,
    bring,
    cells,
    choose,
    choose_methods,
    fill,
    plot,
    press,
    rows_that_say,
    run_rows,
    screenshot,
    settled,
    start_runs,
    table,
    take,
    visit,
    wait_for,
    write,
)

K = 20  # topics of the run on the Bible
# The words of the chosen topic with their tokens, once they are others than those before, and the old figure is gone.
BARS = """(before) => {
  const plots = document.querySelectorAll('.st-key-topic_bars .js-plotly-plot');
  const bars = (name) => plots[0]?._fullData?.find((trace) => trace.name === name);
  const inside = bars('in the topic');
  if (plots.length !== 1 || !inside || `${inside.customdata}` === `${before}`) return null;
  return { words: [...inside.customdata], tokens: [...inside.x], corpus: [...bars('in the corpus').x] };
}"""
BUBBLE = """(topic) => {
  const plot = document.querySelector('.st-key-topic_map .js-plotly-plot');
  const { xaxis, yaxis } = plot._fullLayout;
  const { customdata, x, y } = plot._fullData[0];
  const at = customdata.indexOf(topic);
  return [xaxis._offset + xaxis.l2p(x[at]), yaxis._offset + yaxis.l2p(y[at])];
}"""
TINTS = """found => found.map((one) => [one.title, getComputedStyle(one).backgroundColor])"""

HOSTILE = "<img src=x onerror=alert(1)>"
THEMES = {
    "sea": ("harbour", "sailor", "anchor", "wave", "captain", "island", "storm", "lighthouse"),
    "garden": ("tulip", "soil", "seed", "gardener", "blossom", "hedge", "spade", "rose"),
    "kitchen": ("flour", "oven", "butter", "recipe", "sugar", "cook", "spoon", "dough"),
}
EACH = 20
RARE = "zebra"  # stands in a few documents only


def planted_file(folder: Path) -> Path:
    """Sixty short texts on three themes, and one without a word, with all that a field of a CSV may hold."""
    rng = np.random.default_rng(5)
    rows = []
    for number in range(3 * EACH):
        theme = list(THEMES)[number % 3]
        words = [str(word) for word in rng.choice(THEMES[theme], size=14)]
        text = f'The {" ".join(words[:7])}, and "the" {" ".join(words[7:])}.'
        if number < 6:
            text += f" {RARE}"
        rows.append([f"{theme} {number}", text, theme])
    rows[3][1] = f'{HOSTILE} =1+1 says "the sailor" <u>I</u>,\nand the harbour and the anchor\n{rows[3][1]}'
    rows[4][1] = f"{HOSTILE} {rows[4][1]}"
    rows[4][0] = "=1+1"
    rows[5][0] = HOSTILE
    rows.append(["nothing", "", "sea"])
    path = folder / "planted.csv"
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(["title", "body", "theme"])
        writer.writerows(rows)
    return path


@pytest.fixture(scope="module")
def bible(keep_runs: KeepRuns) -> str:
    """Address of a workspace with a run on the Bible."""
    return keep_runs(fit(load_sample("bible").corpus, "acvb0", k=K, heldout=0.1))


def bars(page: Page, unlike: list[str] | None = None) -> dict[str, list[Any]]:
    """The words of the chosen topic, with their tokens in the topic and in the corpus; once they are others."""
    return wait_for(page, BARS, arg=unlike)


def chosen(page: Page, number: int, name: str | None = None) -> None:
    """See that a topic is the one whose words are shown; without `name` it is called by three of them."""
    head = page.locator(".topic-head")
    expect(head.locator("span")).to_have_text(str(number))
    expect(head.locator("strong")).to_have_text(name or re.compile(r"\S+ \S+ \S+"))
    settled(page)


def rename(page: Page, number: int, name: str) -> None:
    page.get_by_role("button", name="Rename").click()
    write(page, f"Name of topic {number}", name)
    chosen(page, number, name)
    page.keyboard.press("Escape")


def open_topics(page: Page, method: str) -> None:
    """Go to the topics of a method's run, the way the Run page leads there."""
    visit(page, "Run")
    page.get_by_role("link", name="See the topics").click()
    expect(page.get_by_role("heading", level=1, name="Topics", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Arrays")).to_be_visible()  # the last thing on the page
    choose(page, "Run", f"{method} ·")
    plot(page, "topic_bars")


def tints(page: Page) -> list[tuple[str, str]]:
    """What is said of each tinted word of the open document, and its colour."""
    words = page.locator(".st-key-document_text span[title]")
    expect(words.first).to_be_visible()
    return [(title, colour) for title, colour in words.evaluate_all(TINTS)]


def test_words_are_ranked_and_topics_chosen_and_named(page: Page, bible: str) -> None:
    page.goto(bible)
    open_topics(page, "ACVB0")
    chosen(page, 1)
    relevant = bars(page)["words"]
    page.mouse.move(0, 0)
    screenshot(page, "topics.png")

    # Relevance with lambda 1 is probability, with lambda 0 it is what the topic has for itself.
    slider = page.get_by_role("slider", name="λ")
    slider.press("End")
    probable = bars(page, unlike=relevant)["words"]
    slider.press("Home")
    distinctive = bars(page, unlike=probable)
    assert distinctive["words"] != relevant
    assert np.divide(distinctive["tokens"], distinctive["corpus"]).min() > 0.8
    press(page, "FREX")
    expect(slider).to_have_count(0)
    frequent = bars(page, unlike=distinctive["words"])["words"]
    press(page, "Probability")
    assert bars(page, unlike=frequent)["words"] == probable

    # The smallest bubble lies on top of the others.
    box = plot(page, "topic_map").bounding_box()
    assert box is not None
    x, y = page.evaluate(BUBBLE, K)
    page.mouse.click(box["x"] + x, box["y"] + y)
    chosen(page, K)
    assert bars(page, unlike=probable)["corpus"]
    page.locator(".st-key-topic_step_1").get_by_role("button").click()
    chosen(page, 1)
    choose(page, "Topic", "3 ·")
    chosen(page, 3)

    rename(page, 3, "The third")
    third = page.locator(".st-key-topic_cards .card").nth(2)
    expect(third).to_contain_text("The third")
    # In the disc, on two lines, or above it.
    expect(page.locator(".st-key-topic_map .js-plotly-plot")).to_contain_text(re.compile(r"The\s*third"))
    page.goto(bible)
    open_topics(page, "ACVB0")
    expect(third).to_contain_text("The third")

    choose(page, "Topic", "3 · The third")
    shown = bars(page)
    word, times = shown["words"][0], shown["corpus"][0]
    write(page, "Find a word", word)
    found = page.get_by_text(re.compile(rf"In (\d+) topics? of {K}; {times:,} times in the corpus"))
    expect(found).to_be_visible()
    listed = page.locator(".st-key-topic_cards .card")
    expect(listed).to_have_count(int(re.findall(r"In (\d+)", found.inner_text())[0]))
    last = int(listed.last.locator(".number").inner_text())
    listed.last.click()
    chosen(page, last, "The third" if last == 3 else None)


def figure_of(page: Page, name: str) -> str:
    """What stands below one of the Data page's headings."""
    return page.get_by_test_id("stMetric").filter(has_text=name).get_by_test_id("stMetricValue").inner_text()


def words_listed(page: Page) -> dict[str, list[str]]:
    """The words in the preview's table, each with the rest of its line."""
    return {line[0]: line[1:] for line in cells(table(page, "Word"))}


def themes_found(page: Page) -> set[str]:
    """The planted themes of the topics whose first words are all of one."""
    texts = page.locator(".st-key-topic_cards .card .words").all_inner_texts()
    firsts = [text.split(", ")[:6] for text in texts]
    return {theme for theme, words in THEMES.items() for first in firsts if set(first) <= set(words)}


def test_topics_are_merged_and_words_changed(page: Page, keep_runs: KeepRuns, tmp_path: Path) -> None:
    page.goto(keep_runs(fit(load_corpus(planted_file(tmp_path)).data, "cvb0", k=3)))
    open_topics(page, "CVB0")
    cards = page.locator(".st-key-topic_cards .card")
    expect(cards).to_have_count(3)
    page.get_by_role("button", name="Arrange").click()
    page.get_by_role("button", name="Merge", exact=True).click()
    expect(cards).to_have_count(2)
    page.get_by_role("button", name="Undo", exact=True).first.click()
    expect(cards).to_have_count(3)

    theme = next(name for name in THEMES if name in themes_found(page))
    at = next(
        i for i, text in enumerate(cards.all_inner_texts(), 1) if all(w in text for w in THEMES[theme][:4])
    )
    choose(page, "Topic", f"{at} ·")
    rename(page, at, f"About the {theme}")
    press(page, "Change words")
    left_out = THEMES[theme][0]
    field = page.get_by_role("combobox", name=re.compile(r"^Words of topic \d"))
    field.fill(left_out)
    field.press("Enter")
    settled(page)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Leave out", exact=True).first.click()
    expect(page.get_by_text(f"leave out: {left_out}")).to_be_visible()
    page.get_by_role("button", name="Run again with 1 change").first.click()
    page.get_by_role("button", name="See its topics").click()
    expect(page.get_by_text("planted (words changed)").first).to_be_visible()
    expect(page.get_by_text(re.compile(rf"^3 topics in .*About the {theme}"))).to_be_visible()


def test_texts_of_ones_own_from_upload_to_files(page: Page, tmp_path: Path) -> None:
    planted = [word for words in THEMES.values() for word in words]
    bring(page, planted_file(tmp_path), "texts")
    expect(page.get_by_text("table with texts")).to_be_visible()
    expect(page.get_by_role("combobox", name="Texts", exact=True)).to_have_value("body")
    expect(page.get_by_role("combobox", name="Known groups", exact=True)).to_have_value("theme")
    page.get_by_text("Change which words are kept").click()
    settled(page)
    before = int(figure_of(page, "Words kept"))
    assert before == len(planted) + len({"says", RARE} | set(re.findall("[a-z]{2,}", HOSTILE))) - 1
    assert figure_of(page, "Documents left empty") == "1"
    assert set(list(words_listed(page))[:5]) <= set(planted)  # the most frequent first
    fill(page, "Ignore words in fewer than N documents", "7")
    expect(page.get_by_test_id("stMetric").filter(has_text="Words kept")).to_contain_text(str(len(planted)))
    press(page, "Dropped")
    expect(table(page, "Why")).to_be_visible()
    dropped = words_listed(page)
    assert dropped["the"][-1] == "stop words"
    assert dropped[RARE] == ["6", "6", "in too few documents"]
    fill(page, "Ignore words in fewer than N documents", "2")
    expect(page.get_by_test_id("stMetric").filter(has_text="Words kept")).to_contain_text(str(before))
    page.get_by_role("button", name="Load", exact=True).click()
    expect(page.get_by_test_id("stSidebar").get_by_text("61 documents")).to_be_visible()

    page.get_by_role("button", name="Go to Run", exact=True).click()
    choose_methods(page, "ACVB0", "VB")
    fill(page, "Topics", "3")
    start_runs(page, "Start ACVB0, VB")
    expect(run_rows(page)).to_have_count(2)
    expect(rows_that_say(page, "converged")).to_have_count(2)

    for method in ("VB", "ACVB0"):
        open_topics(page, method)
        press(page, "Probability")
        settled(page)
        expect(page.locator(".st-key-topic_cards .card")).to_have_count(3)
        assert themes_found(page) == set(THEMES)
    rename(page, 1, HOSTILE)

    press(page, "Documents")
    write(page, "Find documents", "sea 3")
    expect(page.locator(".document-name")).to_have_text("sea 3")
    text = page.locator(".st-key-document_text")
    expect(text).to_contain_text(f'{HOSTILE} =1+1 says "the sailor" <u>I</u>,')
    expect(text.locator("br")).not_to_have_count(0)
    assert len(tints(page)) > 10
    press(page, "Over time and groups")
    assert plot(page, "effects_groups").evaluate("plot => plot._fullLayout.yaxis.ticktext.length") == 3
    press(page, "Known labels")
    expect(table(page, "garden")).to_be_visible()
    table(page, "garden").hover()
    expect(page.locator('[aria-label="Download as CSV"]')).to_be_hidden()  # its file would not be guarded

    words = pd.read_csv(take(page.get_by_role("button", name="Words of the topics"), tmp_path))
    assert words["topic"].nunique() == 3
    assert set(words.loc[words["topic"] == 1, "name"]) == {HOSTILE}
    documents = pd.read_csv(take(page.get_by_role("button", name="Topics of the documents"), tmp_path))
    assert len(documents) == 3 * EACH + 1
    assert documents["document"].tolist()[3:6] == ["sea 3", "'=1+1", HOSTILE]

    visit(page, "Compare")
    press(page, "Topics")
    expect(page.get_by_text("All matched.")).to_be_visible()
    assert plot(page, "topic_similarity").evaluate("plot => plot._fullData[0].y.length") == 3
    expect(page.locator("img[src='x']")).to_have_count(0)
