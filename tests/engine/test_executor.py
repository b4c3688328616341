"""How the places of the executor are given away: in line, by turns, and never more than there are."""

from __future__ import annotations

import os
import queue
import sys
import threading
from collections import defaultdict
from functools import partial

import pytest

from acvb_core.engine.executor import Executor, QueuedTask
from tests.engine.jobs import PATIENCE, until
from tests.loops import for_each


class Works:
    """Work that notes when it starts, and continues until it is told to end."""

    def __init__(self, executor: Executor) -> None:
        self.executor, self.starts = executor, list[str]()
        self.ends: dict[str, threading.Event] = defaultdict(threading.Event)
        self.tickets: dict[str, QueuedTask] = {}

    def submit(self, *names: str) -> None:
        """Submit work of these names; the owner is the first letter of each."""
        for name in names:
            self.tickets[name] = self.executor.submit(partial(self._work, name), name, name[0])

    def _work(self, name: str) -> None:
        self.starts.append(name)
        assert self.ends[name].wait(PATIENCE)

    def end(self, name: str) -> None:
        """End one, and wait until another has started, if any waits."""
        waiting, begun = len(self.line), len(self.starts)
        self.ends[name].set()
        if waiting:
            until(lambda: len(self.starts) == begun + 1)

    @property
    def line(self) -> list[str]:
        """What waits, by its position."""
        positions = {name: ticket.position for name, ticket in self.tickets.items()}
        line = sorted((at, name) for name, at in positions.items() if at is not None)
        assert [at for at, _ in line] == list(range(1, len(line) + 1))
        return [name for _, name in line]


def make_works(limit: int, *names: str) -> Works:
    works = Works(Executor(limit))
    works.submit(*names)
    until(lambda: len(works.starts) == min(limit, len(names)))
    return works


def end_all(works: Works) -> None:
    for name in works.tickets:
        works.ends[name].set()
    until(lambda: not works.executor._running.total() and not works.executor.waiting)


def test_owners_take_turns() -> None:
    works = make_works(1, "a1", "a2", "a3", "a4", "b1", "b2", "c1")
    assert works.line == ["b1", "c1", "a2", "b2", "a3", "a4"]
    order = list(works.line)
    for name in ["a1", *order]:
        works.end(name)
    end_all(works)
    assert works.starts == ["a1", *order]


def test_a_task_that_leaves_the_queue_runs_at_once_and_the_others_move_up() -> None:
    works = make_works(1, "a1", "a2", "a3", "b1")
    assert works.line == ["b1", "a2", "a3"]
    works.ends["a2"].set()
    works.tickets["a2"].leave_queue()
    until(lambda: works.starts == ["a1", "a2"])  # a1 still has the only place
    assert works.line == ["b1", "a3"]
    works.tickets["a1"].leave_queue()  # it does not wait, so nothing happens
    end_all(works)
    assert works.starts == ["a1", "a2", "b1", "a3"]


def test_a_place_that_is_lent_is_no_running_job_of_its_owner() -> None:
    executor, lent, back = Executor(1), threading.Event(), threading.Event()
    works = Works(executor)

    def lend() -> None:
        with executor.release_slot():
            lent.set()
            assert back.wait(PATIENCE)

    executor.submit(lend, "a1", "a")
    assert lent.wait(PATIENCE)
    works.submit("b1")
    until(lambda: works.starts == ["b1"])
    works.submit("b2", "a2")
    assert works.line == ["a2", "b2"]  # b has one running job, a none
    back.set()
    end_all(works)
    assert works.starts == ["b1", "a2", "b2"]


@for_each("cores, limit", [(None, 3), (1, 3), (2, 3), (8, 8)])
def test_as_many_run_at_once_as_there_are_cores_and_three_on_a_small_machine(
    monkeypatch: pytest.MonkeyPatch, cores: int | None, limit: int
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert Executor().limit == limit
    assert Executor(1).limit == 1


def test_threads_that_compute_let_the_others_go_first() -> None:
    def own_niceness() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    seen: queue.Queue[int] = queue.Queue()
    usual, lower = own_niceness(), 5 if sys.platform == "linux" else 0
    for niceness, wanted in ((0, usual), (5, min(usual + lower, 19))):  # 19 is the most there is
        Executor(1, niceness=niceness).submit(lambda: seen.put(own_niceness()), "work", "a")
        assert seen.get(timeout=PATIENCE) == wanted
    assert own_niceness() == usual
