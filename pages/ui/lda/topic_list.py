"""All topics at once: as cards, by the words they share, by their quality, over seeds, and against known labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from acvb_core.engine.job import Job
from acvb_core.engine.prepared import depends_on_seed
from acvb_core.models.lda.answer.sweeps import list_topics_then
from acvb_core.models.lda.figures.topics import quality_figure, quality_table, topic_shares_figure
from acvb_core.models.lda.topics import ALIKE
from acvb_core.views.parts import plain_name, user_name
from acvb_core.views.theme import MUTED, cluster_colour, css_colour, ink_on
from pages.ui.lda.topic_view import TOPIC, Names, TopicView, WordOrder, format_measure
from pages.ui.shared import format as say
from pages.ui.shared.answer_page import MORE_SEEDS, measure_seeds, show_sweeps
from pages.ui.shared.charts import show_figure
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.picking import choose_one, offer_table, show_download
from pages.ui.shared.workspace import current_workspace

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
    """One topic."""

    topic: int  #: from 1
    colour: str
    name: str  #: given by the user; empty for none
    share: str  #: of all words
    words: list[str]
    facts: str  #: its quality
    note: str = ""  #: the result of a search


def show_topic_cards(
    cards: Sequence[Card],
    *,
    selected: int,
    choose: Callable[[int], None],
    key: str,
    marked: str | None = None,
) -> None:
    """Draw cards; `selected` (from 1) and `marked` are highlighted, `choose` is called with the clicked topic."""
    shown = [{**card._asdict(), "ink": ink_on(card.colour)} for card in cards]

    def keep_click() -> None:
        topic = st.session_state[key]["topic"]
        if topic is not None:
            choose(int(topic))

    data = {"cards": shown, "selected": selected, "marked": marked}
    _component(data=data, key=key, height="content", on_topic_change=keep_click)


CARD_WORDS = 12
#: Pixels of the list of cards, which is scrolled if there are more than so many.
_CARDS_HEIGHT, _MANY_CARDS = 800, 15
#: Most words that a search finds, and the least share of a word's tokens in a topic that is listed for it.
MOST_FOUND, LEAST_SHARE = 50, 0.01
MOST_LABELS = 30
#: Measures of a topic: title and explanation.
_MEASURES = {
    "npmi": (
        "Coherence (NPMI)",
        "NPMI: normalised pointwise mutual information. How often a topic's ten most probable words occur in the same "
        "documents: -1 never, 0 as by chance, 1 always.",
    ),
    "u_mass": (
        "Coherence (u_mass)", "The same from counts of documents, as a logarithm (nats). Closer to 0 is better.",
    ),
    "exclusivity": (
        "Exclusivity", "How much a topic's ten most probable words belong to it alone: 0 not at all, 1 entirely.",
    ),
}  # fmt: skip


#: How ranges over runs are written.
_RANGES: Any = {
    name: st.column_config.NumberColumn(format="percent", width="small")
    for name in ("Share", "Probability", "Lowest", "Highest")
} | {
    "Runs": st.column_config.TextColumn(width="small", help="Runs that have the topic, this one included."),
    "In the top ten of": st.column_config.TextColumn(help="Of the runs that have the topic.", width="small"),
    "Words": st.column_config.TextColumn(width="large"),
}


@contain_failure("part of the page")
def show_all_topics(view: TopicView, names: Names, topic: int, order: WordOrder) -> None:
    """Draw a card for each topic; for a searched word, cards of the topics that have it, with probabilities."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="word_search"):
        text = st.text_input(
            "Find a word", key="topics_search", placeholder="a word, or part of one", width=280
        ).strip()
        matches = view.find_words(text, MOST_FOUND)
        word = matches[0] if matches else None
        if len(matches) > 1:
            label = f"{len(matches)} words" if len(matches) < MOST_FOUND else f"The first {MOST_FOUND} words"
            vocabulary = view.corpus.vocabulary
            word = choose_one(label, matches, lambda at: str(vocabulary[at]), "topics_found", width=240)
    notes: dict[int, str] = {}
    if word is not None:
        notes = describe_word(view, word)
        counted, where = (view.corpus, "these documents") if view.result.groups else (view.data, "the corpus")
        times = say.count(int(counted.frequencies[word]), "time")
        st.caption(f"In {say.count(len(notes), 'topic')} of {view.n_topics:,}; {times} in {where}.")
    elif text:
        st.caption(
            "No word of the vocabulary contains that. Rare and very common words may have been left out."
        )
    shown = list(notes) or list(range(1, view.n_topics + 1))
    with st.container(height=_CARDS_HEIGHT if len(shown) > _MANY_CARDS else "content", border=False):
        show_topic_cards(
            _make_cards(view, names, order, shown, notes),
            selected=topic,
            choose=TOPIC.choose,
            key="topic_cards",
            marked=None if word is None else str(view.corpus.vocabulary[word]),
        )


