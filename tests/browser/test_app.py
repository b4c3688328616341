"""What a user does, from an upload to a download, in a real browser."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable
from pathlib import Path

import numpy as np
from playwright.sync_api import Locator, Page, expect

from pages.ui.running import live
from tests.browser.steps import (
    POINTS,
    WAIT_MS,
    OpenPage,
    StartApp,
    bring,
    choose_methods,
    fill,
    plot,
    press,
    rows_that_say,
    run_example,
    run_rows,
    screenshot,
    settled,
    start_runs,
    stop_run,
    take,
    use_sample,
    visit,
    wait_for,
    wants_pictures,
)

PALE = """() => [...document.querySelectorAll('.st-key-curves .scatterlayer .trace')]
  .filter((curve) => curve.style.filter.includes('opacity')).length"""
LAST_X = """() => {
  const plot = document.querySelector('.st-key-curves .js-plotly-plot');
  return Math.max(...plot._fullData.filter((t) => t.xaxis === 'x').map((t) => t.x[t.x.length - 1] ?? 0));
}"""
# Streamlit calls a component anew for each frame. It cleans up at once for a call that the next one overtook.
OVERTAKE = """async (script) => {
  const node = document.querySelector('.st-key-curves .js-plotly-plot');
  const { default: show } = await import(URL.createObjectURL(new Blob([script], { type: 'text/javascript' })));
  const figure = { data: node.data, layout: node.layout, narrow: node.layout };
  show({ data: { figure: JSON.stringify(figure), lifted: [] }, parentElement: node.parentElement })();
  return node._fullData?.length > 0;
}"""
# A figure that is no JSON, where what watches the page for such words does not look.
FAIL = """async (script) => {
  const { default: show } = await import(URL.createObjectURL(new Blob([script], { type: 'text/javascript' })));
  const host = document.body.appendChild(document.createElement('div'));
  const parent = host.attachShadow({ mode: 'open' });
  parent.innerHTML = '<div class="live-plot"></div>';
  show({ data: { figure: '{', lifted: [] }, parentElement: parent });
  for (let n = 0; n < 200 && !parent.textContent; n++) await new Promise((done) => setTimeout(done, 50));
  host.remove();
  return parent.textContent;
}"""
RANGE = "() => [...document.querySelector('.st-key-curves .js-plotly-plot')._fullLayout.xaxis.range]"


def relation_file(folder: Path, rows: int = 300, columns: int = 200) -> Path:
    """An edge list with blocks in it, large enough for sweeps to take a while."""
    rng = np.random.default_rng(3)
    row_cluster, column_cluster = rng.integers(8, size=rows), rng.integers(6, size=columns)
    density = rng.beta(0.4, 1.6, size=(8, 6))[row_cluster][:, column_cluster]
    links = np.argwhere(rng.random((rows, columns)) < density)
    path = folder / "made up.csv"
    path.write_text("person,event\n" + "".join(f"p{i},e{j}\n" for i, j in links))
    return path


def upload(page: Page, file: Path) -> None:
    bring(page, file, "relation")
    page.get_by_role("button", name="Load", exact=True).click()
    expect(page.get_by_role("button", name="Go to Run", exact=True)).to_be_visible()


def start_endless(page: Page) -> None:
    """Start two runs that continue until they are stopped."""
    visit(page, "Run")
    choose_methods(page, "ACVB0", "Gibbs")
    for method in ("ACVB0", "Gibbs"):
        fill(page, f"Maximum sweeps ({method})", "1000000")
    page.get_by_text("Advanced settings").click()
    # Nothing is judged before an average has begun.
    fill(page, "First sweeps left out (burn-in) (ACVB0)", "1000000")
    start_runs(page, "Start ACVB0, Gibbs")
    expect(rows_that_say(page, "running")).to_have_count(2)
    press(page, "Against sweeps")  # a sampler's sweeps are others: CPU time is the default
    wait_for(page, f"({POINTS})() > 5")


# Seconds from a click until its effect is in the page, measured in the page itself.
WAIT = """
const until = (reached) => new Promise((done, fail) => {
  const began = performance.now();
  const look = () => {
    const seconds = (performance.now() - began) / 1000;
    if (reached()) done(seconds);
    else if (seconds > 150) fail(new Error(`nothing came of the click: ${document.body.innerText}`));
    else setTimeout(look, 5); // frames are not drawn while a page is out of sight
  };
  look();
});
"""
PAUSE_OR_RESUME = f"""async ([verb, word]) => {{
  {WAIT}
  const line = () => document.querySelector(".stMain [data-testid=stDataFrame] [role=row][aria-rowindex='2']");
  const button = () => document.querySelector(`.st-key-run_actions [class*='st-key-${{verb}}_'] button`);
  await until(button);
  button().click();
  return await until(() => line().textContent.includes(word));
}}"""
SWITCH_AXIS = f"""async (n) => {{
  {WAIT}
  const layout = () => document.querySelector('.st-key-curves .js-plotly-plot')?._fullLayout ?? {{}};
  const wanted = n === 0 ? /CPU/ : /sweep/i;
  document.querySelectorAll('[class*=st-key-x_axis] button')[1 - n].click();
  return await until(() => Object.entries(layout())
    .some(([name, axis]) => name.startsWith('xaxis') && wanted.test(axis?.title?.text ?? '')));
}}"""


def zoom(page: Page) -> list[float]:
    """Drag over the middle of the first panel, and give the range of its x axis afterwards."""
    box = page.locator(".st-key-curves .js-plotly-plot .nsewdrag").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.3 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"], steps=5)
    before = page.evaluate(LAST_X)
    page.wait_for_timeout(1500)  # people take their time; the curves wait for them
    assert page.evaluate(LAST_X) == before
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.7 * box["height"], steps=5)
    before = page.evaluate(RANGE)
    page.mouse.up()
    return wait_for(
        page, f"before => {{ const now = ({RANGE})(); return now[1] < before[1] ? now : null; }}", before
    )


def hover_until_pale(page: Page, name: Locator) -> None:
    """Point at a name until the other curves are pale: what comes in above it may move it away from the pointer."""
    for _ in range(WAIT_MS // 1000):
        name.hover()
        page.wait_for_timeout(1000)
        if page.evaluate(PALE):
            return
    raise AssertionError("no curve stands out")


def test_upload_run_zoom_click_stop_and_come_back(
    page: Page, server: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Clicks are answered while two runs compute nearly as soon as when none does."""
    upload(page, relation_file(tmp_path, 600, 400))
    start_endless(page)

    # The curves of the run whose name is pointed at stand out.
    hover_until_pale(page, page.locator(".st-key-curves .legend .traces").first)
    page.mouse.move(2, 2)
    wait_for(page, f"() => ({PALE})() === 0")

    # The curves grow, and the axis with them.
    before = page.evaluate(LAST_X)
    wait_for(page, f"before => ({LAST_X})() > before + 10", arg=before)
    wait_for(page, f"({RANGE})()[1] > {before + 9}")

    # One node from first to last, and the zoom stays while they keep growing.
    page.evaluate("document.querySelector('.st-key-curves .js-plotly-plot').mark = 'same'")
    zoomed = zoom(page)
    assert zoomed[1] < page.evaluate(LAST_X)
    before = page.evaluate(LAST_X)
    wait_for(page, f"before => ({LAST_X})() > before + 10", arg=before)
    assert page.evaluate(RANGE) == zoomed
    assert page.evaluate("document.querySelector('.st-key-curves .js-plotly-plot').mark") == "same"

    assert page.evaluate(OVERTAKE, live.SCRIPT)
    assert page.evaluate(FAIL, live.SCRIPT).startswith("The curves cannot be drawn: ")

    # Nothing offers to send the figure anywhere.
    titles = page.locator(".modebar-btn").evaluate_all("found => found.map((one) => one.dataset.title)")
    assert titles
    assert not any("hare" in title or "loud" in title for title in titles), titles

    times = click_times(page)
    stop_run(page, "Gibbs")
    expect(rows_that_say(page, "running")).to_have_count(1)

    # A tab closed and opened again.
    frames: list[object] = []
    page.goto("about:blank")
    page.on(
        "websocket", lambda socket: socket.on("framereceived", lambda frame: frames.append(frame))
    )  # of those opened from now on
    page.goto(server)
    visit(page, "Run")
    expect(run_rows(page)).to_have_count(2)
    expect(rows_that_say(page, "Gibbs")).to_contain_text("stopped")
    stop_run(page, "ACVB0")

    assert frames
    # Nothing moves any more, so soon nothing is sent any more: there comes a second without a frame.
    for _ in range(WAIT_MS // 1200):
        frames.clear()
        page.wait_for_timeout(1200)
        if not frames:
            break
    assert not frames

    idle = statistics.median(page.evaluate(SWITCH_AXIS, n % 2) for n in range(4))
    for what, seconds in times.items():
        median, worst = statistics.median(seconds), max(seconds)
        record_property(what, round(median, 3))
        print(f"{what}: median {median:.2f} s, worst {worst:.2f} s over {len(seconds)} clicks")  # noqa: T201
        assert median < 5 * idle, f"{what}: {seconds}; {idle:.2f} s with no run"


def click_times(page: Page) -> dict[str, list[float]]:
    """Return the seconds until clicks had their effect, by what was clicked."""
    times: dict[str, list[float]] = {"switch the axis": [], "pause or resume": []}
    for n in range(3):
        times["switch the axis"].append(page.evaluate(SWITCH_AXIS, n % 2))
        for verb, word in (("pause", "paused"), ("resume", "running")):
            times["pause or resume"].append(page.evaluate(PAUSE_OR_RESUME, [verb, word]))
    return times


def test_runs_are_found_after_a_restart_and_by_their_own_browser_only(
    start_app: StartApp, open_page: OpenPage
) -> None:
    with open_page() as page:
        with start_app() as url:
            page.goto(url)
            use_sample(page, "Debian games and their tags")
            visit(page, "Run")
            choose_methods(page, "Gibbs")
            fill(page, "Maximum sweeps", "1000000")
            start_runs(page, "Start Gibbs")
            expect(rows_that_say(page, "running")).to_have_count(1)
            workspace = re.findall("ws=[0-9a-f]{32}", page.url)[0]
            page.goto("about:blank")  # the server ends, and nobody looks
        with start_app() as url:
            page.goto(url)
            visit(page, "Run")
            wait_for(page, "workspace => location.href.includes(workspace)", workspace)  # by the cookie
            expect(rows_that_say(page, "stopped")).to_have_count(1)
            wait_for(page, f"({POINTS})() > 5")
            with open_page() as other:
                other.goto(url)
                visit(other, "Run")
                expect(other.get_by_text("No data yet")).to_be_visible()
            page.goto("about:blank")


def test_three_methods_run_on_the_example_and_their_figures_can_be_taken(page: Page, tmp_path: Path) -> None:
    run_example(page, "Find the clusters of games and tags")
    wait_for(page, f"({POINTS})() > 5")
    if wants_pictures():
        page.set_viewport_size({"width": 1440, "height": 1250})
        page.wait_for_timeout(1000)
    screenshot(page, "run.png")
    page.set_viewport_size({"width": 1440, "height": 900})
    visit(page, "Blocks")
    plot(page, "blocks_picture")
    settled(page)
    screenshot(page, "blocks.png")
    press(page, "Strengths and sizes")
    figure = plot(page, "blocks_strengths")
    figure.hover()
    picture = take(figure.locator(".modebar-btn[data-title='Download plot']"), tmp_path)
    assert picture.read_text().startswith("<svg")
