"""Answers in a real browser: opened by an address, followed while their run computes, and shown sweep by sweep."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from acvb_core.engine.fitting import fit
from acvb_core.samples.catalogue import load_sample
from tests.browser.steps import (
    KeepRuns,
    OpenPage,
    choose_methods,
    fill,
    no_wider_than_its_window,
    plot,
    press,
    rows_that_say,
    settled,
    start_runs,
    stop_run,
    use_sample,
    visit,
    wait_for,
)

SWEEPS = """() => Number(
  document.querySelector('.st-key-heading').innerText.match(/([\\d,]+) sweeps/)?.[1].replaceAll(',', '') ?? 0)"""


def is_chosen(page: Page, topic: int, part: str) -> None:
    expect(page.locator(".topic-head span")).to_have_text(str(topic))
    expect(page.get_by_role("radio", name=part, exact=True)).to_be_checked()


def test_an_answer_is_followed_linked_to_and_shown_sweep_by_sweep(page: Page, open_page: OpenPage) -> None:
    use_sample(page, "Bars (synthetic pictures)", "Texts")
    visit(page, "Run")
    choose_methods(page, "Gibbs")
    page.get_by_text("Advanced settings").click()
    settled(page)
    fill(page, "Maximum sweeps", "100000")
    start_runs(page, "Start Gibbs")
    expect(rows_that_say(page, "running")).to_have_count(1)
    visit(page, "Topics")
    expect(page.locator(".topic-head")).to_be_visible()
    settled(page)
    page.get_by_role("button", name="Next topic").click()
    is_chosen(page, 2, "All topics")
    settled(page)
    press(page, "Quality")
    is_chosen(page, 2, "Quality")
    for _ in range(2):
        before = page.evaluate(SWEEPS)
        wait_for(page, f"() => ({SWEEPS})() > {before}")
        is_chosen(page, 2, "Quality")
    page.get_by_text("Follow the run").click()
    settled(page)
    before = page.evaluate(SWEEPS)
    page.wait_for_timeout(5000)
    assert page.evaluate(SWEEPS) == before
    visit(page, "Run")
    stop_run(page, "Gibbs")
    no_wider_than_its_window(page, "Run", [(390, 844)])
    page.set_viewport_size({"width": 1440, "height": 900})
    settled(page)
    visit(page, "Topics")
    is_chosen(page, 2, "All topics")

    press(page, "Sweep by sweep")
    settled(page)
    expect(page).to_have_url(re.compile("topic=2.*part=Sweep_by_sweep|part=Sweep_by_sweep.*topic=2"))
    assert page.title().startswith("Topics: Bars (synthetic pictures) - Gibbs")
    with open_page(390, 844) as other:
        other.goto(page.url)
        is_chosen(other, 2, "Sweep by sweep")
        no_wider_than_its_window(other, "Topics")
        other.goto(page.url.replace("topic=2", "topic=2000"))
        expect(
            other.get_by_text("This page does not have the topic that the address asks for.")
        ).to_be_visible()
        is_chosen(other, 1, "Sweep by sweep")
    same = page.get_by_text("100 % of the first words of the topics are those of the answer")
    expect(same).to_be_visible()
    page.get_by_role("slider", name="Sweep").press("Home")
    expect(page.get_by_role("slider", name="Sweep")).to_have_attribute("aria-valuetext", "1")
    expect(same).to_have_count(0)
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_text(re.compile(r"^Sweep \d+$")).first).to_be_visible()


def test_compare_shows_the_runs_that_were_started_on_it_once_they_have_ended(
    page: Page, keep_runs: KeepRuns
) -> None:
    run = fit(load_sample("karate").relation, "acvb0", heldout=0.1)
    page.goto(keep_runs(run).replace("/?", "/compare?"))
    expect(page.get_by_text("there is one so far")).to_be_visible()
    start_runs(page, "Run 3 more seeds")
    expect(page.get_by_role("radio", name="Blocks", exact=True)).to_be_visible()
    visit(page, "Run")
    expect(rows_that_say(page, "converged")).to_have_count(4)
    visit(page, "Compare")
    press(page, "Blocks")
    plot(page, "compare_matrix_chart_0")
    expect(page.get_by_text(re.compile(r"\(\d runs with the same answer\)")).first).to_be_visible()
    assert page.locator("[class*=st-key-compare_matrix_chart]").count() < 4
