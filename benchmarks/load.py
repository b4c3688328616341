"""Serve many sessions while runs compute and others wait: time of a repaint, memory, answers to health checks, errors.

    python -m benchmarks.load --sessions 20 --running 4 --waiting 100 --minutes 10

The server is the app itself. The sessions speak its protocol over websockets, as browsers do: each opens the page Run
of a workspace, asks for the live parts as often as the page says, and draws the whole page anew now and then. The runs
belong to five workspaces, and those that compute do not end by themselves.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import statistics
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from benchmarks.harness import ask_health, make_parser, serve_app

_WORKSPACES = 5
#: Seconds between two drawings of the whole page in a session.
_WHOLE_EVERY = 30.0
#: Seconds after which a session that was not answered counts as an error.
_PATIENCE = 60.0
_FINISHED = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)


@dataclass
class Figures:
    """What all sessions measured, in seconds, and what went wrong."""

    openings: list[float] = field(default_factory=list)  #: first drawing of a page
    pages: list[float] = field(default_factory=list)  #: later drawings of a whole page
    parts: list[float] = field(default_factory=list)  #: drawings of a live part
    health: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)  #: MB of the server, every ten seconds
    errors: list[str] = field(default_factory=list)


def serve(workspaces: list[str], running: int, waiting: int, port: str) -> None:
    """Start the app in this process with runs of each workspace, and serve it until the process ends."""
    from streamlit.web import cli

    from acvb_core.engine.prepared import prepare_run
    from acvb_core.samples.catalogue import load_sample
    from pages.ui.shared import services

    relation = load_sample("debtag_games").data
    book = services.job_manager()
    owners = itertools.cycle(workspaces)
    endless = {"k_rows": 20, "k_cols": 20, "max_sweeps": 100_000}
    for seed in range(running + waiting):
        book.add(next(owners), prepare_run(relation, "gibbs", endless, heldout=0.1, seed=seed))
    sys.argv = ["streamlit", "run", "app.py", "--server.port", port]
    cli.main()


class Session:
    """One browser's tab on the page Run, as the server sees it."""

    def __init__(self, port: int, workspace: str, figures: Figures) -> None:
        self._address = f"ws://127.0.0.1:{port}/_stcore/stream"
        self._workspace, self._figures = workspace, figures
        self._parts: dict[str, float] = {}  # seconds between two drawings, by the part's id
        self._page = ""

    async def watch(self, wait: float, until: float) -> None:
        """Open the page after some seconds, and keep it up to date until this time."""
        await asyncio.sleep(wait)
        try:
            async with connect(
                self._address, subprotocols=[Subprotocol("streamlit")], max_size=None, ping_interval=None
            ) as server:
                async with asyncio.timeout(_PATIENCE):
                    self._figures.openings.append(await self._draw(server))
                due = {"": time.monotonic() + _WHOLE_EVERY}
                while time.monotonic() < until:
                    now = time.monotonic()
                    due = {"": due[""]} | {
                        part: due.get(part, now + every) for part, every in self._parts.items()
                    }
                    part = min(due, key=lambda name: due[name])
                    await asyncio.sleep(max(0.0, due[part] - now))
                    async with asyncio.timeout(_PATIENCE):
                        seconds = await self._draw(server, part)
                    (self._figures.parts if part else self._figures.pages).append(seconds)
                    due[part] = time.monotonic() + self._parts.get(part, _WHOLE_EVERY)
        except Exception as error:
            self._figures.errors.append(f"{type(error).__name__}: {error}")

    async def _draw(self, server: ClientConnection, part: str = "") -> float:
        """Ask for the page or a part of it; return how long it took until it was there."""
        asked = BackMsg()
        asked.rerun_script.query_string = f"ws={self._workspace}"
        asked.rerun_script.page_name = "" if self._page else "run"
        asked.rerun_script.page_script_hash = self._page
        asked.rerun_script.fragment_id = part
        asked.rerun_script.is_auto_rerun = bool(part)
        begun = time.monotonic()
        await server.send(asked.SerializeToString())
        if not part:
            self._parts = {}
        async for data in server:
            assert isinstance(data, bytes)
            said = ForwardMsg.FromString(data)
            kind = said.WhichOneof("type")
            if kind == "navigation":
                self._page = said.navigation.page_script_hash
            elif kind == "auto_rerun":
                self._parts[said.auto_rerun.fragment_id] = said.auto_rerun.interval
            elif kind == "delta" and said.delta.new_element.WhichOneof("type") == "exception":
                self._figures.errors.append(said.delta.new_element.exception.message)
            elif kind == "script_finished" and said.script_finished in _FINISHED:
                break
        return time.monotonic() - begun


async def _watch_server(port: int, process: int, figures: Figures, until: float) -> None:
    while time.monotonic() < until:
        pages = Path(f"/proc/{process}/statm").read_text().split()[1]
        figures.memory.append(int(pages) * os.sysconf("SC_PAGE_SIZE") / 2**20)
        for _ in range(10):
            seconds = await asyncio.to_thread(ask_health, f"http://127.0.0.1:{port}")
            figures.health += [] if seconds is None else [seconds]
            figures.errors += [] if seconds is not None else ["no answer to a health check"]
            await asyncio.sleep(1.0)


async def _measure(port: int, process: int, workspaces: list[str], sessions: int, minutes: float) -> Figures:
    figures, until = Figures(), time.monotonic() + 60.0 * minutes
    owners = itertools.cycle(workspaces)
    # People do not open their pages all at once.
    waits = np.linspace(0.0, _WHOLE_EVERY, sessions, endpoint=False)
    tabs = [Session(port, next(owners), figures).watch(float(wait), until) for wait in waits]
    await asyncio.gather(_watch_server(port, process, figures, until), *tabs)
    return figures


def report(figures: Figures) -> None:
    """Print the figures."""
    for name, seconds in (
        ("first drawing of a page", figures.openings),
        ("whole page", figures.pages),
        ("live part", figures.parts),
        ("health check", figures.health),
    ):
        if seconds:
            median, late = statistics.median(seconds), float(np.quantile(seconds, 0.95))
            times = f"median {median:.2f} s   95 % {late:.2f} s   most {max(seconds):.2f} s"
            print(f"{name:24}{len(seconds):6} times   {times}")
    quarters = np.array_split(figures.memory, 4)
    print("memory of the server, by quarters:", *(f"{np.median(part):.0f} MB" for part in quarters))
    print(f"errors: {len(figures.errors)}", *sorted(set(figures.errors)), sep="\n  ")


def main() -> None:
    parser = make_parser(__doc__, sessions=20, running=4, waiting=100, minutes=10.0)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--port", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.serve.split(","), given.running, given.waiting, given.port)
        return
    workspaces = [uuid.uuid4().hex for _ in range(_WORKSPACES)]
    command = ["benchmarks.load", "--serve", ",".join(workspaces)]
    command += ["--running", str(given.running), "--waiting", str(given.waiting), "--port"]
    with (
        tempfile.TemporaryDirectory() as name,
        serve_app(Path(name), command, environment={"ACVB_RUNS": str(given.running)}) as (url, process, log),
    ):
        port = int(url.rpartition(":")[2])
        figures = asyncio.run(_measure(port, process, workspaces, given.sessions, given.minutes))
        lines = log.read_text().splitlines()
        figures.errors += [line for line in lines if "Error" in line or "Traceback" in line]
    report(figures)
    sys.exit(bool(figures.errors))


if __name__ == "__main__":
    main()
