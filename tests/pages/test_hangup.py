"""What runs is saved when the app's terminal is closed, as it is on SIGTERM; nohup keeps the app going."""

from __future__ import annotations

import os
import pty
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.sync.client import connect

from acvb_core.store.runs import RunStore
from pages.ui.shared import serving

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 600

# The app with one page, which starts three runs that only stop when they are told to.
PAGE = """
import sys, time
sys.path.insert(0, {root!r})
import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from pages.ui.shared.serving import exit_normally

if get_script_run_ctx(suppress_warning=True) is None:
    app = st.App(__file__, lifespan=exit_normally)
else:
    import numpy as np
    import acvb_core.engine.run
    from acvb_core.data.relation import Relation
    from acvb_core.engine.prepared import prepare_run
    from pages.ui.shared import services

    acvb_core.engine.run.judge = lambda *_, last_sweep, **__: None
    values = {{"k_rows": 3, "k_cols": 3, "max_sweeps": 1_000_000, "hyper": "fixed", "init": "random"}}
    relation = Relation.build(np.random.default_rng(5).random((12, 9)) < 0.3)
    jobs = [services.job_manager().add("mine", prepare_run(relation, "cvb0", values, seed=seed)) for seed in range(3)]
    while any(job.inspect().snapshot is None for job in jobs):
        time.sleep(0.01)
    open({ready!r}, "w").close()
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait(reached: Callable[[], object], process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + SECONDS
    while not reached():
        assert process.poll() is None, "the app ended"
        assert time.monotonic() < end
        time.sleep(0.02)


def is_up(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=300) as answer:
            return bool(answer.read() == b"ok")
    except (OSError, urllib.error.URLError):
        return False


def start(folder: Path, before: Callable[[], object], out: int) -> tuple[subprocess.Popen[bytes], int]:
    """Start the app and a session in it, and wait until its runs are under way."""
    ready, port = folder / "ready", free_port()
    (folder / "page.py").write_text(PAGE.format(root=str(ROOT), ready=str(ready)))
    process = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", str(folder / "page.py"), "--server.port", str(port)],
        cwd=ROOT, env={**os.environ, "ACVB_HOME": str(folder / "kept")}, stdin=subprocess.DEVNULL, stdout=out,
        stderr=out, start_new_session=True, preexec_fn=before,
    )  # fmt: skip
    try:
        wait(lambda: is_up(port), process)
        message = BackMsg()
        message.rerun_script.query_string = ""
        with connect(f"ws://127.0.0.1:{port}/_stcore/stream", max_size=None) as session:
            session.send(message.SerializeToString())
            wait(ready.exists, process)
    except BaseException:
        process.kill()
        process.wait()
        raise
    return process, port


def saved(folder: Path) -> list[str]:
    return [run.summary["verdict"] for run in RunStore(folder / "kept").runs("mine")]


def test_nohup_keeps_the_app_going_until_it_is_told_to_end_and_then_saves_what_runs(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("wb") as out:
        process, port = start(tmp_path, lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN), out.fileno())
    try:
        process.send_signal(signal.SIGHUP)
        assert is_up(port)
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 0
    finally:
        process.kill()
    assert saved(tmp_path) == ["STOPPED"] * 3
    assert "Saved 3 running runs." in log.read_text()


def test_closing_the_terminal_saves_what_runs(tmp_path: Path) -> None:
    terminal, screen = pty.openpty()

    def take_terminal() -> None:
        import fcntl
        import termios

        fcntl.ioctl(screen, termios.TIOCSCTTY, 0)

    process, _ = start(tmp_path, take_terminal, screen)  # which sends it SIGHUP when it is closed
    os.close(screen)
    try:
        os.close(terminal)
        assert process.wait(SECONDS) == 0
    finally:
        process.kill()
    assert saved(tmp_path) == ["STOPPED"] * 3


def test_a_handler_that_is_there_stays() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        serving.stop_on_hangup()
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        serving.stop_on_hangup()
        assert callable(signal.getsignal(signal.SIGHUP))
    finally:
        signal.signal(signal.SIGHUP, before)
