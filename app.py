"""The app: how it is served, its pages, and the sidebar they share. Start it with script/server.

The server imports this file once, to serve it behind the access guard. Streamlit then runs it for every session.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path, PurePath
from threading import Thread
from typing import Literal

import streamlit as st
from starlette.middleware import Middleware
from streamlit.navigation.page import StreamlitPage
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import get_script_run_ctx

from acvb_core.core.compiler_process import start_first_compiler
from acvb_core.core.files import remove_abandoned
from pages.ui.access.serving import AccessGuard, exit_normally, raise_file_limit, require_guard
from pages.ui.access.sign_in import announce_sign_in
from pages.ui.shared.failures import contain_failure, show_crash, show_failed_action


def import_pages() -> None:
    """Import the modules of all pages, so that the first browser does not wait for them."""
    root = Path(__file__).parent
    for path in sorted(root.joinpath("pages", "ui").rglob("*.py")):
        import_module(".".join(path.relative_to(root).with_suffix("").parts))


@asynccontextmanager
async def serve(app: st.App) -> AsyncIterator[None]:
    """Import the pages in the background once Streamlit has started; at the end, let Python exit normally."""
    Thread(target=import_pages, name="acvb-imports", daemon=True).start()
    async with exit_normally(app):
        yield


if get_script_run_ctx(suppress_warning=True) is None:
    # The navigation below lists the pages. Streamlit would serve those of the folder `pages` until it has run once.
    PagesManager.uses_pages_directory = False
    announce_sign_in()
    raise_file_limit()
    remove_abandoned()
    start_first_compiler()
    guards = [Middleware(AccessGuard)]
    app = st.App(__file__, lifespan=serve, middleware=guards, on_script_error=show_crash)
else:
    st.set_page_config(page_title="ACVB", page_icon="🧩", layout="wide", initial_sidebar_state=250)

    from acvb_core.core.errors import ParameterError
    from acvb_core.store.files import StoreError
    from acvb_core.store.jobs import UnreadableRunError
    from pages.ui.access.sign_in import require_sign_in, show_sign_out
    from pages.ui.shared.guard import keep_page
    from pages.ui.shared.model_pages import all_model_pages, answer_pages
    from pages.ui.shared.refresh import follow_browser, time_page
    from pages.ui.shared.services import places, start_warm_up, store
    from pages.ui.shared.sidebar import show_arrival, show_sidebar
    from pages.ui.shared.style import apply_style
    from pages.ui.workspace.entrance import enter_workspace, list_shown_pages, name_address

    require_guard()
    require_sign_in()
    workspace = enter_workspace()
    st.session_state["_nav"] = True
    answers = [pages.answer for pages in answer_pages().values()]
    further = [page for pages in all_model_pages().values() for page in pages.further]
    shown = list_shown_pages(workspace)

    def offer(path: str, title: str, icon: str) -> StreamlitPage:
        """Return a page for the navigation."""
        visibility: Literal["visible", "hidden"] = "visible" if shown is None or path in shown else "hidden"
        return st.Page(path, title=title, icon=icon, default=path == "pages/home.py", visibility=visibility)

    keep_page()
    page = st.navigation(
        [
            offer("pages/home.py", "Home", ":material/home:"),
            offer("pages/data.py", "Data", ":material/dataset:"),
            offer("pages/run.py", "Run", ":material/show_chart:"),
            offer("pages/runs.py", "Runs", ":material/list:"),
            *(offer(page.path, page.title, page.icon) for page in answers),
            offer("pages/compare.py", "Compare", ":material/compare_arrows:"),
            offer("pages/experiments.py", "Experiments", ":material/science:"),
            *(offer(page.path, page.title, page.icon) for page in further),
            offer("pages/guide.py", "Guide", ":material/menu_book:"),
        ]
    )
    st.set_page_config(page_title=f"{page.title} - ACVB")  # a page of answers names what it shows
    if page.url_path not in {*(PurePath(answer.path).stem for answer in answers), "compare"}:
        name_address()  # those name the runs that they show, too
    apply_style()
    follow_browser(page.url_path)
    try:
        places()
        store()
    except ParameterError as error:
        st.error(str(error), icon=":material/error:")
        st.stop()
    except StoreError as error:
        st.error(
            "The folder for runs cannot be used. Choose another one with ACVB_HOME.", icon=":material/error:"
        )
        st.text(str(error))
        st.stop()
    try:
        with st.sidebar, contain_failure("sidebar"):
            show_sidebar(workspace, page.url_path)
            show_sign_out()
        show_failed_action(page.url_path)
        with contain_failure("part of the page"):
            show_arrival(workspace, page.url_path)
        time_page(page.url_path, page.run)
    except UnreadableRunError:
        st.rerun()  # it was listed until now; from now on it is among the runs that cannot be read
    start_warm_up()  # it takes a core for some seconds: the first page comes before it
