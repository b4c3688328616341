"""How every page looks in a light and in a dark browser and on a phone: nothing serious that axe-core finds."""

from __future__ import annotations

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from acvb_core import __version__
from acvb_core.engine.executor import Executor
from acvb_core.engine.experiments.plan import plan_experiment
from acvb_core.engine.fitting import fit
from acvb_core.samples.catalogue import load_sample
from acvb_core.store.runs import RunStore
from acvb_core.store.studies import ExperimentFolder, StudyStore
from acvb_core.views.theme import DARK_PAPER, TEXT, dark_colour
from tests.browser.steps import KeepRuns, OpenPage, names_of_pages, press, settled, visit, wait_for
from tests.pages.lda import topics
from tests.pages.lfm import tables

SERIOUS = ("serious", "critical")
INK = """() => {
  const name = document.querySelector('.st-key-agreement_ari .js-plotly-plot .xtick text');
  return name && getComputedStyle(name).fill;
}"""
PAPER = "() => getComputedStyle(document.querySelector('.stApp')).backgroundColor"
PANELS = """() => {
  const plot = document.querySelector('.st-key-curves .js-plotly-plot');
  if (!plot?._fullLayout) return null;
  const { width, height } = plot.getBoundingClientRect();
  const axes = Object.keys(plot._fullLayout).filter((key) => /^yaxis[0-9]*$/.test(key));
  const panels = axes.map((key) => plot._fullLayout[key]).map((axis) => [axis._offset, axis._offset + axis._length]);
  const legend = plot.querySelector('.legend').getBoundingClientRect();
  const whole = plot.getBoundingClientRect();
  return {
    panels: panels.sort((one, other) => one[0] - other[0]),
    wide: axes.map((key) => plot._fullLayout[key.replace('y', 'x')]._length / width),
    legend: [legend.left - whole.left, whole.right - legend.right, legend.top - whole.top],
    end: legend.bottom - whole.top,
    height,
  };
}"""
NOTE_SCROLLING = """() => {
  const scroll = Element.prototype.scrollTo;
  window.scrolledTo = [];
  Element.prototype.scrollTo = function (...place) {
    if (this.matches('.stMain')) window.scrolledTo.push(place);
    return scroll.apply(this, place);
  };
}"""
CURVES_TOP = "() => document.querySelector('.st-key-curves .js-plotly-plot')?.getBoundingClientRect().top"
#: The map of weights has the table's columns one below another, as a phone reports its width.
COLUMNS_DOWN = """() => document.querySelector('.st-key-feature_map .js-plotly-plot')
  ?._fullLayout?.yaxis?.ticktext?.includes('metres')"""


@pytest.fixture(scope="module")
def address(keep_runs: KeepRuns, server_folder: Path) -> str:
    """Address of a workspace with runs of every kind of data, and an experiment."""
    relation = load_sample("southern_women").relation
    runs = [
        fit(relation, method, heldout=0.1, seed=seed)
        for method in ("acvb0", "vb", "gibbs")
        for seed in range(5)
    ]
    kept = keep_runs(*runs, topics.fitted(), tables.fitted())
    book = StudyStore(ExperimentFolder, Executor(1), RunStore(server_folder / "home"), __version__)
    plan = plan_experiment(relation, ["acvb0", "vb"], splits=2, k=3, max_sweeps=3)
    assert book.add(kept.rpartition("ws=")[2], plan, "southern women").wait(180)
    return kept


def faults_of(page: Page, *rules: str) -> list[str]:
    """What axe-core finds serious on the page as it is, each with the first places; by all rules, or only by these."""
    options: dict[str, object] = {"resultTypes": ["violations"]} | ({"runOnly": list(rules)} if rules else {})
    found = Axe().run(page, options=options).response["violations"]
    return [
        f"{one['id']} ({len(one['nodes'])}): {[node['target'] for node in one['nodes']][:4]} "
        f"{one['nodes'][0]['failureSummary']}"
        for one in found
        if one["impact"] in SERIOUS
    ]


def height_of_parts(page: Page) -> list[float]:
    """The height of the page, of each of its parts."""
    parts = page.locator(".stMain [class*='_part'] [role=radio]")
    heights = []
    for part in range(parts.count() or 1):
        if parts.count():
            parts.nth(part).click()
            settled(page)
        heights.append(page.evaluate("document.querySelector('.stMain').scrollHeight"))
    return heights


def test_no_page_is_long_or_has_a_serious_fault_in_either_theme(open_page: OpenPage, address: str) -> None:
    """And the curves of fifteen runs are on the first screen."""
    with open_page(color_scheme="light") as page:
        page.goto(address)
        names = names_of_pages(page)
        assert len(names) >= 8
        faults, heights = [], {}
        # A dark page has the elements of the light one in other colours.
        for scheme, ink, *rules in (("light", TEXT), ("dark", dark_colour(TEXT), "color-contrast")):
            page.emulate_media(color_scheme=scheme)
            if scheme == "dark":
                wait_for(page, f"() => ({PAPER})() === '{as_rgb(DARK_PAPER)}'")
            for name in names:
                page.get_by_test_id("stSidebarNav").get_by_role("link", name=name, exact=True).click()
                settled(page)
                if name == "Experiments":
                    expect(page.get_by_test_id("stDataFrame").first).to_be_visible()
                faults += [f"{scheme} {name}: {fault}" for fault in faults_of(page, *rules)]
                if name == "Run":
                    assert wait_for(page, CURVES_TOP) < 500
                if name not in heights:
                    heights[name] = height_of_parts(page)
                if name == "Compare":
                    press(page, "Agreement")
                    wait_for(page, f"() => ({INK})() === '{as_rgb(ink)}'")
        assert not faults, "\n".join(faults)
        assert max(map(max, heights.values())) <= 2_500, heights


def as_rgb(colour: str) -> str:
    return "rgb({}, {}, {})".format(*(int(colour[i : i + 2], 16) for i in (1, 3, 5)))


def test_a_phone_shows_each_panel_the_whole_legend_what_is_held_out_and_pages_from_their_top(
    open_page: OpenPage, address: str
) -> None:
    with open_page(390, 844) as page:
        page.goto(address.replace("/?", "/run?"))
        seen = wait_for(page, PANELS)
        assert len(seen["panels"]) >= 4
        for (_, end), (start, _) in zip(seen["panels"][:-1], seen["panels"][1:], strict=True):
            assert start - end > 30
        assert min(seen["wide"]) > 0.7
        assert min(seen["legend"]) >= 0
        assert seen["end"] < seen["panels"][0][0]
        assert seen["panels"][-1][1] < seen["height"]
        page.goto(address.replace("/?", "/features?"))
        press(page, "All features")
        wait_for(page, COLUMNS_DOWN)
    with open_page(390, 844) as page:  # a browser that has not been here
        page.goto(address.replace("/?", "/data?"))
        expect(page.get_by_text("25 entries hidden from each new run.")).to_be_visible()
        settled(page)  # the page is drawn twice at once, as the browser reports its width
        expect(page.get_by_role("spinbutton", name="Share of the known entries, %")).to_have_value("10")
    with open_page(1024, 600) as page:
        page.goto(address)
        visit(page, "Blocks")
        settled(page)
        page.evaluate("document.querySelector('.stMain').scrollTo(0, 900)")
        page.evaluate(NOTE_SCROLLING)  # some pages would keep the place, depending on how fast they are drawn
        visit(page, "Compare")
        settled(page)
        assert wait_for(page, "() => window.scrolledTo.length && window.scrolledTo") == [[0, 0]]
        assert page.evaluate("document.querySelector('.stMain').scrollTop") == 0
