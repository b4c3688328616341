"""Every page as it looks with each part of it opened: the watch of the browser tests sees all, and all fit."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page

from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.samples.catalogue import load_sample
from tests.browser.conftest import watched_page
from tests.browser.steps import (
    KeepRuns,
    OpenPage,
    names_of_pages,
    no_wider_than_its_window,
)
from tests.pages.lda import topics
from tests.pages.lfm import tables

#: What opens a part of a page, as long as it is closed.
CLOSED = (
    "details:not([open]) > summary, [role=tab][aria-selected=false], [role=radio][aria-checked=false], "
    "[data-testid=stPopoverButton][aria-expanded=false]"
)
#: Names what opens a part: the same one keeps its name as the page is drawn again.
NAME = """(opener) => {
  const keys = (opener.closest('[class*="st-key-"]')?.className ?? '').match(/st-key-[^ ]+/);
  return `${opener.tagName} ${keys} ${opener.innerText.trim()}`;
}"""
#: Kinds of data, and the pages that only their runs fill.
MODELS = {
    "relation": ("Blocks",), "network": ("Blocks",), "texts": ("Topics", "How many topics?"), "table": ("Features",),
}  # fmt: skip


def results_of(model: str) -> list[Result]:
    """Two short runs on one sample."""
    if model == "texts":
        days = np.datetime64("2020-01-01") + 20 * np.arange(25)
        labels = ["pets"] * 12 + ["sky"] * 12 + ["none"]
        corpus = topics.small_corpus(texts=topics.SENTENCES, labels=labels, metadata={"day": days})
        return [fit(corpus, method, k=2, heldout=0.1, max_sweeps=20) for method in ("cvb0", "vb")]
    if model == "table":
        return [tables.fitted(), tables.fitted(seed=1)]
    if model == "relation":
        sample, models = load_sample("southern_women").relation, ("irm", "irm")
    else:
        sample, models = load_sample("les_miserables").relation, ("network", "poisson-network")
    return [
        fit(sample, method, model=model, heldout=0.1, max_sweeps=20)
        for method, model in zip(("acvb0", "vb"), models, strict=True)
    ]


def next_closed(page: Page, opened: set[str]) -> Locator | None:
    """Return what opens a part of the page that has not been open yet: the last one, as parts follow their opener."""
    for opener in reversed(page.locator(".stMain").locator(CLOSED).all()):
        name = opener.evaluate(NAME)
        if opener.is_visible() and opener.is_enabled() and name not in opened:
            opened.add(name)
            return opener
    return None


def open_everything(page: Page) -> set[str]:
    """Open each part of the page once, also what comes to light with another one, and return their names.

    No part may be wider than the window.
    """
    opened: set[str] = set()
    while (opener := next_closed(page, opened)) is not None:
        # Asked first: afterwards it is no longer closed.
        floats = opener.get_attribute("data-testid") == "stPopoverButton"
        opener.click()
        no_wider_than_its_window(page, page.url)
        if floats:
            page.keyboard.press("Escape")
    return opened


@pytest.mark.parametrize("model", MODELS)
def test_every_part_of_every_page_is_drawn(open_page: OpenPage, keep_runs: KeepRuns, model: str) -> None:
    with open_page(1024, 768) as page:  # what fits here fits a wider window
        page.goto(keep_runs(*results_of(model)))
        names = names_of_pages(page)
        assert len(names) >= 8
        if model != "relation":  # the parts of the other pages are the same whatever the data
            names = ["Data", "Run", *MODELS[model], "Compare"]
        opened = set[str]()
        for name in names:
            page.get_by_test_id("stSidebarNav").get_by_role("link", name=name, exact=True).click()
            no_wider_than_its_window(page, name)
            if model == "relation" or name in MODELS[model]:
                opened |= open_everything(page)
        assert len(opened) >= (40 if model == "relation" else 8)
        assert model != "network" or any("Single nodes" in name for name in opened)


def test_the_watch_fails_on_what_went_wrong(browser: Browser, server: str) -> None:
    faults = {
        "console.error('amiss')": "console: amiss",
        "document.body.append(Object.assign(new Image(), { src: 'https://example.org/x.png' }))": "policy (img-src)",
        "fetch('/media/nowhere.png')": "404 (Not Found)",
        "document.body.append('WebGL is not supported by your browser')": "the page says: WebGL",
    }

    def plant_faults() -> None:
        with watched_page(browser) as page:
            page.goto(server)
            page.evaluate(f"() => {{ {'; '.join(faults)}; }}")
            page.wait_for_timeout(500)

    with pytest.raises(AssertionError) as failed:
        plant_faults()
    assert not [told for told in faults.values() if told not in str(failed.value)], str(failed.value)
