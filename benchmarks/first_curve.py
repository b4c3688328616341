"""Time from the start of the app with no kernel compiled to the first points of an example's curves, in Chromium.

    python -m benchmarks.first_curve

`--warm` keeps the kernels that are compiled already.
"""

from __future__ import annotations

import argparse
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


def time_first_curve(folder: Path, warm: bool) -> None:
    """Start the app with a home in `folder`, start the example, and print when what was seen."""
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
        _print(begun, "the app answers")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=["--no-sandbox"]
            )
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.set_default_timeout(1000 * _SECONDS)
            page.goto(f"http://127.0.0.1:{port}")
            start_example(page, begun)
            browser.close()
    finally:
        app.terminate()
        app.wait()


def start_example(page: Page, begun: float) -> None:
    """Start the example from Home, and wait for its curves and its end."""
    page.get_by_role("button", name="Try an example").click()
    _print(begun, "Home is there")
    page.get_by_role("button", name=re.compile(_EXAMPLE)).click()
    clicked = time.monotonic()
    cards = page.locator("[class*='st-key-card_']")
    cards.nth(2).wait_for()
    _print(begun, "the three cards are there")
    _wait(lambda: page.evaluate(_POINTS) > 1)
    _print(begun, f"the first curve, {time.monotonic() - clicked:.1f} s after the click")
    _wait(lambda: cards.filter(has_text="converged").count() == 3)
    _print(begun, "all three runs have converged")


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


def _print(begun: float, what: str) -> None:
    sys.stdout.write(f"{time.monotonic() - begun:6.1f} s  {what}\n")
    sys.stdout.flush()


def main() -> None:
    """Measure once."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--warm", action="store_true", help="keep the kernels that are compiled already")
    warm = parser.parse_args().warm
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        time_first_curve(Path(folder), warm)


if __name__ == "__main__":
    main()
