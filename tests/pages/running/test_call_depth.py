"""How many functions of the project lie between a press on Start and the first compiled function of the run."""

from __future__ import annotations

import re
import sys
import threading
import traceback
from typing import Any

import pytest
from numba.core.dispatcher import Dispatcher
from streamlit.testing.v1 import AppTest

from tests.cli.support import ROOT
from tests.pages.session import jobs_of, press, until

MOST = 24
SECTION = re.compile(r"## From Start to the kernel\n(.*?)\n## ", re.DOTALL)


def own_frames() -> list[str]:
    """The stack as file and function, the project's own only."""
    frames = traceback.extract_stack()[:-2]
    places = [(frame.filename.removeprefix(f"{ROOT}/"), frame.name) for frame in frames]
    return [f"{file} {name}" for file, name in places if file.startswith(("acvb_core/", "pages/"))]


@pytest.fixture
def stacks(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """The stack of the page that starts the run's thread, and that of the first kernel which the thread calls."""
    found: dict[str, list[str]] = {}
    start = threading.Thread.start

    def note_start(thread: threading.Thread) -> None:
        if thread.name.startswith("acvb-"):
            found["page"] = own_frames()
        start(thread)

    def note(kernel: Any) -> Any:
        def call(*arguments: Any) -> Any:
            frames = own_frames()
            # Tiny runs come first, which have the compiler make the functions ready.
            is_tiny = any("compilation.py" in frame for frame in frames)
            if threading.current_thread().name.startswith("acvb-") and not is_tiny:
                found.setdefault("kernel", frames)
            return kernel(*arguments)

        return call

    for name, module in list(sys.modules.items()):
        if name.startswith("acvb_core.models.irm"):
            for attribute, value in list(vars(module).items()):
                if isinstance(value, Dispatcher):
                    monkeypatch.setattr(module, attribute, note(value))
    monkeypatch.setattr(threading.Thread, "start", note_start)
    return found


def test_a_press_on_start_is_few_calls_from_the_kernel(
    with_sample: AppTest, stacks: dict[str, list[str]]
) -> None:
    """The calls are those that CONTRIBUTING.md lists, for a relation with the recommended method."""
    app = press(with_sample, "start")
    (job,) = jobs_of(app)
    until(app, lambda: job.inspect().verdict is not None)
    begun = next(at for at, frame in enumerate(stacks["page"]) if frame.endswith(" start_runs"))
    calls = [*stacks["page"][begun:], *stacks["kernel"]]
    section = SECTION.search((ROOT / "CONTRIBUTING.md").read_text())
    assert section is not None
    listed = re.findall(r"^\d+\. `(\S+ \S+)`", section[1], re.MULTILINE)
    assert calls == listed
    assert len(calls) <= MOST
