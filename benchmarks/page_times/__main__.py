"""Medians in Chromium while one run computes: first paint of every page, Topics of a large corpus, pause, start.

    python -m benchmarks.page_times --repeats 7

A page is opened by its address in a tab that shows the app, and counts as painted when its heading is there, its script
has ended and every figure is drawn but those of folded parts and closed tabs. The page is warm: it was shown before. (A
new tab is a new process of the browser, which reads the app's scripts anew: about a second more.) Topics shows 18,774
generated documents and 61,188 words. A pause counts until the row says "paused", a start until the first point of the
curves is drawn. The last column is the CPU time of the server for one painting, measured while the run is paused. It
ends with 1 if a median is above its limit.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page

from benchmarks.harness import make_parser, open_browser, read_cpu, serve_app
from benchmarks.page_times.serve import KEY, N_DOCUMENTS, start_keys

_PAGES = (
    "home", "data", "run", "runs", "blocks", "features", "compare", "experiments", "how_many", "guide", "topics",
)  # fmt: skip
_LIMITS = dict.fromkeys(_PAGES, 2.0) | {"topics": 3.0, "pause": 0.4, "start": 2.0}
_PATIENCE = 120.0
#: Those whose first part shows figures in this workspace.
_WITH_FIGURES = {"home", "data", "run", "blocks", "features", "topics"}
_PAINTED = """(withFigures) => {
  const charts = [...document.querySelectorAll('.stMain .stPlotlyChart')].filter((chart) => chart.offsetParent);
  return document.querySelector('.stMain h1')
    && document.querySelector('[data-testid=stApp]')?.dataset.testScriptState === 'notRunning'
    && !document.querySelector('.stMain [data-testid=stSkeleton]')
    && charts.length >= (withFigures ? 1 : 0)
    && charts.every((chart) => chart.querySelector('.js-plotly-plot .main-svg'));
}"""
_HAS_POINT = """() => {
  const plot = document.querySelector('.st-key-curves .js-plotly-plot');
  return !!plot?._fullData?.some((trace) => (trace._length ?? 0) > 0);
}"""
#: Press a button, and give the seconds until something is so; the page itself looks every 10 ms.
_PRESS = """([button, reached]) => new Promise((done, fail) => {
  const is = new Function('return (' + reached + ')()');
  const begun = performance.now();
  document.querySelector(button).click();
  const look = () => {
    const seconds = (performance.now() - begun) / 1000;
    if (is()) done(seconds);
    else if (seconds > 120) fail(new Error('never: ' + reached));
    else setTimeout(look, 10);
  };
  look();
})"""


def _paint(page: Page, url: str, name: str, key: str = KEY) -> float:
    """Open a page by its address, and return the seconds until it is painted."""
    # The heading of the page before must not count.
    page.evaluate("document.querySelectorAll('h1').forEach((heading) => heading.remove())")
    begun = time.monotonic()
    page.goto(f"{url}/{'' if name == 'home' else name}?ws={key}", wait_until="commit")
    with_figures = name in _WITH_FIGURES and key == KEY
    while not page.evaluate(_PAINTED, with_figures):
        if time.monotonic() - begun > _PATIENCE:
            raise TimeoutError(f"{name} is not painted")
        time.sleep(0.01)
    return time.monotonic() - begun


def _press(page: Page, button: str, reached: str) -> float:
    page.locator(button).first.wait_for()
    return float(page.evaluate(_PRESS, [button, reached]))


def _says(text: str) -> str:
    return (
        "() => [...document.querySelectorAll('.stMain [data-testid=stDataFrame] [role=row]')].some("
        f"(row) => row.textContent.includes('{text}'))"
    )


def _turn(page: Page, icon: str, text: str) -> float:
    """Pause or resume the run that computes, and return the seconds until its row says so."""
    button = f".st-key-run_actions [class*='st-key-{icon}_'] button:not([disabled])"
    seconds = _press(page, button, _says(text))
    page.wait_for_timeout(1500)  # the page is still again
    return seconds


def measure(page: Page, url: str, process: int, repeats: int) -> dict[str, tuple[list[float], float | None]]:
    """Return the seconds of each action, and the CPU seconds of the server where they were measured."""
    for name in _PAGES:
        _paint(page, url, name)
    page.locator(".st-key-heading").get_by_text(
        f"{N_DOCUMENTS:,} documents"
    ).wait_for()  # Topics is the last one
    seconds: dict[str, list[float]] = {name: [] for name in _LIMITS}
    for _ in range(repeats):
        for name in _PAGES:
            seconds[name].append(_paint(page, url, name))
    for key in start_keys(repeats):
        _paint(page, url, "run", key)
        page.wait_for_timeout(1000)
        seconds["start"].append(_press(page, ".st-key-start button", _HAS_POINT))
        page.wait_for_timeout(3000)  # the run ends before the next one begins
    _paint(page, url, "run")
    page.wait_for_timeout(1500)
    for number in range(repeats):
        seconds["pause"].append(_turn(page, "pause", "paused"))
        if number < repeats - 1:
            _turn(page, "resume", "running")
    cpu: dict[str, float] = {}
    for name in _PAGES:
        before = read_cpu(process)
        for _ in range(repeats):
            _paint(page, url, name)
        cpu[name] = (read_cpu(process) - before) / repeats
    return {name: (some, cpu.get(name)) for name, some in seconds.items()}


def main() -> None:
    """Measure, and print a line for each page and action."""
    repeats = make_parser(__doc__, repeats=7).parse_args().repeats
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        serve_app(Path(folder), ["benchmarks.page_times.serve", str(repeats)]) as (url, process, _),
        open_browser(_PATIENCE) as page,
    ):
        figures = measure(page, url, process, repeats)
    print(f"{'':12} {'median':>8} {'least':>8} {'most':>8} {'limit':>6}  CPU s of the server")
    late = False
    for name, (seconds, cpu) in figures.items():
        median, limit = statistics.median(seconds), _LIMITS[name]
        late |= median > limit
        times = " ".join(f"{value:6.2f} s" for value in (median, min(seconds), max(seconds)))
        print(
            f"{name:12} {times} {limit:4.1f} s  {'' if cpu is None else f'{cpu:.2f}'}{' LATE' * (median > limit)}"
        )
    sys.exit(late)


if __name__ == "__main__":
    main()
