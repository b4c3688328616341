"""Parts of a page that are drawn again while something moves, and pages that the browser shows anew."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence

import streamlit as st

from acvb_core.store.jobs import UnreadableRunError
from pages.ui.shared.failures import contain_failure
from pages.ui.workspace.dataset import keep_address

# A page that was opened starts at its top: the browser would keep the place of the one before. A page is drawn again
# when the browser turns dark or light, as its figures are coloured for one of them, when its window becomes narrow or
# wide, and when its tab is seen again after a while, as runs may have been added in another tab. A page that is opened
# by a link is one step to go back over: its path comes first, without a workspace, or after what the page names, which
# would otherwise be a step of the page before. Other runs are a step, too. What is chosen within a page is none.
_JS = """
const AWAY_MS = 1500;
const NARROW = 640; // pixels
const PATH_MS = 50;
const STEPS = ["ws", "view", "answer", "data", "run"];
const stepOf = (url) => STEPS.map((name) => new URL(url, location).searchParams.get(name)).join();

export default function ({ data, parentElement, setTriggerValue }) {
  const root = document.documentElement;
  if (root.acvbPage !== undefined && root.acvbPage !== data.page) document.querySelector(".stMain")?.scrollTo(0, 0);
  if (root.acvbPage === undefined) {
    const push = history.pushState;
    let later;
    history.pushState = (state, title, url) => {
      const path = new URL(url, location).pathname;
      const step = () => {
        const isNamed = /[?&](ws|view|answer)=/.test(location.search);
        const isStep = path !== location.pathname || stepOf(url) !== stepOf(location);
        (isNamed && isStep ? push : history.replaceState).call(history, state, title, url);
      };
      clearTimeout(later);
      if (path !== location.pathname) step();
      else later = setTimeout(() => path === location.pathname && step(), PATH_MS);
    };
  }
  root.acvbPage = data.page;

  const app = document.querySelector(".stApp");
  parentElement.drawn = data; // what the figures are drawn for
  if (parentElement.compare) return parentElement.compare();
  parentElement.compare = () => {
    const theme = getComputedStyle(app).colorScheme;
    const narrow = window.innerWidth < NARROW;
    if (theme !== parentElement.drawn.theme && ["light", "dark"].includes(theme)) setTriggerValue("theme", theme);
    if (narrow !== parentElement.drawn.narrow) setTriggerValue("width", narrow ? "narrow" : "wide");
    parentElement.drawn = { theme, narrow };
  };
  parentElement.compare();
  window.addEventListener("resize", () => parentElement.isConnected && parentElement.compare());
  const observer = new MutationObserver(parentElement.compare);
  observer.observe(app, { attributes: true, attributeFilter: ["class"] });

  let left = Infinity;
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) left = performance.now();
    else if (parentElement.isConnected && performance.now() - left > AWAY_MS) setTriggerValue("seen", Date.now());
  });
}
"""
#: Keys in the session: of what the browser reports, and of what is known of its window.
_BROWSER, _NARROW = "browser", "is_narrow"
_watch = st.components.v2.component("acvb_watch", html="<span></span>", js=_JS, isolate_styles=False)


def follow_browser(page: str) -> None:
    """Keep right what the browser shows of the page at an address: its top, its colours and the present runs."""
    with st.container(key="follow_browser"):
        _watch(
            data={"page": page, "theme": st.context.theme.type, "narrow": is_narrow()},
            key=_BROWSER,
            on_theme_change=_draw_again,
            on_seen_change=_draw_again,
            on_width_change=_note_width,
        )


def is_narrow() -> bool:
    """Return whether the browser's window is as narrow as that of a phone."""
    return bool(st.session_state.get(_NARROW))


def _note_width() -> None:
    st.session_state[_NARROW] = st.session_state[_BROWSER]["width"] == "narrow"


def _draw_again() -> None:
    """Do nothing: that the browser reports something draws the page again."""


#: A part rests this many times as long as drawing it took lately: so a server with many sessions keeps up.
REST = 4.0
#: Drawings that an interval is chosen from.
_ENOUGH = 10
#: Seconds that the last drawings of each part took, in all sessions.
_recent: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=_ENOUGH))


def time_page(page: str, draw: Callable[[], None]) -> None:
    """Draw the page at an address; what that takes counts where the page is drawn again at intervals."""
    begun = time.perf_counter()
    draw()
    _recent[page].append(time.perf_counter() - begun)


def refresh(draw: Callable[[], None], seconds: float | None, page: str = "") -> None:
    """Draw a part of a page, and draw it again at intervals; `st.rerun` in it draws the whole page again.

    `seconds` is the shortest interval. None: it is drawn again with the page, or when something in it is used. The
    interval is chosen with the page and stays: with another one the page is drawn anew, and figures lose their zoom.
    `page`: address of the page if the part has all of it drawn again, which takes longer than the part.
    """
    recent = _recent[draw.__qualname__]

    def draw_timed() -> None:
        begun = time.perf_counter()
        keep_address()
        try:
            with contain_failure("part of the page"):
                draw()
        except UnreadableRunError:
            st.rerun()
        recent.append(time.perf_counter() - begun)

    # The part is alone in a container. Streamlit may drop the part of a whole run that it has not sent yet when the
    # interval is over; the browser then closes the gap, and the part takes the place of what comes after it.
    with st.container():
        every = (
            None if seconds is None else choose_interval(seconds, tuple(_recent[page] if page else recent))
        )
        st.fragment(draw_timed, run_every=every)()


def choose_interval(shortest: float, recent: Sequence[float]) -> float:
    """Return the seconds between two drawings of a part, from how long its last ones took; few say nothing."""
    return shortest if len(recent) < _ENOUGH else max(shortest, REST * statistics.median(recent))
