"""Seconds in Chromium until pages of a workspace with many stored runs are drawn, and the CPU seconds of the server.

    python -m benchmarks.page_times.many_runs --runs 34 500 5000

For each number, a home is filled with copies of four runs on two data sets, and the app is started on it. Each page is
opened by its address: `first` on a server that has shown no page of the workspace yet, `again` the median of later
times. A page counts as drawn when its script has ended and its table or figure is there. `wait` is the longest answer
to a health check meanwhile: other people's pages wait as long. `--app` serves another checkout, to compare with.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from benchmarks.harness import ROOT, ask_health, make_parser, open_browser, read_cpu, serve_app

_KEY = "d" * 32
_PATIENCE = 600.0
#: What is there when a page is drawn.
_DRAWN = {
    "": ".st-key-picture_after_chart .main-svg",
    "run": ".st-key-curves .main-svg .scatterlayer path",
    "runs": ".stMain [data-testid=stDataFrame] canvas",
    "blocks": ".stMain .stPlotlyChart .main-svg",
}
_IS_DRAWN = """(figure) => document.querySelector('.stMain h1')
  && document.querySelector('[data-testid=stApp]')?.dataset.testScriptState === 'notRunning'
  && !document.querySelector('.stMain [data-testid=stSkeleton]')
  && document.querySelector(figure)"""


def fill_home(home: Path, n_runs: int) -> None:
    """Make a home with so many runs of one workspace: four that are computed, and copies of them under other ids."""
    from dataclasses import replace

    from acvb_core.engine.fitting import fit
    from acvb_core.engine.prepared import RunLabel
    from acvb_core.samples.catalogue import load_sample
    from acvb_core.store.files import from_text_bytes, read_npz, savez, text_bytes
    from acvb_core.store.index import LIST, find_run, open_connection, save_label, save_row
    from acvb_core.store.results import run_path
    from acvb_core.store.runs import RunStore

    store = RunStore(home)
    games, survey = load_sample("debtag_games"), load_sample("survey")
    begun = time.time() - 60.0 * n_runs
    results: list[Any] = [fit(games.data, method, heldout=0.1) for method in ("acvb0", "cvb0", "vb")]
    results.append(fit(survey.data, "cvb0", heldout=0.1))
    for number, result in enumerate(results):
        store.save(_KEY, f"{number:012x}", begun + number, result)
    lines = games.report.lines()
    store.save_dataset(_KEY, games.data, lines, {"name": games.data.name, "heldout": 0.1})
    with open_connection(home / LIST, write=True) as connection:
        for number in range(n_runs):
            of, job_id = f"{number % len(results):012x}", f"{number:012x}"
            run = find_run(connection, of)
            assert run is not None
            run = replace(run, job_id=job_id, created=begun + 60.0 * number)
            run = replace(run, settings={**run.settings, "seed": number})
            arrays = read_npz(run_path(home, of))
            about = from_text_bytes(arrays["about"])
            about["settings"] = run.settings
            about["run"] |= {"job_id": run.job_id, "created": run.created}
            version = int(arrays.pop("version"))
            with run_path(home, job_id).open("wb") as file:  # no sync: it takes most of the time
                savez(file, arrays | {"about": text_bytes(about)}, version=version)
            save_row(connection, run)
            save_label(connection, job_id, RunLabel(f"{run.settings['method'].upper()} · seed {number}"))
    RunStore(home)  # as at an earlier start: it has seen the files


def _open(page: Page, url: str, name: str, process: int) -> tuple[float, float, float]:
    """Open a page, and return the seconds until it is drawn, the CPU seconds, and the longest wait of another one."""
    page.evaluate("document.querySelectorAll('h1').forEach((heading) => heading.remove())")
    waits, over = [0.0], threading.Event()

    def watch() -> None:
        while not over.wait(0.02):
            waits.append(ask_health(url, _PATIENCE) or 0.0)

    watcher = threading.Thread(target=watch)
    watcher.start()
    begun, cpu = time.monotonic(), read_cpu(process)
    try:
        page.goto(f"{url}/{name}?ws={_KEY}", wait_until="commit")
        while not page.evaluate(_IS_DRAWN, _DRAWN[name]):
            if time.monotonic() - begun > _PATIENCE:
                raise TimeoutError(f"{name or 'home'} is not drawn")
            time.sleep(0.01)
        return time.monotonic() - begun, read_cpu(process) - cpu, max(waits)
    finally:
        over.set()
        watcher.join()


def measure(app: Path, n_runs: int, repeats: int) -> None:
    """Print a line for each page of a workspace with so many runs."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        home = Path(name) / "home"
        subprocess.run(
            [sys.executable, __file__, "--fill", str(home), "--runs", str(n_runs)],
            check=True, cwd=app, env={**os.environ, "PYTHONPATH": str(app)},
        )  # fmt: skip
        with serve_app(Path(name), app=app) as (url, process, log), open_browser(_PATIENCE) as page:
            page.goto(
                f"{url}/guide?ws={'e' * 32}"
            )  # of another workspace: imports, and the browser's own start
            page.get_by_text("Nothing is running").wait_for()
            time.sleep(5.0)  # kernels are being compiled
            for each in _DRAWN:
                first = _open(page, url, each, process)
                later = [_open(page, url, each, process) for _ in range(repeats)]
                again = [statistics.median(values) for values in zip(*later, strict=True)]
                print(f"{n_runs:6} {each or 'home':8}", end="")
                for drawn, cpu, wait in (first, again):
                    print(f"  {drawn:7.2f} {cpu:7.2f} {wait:6.2f}", end="")
                print(flush=True)
        if "Traceback" in log.read_text():
            sys.exit(log.read_text())


def main() -> None:
    """Measure each number of runs."""
    parser = make_parser(__doc__, repeats=3)
    parser.add_argument("--runs", type=int, nargs="+", default=[34, 500, 5000])
    parser.add_argument("--app", type=Path, default=ROOT, help="the checkout")
    parser.add_argument("--fill", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.fill is not None:
        fill_home(given.fill, *given.runs)
        return
    print("  runs page      first s   CPU s   wait  again s   CPU s   wait")
    for n_runs in given.runs:
        measure(given.app.resolve(), n_runs, given.repeats)


if __name__ == "__main__":
    main()
