"""Shards on workers: the answers, the loss of workers, and what a stop leaves under way."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest

from acvb_core.core.errors import AcvbError
from acvb_core.core.parallel import count_threads, use_threads
from acvb_core.shards.group import ShardGroup, tree_sum
from acvb_core.shards.host import Host, WorkerLostError, start_here
from acvb_core.shards.place import Place
from tests.loops import for_each
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
        return count_threads()

    def fail(self) -> None:
        raise ValueError("no such thing")

    def die(self, marker: str) -> float:
        """End the worker as if it were killed in the midst of the step, once for each marker."""
        result = self.multiply(7.0)
        if not Path(marker).exists():
            Path(marker).touch()
            raise WorkerLostError("gone")
        return result

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


def test_a_worker_that_dies_in_the_midst_of_a_step_does_it_again(tmp_path: Path) -> None:
    group = ShardGroup(diaries(2), Place(2, start_frail, save_every=2))
    group.change("multiply", 5.0)
    assert group.change("die", str(tmp_path / "once")) == [8.0, 43.0]
    assert group.losses in (1, 2)  # the other may have seen the marker in time, or not
    group.close()


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
            assert {path.name for path in tmp_path.iterdir() if path.is_file()} == {
                f"sweep-2-shard-{i:05d}.npz" for i in range(3)
            }
        else:
            group.end_sweep()
    assert (group.losses, group.unsaved) == (1, 1)
    assert (tmp_path / "sweep-6-shard-00000.npz").exists()
    group.close()


def test_a_state_is_saved_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run_out(file: int) -> None:
        raise OSError(28, "No space left on device")

    hosts = [Host(), Host()]
    hosts[0].build({0: partial(Diary, 5)})
    hosts[0].save(str(tmp_path), "kept")
    hosts[0].call("multiply", (2.0,))
    monkeypatch.setattr("acvb_core.shards.host.os.fsync", run_out)
    with pytest.raises(OSError, match="No space"):
        hosts[0].save(str(tmp_path), "kept")
    hosts[1].build({0: partial(Diary, 0)}, str(tmp_path), "kept")
    assert hosts[1].call("read", ())[0] == {0: 5.0}
    assert len(list(tmp_path.iterdir())) == 1


def test_a_worker_that_always_dies_ends_the_run() -> None:
    group = ShardGroup(diaries(2), Place(1, start_frail))
    group.workers[0].is_lost = True  # type: ignore[attr-defined]
    with pytest.raises(AcvbError, match="A worker was lost while the shards were busy with 'multiply'"):
        group.change("multiply", 1.0)
    group.close()


@for_each("start_worker", [start_here, start_frail])
def test_an_error_of_a_shard_is_raised_here(start_worker: Any) -> None:
    group = ShardGroup(diaries(2), Place(2, start_worker))
    with pytest.raises(ValueError, match="no such thing"):
        group.ask("fail")
    assert group.ask("read") == [0.0, 1.0]
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


@for_each("n", [1, 2, 3, 5, 8])
def test_sums_are_added_in_pairs(n: int) -> None:
    parts = np.random.default_rng(0).standard_normal((n, 4)).astype(np.float32)

    def add(level: list[Any]) -> Any:
        if len(level) == 1:
            return level[0]
        return add([sum(level[at + 1 : at + 2], level[at]) for at in range(0, len(level), 2)])

    arrays, numbers, nothing = tree_sum([(part.copy(), float(i), None) for i, part in enumerate(parts)])
    assert arrays.tobytes() == add(list(parts)).tobytes()
    assert numbers == sum(range(n))
    assert nothing is None


def test_each_shard_has_one_thread() -> None:
    """The other cores are those of the other shards."""
    with use_threads(4):
        group = ShardGroup([partial(Diary, 0), partial(Diary, 1)], Place(2, start_here))
        assert count_threads() == 4
        assert group.ask("count_threads") == [1, 1]
    host = Host()
    host.build({0: partial(Diary, 0)})
    with use_threads(4):
        threads, _ = host.call("count_threads", ())
        assert (threads, count_threads()) == ({0: 1}, 4)
    group.close()
