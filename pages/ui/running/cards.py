"""A run as a card: how it stands, how fast it is, and what can be done with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import streamlit as st

from acvb_core.core.display import write_number
from acvb_core.engine.background import Status
from acvb_core.engine.job import Job, JobSnapshot
from acvb_core.engine.prepared import depends_on_seed
from acvb_core.engine.snapshot import ELSEWHERE, MOTION, SweepRecord, Verdict
from acvb_core.registry import model_for
from acvb_core.views.dark import css_colour
from acvb_core.views.theme import method_style
from pages.ui.running import streams
from pages.ui.shared import format as say
from pages.ui.shared.absent import once, try_action
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.model_pages import pages_of_run
from pages.ui.shared.picking import open_run, read_answer
from pages.ui.shared.words import CHAIN_HELP
from pages.ui.shared.workspace import Workspace

# On and off lengths in pixels, after the dash styles of the figures.
_DASHES: dict[str, tuple[int, ...]] = {
    "solid": (26, 0),
    "dash": (7, 3),
    "dot": (2, 3),
    "dashdot": (8, 3, 3, 3),
    "longdash": (11, 4),
    "longdashdot": (11, 3, 3, 3),
}

#: Changes that the tolerance is compared with, while a run goes on and when it has converged.
_WATCHED = {"lower_bound": "bound moves by", "pseudo_loo": "score moves by"}
_JUDGES = {
    "lower_bound": "lower bound",
    "pseudo_loo": "leave-one-out score",
    "mean_change": "change of the mean",
}
_CONTINUE = "Continue from where it was last saved"
_NO_START = "It started from trained topics that an older version did not save. Start a new run from them"

# Letters of a name that has room beside a badge in the narrowest card.
_LONGEST = 10


def show_cards(workspace: Workspace, jobs: Sequence[Job], seen: Mapping[str, JobSnapshot]) -> None:
    """Draw a card for each job, as many side by side as there is room for; each data set has a heading."""
    data = say.name_datasets(jobs)
    several_ways = any(job.prepared.spec.model != model_for(job.prepared.data).name for job in jobs)
    # Such names would push the badges of some narrow cards to another line, and not those of others.
    long = any(len(job.label.name.partition(" · ")[0]) > _LONGEST for job in jobs)
    head, unsaved = "long_head" if long else "head", workspace.runs.unsaved_runs(workspace.key)
    with st.container(key="run_cards"):
        for fingerprint, some in group_by_data(jobs).items():
            if len(data) > 1:
                with st.container(key=f"cards_of_{fingerprint[:12]}"):
                    st.subheader(data[fingerprint], anchor=False)
            for job in some:
                with st.container(border=True, gap="small", key=f"card_{job.id}", height="stretch"):
                    with contain_failure("card"):
                        way = pages_of_run(job).short_way if several_ways else ""
                        _show_card(job, seen[job.id], way, head)
                        if job.id in unsaved and not seen[job.id].status.active:
                            _show_unsaved(workspace, job, unsaved[job.id])
                    st.space("stretch")  # the buttons stand at the lower end, whatever a card has to say
                    with contain_failure("row of buttons"):
                        _show_buttons(workspace, job, seen[job.id])


def group_by_data(jobs: Sequence[Job]) -> dict[str, list[Job]]:
    """Return jobs by the fingerprint of their data, in the order in which the data come first."""
    groups: dict[str, list[Job]] = {}
    for job in jobs:
        groups.setdefault(job.outline.fingerprint, []).append(job)
    return groups


def _show_card(job: Job, seen: JobSnapshot, way: str, head: str) -> None:
    """Draw a run: the first part of its name beside its badge, the rest below, and its figures."""
    state = say.describe_state(seen.outline)
    first, _, rest = job.label.name.partition(" · ")
    with st.container(
        horizontal=True,
        horizontal_alignment="distribute",
        vertical_alignment="center",
        key=f"{head}_{job.id}",
    ):
        line = _render_line(job.prepared.row.name)
        st.html(f"<span class='run-name'>{line}{first}</span>", width="content")
        st.badge(state.text, icon=state.icon, color=state.colour, help=state.meaning)
    below = " · ".join(part for part in (way, rest) if part) or "\u00a0"
    st.html(f"<div class='run-below'>{below}</div>")
    if job.prepared.spec.start:
        st.text(f"continued from {job.prepared.spec.start}")
    done = 0 if seen.snapshot is None else seen.snapshot.sweep
    st.progress(
        seen.done,
        text=_describe_progress(job, seen, done) if seen.status.active else _describe_end(seen, done),
    )
    if seen.error is not None:
        st.text(seen.error)
    if seen.verdict is not None and (reason := seen.reason):
        st.caption(f"Rule: {_JUDGES[job.prepared.row.monitored or '']}", help=reason)
    st.html(_render_figures(_list_figures(job, seen)))
    if seen.verdict is not None:
        _show_chain(job)


def _show_chain(job: Job) -> None:
    """Draw what the samples of a run that has ended are worth; nothing for a run without samples."""
    result = read_answer(job)
    if result is None or (chain := result.chain) is None:
        return
    help = f"{chain.describe()} {CHAIN_HELP}"
    if chain.has_mixed is False:
        st.badge("chain has not mixed", icon=":material/warning:", color="orange", help=help)
    else:
        independent = f", {chain.effective_size:,.0f} independent" if chain.has_mixed else ""
        st.caption(f"{say.count(chain.n_samples, 'sample')}{independent}", help=help)


def _show_unsaved(workspace: Workspace, job: Job, why: str) -> None:
    with st.container(gap="xsmall", key=f"unsaved_{job.id}"):
        st.badge(
            "not saved", icon=":material/error:", color="red",
            help="It is gone when the app ends. Until then you can look at it and download it.",
        )  # fmt: skip
        st.text(why)
        st.button(
            "Save again", icon=":material/save:", key=f"save_{job.id}", on_click=try_action,
            args=(workspace.runs.save_again, workspace.key, job.id),
        )  # fmt: skip


def _describe_progress(job: Job, seen: JobSnapshot, done: int) -> str:
    """Return how far a run is: of a stream in epochs, of which a window is a small part."""
    if seen.status is Status.QUEUED:
        return say.describe_wait(job)
    if seen.prepared.row.streams:
        return streams.describe_progress(seen)
    change, goal = seen.watched_change, seen.prepared.spec.values.get("tol")
    if seen.status is Status.COMPILING:
        return "Compiling: takes seconds, only once"
    if seen.status is Status.STARTING:
        return "Finding a start"
    if change is None or goal is None:
        return f"{done:,} of {seen.max_sweeps:,} sweeps"
    watched = _WATCHED.get(seen.prepared.row.monitored or "", "change")
    return f"{say.count(done, 'sweep')}, {watched} {change:.1g} (goal {goal:g})"


def _describe_end(seen: JobSnapshot, done: int) -> str:
    text = streams.describe_end(seen) if seen.prepared.row.streams else f"{say.count(done, 'sweep')} done"
    still = None if seen.snapshot is None else seen.snapshot.has_settled
    if still is not None:
        text = f"{text}, {MOTION[still]}"
    random = depends_on_seed(seen.prepared.spec, seen.prepared.row)
    return f"{text}; {ELSEWHERE}" if random and seen.verdict is Verdict.CONVERGED else text


def _list_figures(job: Job, seen: JobSnapshot) -> list[tuple[str, str]]:
    snapshot, pages = seen.snapshot, pages_of_run(job)
    parts = pages.parts[1].capitalize()
    if snapshot is None:
        return [(parts, "–"), ("Speed", "–"), ("CPU time", "–"), ("Time left", "–")]
    figures = [
        (parts, pages.write_sizes(snapshot.effective_k)),
        (
            "Speed",
            streams.describe_speed(seen) if job.prepared.row.streams else say.rate(seen.sweeps_per_second),
        ),
        ("CPU time", say.duration(snapshot.cpu_seconds)),
    ]
    if seen.status.active:
        return [*figures, ("Time left", _write_time_left(seen))]
    if snapshot.heldout is not None:
        return [*figures, *pages.list_scores(snapshot.heldout)]
    if job.prepared.row.streams:  # it has no bound
        loo = snapshot.extras.get("loo_perplexity")
        return [*figures, ("Leave-one-out perplexity", "–" if loo is None else write_number(loo))]
    return [*figures, _write_bound(snapshot, job.prepared.bound_unit)]


def _write_time_left(seen: JobSnapshot) -> str:
    """Return about how long a run will take; the longest that it may take is said to who points at it."""
    about, most = seen.expected_seconds_left, seen.seconds_left
    if most is None:
        return "–"
    text = "–" if about is None else say.rough_duration(about)
    return f"<time title='Estimated from the last sweeps. At most {say.duration(most)}.'>{text}</time>"


def _write_bound(snapshot: SweepRecord, unit: float | None) -> tuple[str, str]:
    """Return the lower bound as the curve has it: in all, or for each object."""
    name, bound = "Lower bound" if unit is None else "Bound per object", snapshot.lower_bound
    if bound is None:
        return name, "–"
    return name, write_number(bound / (unit or 1.0))


def _render_figures(figures: Sequence[tuple[str, str]]) -> str:
    """Return figures as a small table; they are the program's own words and numbers, so nothing needs escaping."""
    cells = "".join(f"<div><span>{name}</span>{value}</div>" for name, value in figures)
    return f"<div class='run-facts'>{cells}</div>"


