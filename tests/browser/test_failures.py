"""Pages, files and buttons that fail in the browser: the app says so itself, and Streamlit shows no box of its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import running_app
from tests.browser.steps import WAIT_MS, bring, no_wider_than_its_window, settled, visit

#: Python runs this when the server starts: these functions of the pages fail from then on.
FAULTS = """
import importlib.machinery, sys

FAULTS = {
    "pages.ui.running.guide_page": "show_guide",
    "pages.ui.upload.form": "show_schema",
    "pages.ui.workspace.kept_data": "DataShelf.remove",
}

def fail(*_, **__):
    raise ValueError("secret of /home/ann")

class Finder:
    def find_spec(self, name, path, target=None):
        if name not in FAULTS:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        run = spec.loader.exec_module
        def run_and_break(module):
            run(module)
            *owner, function = FAULTS[name].split(".")
            setattr(getattr(module, owner[0]) if owner else module, function, fail)
        spec.loader.exec_module = run_and_break
        return spec

sys.meta_path.insert(0, Finder())
"""
#: Of Streamlit's box; the first is in its text, the others are links in it.
FOREIGN = ("Streamlit Cloud", "Ask Google", "Ask ChatGPT")


def check_box(page: Page, title: str, place: str) -> None:
    """Assert that the app's box is there, with its report, and no box of Streamlit."""
    expect(page.get_by_test_id("stMain").get_by_text(title)).to_be_visible()
    settled(page)
    page.get_by_text("Report for the developers").click()
    expect(page.get_by_test_id("stCode").filter(has_text="ValueError")).to_contain_text(place)
    content = page.content()
    assert not [
        text for text in (*FOREIGN, "secret", "/home/ann", 'data-testid="stException"') if text in content
    ]
    no_wider_than_its_window(page, title, ((1440, 900), (390, 844)))
    page.set_viewport_size({"width": 1440, "height": 900})


def walk(page: Page, folder: Path) -> None:
    """Meet a page, a file and a button that fail, and leave each of them."""
    title = "Part of this page could not be drawn"
    visit(page, "Data")
    page.get_by_role("button", name="Use this sample").click()
    expect(page.get_by_role("button", name="Go to Run", exact=True)).to_be_visible()
    page.get_by_text("Remove data", exact=True).click()
    page.get_by_role("button", name="Remove", exact=True).click()
    check_box(page, "This could not be done", "in remove_data")
    page.get_by_test_id("stMain").get_by_role("button", name="Close", exact=True).click()
    expect(page.get_by_text("This could not be done")).to_have_count(0)

    path = folder / "links.csv"
    path.write_text("person,event\nAnn,Ball\nBob,Ball\n")
    bring(page, path, "relation")
    check_box(page, title, "in show_upload")
    visit(page, "Run")
    visit(page, "Data")
    page.get_by_role("button", name="Remove this file").click()
    expect(page.get_by_text(title)).to_have_count(0)
    expect(page.get_by_text("Which files can be read?")).to_be_visible()

    page.get_by_test_id("stSidebarNav").get_by_role("link", name="Guide").click()
    check_box(page, title, "guide.py")
    page.get_by_role("button", name="Stop using these data").click()
    expect(page.get_by_role("button", name="Stop using these data")).to_have_count(0)


def start_and_walk(browser: Browser, folder: Path) -> None:
    with running_app(folder / "app") as url:
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        context.set_default_timeout(WAIT_MS)
        expect.set_options(timeout=WAIT_MS)
        page = context.new_page()
        page.goto(url)
        walk(page, folder)
        page.goto("about:blank")
        context.close()


def test_nothing_that_fails_shows_the_box_of_streamlit(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(FAULTS)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    # The terminal has the tracebacks, which `running_app` finds at its end.
    with pytest.raises(AssertionError, match=r"(?s)the app failed somewhere.*secret of /home/ann"):
        start_and_walk(browser, tmp_path)
