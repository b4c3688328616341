"""Files that are no text, in the browser: Parquet, a workbook, JSON Lines, and one with a fault in it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from playwright.sync_api import Page, expect

from tests.browser.steps import bring, choose, no_wider_than_its_window

LINKS = pd.DataFrame({"person": ["Ann", "Bob", "Bob", "Cyd"], "event": ["Fair", "Fair", "Ball", "Ball"]})
MAIL = pd.DataFrame({"sender": ["Dan", "Eve"], "receiver": ["Flo", "Gus"]})
MUCH = "much more than fits on a narrow screen, and then some"
# How far something in a box lies outside of it, or is cut off.
CUT = """box => Math.max(...[box, ...box.querySelectorAll('*')].map((part) => part.scrollWidth - part.clientWidth))"""
WRONG = LINKS.assign(times=["1", "0", MUCH, "2"])


def load(page: Page, name: str, size: str) -> None:
    """Load the file that was brought, and wait until it is the data in use."""
    page.get_by_role("button", name="Load", exact=True).click()
    expect(page.get_by_role("button", name="Go to Run", exact=True)).to_be_visible()
    expect(page.locator(".st-key-data_name")).to_contain_text(name)
    expect(page.get_by_test_id("stSidebar")).to_contain_text(size)


def test_files_of_columns_are_brought_and_a_fault_is_named(page: Page, tmp_path: Path) -> None:
    LINKS.to_parquet(tmp_path / "outings.parquet")
    with pd.ExcelWriter(tmp_path / "book.xlsx") as book:
        LINKS.to_excel(book, sheet_name="links", index=False)
        MAIL.to_excel(book, sheet_name="mail", index=False)
    LINKS.to_json(tmp_path / "lines.jsonl", orient="records", lines=True)
    WRONG.to_parquet(tmp_path / "faulty.parquet")

    bring(page, tmp_path / "outings.parquet", "relation")
    expect(page.get_by_role("combobox", name="Row objects", exact=True)).to_have_value("person")
    expect(page.get_by_role("combobox", name="Delimiter", exact=True)).to_have_count(0)
    load(page, "outings", "3 × 2")

    bring(page, tmp_path / "book.xlsx", "relation")
    choose(page, "Sheet", "mail")
    expect(page.get_by_role("combobox", name="Row objects", exact=True)).to_have_value("sender")
    load(page, "book", "2 × 2")

    bring(page, tmp_path / "lines.jsonl", "relation")
    load(page, "lines", "3 × 2")

    bring(page, tmp_path / "faulty.parquet", "relation")
    choose(page, "Values", "times")
    page.get_by_role("button", name="Load", exact=True).click()
    place = page.locator(".st-key-problem_place")
    for said in ("Row: 3", "Column: times", f"Found: {MUCH}"):
        expect(place.get_by_text(said, exact=True)).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 900})
    no_wider_than_its_window(page, "Data")
    assert place.evaluate(CUT) == 0, "all that was found can be read on a phone without scrolling sideways"
