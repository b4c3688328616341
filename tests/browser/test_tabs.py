"""Tabs, of the page and of the browser: figures when they are seen again, and the data that each tab works on."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from acvb_core.engine.fitting import fit
from acvb_core.samples.catalogue import load_sample
from tests.browser.steps import (
    KeepRuns,
    OpenPage,
    choose,
    choose_methods,
    fill,
    no_wider_than_its_window,
    settled,
    use_sample,
    visit,
)


def uses(page: Page, title: str) -> None:
    """See that the Data page, and the sidebar of any page, show these data."""
    expect(page.get_by_role("combobox", name="Data", exact=True)).to_have_value(title)
    settled(page)


def run_shown(page: Page) -> str:
    """The id of the run that the address names, once the page shows it."""
    expect(page).to_have_url(re.compile("[?&]run=[0-9a-f]{12}$"))
    settled(page)
    return page.url.rpartition("run=")[2]


def choose_seed(page: Page, seed: int) -> str:
    """Choose the run with this seed, and return its id as the address names it."""
    before = run_shown(page)
    choose(page, "Run", f"ACVB0 · K 20 × 20 · seed {seed}")
    expect(page).not_to_have_url(re.compile(before))
    return run_shown(page)


def shows_seed(page: Page, seed: int) -> None:
    field = page.get_by_role("combobox", name="Run", exact=True)
    expect(field).to_have_value(re.compile(f"seed {seed} "))


def start_tabs(page: Page, keep_runs: KeepRuns) -> tuple[Page, str]:
    """Show three runs on a relation in this tab, and one on a network in another; return that tab and its run."""
    relation, network = (load_sample(name).relation for name in ("southern_women", "karate"))
    runs = [fit(relation, "acvb0", heldout=0.1, seed=seed) for seed in range(3)]
    address = keep_runs(*runs, fit(network, "acvb0", heldout=0.1))
    page.goto(address)
    other = page.context.new_page()
    other.goto(address)
    use_sample(other, "Karate club", "Network")
    visit(other, "Blocks")
    return other, run_shown(other)


def test_an_address_opens_the_run_that_its_tab_showed(page: Page, keep_runs: KeepRuns) -> None:
    """Two tabs with data and runs of their own: reload and Back over pages open the same."""
    other, karate = start_tabs(page, keep_runs)
    visit(page, "Blocks")
    run_shown(page)
    steps = page.evaluate("history.length")
    first = choose_seed(page, 1)
    second = choose_seed(page, 2)
    assert page.evaluate("history.length") == steps + 2
    shows_seed(page, 2)
    page.reload()
    shows_seed(page, 2)
    assert run_shown(page) == second
    page.go_back()
    shows_seed(page, 1)
    assert run_shown(page) == first
    visit(page, "Compare")
    expect(page).to_have_url(re.compile(r"run=([0-9a-f]{12}\.){2}[0-9a-f]{12}$"))
    settled(page)
    page.go_back()
    expect(page.get_by_role("heading", level=1, name="Blocks", exact=True)).to_be_visible()
    shows_seed(page, 1)
    page.go_forward()
    expect(page.get_by_role("heading", level=1, name="Compare", exact=True)).to_be_visible()
    page.go_back()
    shows_seed(page, 1)
    settled(page)
    assert (run_shown(page), run_shown(other)) == (first, karate)
    uses(other, "Karate club")
    other.close()


def test_links_that_are_mailed_open_the_same_run(
    page: Page, open_page: OpenPage, keep_runs: KeepRuns
) -> None:
    relation = load_sample("southern_women").relation
    runs = [fit(relation, "acvb0", heldout=0.1, seed=seed) for seed in range(3)]
    page.goto(keep_runs(*runs).replace("/?", "/blocks?"))
    first = choose_seed(page, 1)
    page.get_by_test_id("stSidebar").get_by_role("button", name="Share").click()
    expect(page.get_by_test_id("stCode")).to_have_count(3)
    view, answer, full = page.get_by_test_id("stCode").locator("code").all_inner_texts()
    page.keyboard.press("Escape")
    use_sample(page, "Karate club", "Network")  # they open the data that they were made on
    for link in (view, full):
        with open_page() as mailed:
            mailed.goto(link)
            shows_seed(mailed, 1)
            assert run_shown(mailed) == first
            expect(mailed.get_by_text("can be changed here")).to_have_count(int(link == view))
            uses(mailed, relation.name)
    with open_page() as one:
        one.goto(answer)
        shows_seed(one, 1)
        expect(one.get_by_text("You are viewing one shared answer.")).to_be_visible()
        expect(one.get_by_test_id("stSidebarNav")).to_have_count(0)
        one.get_by_role("combobox", name="Run", exact=True).click()
        expect(one.get_by_role("option")).to_have_count(1)
    with open_page(390, 844) as strange:
        strange.goto(view.replace(first, "0" * 12))
        missed = strange.get_by_text("The address asks for a run that this page cannot show.")
        expect(missed).to_be_visible()
        assert run_shown(strange) != "0" * 12
        expect(missed).to_be_visible()  # the page was drawn again for its narrow window
        no_wider_than_its_window(strange, "Blocks")


def test_settings_belong_to_the_data(page: Page) -> None:
    """What was entered for other data is gone, comes back with them, and a fold stays open while it is used."""
    use_sample(page, "Southern women")
    visit(page, "Run")
    choose_methods(page, "VB", "Gibbs")
    expect(page.get_by_text("More methods (chosen: VB, Gibbs)")).to_be_visible()
    expect(page.get_by_role("button", name="VB", exact=True)).to_be_visible()
    page.get_by_text("Advanced settings").click()
    settled(page)
    fill(page, "Prior links (a)", "3")
    expect(page.get_by_text("Advanced settings (1 changed)")).to_be_visible()
    settled(page)
    expect(page.get_by_role("spinbutton", name="Prior links (a)", exact=True)).to_be_visible()
    fill(page, "Starting number of row clusters", "80")
    expect(page.get_by_role("button", name="Start VB, Gibbs")).to_be_visible()
    use_sample(page, "Karate club", "Network")
    visit(page, "Run")
    expect(page.get_by_role("button", name="Start ACVB0")).to_be_visible()
    expect(page.get_by_role("spinbutton", name="Starting number of clusters", exact=True)).to_have_value("20")
    choose(page, "Data", "Southern women")
    expect(page.get_by_role("button", name="Start VB, Gibbs")).to_be_visible()
    expect(page.get_by_role("spinbutton", name="Starting number of row clusters", exact=True)).to_have_value(
        "80"
    )
