"""A run as a card: how it stands, how fast it is, and what can be done with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import streamlit as st

from acvb_core.engine.job import Inspection, Job, Status
from acvb_core.engine.snapshot import Snapshot, Verdict
from acvb_core.views.theme import method_style
from pages.ui import format as say
from pages.ui import streams
from pages.ui.models import face_of
from pages.ui.workspace import Workspace

# On and off lengths in pixels, after the dash styles of the figures.
_DASHES: dict[str, tuple[int, ...]] = {
    "solid": (26, 0),
    "dash": (7, 3),
    "dot": (2, 3),
    "dashdot": (8, 3, 3, 3),
    "longdash": (11, 4),
    "longdashdot": (11, 3, 3, 3),
}

# Letters of a name that has room beside a badge in the narrowest card.
_LONGEST = 10


def cards(workspace: Workspace, jobs: Sequence[Job], seen: Mapping[str, Inspection]) -> None:
    """Draw a card for each job, as many side by side as there is room for."""
    names = say.run_names(jobs)
    # Beside the method such a name would push the badge to another line: it has a line of its own, in every card.
    long = any(name.way for name in names.values())
    shown = {job.id: names[job.id].method if long else names[job.id].text for job in jobs}
    # Such names would push the badges of some narrow cards to another line, and not those of others.
    head = "long_head" if any(len(label) > _LONGEST for label in shown.values()) else "head"
    with st.container(key="run_cards"):
        for job in jobs:
            with st.container(border=True, gap="small", key=f"card_{job.id}", height="stretch"):
                name = names[job.id]
                below = _second_line(job, name) if long else None
                _card(workspace, job, seen[job.id], shown[job.id], below, f"{head}_{job.id}")


def _second_line(job: Job, name: say.RunName) -> str:
    """Return how many clusterings a run makes of a network, and what else its name has; else a blank, for its room."""
    way = name.way or ("one clustering" if job.problem.settings.model == "network" else "")
    return " · ".join(part for part in (way, name.number) if part) or "\u00a0"


def _card(workspace: Workspace, job: Job, seen: Inspection, label: str, below: str | None, head: str) -> None:
    state = say.state_of(job, seen)
    with st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", key=head
    ):
        st.html(f"<span class='run-name'>{_swatch(job.problem.row.name)}{label}</span>", width="content")
        st.badge(state.text, icon=state.icon, color=state.colour, help=state.meaning)
    if below is not None:
        st.html(f"<div class='run-below'>{below}</div>")
    if job.problem.settings.start:
        st.text(f"went on from {job.problem.settings.start}")
    done = 0 if seen.snapshot is None else seen.snapshot.sweep
    if seen.status.active:
        st.progress(min(done / seen.max_sweeps, 1.0), text=_under_way(seen, done))
    else:
        st.progress(1.0, text=_over(seen, done))
    if seen.error is not None:
        st.text(seen.error)
    st.html(_facts(_figures(job, seen)))
    _buttons(workspace, job, seen)


def _under_way(seen: Inspection, done: int) -> str:
    """Return how far a run is: of a stream in epochs, of which a window is a small part."""
    if seen.problem.row.streams:
        return streams.under_way(seen)
    return f"{done:,} of at most {seen.max_sweeps:,} sweeps"


def _over(seen: Inspection, done: int) -> str:
    return streams.over(seen) if seen.problem.row.streams else f"{say.count(done, 'sweep')} done"


def _figures(job: Job, seen: Inspection) -> list[tuple[str, str]]:
    snapshot, face = seen.snapshot, face_of(job)
    parts = face.parts[1].capitalize()
    if snapshot is None:
        return [(parts, "–"), ("Speed", "–"), ("CPU time", "–"), ("Time left", "–")]
    figures = [
        (parts, face.sizes(snapshot.effective_k)),
        ("Speed", streams.speed(seen) if job.problem.row.streams else say.rate(seen.sweeps_per_second)),
        ("CPU time", say.duration(snapshot.cpu_seconds)),
    ]
    if seen.status.active:
        left = "–" if seen.seconds_left is None else f"≤ {say.duration(seen.seconds_left)}"
        return [*figures, ("Time left", left)]
    if snapshot.heldout is not None:
        return [*figures, (face.score[0], face.score_text(snapshot.heldout))]
    if job.problem.row.streams:  # it has no bound
        loo = snapshot.extras.get("loo_perplexity")
        return [*figures, ("LOO perplexity", "–" if loo is None else f"{loo:,.0f}")]
    return [*figures, _bound(snapshot, job.problem.bound_unit)]


def _bound(snapshot: Snapshot, unit: float | None) -> tuple[str, str]:
    """Return the lower bound as the curve has it: in all, or for each object."""
    name, bound = "Lower bound" if unit is None else "Bound per object", snapshot.lower_bound
    if bound is None:
        return name, "–"
    return name, f"{bound:,.0f}" if unit is None else f"{bound / unit:,.3f}"


def _facts(figures: Sequence[tuple[str, str]]) -> str:
    """Return figures as a small table; they are the program's own words and numbers, so nothing needs escaping."""
    cells = "".join(f"<div><span>{name}</span>{value}</div>" for name, value in figures)
    return f"<div class='run-facts'>{cells}</div>"