def describe_word(view: TopicView, word: int) -> dict[int, str]:
    """Return a text for each topic (from 1) with a good part of a word's tokens, the largest part first."""
    return {
        topic: f"{say.percent(share)} of its occurrences; {say.percent(probability)} of the topic"
        for topic, share, probability in view.topics_of_word(word, LEAST_SHARE)
    }


def _make_cards(
    view: TopicView, names: Names, order: WordOrder, topics: list[int], notes: dict[int, str]
) -> list[Card]:
    """Return the cards of some topics, with their notes."""
    words = view.rank_words(order._replace(n=min(order.n, CARD_WORDS)), topics)["word"].astype(str).tolist()
    each = len(words) // len(topics)
    return [
        Card(
            topic,
            cluster_colour(topic, names),
            user_name(topic, names),
            say.percent(float(view.topics.share[topic - 1])),
            words[at * each : (at + 1) * each],
            f"coherence {view.describe_quality(topic)}",
            notes.get(topic, ""),
        )
        for at, topic in enumerate(topics)
    ]


@contain_failure("part of the page")
def show_quality(view: TopicView, names: Names) -> None:
    """Draw the quality of the topics."""
    if view.is_partial:
        st.caption(f"Coherence is measured on {view.describe_shown()}.")
    quality = view.quality
    with st.container(horizontal=True, gap="medium", key="quality_figures"):
        for name, (title, text) in _MEASURES.items():
            mean = format_measure(view.mean_quality(name))
            st.metric(title, mean, width="content", help=f"Mean over the topics. {text}")
        text = "Share of different words among the top ten of all topics. 1: no word occurs twice."
        st.metric("Diversity", format_measure(quality.diversity), width="content", help=text)
    with st.container(key="quality_charts"):
        show_figure(topic_shares_figure(view.topics.share, names), "quality_shares")
        show_figure(quality_figure(quality.npmi, names), "quality_npmi")
    measures = {name: getattr(quality, name) for name in (*_MEASURES, "uniqueness")}
    table = quality_table(view.topics.share, names, **measures)
    if not any(names):
        table = table.drop(columns="name")
    table["words"] = [", ".join(words) for words in view.list_top_words(8)]
    unique = "1 if no other topic has any of its ten most probable words among its own ten."
    columns = {
        "topic": st.column_config.NumberColumn("Topic", width=60),
        "name": st.column_config.TextColumn("Name", width=170),
        "share": st.column_config.NumberColumn("Share", format="percent", width="small"),
        "npmi": st.column_config.NumberColumn("NPMI", format="%.3f", width="small"),
        "u_mass": st.column_config.NumberColumn("u_mass", format="%.2f", width="small"),
        "exclusivity": st.column_config.NumberColumn("Exclusivity", format="%.3f", width="small"),
        "uniqueness": st.column_config.NumberColumn("Uniqueness", format="%.3f", width=105, help=unique),
        "words": st.column_config.TextColumn("Most probable words", width="large"),
    }
    height = min(460, 38 + 35 * len(table))
    st.dataframe(
        table, hide_index=True, key="quality_table", height=height, column_config=columns, placeholder="–"
    )


