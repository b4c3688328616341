"""Parts that benchmarks share: the command line, tables, processes, the app in a browser, time and memory."""

from __future__ import annotations

import argparse
import json
import os
import resource
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROOT = Path(__file__).resolve().parents[1]


def make_parser(doc: str | None, *names: str, **defaults: Any) -> argparse.ArgumentParser:
    """Return a parser with a script's text, its positional arguments, and an option for each default.

    An option has the type of its default: a list of texts has commas between them, False is a flag, None is a text.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in names:
        parser.add_argument(name)
    for name, default in defaults.items():
        flag, kind = f"--{name.replace('_', '-')}", type(default)
        if default is False:
            parser.add_argument(flag, action="store_true")
        elif isinstance(default, list):
            parser.add_argument(flag, default=default, type=lambda text: list(filter(None, text.split(","))))
        else:
            parser.add_argument(flag, default=default, type=str if default is None else kind)
    return parser


def print_rows(rows: Any, digits: str = ".4g") -> None:
    """Print rows as a table, and the machine's load average."""
    import pandas as pd

    with pd.option_context("display.width", 200, "display.max_columns", 20, "display.max_colwidth", 80):
        text = pd.DataFrame(rows).to_string(
            index=False, na_rep="", float_format=lambda value: f"{value:{digits}}"
        )
    print(text)
    print_load()


def print_load() -> None:
    """Print the machine's load average: other programs make times longer."""
    print(f"load average {os.getloadavg()[0]:.2f}")


def print_figures(figures: Mapping[str, Any], indent: int | None = 1) -> None:
    """Print figures as JSON, with the peak memory of the process and the load average."""
    machine = {"peak_rss_mb": peak_bytes() / 2**20, "load_average": os.getloadavg()[0]}
    print(json.dumps({**figures, **machine}, indent=indent))


def run_module(arguments: Sequence[str]) -> dict[str, Any]:
    """Run a module that prints one JSON object, and return the object; SystemExit if it fails."""
    done = subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"python -m {' '.join(arguments)} failed:\n{done.stderr}")
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def peak_bytes() -> int:
    """Return the highest resident memory of this process so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak) if sys.platform == "darwin" else int(peak) * 1024


def read_memory(process: int) -> int:
    """Return the anonymous resident bytes of a process; 0 if it has ended. Mapped files do not count."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon")), 0)


def read_cpu(process: int) -> float:
    """Return the processor seconds of a process."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class MemoryWatch:
    """Highest memory of this process and of others inside `with`, in bytes by process id."""

    def __init__(self, others: Sequence[int] = (), seconds: float = 0.02) -> None:
        self.others, self._seconds = list(others), seconds
        self.peaks: dict[int, int] = {}

    def __enter__(self) -> MemoryWatch:
        self._before, self._over = read_memory(os.getpid()), threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def _look(self) -> None:
        while not self._over.wait(self._seconds):
            for process in [os.getpid(), *self.others]:
                self.peaks[process] = max(self.peaks.get(process, 0), read_memory(process))

    @property
    def rise(self) -> int:
        """How far the memory of this process rose."""
        return max(self.peaks.get(os.getpid(), 0) - self._before, 0)

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def find_port() -> int:
    """Return a port that is free."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def ask_health(url: str, patience: float = 60.0) -> float | None:
    """Return the seconds that the app takes to answer a health check; None if it does not answer."""
    begun = time.monotonic()
    try:
        with urllib.request.urlopen(f"{url}/_stcore/health", timeout=patience) as answer:
            return time.monotonic() - begun if answer.status == 200 else None
    except OSError:
        return None


@contextmanager
def serve_app(
    folder: Path,
    command: Sequence[str] = ("streamlit", "run", "app.py", "--server.port"),
    *,
    app: Path = ROOT,
    environment: Mapping[str, str] | None = None,
) -> Iterator[tuple[str, int, Path]]:
    """Run a module that serves the app, with its home and log in a folder; give its address, process and log.

    The module's last argument is the port, which is added here.
    """
    port, log = find_port(), folder / "log"
    url = f"http://127.0.0.1:{port}"
    with log.open("wb") as out:
        server = subprocess.Popen(
            [sys.executable, "-m", *command, str(port)],
            cwd=app, env={**os.environ, "ACVB_HOME": str(folder / "home"), **(environment or {})},
            stdin=subprocess.DEVNULL, stdout=out, stderr=out,
        )  # fmt: skip
    try:
        while ask_health(url) is None:
            if server.poll() is not None:
                sys.exit(f"The app did not start:\n{log.read_text()}")
            time.sleep(0.02)
        yield url, server.pid, log
    finally:
        server.kill()
        server.wait()


@contextmanager
def open_browser(seconds: float) -> Iterator[Page]:
    """Give a page of Chromium that waits so many seconds for what it is asked for."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"),
            args=["--no-sandbox", "--disable-gpu"],
        )
        # The app's content policy forbids scripts made of text, such as those that say what is waited for.
        page = browser.new_context(viewport={"width": 1440, "height": 900}, bypass_csp=True).new_page()
        page.set_default_timeout(1000 * seconds)
        yield page
        browser.close()
