"""The app as its user meets it: a server of its own, and a real Chromium looking at it."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Dialog,
    Error,
    Page,
    Playwright,
    Request,
    expect,
    sync_playwright,
)

from acvb_core.engine.result import Result
from acvb_core.store.runs import RunStore
from tests.browser.steps import WAIT_MS, KeepRuns
from tests.server.running import SECONDS, start_server

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "test-output"
CALL_REPORT = pytest.StashKey[pytest.TestReport]()
#: What the server's libraries log where a page is left while its connection is being made.
_LEFT = re.compile(
    r"Exception in ASGI application\n(?:(?!Exception in ASGI application|acvb_core/).)*?"
    r"WebSocketDisconnected: Cannot call \"send\" once a close message has been sent\.",
    re.DOTALL,
)

#: What a page says in place of something that it could not draw.
BROKEN = ("WebGL is not supported", "could not be drawn", "cannot be drawn")
#: Tells the console what a page says or asks for that it should not, and notes when it last heard of its server.
WATCH = """(words) => {
  window.watched = { asked: 0, heard: 0, changed: 0 };
  const note = (what) => { window.watched[what] = performance.now(); };
  window.WebSocket = class extends WebSocket {
    constructor(...address) {
      super(...address);
      this.addEventListener('message', () => note('heard'));
    }
    send(message) {
      note('asked');
      super.send(message);
    }
  };
  const tell = (node) => {
    const text = node.textContent ?? '';
    const said = words.find((word) => text.includes(word));
    if (said) console.error(`the page says: ${text.trim().slice(0, 300)}`);
    if (node.matches?.('[data-testid=stException]')) console.error(`the page failed: ${text}`);
  };
  new MutationObserver((changes) => {
    note('changed');
    for (const { type, target, addedNodes } of changes)
      if (type === 'characterData') tell(target);
      else addedNodes.forEach(tell);
  }).observe(document, { childList: true, characterData: true, subtree: true });
  document.addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI }) => {
    // The library that reads Streamlit's messages tries WebAssembly once, and does without.
    if (blockedURI !== 'wasm-eval')
      console.error(`refused by the content policy (${effectiveDirective}): ${blockedURI}`);
  });
}"""
#: Streamlit looks for its server below the address of the page first, and is told that it is not there.
_LOOKED_FOR = re.compile(r"^/[^/]+/_stcore/[\w-]+$")

# No sandbox, as tests may run as root in a container; the rest keeps Chromium from talking to anyone but the app.
CHROMIUM_FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything in this folder."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let a fixture know how its test went."""
    report = yield
    if call.when == "call":
        item.stash[CALL_REPORT] = report
    return report


@contextmanager
def running_app(folder: Path, warms_up: bool = False) -> Iterator[str]:
    """Run the app with `folder` for its files until the block ends, and give its address.

    Fails when the app ends by itself, or writes a traceback or the key of a workspace to its log.
    """
    folder.mkdir(parents=True, exist_ok=True)
    server = start_server(folder, is_watched=False, warms_up=warms_up)
    process, log = server.process, server.log
    ended_early = False
    try:
        yield f"http://127.0.0.1:{server.port}"
        ended_early = process.poll() is not None
    except BaseException as error:
        error.add_note(f"The app wrote:\n{log.read_text()}")
        raise
    finally:
        process.terminate()
        try:
            process.wait(SECONDS)  # it saves what runs
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    text = _LEFT.sub("", log.read_text())
    assert not ended_early, f"the app ended by itself:\n{text}"
    assert "Traceback" not in text, f"the app failed somewhere:\n{text}"
    keys = RunStore(folder / "home").workspaces()
    assert not [key for key in keys if key in text], f"the log names a workspace:\n{text}"


@pytest.fixture
def start_app(tmp_path: Path) -> Callable[[], AbstractContextManager[str]]:
    """For tests that stop the app and start it again: each call runs it with the same home."""
    return lambda: running_app(tmp_path / "app")


