"""Numba's cache on disk, written by several processes at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.loops import for_each

ROOT = Path(__file__).resolve().parents[2]


# Each of two processes calls the same function; the second does once the first has begun to compile it.
CALL = """
import os, signal, sys, time
from pathlib import Path

import pytest
from numba.core import event
from acvb_core.core.kernel_cache import ELSEWHERE, lock_cache
from acvb_core.engine.compilation import CompilationRequest, refuse_to_compile

folder, process, end = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
sys.path.insert(0, str(folder))
import function

def wait_for(name):
    for _ in range(6000):
        if (folder / name).exists():
            return
        time.sleep(0.01)
    os._exit(3)

class Watch(event.Listener):
    def on_start(self, event):
        if event.data == ELSEWHERE:
            if not refuses:
                (folder / "waits").touch()
        elif event.data["dispatcher"] is function.double:
            print("compiles", flush=True)
            if process == "one":
                (folder / "compiles").touch()
                wait_for("waits")
                if end == "killed":
                    os.kill(os.getpid(), signal.SIGKILL)
    def on_end(self, event):
        pass

lock_cache()
event.register("numba:compile", Watch())
refuses = process == "two"
if refuses:
    wait_for("compiles")
    try:
        with refuse_to_compile():
            function.double(3)
    except CompilationRequest:
        print("refused")
    refuses = False
print(function.double(3))
"""


@for_each(
    "end, first, second", [("done", ["compiles", "6"], ["6"]), ("killed", ["compiles"], ["compiles", "6"])]
)
def test_a_function_that_another_process_compiles_is_waited_for(
    tmp_path: Path, end: str, first: list[str], second: list[str]
) -> None:
    """A process that is killed while it compiles leaves the function to the one that waits."""
    (tmp_path / "function.py").write_text(
        "import numba\n\n@numba.njit(cache=True)\ndef double(x):\n    return 2 * x\n"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", CALL, str(tmp_path), process, end],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        for process in ("one", "two")
    ]
    said = [process.communicate(timeout=300)[0].splitlines() for process in processes]
    assert said == [first, ["refused", *second]]
