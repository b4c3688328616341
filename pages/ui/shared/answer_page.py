"""Answers of runs: the conclusion about them, how they depend on the seed, and the beginning of an answer's page."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count, islice
from pathlib import PurePath
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from acvb_core.core.errors import AcvbError
from acvb_core.engine.history import MOTION, Verdict
from acvb_core.engine.job import Job
from acvb_core.engine.prepared import depends_on_seed, rebuild_run
from acvb_core.engine.result import Result
from acvb_core.views.comparison_table import fold_runs
from acvb_core.views.conclusion import describe_runs
from acvb_core.views.theme import isolate
from pages.ui.shared import format as say
from pages.ui.shared.empty import show_empty_answer
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.model_pages import AnswerPage, pages_of_run
from pages.ui.shared.picking import (
    FOLLOW_SECONDS,
    Key,
    answer_key,
    choose_run,
    choose_way,
    read_answer,
    set_choice,
)
from pages.ui.shared.refresh import refresh
from pages.ui.shared.workspace import Workspace, current_workspace
from pages.ui.workspace.entrance import name_choice, take_choice

_HELP = (
    "A **cluster** is a group of objects that link alike. "
    "**ARI** (adjusted Rand index): how alike two clusterings are; 1: the same, 0: as by chance. With more "
    "than two runs it is the mean over all pairs. Runs *agree well* from 0.8, or if every run finds 80 % of the topics "
    "or features of the run that predicts best (on the page of a run: of this run); *in part* from 0.4. Scores are "
    "*level* within a hundredth of the best. Bounds are compared between runs that differ in the seed alone."
)


class ComparedRuns(NamedTuple):
    """The runs that the Compare page shows, in the same order in every field."""

    keys: tuple[Key, ...]
    jobs: list[Job]
    results: list[Result]
    labels: list[str]

    @classmethod
    def gather(cls, jobs: Sequence[Job]) -> ComparedRuns:
        """Return those of some runs that have an answer, each with that part of its name which is its own."""
        _, names = say.shorten_names(jobs)
        answers = [(job, result) for job in jobs if (result := read_answer(job)) is not None]
        return cls(
            tuple(answer_key(job, result) for job, result in answers),
            [job for job, _ in answers],
            [result for _, result in answers],
            [names[job.id] for job, _ in answers],
        )

    def fold(self) -> ComparedRuns:
        """Return the runs with each answer once: of runs with the same one the first, under a name that counts them."""
        groups = _fold_runs(self.keys, self.results)
        labels = [self.labels[place] for place, *_ in groups]
        for at, group in enumerate(groups):
            if len(group) > 1:
                labels[at] += f" ({len(group)} runs with the same answer)"
        first = [place for place, *_ in groups]
        keys = tuple(self.keys[at] for at in first)
        return ComparedRuns(keys, [self.jobs[at] for at in first], [self.results[at] for at in first], labels)


@st.cache_resource(show_spinner=False, max_entries=16)
def _fold_runs(keys: tuple[Key, ...], _results: Sequence[Result]) -> list[list[int]]:
    return fold_runs(_results)


@contain_failure("part of the page")
def show_conclusion(
    runs: ComparedRuns, key: str = "conclusion", reference: int | None = None, *, border: bool = True
) -> None:
    """Draw the summary of runs that have ended, in plain sentences; nothing if no sentence is true of them all."""
    text = conclude(runs.keys, tuple(runs.labels), reference, runs.results)
    if text:
        with st.container(border=border, key=key):
            st.text(text, help=_HELP)  # it quotes the names of runs


@st.cache_resource(show_spinner=False, max_entries=32)
def conclude(
    keys: tuple[Key, ...], labels: tuple[str, ...], reference: int | None, _results: Sequence[Result]
) -> str:
    """Return the conclusion about some runs."""
    return describe_runs(_results, labels, reference)


def choose_pair(key: str, labels: Sequence[str]) -> tuple[int, int]:
    """Draw two select boxes and return the positions of the two runs chosen in them."""
    order = list(range(len(labels)))
    with st.container(horizontal=True, gap="medium", key=key):
        one, other = (
            st.selectbox(
                label, order, index=index, format_func=labels.__getitem__, key=f"{key}_{end}", width=300
            )
            for index, (label, end) in enumerate((("From", "one"), ("To", "other")))
        )
        return one, other


def describe_pairs(part: str, pairs: Any, alike: int, runs: tuple[str, str]) -> tuple[str, str]:
    """Return how many pairs of parts of two runs are alike, and which parts have no partner."""
    unmatched = zip((pairs.unmatched_one, pairs.unmatched_other), runs, strict=True)
    lone = [f"{len(parts)} of {run}" for parts, run in unmatched if len(parts)]
    matched = f"{alike} of {say.count(len(pairs.one), 'pair')} are the same {part}."
    without = f" Without a partner: {' and '.join(lone)}." if lone else ""
    return "All matched." if alike == len(pairs.one) else matched, without


#: Seeds that one press of the button adds.
MORE_SEEDS = 3


def list_seeds(workspace: Workspace, job: Job) -> list[Job]:
    """Return the runs that differ from one in the seed alone, oldest first: itself too, and none that failed."""
    fingerprint, settings = job.outline.fingerprint, replace(job.outline.asked, seed=0)
    return [
        other
        for other in workspace.jobs
        if other.outline.error is None
        and other.outline.fingerprint == fingerprint
        and replace(other.outline.asked, seed=0) == settings
    ]


def select_seeds(workspace: Workspace, job: Job, most: int) -> list[Job]:
    """Return a run, then the newest ended ones of other seeds: each seed once, none diverged, `most` in all."""
    runs = {job.outline.asked.seed: job}
    for other in reversed(list_seeds(workspace, job)):
        if len(runs) < most and other.outline.verdict not in (None, Verdict.DIVERGED):
            runs.setdefault(other.outline.asked.seed, other)
    return list(runs.values())


def show_more_seeds(workspace: Workspace, job: Job, key: str) -> None:
    """Draw the button that starts a run again with the next seeds, and how many such runs are under way."""
    alike = list_seeds(workspace, job)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"{key}_row"):
        settings, prepared = job.outline.spec, job.prepared
        known = prepared.start is not None or not settings.start
        if known and depends_on_seed(settings, prepared.row) and not workspace.view_only:
            seeds = _next_seeds(job, alike)
            help = (
                f"Starts this run again with the seeds {say.join_names(list(map(str, seeds)))}. Each seed starts "
                "elsewhere, so the runs show how much of the answer depends on the start."
            )
            if st.button(f"Run {MORE_SEEDS} more seeds", icon=":material/replay:", key=key, help=help):
                _start_seeds(workspace, job, seeds)
        under_way = sum(other.outline.status.active for other in alike if other.id != job.id)
        if under_way:
            st.caption(f"{say.count(under_way, 'run')} with other seeds under way.", width="content")


def _next_seeds(job: Job, alike: list[Job]) -> list[int]:
    """Return the next seeds that no run has; a race takes a seed for each restart, and no start is in two races."""
    asked = job.outline.asked
    taken = {other.outline.asked.seed for other in alike}
    free = (seed for seed in count(asked.seed + asked.restarts, asked.restarts) if seed not in taken)
    return list(islice(free, MORE_SEEDS))


def _start_seeds(workspace: Workspace, job: Job, seeds: list[int]) -> None:
    prepared, asked = job.prepared, job.outline.asked
    try:
        for seed in seeds:
            workspace.add(rebuild_run(prepared.data, replace(asked, seed=seed).to_dict(), prepared.start))
    except AcvbError as error:
        st.error("The runs could not be started.", icon=":material/error:")
        st.text(str(error))
    else:
        st.rerun()


#: Seeds that are summarised: each is read from the disk.
MOST_SEEDS = 8


def open_answer(
    page: AnswerPage, style: str = "", first: Mapping[str, Any] | None = None
) -> tuple[Job, Result]:
    """Draw the title and the choice of a run; return the run and its answer so far. Without runs, end the script."""
    workspace = current_workspace()
    if style:
        st.html(style)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="answer_head"):
        st.title(page.title, anchor=False, width="content")
        picker = st.container()
    # Parts of the page that are drawn alone are known by their places. Where a line comes in above one, a press in it
    # would be dropped; so what may be there or not has a container.
    with st.container():
        job, result, reason = choose_run(workspace, page, picker, show_empty_answer)
    with picker:
        follow_run(job, result, PurePath(page.path).stem)
    with st.container(border=True, gap="xsmall", key="verdict"):
        if reason:
            st.text(reason)  # it quotes the name of the data
        if result.snapshot.verdict is not None:
            show_conclusion(ComparedRuns.gather([job]), border=False)
            show_seeds(workspace, job)
    shown = f"{PurePath(page.path).stem}_shown"
    if st.session_state.get(shown) != job.id:
        st.session_state[shown] = job.id
        for key, value in (first or {}).items():
            set_choice(key, value)
    return job, result


def follow_run(job: Job, result: Result, page: str) -> None:
    """Draw the page at an address again while its run continues, unless that is switched off."""
    if not job.outline.status.active:
        return
    help = (
        "Shows the answer again every few seconds while the run computes. What you chose on the page stays."
    )
    if not st.toggle("Follow the run", True, key=f"{page}_follow", help=help, persist_state="session"):
        return
    shown, is_first = answer_key(job, result), iter([True])

    def watch() -> None:
        if next(is_first, False):
            return  # the page is being drawn: a fast run would not let it come to its end
        now = read_answer(job)
        if now is not None and answer_key(job, now) != shown:
            st.rerun()

    refresh(watch, FOLLOW_SECONDS, page)


@contain_failure("part of the page")
def show_seeds(workspace: Workspace, job: Job) -> None:
    """Draw how far runs that differ from one in the seed alone agree, and the button that starts more of them."""
    jobs = select_seeds(workspace, job, MOST_SEEDS)
    if len(jobs) > 1:
        show_conclusion(ComparedRuns.gather(jobs), key="seeds", reference=0, border=False)
    show_more_seeds(workspace, job, key="more_seeds")


def measure_seeds(workspace: Workspace, job: Job, result: Result) -> dict[str, pd.DataFrame]:
    """Return how far the parts of a run depend on its seed (`Combination.spread`), over repeats from other seeds."""
    others = ComparedRuns.gather(select_seeds(workspace, job, MOST_SEEDS)[1:])
    return _measure_seeds((answer_key(job, result), *others.keys), (result, *others.results))


@st.cache_resource(show_spinner="Comparing the seeds", max_entries=16)
def _measure_seeds(keys: tuple[Key, ...], _results: tuple[Result, ...]) -> dict[str, pd.DataFrame]:
    model: Any = _results[0].prepared.model
    others = [result.snapshot.posterior for result in _results[1:]]
    spread: dict[str, pd.DataFrame] = model.spread([_results[0].posterior, *others])
    return spread


def show_heading(job: Job, result: Result, parts: str) -> None:
    """Draw how a run stands and, in one line, its data, what it has found, and how far it is.

    The tab of the browser has the page, the data, the run and what it has found as its title.
    """
    seen, last, data = job.inspect(), result.snapshot, result.prepared.data
    page = pages_of_run(job).answer.title
    st.set_page_config(page_title=f"{page}: {data.name[:40]} - {job.label.name} - {parts}")
    state = say.describe_state(seen.outline)
    progress = say.epochs(last.passes) if result.prepared.row.streams else say.count(last.sweep, "sweep")
    facts = [isolate(data.name), data.size_text, parts, progress]
    still = None if seen.snapshot is None else seen.snapshot.has_settled
    if still is not None:
        facts.insert(0, MOTION[still])
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="heading"):
        help = f"{state.meaning} {seen.reason}".strip()
        st.badge(state.text, icon=state.icon, color=state.colour, help=help)
        st.text(" · ".join(facts), width="content")


#: Seconds between two sweeps that are played.
_PLAY_SECONDS = 0.6


@st.fragment
@contain_failure("part of the page")
def show_sweeps(result: Result, page: str, draw: Callable[[int, Mapping[str, Any], str], None]) -> None:
    """Draw the slider over the sweeps that were kept of a run, the button that plays them, and one of the sweeps.

    `page`: beginning of the keys.
    `draw`: draws the run after a sweep, from its number, its excerpt and a key for the figure.
    """
    excerpts = result.state.history.excerpts
    if not excerpts:
        st.caption("No sweep of this run was kept: it is from an earlier version of the program.")
        return
    sweeps, key, last = list(excerpts), f"{page}_sweep", f"{page}_sweep_last"
    if st.session_state.get(key) in (None, st.session_state.get(last)) or st.session_state[key] not in sweeps:
        st.session_state[key] = sweeps[-1]  # follows a run that continues, unless another sweep was chosen
    st.session_state[last] = sweeps[-1]
    is_played = False
    if len(sweeps) > 1:
        with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key=f"{page}_sweeps"):
            chosen = st.select_slider("Sweep", sweeps, key=key, width=420)
            is_played = st.button("Play", icon=":material/play_arrow:", key=f"{page}_play")
    else:
        chosen = sweeps[0]
    place = st.empty()
    for sweep in sweeps if is_played else []:
        with place.container():
            st.text(f"Sweep {sweep:,}")
            draw(sweep, excerpts[sweep], f"{page}_played_{sweep}")
        time.sleep(_PLAY_SECONDS)
    with place.container():
        draw(chosen, excerpts[chosen], f"{page}_then")


def show_parts(key: str, parts: Mapping[str, Callable[[], None]]) -> None:
    """Draw the choice of a part of the page, the first one at first, and that part; the others cost nothing."""
    names, texts = {name: name for name in parts}, {say.file_name(name): name for name in parts}
    known = take_choice("part", texts), st.session_state.get(key), next(iter(names))
    # Set in every drawing: the browser may not get the one that took the choice of the address.
    st.session_state[key] = next(name for name in known if name in names)
    chosen = choose_way("Part of the page", names, key, label_visibility="collapsed", default=None)
    name_choice("part", say.file_name(chosen), next(iter(texts)))
    with contain_failure("part of the page"):
        parts[chosen]()
