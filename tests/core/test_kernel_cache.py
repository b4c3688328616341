"""Numba's cache on disk, written by several processes at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Both processes write every function at the same time, for different arguments; they are slow to read the index.
CODE = """
import sys, time
from pathlib import Path
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
