"""The links of a network: their direction, links of an object to itself, and why these were recognised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from pages.ui.upload.kind import KindChoice

#: Arguments of `load_relation` that are chosen here, and with the kind of data.
SIDES = ("domains", "directed", "self_links")
# A choice of None could be cleared, and would then be called "choose an option".
_DIRECTED: dict[Any, str] = {"auto": "recognise it", True: "directed", False: "undirected"}
_SELF_LINKS: dict[Any, str] = {"auto": "recognise it", True: "count", False: "do not count"}
#: Facts of the reading report about links of an object to itself.
_OWN = ("self_links", "self_links_left_out")


def choose_sides(prefix: str, choice: KindChoice) -> dict[str, Any]:
    """Draw the choice of what the links of a network are and return the arguments of `load_relation` that it makes.

    Parameters
    ----------
    prefix : str
        Beginning of the keys of the file's widgets.
    choice : KindChoice
        A relation or a network.
    """
    if choice.kind == "relation":
        return {"domains": "auto" if choice.recognised else "two"}
    directed_at, own_at = st.columns(2)
    with directed_at:
        directed = _choose("Links are", _DIRECTED, f"{prefix}_directed")
        _show_reason(_find_sentence(choice, ("direction",)))
    with own_at:
        own = _choose("Self-links", _SELF_LINKS, f"{prefix}_self_links")
        no_own = "No object is linked to itself: self-links do not count." if choice.facts else ""
        _show_reason(_find_sentence(choice, _OWN) or no_own)
    chosen = {"directed": directed, "self_links": own}
    domains = "auto" if choice.recognised else "one"
    return {"domains": domains} | {name: None if value == "auto" else value for name, value in chosen.items()}


def _choose(label: str, names: dict[Any, str], key: str) -> Any:
    return st.selectbox(label, list(names), format_func=names.__getitem__, key=key, persist_state="session")


def _show_reason(reason: str) -> None:
    if reason:
        st.caption(f"Recognised. {reason}")


def _find_sentence(choice: KindChoice, names: Sequence[str]) -> str:
    return next((fact.sentence for fact in choice.facts if fact.name in names), "")
