"""`acvb cluster` and `--scheduler`."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from acvb_core.cli import main
from acvb_core.cli.cluster import VARIABLE
from acvb_core.cluster.local import LOOPBACK
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


def test_a_scheduler_of_the_environment_is_used(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(VARIABLE, "nonsense")
    monkeypatch.setattr("acvb_core.cluster.backend.PATIENCE", 0.2)
    assert main(FIT) != 0
    assert "No Dask scheduler answers at nonsense" in capsys.readouterr().err


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