def _swatch(method: str) -> str:
    """Return a short piece of the method's line, as it looks in the figures."""
    style = method_style(method)
    stops, at = [], 0
    lengths = _DASHES.get(style.dash) or tuple(int(part.removesuffix("px")) for part in style.dash.split(","))
    for number, length in enumerate(lengths):
        colour = style.colour if number % 2 == 0 else "transparent"
        stops.append(f"{colour} {at}px {at + length}px")
        at += length
    pattern = f"repeating-linear-gradient(90deg, {', '.join(stops)})"
    return f"<span class='run-line' style='background: {pattern}'></span>"


def _buttons(workspace: Workspace, job: Job, seen: Inspection) -> None:
    """Draw what can be done with a run; three places, so that nothing moves when its state changes."""
    active, paused = seen.status.active, seen.status is Status.PAUSED
    with st.container(horizontal=True, gap="small"):
        if not active:
            more = job.problem.max_sweeps
            _icon(
                f"extend_{job.id}",
                ":material/more_time:",
                _go_on(job, more) if job.can_extend else _why_not(seen),
                job.extend,
                more,
                disabled=not job.can_extend,
            )
        elif paused:
            _icon(f"resume_{job.id}", ":material/play_arrow:", "Resume", job.resume)
        else:
            _icon(f"pause_{job.id}", ":material/pause:", "Pause", job.pause)
        _icon(f"stop_{job.id}", ":material/stop:", "Stop and keep what it has", job.stop, disabled=not active)
        _icon(f"remove_{job.id}", ":material/delete:", "Remove this run", workspace.remove, job)


def _go_on(job: Job, more: int) -> str:
    if job.problem.row.streams:
        return streams.more(job.problem, more)
    return f"Go on for up to {more:,} more sweeps"


def _why_not(seen: Inspection) -> str:
    if seen.verdict in (Verdict.MAX_SWEEPS, Verdict.STOPPED):
        if seen.problem.row.streams:
            return "Kept from an earlier session: start a new run from its topics (Start from, below the methods)"
        return "Kept from an earlier session: start it again with the same seed and more sweeps"
    return "Only a run that was stopped or reached its limit can go on"


def _icon(
    key: str, icon: str, text: str, action: Callable[..., object], *arguments: object, disabled: bool = False
) -> None:
    st.button(
        "\u200b",
        icon=icon,
        help=text,
        key=key,
        on_click=_quietly,
        args=(action, *arguments),
        disabled=disabled,
        type="tertiary",
    )


def _quietly(action: Callable[..., object], *arguments: object) -> None:
    """Do what a button says; a run that ended since the button was drawn refuses, and its card now says why."""
    with suppress(ValueError):
        action(*arguments)
