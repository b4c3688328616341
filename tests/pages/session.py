"""What the tests of the pages do with a session."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable
from typing import Any

from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.testing.v1 import AppTest

from acvb_core.engine.job import Job
from acvb_core.engine.result import Result
from pages.ui.shared import services
from pages.ui.shared.workspace import Workspace

WORKSPACE = "0123456789abcdef" * 2
OTHER = "fedcba9876543210" * 2
SECONDS = 600  # a hang; a busy machine is slow, and no fault

Open = Callable[..., AppTest]


def texts(app: AppTest) -> str:
    """Everything a page says in words."""
    kinds = (app.title, app.subheader, app.markdown, app.caption, app.text, app.warning, app.info)
    said = [str(element.value) for kind in kinds for element in kind]
    said += [str(getattr(element.proto, "body", "")) for element in app.get("html")]
    return "\n".join(said)


def opened(open_app: Open, page: str, *results: Result) -> AppTest:
    """Open a page in a workspace that has these finished runs, oldest first."""
    for number, result in enumerate(results):
        services.store().save(WORKSPACE, f"{number:012x}", 1e9 + number, result)
    return open_app(page)


def in_use() -> Any:
    """The data that the workspace uses, with their settings."""
    dataset = Workspace(WORKSPACE).dataset
    assert dataset is not None
    return dataset


def group(app: AppTest, key: str) -> Any:
    """The segmented control or the pills whose key ends so."""
    return next(found for found in app.get("button_group") if str(found.key).endswith(key))


def frame(app: AppTest, *columns: str) -> Any:
    """The first table that has these columns."""
    return next(shown.value for shown in app.dataframe if {*columns} <= set(shown.value.columns))


def finished(app: AppTest) -> AppTest:
    """Wait until no run of the session is active."""
    until(app, lambda: not any(job.inspect().status.active for job in jobs_of(app)))
    return app.run()


def until(app: AppTest, reached: Callable[[], bool]) -> None:
    """Wait until something is so, and show it.

    The page runs again now and then, as it does in a browser, but not all the time: it would take the processor from
    the runs that it waits for.
    """
    end = time.monotonic() + SECONDS
    while not reached():
        assert time.monotonic() < end, texts(app)
        pause = time.monotonic() + 0.5
        while not reached() and time.monotonic() < pause:
            time.sleep(0.01)
        app.run()
        assert not app.exception


def jobs_of(app: AppTest) -> list[Job]:
    """The runs of the session's workspace."""
    return Workspace(app.session_state["ws"]).jobs


def press(app: AppTest, key: str) -> AppTest:
    """Press the button with this key."""
    app.button(key=key).click().run()
    assert not app.exception
    return app


def press_at_once(app: AppTest, *buttons: str, together: bool = False) -> AppTest:
    """Press buttons one after the other, before the browser has drawn what the first one changes.

    `together`: nor has the server, which had other work.
    """
    shown, ids = app._tree.get_widget_states(), [app.button(key=key).id for key in buttons]
    for pressed in [ids] if together else [[one] for one in ids]:
        # With every press, a browser sends the values of all widgets; of buttons, only of the one that is pressed.
        sent = [one for one in shown.widgets if one.WhichOneof("value") != "trigger_value"]
        del app.session_state["_nav"]  # the sidebar is drawn as well
        app._run(WidgetStates(widgets=[*sent, *(WidgetState(id=one, trigger_value=True) for one in pressed)]))
        assert not app.exception
    return app


def keys(app: AppTest) -> set[str]:
    """Keys of the buttons that can be pressed."""
    return {str(button.key) for button in app.button if not button.disabled}


def key_of(app: AppTest, beginning: str) -> str:
    """The key of the first button that can be pressed whose key begins so."""
    return next(key for key in sorted(keys(app)) if key.startswith(beginning))


def box(app: AppTest, label: str) -> Any:
    """The select box with this label."""
    return next(found for found in app.selectbox if found.label == label)


def widget(found: Iterable[Any], key: str) -> Any:
    """The one of some widgets that shows a choice which callbacks make, too (`widget_of`), by the choice's key."""
    return next(one for one in found if re.fullmatch(rf"{re.escape(key)}_\d+", str(one.key)))


def of_data(app: AppTest, name: str) -> str:
    """The key of a widget whose input belongs to the data in use: its name, and the beginning of their fingerprint."""
    wanted = re.compile(f"{name}_[0-9a-f]{{12}}")
    return next(str(one.key) for one in app.main if wanted.fullmatch(str(getattr(one, "key", ""))))


def bring(app: AppTest, name: str, content: bytes | str, kind: str | None = None) -> AppTest:
    """Upload a file on the Data page, and choose its kind of data if that is not the guessed one."""
    app.segmented_control(key="source").set_value("Upload").run()
    app.file_uploader(key="upload").upload(
        name, content.encode() if isinstance(content, str) else content
    ).run()
    assert not app.exception
    if kind is not None and kind_switch(app).value != kind:
        kind_switch(app).set_value(kind).run()
        assert not app.exception
    return app


def kind_switch(app: AppTest) -> Any:
    """The choice of the kind of data in a file."""
    return next(found for found in app.segmented_control if found.label == "What kind of data do you have?")


def chart(app: AppTest, key: str) -> dict[str, Any]:
    """The figure with this key."""
    return next(json.loads(one.proto.spec) for one in app.get("plotly_chart") if key in one.proto.id)


def drawn(app: AppTest, page: str) -> AppTest:
    """Go to a page with everything around it: AppTest draws the page alone from the second time on."""
    del app.session_state["_nav"]
    app.switch_page(f"pages/{page}.py").run()
    assert not app.exception
    return app


def share_links(app: AppTest, page: str = "home") -> list[str]:
    """The links to a page that is shown, as the sidebar offers them when they are asked for."""
    app.session_state["share"] = True
    return [block.value for block in drawn(app, page).sidebar.get("code")]


def figures(app: AppTest) -> dict[str, str]:
    """What the metrics of a page say, by their label."""
    return {metric.label: metric.value for metric in app.metric}


def show_part(app: AppTest, name: str) -> AppTest:
    """Show the part of a page with this name."""
    group(app, "_part").set_value(name).run()
    assert not app.exception
    return app


def select_rows(app: AppTest, *rows: int, table: int = 0) -> AppTest:
    """Select rows of a table of runs."""
    app.session_state[str(app.dataframe[table].key)] = {"selection": {"rows": list(rows), "columns": []}}
    return app.run()