def _render_line(method: str) -> str:
    """Return a short piece of the method's line, as it looks in the figures."""
    style = method_style(method)
    stops, at = [], 0
    lengths = _DASHES.get(style.dash) or tuple(int(part.removesuffix("px")) for part in style.dash.split(","))
    for number, length in enumerate(lengths):
        colour = css_colour(style.colour) if number % 2 == 0 else "transparent"
        stops.append(f"{colour} {at}px {at + length}px")
        at += length
    pattern = f"repeating-linear-gradient(90deg, {', '.join(stops)})"
    return f"<span class='run-line' style='background: {pattern}'></span>"


def _show_buttons(workspace: Workspace, job: Job, seen: JobSnapshot) -> None:
    """Draw what can be done with a run: stop it, look at it and go on, delete it, in three places that never move."""
    active, paused, name, more = (
        seen.status.active,
        seen.status is Status.PAUSED,
        job.label.name,
        job.prepared.max_sweeps,
    )
    beside = partial(st.container, horizontal=True, gap="small", width="content")
    with st.container(horizontal=True, horizontal_alignment="distribute", key=f"icons_{job.id}"):
        if workspace.view_only:
            _show_open_button(job, seen)
            return
        with beside():
            if paused:
                _show_icon_button(f"resume_{job.id}", "play_arrow", f"Resume {name}", "Resume", job.resume)
            elif seen.status is Status.INTERRUPTED:
                help = _CONTINUE if job.can_continue else _NO_START
                _show_icon_button(
                    f"continue_{job.id}", "play_arrow", f"Continue {name}", help, job.continue_run,
                    disabled=not job.can_continue,
                )  # fmt: skip
            else:
                _show_icon_button(
                    f"pause_{job.id}", "pause", f"Pause {name}", "Pause", job.pause, disabled=not active
                )
            _show_icon_button(
                f"stop_{job.id}", "stop", f"Stop {name}", "Stop and keep what it has", job.stop,
                disabled=not active,
            )  # fmt: skip
        with beside():
            _show_open_button(job, seen)
            help = _describe_extension(job, more) if job.can_extend else _explain_end(seen)
            _show_icon_button(
                f"extend_{job.id}", "more_time", f"Go on with {name}", help, job.extend, more,
                disabled=not job.can_extend,
            )  # fmt: skip
        help = "Stop and delete; you can undo it" if active else "Delete; you can undo it"
        _show_icon_button(
            f"remove_{job.id}", "delete", f"Delete {name}", help, workspace.runs.remove, workspace.key, job.id
        )


