"""One server a folder: a second one is told who has it, and gets it when the first is gone."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from acvb_core.store.claim import Claim
from acvb_core.store.files import StoreError

HOLD = """
import sys, time
from pathlib import Path
from acvb_core.store.claim import Claim
kept = Claim(Path(sys.argv[1]))
print("claimed", flush=True)
time.sleep(600)
"""


@pytest.fixture
def other(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that has claimed the folder."""
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"claimed\n"
        yield process
        process.kill()


def test_a_second_server_is_refused_until_the_first_is_gone(
    tmp_path: Path, other: subprocess.Popen[bytes]
) -> None:
    with pytest.raises(StoreError, match=rf"process {other.pid}\) keeps its runs in {tmp_path}.*ACVB_HOME"):
        Claim(tmp_path)
    other.kill()
    other.wait()
    first, again = Claim(tmp_path), Claim(tmp_path)
    assert (tmp_path / "server.lock").read_text() == f"{os.getpid()}\n"
    for claim in (again, first):
        claim.give_up()


def test_a_folder_that_cannot_be_written_to_needs_no_claim(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    Claim(tmp_path / "file").give_up()
    assert (tmp_path / "file").read_text() == ""
