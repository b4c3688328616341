"""Figures in tabs, of the page and of the browser: what stands there when a tab is seen again."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.steps import (
    Example,
    OpenPage,
    cards,
    plot,
    settled,
    visit,
    wait_for,
)

WIDTHS = """key => [...document.querySelectorAll(`.st-key-${key} .js-plotly-plot`)]
  .map((plot) => [Math.floor(plot._fullLayout.width), plot.closest(`.st-key-${key}`).clientWidth])"""
NAMES = """() => [...document.querySelectorAll('.st-key-agreement_ari .js-plotly-plot .xtick text')]
  .map((name) => name.textContent)"""
#: What a browser says when another of its tabs is chosen, and when this one is chosen again.
LEAVE_OR_COME_BACK = """(hidden) => {
  Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
  document.dispatchEvent(new Event('visibilitychange'));
}"""


def open_tab(page: Page, name: str) -> None:
    tab = page.get_by_role("tab", name=name, exact=True)
    tab.click()
    expect(tab).to_have_attribute("aria-selected", "true")
    settled(page)


def test_a_figure_is_drawn_anew_when_its_tab_is_opened_again(open_page: OpenPage, example: Example) -> None:
    with open_page(1440, 900) as page:
        page.goto(example("Find the clusters of a network"))
        visit(page, "Compare")
        plot(page, "agreement_ari")
        settled(page)
        ((before, _),) = page.evaluate(WIDTHS, "agreement_ari")
        assert page.evaluate(WIDTHS, "agreement_nmi") == []  # what is not in sight is not drawn
        open_tab(page, "Mutual information")
        ((drawn, room),) = page.evaluate(WIDTHS, "agreement_nmi")
        assert drawn == before
        page.set_viewport_size({"width": 1024, "height": 900})
        open_tab(page, "Rand index")
        ((drawn, room),) = page.evaluate(WIDTHS, "agreement_ari")
        assert 0.9 * room < drawn <= room < before  # for the window as it is now
        expect(page.locator(".st-key-agreement_ari .js-plotly-plot")).to_be_visible()


def test_figures_follow_another_tab_when_their_own_is_seen_again(
    page: Page, open_page: OpenPage, example: Example
) -> None:
    """A run of the example is taken away; what else looks at the example does not count its runs."""
    address = example("Find the clusters of a network")
    page.goto(address)
    visit(page, "Compare")
    plot(page, "agreement_ari")
    settled(page)
    assert len(page.evaluate(NAMES)) == 3
    page.evaluate(LEAVE_OR_COME_BACK, True)
    with open_page() as other:
        other.goto(address)
        visit(other, "Run")
        cards(other).filter(has_text="VB").last.get_by_role("button", name="Delete").click()
        expect(cards(other)).to_have_count(2)
    page.wait_for_timeout(2000)
    assert len(page.evaluate(NAMES)) == 3  # nobody looks
    page.evaluate(LEAVE_OR_COME_BACK, False)
    wait_for(page, f"() => ({NAMES})().length === 2")
