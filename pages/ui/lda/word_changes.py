"""The words that a reader changes while reading topics, and the run that is started again with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from acvb_core.core.errors import AcvbError
from acvb_core.data.corpora.build import corpus_facts
from acvb_core.data.corpora.rewriting import WordChange
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.corpus import Corpus
from acvb_core.data.report import Fact, ReadReport
from acvb_core.engine.job import Job
from acvb_core.engine.prepared import rebuild_run
from acvb_core.evaluate.ranking import top_words
from acvb_core.models.lda.trained import trained_topics
from pages.ui.lda.topic_view import TopicView
from pages.ui.shared import format as say
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.picking import (
    choose_way,
    open_part_names,
    open_run,
    read_answer,
    set_choice,
    widget_of,
)
from pages.ui.shared.workspace import Workspace, current_workspace
from pages.ui.workspace.dataset import Dataset

#: Words of the chosen topic that can be picked from a list; others are typed.
_LISTED = 60
#: In the session: the run that was started again, by the run that was read.
_STARTED = "words_started"
_SAID = "words_said"
_VERBS = {"leave_out": "Leave out", "join": "Join as a phrase", "merge": "Count as one word"}
_CHANGED = " (words changed)"
_STARTS = {"topics": "These topics", "new": "New topics"}
_START_HELP = (
    "**These topics**: the run continues from the topics shown here, so that they and their names come back. **New "
    "topics**: it begins from scratch, and may find others."
)
_HELP = {
    "leave_out": "These words become stop words: they are dropped from every text.",
    "join": "Two words or more that follow each other in the texts become one word: new york.",
    "merge": "All of them are counted as the first: color for color, colour, colors.",
}


@contain_failure("part of the page")
def show_word_changes(job: Job, view: TopicView, topic: int) -> None:
    """Draw the choice of words, what is to become of them, and the button that runs again with these changes."""
    workspace, data = current_workspace(), view.data
    if not isinstance(data, Corpus) or data.texts is None or data.tokeniser is None:
        st.info(
            "The texts of these data are not kept here, only the counts of their words. So words cannot be changed "
            "and counted again. Load the file again, in memory and with other words left out, on the Data page.",
            icon=":material/info:",
        )
        return
    if not data.tokeniser.cuts_texts:
        st.info(
            "These texts were cut by a function of your own, which the app does not have.",
            icon=":material/info:",
        )
        return
    if workspace.view_only:
        st.caption("This link only shows the workspace, so words cannot be changed.")
        return
    st.caption(
        "Common words without a meaning, phrases torn apart and two spellings of one word make topics harder to read. "
        "Collect such words here, then run again: the texts are cut again, and topics with the same words keep the "
        "names that you gave them."
    )
    changes: list[WordChange] = st.session_state.setdefault(_list_key(view), [])
    picked = _pick_words(view, topic)
    with st.container(horizontal=True, gap="small", key="word_actions"):
        for kind, verb in _VERBS.items():
            few = len(picked) < (1 if kind == "leave_out" else 2)
            st.button(
                verb, key=f"words_{kind}", disabled=few, help=_HELP[kind], on_click=_collect,
                args=(view, data, kind, widget_of(_picked_key(view))),
            )  # fmt: skip
    if said := st.session_state.pop(_SAID, ""):
        st.text(said)
    _list_changes(changes)
    _show_start(workspace, job, data, changes)


def _list_key(view: TopicView) -> str:
    return f"word_changes_{view.run}"


def _picked_key(view: TopicView) -> str:
    return f"words_picked_{view.run}"


def _pick_words(view: TopicView, topic: int) -> list[str]:
    """Draw the field that takes words of the chosen topic, and any other word that is typed."""
    best = top_words(view.topics.word_probability[topic - 1], _LISTED)
    listed, key = view.corpus.vocabulary[best].tolist(), widget_of(_picked_key(view))
    chosen = list(st.session_state.get(key) or [])
    return st.multiselect(
        f"Words of topic {topic}, or any other word of the texts",
        list(dict.fromkeys([*chosen, *listed])),
        key=key,
        accept_new_options=True,
        placeholder="Choose or type words",
        help="The order counts for a phrase, and the first word gives its spelling to words that are counted as one.",
    )


def _collect(view: TopicView, data: Corpus, kind: Any, key: str) -> None:
    """Add a change to the list, from a callback, of the words in a field; say why it cannot be made."""
    picked = st.session_state.get(key, ())
    words = tuple(dict.fromkeys(" ".join(word.lower().split()) if _lowers(data) else word for word in picked))
    if unknown := [word for word in words if word not in view.index]:
        st.session_state[_SAID] = f"No text has the word {unknown[0]}, or it was dropped already."
        return
    tokeniser = data.tokeniser
    assert tokeniser is not None
    found = [word for word in words if kind == "leave_out" and " " in word and word not in tokeniser.phrases]
    if found:
        st.session_state[_SAID] = (
            f"{found[0]} is counted because runs of neighbouring words are. Leave out one of its words instead."
        )
        return
    if kind == "join":
        times = {order: count_phrase(data, tokeniser, order) for order in (words, words[::-1])}
        words = max(times, key=times.__getitem__)
        if not times[words]:
            st.session_state[_SAID] = f"{' '.join(words)} occurs in no text, so it cannot be a phrase."
            return
        st.session_state[_SAID] = f"{' '.join(words)} occurs {say.count(times[words], 'time')}."
    elif kind == "merge" and len(words) < 2:
        return
    changes, change = st.session_state[_list_key(view)], WordChange(kind, words)
    if words and change not in changes:  # it may have been pressed twice
        changes.append(change)
    set_choice(_picked_key(view), [])


def _lowers(data: Corpus) -> bool:
    return data.tokeniser is not None and data.tokeniser.lowercase


def count_phrase(data: Corpus, tokeniser: Tokeniser, words: Sequence[str]) -> int:
    """Return how often some words follow each other in the texts."""
    phrase = " ".join(words)
    cut = tokeniser.without_limits().with_changes([WordChange("join", tuple(words))])
    counts, vocabulary, _ = cut.select(data.texts or ())
    found = vocabulary.tolist()
    return int(counts[:, [found.index(phrase)]].sum()) if phrase in found else 0


def describe_change(change: WordChange) -> str:
    """Return a change in words: "leave out: said, says"."""
    if change.kind == "join":
        return f"one phrase: {' '.join(change.words)}"
    if change.kind == "merge":
        return f"counted as {change.words[0]}: {', '.join(change.words[1:])}"
    return f"leave out: {', '.join(change.words)}"


def _list_changes(changes: list[WordChange]) -> None:
    """Draw the changes that were collected, each with a button that takes it back."""
    for at, change in enumerate(changes):
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"word_change_{at}"):
            st.button(
                "Take back",
                icon=":material/undo:",
                # Of the change, not of its place, which another one may have when it is pressed again.
                key=f"words_undo_{'_'.join((change.kind, *change.words))}",
                on_click=_take_back,
                args=(changes, change),
            )
            st.text(describe_change(change), width="content")  # it quotes words of the user


def _take_back(changes: list[WordChange], change: WordChange) -> None:
    if change in changes:
        changes.remove(change)


def _show_start(workspace: Workspace, job: Job, data: Corpus, changes: list[WordChange]) -> None:
    """Draw the button that runs again, and how far the run that it started last is."""
    started = st.session_state.get(_STARTED, {}).get(job.id)
    again = next((one for one in workspace.jobs if one.id == started), None)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="words_start"):
        start = (
            can_continue(job)
            and choose_way("Begin with", _STARTS, "words_from", help=_START_HELP) == "topics"
        )
        help = "The same method, settings and seed, on the same texts with these changes. This run stays as it is."
        pressed = st.button(
            f"Run again with {say.count(len(changes), 'change')}" if changes else "Run again with these",
            type="primary", icon=":material/play_arrow:", key="words_again", disabled=not changes, help=help,
        )  # fmt: skip
        if again is not None and not again.outline.has_answer:
            st.caption("The run with the changed words is under way.", width="content")
        elif again is not None and st.button("See its topics", icon=":material/topic:", key="words_see"):
            open_run(again)
    if pressed:
        try:
            with st.spinner("Cutting the texts again"):
                new = run_again(workspace, job, data, changes, continues=start)
        except AcvbError as error:
            st.text(str(error))
            return
        st.session_state[_STARTED] = {**st.session_state.get(_STARTED, {}), job.id: new.id}
        changes.clear()
        st.rerun()


def can_continue(job: Job) -> bool:
    """Return whether a run's method can begin with its topics on other words; a stream would take all words again."""
    row = job.outline.row
    return row.build_from is not None and not row.streams


