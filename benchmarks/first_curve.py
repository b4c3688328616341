"""Time from the start of the app with no kernel compiled to the first points of an example's curves, in Chromium.

    python -m benchmarks.first_curve

`--warm` keeps the kernels that are compiled already. Prints the seconds as one JSON object.
"""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page

from benchmarks.harness import make_parser, open_browser, serve_app

_EXAMPLE = "Find the clusters of games"
_SECONDS = 600.0
#: Most points of a curve.
_POINTS = """() => {
  const plot = document.querySelector('.st-key-curves .js-plotly-plot');
  return plot?._fullData ? Math.max(...plot._fullData.map((trace) => trace._length ?? 0)) : 0;
}"""


def time_first_curve(folder: Path, warm: bool) -> dict[str, float]:
    """Start the app with a home in `folder` and the example, and return the seconds until each was seen."""
    kernels = {} if warm else {"NUMBA_CACHE_DIR": str(folder / "kernels")}
    begun = time.monotonic()
    with serve_app(folder, environment=kernels) as (url, _, _):
        times = {"app answers": time.monotonic() - begun}
        with open_browser(_SECONDS) as page:
            page.goto(url)
            return times | start_example(page, begun)


def start_example(page: Page, begun: float) -> dict[str, float]:
    """Start the example from Home, wait for its curves and its end, and return the seconds until each."""
    page.get_by_role("button", name="Try an example").click()
    times = {"Home": time.monotonic() - begun}
    page.get_by_role("button", name=re.compile(_EXAMPLE)).click()
    clicked = time.monotonic()
    table = page.locator(".stMain [data-testid=stDataFrame]").first
    rows = table.locator("[role=row]", has=page.locator("[role=gridcell]"))
    rows.nth(2).wait_for(state="attached")
    times["three runs"] = time.monotonic() - begun
    _wait(lambda: page.evaluate(_POINTS) > 1)
    times |= {"first curve": time.monotonic() - begun, "click to curve": time.monotonic() - clicked}
    _wait(lambda: rows.filter(has_text="converged").count() == 3)
    return times | {"three runs converged": time.monotonic() - begun}


def _wait(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + _SECONDS
    while not reached():
        if time.monotonic() > end:
            raise TimeoutError(f"not within {_SECONDS:.0f} s")
        time.sleep(0.02)


def main() -> None:
    """Measure once."""
    parser = make_parser(__doc__)
    parser.add_argument("--warm", action="store_true", help="keep the kernels that are compiled already")
    warm = parser.parse_args().warm
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        times = time_first_curve(Path(folder), warm)
    print(json.dumps({name: round(seconds, 2) for name, seconds in times.items()}, indent=1))


if __name__ == "__main__":
    main()
