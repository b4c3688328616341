"""Shards on workers: the answers, the loss of workers, and what a stop leaves under way."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest

from acvb_core.core import parallel
from acvb_core.core.parallel import use_threads
from acvb_core.shards.group import ShardGroup
from acvb_core.shards.host import start_here
from acvb_core.shards.place import Place
from tests.shards.outcomes import FrailWorker


class Diary:
    """A shard whose state depends on all that was done to it, in order."""

    def __init__(self, number: int) -> None:
        self.state = np.array([float(number)])

    def multiply(self, factor: float) -> float:
        self.state = self.state * factor + 1.0
        return float(self.state[0])

    def read(self) -> float:
        return float(self.state[0])

    def wait_for(self, marker: Path) -> float:
        while not marker.exists():
            sleep(0.01)
        return self.multiply(3.0)

    def count_threads(self) -> int:
        return parallel._limit()

    def fail(self) -> None:
        raise ValueError("no such thing")

    def save(self) -> dict[str, Any]:
        return {"state": self.state}

    def restore(self, arrays: Mapping[str, Any]) -> None:
        self.state = np.array(arrays["state"])


def diaries(n: int) -> list[Any]:
    return [partial(Diary, number) for number in range(n)]


def start_frail(lost: Any = None) -> FrailWorker:
    return FrailWorker(lambda method, arguments: False)


def test_a_lost_worker_is_replaced_and_nothing_is_lost(tmp_path: Path) -> None:
    factors = [1.5, 0.25, 3.0, 1.25, 0.5, 2.0, 1.75]
    alone = ShardGroup(diaries(3), Place(1, start_here))
    group = ShardGroup(diaries(3), Place(2, start_frail, save_every=3, folder=tmp_path))
    for number, factor in enumerate(factors):
        if number in (
            1,
            4,
            6,
        ):  # before the first states were saved, between two savings, and right after one
            group.workers[number % 2].is_lost = True  # type: ignore[attr-defined]
        assert group.change("multiply", factor) == alone.change("multiply", factor)
        group.end_sweep()
        alone.end_sweep()
    assert group.losses == 3
    assert {path.name for path in tmp_path.iterdir()} == {f"sweep-6-shard-{i:05d}.npz" for i in range(3)}
    group.close()
    assert tmp_path.is_dir()  # it was given


def test_a_full_disk_ends_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = ShardGroup(diaries(3), Place(1, start_here))
    group = ShardGroup(diaries(3), Place(2, start_frail, save_every=2, folder=tmp_path))
    blocker = tmp_path / "sweep-4-shard-00001.npz"
    blocker.mkdir()  # nothing can be written there, as on a full disk
    for sweep, factor in enumerate((1.5, 0.25, 3.0, 1.25, 0.5, 2.0), 1):
        if sweep == 5:
            group.workers[1].is_lost = True  # type: ignore[attr-defined]
        assert group.change("multiply", factor) == alone.change("multiply", factor)
        if sweep == 4:
            with pytest.warns(RuntimeWarning, match=r"after sweep 4 could not be saved in .*since sweep-2"):
                group.end_sweep()
            assert len(list(tmp_path.glob("sweep-2-shard-*.npz"))) == 3
        else:
            group.end_sweep()
    assert (group.losses, group.unsaved) == (1, 1)
    assert (tmp_path / "sweep-6-shard-00000.npz").exists()
    group.close()


def test_a_step_that_was_left_under_way_is_waited_for_and_not_done_twice(tmp_path: Path) -> None:
    group, marker = ShardGroup(diaries(2), Place(2, start_here)), tmp_path / "continue"

    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        group.change("wait_for", marker, poll=stop)
    assert group.is_busy
    with pytest.raises(ValueError, match="busy with 'wait_for'"):
        group.ask("read")
    marker.touch()
    assert group.change("wait_for", marker) == [1.0, 4.0]
    assert not group.is_busy
    assert group.ask("read") == [1.0, 4.0]


def test_each_shard_has_one_thread() -> None:
    """The other cores are those of the other shards."""
    with use_threads(4):
        group = ShardGroup([partial(Diary, 0), partial(Diary, 1)], Place(2, start_here))
        assert group.ask("count_threads") == [1, 1]
        assert parallel._limit() == 4
    group.close()
