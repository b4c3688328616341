"""All topics as cards: number, colour, name, share, words and how good it is; a click chooses one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import streamlit as st

from acvb_core.views.theme import MUTED, cluster_colour, css_colour, ink_on

_HTML = '<div class="topic-cards" role="list"></div>'
_CSS = f"""
.topic-cards {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); gap: 0.7rem; }}
.card {{ display: flex; flex-direction: column; align-items: stretch; width: 100%; height: 100%; text-align: left;
  cursor: pointer; padding: 0.6rem 0.75rem;
  background: var(--st-background-color); color: var(--st-text-color); font: inherit; font-size: 0.9rem;
  border: 1px solid var(--st-border-color); border-radius: var(--st-base-radius); line-height: 1.4; }}
.words {{ flex: 1; }}
.card:hover {{ border-color: var(--st-primary-color); }}
.card:focus-visible {{ outline: 2px solid var(--st-primary-color); outline-offset: 2px; }}
.card.chosen {{ border-color: var(--st-text-color); box-shadow: inset 0 0 0 1px var(--st-text-color); }}
.head {{ display: flex; align-items: center; gap: 0.5rem; margin-bottom: 0.3rem; }}
.number {{ min-width: 1.7rem; padding: 0 0.3rem; border-radius: 0.8rem; text-align: center; font-weight: 600;
  font-size: 0.85rem; line-height: 1.5rem; box-sizing: border-box; }}
.name {{ font-weight: 600; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; flex: 1; }}
.share {{ font-variant-numeric: tabular-nums; white-space: nowrap; color: {css_colour(MUTED)}; }}
.words > * {{ white-space: nowrap; }}
.words > * > * {{ display: inline-block; max-width: calc(100% - 0.5em); overflow: hidden; text-overflow: ellipsis;
  vertical-align: bottom; }}
.words b {{ background: light-dark(#FFF2CC, #5C4A12); font-weight: 600; border-radius: 3px; }}
.facts {{ margin-top: 0.35rem; font-size: 0.78rem; color: {css_colour(MUTED)}; font-variant-numeric: tabular-nums; }}
.note {{ margin-top: 0.35rem; font-size: 0.82rem; font-weight: 600; }}
"""
# Everything is put in as text, never as markup.
_JS = """
const part = (parent, kind, text) => {
  const node = document.createElement("div");
  node.className = kind;
  node.textContent = text;
  parent.append(node);
  return node;
};

function card(shown, chosen, marked, choose) {
  const item = document.createElement("div");
  item.role = "listitem";
  const button = document.createElement("button");
  button.type = "button";
  button.className = chosen ? "card chosen" : "card";
  button.ariaPressed = String(chosen);
  const head = part(button, "head", "");
  const number = part(head, "number", shown.topic);
  number.style.background = shown.colour;
  number.style.color = shown.ink;
  part(head, "name", shown.name);
  part(head, "share", shown.share);
  const words = part(button, "words", "");
  shown.words.forEach((word, i) => {
    const node = document.createElement(word === marked ? "b" : "span");
    node.textContent = word;
    const item = document.createElement("span"); // the comma stays with its word
    item.append(node, i < shown.words.length - 1 ? "," : "");
    words.append(item, " ");
  });
  if (shown.note) part(button, "note", shown.note);
  part(button, "facts", shown.facts);
  button.onclick = () => choose(shown.topic);
  item.append(button);
  return item;
}

export default function ({ data, parentElement, setTriggerValue }) {
  const choose = (topic) => setTriggerValue("topic", topic);
  const list = parentElement.querySelector(".topic-cards");
  list.replaceChildren(
    ...data.cards.map((shown) => card(shown, shown.topic === data.selected, data.marked, choose)),
  );
}
"""
_component = st.components.v2.component("acvb_topic_cards", html=_HTML, css=_CSS, js=_JS)


class Card(NamedTuple):
    """One topic.

    Attributes
    ----------
    topic : int
        From 1.
    name : str
        What the user calls it; empty for none.
    share, facts, note : str
        Of all words; how good it is; what a search has to say of it.
    words : list of str
    """

    topic: int
    name: str
    share: str
    words: list[str]
    facts: str
    note: str = ""


def show_topic_cards(
    cards: Sequence[Card],
    *,
    selected: int,
    choose: Callable[[int], None],
    key: str,
    marked: str | None = None,
) -> None:
    """Draw cards, as many side by side as there is room for.

    Parameters
    ----------
    cards : sequence of Card
        Names and words are shown as they are.
    selected : int
        Topic (from 1) that stands out.
    choose : callable
        Called with the topic of the card that is clicked.
    key : str
    marked : str, optional
        A word that stands out.
    """
    shown: list[dict[str, Any]] = []
    for card in cards:
        colour = cluster_colour(card.topic)
        shown.append({**card._asdict(), "colour": colour, "ink": ink_on(colour)})

    def keep_click() -> None:
        topic = st.session_state[key]["topic"]
        if topic is not None:
            choose(int(topic))

    _component(
        data={"cards": shown, "selected": selected, "marked": marked},
        key=key,
        height="content",
        on_topic_change=keep_click,
    )
