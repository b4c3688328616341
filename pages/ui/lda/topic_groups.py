"""Topics as they are shown: merged, hidden and moved by the reader, fewer along a tree, and in which documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from acvb_core.core.errors import AcvbError
from acvb_core.engine.job import Job
from acvb_core.engine.result import Result
from acvb_core.models.lda.answer.arrangement import (
    Groups,
    TopicEdit,
    arrange_topics,
    group_topics,
    join_groups,
)
from acvb_core.models.lda.answer.tree import TopicTree
from acvb_core.models.lda.figures.tree import topic_tree_figure
from acvb_core.models.lda.state import TOPICS
from acvb_core.store.files import StoreError
from acvb_core.views.parts import plain_name
from pages.ui.lda.topic_view import TOPIC, Names, TopicView, build_view
from pages.ui.shared import format as say
from pages.ui.shared.charts import show_clickable_figure
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.picking import (
    Key,
    answer_key,
    choose_one,
    open_part_names,
    read_given_names,
    set_choice,
    slide_number,
    widget_of,
)
from pages.ui.shared.refresh import is_narrow
from pages.ui.shared.workspace import current_workspace
from pages.ui.workspace.entrance import name_choice, take_choice

#: Topics from which fewer of them can be shown.
_LEAST = 3
_TROUBLE = "topics_edit_trouble"
#: In the session: True if topics were changed and the page shows them as they were.
_CHANGED = "topics_changed"


def arrange_answer(job: Job, result: Result) -> Result:
    """Draw how many topics are shown and what was changed by hand; return the answer with these topics."""
    st.session_state.pop(_CHANGED, None)
    edits = read_edits(job, result)
    own = len(result.names[TOPICS])
    groups = group_topics(edits, own)
    key = answer_key(job, result)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="topic_level"):
        if len(groups) >= _LEAST:
            level = _choose_level(job, find_tree(key, groups, result))
            if level < len(groups):
                groups = join_groups(groups, find_tree(key, groups, result).cut(level))
        shown = _arrange(key, groups, result)
        if edits and not current_workspace().view_only:
            _show_undo(job, result, edits)
    if trouble := st.session_state.pop(_TROUBLE, ""):
        st.text(trouble)
    if shown is result:
        return result
    st.caption(_describe(result, shown, groups, edits), help=_ABOUT)
    given = read_given_names(job, shown)
    return replace(shown, given_names=given) if given else shown


_ABOUT = (
    "A merged topic has the words and documents of its parts, and the colour of the first. Hidden topics are left out, "
    "and shares are of the words of the topics shown. All of this page and its files follow; the run itself stays as "
    "it is."
)


@st.cache_resource(show_spinner=False, max_entries=24)
def find_tree(key: Key, groups: Groups, _result: Result) -> TopicTree:
    """Return the tree of some topics of a run."""
    return TopicTree.of_result(arrange_topics(_result, groups))


@st.cache_resource(show_spinner=False, max_entries=16)
def _arrange(key: Key, groups: Groups, _result: Result) -> Result:
    return arrange_topics(_result, groups)


#: The choice of no group, in the address.
_ALL = "all"


def choose_documents(job: Job, view: TopicView) -> TopicView:
    """Draw the documents that the page is about, all or those of a group; return the answer of these."""
    options, key = [_ALL, *view.groups], f"topics_among_{job.id}"
    asked = take_choice("documents", dict(zip(options, options, strict=True)))
    if asked is not None:
        set_choice(key, asked)
    chosen = _ALL
    if len(options) > 1:
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="topic_documents"):
            chosen = choose_one(
                "Documents", options, lambda text: "all documents" if text == _ALL else text, widget_of(key),
                memory=key, persist_state=None, width=300,
            )  # fmt: skip
            if chosen != _ALL:
                st.button(
                    "All documents", icon=":material/close:", key="topics_all",
                    on_click=set_choice, args=(key, _ALL),
                )  # fmt: skip
    name_choice("documents", chosen, _ALL)
    if chosen == _ALL:
        return view
    among = build_view(job, _take_group(view.key, view.groups[chosen], view.result), view.own, view.result)
    those = f"{view.corpus.n_documents:,} documents"
    if view.is_partial:
        those += f" that can be shown, of {view.data.n_documents:,} in all"
    st.caption(
        f"{among.corpus.n_documents:,} of {those}. Shares, documents, comparisons, coherence and files are of these. "
        "The words of the topics, held-out scores, other seeds and sweeps are those of the run."
    )
    return among


@st.cache_resource(show_spinner=False, max_entries=16)
def _take_group(key: Key, group: tuple[str, str], _result: Result) -> Result:
    return _result.among(*group)


def _level_key(job: Job, n_topics: int) -> str:
    return f"topics_level_{job.id}_{n_topics}"


def _choose_level(job: Job, tree: TopicTree) -> int:
    """Draw the slider of the number of topics, and buttons of the suggested numbers; return the number."""
    key, most = _level_key(job, tree.n_topics), tree.n_topics
    help = (
        "Topics with similar words are joined, the most similar first. The buttons are numbers at which the next "
        "step would join topics that differ much more."
    )
    level = slide_number("Show so many topics", most, key, help)

    def choose(number: int) -> None:
        set_choice(key, number)
        TOPIC.choose(1)

    with st.container(horizontal=True, gap="xsmall", width="content", key="topic_levels"):
        for number in [*tree.suggest(), most]:
            label = f"All {most:,}" if number == most else f"{number:,}"
            st.button(
                label, key=f"topics_level_{number}", on_click=choose, args=(number,), disabled=number == level
            )
    return level


def read_edits(job: Job, result: Result) -> list[TopicEdit]:
    """Return how the reader has changed the topics of a run."""
    try:
        if not open_part_names().entries(job.id):
            return []
        return [TopicEdit(*edit) for edit in open_part_names().edits(job.id, result.marks, TOPICS)]
    except StoreError:
        return []  # `read_given_names` says why


def _describe(result: Result, shown: Result, groups: Groups, edits: Sequence[TopicEdit]) -> str:
    """Return how the topics shown differ from those of the run, and how well both predict."""
    own = len(result.names[TOPICS])
    hidden = own - sum(map(len, groups))
    said = [f"The run's {say.count(own, 'topic')} are shown as {len(groups):,}"]
    if hidden:
        said.append(f"{hidden:,} of them hidden")
    if edits:
        said.append(f"{say.count(len(edits), 'change')} by hand")
    text = f"{', '.join(said)}."
    score, before = shown.snapshot.heldout, result.snapshot.heldout
    if score is not None and before is not None:
        write = result.prepared.model_row.display.score.write
        text += f" Held-out perplexity {write(score.perplexity)}; of the run's own topics {write(before.perplexity)}."
    return text


def _show_undo(job: Job, result: Result, edits: list[TopicEdit]) -> None:
    def take_back(*, all: bool = False) -> None:
        # Of the changes as they are now: another one may have been made since this was drawn.
        _write_edits(job, result, [] if all else read_edits(job, result)[:-1])

    last = _name_edit(edits[-1], result.names[TOPICS])
    st.button(
        "Undo", icon=":material/undo:", key="topics_undo", on_click=take_back,
        help=f"Takes back the last of {say.count(len(edits), 'change')}.",
    )  # fmt: skip
    if len(edits) > 1:
        st.button("Undo all", key="topics_undo_all", on_click=take_back, kwargs={"all": True})
    st.text(f"Last change: {last}", width="content")  # it quotes names of topics


def _name_edit(edit: TopicEdit, names: Names) -> str:
    named = [plain_name(topic, names, long=True) for topic in edit.topics]
    if edit.kind == "merge":
        return f"merged {say.join_names(named)}"
    return f"hid {named[0]}" if edit.kind == "hide" else f"moved {named[0]}"


def _write_edits(job: Job, result: Result, edits: Sequence[TopicEdit]) -> None:
    """Keep changes in place of those before, from a callback."""
    try:
        current_workspace().check_owner()
        open_part_names().set_edits(job.id, result.marks, TOPICS, [(kind, topics) for kind, topics in edits])
    except AcvbError as error:
        st.session_state[_TROUBLE] = str(error)
    TOPIC.forget_clicks()


@contain_failure("part of the page")
def show_arrange(job: Job, view: TopicView, names: Names, topic: int) -> None:
    """Draw the button that opens the changes of a topic: merge it, hide it, move it; nothing for a viewer."""
    if current_workspace().view_only or view.n_topics < 2:
        return
    if st.session_state.get(_CHANGED):
        st.rerun()  # the whole page: this is drawn in a part of it
    others = [number for number in range(1, view.n_topics + 1) if number != topic]
    # Of the topic, not of its number, which another one may have when a button is pressed again.
    own = "_".join(map(str, _list_groups(view)[topic - 1]))

    def offer(text: str, icon: str, chosen: int, *edit: Any, **more: Any) -> None:
        key, icon = f"topics_do_{text.lower()}_{own}", f":material/{icon}:"
        how: dict[str, Any] = {"on_click": _change, "args": (job, view, *edit), "kwargs": {"then": chosen}}
        st.button(text, icon=icon, key=key, **how, **more)

    with st.popover("Arrange", icon=":material/low_priority:", key=f"arrange_{topic}_{view.n_topics}"):
        other = choose_one(
            f"Merge topic {topic} with", others, lambda number: plain_name(number, names, long=True),
            f"topics_merge_{view.run}_{topic}",
        )  # fmt: skip
        offer("Merge", "merge", min(topic, other), "merge", topic, other)
        with st.container(horizontal=True, gap="xsmall"):
            last = view.n_topics
            offer("Hide", "visibility_off", min(topic, last - 1), "hide", topic)
            more = {"disabled": topic == 1}
            offer("Earlier", "arrow_upward", topic - 1, "move", topic, topic - 1, **more)
            behind = [topic + 2] if topic + 2 <= last else []
            more = {"disabled": topic == last}
            offer("Later", "arrow_downward", topic + 1, "move", topic, *behind, **more)
        st.caption("The run stays as it is. Undo, above the map, takes changes back one by one.")


def _list_groups(view: TopicView) -> Groups:
    """Return the run's topics that make up each topic shown."""
    shown = view.result.arranged.get(TOPICS) or [[one] for one in range(1, view.n_topics + 1)]
    return tuple(map(tuple, shown))


