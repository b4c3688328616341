"""Time from the start of the app with no kernel compiled to the first points of an example's curves, in Chromium.

    python -m benchmarks.first_curve

`--warm` keeps the kernels that are compiled already. Prints the seconds as one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

_ROOT = Path(__file__).resolve().parents[1]
_EXAMPLE = "Find the clusters of games"
_SECONDS = 600.0
#: Most points of a curve.
_POINTS = """() => {
  const plot = document.querySelector('.st-key-curves .js-plotly-plot');
  return plot?._fullData ? Math.max(...plot._fullData.map((trace) => trace._length ?? 0)) : 0;
}"""


def time_first_curve(folder: Path, warm: bool) -> dict[str, float]:
    """Start the app with a home in `folder` and the example, and return the seconds until each was seen."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    home = {"ACVB_HOME": str(folder / "home")} | (
        {} if warm else {"NUMBA_CACHE_DIR": str(folder / "kernels")}
    )
    begun = time.monotonic()
    with (folder / "log").open("wb") as log:
        app = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)],
            cwd=_ROOT,
            env={**os.environ, **home},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        _wait(lambda: _answers(f"http://127.0.0.1:{port}"))
        times = {"app answers": time.monotonic() - begun}
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=["--no-sandbox"]
            )
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.set_default_timeout(1000 * _SECONDS)
            page.goto(f"http://127.0.0.1:{port}")
            times |= start_example(page, begun)
            browser.close()
    finally:
        app.terminate()
        app.wait()
    return times


def start_example(page: Page, begun: float) -> dict[str, float]:
    """Start the example from Home, wait for its curves and its end, and return the seconds until each."""
    page.get_by_role("button", name="Try an example").click()
    times = {"Home": time.monotonic() - begun}
    page.get_by_role("button", name=re.compile(_EXAMPLE)).click()
    clicked = time.monotonic()
    cards = page.locator("[class*='st-key-card_']")
    cards.nth(2).wait_for()
    times["three cards"] = time.monotonic() - begun
    _wait(lambda: page.evaluate(_POINTS) > 1)
    times |= {"first curve": time.monotonic() - begun, "click to curve": time.monotonic() - clicked}
    _wait(lambda: cards.filter(has_text="converged").count() == 3)
    return times | {"three runs converged": time.monotonic() - begun}


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/_stcore/health", timeout=2) as answer:
            return bool(answer.read() == b"ok")
    except OSError:
        return False


def _wait(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + _SECONDS
    while not reached():
        if time.monotonic() > end:
            raise TimeoutError(f"not within {_SECONDS:.0f} s")
        time.sleep(0.02)


def main() -> None:
    """Measure once."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--warm", action="store_true", help="keep the kernels that are compiled already")
    warm = parser.parse_args().warm
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        times = time_first_curve(Path(folder), warm)
    print(json.dumps({name: round(seconds, 2) for name, seconds in times.items()}, indent=1))


if __name__ == "__main__":
    main()
