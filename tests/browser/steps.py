"""What the tests of the app do in the browser: pages, fields, runs, figures, tables, files; and a file of a network."""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, TimeoutError, expect

ROOT = Path(__file__).resolve().parents[2]
HOUSES = ("north", "south", "east", "west")
WAIT_MS = 180_000  # takes 3 s, and a minute or two on a machine that does much other work
# Three runs on a quarter of a million words: a quarter of a minute, and longer where other work is done besides.
LONG_MS = 4 * WAIT_MS
OpenPage = Callable[..., AbstractContextManager[Page]]
KeepRuns = Callable[..., str]
StartApp = Callable[[], AbstractContextManager[str]]

POINTS = """() => {
  const plot = document.querySelector('.st-key-curves .js-plotly-plot');
  return plot?._fullData ? Math.max(...plot._fullData.map((trace) => trace._length ?? 0)) : 0;
}"""
SETTLED = """() => new Promise((done, fail) => {
  const began = performance.now();
  let still = began;
  let looks = 0;
  const heightOf = (element) => element?.getBoundingClientRect().height;
  let height;
  const look = () => {
    const now = performance.now();
    const state = document.querySelector('[data-testid=stApp]')?.dataset.testScriptState;
    // A press is lost where the button moves while it is down: wait also until what was unfolded is open.
    const unfolded = [...document.querySelectorAll('details')].map(heightOf).join();
    if (state !== 'notRunning' || unfolded !== height) {
      still = now;
      looks = 0;
    }
    looks += 1;
    height = unfolded;
    // Where the watch saw that every message was answered and nothing changed since, there is less to wait for.
    const { asked, heard, changed } = window.watched ?? { asked: now, heard: 0, changed: now };
    const owed = asked > heard || document.querySelector('[data-testid=stSkeleton]');
    const quiet = now - Math.max(still, heard, changed);
    if (now - still > 400 || (!owed && looks > 5 && quiet > 150)) done();
    else if (now - began > 180000) fail(new Error(`the page is still ${state}`));
    else setTimeout(look, 20);
  };
  look();
})"""
OVERFLOW = "() => { const m = document.querySelector('.stMain'); return m.scrollWidth - m.clientWidth; }"


def wait_for(page: Page, script: str, arg: Any = None) -> Any:
    """Wait until a script gives something true, and return that.

    Playwright's own `wait_for_function` needs eval in the page, which the app's content policy refuses.
    """
    deadline = time.monotonic() + WAIT_MS / 1000
    while not (value := page.evaluate(script, arg)):
        assert time.monotonic() < deadline, f"never true: {script}"
        page.wait_for_timeout(20)
    return value


def school_file(folder: Path) -> Path:
    """Forty pupils of four houses, who know most of their own house and few of the others."""
    rng = random.Random(5)
    nodes = [f"pupil {i}" for i in range(40)]
    links = [(i, j) for i in range(40) for j in range(i) if rng.random() < (0.7 if i % 4 == j % 4 else 0.04)]
    path = folder / "school.graphml"
    path.write_text(
        '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
        '<key id="d0" for="node" attr.name="house" attr.type="string"/>\n<graph edgedefault="undirected">\n'
        + "".join(
            f'<node id="{name}"><data key="d0">{HOUSES[i % 4]}</data></node>\n'
            for i, name in enumerate(nodes)
        )
        + "".join(f'<edge source="{nodes[i]}" target="{nodes[j]}"/>\n' for i, j in links)
        + "</graph>\n</graphml>\n"
    )
    return path


def visit(page: Page, name: str) -> None:
    page.mouse.move(0, 0)  # off any help mark, the text of which would lie over the link
    page.get_by_test_id("stSidebarNav").get_by_role("link", name=name, exact=True).click()
    expect(page.get_by_role("heading", level=1, name=name, exact=True)).to_be_visible()


def names_of_pages(page: Page) -> list[str]:
    expect(page.get_by_test_id("stSidebarNav")).to_be_visible()
    expect(page.get_by_test_id("stSidebarNav").get_by_role("link", name="Home", exact=True)).to_be_visible()
    settled(page)
    links = page.get_by_test_id("stSidebarNav").get_by_role("link").all_inner_texts()
    return [text.split("\n")[-1] for text in links]  # after the name of its icon


def fill(page: Page, label: str, value: str) -> None:
    field = page.get_by_role("spinbutton", name=label, exact=True)
    field.fill(value)
    field.press("Enter")


def write(page: Page, label: str, text: str) -> None:
    field = page.get_by_role("textbox", name=label, exact=True)
    field.fill(text)
    field.press("Enter")


def press(page: Page, name: str) -> None:
    page.get_by_role("radio", name=name, exact=True).click()


def start_runs(page: Page, name: str) -> None:
    """Press the button that starts runs, once it stays in its place: a button that moves is not pressed."""
    settled(page)
    page.get_by_role("button", name=name).click()


def run_example(page: Page, name: str) -> None:
    """Start an example on Home, and wait until its three runs have converged."""
    page.get_by_role("button", name="Try an example").click()
    page.get_by_role("button", name=name).click()
    expect(run_rows(page)).to_have_count(3)
    expect(rows_that_say(page, "converged")).to_have_count(3, timeout=LONG_MS)