def _change(job: Job, view: TopicView, kind: str, *chosen: int, then: int) -> None:
    """Keep one more change, from a callback, and show the topic with the number `then`."""
    edits, own = read_edits(job, view.own), len(view.own.names[TOPICS])
    groups = _list_groups(view)
    if len(group_topics(edits, own)) > len(groups):
        # Fewer are shown along the tree: what is merged there stays merged.
        edits += [TopicEdit("merge", tuple(group)) for group in groups if len(group) > 1]
    parts = [groups[number - 1] for number in chosen]
    topics = [topic for part in parts for topic in (part if kind == "merge" else part[:1])]
    changed = [*edits, TopicEdit(kind, tuple(topics))]
    if group_topics(changed, own) != group_topics(edits, own):  # it may have been pressed twice
        _write_edits(job, view.own, changed)
    st.session_state[_CHANGED] = True
    TOPIC.choose(then)


@contain_failure("part of the page")
def show_tree(job: Job, view: TopicView) -> None:
    """Draw the tree of the topics; a click on a join shows so many topics."""
    groups = group_topics(read_edits(job, view.own), len(view.own.names[TOPICS]))
    if len(groups) < _LEAST:
        st.caption("Fewer than three topics need no tree.")
        return
    key, level = answer_key(job, view.own), _level_key(job, len(groups))
    if st.session_state.get(level, view.n_topics) != view.n_topics:
        st.rerun()  # the whole page, after a click in this part of it
    tree, names = find_tree(key, groups, view.own), _arrange(key, groups, view.own).names[TOPICS]

    def choose(number: int) -> None:
        set_choice(level, number)

    st.caption(
        "The further right two topics are joined, the less alike their words. Click on a join to show fewer."
    )
    figure = topic_tree_figure(tree.steps, tree.order, names, view.n_topics, narrow=is_narrow())
    show_clickable_figure(
        figure, f"topic_tree_{view.run}_{len(groups)}_{view.n_topics}",
        "A tree of the topics by the words they share.", choose, len(groups),
    )  # fmt: skip
