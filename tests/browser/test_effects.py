"""Texts with dates and groups in a real browser: what columns are kept as, topics by them, and the files."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
from playwright.sync_api import Page, expect

from acvb_core.samples.planted_tickets import planted_tickets
from tests.browser.steps import (
    WAIT_MS,
    bring,
    choose,
    choose_methods,
    fill,
    plot,
    press,
    rows_that_say,
    settled,
    start_runs,
    table,
    take,
)

HOSTILE = "<img src=x onerror=alert(1)>"


def write_tickets(folder: Path) -> Path:
    """Tickets with a date that is none, and a product with a name that a page must not run."""
    corpus = planted_tickets(900, seed=2).corpus
    frame = pd.DataFrame(dict(corpus.metadata))
    frame["created"] = frame["created"].dt.strftime("%d/%m/%Y")
    frame.loc[3, "created"] = "soon"
    frame["product"] = frame["product"].replace("lamp", HOSTILE)
    frame.insert(0, "ticket", [f"ticket {at}" for at in range(len(frame))])
    frame.assign(text=corpus.texts).to_csv(folder / "tickets.csv", index=False)
    return folder / "tickets.csv"


def test_topics_over_time_and_by_group(page: Page, tmp_path: Path) -> None:
    bring(page, write_tickets(tmp_path), "texts")
    expect(page.get_by_text("1 value of the column 'created' is no date")).to_be_visible()
    kinds = page.get_by_role("combobox", name="Kept as", exact=True)
    expect(kinds).to_have_count(3)
    assert [kind.input_value() for kind in kinds.all()] == ["date", "group", "number"]
    page.get_by_role("button", name="Load and go to Run").click()
    choose_methods(page, "CVB0")
    fill(page, "Topics", "8")
    start_runs(page, "Start CVB0")
    expect(rows_that_say(page, "converged")).to_have_count(1, timeout=WAIT_MS)
    page.get_by_role("link", name="See the topics").click()
    press(page, "Over time and groups")
    expect(page.get_by_text(re.compile("between January 2023 and December 2023")).first).to_be_visible()
    lines = plot(page, "effects_time").evaluate("plot => plot._fullData.at(-1).x.length")
    assert lines == 12
    saved = pd.read_csv(take(page.get_by_role("button", name="Shares over time"), tmp_path))
    assert saved.columns[:6].tolist() == ["period", "begin", "documents", "words", "topic", "name"]
    assert saved["name"].str.len().min() > 5
    changes = pd.read_csv(take(page.get_by_role("button", name="Changes, with tests"), tmp_path))
    assert changes["topic"].tolist() == list(range(1, 9))

    choose(page, "Compare", "by group: product")
    settled(page)
    expect(page.get_by_text(re.compile("between the groups of product")).first).to_be_visible()
    expect(table(page, HOSTILE)).to_be_visible()
    names = plot(page, "effects_groups").evaluate("plot => plot._fullLayout.yaxis.ticktext.length")
    assert names == 3
    choose(page, "Documents", "product: kettle")
    choose(page, "Compare", "over time: created")
    settled(page)
    kettles = int((pd.read_csv(tmp_path / "tickets.csv")["product"] == "kettle").sum())
    expect(page.get_by_text(re.compile(f"^{kettles - 1}|^{kettles} documents")).first).to_be_visible()
    expect(page.locator("img[src='x']")).to_have_count(0)
