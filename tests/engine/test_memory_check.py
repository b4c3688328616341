"""A run that needs more memory than is free is refused before it begins, with the figures and what to do."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

import acvb_core
from acvb_core.core.errors import ParameterError
from acvb_core.engine import machine as free_memory
from acvb_core.engine.executor import Executor
from acvb_core.engine.job import Job
from acvb_core.engine.machine import available_memory
from acvb_core.engine.prepared import prepare_run
from acvb_core.engine.tuning import tune
from acvb_core.models.lda.grid import grid
from acvb_core.models.lda.online.streaming_lda import StreamingLda
from acvb_core.samples.planted_mixtures import planted_features, planted_topics
from acvb_core.samples.planted_relations import planted_relation
from tests.loops import for_each

RELATION = planted_relation(20, 30, 2, 2, seed=1).relation
CORPUS = planted_topics(25, 30, 3, 12, 0.2, 0.1, 4).corpus
TABLE = planted_features(40, 10, 3, seed=1).table
TEXTS = ["a cat and a dog", "dogs chase cats"]

STARTS = {
    "fit, relation": lambda **o: acvb_core.fit(RELATION, "acvb0", k_rows=3, k_cols=3, max_sweeps=2, **o),
    "fit, topics": lambda **o: acvb_core.fit(CORPUS, "gibbs", k=3, burn_in=1, max_sweeps=2, **o),
    "fit, stream": lambda **o: acvb_core.fit(CORPUS, "sdm", k=3, epochs=0.1, **o),
    "fit, table": lambda **o: acvb_core.fit(TABLE, "fab", k_max=4, max_sweeps=2, **o),
    "race": lambda **o: acvb_core.fit(CORPUS, "vb", k=3, max_sweeps=2, restarts=3, **o),
    "compare": lambda **o: acvb_core.compare(CORPUS, ["vb", "cvb0"], k=3, max_sweeps=2, **o),
    "grid": lambda **o: grid(CORPUS, [2, 3], "vb", max_sweeps=2, **o),
    "tune": lambda **o: tune(CORPUS, "scvb0", 1, k=3, heldout=0.1, **o),
    "stream": lambda **o: StreamingLda("sdm", k=3, **o).partial_fit(TEXTS),
}


def free(monkeypatch: pytest.MonkeyPatch, amount: int) -> None:
    monkeypatch.setattr(free_memory, "available_memory", lambda: amount)


@for_each("start", STARTS)
def test_a_run_that_does_not_fit_is_refused_unless_the_check_is_off(start, monkeypatch):
    free(monkeypatch, 100)
    with pytest.raises(
        ParameterError, match=r"needs about \S+ GB of memory, and 9.31e-08 GB is free. Choose fewer"
    ):
        start()
    start(check_memory=False)


def test_nothing_is_compiled_for_a_run_that_is_refused(monkeypatch, capsys):
    free(monkeypatch, 100)
    compiled: list[object] = []
    monkeypatch.setattr("acvb_core.engine.executor.compile_for", lambda *_: compiled.append(1))
    with pytest.raises(ParameterError, match="of memory"):
        STARTS["fit, table"]()
    refused = Job(prepare_run(TABLE, "fab"), Executor(1)).start()
    assert refused.wait(180)
    assert "of memory" in str(refused.inspect().error)
    assert not compiled
    assert capsys.readouterr().err == ""
    free(monkeypatch, None)
    STARTS["fit, topics"]()


def test_nothing_is_run_if_a_later_run_does_not_fit(monkeypatch):
    small, gibbs = (prepare_run(CORPUS, method, {"k": 2}).memory_bytes for method in ("vb", "gibbs"))
    begun = []
    free(monkeypatch, (small + gibbs) // 2)
    with pytest.raises(ParameterError, match="GB"):
        acvb_core.compare(CORPUS, ["vb", "gibbs"], k=2, watch=lambda *seen: begun.append(seen))
    assert not begun


GROUPS = {
    "version 2": ("0::/a/b\n", "a", "memory.max", "memory.current", "inactive_file", "5000"),
    "version 1": ("4:cpu,memory:/a\n0::/\n", "memory/a", "memory.limit_in_bytes", "memory.usage_in_bytes",
                  "total_inactive_file", "5000"),
    "no limit": ("0::/\n", "", "memory.max", "memory.current", "inactive_file", "max"),
    "no memory group": ("3:cpu:/a\n", "", "memory.max", "memory.current", "inactive_file", "5000"),
}  # fmt: skip


@for_each("own, at, limit, used, cached, most", GROUPS)
def test_the_limit_of_a_container_counts(own, at, limit, used, cached, most, tmp_path):
    (tmp_path / "own").write_text(own)
    group = tmp_path / "root" / at
    group.mkdir(parents=True)
    (group / limit).write_text(f"{most}\n")
    (group / used).write_text("3000\n")
    (group / "memory.stat").write_text(f"anon 2000\n{cached} 700\n")
    found = free_memory._container_memory(tmp_path / "own", tmp_path / "root")
    assert found == (2700 if most == "5000" and "cpu:" not in own else None)


def test_the_lower_figure_counts_and_a_share_of_it_can_be_set(monkeypatch):
    monkeypatch.setattr(free_memory, "_system_memory", lambda: 500)
    monkeypatch.setattr(free_memory, "_container_memory", lambda: 300)
    assert available_memory() == 300
    monkeypatch.setattr(free_memory, "_container_memory", lambda: None)
    monkeypatch.setenv("ACVB_MEMORY_PERCENT", "50")
    assert available_memory() == 250
    monkeypatch.setenv("ACVB_MEMORY_PERCENT", "0.5")
    with pytest.raises(ParameterError, match="ACVB_MEMORY_PERCENT is '0\\.5'; it must be"):
        available_memory()


_COUNT_HEAPS = """
import ctypes, sys, threading
from acvb_core.engine.machine import share_heaps
libc = ctypes.CDLL(None)
if sys.argv[1] == "shared":
    share_heaps()
gate = threading.Barrier(9)
for _ in range(8):
    threading.Thread(target=lambda: (bytes(600), gate.wait(), gate.wait())).start()
gate.wait()
libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, "stdout"))
libc.fflush(None)
gate.wait()
"""


def test_threads_share_two_heaps() -> None:
    if platform.libc_ver()[0] != "glibc":
        return  # elsewhere there is nothing to share
    environment = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}
    shared, own = (
        subprocess.check_output([sys.executable, "-c", _COUNT_HEAPS, way], env=environment).count(
            b"<heap nr="
        )
        for way in ("shared", "own")
    )
    assert shared <= 2 < own
