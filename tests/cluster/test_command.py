"""`acvb cluster` and `--scheduler`, clusters with certificates, and a Python without Dask."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pandas as pd
import pytest
from distributed import LocalCluster, Security

from acvb_core.cli import main
from acvb_core.cluster.backend import DaskExecutor
from acvb_core.cluster.local import LOOPBACK
from acvb_core.core.errors import AcvbError
from acvb_core.engine.fitting import solve
from tests.engine.fakes import small_run
from tests.engine.jobs import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
FIT = ["fit", "sample:southern_women", "--method", "cvb0", "--quiet"]


def test_a_run_on_a_scheduler_writes_what_it_writes_here(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main([*FIT, "--out", str(tmp_path / "here")]) == 0
    assert main([*FIT, "--out", str(tmp_path / "there"), "--scheduler", cluster.scheduler_address]) == 0
    for name in ("rows.csv", "columns.csv", "blocks.csv"):
        assert (tmp_path / "there" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()
    tables = [pd.read_csv(tmp_path / place / "history.csv")["lower_bound"] for place in ("here", "there")]
    assert tables[0].equals(tables[1])


def test_the_command_serves_a_cluster_until_it_is_told_to_end() -> None:
    with socket.create_server((LOOPBACK, 0)) as one, socket.create_server((LOOPBACK, 0)) as other:
        port, dashboard = (str(each.getsockname()[1]) for each in (one, other))
    command = [sys.executable, "-m", "acvb_core", "cluster", "--workers", "1"]
    command += ["--port", port, "--dashboard-port", dashboard]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline().startswith(f"==> ready: tcp://127.0.0.1:{port} ")
        assert f"http://127.0.0.1:{dashboard}/status" in process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_another_address_must_be_trusted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "--host", "0.0.0.0"]) == 2
    assert "--trust-network" in capsys.readouterr().err


def test_runs_go_to_a_cluster_with_certificates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def settings_of(security: Security) -> dict[str, str]:
        """Return Dask's settings of a client that docs/cluster.md names."""
        kinds = {"ca-file": security.tls_ca_file, "client.cert": security.tls_client_cert}
        kinds["client.key"] = security.tls_client_key
        for name, text in kinds.items():
            (tmp_path / f"{id(security)}-{name}").write_text(text)
        return {f"distributed.comm.tls.{name}": str(tmp_path / f"{id(security)}-{name}") for name in kinds}

    security, stranger = Security.temporary(), Security.temporary()
    prepared = small_run("vb")
    here = solve(prepared).snapshot.posterior
    monkeypatch.setattr("acvb_core.cluster.backend.PATIENCE", 3.0)
    options: dict[str, Any] = {"protocol": "tls", "host": LOOPBACK, "dashboard_address": f"{LOOPBACK}:0"}
    with LocalCluster(n_workers=1, threads_per_worker=1, security=security, **options) as cluster:
        address = cluster.scheduler_address
        assert address.startswith("tls://127.0.0.1:")
        with dask.config.set(settings_of(security)):
            executor = DaskExecutor.connect(address)
            found = solve(prepared, executor=executor).snapshot.posterior
            assert all(np.array_equal(found[name], here[name]) for name in here.arrays)
            executor.client.close()
        with (
            dask.config.set(settings_of(stranger)),
            pytest.raises(AcvbError, match="No Dask scheduler answers"),
        ):
            DaskExecutor.connect(address)
        with pytest.raises(AcvbError, match="No Dask scheduler answers"):
            DaskExecutor.connect(address.replace("tls", "tcp"))


SCRIPT = """
import importlib, pkgutil, sys
sys.modules["dask"] = sys.modules["distributed"] = None  # as if they were not installed
import acvb_core
for module in pkgutil.walk_packages(acvb_core.__path__, "acvb_core."):
    if module.name not in ("acvb_core.__main__", "acvb_core.shards.dask"):
        importlib.import_module(module.name)
corpus = acvb_core.load_sample("bars").corpus
for executor in (None, importlib.import_module("acvb_core.engine.executor").Executor(2)):
    result = acvb_core.fit(corpus, "cvb0", k=3, shards=2, max_sweeps=3, executor=executor)
assert result.snapshot.sweep == 3
from acvb_core.cli import main
assert main(["fit", "sample:bars", "--method", "vb", "--k", "3", "--max-sweeps", "2", "--quiet"]) == 0
sys.exit(main(["cluster"]))
"""


def test_all_but_clusters_works_without_dask() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2, done.stderr
    assert "pip install 'acvb-core[cluster]'" in done.stderr