@contain_failure("part of the page")
def show_spread(job: Job, view: TopicView, names: Names, topic: int) -> None:
    """Draw in how many runs from other seeds the topics come back, and the range of their shares and words."""
    spread = measure_seeds(current_workspace(), job, view.whole)
    topics, words = spread["topics"], spread["words"]
    runs = int(topics["runs"].iloc[0])
    if runs == 1:
        depends = depends_on_seed(view.result.prepared.spec, view.result.prepared.row)
        why = "These topics come from one run, and another seed may find others."
        if not depends:
            why = "This run continued from trained topics, so another seed gives the same run."
        text = f"{why} Shares and words on this page are given this run's topics."
        if depends and not current_workspace().view_only:
            text += f" Press *Run {MORE_SEEDS} more seeds* above to see which topics come back."
        st.info(text, icon=":material/casino:")
        return
    st.caption(
        f"The topics of this run, compared with {say.count(runs - 1, 'run')} from other seeds. Rely less on topics "
        "that few runs have.",
        help=f"A run has a topic if one of its own has a similarity of {ALIKE:g} or more. A topic with the words "
        "of a larger one counts once. Lowest and highest: over the runs with the topic; – if only this run has it.",
    )
    columns: dict[str, list[Any]] = {"Topic": [plain_name(number, names) for number in topics["topic"]]}
    columns["Runs"] = [f"{found:,} of {runs:,}" for found in topics["found"]]
    table = _add_ranges(columns | {"Share": topics["share"].to_list()}, topics)
    table["Words"] = [", ".join(words) for words in view.list_top_words(8)]
    height = min(460, 38 + 35 * len(table))
    st.dataframe(
        table, hide_index=True, key="spread_topics", height=height, column_config=_RANGES, placeholder="–"
    )
    chosen, found = words[words["topic"] == topic], int(topics["found"].iloc[topic - 1])
    st.text(f"The ten most probable words of {plain_name(topic, names, long=True)}")
    columns = {"Word": chosen["word"].to_list()}
    columns["In the top ten of"] = [f"{n:,} of {found:,}" for n in chosen["in_top_ten"]]
    table = _add_ranges(columns | {"Probability": chosen["probability"].to_list()}, chosen)
    st.dataframe(table, hide_index=True, key="spread_words", column_config=_RANGES, placeholder="–")


def _add_ranges(columns: dict[str, list[Any]], spread: pd.DataFrame) -> pd.DataFrame:
    """Return columns as a table with the range of their last one over the runs."""
    return pd.DataFrame(columns | {"Lowest": spread["low"].to_list(), "Highest": spread["high"].to_list()})


@contain_failure("table")
def show_known_labels(view: TopicView, names: Names) -> None:
    """Draw how the words of each known label's documents are divided among the topics."""
    table = view.label_shares
    text = "Share of each topic in the documents with a label; each column adds up to 1. Runs do not use the labels."
    if table.shape[1] > MOST_LABELS:
        text += f" The table shows the largest {MOST_LABELS} of {table.shape[1]:,} labels, the file all."
    st.caption(text)
    shown = table.iloc[:, :MOST_LABELS].copy()
    shown.columns = _make_headings(shown.columns)
    shown.insert(0, "topic", [plain_name(int(topic), names) for topic in shown.index])

    def shade(share: float) -> str:
        strength = min(max(share, 0.0), 1.0) if math.isfinite(share) else 0.0
        return f"background-color: rgba(0, 114, 178, {0.75 * strength**0.7:.3f})"

    shares = list(shown.columns[1:])
    width = 170 if any(names) else 60
    st.dataframe(
        shown.style.format("{:.3f}", na_rep="–", subset=shares).map(shade, subset=shares),
        hide_index=True,
        key="label_table",
        height=38 + 35 * min(len(shown), 25),
        column_config={"topic": st.column_config.TextColumn("Topic", width=width, pinned=True)},
    )

    def list_shares() -> pd.DataFrame:
        return table.stack().rename_axis(["topic", "label"]).rename("share").reset_index()

    show_download(view.result, offer_table("All shares of the labels", "labels.csv", list_shares))


def show_sweep_by_sweep(view: TopicView) -> None:
    """Draw the words of the run's own topics after each of the sweeps that were kept."""

    def draw(sweep: int, excerpt: Mapping[str, Any], chart: str) -> None:
        table = list_topics_then(view.own, excerpt)
        known = table[table["topic"] <= len(view.own.names["topics"])]
        st.caption(
            f"{say.count(len(table), 'topic')}; {say.percent(round(float(known['kept'].mean()), 2))} of the first "
            "words of the topics are those of the answer. A topic has the number of the one in the answer that it "
            "shares most words with."
        )
        columns = {
            "Topic": [plain_name(topic, view.own.names["topics"]) for topic in table["topic"]],
            "Share": table["share"],
            "Words of the answer": table["kept"],
            "Words": table["words"],
        }
        config = st.column_config
        st.dataframe(
            pd.DataFrame(columns),
            hide_index=True,
            key=chart,
            height=38 + 35 * min(len(table), 25),
            column_config={
                "Share": config.NumberColumn(format="percent", width="small"),
                "Words of the answer": config.ProgressColumn(
                    min_value=0.0, max_value=1.0, format="percent", width=140
                ),
                "Words": config.TextColumn(width="large"),
            },
        )

    show_sweeps(view.own, "topics", draw)


def _make_headings(labels: pd.Index) -> list[str]:
    """Return labels as headings that differ from an empty one and from the table's own."""
    return [
        f"label {label}" if not str(label).strip() or label == "topic" else str(label) for label in labels
    ]
