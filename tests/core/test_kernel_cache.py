"""Numba's cache on disk, written by several processes at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.loops import for_each

ROOT = Path(__file__).resolve().parents[2]

# Both processes write every function at the same time, for different arguments; they are slow to read the index.
CODE = """
import sys, time
from pathlib import Path

import pytest
from numba.core.caching import IndexDataCacheFile
from acvb_core.core.kernel_cache import lock_cache

lock_cache()
folder, process = sys.argv[1:]
load_index = IndexDataCacheFile._load_index

def load_slowly(index):
    content = load_index(index)
    time.sleep(0.01)
    return content

IndexDataCacheFile._load_index = load_slowly
Path(folder, f"ready {process}").touch()
while len(list(Path(folder).glob("ready*"))) < 2:
    time.sleep(0.01)
for number in range(10):
    index = IndexDataCacheFile(folder, f"function{number}", "stamp")
    for arguments in range(3):
        index.save((process, arguments), f"code for {process} {arguments}")
"""


def test_two_processes_that_compile_at_once_both_keep_their_code(tmp_path: Path) -> None:
    from numba.core.caching import IndexDataCacheFile

    writers = [
        subprocess.Popen([sys.executable, "-c", CODE, str(tmp_path), process], cwd=ROOT)
        for process in ("one", "two")
    ]
    assert [writer.wait(300) for writer in writers] == [0, 0]
    for number in range(10):
        index = IndexDataCacheFile(str(tmp_path), f"function{number}", "stamp")
        for process in ("one", "two"):
            for arguments in range(3):
                assert index.load((process, arguments)) == f"code for {process} {arguments}"


def test_a_folder_that_cannot_hold_a_lock_is_still_read(tmp_path: Path) -> None:
    code = (
        CODE.split("folder,")[0]
        + """
print(IndexDataCacheFile(sys.argv[1], "function", "stamp").load("key"))
"""
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "none")], cwd=ROOT, capture_output=True, text=True
    )
    assert done.stdout == "None\n"


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


def test_an_index_of_classes_that_have_moved_is_empty(tmp_path: Path) -> None:
    code = """
import sys, types
from numba.core.caching import IndexDataCacheFile
from acvb_core.core.kernel_cache import lock_cache

lock_cache()
old = types.ModuleType("old_place")
sys.modules["old_place"] = old
exec("class Moved: pass", old.__dict__)
index = IndexDataCacheFile(sys.argv[1], "function", "stamp")
index.save((old.Moved(),), "code")
del sys.modules["old_place"]
assert index.load("int32") is None
index.save("int32", "new code")
assert index.load("int32") == "new code"
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, check=True, timeout=300)
