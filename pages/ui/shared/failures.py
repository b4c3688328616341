"""Boxes in place of a part of a page, a page or an action that fails: never the box of Streamlit."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import streamlit as st
from streamlit.errors import FragmentHandledException
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.exceptions import RerunException, StopException
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext

from acvb_core.core.errors import AcvbError
from acvb_core.store.jobs import UnreadableRunError

_LOG = logging.getLogger(__name__)
_FAILED = "failed_action"
#: Modules whose frames a report names, and the one that every failure of an uploaded file passes.
_OURS, _UPLOAD = ("__main__", "acvb_core", "pages"), "pages.ui.upload.form"
_MOST_CAUSES = 5
_ELSEWHERE = "The other pages can be used, and data and runs are kept."


class Failure(NamedTuple):
    """A failure in words, with a report for developers."""

    title: str
    what: str  # it may quote the user's data: no Markdown
    report: str | None  # None: the words say everything


@contextmanager
def contain_failure(what: str = "figure") -> Iterator[None]:
    """Show one plain error in place of a part of a page that fails, and log the traceback to the terminal.

    Also a decorator, for functions that draw and return nothing. `what` is drawn, as it fits after "This". Streamlit's
    signals to stop or rerun a script pass: they are no `Exception`.
    """
    try:
        yield
    except UnreadableRunError:  # the page is drawn again, and says so of this run
        raise
    except FragmentHandledException:  # `show_crash` has shown it
        pass
    except Exception as error:
        _LOG.exception("This %s could not be drawn.", what)
        title = f"This {what} could not be drawn"
        _show(_describe(title, error, "The rest of the page is complete."))


def show_crash(error: Exception) -> bool:
    """Show an exception that nothing has caught, in place of the box of Streamlit, which names other services.

    `st.App` calls it in the place of the failure, in the container of a fragment, after Streamlit has logged the error.
    A callback fails before anything is drawn: the page is then drawn as usual, below what `show_failed_action` says.
    Returns True in any case: Streamlit shows nothing more.
    """
    run = get_script_run_ctx()
    try:
        if run is not None and isinstance(error, UnreadableRunError):  # as above
            _draw_again(run)
        elif run is not None and not run.has_script_started:
            st.session_state[_FAILED] = (None, _describe("This could not be done", error, _ELSEWHERE))
            _draw_again(run)
        else:
            _show(_describe("Part of this page could not be drawn", error, _ELSEWHERE), _find_exits(error))
    except RerunException as asked:  # something on the page was used meanwhile
        if run is not None:
            _draw_again(run, asked.rerun_data)
    except StopException:
        pass
    except Exception:
        _LOG.exception("The failure could not be shown.")
        with suppress(Exception):
            st.error("Part of this page could not be drawn. The terminal says more.")
    return True


def show_failed_action(page: str) -> None:
    """Draw what could not be done when a button or choice was used, until it is closed or its page is left."""
    before, failure = st.session_state.get(_FAILED, (None, None))
    if failure is None:
        return
    if before in (None, page):
        if before is None:
            st.toast("This could not be done. The top of the page says why.", icon=":material/error:")
        st.session_state[_FAILED] = (page, failure)
        _show(failure, {"Close": forget_failed_action})
    else:
        forget_failed_action()


def forget_failed_action() -> None:
    """Show no more what could not be done."""
    st.session_state.pop(_FAILED, None)


def write_report(error: BaseException) -> str:
    """Return the kind of an error, where in the program it arose, and the versions; nothing from paths or data."""
    from importlib import metadata

    from acvb_core.core.versions import describe_process

    parts: list[str] = []
    now: BaseException | None = error
    while now is not None and len(parts) < _MOST_CAUSES:
        parts.append("\n".join([_name_kind(now), *_list_places(now)]))
        now = now.__cause__ or (None if now.__suppress_context__ else now.__context__)
    versions = describe_process() | {"streamlit": metadata.version("streamlit")}
    told = (f"{name} {version}" for name, version in versions.items() if name != "processor")
    return "\n\ncaused by ".join(parts) + "\n\n" + "\n".join(told)


def _describe(title: str, error: Exception, then: str) -> Failure:
    if isinstance(error, AcvbError):
        return Failure(title, f"{str(error).rstrip('.')}. {then}", None)
    what = f"The program met an error that it did not expect: {_name_kind(error)}. {then}"
    return Failure(title, what, write_report(error))


def _show(failure: Failure, exits: dict[str, Callable[[], None]] | None = None) -> None:
    with st.container(border=True, gap="xsmall"):
        st.badge(failure.title, icon=":material/error:", color="red")
        st.text(failure.what)
        if exits:
            with st.container(horizontal=True):
                for name, leave in exits.items():
                    # A page may have several boxes. A callback is found without the key of the drawing before.
                    st.button(
                        name, icon=":material/close:", key=f"{leave.__name__}_{id(failure)}", on_click=leave
                    )
        if failure.report is not None:
            with st.expander("Report for the developers", icon=":material/bug_report:"):
                st.caption("It names places in the program and versions, and nothing from your data.")
                st.code(failure.report, language=None, wrap_lines=True)


def _find_exits(error: Exception) -> dict[str, Callable[[], None]]:
    """Return what the user can give up so that the page can be drawn again, by the name of its button."""
    from pages.ui.shared.workspace import current_workspace
    from pages.ui.upload.files import forget_file

    with suppress(Exception):  # the workspace itself may be what fails
        if any(name == _UPLOAD for name, _ in _walk(error)):
            return {"Remove this file": forget_file}
        if current_workspace().dataset is not None:
            return {"Stop using these data": _stop_using_data}
    return {}


def _stop_using_data() -> None:
    """Use no data in this tab from now on; they stay in the workspace."""
    from pages.ui.shared.workspace import current_workspace

    tab = current_workspace().tab
    if tab is not None:
        tab.choose("")


def _draw_again(run: ScriptRunContext, wanted: RerunData | None = None) -> None:
    """Have Streamlit draw the page again, or what was wanted, once this run of the script is over."""
    again = RerunData(query_string=run.query_string, page_script_hash=run.page_script_hash)
    if run.script_requests is not None:
        run.script_requests.request_rerun(wanted or again)


def _name_kind(error: BaseException) -> str:
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _walk(error: BaseException) -> Iterator[tuple[str, str]]:
    """Give the module of each frame of a traceback, and the frame in words."""
    for frame, line in traceback.walk_tb(error.__traceback__):
        name = str(frame.f_globals.get("__name__"))
        file = Path(frame.f_code.co_filename).name if name == "__main__" else name
        yield name, f"{file}, line {line}, in {frame.f_code.co_name}"


def _list_places(error: BaseException) -> list[str]:
    """Return the frames of the program, and the module of the last one if it is not ours."""
    frames = list(_walk(error))
    ours = [f"  {words}" for name, words in frames if name.split(".")[0] in _OURS]
    last = frames[-1][0] if frames else ""
    return [*ours, *([f"  in {last}"] if last and last.split(".")[0] not in _OURS else [])]
