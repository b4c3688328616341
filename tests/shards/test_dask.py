"""Shards on the workers of a Dask cluster: the same answers, also where one is lost."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from distributed import Client, LocalCluster

from acvb_core.core import versions
from acvb_core.core.errors import AcvbError
from acvb_core.shards.dask import ActorStarter
from acvb_core.shards.group import ShardGroup
from acvb_core.shards.host import start_here
from acvb_core.shards.place import Place
from tests.shards.test_group import Diary

_HERE: dict[str, Any] = {"threads_per_worker": 1, "processes": False, "dashboard_address": "127.0.0.1:0"}


def test_a_lost_worker_of_a_cluster_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acvb_core.shards.dask._LOOK_EVERY", 0.1)
    monkeypatch.setattr("acvb_core.shards.dask._PATIENCE", 1.0)
    factories = [partial(Diary, number) for number in range(3)]
    alone = ShardGroup(factories, Place(1, start_here))
    with LocalCluster(n_workers=2, **_HERE) as cluster, Client(cluster) as client:
        start = ActorStarter(client)
        group = ShardGroup(factories, Place(2, start, save_every=2))
        for number, factor in enumerate((1.5, 0.25, 3.0, 1.25)):
            if number == 3:
                cluster.sync(next(iter(cluster.workers.values())).close)
            assert group.change("multiply", factor) == alone.change("multiply", factor)
            group.end_sweep()
        assert group.losses == 1
        with pytest.raises(ValueError, match="no such thing"):
            group.ask("fail")
        for worker in list(cluster.workers.values()):
            cluster.sync(worker.close)
        with pytest.raises(AcvbError, match="no workers left"):
            group.change("multiply", 2.0)
        group.close()


def test_shards_outlive_a_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acvb_core.shards.dask._LOOK_EVERY", 0.2)
    factories = [partial(Diary, number) for number in range(3)]
    alone = ShardGroup(factories, Place(1, start_here))
    options: dict[str, Any] = _HERE | {"protocol": "tcp://", "host": "127.0.0.1"}
    with LocalCluster(n_workers=2, **options) as first:
        port = int(first.scheduler_address.rsplit(":", 1)[1])
        client = Client(first.scheduler_address, set_as_default=False)
        start = ActorStarter(client)
        group = ShardGroup(factories, Place(2, start, save_every=2))
        for factor in (1.5, 0.25, 3.0):
            assert group.change("multiply", factor) == alone.change("multiply", factor)
            group.end_sweep()
    client.close()  # as Dask does once it has waited for the scheduler long enough
    with LocalCluster(n_workers=0, scheduler_port=port, **options) as second, ThreadPoolExecutor(1) as pool:
        answer = pool.submit(group.change, "multiply", 1.25)
        with pytest.raises(TimeoutError):
            answer.result(timeout=0.5)  # there are no workers yet
        second.scale(1)
        assert answer.result() == alone.change("multiply", 1.25)
        group.close()
        start.workers.client.close()
    assert group.losses == 2


def test_workers_with_other_sources_get_no_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    here = versions.describe_process()
    with LocalCluster(n_workers=1, **_HERE) as cluster, Client(cluster) as client:
        monkeypatch.setattr(
            "acvb_core.shards.dask.refuse_versions",
            lambda there: "It has other sources." if there == here else None,
        )
        with pytest.raises(AcvbError, match=r"No worker can hold the shards. tcp|inproc.*has other sources"):
            ShardGroup([partial(Diary, 0)], Place(1, ActorStarter(client)))