def run_again(
    workspace: Workspace, job: Job, data: Corpus, changes: Sequence[WordChange], *, continues: bool = False
) -> Job:
    """Start a run again on texts that are cut with some changes; its data are in use from then on.

    Topics with the same words keep the names that the user gave them. With `continues`, the run begins with the topics
    of the one before.
    """
    assert data.tokeniser is not None
    tokeniser = data.tokeniser.with_changes(changes)
    corpus = data.recut(tokeniser)
    corpus = replace(corpus, name=data.name.removesuffix(_CHANGED) + _CHANGED)
    settings = job.outline.asked
    fact = Fact(
        "words_changed", len(changes), f"Words were changed: {'; '.join(map(describe_change, changes))}."
    )
    whole = settings.heldout_documents > 0
    share = settings.heldout_documents if whole else settings.heldout
    before = workspace.dataset
    known = before.report if before is not None and before.data.fingerprint == data.fingerprint else None
    # Without its tokeniser: the data have another one now.
    options = (
        {} if known is None else {name: value for name, value in known.options.items() if name != "tokeniser"}
    )
    source = corpus.name if known is None else known.source
    report = ReadReport(source, (fact, *corpus_facts(corpus)), options)
    result = read_answer(job) if continues and can_continue(job) else None
    start = None if result is None else trained_topics(result)
    changed = settings.to_dict() | {"start": "", "of": ""}
    if start is not None:
        changed |= {"start": start.label, "values": {**settings.values, **start.implied}, "restarts": 1}
    prepared = rebuild_run(corpus, changed, start)
    workspace.require_room()
    workspace.set_dataset(Dataset(corpus, report, corpus.name, share, settings.heldout_seed, whole))
    new = workspace.add(prepared)
    open_part_names().take_entries(new.id, move_names(open_part_names().entries(job.id), data, corpus))
    return new


def move_names(entries: Sequence[dict[str, Any]], old: Corpus, new: Corpus) -> list[dict[str, Any]]:
    """Return names of topics with the numbers that their words have in another vocabulary."""
    assert new.tokeniser is not None
    count_as, place = new.tokeniser.rewriting.count_as, {word: at for at, word in enumerate(new.vocabulary)}
    moved = []
    for entry in entries:
        words = (count_as(str(old.vocabulary[mark])) for mark in entry["marks"] if mark < old.n_words)
        moved.append(entry | {"marks": list(dict.fromkeys(place[word] for word in words if word in place))})
    return moved