@pytest.fixture(scope="session")
def server_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the app that all tests share has its home."""
    return tmp_path_factory.mktemp("app")


@pytest.fixture(scope="session")
def server(server_folder: Path) -> Iterator[str]:
    """Address of an app that all tests share, with a home of its own."""
    with running_app(server_folder, warms_up=True) as url:
        yield url


@pytest.fixture(scope="session")
def keep_runs(server: str, server_folder: Path) -> KeepRuns:
    """For tests that only look at runs: keep these in a workspace of their own, and give its address.

    The data of the first run are those in use.
    """
    store = RunStore(server_folder / "home")

    def keep(*results: Result) -> str:
        workspace, data = secrets.token_hex(16), results[0].prepared.data
        for at, result in enumerate(results):
            store.save(workspace, secrets.token_hex(6), 1e9 + at, result)
        store.save_dataset(workspace, data, ["a sample"], {"name": data.name})
        return f"{server}/?ws={workspace}"

    return keep


def find_chromium(playwright: Playwright) -> str:
    named = os.environ.get("CHROMIUM")
    candidates = [named] if named else ["chromium", "chromium-browser", "google-chrome"]
    for name in [*candidates, *([] if named else [playwright.chromium.executable_path])]:
        found = shutil.which(name)
        if found:
            return found
    pytest.fail(f"no Chromium among {candidates}; install one, or name it with CHROMIUM=/path/to/chromium")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A Chromium without a past: its profile is made for it and removed with it."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=find_chromium(playwright), headless=True, args=CHROMIUM_FLAGS
        )
        yield chromium
        chromium.close()


@contextmanager
def watched_page(browser: Browser, width: int = 1440, height: int = 900, **more: Any) -> Iterator[Page]:
    """Open a page with no cookies and no storage; fail on whatever went wrong in it.

    That is: an uncaught exception, an error in the console, a dialog (the app has none), what the content policy
    refuses, a request that fails or goes to another machine, and words that stand in place of a figure.
    """
    context = browser.new_context(viewport={"width": width, "height": height}, accept_downloads=True, **more)
    context.set_default_timeout(WAIT_MS)
    expect.set_options(timeout=WAIT_MS)
    troubles: list[str] = []

    def refuse(dialog: Dialog) -> None:
        troubles.append(f"a script of somebody's: {dialog.message}")
        dialog.dismiss()

    def note_console(message: ConsoleMessage) -> None:
        if message.type == "error" and not _LOOKED_FOR.match(urlsplit(message.location["url"]).path):
            troubles.append(f"console: {message.text}")

    def watch(page: Page) -> None:
        page.on("dialog", refuse)
        page.on("pageerror", lambda error: troubles.append(f"exception: {error}"))
        page.on("console", note_console)

    def note_foreign(request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in ("http", "https", "ws", "wss") and parts.hostname != "127.0.0.1":
            troubles.append(f"request to another machine: {request.url}")

    def note_failed(request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # the page was left, or a file was taken
            troubles.append(f"request failed: {request.url}: {request.failure}")

    context.on("page", watch)
    context.on("request", note_foreign)
    context.on("requestfailed", note_failed)
    context.add_init_script(f"({WATCH})({json.dumps(BROKEN)})")
    page = context.new_page()
    try:
        yield page
    except BaseException as error:
        error.add_note("\n".join(troubles))
        if not page.is_closed():
            with suppress(Error):
                error.add_note(f"The page said:\n{page.locator('body').inner_text()}")
        raise
    finally:
        if not page.is_closed():
            # Leaving the page first keeps the end of its connection from being reported as an error.
            page.goto("about:blank")
        context.close()
    assert not troubles, "\n".join(troubles)


@pytest.fixture(scope="session")
def open_page(browser: Browser) -> Callable[..., AbstractContextManager[Page]]:
    """For tests that want more pages, or other sizes: `with open_page(1024, 768) as page: page.goto(server)`."""
    return partial(watched_page, browser)


@pytest.fixture
def page(browser: Browser, server: str, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page of 1440 x 900 that has opened the app (no cookies, no storage) and fails on any error in it.

    What it showed when a test failed is kept in test-output/.
    """
    with watched_page(browser) as opened:
        # A test that asks for runs opens their address at once.
        if "keep_runs" not in request.fixturenames:
            opened.goto(server)
        yield opened
        report = request.node.stash.get(CALL_REPORT, None)
        if report is not None and report.failed:
            OUTPUT.mkdir(exist_ok=True)
            opened.screenshot(path=OUTPUT / f"{request.node.name}.png", full_page=True)
            # Where only the log is kept, its words say what the picture would show.
            report.sections.append(("What the page said", opened.locator("body").inner_text()))
