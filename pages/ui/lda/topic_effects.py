"""Topics over time, by known groups and by numbers of the documents: sentences, figures and files."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from acvb_core.data.corpora.metadata import list_columns
from acvb_core.models.lda.answer.effects import (
    CLEAR_WORD,
    LEAST_DOCUMENTS,
    Effects,
    changed_words,
    describe_effects,
    describe_groups,
    describe_slope,
    describe_trend,
    describe_words,
    is_clear,
    measure_effects,
)
from acvb_core.models.lda.figures.effects import (
    MOST_TOPICS,
    topic_by_group,
    topic_over_time,
    topics_over_time,
)
from acvb_core.views.parts import plain_name
from pages.ui.lda.topic_view import TOPIC, TopicView
from pages.ui.shared.charts import show_clickable_figure, show_figure
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.picking import Key, choose_one, offer_table, show_download
from pages.ui.shared.refresh import is_narrow

Names = Sequence[str]
#: Words that grew or fell which are listed.
_CHANGED_WORDS = 10
_KINDS = {"date": "over time", "group": "by group", "number": "by number"}
_HELP = """
A share is of words, so a long document counts more. A 95 % interval allows for two things: other documents of the same
time or group would differ, and a document's words show its topics only roughly. The words of the topics are taken as
known. A star, and the word *clear*, mean that the adjusted p is below 0.05 (Holm, over all topics and groups at once).
"""


@contain_failure("part of the page")
def show_effects(view: TopicView, names: Names, topic: int) -> None:
    """Draw how topics differ by a column of the documents."""
    columns = list_columns(view.corpus)
    if not columns and view.result.groups:
        st.text("These documents have no two different dates, groups or numbers.")
        return
    if not columns:
        st.caption(
            "These texts have no dates, groups or numbers to compare topics with. Load a file with such columns: "
            "each is kept with its document, and the Data page shows what it is taken for."
        )
        return
    column = choose_one(
        "Compare",
        list(columns),
        lambda name: f"{_KINDS[columns[name].kind]}: {name}",
        f"effects_column_{view.run}",
        width=300,
    )
    found = _measure(view.key, column, view)
    quoted = [f"“{plain_name(number, names)}”" for number in range(1, view.n_topics + 1)]
    st.text(describe_effects(found, quoted, column))
    if view.is_partial:
        st.caption(f"Measured on {view.describe_shown()}.")
    if found.kind == "date":
        _show_time(view, names, quoted, topic, found, column)
    else:
        _show_groups(view, names, quoted, topic, found, column)


@st.cache_resource(show_spinner="Comparing the documents", max_entries=32)
def _measure(key: Key, column: str, _view: TopicView) -> Effects:
    return measure_effects(_view.result.posterior, _view.corpus, column)


@st.cache_resource(show_spinner=False, max_entries=32)
def _list_words(key: Key, column: str, topic: int, _view: TopicView) -> pd.DataFrame:
    return changed_words(_view, topic, list_columns(_view.corpus)[column].values)


def _line_of(found: Effects, topic: int) -> Any:
    """Return the line of a topic."""
    lines: pd.DataFrame = found.line if found.line is not None else found.table
    return next(line for line in lines.itertuples() if line.topic == topic)


def _show_time(view: TopicView, names: Names, quoted: Names, topic: int, found: Effects, column: str) -> None:
    """Draw the chosen topic over time, the words that grew in it, and all topics."""
    st.text(describe_trend(_line_of(found, topic), quoted[topic - 1], *found.ends))
    figure = topic_over_time(found.table, topic, names)
    show_figure(figure, "effects_time", f"The share of topic {topic} over time, with 95 % intervals.")
    _show_counts(found, f"A period with fewer than {LEAST_DOCUMENTS} documents has no interval.")
    with contain_failure():
        _show_words(_list_words(view.key, column, topic, view))
    st.subheader("All topics", anchor=False)
    st.caption("Each has a scale of its own. Click a point to choose its topic.")
    shown = _choose_panels(view, found)
    across = 2 if is_narrow() else 4
    show_clickable_figure(
        partial(topics_over_time, found.table, shown, names, across=across),
        f"effects_all_{view.run}_{TOPIC.turn}",
        "The share of each topic over time, each on a scale of its own.",
        TOPIC.keep_click,
        view.n_topics,
    )
    if len(shown) < view.n_topics:
        st.caption(f"The {len(shown)} topics that changed most clearly; the file has all {view.n_topics:,}.")
    _offer(view, names, found)


def _choose_panels(view: TopicView, found: Effects) -> list[int]:
    """Return the topics that are drawn together: all, or those that changed most clearly, in their order."""
    assert found.line is not None
    if view.n_topics <= MOST_TOPICS:
        return list(range(1, view.n_topics + 1))
    first = found.line.sort_values("p", kind="stable").head(MOST_TOPICS)
    return sorted(first["topic"].tolist())


def _show_words(words: pd.DataFrame) -> None:
    """Draw the words of the topic that grew and those that fell between its earlier and its later documents."""
    grown = words[words["z"] > 0].head(_CHANGED_WORDS)
    fallen = words[words["z"] < 0].iloc[::-1].head(_CHANGED_WORDS)
    st.text(describe_words(words))
    with st.expander("Words of the topic that grew or fell", icon=":material/swap_vert:"):
        st.caption(
            "Earlier and later: the word's share of the topic in the first and in the second half of the documents. "
            f"z: the change in standard errors. From {CLEAR_WORD:g} on, it is clear; by chance, one of 370 words is."
        )
        shares = {name: st.column_config.NumberColumn(format="percent") for name in ("Earlier", "Later")}
        for place, title, table in zip(st.columns(2), ("Grew", "Fell"), (grown, fallen), strict=True):
            with place:
                shown = table.rename(columns={"word": title, "earlier": "Earlier", "later": "Later"})
                st.dataframe(
                    shown,
                    hide_index=True,
                    key=f"effects_words_{title}",
                    column_config=shares | {"z": st.column_config.NumberColumn(format="%.1f")},
                )


def _show_groups(
    view: TopicView, names: Names, quoted: Names, topic: int, found: Effects, column: str
) -> None:
    """Draw the share of the chosen topic in each group, or at each value of a number, and all topics as a table."""
    name, own = quoted[topic - 1], found.table[found.table["topic"] == topic]
    if found.line is None:
        st.text(describe_groups(own, name, column))
    else:
        st.text(describe_slope(_line_of(found, topic), name, column, *found.ends))
    show_figure(
        topic_by_group(found.table, topic, names, axis=column),
        "effects_groups",
        f"The share of topic {topic} in each group, with 95 % intervals.",
    )
    stars = "" if found.line is not None else " A star: clearly other than in the rest."
    _show_counts(found, f"The dashed line is the share in all of them.{stars}")
    st.subheader("All topics", anchor=False)
    table = found.table.assign(cell=[_write_cell(line) for line in found.table.itertuples()])
    wide = table.pivot(index="topic", columns="group", values="cell")[list(dict.fromkeys(table["group"]))]
    wide.columns = [f"{group} (group)" if group == "Topic" else group for group in wide.columns]
    wide.insert(0, "Topic", [plain_name(int(number), names) for number in wide.index])
    st.dataframe(wide, hide_index=True, key="effects_table", height=38 + 35 * min(len(wide), 25))
    _offer(view, names, found)


def _write_cell(line: Any) -> str:
    """Return a share in per cent, with a star if it clearly differs from that of the other groups."""
    if line.share != line.share:
        return "–"
    star = " *" if hasattr(line, "p_holm") and is_clear(line) else ""
    return f"{100 * line.share:.1f} %{star}"


def _show_counts(found: Effects, more: str) -> None:
    missing = f" {found.missing:,} without a value are left out." if found.missing else ""
    st.caption(f"{found.documents:,} documents.{missing} {more}", help=_HELP)


def _offer(view: TopicView, names: Names, found: Effects) -> None:
    """Draw the files of a comparison."""

    def name_topics(table: pd.DataFrame) -> pd.DataFrame:
        named = table.copy()
        named.insert(named.columns.get_loc("topic") + 1, "name", [names[at - 1] for at in named["topic"]])
        return named

    shares = {"date": "over-time", "group": "by-group", "number": "by-number"}[found.kind]
    label = {"date": "Shares over time", "group": "Shares by group, with tests", "number": "Shares by number"}
    with st.container(horizontal=True):
        offer = offer_table(label[found.kind], f"topics-{shares}.csv", lambda: name_topics(found.table))
        show_download(view.result, offer)
        if found.line is not None:
            line, end = found.line, {"date": "trends", "number": "slopes"}[found.kind]
            offer = offer_table("Changes, with tests", f"topics-{end}.csv", lambda: name_topics(line))
            show_download(view.result, offer)
