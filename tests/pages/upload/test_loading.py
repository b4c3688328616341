"""Who leaves the page while a file is being loaded does not lose the loading."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.local_script_runner import LocalScriptRunner

from acvb_core.core.errors import DataError
from pages.ui.irm import upload_relation
from pages.ui.shared.workspace import Workspace
from tests.pages.session import SECONDS, WORKSPACE, Open, bring, press, texts, until

LINKS = "person,event\n" + "".join(f"p{i % 9},e{i % 7}\n" for i in range(40))


class SlowReader:
    """Reading a relation takes until it may continue."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.has_begun, self.may_go_on = threading.Event(), threading.Event()
        self.error: DataError | None = None
        load, run = upload_relation.load_relation, LocalScriptRunner.run
        self._scripts: list[LocalScriptRunner] = []

        def load_slowly(*given: Any, **options: Any) -> Any:
            self.has_begun.set()
            assert self.may_go_on.wait(SECONDS)
            if self.error is not None:
                raise self.error
            return load(*given, **options)

        def note_script(script: Any, *given: Any, **more: Any) -> Any:
            self._scripts.append(script)
            return run(script, *given, **more)

        patch.setattr(upload_relation, "load_relation", load_slowly)
        patch.setattr(LocalScriptRunner, "run", note_script)

    def leave_page(self, app: AppTest) -> None:
        """Press Load, and end the script while it reads, as Streamlit does when another page is opened."""
        pressed = threading.Thread(target=app.button(key="load").click().run)
        pressed.start()
        assert self.has_begun.wait(SECONDS)
        self._scripts[-1].request_stop()
        pressed.join(60)
        if pressed.is_alive():  # it reads in the script itself
            self.may_go_on.set()
            pressed.join(SECONDS)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowReader]:
    reader = SlowReader(monkeypatch)
    yield reader
    reader.may_go_on.set()


def test_loading_goes_on_when_its_page_is_left(open_app: Open, slow: SlowReader) -> None:
    app = bring(open_app("data"), "links.csv", LINKS)
    slow.leave_page(app)
    assert Workspace(WORKSPACE).dataset is None
    other = open_app("run")
    assert "loading" in texts(other)
    assert "links" in texts(other)
    slow.may_go_on.set()
    until(other, lambda: Workspace(WORKSPACE).dataset is not None)
    other = open_app("run")
    assert "9 × 7" in texts(other)
    assert "loading" not in texts(other)
    app.run()
    assert "go_to_run" in [button.key for button in app.button], "the page knows that the file is loaded"


def test_why_a_file_was_not_loaded_is_said_to_who_left_the_page(open_app: Open, slow: SlowReader) -> None:
    app = bring(open_app("data"), "links.csv", LINKS)
    slow.error = DataError("line 7 is broken", source="links.csv", remedy="Mend it.")
    slow.leave_page(app)
    slow.may_go_on.set()
    until(open_app("run"), lambda: "not loaded" in texts(open_app("run")))
    assert "line 7 is broken" in texts(open_app("run"))
    for _ in range(2):  # it stays where the page is drawn again, as when a phone is turned
        app.run()
        assert "Line 7 is broken." in texts(app)
    assert "not loaded" not in texts(open_app("run")), "it was seen"
    slow.error = None
    press(app, "load")
    assert Workspace(WORKSPACE).dataset is not None