def _show_open_button(job: Job, seen: JobSnapshot) -> None:
    pages = pages_of_run(job)
    if st.button(
        f"Open {job.label.name}",
        icon=pages.answer_icon,
        help=f"{pages.answer.link_label} of this run",
        key=f"open_{job.id}",
        disabled=seen.snapshot is None or not seen.snapshot.sweep,
        type="tertiary",
    ):
        open_run(job)


def _describe_extension(job: Job, more: int) -> str:
    if job.prepared.row.streams:
        return streams.describe_extension(job.prepared, more)
    return f"Go on for up to {more:,} more sweeps"


def _explain_end(seen: JobSnapshot) -> str:
    if seen.status.active or seen.status is Status.INTERRUPTED:
        return "A run can go on for longer once it has ended or was stopped"
    if seen.verdict in (Verdict.MAX_SWEEPS, Verdict.STOPPED):
        if seen.prepared.row.streams:
            return "From an earlier session, saved without what it needs to go on. Start a new run from its topics"
        return (
            "From an earlier session, saved without what it needs to go on. Start it again with more sweeps"
        )
    return "Only a run that was stopped or reached its limit can go on"


def _show_icon_button(
    key: str,
    icon: str,
    name: str,
    help: str,
    action: Callable[..., object],
    *arguments: object,
    disabled: bool = False,
) -> None:
    """Draw a button that shows an icon alone; its name is for those who do not see it (`style`)."""
    st.button(
        name, icon=f":material/{icon}:", help=help, key=key, on_click=once(try_action), args=(action, *arguments),
        disabled=disabled, type="tertiary",
    )  # fmt: skip
