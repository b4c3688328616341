"""Names of objects: the choice of the ids, or of a known label that names them, for all of the page."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from acvb_core.data.network import name_ids
from acvb_core.engine.result import Result
from acvb_core.models.irm.answer.naming import choose_name, list_names, show_names
from pages.ui.shared.picking import Key, choose_one
from pages.ui.workspace.entrance import name_choice, take_choice

_SIDES = {"rows": "rows", "cols": "columns"}


def choose_names(result: Result) -> dict[str, str]:
    """Draw what objects are shown by if there is a choice; return the attributes that name them, by domain.

    At first it is a readable label if the ids are numbers or codes (`choose_name`), and otherwise the ids.
    """
    relation, chosen = result.prepared.data, {}
    sides = _SIDES if relation.network is None else {"rows": "nodes"}
    names = {domain: list_names(relation, domain) for domain in sides}
    if not any(names.values()):
        return {}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="block_names"):
        for domain, side in sides.items():
            if names[domain]:
                usual = choose_name(relation, domain)
                options = dict.fromkeys([usual, "", *names[domain]])
                shown = {name: name or name_ids(relation, domain) for name in options}
                key = f"names_{domain}"
                asked = take_choice(f"{side}-by", {text: name for name, text in shown.items()})
                if asked is not None:
                    st.session_state[key] = asked
                chosen[domain] = choose_one(
                    f"Show {side} by", list(options), shown.__getitem__, key, width=260
                )
                name_choice(f"{side}-by", shown[chosen[domain]], shown[usual])
    return {domain: name for domain, name in chosen.items() if name}


def apply_names(key: Key, result: Result, names: Mapping[str, str]) -> tuple[Key, Result]:
    """Return the answer with objects that are named by attributes, and its key."""
    if not names:
        return key, result
    job_id, sweep, end = key
    key = job_id, sweep, f"{end} {dict(names)}"
    return key, _apply(key, result, names)


@st.cache_resource(show_spinner=False, max_entries=16)
def _apply(key: Key, _result: Result, _names: Mapping[str, str]) -> Result:
    return show_names(_result, _names)
