"""The two sides of a relation: whether they are the same objects, why that was recognised, and the choice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import streamlit as st

from acvb_core.data.relation import Relation
from acvb_core.data.report import ReadReport

#: Arguments of `load_relation` that are chosen here.
SIDES = ("domains", "directed", "self_links")
_DOMAINS: dict[Any, str] = {
    "auto": "recognise them",
    "one": "the same objects: a network",
    "two": "different objects",
}
# A choice of None could be cleared, and would then be called "choose an option".
_DIRECTED: dict[Any, str] = {"auto": "recognise it", True: "directed", False: "undirected"}
_SELF_LINKS: dict[Any, str] = {"auto": "recognise it", True: "count", False: "do not count"}
#: Facts of the read report about links of an object to itself.
_OWN = ("self_links", "self_links_left_out")


class SidesGuess(NamedTuple):
    """The recognised properties of a relation that the user has not chosen.

    Attributes
    ----------
    network : bool
        The two sides are the same objects.
    sides, direction, self_links : str
        The reasons, in sentences.
    """

    network: bool
    sides: str
    direction: str
    self_links: str


def choose_sides(prefix: str) -> dict[str, Any]:
    """Draw the choice of what the two sides are and return the arguments of `load_relation` that it makes.

    Parameters
    ----------
    prefix : str
        Beginning of the keys of the file's widgets.
    """
    guess: SidesGuess | None = st.session_state.get(f"{prefix}_guess")
    domains = _choose("The two sides", _DOMAINS, f"{prefix}_domains")
    _show_reason(guess and guess.sides)
    if domains == "two" or (domains == "auto" and not (guess and guess.network)):
        return {"domains": domains}
    directed_at, own_at = st.columns(2)
    with directed_at:
        directed = _choose("Links are", _DIRECTED, f"{prefix}_directed")
        _show_reason(guess and guess.direction)
    with own_at:
        own = _choose("Links to oneself", _SELF_LINKS, f"{prefix}_self_links")
        _show_reason(guess and guess.self_links)
    said = {"directed": directed, "self_links": own}
    return {"domains": domains} | {name: None if said[name] == "auto" else said[name] for name in said}


def _choose(label: str, names: dict[Any, str], key: str) -> Any:
    return st.selectbox(label, list(names), format_func=names.get, key=key, persist_state="session")


def _show_reason(reason: str | None) -> None:
    if reason:
        st.caption(f"Recognised. {reason}")


def keep_guess(relation: Relation, report: ReadReport, loading: dict[str, Any], prefix: str) -> None:
    """Keep what was recognised if the user has not chosen; forget it if the file is read in another way.

    Parameters
    ----------
    relation : Relation
        As read.
    report : ReadReport
    loading : dict
        Arguments it was read with.
    prefix : str
    """
    key = f"{prefix}_guess"
    rest = {name: value for name, value in loading.items() if name not in SIDES}
    if st.session_state.get(f"{key}_of") not in (None, rest):
        st.session_state.pop(key, None)
    st.session_state[f"{key}_of"] = rest
    if loading.get("domains") != "auto" or any(loading.get(name) is not None for name in SIDES[1:]):
        return
    sides = _find_sentence(report, ("domains",))
    if relation.network is None:
        st.session_state[key] = SidesGuess(False, sides, "", "")
        return
    own = _find_sentence(report, _OWN) or "No object is linked to itself: self-links do not count."
    st.session_state[key] = SidesGuess(True, sides, _find_sentence(report, ("direction",)), own)


def _find_sentence(report: ReadReport, names: Sequence[str]) -> str:
    return next((fact.sentence for fact in report.facts if fact.name in names), "")
