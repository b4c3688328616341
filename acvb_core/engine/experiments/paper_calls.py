"""The calls that made the runs of a paper's page: it may be put together from runs that several calls made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class PaperCall:
    """One call of the command that makes the runs of a paper."""

    command: str
    machine: str
    begun: str  #: date and time


@dataclass(frozen=True)
class CommandRuns:
    """The runs on a page that calls of one command made on one machine."""

    command: str  #: empty where it was not kept
    machine: str
    calls: int
    runs: int
    seconds: float  #: of processor time


_UNKNOWN = PaperCall("", "", "")


def count_runs(made: Iterable[tuple[PaperCall | None, float]]) -> list[CommandRuns]:
    """Return how many runs each command made, and in which time.

    `made`: of each run the call that made it, None where that was not kept, and its seconds.
    """
    groups: dict[tuple[str, str], list[tuple[PaperCall, float]]] = {}
    for known, seconds in made:
        call = known or _UNKNOWN
        groups.setdefault((call.command, call.machine), []).append((call, seconds))
    return [
        CommandRuns(
            command,
            machine,
            len({call.begun for call, _ in group}),
            len(group),
            sum(seconds for _, seconds in group),
        )
        for (command, machine), group in groups.items()
    ]


def write_origin(made: Iterable[CommandRuns]) -> str:
    """Return, as Markdown, which commands made the runs of a page."""
    commands = list(made)
    if not commands:
        return "No run was made."
    if len(commands) == 1 and commands[0].command and commands[0].calls == 1:
        (only,) = commands
        return f"Made by `{only.command}` on {only.machine}: {_count(only.runs, 'run')} in {_write_time(only.seconds)}."
    runs, seconds = sum(one.runs for one in commands), sum(one.seconds for one in commands)
    lines = [
        f"Put together from {_count(runs, 'run')} that several calls made and kept, in {_write_time(seconds)} "
        "together.",
        "",
        "<details><summary>These calls</summary>",
        "",
    ]
    for one in commands:
        what = f"{_count(one.runs, 'run')} in {one.seconds:,.0f} s"
        if one.command:
            lines.append(f"- {_count(one.calls, 'call')} of `{one.command}` on {one.machine}: {what}")
        else:
            lines.append(f"- a command that was not kept: {what}")
    return "\n".join([*lines, "", "</details>"])


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _write_time(seconds: float) -> str:
    return f"{seconds:,.0f} s of processor time"