def choose_methods(page: Page, *labels: str) -> None:
    """Choose exactly these methods on the Run page; all are folded below the recommended one."""
    settled(page)
    folded = page.locator(".st-key-more_methods")
    if not folded.get_by_role("button", name=labels[0], exact=True).is_visible():
        folded.locator("summary").click()
        settled(page)
    for button in folded.locator("button[aria-pressed]").all():
        wanted = button.inner_text().strip() in labels
        if (button.get_attribute("aria-pressed") == "true") != wanted:
            button.click()
            settled(page)
            expect(button).to_have_attribute("aria-pressed", str(wanted).lower())


def bring(page: Page, file: Path, kind: str) -> None:
    """Upload a file of one's own on the Data page, where its kind of data is recognised."""
    visit(page, "Data")
    press(page, "Upload your data")
    settled(page)
    page.locator(".st-key-upload input[type=file]").set_input_files(file)
    expect(page.get_by_text(f"Recognised: {kind}.")).to_be_visible()
    settled(page)


def choose(page: Page, label: str, beginning: str) -> None:
    """Choose in a list the option that begins so."""
    field = page.get_by_role("combobox", name=label, exact=True)
    expect(field).to_be_visible()
    settled(page)  # a list that is drawn anew is closed
    if field.input_value().startswith(beginning):
        return
    options = page.get_by_role("option")
    for _ in range(5):  # a list closes where something beside it moves, such as a figure that finds its width
        field.press("ArrowDown")
        with suppress(TimeoutError):
            options.first.wait_for(timeout=2000)
            break
    wanted = next(text for text in options.all_inner_texts() if text.startswith(beginning))
    page.get_by_role("option", name=wanted, exact=True).click()
    expect(field).to_have_value(wanted)
    settled(page)


def use_sample(page: Page, title: str, kind: str = "Relation") -> None:
    visit(page, "Data")
    choose(page, "Sample", f"{kind} · {title}")
    page.get_by_role("button", name="Use this sample", exact=True).click()
    expect(page.locator(".st-key-data_name p, .st-key-data_name [data-testid=stText]").last).to_have_text(
        title
    )
    settled(page)


def run_rows(page: Page) -> Locator:
    """The lines of the table of runs that are in sight: five, the newest first."""
    rows = page.locator(".stMain").get_by_test_id("stDataFrame").first.locator("[role=row]")
    return rows.filter(has=page.locator("[role=gridcell]"))


def rows_that_say(page: Page, text: str) -> Locator:
    return run_rows(page).filter(has_text=text)


def select_run(page: Page, text: str) -> None:
    """Select the line of the table of runs that says so, or take the selection back; the table is painted."""
    settled(page)
    expect(rows_that_say(page, text)).not_to_have_count(0)
    at = next(n for n, line in enumerate(run_rows(page).all_inner_texts()) if text in line)
    box = page.locator(".stMain").get_by_test_id("stDataFrame").first.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 16, box["y"] + 36 + 28 * at + 14)
    settled(page)


def stop_run(page: Page, text: str) -> None:
    """Stop the run whose line says so."""
    select_run(page, text)
    page.locator(".st-key-run_actions").get_by_role("button", name="Stop").click()
    expect(rows_that_say(page, text)).to_contain_text("stopped")
    select_run(page, text)


def plot(page: Page, key: str) -> Locator:
    """The figure with a key, once it is drawn, and the one before it is gone."""
    one = f".st-key-{key} .js-plotly-plot"
    wait_for(
        page,
        "one => { const [plot, ...more] = document.querySelectorAll(one); return plot?._fullData && !more.length; }",
        arg=one,
    )
    return page.locator(one)


def table(page: Page, heading: str) -> Locator:
    """The table that has a column of this name."""
    found = page.locator("[role=columnheader]").filter(has_text=re.compile(f"^{re.escape(heading)}$"))
    return page.get_by_test_id("stDataFrame").filter(has=found)


def cells(shown: Locator) -> list[list[str]]:
    """The lines of a table, as far as they are in sight, each a list of what stands in its cells."""
    shown.scroll_into_view_if_needed()
    expect(shown.locator("[role=gridcell]").first).to_be_attached()
    # A table is painted; what stands in it is said beside, to those who cannot see it, when it has been so for 200 ms.
    shown.page.wait_for_timeout(400)
    lines = shown.locator("[role=row]").evaluate_all(
        "rows => rows.map((row) => [...row.querySelectorAll('[role=gridcell]')].map((cell) => cell.textContent))"
    )
    return [line for line in lines if line]


def take(button: Locator, folder: Path) -> Path:
    """Press a button that gives a file, and return the file."""
    with button.page.expect_download() as taken:
        button.click()
    path = folder / taken.value.suggested_filename
    taken.value.save_as(path)
    return path


def settled(page: Page) -> None:
    """Wait until the page has been still for a while: what was asked for is drawn, and has found its width."""
    page.evaluate(SETTLED)


def no_wider_than_its_window(page: Page, name: str, sizes: Sequence[tuple[int, int]] = ()) -> None:
    """See that a page fits its window, at each of these sizes or as it is, and that nothing failed on it."""
    for size in sizes or [None]:
        if size is not None:
            page.set_viewport_size({"width": size[0], "height": size[1]})
        settled(page)
        overflow = page.evaluate(OVERFLOW)
        assert overflow <= 0, (name, size, overflow)
    expect(page.get_by_test_id("stException")).to_have_count(0)


def wants_pictures() -> bool:
    """Whether pictures for the documentation are made."""
    return bool(os.environ.get("ACVB_SCREENSHOTS"))


def screenshot(page: Page, name: str) -> None:
    """Keep a picture for the documentation, where that was asked for."""
    if wants_pictures():
        page.screenshot(path=ROOT / "docs" / name)
